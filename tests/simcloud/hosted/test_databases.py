"""What stands for RDS on this machine, without a machine: who is let in, what a server is told, and who vouches for it."""

import contextlib
import ipaddress
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

from tests.simcloud.aws.landscape import Account
from tests.simcloud.core.store import Thing
from tests.simcloud.hosted import certificates, databases
from tests.simcloud.hosted.wanted import address

PASSWORD = "correct-horse-'battery'"
NAME = "accounting.simulated.us-east-1.rds.amazonaws.com"


def database(account: Account, **more: Any) -> databases.Database:
    """Make an RDS instance and give what stands for it."""
    account.make("rds.SubnetGroup", name="databases", subnetIds=["{a}", "{b}"])
    account.make("rds.ParameterGroup", name="accounting", family="mariadb10.11", parameters=[{"name": "require_secure_transport", "value": "1"}])
    wanted = {
        "identifier": "accounting", "engine": "mariadb", "instanceClass": "db.t4g.small", "allocatedStorage": 20, "username": "slurm", "password": PASSWORD, "dbName": "slurm_acct_db",
        "dbSubnetGroupName": "databases", "parameterGroupName": "accounting", "skipFinalSnapshot": True,
    }  # fmt: skip
    account.make("rds.Instance", **(wanted | more))
    (only,) = databases.wanted_now(account.cloud).values()
    return only


def instance(account: Account, *groups: str) -> Thing:
    return account.make(
        "ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{a}", vpcSecurityGroupIds=[account.names.get(one, one) for one in groups]
    )


def test_only_instances_that_a_security_group_lets_in_are_let_in(account: Account) -> None:
    welcome = instance(account, "group")
    other = account.make("ec2.SecurityGroup", name="strangers", vpcId="{vpc}").id
    instance(account, other)
    rule = {"fromPort": 3306, "toPort": 3306, "protocol": "tcp", "securityGroups": [account.names["group"]]}
    open_to = account.make("ec2.SecurityGroup", name="database", vpcId="{vpc}", ingress=[rule]).id
    found = database(account, vpcSecurityGroupIds=[open_to])
    assert found.callers == (address(account.cloud, welcome),)
    account.cloud.delete(welcome)
    (later,) = databases.wanted_now(account.cloud).values()
    assert later.callers == ()
    assert databases.mark(later) == databases.mark(found), "who may come changes while it runs"


def test_a_server_has_what_its_parameter_group_says_and_a_log_when_it_is_backed_up(account: Account) -> None:
    found = database(account, backupRetentionPeriod=14)
    told = databases.configuration(found).splitlines()
    assert "require_secure_transport = 1" in told
    assert "log-bin = changelog" in told
    assert f"bind-address = {found.address}" in told
    assert ipaddress.ip_address(found.address) in ipaddress.ip_network(found.cidr)


def test_a_password_is_told_to_the_server_alone(account: Account) -> None:
    found = database(account)
    assert "IDENTIFIED BY 'correct-horse-''battery'''" in databases.first_words(found)
    assert "SUPER" not in databases.first_words(found)
    assert PASSWORD not in databases.mark(found)
    assert PASSWORD not in databases.configuration(found)


def test_its_name_leads_to_its_address(account: Account) -> None:
    found = database(account)
    assert databases.address_of(account.cloud, found.name) == found.address
    assert databases.address_of(account.cloud, f"x{found.name}") == ""


def greets(folder: Path, *, name: str, trusted: bytes) -> bool:
    """Say whether who trusts an authority speaks with a database that is reached by a name."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (folder / "server.pem").write_bytes(certificates.of_database(folder, NAME))
    server.load_cert_chain(folder / "server.pem")
    here, there = socket.socketpair()

    def answer() -> None:
        # The other side may not like what it is shown.
        with there, contextlib.suppress(OSError):
            server.wrap_socket(there, server_side=True).close()

    served = threading.Thread(target=answer)
    served.start()
    try:
        with here:
            ssl.create_default_context(cadata=trusted.decode()).wrap_socket(here, server_hostname=name).close()
        return True
    except ssl.SSLCertVerificationError:
        return False
    finally:
        served.join()


def test_a_database_is_vouched_for_by_an_authority_of_its_own(tmp_path: Path) -> None:
    services, _ = certificates.made(tmp_path, names=certificates.names_of_aws("us-east-1"))
    bundle = certificates.bundle_of_databases(tmp_path)
    assert bundle == certificates.bundle_of_databases(tmp_path), "it stays the same for as long as the cloud is there"
    assert greets(tmp_path, name=NAME, trusted=bundle)
    assert not greets(tmp_path, name=f"x{NAME}", trusted=bundle)
    assert not greets(tmp_path, name=NAME, trusted=services.encode())

"""Services that the hosts of a site run for their cluster: one address for two login hosts, two controllers with one state, a database that can be restored, a REST API, and a way out and names for a node that
has neither.
"""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from components import rest
from components.local.machine import command
from tests.hosts import plain, test_metal
from tests.hosts.comparison import Described, changed, described
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

HEADS, LOGINS, NODE = ("head-1", "head-2"), ("login-1", "login-2"), "gpu-001"
SITE = "/srv/site"
STATE = "/site/.clusterwright-lab"
MARK = "/run/slurmctld/serves"
TAKEN_OVER_WITHIN_S = 180
"""SlurmctldTimeout is 60 s (slurm.conf(5)); the second controller asks every 20 s."""


MOVES_WITHIN_S = 60
API = "/slurm/v0.0.42/nodes/"
CONNECTS = "import socket; socket.create_connection(('{}', {}), timeout=3); print('connected')"


def address(servers: PlainHosts) -> str:
    return servers.cidr.rpartition(".")[0] + ".5"


def way_out(servers: PlainHosts) -> str:
    """Give the address that moves between the controllers."""
    return servers.cidr.rpartition(".")[0] + ".6"


def blueprint(servers: PlainHosts) -> dict[str, Any]:
    return test_metal.blueprint(
        servers,
        inventory={**servers.inventory(), "package_cache": True},
        network={"cidr": servers.cidr, "nat": "control", "dns": "control"},
        control={"hosts": "head-[1-2]", "highly_available": True, "state": "site", "address": way_out(servers)},
        access={"hosts": "login-[1-2]", "address": address(servers), "rest_api": True},
        storage={"home": {"kind": "existing", "mount": "/home", "source": f"{SITE}/home"}, "site": {"kind": "existing", "mount": "/site", "source": SITE}},
        pools={"train": {"hosts": NODE}},
    )


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("services-life", 5, names=(*HEADS, *LOGINS, NODE), shared=SITE) as found:
        (found.shared_folder / "home").mkdir()
        found.inside(NODE, "ip", "route", "del", "default")
        # This machine would translate frames between its servers, too, where its bridges call iptables.
        within = ["POSTROUTING", "-s", found.cidr, "-o", found.names.bridge, "-m", "comment", "--comment", found.names.label, "-j", "ACCEPT"]
        command.run("iptables", "-t", "nat", "-I", *within)
        try:
            yield found
        finally:
            command.run("iptables", "-t", "nat", "-D", *within)


@pytest.fixture(scope="module")
def outside() -> Iterator[tuple[str, int]]:
    """A port of this machine that is open, at an address in another network than the servers'."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, socket.create_server(("", 0), backlog=64) as server:
        probe.connect(("192.0.2.1", 9))
        yield probe.getsockname()[0], server.getsockname()[1]


@pytest.fixture(scope="module")
def before(servers: PlainHosts) -> dict[str, Described]:
    return {name: described(servers, name) for name in servers.servers}


@pytest.fixture(scope="module")
def stack(servers: PlainHosts, before: dict[str, Described], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("services")
    test_metal.write(folder / "lab.yaml", blueprint(servers))
    with deployment("test-services", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


def has_address(servers: PlainHosts, name: str, shared: str = "") -> bool:
    return f"inet {shared or address(servers)}/32" in servers.inside(name, "ip", "-4", "address")


def reaches(servers: PlainHosts, outside: tuple[str, int]) -> bool:
    """Say whether the node can connect to another network."""
    words = CONNECTS.format(*outside)
    return servers.inside(NODE, "sh", "-c", f'python3 -c "{words}" 2>/dev/null || true').strip() == "connected"


def resolved(servers: PlainHosts, name: str) -> str:
    """Give the address that the node's name servers have for a name; empty: none."""
    found = servers.inside(NODE, "sh", "-c", f"timeout 10 getent --service=dns ahostsv4 {name} || true").split()
    return found[0] if found else ""


def serving(servers: PlainHosts, *names: str) -> list[str]:
    """Name the controllers whose daemon has the mark of the one that serves."""
    return [name for name in names if servers.inside(name, "sh", "-c", f"test ! -e {MARK} || echo serves").strip()]


def accounted(stack: Deployment, job: str) -> str:
    """Ask for a job's accounted state; empty while nobody answers."""
    return stack.ssh(f"sacct --jobs={job} --allocations --noheader --parsable2 --format=State 2>/dev/null || true").strip()


def nodes_by_api(servers: PlainHosts, token: str) -> list[str]:
    """Ask the REST API at the address for the cluster's nodes."""
    asked = urllib.request.Request(f"http://{address(servers)}:{rest.PORT}{API}", headers={"X-SLURM-USER-TOKEN": token} if token else {})
    with urllib.request.urlopen(asked, timeout=SOON_S) as answer:
        return [node["name"] for node in json.load(answer)["nodes"]]


def token(stack: Deployment) -> str:
    given = stack.clusterwright("token", "--user", "ada")
    assert given.returncode == 0, given.stderr
    return given.stdout.strip()


def login_host(stack: Deployment) -> str:
    """Log in at the address, and name the host that took the session; empty: none did."""
    return stack.clusterwright("ssh", "--user", "ada", "--", "hostname").stdout.strip()


def test_users_log_in_at_the_address_with_the_clusters_own_host_key(servers: PlainHosts, stack: Deployment) -> None:
    login = stack.outputs()["login"]
    assert (login["address"], login["port"]) == (address(servers), 22)
    assert login["host_key"].split()[1] not in {servers[name].host_key.split()[1] for name in LOGINS}
    assert {stack.ssh("hostname").strip() for _ in range(6)} == set(LOGINS)


def test_a_node_without_a_way_out_has_one_and_names_through_the_controllers(servers: PlainHosts, stack: Deployment, outside: tuple[str, int]) -> None:
    assert f"default via {way_out(servers)}" in servers.inside(NODE, "ip", "route", "show", "default")
    assert len(servers.inside(NODE, "ip", "route", "show", "default").splitlines()) == 1, "it has no other way out"
    assert [name for name in HEADS if has_address(servers, name, way_out(servers))] == [HEADS[0]]
    assert reaches(servers, outside)
    assert resolved(servers, "head-2.lab.internal") == servers["head-2"].address


def test_a_token_opens_the_rest_api_at_the_address_and_nothing_else_does(servers: PlainHosts, stack: Deployment) -> None:
    assert nodes_by_api(servers, token(stack)) == [NODE]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        nodes_by_api(servers, "")


def test_a_second_up_changes_nothing(stack: Deployment) -> None:
    assert stack.preview_changes() == {}


def test_an_untouched_cluster_has_no_drift(stack: Deployment) -> None:
    done = stack.clusterwright("drift", "--json")
    assert (done.returncode, [(one["code"], one["where"]) for one in json.loads(done.stdout)["findings"]]) == (0, []), done.stderr[-2000:]


def test_a_lost_login_host_moves_the_address(servers: PlainHosts, stack: Deployment) -> None:
    [lost] = [name for name in LOGINS if has_address(servers, name)]
    [kept] = {*LOGINS} - {lost}
    servers.power_off(lost)
    wait_until(lambda: has_address(servers, kept), awaiting="the address at the other login host", within_s=SOON_S)
    wait_until(lambda: login_host(stack) == kept, awaiting="a login at the other host", within_s=SOON_S)
    assert stack.ssh("squeue --noheader").strip() == ""
    assert nodes_by_api(servers, token(stack)) == [NODE], "the REST API moved, too"
    servers.power_on(lost)


def test_a_lost_database_is_restored_from_a_dump(servers: PlainHosts, stack: Deployment) -> None:
    job = stack.ssh("sbatch --parsable --wait --wrap 'srun hostname'").strip()
    wait_until(lambda: accounted(stack, job) == "COMPLETED", awaiting="the job to be accounted", within_s=SOON_S)
    servers.inside_all(HEADS[0], "systemctl", "start", "clusterwright-database.service")
    [*_, newest] = servers.inside(HEADS[0], "clusterwright-database", "list").splitlines()
    dump = newest.split("\t")[0]
    assert dump.startswith(f"{STATE}/dumps/"), "dumps are on shared storage"
    assert (servers.shared_folder / ".clusterwright-lab/dumps").stat().st_mode & 0o777 == 0o700

    servers.inside(HEADS[0], "mariadb", "--execute", "DROP DATABASE slurm_acct_db")
    assert accounted(stack, job) == ""
    assert "restored" in servers.inside_all(HEADS[0], "/usr/sbin/clusterwright-database", "restore", dump)
    wait_until(lambda: accounted(stack, job) == "COMPLETED", awaiting="the job to be accounted again", within_s=SOON_S)


def test_a_dump_that_is_not_whole_changes_nothing(servers: PlainHosts) -> None:
    servers.inside(HEADS[0], "sh", "-c", f"head -c 200 $(ls {STATE}/dumps/*.gz | head -1) >/tmp/cut.sql.gz")
    said = servers.inside(HEADS[0], "sh", "-c", "clusterwright-database restore /tmp/cut.sql.gz 2>&1 || true")
    assert said.startswith("/tmp/cut.sql.gz is not a whole dump: nothing was changed")
    assert servers.inside_all(HEADS[0], "systemctl", "is-active", "slurmdbd.service").strip() == "active"


def test_a_lost_controller_is_replaced_by_the_other_and_serves_again(servers: PlainHosts, stack: Deployment, outside: tuple[str, int]) -> None:
    assert serving(servers, *HEADS) == [HEADS[0]]
    job = stack.ssh("sbatch --parsable --wrap 'srun sleep 90; srun hostname'").strip()
    wait_until(lambda: stack.ssh(f"squeue --noheader --jobs={job} --format=%T").strip() == "RUNNING", awaiting="the job to run", within_s=SOON_S)
    servers.power_off(HEADS[0])
    wait_until(lambda: reaches(servers, outside), awaiting="the way out by the second controller", within_s=MOVES_WITHIN_S)
    assert has_address(servers, HEADS[1], way_out(servers))
    wait_until(lambda: serving(servers, HEADS[1]) == [HEADS[1]], awaiting="the second controller to serve", within_s=TAKEN_OVER_WITHIN_S)
    assert stack.ssh(f"squeue --noheader --jobs={job} --format=%i").strip() == job, "the queue is the same"
    servers.power_on(HEADS[0])
    wait_until(lambda: serving(servers, *HEADS) == [HEADS[0]], awaiting="the first controller to serve again", within_s=TAKEN_OVER_WITHIN_S)
    wait_until(lambda: accounted(stack, job) == "COMPLETED", awaiting="the job to be accounted", within_s=TAKEN_OVER_WITHIN_S)


def test_released_servers_are_as_they_were(servers: PlainHosts, before: dict[str, Described], stack: Deployment) -> None:
    stack.down()
    assert changed(servers, before) == {}
    assert [*(servers.shared_folder / ".clusterwright-lab/dumps").glob("*.sql.gz")], "dumps stay"

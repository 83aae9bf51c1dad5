"""What the tests of a cluster on AWS stand on: instances of the simulated cloud that are hosts of this machine, with what EC2 gives them and what it keeps from them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints.project import project_root
from components.aws import policies, storage
from components.bootstrap.config import FstabEntry
from components.local.machine import command
from components.local.machine import host as hosts
from tests.hosts import rented
from tests.hosts.deployment import wait_until
from tests.hosts.rented import Rented
from tests.simcloud.hosted import place

pytestmark = pytest.mark.hosts

SOON_S = 240


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rented]:
    with rented.rented(tmp_path_factory.mktemp("rented"), "test-rented") as one:
        yield one


def file_system(account: Rented, *, subnet: str = "near", group: str = "storage") -> str:
    """Make one with a mount target and give its name."""
    made = account.cloud.make("efs.FileSystem", encrypted=True).id
    account.cloud.make("efs.MountTarget", fileSystemId=made, subnetId=account.ids[subnet], securityGroups=[account.ids[group]])
    return f"{made}.efs.{rented.REGION}.amazonaws.com"


def nfs(name: str, target: str, *options: str) -> FstabEntry:
    return FstabEntry(f"{name}:/", target, "nfs4", (*storage.NFS_OPTIONS, *options))


def disk(volume: str, target: str) -> FstabEntry:
    source = f"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{volume.replace('-', '')}"
    return FstabEntry(source, target, "xfs", ("nofail", "noatime", "x-systemd.makefs", "x-systemd.device-timeout=600"))


@pytest.fixture(scope="module")
def pair(account: Rented) -> tuple[str, str]:
    """Two instances that share a file system; the first has a disk, too."""
    home = file_system(account)
    volume = account.cloud.make("ebs.Volume", availabilityZone=rented.ZONE, size=50, encrypted=True, type="gp3").id
    one = account.run("node-0", text=account.birth(mounts=(nfs(home, "/home"), disk(volume, "/srv/state"))))
    other = account.run("node-1", text=account.birth(mounts=(nfs(home, "/home", "ro"),)))
    account.cloud.make("ec2.VolumeAttachment", deviceName="/dev/sdf", instanceId=one, volumeId=volume)
    for instance in (one, other):
        account.wait_for(instance, "mountpoint", "/home")
    return one, other


def test_an_instance_is_what_its_user_data_tag_and_secret_say(account: Rented, pair: tuple[str, str]) -> None:
    assert account.ssh(pair[0], "hostname").strip() == "node-0"
    assert "CLUSTERWRIGHT_ROLE=access" in account.ssh(pair[0], "cat /etc/clusterwright/node.env")
    assert account.ssh(pair[0], "cloud-init status --wait").strip().endswith("status: done")
    assert account.ssh(pair[0], "sha256sum </etc/clusterwright/secrets/munge.key") == account.ssh(pair[1], "sha256sum </etc/clusterwright/secrets/munge.key")


def test_a_shared_file_system_is_one_and_reading_is_only_that(account: Rented, pair: tuple[str, str]) -> None:
    account.ssh(pair[0], "echo here >/home/word")
    assert account.ssh(pair[1], "cat /home/word") == "here\n"
    assert not account.answers(pair[1], "touch", "/home/more")


def test_a_disk_attached_later_is_formatted_and_mounted(account: Rented, pair: tuple[str, str]) -> None:
    account.wait_for(pair[0], "mountpoint", "/srv/state", within_s=SOON_S)
    kind, source = account.ssh(pair[0], "findmnt --noheadings --output FSTYPE,SOURCE /srv/state").split()
    assert kind == "xfs"
    assert int(account.ssh(pair[0], f"blockdev --getsize64 {source}")) == 50 * 2**30


def test_a_balancer_and_a_public_address_lead_to_the_instance(account: Rented, pair: tuple[str, str]) -> None:
    front = account.cloud.make("lb.LoadBalancer", name="login", loadBalancerType="network", internal=True, subnets=[account.ids["near"]])
    targets = account.cloud.make("lb.TargetGroup", name="login", port=22, protocol="TCP", vpcId=account.ids["vpc"])
    account.cloud.make("lb.Listener", loadBalancerArn=front.id, port=22, protocol="TCP", defaultActions=[{"type": "forward", "targetGroupArn": targets.id}])
    account.cloud.make("lb.TargetGroupAttachment", targetGroupArn=targets.id, targetId=pair[0], port=22)
    address = account.cloud.make("ec2.Eip", instance=pair[0])
    wait_until(lambda: hosts.answers(front["dnsName"]), awaiting="SSH through the balancer", within_s=SOON_S)
    wait_until(lambda: hosts.answers(address["publicIp"]), awaiting="SSH at the public address", within_s=SOON_S)


WITHOUT_TOKEN = """
import urllib.error, urllib.request
try:
    urllib.request.urlopen('http://169.254.169.254/latest/user-data')
except urllib.error.HTTPError as error:
    print(error.code)
"""
DESCRIBE = "import boto3; boto3.client('ec2', region_name='us-east-1').describe_instances()"


def test_the_metadata_service_answers_to_a_token_alone(account: Rented, pair: tuple[str, str]) -> None:
    assert account.ssh(pair[0], f'python3 -c "{WITHOUT_TOKEN}"').strip() == "401"


def test_a_role_may_do_what_its_policies_allow_and_no_more(account: Rented, pair: tuple[str, str]) -> None:
    with pytest.raises(command.CommandFailed, match=r"UnauthorizedOperation.*ec2:DescribeInstances"):
        account.ssh(pair[0], f'python3 -c "{DESCRIBE}"')
    look = [{"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"}]
    account.cloud.make("iam.RolePolicy", name="look", role="node", policy=policies.as_json(look))
    account.ssh(pair[0], f'python3 -c "{DESCRIBE}"')


@pytest.mark.parametrize(
    ("subnet", "group", "why"),
    [("elsewhere", "elsewhere-group", "no mount target in network"), ("far", "storage", "no mount target in zone"), ("near", "closed", "lets i-")],
)
def test_a_file_system_without_a_way_to_it_is_not_mounted(account: Rented, pair: tuple[str, str], subnet: str, group: str, why: str) -> None:
    if subnet == "elsewhere":
        vpc = account.cloud.make("ec2.Vpc", cidrBlock="10.74.0.0/16")
        ids = dict(account.ids)
        ids["elsewhere"] = account.cloud.make("ec2.Subnet", vpcId=vpc.id, cidrBlock="10.74.0.0/20", availabilityZone=rented.ZONE).id
        rule = {"fromPort": 0, "toPort": 0, "protocol": "-1", "cidrBlocks": ["10.0.0.0/8"]}
        ids["elsewhere-group"] = account.cloud.make("ec2.SecurityGroup", name="elsewhere", vpcId=vpc.id, ingress=[rule]).id
        account = Rented(account.cloud, account.name, ids, account.key, account.host_key)
    name = file_system(account, subnet=subnet, group=group)
    with pytest.raises(command.CommandFailed, match=why):
        account.ssh(pair[0], f"mkdir -p /mnt/it && mount -t nfs4 -o nfsvers=4.1 {name}:/ /mnt/it")


def test_a_role_that_may_not_read_the_secret_gets_no_key(account: Rented) -> None:
    role = account.cloud.make("iam.Role", name="stranger", assumeRolePolicy=policies.as_json(policies.trust("ec2.amazonaws.com")))
    account.cloud.make("iam.RolePolicy", name="stranger", role=role.id, policy=policies.as_json(policies.read_secret(account.ids["secret"] + "-other")))
    account.cloud.make("iam.InstanceProfile", name="stranger", role=role.id)
    instance = account.run("node-9", IamInstanceProfile={"Name": "stranger"})
    wait_until(lambda: "AccessDenied" in account.console(instance), awaiting="the refusal on the console", within_s=SOON_S)
    disk_of = place.names_of(account.name).host(instance).upper
    assert not (disk_of / "etc/clusterwright/secrets/munge.key").exists()
    assert not (disk_of / hosts.HOST_KEY).exists()
    account.ec2.terminate_instances(InstanceIds=[instance])


def test_an_image_that_the_project_did_not_build_does_not_start(account: Rented) -> None:
    instance = account.run("node-8", ImageId=account.ids["public-image"])
    wait_until(lambda: "no image that Image Builder made" in account.console(instance), awaiting="the refusal", within_s=SOON_S)
    (shown,) = account.ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"]
    assert shown["StateReason"]["Code"] == "Server.InternalError"


def test_the_end_of_an_instance_leaves_nothing_of_it(account: Rented) -> None:
    names, instance = place.names_of(account.name), account.run("node-7")
    wait_until(lambda: instance in account.bodies(), awaiting=f"{instance} to run", within_s=SOON_S)
    said = [one for one in place.left_behind(names) if instance in one]
    assert said
    account.ec2.terminate_instances(InstanceIds=[instance])
    wait_until(lambda: not any(instance in one for one in place.left_behind(names)), awaiting="its remains to go", within_s=SOON_S)
    wait_until(lambda: not names.host(instance).state.exists(), awaiting="its folder to go", within_s=SOON_S)


def test_a_host_that_ends_by_itself_is_a_stopped_instance(account: Rented) -> None:
    instance = account.run("node-6")
    account.wait_for(instance)

    def is_stopped() -> bool:
        (shown,) = account.ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"]
        if shown["State"]["Name"] == "running":
            account.answers(instance, "systemctl", "poweroff", "--force", "--force")
        return bool(shown["State"]["Name"] == "stopped")

    wait_until(is_stopped, awaiting="the instance to be stopped", within_s=SOON_S)
    account.ec2.terminate_instances(InstanceIds=[instance])


def test_a_killed_cloud_finds_its_hosts_again(account: Rented, pair: tuple[str, str]) -> None:
    booted, at = account.ssh(pair[0], "cat /proc/sys/kernel/random/boot_id"), account.address(pair[0])
    account.cloud.kill()
    assert hosts.answers(at), "hosts live on without their cloud"
    account.cloud.start()
    instance = account.run("node-5")
    account.wait_for(instance)
    assert account.ssh(pair[0], "cat /proc/sys/kernel/random/boot_id") == booted
    account.cloud.lose(instance)
    wait_until(lambda: instance not in account.bodies(), awaiting=f"{instance} to go", within_s=SOON_S)


KILLED = """
import pathlib, sys
from tests.hosts import rented
with rented.rented(pathlib.Path(sys.argv[1]), "test-killed", network="10.75") as one:
    print(one.run("node-0"), flush=True)
    sys.stdin.read()
"""


def test_a_killed_run_is_found_and_cleared_by_the_next(tmp_path: Path) -> None:
    names = place.names_of("test-killed")
    environment = {**os.environ, "PYTHONPATH": str(project_root())}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=project_root()
    )
    with process:
        assert process.stdout
        instance = process.stdout.readline().strip()
        wait_until(lambda: names.host(instance).leader.exists(), awaiting=f"{instance} to run", within_s=SOON_S)
        process.send_signal(signal.SIGKILL)
    assert place.left_behind(names)
    place.clear(names)
    assert place.left_behind(names) == ()

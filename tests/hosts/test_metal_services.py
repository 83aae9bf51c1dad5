"""Services that the hosts of a site run for their cluster: one address for two login hosts, two controllers with one state, a database that can be restored."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.hosts import plain, test_metal
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

HEADS, LOGINS, NODE = ("head-1", "head-2"), ("login-1", "login-2"), "gpu-001"
SITE = "/srv/site"
STATE = "/site/.clusterwright-lab"
MARK = "/run/slurmctld/serves"
TAKEN_OVER_WITHIN_S = 180
"""SlurmctldTimeout is 60 s (slurm.conf(5)); the second controller asks every 20 s."""


def address(servers: PlainHosts) -> str:
    return servers.cidr.rpartition(".")[0] + ".5"


def blueprint(servers: PlainHosts) -> dict[str, Any]:
    return test_metal.blueprint(
        servers,
        control={"hosts": "head-[1-2]", "highly_available": True, "state": "site"},
        access={"hosts": "login-[1-2]", "address": address(servers)},
        storage={"home": {"kind": "existing", "mount": "/home", "source": f"{SITE}/home"}, "site": {"kind": "existing", "mount": "/site", "source": SITE}},
        pools={"train": {"hosts": NODE}},
    )


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("services-life", 5, names=(*HEADS, *LOGINS, NODE), shared=SITE) as found:
        (found.shared_folder / "home").mkdir()
        yield found


@pytest.fixture(scope="module")
def stack(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("services")
    test_metal.write(folder / "lab.yaml", blueprint(servers))
    with deployment("test-services", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


def has_address(servers: PlainHosts, name: str) -> bool:
    return f"inet {address(servers)}/32" in servers.inside(name, "ip", "-4", "address")


def serving(servers: PlainHosts, *names: str) -> list[str]:
    """Name the controllers whose daemon has the mark of the one that serves."""
    return [name for name in names if servers.inside(name, "sh", "-c", f"test ! -e {MARK} || echo serves").strip()]


def accounted(stack: Deployment, job: str) -> str:
    """Ask for a job's accounted state; empty while nobody answers."""
    return stack.ssh(f"sacct --jobs={job} --allocations --noheader --parsable2 --format=State 2>/dev/null || true").strip()


def test_users_log_in_at_the_address_with_the_clusters_own_host_key(servers: PlainHosts, stack: Deployment) -> None:
    login = stack.outputs()["login"]
    assert (login["address"], login["port"]) == (address(servers), 22)
    assert login["host_key"].split()[1] not in {servers[name].host_key.split()[1] for name in LOGINS}
    assert {stack.ssh("hostname").strip() for _ in range(6)} == set(LOGINS)


def test_a_lost_login_host_moves_the_address(servers: PlainHosts, stack: Deployment) -> None:
    [lost] = [name for name in LOGINS if has_address(servers, name)]
    [kept] = {*LOGINS} - {lost}
    servers.power_off(lost)
    wait_until(lambda: has_address(servers, kept), awaiting="the address at the other login host", within_s=SOON_S)
    assert stack.ssh("hostname").strip() == kept
    assert stack.ssh("squeue --noheader").strip() == ""
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


def test_a_lost_controller_is_replaced_by_the_other_and_serves_again(servers: PlainHosts, stack: Deployment) -> None:
    assert serving(servers, *HEADS) == [HEADS[0]]
    job = stack.ssh("sbatch --parsable --wrap 'srun sleep 90; srun hostname'").strip()
    wait_until(lambda: stack.ssh(f"squeue --noheader --jobs={job} --format=%T").strip() == "RUNNING", awaiting="the job to run", within_s=SOON_S)
    servers.power_off(HEADS[0])
    wait_until(lambda: serving(servers, HEADS[1]) == [HEADS[1]], awaiting="the second controller to serve", within_s=TAKEN_OVER_WITHIN_S)
    assert stack.ssh(f"squeue --noheader --jobs={job} --format=%i").strip() == job, "the queue is the same"
    servers.power_on(HEADS[0])
    wait_until(lambda: serving(servers, *HEADS) == [HEADS[0]], awaiting="the first controller to serve again", within_s=TAKEN_OVER_WITHIN_S)
    wait_until(lambda: accounted(stack, job) == "COMPLETED", awaiting="the job to be accounted", within_s=TAKEN_OVER_WITHIN_S)


def test_release_gives_the_address_and_the_mounts_back(servers: PlainHosts, stack: Deployment) -> None:
    stack.down()
    for name in servers.servers:
        assert not has_address(servers, name)
        assert servers.ssh(name, "findmnt --noheadings --output=TARGET /site /home || true").strip() == ""
        assert servers.ssh(name, "pgrep -l 'haproxy|keepalived' || true").strip() == ""
    assert [*(servers.shared_folder / ".clusterwright-lab/dumps").glob("*.sql.gz")], "dumps stay"

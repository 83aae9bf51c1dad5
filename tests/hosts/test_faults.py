"""Things that go wrong on hosts: the error names the host and where to look, and the next `up` goes on. What `up` does about them is in `test_broken_states`."""

from collections.abc import Iterator

import pytest

from tests.hosts.deployment import Deployment, deployment

pytestmark = [pytest.mark.hosts, pytest.mark.soak]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment("test-faults", tmp_path_factory.mktemp("faults")) as one:
        yield one


def diagnostics(said: str) -> str:
    """What went wrong, after the lines of progress."""
    return said.partition("\nerror: ")[2]


def test_a_host_that_dies_in_the_middle_of_a_play(stack: Deployment) -> None:
    status, said = stack.up_while(lambda line: "database: The accounting database runs" in line, lambda: stack.cut_power("control-0"))
    assert status == 1
    assert "control-0" in diagnostics(said)
    assert "does not answer" in diagnostics(said)
    stack.up()
    assert stack.preview_changes() == {}


def test_a_database_that_does_not_start(stack: Deployment) -> None:
    stack.up()
    stack.inside("control-0", "systemctl", "stop", "mariadb")
    system_tables = stack.names.folder("_state") / "mysql" / "ibdata1"
    whole = system_tables.read_bytes()
    system_tables.write_bytes(b"not a table space" * 1000)
    stack.choose("accounts.research.description", "renamed")  # so that control is finished again
    try:
        done = stack.clusterwright("up")
    finally:
        system_tables.write_bytes(whole)
    assert done.returncode == 1
    assert "control-0" in diagnostics(done.stdout)
    assert "journalctl -u mariadb" in diagnostics(done.stdout)
    stack.up()
    assert "renamed" in stack.inside("control-0", "sacctmgr", "--noheader", "--parsable2", "show", "account", "format=description").split()


def test_a_differing_munge_key(stack: Deployment) -> None:
    stack.up()
    key = stack.host("login-0").upper / "etc/munge/munge.key"
    before = key.read_bytes()
    stack.inside("login-0", "sh", "-c", "head -c 1024 /dev/urandom > /etc/munge/munge.key && systemctl restart munge")
    assert key.read_bytes() != before
    stack.cut_power("train-1")  # a boot that acceptance has not seen
    done = stack.clusterwright("up", "--as-recorded")
    assert done.returncode == 1
    assert "login-0" in diagnostics(done.stdout)
    assert "munge" in diagnostics(done.stdout).lower()
    stack.up()  # looks at the hosts first
    assert key.read_bytes() == before
    assert stack.ssh("srun hostname").strip() == "train-0"

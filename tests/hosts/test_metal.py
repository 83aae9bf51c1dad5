"""Servers that no stack made become a cluster, and are released: one life of a stack on bare metal."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stacks.rebuild.scheduler import REASON
from stacks.render import progress
from tests.hosts import plain
from tests.hosts.comparison import described, differences
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = pytest.mark.hosts

CONTROL, LOGIN, NODES = "head-1", "login-1", ("gpu-001", "gpu-002")
HOME = "/home"
LIFE_WITHIN_S = 3600
"""Several runs of `up`, which install packages on each server."""


def blueprint(servers: PlainHosts, **others: Any) -> dict[str, Any]:
    """Write a blueprint for servers: a controller, a login node, and a pool of all others."""
    pool = ",".join(name for name in servers.servers if name not in (CONTROL, LOGIN))
    return {
        "name": "lab",
        "description": "servers of a test",
        "software": "debian-13",
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOME, "source": HOME}},
        "pools": {"train": {"hosts": pool}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
        **others,
    }


def write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document))


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("path-life", 4, names=(CONTROL, LOGIN, *NODES), shared=HOME) as found:
        yield found


@pytest.fixture(scope="module")
def stack(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A stack on all of the servers, up."""
    folder = tmp_path_factory.mktemp("metal")
    write(folder / "lab.yaml", blueprint(servers))
    with deployment("test-metal", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        assert "created" in changes(one.up())
        yield one


def marks(servers: PlainHosts, name: str) -> str:
    """Give the name of the stack that has a server; empty: none."""
    found = servers.inside(name, "sh", "-c", "cat /etc/clusterwright/owner.json 2>/dev/null || echo {}")
    return str(json.loads(found).get("stack", ""))


def is_marked(servers: PlainHosts, name: str) -> bool:
    """Wait until a stack has a server."""
    wait_until(lambda: marks(servers, name) != "", awaiting="the mark of the stack", within_s=SOON_S)
    return True


def changes(said: str) -> set[str]:
    """Give the words for what a run changed."""
    return {words.done for words in progress.WORDS.values() if words.done in said}


def tables(servers: PlainHosts) -> list[str]:
    """Name the folders on the controller that have tables of the accounting database."""
    return sorted(servers.inside(CONTROL, "find", "/var/lib", "-name", "slurm_acct_db").split())


def finished(stack: Deployment) -> dict[str, str]:
    """Give the mark of each finished host: another one whenever it was finished with something else, or is another installation."""
    exported = json.loads(stack.run("pulumi", "stack", "export", "--stack", stack.stack).stdout)
    groups = [one["outputs"] for one in exported["deployment"]["resources"] if one["type"] == "clusterwright:finish:Group"]
    return {name: mark for group in groups for name, mark in group["finished"].items()}


def handed_over(stack: Deployment, *words: str) -> str:
    """Take servers out of service for a new system, and give what the command says."""
    done = stack.clusterwright("rebuild", *words, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is out of service" in done.stdout
    assert f"clusterwright up --stack {stack.stack}" in done.stdout
    return done.stdout


@pytest.mark.timeout(LIFE_WITHIN_S)
def test_servers_become_a_cluster_and_are_released(servers: PlainHosts, stack: Deployment) -> None:
    assert sorted(stack.ssh("srun --nodes=2 hostname").split()) == [*NODES]
    assert {marks(servers, name) for name in servers.servers} == {stack.stack}
    assert changes(stack.up()) == set()
    assert stack.preview_changes() == {}

    # Handed over for a new system, and returned as it is.
    refused = stack.clusterwright("rebuild", CONTROL, "--yes")
    assert refused.returncode == 1
    assert "Reinstall a controller" in refused.stderr
    said = handed_over(stack, "gpu-002")
    assert "returns nodes to service as they are" in said
    state, reason = stack.ssh("sinfo --noheader --nodes=gpu-002 --format='%t|%E'").strip().split("|")
    assert (state.rstrip("*"), reason) == ("down", REASON)
    stack.up()
    assert sorted(stack.ssh("srun --nodes=2 hostname").split()) == [*NODES]

    stack.down()
    assert {marks(servers, name) for name in servers.servers} == {""}
    for name in servers.servers:
        assert servers.inside(name, "sh", "-c", "ls -d /etc/slurm /etc/munge 2>/dev/null; pgrep -l 'slurm|munge|maria' || true") == ""
    assert tables(servers) == [f"/var/lib/clusterwright/kept/{stack.stack}/var/lib/clusterwright/state/mysql/slurm_acct_db"], "the database stays"
    assert (servers.shared_folder / "ada").is_dir(), "homes stay"


@pytest.mark.soak
@pytest.mark.timeout(LIFE_WITHIN_S)
def test_servers_are_added_reinstalled_missed_and_taken_out(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    with plain.plain_hosts("path-changes", 4, names=(CONTROL, LOGIN, *NODES), shared=HOME) as servers:
        write(file, blueprint(servers))
        with deployment("test-metal-changes", tmp_path, target="metal", blueprint=str(file)) as stack:
            stack.up()

            # A server more: beside Slurm's own files, only the table of names changes on the others.
            servers.add("gpu-003")
            untouched = described(servers, "gpu-003")
            node = described(servers, "gpu-001")
            write(file, blueprint(servers))
            assert "updated" in changes(stack.up())
            changed = differences(node, described(servers, "gpu-001"))
            assert {what for what in changed if not what.startswith(("/var/lib/clusterwright/", "/var/spool/slurmd/"))} == {"/etc/hosts"}
            assert sorted(stack.ssh("srun --nodes=3 hostname").split()) == ["gpu-001", "gpu-002", "gpu-003"]

            # One is reinstalled by its owner, with another host key: it alone is another host.
            before = finished(stack)
            job = stack.ssh("sbatch --parsable --requeue --nodelist=gpu-002 --wrap 'sleep 20; srun hostname'").strip()
            wait_until(lambda: stack.ssh(f"squeue --noheader --jobs={job} --format=%T").strip() == "RUNNING", awaiting="the job to run", within_s=SOON_S)
            assert f"job {job} of ada" in handed_over(stack, "gpu-002", "--requeue")
            servers.reinstall("gpu-002")
            refused = stack.clusterwright("up")
            assert refused.returncode == 1
            assert "gpu-002" in refused.stdout + refused.stderr
            assert "host key" in refused.stdout + refused.stderr
            write(file, blueprint(servers))
            stack.up()
            after = finished(stack)
            assert {name for name in after if after[name] != before[name]} == {"gpu-002"}
            wait_until(lambda: stack.ssh(f"squeue --noheader --jobs={job}") == "", awaiting="the requeued job to run again, and to its end", within_s=SOON_S)
            assert stack.ssh(f"cat slurm-{job}.out").split()[-1] == "gpu-002"
            assert sorted(stack.ssh("srun --nodes=3 hostname").split()) == ["gpu-001", "gpu-002", "gpu-003"]

            # One is off: nothing is changed, unless the pool may lack it.
            servers.power_off("gpu-003")
            refused = stack.clusterwright("up")
            assert refused.returncode == 1
            assert finished(stack) == after
            pool = {"train": {"hosts": "gpu-[001-003]", "nodes": {"min": 2, "max": 3}}}
            write(file, blueprint(servers, pools=pool))
            stack.up()
            assert sorted(stack.ssh("srun --nodes=2 hostname").split()) == ["gpu-001", "gpu-002"]
            servers.power_on("gpu-003")
            stack.up()
            assert sorted(stack.ssh("srun --nodes=3 hostname").split()) == ["gpu-001", "gpu-002", "gpu-003"]

            # One is taken out, and is its owner's again. Another is gone for good.
            write(file, blueprint(servers, pools={"train": {"hosts": "gpu-[001-002]"}}))
            stack.up()
            assert differences(untouched, described(servers, "gpu-003")) == {}
            servers.power_off("gpu-002")
            write(file, blueprint(servers, pools={"train": {"hosts": "gpu-001"}}))
            stuck = stack.clusterwright("up")
            assert stuck.returncode == 1
            assert "--abandon gpu-002" in stuck.stdout + stuck.stderr
            abandoned = stack.clusterwright("up", "--abandon", "gpu-002")
            assert abandoned.returncode == 0, abandoned.stdout + abandoned.stderr
            assert tables(servers) == ["/var/lib/clusterwright/state/mysql/slurm_acct_db"]
            released = stack.clusterwright("down", "--delete-data")
            assert released.returncode == 0, released.stdout + released.stderr
            assert {marks(servers, name) for name in (CONTROL, LOGIN, "gpu-001")} == {""}
            assert tables(servers) == [], "the database goes when it is said"
            assert (servers.shared_folder / "ada").is_dir(), "homes stay"


@pytest.mark.soak
@pytest.mark.timeout(LIFE_WITHIN_S)
def test_an_up_that_was_killed_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    with plain.plain_hosts("path-killed", 3, names=(CONTROL, LOGIN, "gpu-001"), shared=HOME) as servers:
        write(file, blueprint(servers))
        with deployment("test-metal-killed", tmp_path, target="metal", blueprint=str(file)) as stack:
            stack.up_until(lambda line: "adopting 1 server" in line and is_marked(servers, CONTROL))
            stack.down()
            assert {marks(servers, name) for name in (CONTROL, LOGIN, "gpu-001")} == {""}, "what the killed run adopted leaves with the stack"
            stack.up_until(lambda line: "adopting 1 server" in line)
            stack.up_until(lambda line: "Packages of the server's role" in line)
            stack.up_until(lambda line: "site_mounts" in line)  # the boot program has run: what is installed again must not undo it
            stack.up()
            assert stack.ssh("srun hostname").split() == ["gpu-001"]
            with deployment("test-metal-other", tmp_path / "other", target="metal", blueprint=str(file)) as other:
                refused = other.clusterwright("up")
                assert refused.returncode == 2
                assert f"the stack {stack.stack} of" in refused.stdout + refused.stderr
                assert other.clusterwright("down").returncode == 0
            assert stack.ssh("srun hostname").split() == ["gpu-001"]
            stack.down()


@pytest.mark.soak
@pytest.mark.timeout(LIFE_WITHIN_S)
@pytest.mark.parametrize(("suite", "software"), [("bookworm", "debian-12"), ("noble", "ubuntu-24.04")])
def test_servers_of_other_distributions_become_a_cluster(suite: str, software: str, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    with plain.plain_hosts(f"path-{suite}", 3, suites=(suite,), names=(CONTROL, LOGIN, "gpu-001"), shared=HOME) as servers:
        write(file, blueprint(servers, software=software))
        with deployment(f"test-metal-{suite}", tmp_path, target="metal", blueprint=str(file)) as stack:
            stack.up()
            assert stack.ssh("srun hostname").split() == ["gpu-001"]
            assert stack.preview_changes() == {}
            stack.down()

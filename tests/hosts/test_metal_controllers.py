"""A controller of one's own servers gets a new system as docs/metal.md says: the commands are read from the page and typed."""

import functools
import re
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from tests.hosts import plain, test_metal
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts
from tests.hosts.test_metal_drift import findings
from tests.hosts.test_metal_services import HEADS, SITE, STATE, TAKEN_OVER_WITHIN_S, accounted, address, serving, way_out

pytestmark = [pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(test_metal.LIFE_WITHIN_S)]

LOGIN, NODE = "login-1", "gpu-001"
ON_HOST, HERE = ("clusterwright-database ", "systemctl "), "clusterwright "


def documented(heading: str) -> list[list[str]]:
    """Give the commands of each numbered step of a section of docs/metal.md."""
    text = (project_root() / "docs/metal.md").read_text(encoding="utf-8")
    section = text.partition(f"\n### {heading}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    steps = re.findall(r"^\d+\. (.*(?:\n   .*)*)", section, re.MULTILINE)
    programs = "|".join((*ON_HOST, HERE))
    return [re.findall(rf"`((?:{programs})[^`]*)`", " ".join(step.split())) for step in steps]


def queued(stack: Deployment, job: str) -> str:
    return stack.ssh(f"squeue --noheader --jobs={job} --format=%T").strip()


def is_accounted(stack: Deployment, job: str) -> bool:
    return accounted(stack, job) == "COMPLETED"


def newest_dump(servers: PlainHosts) -> str:
    return servers.inside(HEADS[0], "clusterwright-database", "list").splitlines()[-1].split("\t")[0]


def ran_job(stack: Deployment) -> str:
    """Run a job, and give its number when it is accounted."""
    job = stack.ssh("sbatch --parsable --wait --wrap 'srun hostname'").strip()
    wait_until(lambda: is_accounted(stack, job), awaiting="the job to be accounted", within_s=SOON_S)
    return job


def typed(servers: PlainHosts, stack: Deployment, command: str, *, file: str = "") -> None:
    """Type a command of the page where the page says: on the first controller, or here."""
    if command.startswith(ON_HOST):
        servers.inside_all(HEADS[0], "/bin/sh", "-c", command.replace("FILE", file))
        return
    done = stack.run(*command.split(), "--stack", stack.stack)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_only_controller_gets_a_new_system(tmp_path: Path) -> None:
    wait, dump, reinstall, up, restore = documented("Reinstall a controller")
    assert [wait, reinstall] == [[], []], "their owner does these"
    file = tmp_path / "lab.yaml"
    with plain.plain_hosts("only-controller", 3, names=(HEADS[0], LOGIN, NODE), shared=test_metal.HOME) as servers:
        test_metal.write(file, test_metal.blueprint(servers))
        with deployment("test-metal-controller", tmp_path, target="metal", blueprint=str(file)) as stack:
            stack.up()
            job = ran_job(stack)
            for command in dump:
                typed(servers, stack, command)
            path = newest_dump(servers)
            copied = servers.inside(HEADS[0], "base64", "--wrap=0", path)
            servers.reinstall(HEADS[0])
            test_metal.write(file, test_metal.blueprint(servers))
            for command in up:
                typed(servers, stack, command)
            assert accounted(stack, job) == "", "the new system begins an empty database"
            servers.inside(HEADS[0], "sh", "-c", "base64 --decode >/root/copied.sql.gz", stdin=copied)
            for command in restore:
                typed(servers, stack, command, file="/root/copied.sql.gz")
            assert accounted(stack, job) == "COMPLETED"
            servers.inside_all(HEADS[0], "systemctl", "restart", "slurmctld.service")
            assert int(ran_job(stack)) > 0
            assert test_metal.changes(stack.up()) == set()


def of_two(servers: PlainHosts) -> dict[str, Any]:
    """Write a blueprint with what the roles of a site's services install after a host's installation was recorded."""
    return test_metal.blueprint(
        servers,
        network={"cidr": servers.cidr, "nat": "control", "dns": "control"},
        control={"hosts": ",".join(HEADS), "highly_available": True, "state": "site", "address": way_out(servers)},
        access={"hosts": LOGIN, "address": address(servers)},
        storage={"home": {"kind": "existing", "mount": "/home", "source": f"{SITE}/home"}, "site": {"kind": "existing", "mount": "/site", "source": SITE}},
        pools={"train": {"hosts": NODE}},
    )


def test_the_first_of_two_controllers_gets_a_new_system_while_the_other_serves(tmp_path: Path) -> None:
    _, dump, _, up, restore = documented("Reinstall a controller")
    file = tmp_path / "lab.yaml"
    with plain.plain_hosts("two-controllers", 4, names=(*HEADS, LOGIN, NODE), shared=SITE) as servers:
        (servers.shared_folder / "home").mkdir()
        test_metal.write(file, of_two(servers))
        with deployment("test-metal-controllers", tmp_path, target="metal", blueprint=str(file)) as stack:
            stack.up()
            untouched = findings(stack)
            job = ran_job(stack)
            running = stack.ssh("sbatch --parsable --exclusive --wrap 'srun sh -c \"until test -e go; do sleep 1; done\"'").strip()
            wait_until(lambda: queued(stack, running) == "RUNNING", awaiting="the job to run", within_s=SOON_S)
            for command in dump:
                typed(servers, stack, command)
            path = newest_dump(servers)
            assert path.startswith(f"{STATE}/dumps/"), "dumps are on shared storage"
            servers.reinstall(HEADS[0])
            test_metal.write(file, of_two(servers))
            wait_until(lambda: serving(servers, HEADS[1]) == [HEADS[1]], awaiting="the second controller to serve", within_s=TAKEN_OVER_WITHIN_S)

            # `up` configures the new system, and begins no other database beside the state of this cluster.
            for command in up:
                stopped = stack.run(*command.split(), "--stack", stack.stack)
                assert stopped.returncode == 1, stopped.stdout[-4000:]
                said = stopped.stdout + stopped.stderr
                assert f"clusterwright restore --stack {stack.stack} {HEADS[0]}/" in said, said[-6000:]
            assert queued(stack, running) == "RUNNING", "the other controller serves"
            waiting = stack.ssh("sbatch --parsable --wrap 'srun hostname'").strip()
            for command in restore:
                typed(servers, stack, command, file=path)
            assert accounted(stack, job) == "COMPLETED"
            wait_until(lambda: serving(servers, *HEADS) == [HEADS[0]], awaiting="the first controller to serve again", within_s=TAKEN_OVER_WITHIN_S)
            assert [queued(stack, one) for one in (running, waiting)] == ["RUNNING", "PENDING"], "the queue is that of before"
            stack.ssh("touch go")
            for one in (running, waiting):
                wait_until(functools.partial(is_accounted, stack, one), awaiting="the job to be accounted", within_s=SOON_S)
            assert test_metal.changes(stack.up()) == set()
            assert [untouched, findings(stack)] == [[], []]

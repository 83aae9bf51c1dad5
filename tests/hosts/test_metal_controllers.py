"""A controller of one's own servers gets a new system as docs/metal.md says: the commands are read from the page and typed."""

import re
from pathlib import Path

import pytest

from blueprints.project import project_root
from tests.hosts import plain, test_metal
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(test_metal.LIFE_WITHIN_S)]

HEADS, LOGIN, NODE = ("head-1", "head-2"), "login-1", "gpu-001"
SITE = "/srv/site"
ON_HOST, HERE = "clusterwright-database ", "clusterwright "


def documented(heading: str) -> list[list[str]]:
    """Give the commands of each numbered step of a section of docs/metal.md."""
    text = (project_root() / "docs/metal.md").read_text(encoding="utf-8")
    section = text.partition(f"\n### {heading}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    steps = re.findall(r"^\d+\. (.*(?:\n   .*)*)", section, re.MULTILINE)
    return [re.findall(rf"`((?:{ON_HOST}|{HERE})[^`]*)`", " ".join(step.split())) for step in steps]


def accounted(stack: Deployment, job: str) -> str:
    """Ask for a job's accounted state; empty while nobody answers."""
    return stack.ssh(f"sacct --jobs={job} --allocations --noheader --parsable2 --format=State 2>/dev/null || true").strip()


def newest_dump(servers: PlainHosts) -> str:
    return servers.inside(HEADS[0], "clusterwright-database", "list").splitlines()[-1].split("\t")[0]


def ran_job(stack: Deployment) -> str:
    """Run a job, and give its number when it is accounted."""
    job = stack.ssh("sbatch --parsable --wait --wrap 'srun hostname'").strip()
    wait_until(lambda: accounted(stack, job) == "COMPLETED", awaiting="the job to be accounted", within_s=SOON_S)
    return job


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
                servers.inside_all(HEADS[0], "/bin/sh", "-c", command)
            path = newest_dump(servers)
            copied = servers.inside(HEADS[0], "base64", "--wrap=0", path)
            servers.reinstall(HEADS[0])
            test_metal.write(file, test_metal.blueprint(servers))
            for command in up:
                done = stack.run(*command.split(), "--stack", stack.stack)
                assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
            assert accounted(stack, job) == "", "the new system begins an empty database"
            servers.inside(HEADS[0], "sh", "-c", "base64 --decode >/root/copied.sql.gz", stdin=copied)
            for command in restore:
                if command.startswith(ON_HOST):
                    servers.inside_all(HEADS[0], "/bin/sh", "-c", command.replace("FILE", "/root/copied.sql.gz"))
                else:
                    done = stack.run(*command.split(), "--stack", stack.stack)
                    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
            assert accounted(stack, job) == "COMPLETED"
            servers.inside_all(HEADS[0], "systemctl", "restart", "slurmctld.service")
            assert int(ran_job(stack)) > 0
            assert test_metal.changes(stack.up()) == set()

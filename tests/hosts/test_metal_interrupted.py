"""Servers whose finishing failed, and servers that were off: the next `up` goes on with them, and what their owner changed in between stays the owner's."""

from pathlib import Path

import pytest

from tests.hosts import plain
from tests.hosts.deployment import deployment
from tests.hosts.test_metal import CONTROL, HOME, LIFE_WITHIN_S, LOGIN, NODES, blueprint, finished, write

pytestmark = [pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(LIFE_WITHIN_S)]

SOURCES = "/etc/apt/sources.list"
ZONE = "/etc/timezone"
CACHE = "/var/cache/apt-cacher-ng"


def test_a_failed_finishing_and_a_server_that_was_off_are_made_good_by_the_next_up(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    with plain.plain_hosts("path-interrupted", 4, names=(CONTROL, LOGIN, *NODES), shared=HOME) as servers:
        document = blueprint(servers, pools={"train": {"hosts": ",".join(NODES), "nodes": {"min": 1, "max": 2}}})
        document["inventory"]["package_cache"] = True
        write(file, document)
        with deployment("test-metal-interrupted", tmp_path, target="metal", blueprint=str(file)) as stack:
            broken, absent = NODES
            servers.inside(broken, "sh", "-c", f"cp {SOURCES} /root/sources; echo 'nonsense here' >{SOURCES}")
            servers.power_off(absent)
            failed = stack.clusterwright("up")
            assert failed.returncode == 1
            assert f"{broken}: task «Packages of the server's role» failed" in failed.stdout + failed.stderr

            # What the owner changes now is theirs, although no finishing came to its end here.
            servers.inside(broken, "sh", "-c", f"echo Europe/Rome >{ZONE}; mv /root/sources {SOURCES}")
            stack.up()
            assert set(finished(stack)) == {CONTROL, LOGIN, broken}
            assert stack.ssh("srun --nodes=1 hostname").split() == [broken]

            # Each package came from outside once: others found in the cache what it has.
            assert servers.inside(CONTROL, "sh", "-c", f"find {CACHE} -name 'munge_*.deb' | wc -l").strip() == "1"
            servers.power_on(absent)
            stack.up()
            assert set(finished(stack)) == {CONTROL, LOGIN, *NODES}
            assert sorted(stack.ssh("srun --nodes=2 hostname").split()) == [*NODES]

            stack.down()
            assert servers.inside(broken, "cat", ZONE).strip() == "Europe/Rome"
            assert servers.inside(CONTROL, "sh", "-c", f"ls -d {CACHE} /etc/apt-cacher-ng /etc/apt/apt.conf.d/30clusterwright-cache 2>/dev/null || true") == ""

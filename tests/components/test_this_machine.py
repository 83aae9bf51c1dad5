"""What is looked up about this machine, with lscpu as the judge, and about machines that are not at hand."""

import subprocess
from pathlib import Path

import pytest

from blueprints.facts import Facts
from components import this_machine


def test_the_layout_is_the_one_that_lscpu_sees() -> None:
    done = subprocess.run(["lscpu", "--parse=SOCKET,CORE"], capture_output=True, text=True, check=True)
    threads = [tuple(line.split(",")) for line in done.stdout.splitlines() if not line.startswith("#")]
    found = this_machine.facts()
    assert found.cpus == len(threads)
    assert found.sockets == len({socket for socket, _ in threads})
    assert found.sockets * found.cores_per_socket == len(set(threads))


def test_the_memory_is_the_one_that_free_sees() -> None:
    done = subprocess.run(["free", "--mebi"], capture_output=True, text=True, check=True)
    assert this_machine.facts().memory_mib == int(done.stdout.split("Mem:")[1].split()[0])


@pytest.mark.parametrize(
    ("threads", "layout"),
    [
        pytest.param([(0, 0), (0, 1)], (1, 2, 1), id="two cores"),
        pytest.param([(0, 0), (0, 0), (0, 1), (0, 1)], (1, 2, 2), id="two cores with two threads each"),
        pytest.param([(0, 0), (0, 4), (1, 0), (1, 4)], (2, 2, 1), id="two sockets that count their cores alike"),
        pytest.param([(0, 0), (0, 0), (0, 1)], (1, 3, 1), id="cores of two kinds"),
        pytest.param([(0, 0), (0, 1), (1, 0)], (1, 3, 1), id="sockets of two kinds"),
        pytest.param([], (1, 1, 1), id="a kernel that tells nothing"),
    ],
)
def test_a_machine_is_told_to_slurm_as_equal_parts(threads: list[tuple[int, int]], layout: tuple[int, int, int], tmp_path: Path) -> None:
    for number, (socket, core) in enumerate(threads):
        topology = tmp_path / f"cpu{number}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{socket}\n")
        (topology / "core_id").write_text(f"{core}\n")
    (tmp_path / f"cpu{len(threads)}").mkdir()  # switched off: the kernel has no topology for it
    assert this_machine.facts(processors=tmp_path) == Facts(*layout, memory_mib=this_machine.facts().memory_mib)

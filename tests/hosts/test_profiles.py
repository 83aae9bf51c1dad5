"""Another software profile, and stacks side by side."""

import concurrent.futures
from pathlib import Path

import pytest

from components.local.machine import sweep
from tests.hosts.deployment import deployment

pytestmark = pytest.mark.hosts


def test_debian_12_beside_debian_13(tmp_path: Path) -> None:
    """Two stacks of one machine, made at the same time: own names, own subnets, own versions; one goes and the other stays."""
    with (
        deployment("test-bookworm", tmp_path / "bookworm", set={"software": "debian-12"}) as old,
        deployment("test-trixie", tmp_path / "trixie", set={"pools.train.nodes": 1}) as new,
        concurrent.futures.ThreadPoolExecutor() as together,
    ):
        for made in [together.submit(one.up) for one in (old, new)]:
            made.result()
        assert old.ssh("sinfo --version").split() == ["slurm-wlm", "22.05.8"]
        assert new.ssh("sinfo --version").split()[1].startswith("24.11.")
        job = old.ssh("sbatch --parsable --wait --nodes=2 --gpus-per-node=8 --wrap 'srun hostname'").strip()
        assert sorted(old.ssh(f"cat slurm-{job}.out").split()) == ["train-0", "train-1"]
        before = new.leaders()
        old.down()
        assert sweep.left_behind(old.names) == ()
        assert new.leaders() == before
        assert new.ssh("srun hostname").split() == ["train-0"]
        new.down()
        assert sweep.left_behind(new.names) == ()

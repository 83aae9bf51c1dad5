"""Another software profile, and stacks side by side."""

import concurrent.futures
from pathlib import Path

import pytest

from components.local.machine import sweep
from tests.hosts.deployment import deployment

pytestmark = pytest.mark.hosts


@pytest.mark.usefixtures("ubuntu")
def test_ubuntu_24_04_beside_debian_12(tmp_path: Path) -> None:
    """Two stacks of one machine, made at the same time: own names, own subnets, another distribution and version; one goes and the other stays. Debian 13 is what all other tests run."""
    with (
        deployment("test-bookworm", tmp_path / "bookworm", set={"software": "debian-12", "pools.train.nodes": 1}) as old,
        deployment("test-noble", tmp_path / "noble", set={"software": "ubuntu-24.04", "pools.train.nodes": 1}) as new,
        concurrent.futures.ThreadPoolExecutor() as together,
    ):
        for made in [together.submit(one.up) for one in (old, new)]:
            made.result()
        assert old.ssh("sinfo --version").split() == ["slurm-wlm", "22.05.8"]
        assert new.ssh("sinfo --version").split() == ["slurm-wlm", "23.11.4"]
        job = old.ssh("sbatch --parsable --wait --gpus-per-node=8 --wrap 'srun hostname'").strip()
        assert sorted(old.ssh(f"cat slurm-{job}.out").split()) == ["train-0"]
        checked = new.clusterwright("drift")
        assert checked.returncode == 0, checked.stdout
        before = new.leaders()
        old.down()
        assert sweep.left_behind(old.names) == ()
        assert new.leaders() == before
        assert new.ssh("srun hostname").split() == ["train-0"]
        new.down()
        assert sweep.left_behind(new.names) == ()

"""Servers get the kernel, driver and RDMA libraries of the profile for GPUs from Ubuntu's archive, and CUDA, NCCL and what goes with them from NVIDIA's.

Ubuntu's packages are the real ones, NVIDIA's are stand-ins. No GPU and no InfiniBand is there, and a container starts no kernel of its own: loading the modules is simulated by resolving them for the
kernel that they are for.
"""

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog
from tests.hosts import mirror, plain, plays, test_gpu_software
from tests.hosts.deployment import Deployment, deployment
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(3600)]  # each server downloads a kernel, and one the driver: 0.4 GB

PROFILE = "ubuntu-24.04-metal"
SOFTWARE = catalog.software(PROFILE)
VERSIONS = dict(SOFTWARE.versions)
KERNEL, DRIVER = VERSIONS["kernel"], VERSIONS["driver"]
CONTROL, LOGIN, NODE = "head-1", "login-1", "gpu-1"
HOME = "/home"
FABRIC = ("mlx5_ib", "ib_umad", "ib_ipoib", "bnxt_re")
"""Modules of InfiniBand and RoCE NICs."""


@contextlib.contextmanager
def nvidia(servers: PlainHosts, folder: Path) -> Iterator[dict[str, str]]:
    """Serve stand-ins for NVIDIA's archives to servers; what is given takes the place of the profile's origins."""
    with mirror.serving(folder, address=servers.gateway) as address:
        made, container = test_gpu_software.built(folder)
        checksum = made.put_source(VERSIONS["nccl_tests"])
        mirrors = {"nvidia": (made, "cuda"), "nvidia_container": (container, "container")}
        yield {
            "nccl_tests_sha256": checksum,
            **{f"{name}_archive_address": f"{address}/{place}" for name, (_, place) in mirrors.items()},
            **{f"{name}_archive_key": archive.key for name, (archive, _) in mirrors.items()},
            **{f"{name}_archive_simulated": "yes" for name in mirrors},
        }


@pytest.fixture
def server() -> Iterator[PlainHosts]:
    """One server that no stack has."""
    with plain.plain_hosts("gpu-software", 1, suites=("noble",), names=(NODE,)) as found:
        yield found


@pytest.fixture
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("gpu-cluster", 3, suites=("noble",), names=(CONTROL, LOGIN, NODE), shared=HOME) as found:
        yield found


@pytest.fixture
def stack(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with brought_up(servers, tmp_path_factory.mktemp("lab"), {"hosts": NODE}) as one:
        yield one


@contextlib.contextmanager
def brought_up(servers: PlainHosts, folder: Path, pool: dict[str, Any], **more: Any) -> Iterator[Deployment]:
    blueprint: dict[str, Any] = {
        "name": "lab",
        "software": PROFILE,
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOME, "source": HOME}},
        "pools": {"train": pool},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
        **more,
    }
    (folder / "lab.yaml").write_text(json.dumps(blueprint))
    with deployment("test-gpu-software", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


def installed(servers: PlainHosts, name: str) -> dict[str, str]:
    """Give the versions of the packages that a server has."""
    lines = servers.inside(name, "dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package} ${Version}\n").splitlines()
    return {package: version for status, package, version in (line.split() for line in lines) if status == "installed"}


def module_version(servers: PlainHosts, name: str, module: str) -> str:
    """Give the version of a module that a server has for the profile's kernel; empty: there is no module, or it has none."""
    return servers.inside(name, "sh", "-c", f"modinfo -k {KERNEL} -F version {module} 2>/dev/null || :").strip()


def test_a_node_with_gpus_gets_the_driver_for_its_kernel(server: PlainHosts, tmp_path: Path) -> None:
    node_set = {"hosts": {"name": "train", "machine": {"gpus": {"type": "h100", "count": 8, "simulated": False}}}}
    with nvidia(server, tmp_path / "archives") as origins:
        software = json.loads(json.dumps(dataclasses.asdict(dataclasses.replace(SOFTWARE, origins=tuple(origins.items())))))
        variables = {"software": software, "spec": {"slurm": {"node_sets": [node_set]}}, "node_group": "train"}
        assert plays.changed(plays.run(server, [NODE], ["kernel_and_drivers"], variables, folder=tmp_path, group="compute")) > 0
        installs_the_driver(server)
        has_what_programs_use_gpus_with(server)
        packages, started = installed(server, NODE), server.inside_all(NODE, "systemctl", "show", "--property=UserspaceTimestamp")
        assert plays.run(server, [NODE], ["kernel_and_drivers"], variables, folder=tmp_path, group="compute").returncode == 0
        assert (installed(server, NODE), server.inside_all(NODE, "systemctl", "show", "--property=UserspaceTimestamp")) == (packages, started), (
            "a second run restarts nothing"
        )
        assert plays.changed(plays.run(server, [NODE], ["nccl_tests"], {"software": software}, folder=tmp_path)) > 0
        assert server.inside(NODE, "/usr/lib/clusterwright/nccl-tests/all_reduce_perf") == "stand-in, NCCL 23004\n", "built for this MPI, and finds this NCCL"
        assert plays.changed(plays.run(server, [NODE], ["nccl_tests"], {"software": software}, folder=tmp_path)) == 0
        other = {**software, "origins": [*software["origins"], ["nccl_tests_sha256", "0" * 64]], "versions": [*software["versions"], ["nccl_tests", "2.16.3"]]}
        refused = plays.run(server, [NODE], ["nccl_tests"], {"software": other}, folder=tmp_path)
        assert refused.returncode != 0
        assert "nccl-tests 2.16.3 of the software profile" in refused.stdout


def has_what_programs_use_gpus_with(server: PlainHosts) -> None:
    packages = installed(server, NODE)
    assert packages["libnccl2"].startswith(VERSIONS["nccl"])
    assert packages["cuda-libraries-13-0"].startswith(VERSIONS["cuda"])
    assert {"libnccl2", "cuda-cudart-13-0", "nvidia-container-toolkit"} <= {*server.inside(NODE, "apt-mark", "showhold").split()}


def installs_the_driver(server: PlainHosts) -> None:
    packages = installed(server, NODE)
    assert f"linux-modules-extra-{KERNEL}" in packages
    assert packages["rdma-core"].startswith(VERSIONS["rdma_core"])
    for module in FABRIC:
        assert server.inside(NODE, "modprobe", "--show-depends", "--set-version", KERNEL, module), (
            "drivers of NICs are there before a server restarts with the kernel"
        )
    of_driver = {name: version for name, version in packages.items() if "nvidia" in name and "580" in name and not name.startswith("linux-")}
    assert {version.split("-")[0] for version in of_driver.values()} == {DRIVER}
    assert {"nvidia-fabricmanager-580", "nvidia-utils-580-server", "libnvidia-compute-580-server"} <= of_driver.keys()
    assert {f"linux-modules-nvidia-580-server-open-{KERNEL}", "nvidia-fabricmanager-580"} <= {*server.inside(NODE, "apt-mark", "showhold").split()}
    assert not {"dkms"} & packages.keys(), "no module is compiled on a server"
    assert module_version(server, NODE, "nvidia") == module_version(server, NODE, "nvidia_uvm") == DRIVER
    assert server.inside(NODE, "modprobe", "--show-depends", "--set-version", KERNEL, "nvidia-uvm")
    assert "nvidia-fabricmanager.service" not in server.inside(NODE, "ls", "/etc/systemd/system/multi-user.target.wants"), "it fails without NVSwitches"


def test_a_cluster_comes_up_with_the_kernel_and_the_libraries_of_the_profile(servers: PlainHosts, stack: Deployment) -> None:
    assert stack.ssh("srun hostname").split() == [NODE]
    packages = installed(servers, NODE)
    assert {f"linux-image-{KERNEL}", f"linux-modules-extra-{KERNEL}"} <= {*servers.inside(NODE, "apt-mark", "showhold").split()} & {*packages}
    assert packages["rdma-core"].startswith(VERSIONS["rdma_core"])
    assert "rdma-core" not in installed(servers, LOGIN), "only nodes have a fabric"
    for module in FABRIC:
        assert servers.inside(NODE, "modprobe", "--show-depends", "--set-version", KERNEL, module), (
            "the drivers of NICs are there before the server restarts with the kernel"
        )
    assert stack.preview_changes() == {}


def plug_in(servers: PlainHosts) -> None:
    """Give the node a stand-in for one GPU: on the PCI bus until it restarts, and as a device file from now on."""
    bus = "/tmp/pci/0000:18:00.0"
    made = f"mkdir -p {bus}; cd {bus}; echo 0x10de >vendor; echo 0x030200 >class; echo 0x2330 >device; mount --bind /tmp/pci /sys/bus/pci/devices"
    servers.inside(NODE, "sh", "-c", f"mountpoint -q /sys/bus/pci/devices || {{ {made}; }}")
    unit = "[Unit]\\nBefore=slurmd.service\\n[Service]\\nType=oneshot\\nExecStart=ln -sf /dev/full /dev/nvidia0\\n[Install]\\nWantedBy=multi-user.target\\n"
    servers.inside(NODE, "sh", "-c", f"ln -sf /dev/full /dev/nvidia0; printf '{unit}' >/etc/systemd/system/gpu-file.service")
    servers.inside_all(NODE, "systemctl", "enable", "gpu-file.service")


def test_up_rolls_a_node_whose_driver_and_nccl_somebody_changed(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("gpus")
    pool = {"hosts": NODE, "accelerator": "h100", "gpus_per_node": 1, "cpus_per_node": 2, "memory": "1 GiB", "health": {"check": "none"}}
    plug_in(servers)
    with nvidia(servers, folder / "archives") as origins:
        archives = {
            name: {"address": origins[f"{name}_archive_address"], "key": origins[f"{name}_archive_key"], "simulated": True}
            for name in ("nvidia", "nvidia_container")
        }
        with brought_up(servers, folder, pool, archives=archives, acceptance={"gate": ["nodes"]}) as stack:
            assert "Package content simulated" in stack.clusterwright("summary").stdout
            told = stack.ssh(f'srun --gpus=1 python3 -c "{test_gpu_software.TOLD}"')
            assert told.split() == ["23004"], "a job finds the profile's NCCL"
            change = f"apt-get --yes --quiet --allow-downgrades --allow-change-held-packages install libnccl2={test_gpu_software.OLDER}-1+cuda13.2"
            servers.inside(NODE, "sh", "-c", f"{change} libnccl-dev={test_gpu_software.OLDER}-1+cuda13.2")
            modules = f"linux-modules-nvidia-{DRIVER.partition('.')[0]}-server-open-{KERNEL}"
            servers.inside(NODE, "sh", "-c", f"apt-get --yes --quiet --allow-change-held-packages remove {modules}")
            drift = stack.clusterwright("drift").stdout
            assert "CW770" in drift
            assert test_gpu_software.OLDER in drift
            asked = stack.clusterwright("up").stdout
            assert f"{NODE}: driver {DRIVER} (now none)" in asked
            assert module_version(servers, NODE, "nvidia") == "", "nobody has agreed"
            assert installed(servers, NODE)["libnccl2"].startswith(test_gpu_software.OLDER), "it is a matter of the roll, too: jobs may come to the node"
            assert f"{NODE}: package libnccl2: the package has another version [CW728]\n    do: run `clusterwright up` and agree to its roll" in asked
            job = stack.ssh("sbatch --parsable --wrap 'sleep 60'").strip()
            plug_in(servers)
            rolled = stack.clusterwright("up", "--yes")
            assert rolled.returncode == 0, rolled.stdout[-6000:] + rolled.stderr[-3000:]
            assert stack.ssh(f"sacct --noheader --parsable2 --allocations --format=state --jobs={job}").strip() == "COMPLETED", "the node was drained"
            assert module_version(servers, NODE, "nvidia") == DRIVER
            still = rolled.stdout.partition("Still different from the record")[2]
            assert {*re.findall(r"CW\d+", still)} <= {"CW781", "CW782"}, "the stand-in for the GPU's device has another number, which says GPU 7"
            assert modules in servers.inside(NODE, "apt-mark", "showhold").split()
            assert installed(servers, NODE)["libnccl2"].startswith(VERSIONS["nccl"])
            assert "libnccl2" in servers.inside(NODE, "apt-mark", "showhold").split()
            assert stack.ssh("srun hostname").split() == [NODE]

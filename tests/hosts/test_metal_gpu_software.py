"""Servers get the kernel, driver and RDMA libraries of the profile for GPUs from Ubuntu's archive.

The packages are the real ones. No GPU and no InfiniBand is there, and a container starts no kernel of its own: loading the modules is simulated by resolving them for the kernel that they are for.
"""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog
from tests.hosts import plain, plays
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
    blueprint: dict[str, Any] = {
        "name": "lab",
        "software": PROFILE,
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOME, "source": HOME}},
        "pools": {"train": {"hosts": NODE}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }
    folder = tmp_path_factory.mktemp("lab")
    (folder / "lab.yaml").write_text(json.dumps(blueprint))
    with deployment("test-gpu-software", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


def installed(servers: PlainHosts, name: str) -> dict[str, str]:
    """Give the versions of the packages that a server has."""
    lines = servers.inside(name, "dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package} ${Version}\n").splitlines()
    return {package: version for status, package, version in (line.split() for line in lines) if status == "installed"}


def module_version(servers: PlainHosts, name: str, module: str) -> str:
    """Give the version of a module that a server has for the profile's kernel; empty: the module has none."""
    return servers.inside(name, "modinfo", "-k", KERNEL, "-F", "version", module).strip()


def test_a_node_with_gpus_gets_the_driver_for_its_kernel(server: PlainHosts, tmp_path: Path) -> None:
    node_set = {"hosts": {"name": "train", "machine": {"gpus": {"type": "h100", "count": 8, "simulated": False}}}}
    variables = {"software": json.loads(json.dumps(dataclasses.asdict(SOFTWARE))), "spec": {"slurm": {"node_sets": [node_set]}}, "node_group": "train"}
    assert plays.changed(plays.run(server, [NODE], ["kernel_and_drivers"], variables, folder=tmp_path, group="compute")) > 0
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
    assert not {"dkms", "gcc", "make"} & packages.keys(), "nothing is compiled on a server"
    assert module_version(server, NODE, "nvidia") == module_version(server, NODE, "nvidia_uvm") == DRIVER
    assert server.inside(NODE, "modprobe", "--show-depends", "--set-version", KERNEL, "nvidia-uvm")
    assert "nvidia-fabricmanager.service" not in server.inside(NODE, "ls", "/etc/systemd/system/multi-user.target.wants"), "it fails without NVSwitches"
    started = server.inside_all(NODE, "systemctl", "show", "--property=UserspaceTimestamp")
    assert plays.run(server, [NODE], ["kernel_and_drivers"], variables, folder=tmp_path, group="compute").returncode == 0
    assert (installed(server, NODE), server.inside_all(NODE, "systemctl", "show", "--property=UserspaceTimestamp")) == (packages, started), (
        "a second run restarts nothing"
    )


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

"""CUDA, NCCL, DCGM and the container toolkit come from signed archives, stay as they are, and are refused with a reason where something is not as promised.

The archives are stand-ins with NVIDIA's names and the profile's versions: repository, key, pin, hold and order are real, the packages' content is not.
"""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog
from tests.hosts import mirror, plays, vendor_archives
from tests.hosts.plain import PlainHosts, plain_hosts

pytestmark = pytest.mark.hosts

NODE = "gpu-1"
SOFTWARE = catalog.software("ubuntu-24.04-metal")
VERSIONS = dict(SOFTWARE.versions)
PARTS = ("cuda", "nccl", "dcgm", "container_toolkit")
OLDER, NEWER, CHANGED, ABSENT = "2.29.7", "2.31.2", "4.5.9", "2.30.99"
"""Versions of NCCL that the archive has beside the profile's, one of DCGM whose package was changed, and one of NCCL that it doesn't have."""
TOLD = "import ctypes; told = ctypes.c_int(); ctypes.CDLL('libnccl.so.2').ncclGetVersion(ctypes.byref(told)); print(told.value)"


@dataclasses.dataclass(frozen=True)
class Site:
    """A server, and a mirror of NVIDIA's archives that it reaches."""

    servers: PlainHosts
    address: str
    nvidia: vendor_archives.Archive
    container: vendor_archives.Archive

    def run(self, folder: Path, *, versions: dict[str, str] | None = None, origins: dict[str, str] | None = None) -> Any:
        given = {
            "nvidia_archive_address": f"{self.address}/cuda",
            "nvidia_archive_key": self.nvidia.key,
            "nvidia_archive_simulated": "yes",
            "nvidia_container_archive_address": f"{self.address}/container",
            "nvidia_container_archive_key": self.container.key,
            **(origins or {}),
        }
        named = versions or {name: VERSIONS[name] for name in PARTS}
        software = dataclasses.replace(
            SOFTWARE, versions=tuple({"cuda": VERSIONS["cuda"], **named}.items()), origins=tuple((name, value) for name, value in given.items() if value)
        )
        return plays.run(self.servers, [NODE], ["gpu_software"], {"software": json.loads(json.dumps(dataclasses.asdict(software)))}, folder=folder)

    def shell(self, words: str) -> str:
        return self.servers.inside(NODE, "sh", "-c", words, within_s=120)

    def installed(self) -> dict[str, str]:
        lines = self.shell("dpkg-query --show --showformat '${db:Status-Status} ${Package} ${Version}\\n'").splitlines()
        return {package: version for status, package, version in (line.split() for line in lines) if status == "installed"}


def built(folder: Path) -> tuple[vendor_archives.Archive, vendor_archives.Archive]:
    """Build NVIDIA's archives as they are at a time: other versions of NCCL, a changed package, and a driver that is newer than the distribution's."""
    major = VERSIONS["cuda"].partition(".")[0]
    packages = [
        *vendor_archives.cuda(VERSIONS["cuda"]),
        *(package for version in (OLDER, VERSIONS["nccl"], NEWER) for package in vendor_archives.nccl(version, f"{major}.2")),
        *vendor_archives.nccl(VERSIONS["nccl"], "12.9"),
        *(package for version in (VERSIONS["dcgm"], CHANGED) for package in vendor_archives.dcgm(version, major)),
        vendor_archives.Package("libnvidia-compute-580-server", "999.0-1"),
    ]
    nvidia = vendor_archives.Archive(folder / "cuda", packages)
    nvidia.change(f"datacenter-gpu-manager-4-core_{CHANGED}-1")
    return nvidia, vendor_archives.Archive(folder / "container", vendor_archives.container_toolkit(VERSIONS["container_toolkit"]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("archives")
    with plain_hosts("gpu-libraries", 1, suites=("noble",), names=(NODE,)) as servers, mirror.serving(folder, address=servers.gateway) as address:
        made = Site(servers, address, *built(folder))
        assert plays.changed(made.run(folder)) > 0
        yield made


def test_a_server_gets_the_profile_s_versions_and_keeps_them(site: Site, tmp_path: Path) -> None:
    packages = site.installed()
    wanted = {
        "cuda-libraries-13-0": f"{VERSIONS['cuda']}-1",
        "libnccl2": f"{VERSIONS['nccl']}-1+cuda13.2",
        "libnccl-dev": f"{VERSIONS['nccl']}-1+cuda13.2",
        "datacenter-gpu-manager-4-cuda13": f"1:{VERSIONS['dcgm']}-1",
        "nvidia-container-toolkit": f"{VERSIONS['container_toolkit']}-1",
    }
    assert wanted.items() <= packages.items()
    assert {*wanted, "cuda-cudart-13-0"} <= {*site.shell("apt-mark showhold").split()}
    assert int(site.shell(f'python3 -c "{TOLD}"')) == 23004, "a program finds the library without being told where"
    assert plays.changed(site.run(tmp_path)) == 0, "a second run changes nothing"
    site.shell("apt-get --yes --quiet upgrade")
    assert site.installed()["libnccl2"] == packages["libnccl2"], "an upgrade of the system leaves it alone"
    assert "Held packages were changed" in site.shell(f"apt-get --yes install libnccl2={NEWER}-1+cuda13.2 libnccl-dev={NEWER}-1+cuda13.2 2>&1 || true")
    assert "999.0" not in site.shell("apt-cache policy libnvidia-compute-580-server | grep Candidate"), "the driver is the distribution's"


REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    # case → how the run differs, what is said
    "another key": (
        {"origins": {"nvidia_archive_key": "A" * 40}},
        (f"The profile trusts {'A' * 40} alone. Nothing was installed with it.", "archives.nvidia.key"),
    ),
    "a version that the archive does not have": (
        {"versions": {"nccl": ABSENT}},
        (f"Version '{ABSENT}-1+cuda13.*' for 'libnccl2' was not found", "or add the package to your mirror"),
    ),
    "an older version": ({"versions": {"nccl": OLDER}}, ("libnccl2", "were downgraded", "installs no older one over it")),
    "a changed package": ({"versions": {"dcgm": CHANGED}}, ("Hash Sum mismatch", "not the one that the archive's signed index lists")),
    "stand-ins that are not called so": (
        {"origins": {"nvidia_archive_simulated": ""}},
        ("are stand-ins for tests", "Write `simulated: true` for it under `archives`"),
    ),
}


BY_APT = ("a version that the archive does not have", "an older version")
"""Cases that apt itself refuses; the role adds the words."""


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.soak] if case in BY_APT else []) for case in REFUSED])
def test_what_is_not_as_promised_is_refused_and_changes_nothing(site: Site, tmp_path: Path, case: str) -> None:
    before, held = site.installed(), site.shell("apt-mark showhold")
    differing, said = REFUSED[case]
    refused = site.run(tmp_path, **differing)
    assert refused.returncode != 0
    text = " ".join(refused.stdout.replace("\\n", " ").split())
    assert [words for words in said if words not in text] == [], refused.stdout[-3000:]
    assert (site.installed(), site.shell("apt-mark showhold")) == (before, held)


def test_an_index_with_another_signature_is_refused(site: Site, tmp_path: Path) -> None:
    site.nvidia.copy(site.nvidia.folder.parent / "forged").sign()
    refused = site.run(tmp_path, versions={"nccl": NEWER}, origins={"nvidia_archive_address": f"{site.address}/forged"})
    assert refused.returncode != 0
    assert "not signed with the key that the profile trusts" in " ".join(refused.stdout.split()), refused.stdout[-3000:]
    assert site.installed()["libnccl2"].startswith(VERSIONS["nccl"])

"""Archives with the names and versions of NVIDIA's packages, signed by keys of their own. The packages are stand-ins and say so: libraries load and tell their version, and do nothing."""

import copy
import dataclasses
import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

MARK = "Clusterwright-Content: simulated"
"""In each package; the role `gpu_software` asks for it."""
DCGM_UNIT = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"


NVCC = '#!/bin/sh\nexec g++ -x c++ $NVCC_APPEND_FLAGS "$@"\n'
MAKEFILE = """\
$(BUILDDIR)/all_reduce_perf: all_reduce.cu
\ttest "$(MPI)" = 1
\tmkdir -p $(BUILDDIR)
\t$(CUDA_HOME)/bin/nvcc -I$(NCCL_HOME)/include -I$(MPI_HOME)/include $< -o $@ -L$(MPI_HOME)/lib -lmpi -l:libnccl.so.2
"""
PROGRAM = """\
#include <cstdio>
#include <mpi.h>
#include <nccl.h>
extern "C" int ncclGetVersion(int *);
int main() { int version; ncclGetVersion(&version); std::printf("stand-in, NCCL %d\\n", version); }
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    depends: str = ""
    library: str = ""
    """Path of a library that it has, which ends with its soname."""
    code: str = ""
    """What the library defines, in C."""
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Path → text."""


def nccl(version: str, cuda: str) -> tuple[Package, Package]:
    major, minor, patch = (int(part) for part in version.split("."))
    code = f"int ncclGetVersion(int *version) {{ *version = {major * 10000 + minor * 100 + patch}; return 0; }}"  # nccl.h, NCCL_VERSION
    whole = f"{version}-1+cuda{cuda}"
    library = Package("libnccl2", whole, library="/usr/lib/x86_64-linux-gnu/libnccl.so.2", code=code)
    return library, Package("libnccl-dev", whole, depends=f"libnccl2 (= {whole})", files={"/usr/include/nccl.h": f"/* stand-in for NCCL {version} */\n"})


def cuda(version: str) -> tuple[Package, ...]:
    release, major = "-".join(version.split(".")[:2]), version.partition(".")[0]
    folder = f"/usr/local/cuda-{release.replace('-', '.')}"
    return (
        Package(
            f"cuda-cudart-{release}",
            f"{release.replace('-', '.')}.96-1",
            library=f"{folder}/targets/x86_64-linux/lib/libcudart.so.{major}",
            files={f"/etc/ld.so.conf.d/000_cuda-{release}.conf": f"{folder}/targets/x86_64-linux/lib\n"},
        ),
        Package(f"cuda-libraries-{release}", f"{version}-1", depends=f"cuda-cudart-{release}"),
        Package(f"cuda-minimal-build-{release}", f"{version}-1", depends=f"cuda-cudart-{release}", files={f"{folder}/bin/nvcc": NVCC}),
    )


def dcgm(version: str, cuda_major: str) -> tuple[Package, Package]:
    whole, unit = f"1:{version}-1", {"/usr/lib/systemd/system/nvidia-dcgm.service": DCGM_UNIT}
    core = Package("datacenter-gpu-manager-4-core", whole, library="/usr/lib/x86_64-linux-gnu/libdcgm.so.4", files=unit)
    return core, Package(f"datacenter-gpu-manager-4-cuda{cuda_major}", whole, depends=f"datacenter-gpu-manager-4-core (= {whole})")


def container_toolkit(version: str) -> tuple[Package, ...]:
    whole = f"{version}-1"
    return (
        Package("libnvidia-container1", whole, library="/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1"),
        Package("libnvidia-container-tools", whole, depends=f"libnvidia-container1 (= {whole})"),
        Package("nvidia-container-toolkit-base", whole),
        Package("nvidia-container-toolkit", whole, depends=f"nvidia-container-toolkit-base (= {whole}), libnvidia-container-tools (= {whole})"),
    )


class Archive:
    """A flat archive in a folder, with its key beside the packages."""

    def __init__(self, folder: Path, packages: Sequence[Package]):
        self.folder, self._work = folder, folder.parent / f"{folder.name}.work"
        folder.mkdir(parents=True)
        self._entries = [_build(one, folder, self._work) for one in packages]
        self.key = self.sign()

    def sign(self) -> str:
        """Sign the index with a new key, which stays beside the packages if it is the first; give the key's fingerprint."""
        index = "\n".join(self._entries)
        (self.folder / "Packages").write_text(index)
        release = (
            f"Origin: stand-in\nLabel: stand-in of {self.folder.name}\nArchitectures: amd64\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
            f"SHA256:\n {hashlib.sha256(index.encode()).hexdigest()} {len(index.encode())} Packages\n"
        )
        (self._work / "Release").write_text(release)
        # The agent's socket lies there, and its path may have 107 bytes.
        with tempfile.TemporaryDirectory(prefix="cw-gpg-") as home:
            return self._sign(home)

    def _sign(self, home: str) -> str:
        gpg = ["gpg", "--homedir", home, "--batch", "--quiet", "--yes", "--pinentry-mode", "loopback", "--passphrase", ""]
        _run([*gpg, "--quick-generate-key", "stand-in for the key of an archive of NVIDIA", "ed25519", "sign", "never"])
        if not (self.folder / "key.asc").exists():
            _run([*gpg, "--armor", "--output", str(self.folder / "key.asc"), "--export"])
        _run([*gpg, "--clearsign", "--output", str(self.folder / "InRelease"), str(self._work / "Release")])
        shown = _run([*gpg, "--with-colons", "--list-keys"])
        _run(["gpgconf", "--homedir", home, "--kill", "gpg-agent"])
        return next(line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr:"))

    def put_source(self, version: str) -> str:
        """Add the source of a stand-in for nccl-tests, which needs the compiler, MPI and NCCL as the real one does; give its checksum."""
        made = self.folder / f"nccl-tests-{version}.tar.gz"
        with tarfile.open(made, "w:gz") as archive:
            for name, text in {"Makefile": MAKEFILE, "all_reduce.cu": PROGRAM}.items():
                entry = tarfile.TarInfo(f"nccl-tests-{version}/{name}")
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        return hashlib.sha256(made.read_bytes()).hexdigest()

    def copy(self, folder: Path) -> "Archive":
        """Give a copy of the archive in another folder, with the same key beside the packages."""
        other = copy.copy(self)
        other.folder, other._work = folder, folder.parent / f"{folder.name}.work"
        shutil.copytree(self.folder, folder)
        shutil.copytree(self._work, other._work)
        return other

    def change(self, package: str) -> None:
        """Change a package in the archive after its index was signed."""
        [file] = self.folder.glob(f"{package}.deb")
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 0xFF]))


def _build(one: Package, folder: Path, work: Path) -> str:
    """Build a package, and give what the index says of it."""
    name = f"{one.name}_{one.version.replace(':', '%3a')}_amd64"
    tree = work / name
    texts = {"/usr/share/doc/" + one.name + "/stand-in": "This package is a stand-in for tests.\n", **one.files}
    for path, text in texts.items():
        place = tree / path.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755 if "/bin/" in path else 0o644)
    if one.library:
        place = tree / one.library.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        compiler = ["gcc", "-shared", "-nostdlib", "-fPIC", f"-Wl,-soname,{place.name}", "-x", "c", "-", "-o", str(place)]
        _run(compiler, one.code or "int stand_in;")
    control = f"Package: {one.name}\nVersion: {one.version}\nArchitecture: amd64\nMaintainer: stand-in\nDescription: stand-in\n{MARK}\n"
    control += f"Depends: {one.depends}\n" if one.depends else ""
    (tree / "DEBIAN").mkdir(parents=True, exist_ok=True)
    (tree / "DEBIAN" / "control").write_text(control)
    if one.library:
        (tree / "DEBIAN" / "triggers").write_text("activate-noawait ldconfig\n")
    made = folder / f"{one.name}_{one.version.partition(':')[2] or one.version}.deb"
    _run(["dpkg-deb", "-Znone", "--build", "--root-owner-group", str(tree), str(made)])
    content = made.read_bytes()
    return f"{control}Filename: ./{made.name}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"


def _run(argv: list[str], stdin: str = "") -> str:
    ended = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout

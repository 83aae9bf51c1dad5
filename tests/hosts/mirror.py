"""A mirror of what AWS serves for images, for bakes on this machine: what it serves is made here and stands in for the real thing.

It is strict: it serves the very names and versions that it was made for, the installer refuses options that the real one does not have, and the repository is signed by a key of
its own. Its checksums and its key's fingerprint take the place of the real ones in a software profile's `origins`, as those of a company's mirror would.
"""

import contextlib
import functools
import gzip
import hashlib
import http.server
import io
import struct
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

INSTALLER = """#!/bin/bash
# Stand-in for AWS' EFA installer {version}: takes its options, and lays programs and libraries where it does.
set -eu
declare -A given
for option in "$@"; do
    case $option in
    -y | --yes | -k | --skip-kmod | --skip-mpi | -l | --skip-limit-conf | -n | --no-verify) given[$option]=1 ;;
    *) echo "efa_installer.sh: unknown option $option" >&2; exit 1 ;;
    esac
done
[ "$(id -u)" = 0 ] || exit 1
[ -n "${{given[--skip-kmod]:-}}" ] || {{ echo "no kernel headers to build the module with" >&2; exit 1; }}
[ -n "${{given[--no-verify]:-}}" ] || {{ echo "no EFA device to verify with" >&2; exit 1; }}
mkdir -p /opt/amazon/efa/bin /opt/amazon/efa/lib /opt/amazon/ofi-nccl/lib
printf '#!/bin/sh\\n[ "$1" = --version ] && echo "libfabric: stand-in"\\n' >/opt/amazon/efa/bin/fi_info
chmod 755 /opt/amazon/efa/bin/fi_info
# Any library that loads.
cp "$(python3 -c 'import apt_pkg; print(apt_pkg.__file__)')" /opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so
echo "# EFA installer version: {version}" >/opt/amazon/efa_installed_packages
"""
MOUNT_S3 = '#!/bin/sh\n[ "$1" = --version ] && echo "mount-s3 {version}"\n'
KEY_NAME = "stand-in for the key of FSx' repository"


class Mirror:
    """What is served, and what a profile that trusts it says."""

    def __init__(self, folder: Path, versions: Mapping[str, str], *, suite: str, built_for: str = ""):
        """Make what a profile's versions name.

        Args:
            folder: what is served; what it is made from lies beside it.
            versions: of the profile, by name.
            suite: under which the repository has the Lustre client.
            built_for: the kernel that the client's modules were built for; empty: that of the profile, as it should be.
        """
        self.folder, self._suite = folder, suite
        folder.mkdir()
        kernel, efa_installer, lustre_client, mountpoint = (versions[name] for name in ("kernel", "efa_installer", "lustre_client", "mountpoint"))
        self._sums = {
            "efa_installer_sha256": self._efa(efa_installer),
            "mountpoint_sha256": self._mountpoint(mountpoint),
        }
        self.key = self._repository(kernel, lustre_client, built_for or kernel)

    def origins(self, address: str) -> dict[str, str]:
        return {
            **self._sums,
            "efa_installer_address": address,
            "mountpoint_address": address,
            "lustre_client_address": f"{address}/ubuntu",
            "lustre_client_key_address": f"{address}/key.asc",
            "lustre_client_suite": self._suite,
            "lustre_client_key": self.key,
        }

    def _efa(self, version: str) -> str:
        return _archive(self.folder / f"aws-efa-installer-{version}.tar.gz", {"aws-efa-installer/efa_installer.sh": INSTALLER.format(version=version).encode()})

    def _mountpoint(self, version: str) -> str:
        files = {"./bin/mount-s3": MOUNT_S3.format(version=version).encode(), "./VERSION": f"{version}\n".encode()}
        return _archive(self.folder / version / "x86_64" / f"mount-s3-{version}-x86_64.tar.gz", files)

    def _repository(self, kernel: str, version: str, built_for: str) -> str:
        root = self.folder / "ubuntu"
        modules = {f"/lib/modules/{kernel}/updates/kernel/{name}.ko": kernel_module(built_for, version.split("-")[0]) for name in ("lustre", "lnet")}
        packages = [
            _package(root, f"lustre-client-modules-{kernel}", version, modules, depends=f"linux-image-{kernel}, lustre-client-utils", after=f"depmod {kernel}"),
            _package(root, "lustre-client-utils", version, {"/usr/sbin/mount.lustre": b"#!/bin/sh\nexit 1\n"}),
        ]
        home = self.folder.parent / "gnupg"
        home.mkdir(mode=0o700)
        gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--yes", "--pinentry-mode", "loopback", "--passphrase", ""]
        _run([*gpg, "--quick-generate-key", KEY_NAME, "ed25519", "sign", "never"])
        _run([*gpg, "--armor", "--output", str(self.folder / "key.asc"), "--export"])
        for suite, content in {self._suite: "\n".join(packages), "noble": ""}.items():
            place = root / "dists" / suite
            (place / "main" / "binary-amd64").mkdir(parents=True, exist_ok=True)
            index = place / "main" / "binary-amd64" / "Packages"
            index.write_text(content)
            (place / "Release").write_text(
                f"Suite: {suite}\nCodename: {suite}\nComponents: main\nArchitectures: amd64\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
                f"SHA256:\n {hashlib.sha256(content.encode()).hexdigest()} {len(content.encode())} main/binary-amd64/Packages\n"
            )
            _run([*gpg, "--clearsign", "--output", str(place / "InRelease"), str(place / "Release")])
        shown = _run([*gpg, "--with-colons", "--list-keys"])
        _run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"])
        return next(line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr:"))


@contextlib.contextmanager
def serving(folder: Path, *, address: str = "127.0.0.1") -> Iterator[str]:
    """Serve a folder on one address of this machine, and give its URL."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer((address, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{address}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def kernel_module(kernel: str, version: str) -> bytes:
    """Make an object file that depmod and modinfo take for a module of a kernel. It holds no program."""
    words = (f"version={version}", "license=GPL", f"vermagic={kernel} SMP mod_unload modversions ")
    modinfo = b"".join(word.encode() + b"\0" for word in words)
    names = b"\0.modinfo\0.symtab\0.strtab\0.shstrtab\0"
    symbols, strings = bytes(24), b"\0"
    contents = (modinfo, symbols, strings, names)
    offsets, at = [], 64
    for content in contents:
        offsets.append(at)
        at += len(content) + -len(content) % 8
    body = b"".join(content + bytes(-len(content) % 8) for content in contents)
    sections = [bytes(64)]
    # name, type (1 data, 2 symbols, 3 strings), link, entry size: elf(5), Elf64_Shdr
    for (name, kind, link, entry), content, offset in zip(((1, 1, 0, 0), (10, 2, 3, 24), (18, 3, 0, 0), (26, 3, 0, 0)), contents, offsets, strict=True):
        sections.append(struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, len(content), link, 0, 8, entry))
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, at, 0, 64, 0, 0, 64, len(sections), 4)
    return header + body + b"".join(sections)


def _archive(path: Path, files: dict[str, bytes]) -> str:
    """Write a tar archive and give its checksum."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _package(root: Path, name: str, version: str, files: dict[str, bytes], *, depends: str = "", after: str = "") -> str:
    """Build a package below a repository's root, and give what the repository's index says of it."""
    tree = root.parent.parent / "packages" / name
    for path, content in files.items():
        place = tree / path.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o755)
    control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: stand-in\nDescription: stand-in\n" + (
        f"Depends: {depends}\n" if depends else ""
    )
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(control)
    if after:
        (tree / "DEBIAN" / "postinst").write_text(f"#!/bin/sh\nset -e\n{after}\n")
        (tree / "DEBIAN" / "postinst").chmod(0o755)
    made = root / "pool" / f"{name}_{version}_amd64.deb"
    made.parent.mkdir(parents=True, exist_ok=True)
    _run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(made)])
    content = made.read_bytes()
    return f"{control}Filename: pool/{made.name}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"


def _run(argv: list[str]) -> str:
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout

"""Container images, written straight into the storage of a docker-registry.

The same files give the same digest: names are sorted, times and owners are zero, and layers are not compressed (compressors differ between machines, and hosts on the same disk unpack faster without).
Sources: OCI image format 1.0 (manifest, config, layer); distribution's filesystem layout (`docker/registry/v2`).
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import recipe

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
BEGINNING = "1970-01-01T00:00:00Z"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Blob:
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Process:
    """What a container of an image runs unless it is told otherwise."""

    entrypoint: Sequence[str]
    user: str
    environment: Mapping[str, str]

    def config(self) -> Mapping[str, object]:
        variables = {"PATH": PATH, **self.environment}
        config: dict[str, object] = {"Env": [f"{name}={value}" for name, value in sorted(variables.items())], "WorkingDir": "/"}
        if self.entrypoint:
            config["Entrypoint"] = list(self.entrypoint)
        if self.user:
            config["User"] = self.user
        return config


@dataclass(frozen=True, slots=True)
class Stored:
    """An image in the storage."""

    digest: str
    size: int
    """Bytes of its manifest, config and layers."""


class Storage:
    """The storage folder of a docker-registry."""

    def __init__(self, folder: Path):
        self._root = folder / "docker/registry/v2"

    def add(self, content: bytes) -> Blob:
        blob = Blob(hashlib.sha256(content).hexdigest(), len(content))
        file = self.path(blob.digest)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return blob

    def add_layer(self, files: Mapping[str, Path]) -> Blob:
        """Store a layer of programs: path in the image → file."""
        return self._take(lambda tar: _write_files(tar, files))

    def add_root(self, archive: Path, links: Mapping[str, str]) -> Blob:
        """Store a root file system's archive as a layer, with symbolic links that the packages leave to their installation."""
        return self._take(lambda tar: _write_root(tar, archive, links))

    def link_layer(self, other: Storage, blob: Blob) -> None:
        """Share a layer of another storage on the same file system."""
        file = self.path(blob.digest)
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            os.link(other.path(blob.digest), file)

    def add_image(self, repository: str, tag: str, *, layers: Sequence[Blob], process: Process) -> Stored:
        config = self.add(
            _json({
                "architecture": recipe.ARCHITECTURES.get(os.uname().machine, os.uname().machine), "os": "linux", "created": BEGINNING, "config": process.config(),
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in layers]},
                "history": [{"created": BEGINNING} for _ in layers],
            })
        )  # fmt: skip
        manifest = self.add(
            _json({
                "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": _descriptor(CONFIG_TYPE, config), "layers": [_descriptor(LAYER_TYPE, layer) for layer in layers],
            })
        )  # fmt: skip
        links = self._root / "repositories" / repository
        for blob in (config, *layers):
            _link(links / "_layers/sha256" / blob.digest, blob)
        for place in (f"revisions/sha256/{manifest.digest}", f"tags/{tag}/current", f"tags/{tag}/index/sha256/{manifest.digest}"):
            _link(links / "_manifests" / place, manifest)
        return Stored(f"sha256:{manifest.digest}", manifest.size + config.size + sum(layer.size for layer in layers))

    def has(self, digest: str) -> bool:
        """Say whether an image's manifest is there, with its configuration and layers in their size."""
        try:
            manifest = json.loads(self.path(digest.removeprefix("sha256:")).read_text())
            blobs = [manifest["config"], *manifest["layers"]]
            return all(self.path(blob["digest"].removeprefix("sha256:")).stat().st_size == blob["size"] for blob in blobs)
        except (OSError, ValueError, KeyError):
            return False

    def path(self, digest: str) -> Path:
        return self._root / "blobs/sha256" / digest[:2] / digest / "data"

    def _take(self, write: object) -> Blob:
        self._root.mkdir(parents=True, exist_ok=True)
        aside = self._root / ".layer"
        with aside.open("w+b") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            write(tar)  # type: ignore[operator]
        with aside.open("rb") as file:
            blob = Blob(hashlib.file_digest(file, "sha256").hexdigest(), aside.stat().st_size)
        self.path(blob.digest).parent.mkdir(parents=True, exist_ok=True)
        aside.rename(self.path(blob.digest))
        return blob


def repository_of(name: str) -> str:
    """Give the repository in which a mirror of every registry keeps an image: its name without the registry's host, which a client of the mirror does not say."""
    host, _, rest = name.partition("/")
    return rest if "." in host or ":" in host else name


def _write_files(tar: tarfile.TarFile, files: Mapping[str, Path]) -> None:
    folders = {parent.as_posix() for path in files for parent in Path(path).parents if parent != Path()}
    for folder in sorted(folders):
        tar.addfile(_member(folder, tarfile.DIRTYPE, 0o755))
    for path, source in sorted(files.items()):
        member = _member(path, tarfile.REGTYPE, 0o755)
        member.size = source.stat().st_size
        with source.open("rb") as content:
            tar.addfile(member, content)


def _write_root(tar: tarfile.TarFile, archive: Path, links: Mapping[str, str]) -> None:
    with tarfile.open(archive) as packed:
        members = {member.name.removeprefix("./").rstrip("/"): member for member in packed.getmembers()}
        for path in sorted(members):
            if (
                path in ("", ".")
                or path in links
                or path.startswith(("dev/", "usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt", "var/cache", "etc/apt"))
            ):
                continue
            member = members[path]
            content = packed.extractfile(member) if member.isreg() else None
            copied = _member(path, member.type, member.mode)
            copied.size, copied.linkname, copied.uid, copied.gid = member.size, member.linkname, member.uid, member.gid
            if member.islnk():
                copied.linkname = member.linkname.removeprefix("./")
            tar.addfile(copied, content)
    for path, target in sorted(links.items()):
        member = _member(path, tarfile.SYMTYPE, 0o777)
        member.linkname = target
        tar.addfile(member)


def _member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode = kind, mode
    return member


def _descriptor(kind: str, blob: Blob) -> dict[str, object]:
    return {"mediaType": kind, "digest": f"sha256:{blob.digest}", "size": blob.size}


def _link(folder: Path, blob: Blob) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "link").write_text(f"sha256:{blob.digest}")


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()

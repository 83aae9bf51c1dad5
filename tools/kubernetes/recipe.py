"""What a release of Kubernetes consists of: parts, each pinned by the files of one folder."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FORMAT = "1"
"""Raise it when the same pins lead to other programs or images: the layout of images, flags of builds."""
FILES_OF_A_BUILD = ("*.go", "go.mod", "go.sum")
FILES_OF_A_PART = (*FILES_OF_A_BUILD, "part.toml", "*.yaml")


ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""`uname -m` → the name that Go and container images give the architecture."""


class WayClosedError(Exception):
    """This way cannot be taken here; another one may."""


class RefusedError(Exception):
    """The release cannot be made; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Image:
    """One container image, made of programs of its part over a base."""

    name: str
    tag: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Path in the image → program or script of the part."""
    entrypoint: tuple[str, ...] = ()
    base: str = ""
    """Name of the part whose root file system lies below, maybe the image's own; empty: the programs are all there is."""
    user: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        return f"{self.name}:{self.tag}"


@dataclass(frozen=True, slots=True)
class Downloads:
    """Programs that their publisher offers, each with the checksum that it must have. One without a checksum is built."""

    url: str
    """With `{program}` and `{architecture}`, as Go calls it."""
    sha256: Mapping[str, Mapping[str, str]]
    """Machine (`uname -m`) → program → checksum."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """YAML that a module ships for an add-on."""

    addon: str
    file: str
    """Path in the module, or in the part's own folder; a folder is a kustomization."""
    module: str = ""
    images: Mapping[str, str] = field(default_factory=dict)
    """Name of an image in the module's files → the name under which its releases publish it."""
    without: tuple[str, ...] = ()
    """Resources that the kustomization names and that are left out: other add-ons, or what it would fetch from a network."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A main package copied from a module without some of its imports, whose requirements cannot be had or need C."""

    module: str
    file: str
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """Scripts that a module ships for its image, which name them by their files' names."""

    module: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Packages:
    """A root file system of Debian packages."""

    suite: str
    include: tuple[str, ...]
    links: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Part:
    """One folder of `parts/`: a set of programs that one module pins, or a root file system."""

    name: str
    folder: Path
    source: str
    """What it is built from, in words for people."""
    cpu_s: int
    """Processor time of a first build (docs/measurements.md)."""
    go: str = ""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Program → Go package."""
    ldflags: str = ""
    derived: Derived | None = None
    copied: Copied | None = None
    packages: Packages | None = None
    images: tuple[Image, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    downloads: Downloads | None = None

    @property
    def bases(self) -> set[str]:
        """The other parts whose root file systems lie below this part's images."""
        return {image.base for image in self.images} - {"", self.name}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts of one release, in the order in which they are made, and the key of each."""

    version: str
    parts: tuple[Part, ...]
    keys: Mapping[str, str]

    @property
    def key(self) -> str:
        return f"{self.version}-{_digest(*(f'{part.name}={self.keys[part.name]}' for part in self.parts))}"


def versions(folder: Path) -> tuple[str, ...]:
    """Give the versions of Kubernetes that this folder pins, the default one first."""
    return tuple(tomllib.loads((folder / "releases.toml").read_text())["releases"])


def optional_parts(folder: Path) -> tuple[str, ...]:
    return tuple(tomllib.loads((folder / "releases.toml").read_text())["optional"])


def read(folder: Path, version: str, *, extra: tuple[str, ...] = ()) -> Recipe:
    """Read what one release consists of, with some of the optional parts.

    Raises:
        RefusedError: nothing pins this version or part.
    """
    table = tomllib.loads((folder / "releases.toml").read_text())
    if version not in table["releases"]:
        raise RefusedError(f"no pins for Kubernetes {version}\nremedy: choose one of {', '.join(table['releases'])}")
    for name in extra:
        if name not in table["optional"]:
            raise RefusedError(f"there is no optional part {name!r}\nremedy: choose from {', '.join(table['optional'])}")
    names = [*table["releases"][version], *(name for name in table["optional"] if name in extra)]
    parts = tuple(read_part(folder / "parts" / name) for name in names)
    keys: dict[str, str] = {}
    for part in parts:
        keys[part.name] = part_key(part, keys)
    return Recipe(version, parts, keys)


def read_part(folder: Path) -> Part:
    table = tomllib.loads((folder / "part.toml").read_text())
    module_version = _module_versions(folder / "go.mod")
    images = tuple(_image(entry) for entry in table.get("images", ()))
    manifests = tuple(Manifest(**{**entry, "without": tuple(entry.get("without", ()))}) for entry in table.get("manifests", ()))
    return Part(
        name=folder.name,
        folder=folder,
        source=table["source"].format(version=module_version.get(table["source"].partition(" ")[0], "")),
        cpu_s=table["cpu_s"],
        go=table.get("go", ""),
        programs=table.get("programs", {}),
        ldflags=table.get("ldflags", ""),
        derived=Derived(table["derived"]["module"], table["derived"]["file"], tuple(table["derived"]["without"])) if "derived" in table else None,
        copied=Copied(table["copied"]["module"], tuple(table["copied"]["files"])) if "copied" in table else None,
        packages=Packages(table["packages"]["suite"], tuple(table["packages"]["include"]), table["packages"]["links"]) if "packages" in table else None,
        images=images,
        manifests=manifests,
        downloads=Downloads(**table["downloads"]) if "downloads" in table else None,
    )


def _image(entry: Mapping[str, object]) -> Image:
    values = dict(entry)
    return Image(**{**values, "entrypoint": tuple(values.get("entrypoint", ()))})  # type: ignore[arg-type]


def _module_versions(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^(?:require)?\s*([\w./~-]+) (v\S+)", file.read_text(), re.MULTILINE)) if file.exists() else {}


def part_key(part: Part, keys: Mapping[str, str]) -> str:
    """Name what a part becomes by everything that makes it: its files, the machine's kind, and the parts that lie below its images."""
    files = sorted(file for pattern in FILES_OF_A_PART for file in part.folder.glob(pattern))
    return _digest(
        FORMAT, os.uname().sysname, os.uname().machine, *(f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files),
        *(keys[base] for base in sorted(part.bases)),
    )  # fmt: skip


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def say(message: str) -> None:
    print(f"kubernetes: {message}", file=sys.stderr, flush=True)

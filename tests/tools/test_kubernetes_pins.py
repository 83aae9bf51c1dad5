"""The pins of Kubernetes and its add-ons agree with each other and with the catalogue."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog

FOLDER = Path(__file__).resolve().parents[2] / "tools/kubernetes"
RELEASES = tomllib.loads((FOLDER / "releases.toml").read_text())
PARTS = {file.parent.name: tomllib.loads(file.read_text()) for file in sorted(FOLDER.glob("parts/*/part.toml"))}


def images(names: list[str]) -> set[str]:
    return {f"{image['name']}:{image['tag']}" for name in names for image in PARTS[name].get("images", ())}


def required(name: str) -> dict[str, str]:
    """Module → version that a part requires."""
    return dict(re.findall(r"^(?:require)?\s*(\S+) v(\S+)", (FOLDER / "parts" / name / "go.mod").read_text(), re.MULTILINE))


def test_the_releases_are_those_of_the_catalogue_and_the_default_is_first() -> None:
    assert set(RELEASES["releases"]) == set(catalog.kubernetes_versions())
    assert catalog.kubernetes_version("") == catalog.kubernetes_versions()[next(iter(RELEASES["releases"]))]


@pytest.mark.parametrize("version", RELEASES["releases"])
def test_a_release_has_what_the_catalogue_installs_with_its_version(version: str) -> None:
    found = images(RELEASES["releases"][version])
    catalogued = catalog.kubernetes_versions()[version]
    for image in (
        *(f"registry.k8s.io/{program}:v{version}" for program in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")),
        f"registry.k8s.io/etcd:{catalogued.etcd}-0",
        f"registry.k8s.io/coredns/coredns:{catalogued.coredns}",
        f"registry.k8s.io/pause:{catalogued.pause}",
    ):
        assert image in found


@pytest.mark.parametrize("name", [name for name, part in PARTS.items() if " {version}" in part["source"] and name != "flannel-cni"])
def test_a_part_says_the_version_that_its_module_requires(name: str) -> None:
    part, version = PARTS[name], required(name)[PARTS[name]["source"].split()[0]]
    assert {image["tag"].removeprefix("v").removesuffix("-0") for image in part["images"]} == {version}
    assert set(re.findall(r"ersion=v(\S+)", part.get("ldflags", ""))) <= {version}


def test_every_part_belongs_to_a_release_or_is_optional() -> None:
    assert set(PARTS) == {name for release in RELEASES["releases"].values() for name in release} | set(RELEASES["optional"])


@pytest.mark.parametrize("name", [name for name in PARTS if (FOLDER / "parts" / name / "programs.go").exists()])
def test_a_module_keeps_the_programs_that_its_part_builds(name: str) -> None:
    source = (FOLDER / "parts" / name / "programs.go").read_text()
    assert set(re.findall(r'_ "(\S+)"', source)) == set(PARTS[name]["programs"].values())


@pytest.mark.parametrize("name", [name for name, addon in catalog.addons().items() if addon.is_built])
def test_an_addon_of_the_catalogue_has_its_images_in_a_release(name: str) -> None:
    default: Any = next(iter(RELEASES["releases"].values()))
    addon = catalog.addons()[name]
    made = images([*default, *RELEASES["optional"]])
    assert set(addon.images) <= made | set(addon.published), "an image is made here, or its publisher's has a digest"
    assert not made & set(addon.published), "one image has one digest"
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in addon.published.values())

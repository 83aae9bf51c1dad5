"""The images that a Kubernetes cluster runs: what a site's own registry must have. Pure."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from .. import catalog, spec

OWN = "clusterwright.invalid"
"""The registry's name of images that this project builds; no public registry has them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    name: str
    """With its registry and tag (`registry.k8s.io/pause:3.10.1`)."""
    of: str
    """The part of the cluster that runs it."""

    @property
    def is_own(self) -> bool:
        return self.name.startswith(f"{OWN}/")


def images(cluster: spec.ClusterSpec) -> tuple[Image, ...]:
    """List the images of a cluster's control plane, nodes and add-ons; none without Kubernetes."""
    return tuple(_images(cluster.kubernetes)) if cluster.kubernetes else ()


def _images(kubernetes: spec.Kubernetes) -> Iterator[Image]:
    version = catalog.kubernetes_versions().get(kubernetes.version)
    if kubernetes.control is not None and version is not None:
        yield from (Image(name, f"Kubernetes {kubernetes.version}") for name in version.images)
    for addon in kubernetes.addons:
        yield from (Image(name, f"{addon.name} {addon.version}") for name in catalog.addons()[addon.name].images)


def as_sync(several: Sequence[Image]) -> Mapping[str, Mapping[str, Mapping[str, list[str]]]]:
    """Group images as the source file of `skopeo sync` does (skopeo-sync(1), "YAML file content"); the project's own are left out: they are in its release."""
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for image in several:
        if not image.is_own:
            registry, _, rest = image.name.partition("/")
            name, _, tag = rest.rpartition(":")
            found.setdefault(registry, {"images": {}})["images"].setdefault(name, []).append(tag)
    return found

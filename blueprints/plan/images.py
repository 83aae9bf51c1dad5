"""The images that a Kubernetes cluster runs: what a site's own registry must have. Pure."""

import dataclasses
from collections.abc import Iterator

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

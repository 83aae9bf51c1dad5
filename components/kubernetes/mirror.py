"""A site's own registry, from which hosts pull every image: filled from the release, and asked before anything starts."""

import dataclasses
import http.client
import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..provider.kind import Kind, Refused, Values, Work
from . import manifests

IMAGES = "images.json"
ANSWERS_WITHIN_S = 10
NAMED_AT_MOST = 10
MANIFEST_TYPES = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in ("oci.image.manifest.v1", "docker.distribution.manifest.v2", "oci.image.index.v1", "docker.distribution.manifest.list.v2")
)
"""Images for one kind of processor, and lists of images for several, as publishers have them."""
FOLDER_VERSION = "Directory Transport Version: 1.1\n"
"""Of the transport `dir:` of containers/image, from which skopeo copies (containers-transports(5))."""


@dataclasses.dataclass(frozen=True, slots=True)
class MirrorInputs:
    registry: str
    """Host with port, and a path if any (`registry.example.org:5000`)."""
    release: str
    """The folder of the release, whose images it must have."""
    published: dict[str, str] = dataclasses.field(default_factory=dict)
    """Images that the release does not have, as their publishers build them: name with tag → digest."""


class Mirror(Kind[MirrorInputs]):
    token = "clusterwright:kubernetes:Mirror"
    inputs = MirrorInputs

    def identity(self, inputs: MirrorInputs) -> str:
        return "mirror"  # another registry is another place for the same images

    def check(self, inputs: MirrorInputs) -> Iterator[tuple[str, str]]:
        images = _wanted(inputs)
        if images and (page := lacking_page(inputs.registry, images)):
            yield "registry", page

    def read(self, inputs: MirrorInputs, outputs: Values) -> Values | None:
        return {}

    def create(self, inputs: MirrorInputs, work: Work) -> Values:
        """Ask again: the release may have been made since the check, by this run."""
        if page := lacking_page(inputs.registry, _wanted(inputs)):
            raise Refused(page)
        return {}

    def delete(self, inputs: MirrorInputs, outputs: Values, work: Work) -> None:
        """Leave the registry as it is: it is the site's own."""


def lacking_page(registry: str, images: manifests.Images) -> str:
    """Ask a registry for images; empty: it has them all, with the digests of the release."""
    lacking = {}
    try:
        for name, entry in sorted(images.items()):
            found = digest(registry, name)
            if found != entry["digest"]:
                lacking[name] = "is another image there" if found else "is not there"
    except (OSError, http.client.HTTPException) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        return "\n".join(
            [
                f"the registry {registry} can't be asked for images",
                f"  why: http://{registry}/v2 does not answer from here: {cause}",
                "  do:  correct `kubernetes.registry`, or remove it: hosts of the control plane then serve the images",
            ]
        )
    if not lacking:
        return ""
    more = [f"  and {len(lacking) - NAMED_AT_MOST} more"] if len(lacking) > NAMED_AT_MOST else []
    return "\n".join(
        [
            f"the registry {registry} lacks {len(lacking)} of the {len(images)} images that the cluster runs",
            *(f"  {name} {what}" for name, what in [*lacking.items()][:NAMED_AT_MOST]),
            *more,
            "  why: hosts pull from this registry alone, and run the images of the release by their digests",
            "  do:  copy them there: `clusterwright images --export FOLDER` says how",
        ]
    )


def digest(registry: str, name: str) -> str:
    """Ask a registry for the digest of an image; empty: it has none of this name.

    Raises:
        OSError: it does not answer.
    """
    repository, _, tag = repository_of(name).rpartition(":")
    request = urllib.request.Request(f"http://{registry}/v2/{repository}/manifests/{tag}", method="HEAD", headers={"Accept": MANIFEST_TYPES})
    try:
        with urllib.request.urlopen(request, timeout=ANSWERS_WITHIN_S) as answer:  # noqa: S310  (containerd asks in the same way)
            return str(answer.headers.get("Docker-Content-Digest", ""))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.NOT_FOUND:
            return ""
        raise


def repository_of(name: str) -> str:
    """Leave out the registry's own name, which a client of a mirror does not say."""
    host, _, rest = name.partition("/")
    return rest if "." in host or ":" in host else name


def export(release: Path, folder: Path) -> Mapping[str, int]:
    """Write every image of a release as a folder that skopeo copies (`dir:`), under the name that it must have in the mirror; give their sizes.

    Raises:
        FileExistsError: the folder holds something.
        OSError: it can't be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(folder)
    found = {}
    for name, entry in _images(str(release)).items():
        target = folder / repository_of(name)
        target.mkdir(parents=True)
        (target / "version").write_text(FOLDER_VERSION)
        manifest = _blob(release, entry["digest"])
        shutil.copyfile(manifest, target / "manifest.json")
        described = json.loads(manifest.read_text())
        for blob in (described["config"], *described["layers"]):
            _share(_blob(release, blob["digest"]), target / blob["digest"].removeprefix("sha256:"))
        found[name] = int(entry["size"])
    return found


def _wanted(inputs: MirrorInputs) -> manifests.Images:
    """Give all images that the registry must have; none before the release is made."""
    images = _images(inputs.release)
    return {**images, **{name: {"digest": found} for name, found in inputs.published.items()}} if images else {}


def _images(release: str) -> manifests.Images:
    try:
        known: manifests.Images = json.loads((Path(release) / IMAGES).read_text())
    except FileNotFoundError:
        return {}
    return known


def _blob(release: Path, found: str) -> Path:
    name = found.removeprefix("sha256:")
    return release / "registry/docker/registry/v2/blobs/sha256" / name[:2] / name / "data"


def _share(source: Path, target: Path) -> None:
    """Link a file, or copy it to another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)

"""`clusterwright images`: the container images that a blueprint's Kubernetes cluster runs, for a registry of the site's own."""

import argparse
import json
from pathlib import Path

from blueprints import catalog
from blueprints.plan import images
from blueprints.spec import ClusterSpec
from components.kubernetes import mirror, release
from components.provider.kind import Refused

from ..errors import Problem
from ..render import formatting, tables
from ..render.tables import Column, Facts, Section, Table
from . import options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    options.target(parser)
    options.what_if(parser)
    parser.add_argument(
        "--export", type=Path, metavar="FOLDER", help="write the images of the release into a new folder, from which `skopeo sync --src dir` copies"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    cluster = options.loaded(given, quiet=True).spec
    found = images.images(cluster)
    if given.export is not None:
        _export(cluster, given.export)
    elif given.json:
        entries = [{"image": one.name, "of": one.of, "own": one.is_own} for one in found]
        print(json.dumps({"format": FORMAT, "images": entries}, indent=2))
    elif found:
        rows = tuple((one.name, one.of, "this project" if one.is_own else "its registry") for one in found)
        tables.show([Section("Images", (Table((Column("image"), Column("of"), Column("from")), rows),))])
    else:
        tables.show([Section("Images", (Facts((("", "the blueprint has no Kubernetes, so it runs no container images"),)),))])
    return 0


def _export(cluster: ClusterSpec, folder: Path) -> None:
    """Write the images of the cluster's release, and say how they get into a registry.

    Raises:
        Problem: the cluster has none, the release is not in the cache, or the folder can't take them.
    """
    kubernetes = cluster.kubernetes
    if kubernetes is None or kubernetes.control is None:
        raise Problem("the blueprint has no images to export", why="only Kubernetes on hosts has a release of its own", remedy="name another blueprint")
    parts = release.optional_parts([one.name for one in kubernetes.addons], rehearsal=catalog.target(cluster.target).hosts == "here")
    try:
        made = release.made(release.ReleaseInputs(kubernetes.version, tuple(parts)))
        sizes = mirror.export(made, folder)
    except Refused as refused:
        what, _, remedy = str(refused).partition("\nremedy: ")
        raise Problem(what, why="its images are a part of the release", remedy=remedy) from None
    except FileExistsError:
        raise Problem(f"{folder} holds something already", why="skopeo copies all that a folder holds", remedy="name a new folder") from None
    to = kubernetes.registry or "registry.example.org:5000"
    size = formatting.size(sum(sizes.values()) / 2**30)
    command = f"skopeo sync --scoped --preserve-digests --dest-tls-verify=false --src dir --dest docker {folder} {to}"
    published = [(name, digest) for one in kubernetes.addons for name, digest in catalog.addons()[one.name].published.items()]
    copies = [
        ("and", f"skopeo copy --all --preserve-digests --dest-tls-verify=false {source} docker://{to}/{mirror.repository_of(name)}")
        for name, digest in published
        for source in [f"docker://{name.rpartition(':')[0]}@{digest}"]
    ]
    tables.show([Section("Images", (Facts((("exported", f"{len(sizes)} images ({size}) to {folder}"), ("next", command), *copies)),))])

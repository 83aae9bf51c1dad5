"""`clusterwright images`: the container images that a blueprint's Kubernetes cluster runs, for a registry of the site's own."""

import argparse
import json

import yaml

from blueprints.plan import images

from ..render import tables
from ..render.tables import Column, Facts, Section, Table
from . import options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    options.target(parser)
    options.what_if(parser)
    parser.add_argument("--sync", action="store_true", help="print the source file of `skopeo sync --src yaml`")
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    found = images.images(options.loaded(given, quiet=True).spec)
    if given.json:
        entries = [{"image": one.name, "of": one.of, "own": one.is_own} for one in found]
        print(json.dumps({"format": FORMAT, "images": entries}, indent=2))
    elif given.sync:
        print(yaml.safe_dump(dict(images.as_sync(found)), sort_keys=False), end="")
    elif found:
        rows = tuple((one.name, one.of, "this project" if one.is_own else "its registry") for one in found)
        tables.show([Section("Images", (Table((Column("image"), Column("of"), Column("from")), rows),))])
    else:
        tables.show([Section("Images", (Facts((("", "the blueprint has no Kubernetes, so it runs no container images"),)),))])
    return 0

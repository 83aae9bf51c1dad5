"""The image of a software profile: an instance runs the project's own roles on a fresh system and becomes an image, whose name contains the hash of what it is made from."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pulumi
import yaml

from blueprints import spec

from .. import bake
from ..provider.resource import OwnResource
from . import machines
from .hosts import ROOT_GIB
from .names import Names

CLOUD = "gcp"
"""The roles' word for this target."""
_BUILD_TIMEOUT = "2h"


@dataclasses.dataclass(frozen=True, slots=True)
class Base:
    """What an image is built on."""

    image: str
    builder: str


@dataclasses.dataclass(frozen=True, slots=True)
class ImagesArgs:
    names: Names
    software: spec.Software
    project: pulumi.Output[str]
    zone: pulumi.Output[str]
    subnet: pulumi.Output[str]
    needs: Sequence[pulumi.Resource]
    """Resources that must exist before an instance can build an image: its way to the Internet."""


class Images:
    """The images of a software profile. The stack builds the one of an architecture when the first host needs it."""

    def __init__(self, args: ImagesArgs, *, opts: pulumi.ResourceOptions):
        self._args, self._opts = args, opts
        self._built: dict[str, pulumi.Output[str]] = {}

    def of(self, machine: spec.Machine) -> pulumi.Output[str]:
        """Give the full name of the image for a machine."""
        if machine.arch not in self._built:
            self._built[machine.arch] = self._build(machine.arch)
        return self._built[machine.arch]

    def _build(self, arch: str) -> pulumi.Output[str]:
        args = self._args
        base = base_image(args.software.os, arch)
        script = bake.script(dataclasses.asdict(args.software), cloud=CLOUD)
        inputs = {
            "project": args.project,
            "zone": args.zone,
            "name": args.names.name(arch, bake.fingerprint(base, bake.archive_name(), script)),
            "subnet": args.subnet,
            "base": base.image,
            "machine": base.builder,
            "disk_type": machines.family(base.builder).disk,
            "size_gib": ROOT_GIB,
            "script": script,
            "labels": args.names.labels("image"),
        }
        opts = pulumi.ResourceOptions(depends_on=[*args.needs], custom_timeouts=pulumi.CustomTimeouts(create=_BUILD_TIMEOUT))
        built = OwnResource(
            "clusterwright:gcp:MachineImage", f"image-{arch}", inputs=inputs, outputs=("image",), opts=pulumi.ResourceOptions.merge(self._opts, opts)
        )
        found: pulumi.Output[str] = built.output("image")
        return found


def base_image(system: str, arch: str) -> Base:
    """Give what an image for an operating system is built on.

    Raises:
        pulumi.RunError: nothing is known for it on Google Cloud.
    """
    known = _known().get(system)
    if known is None:
        raise pulumi.RunError(
            f"the catalogue has no Google Cloud image of {system}\n  do:  choose another software profile; the catalogue has images of {', '.join(sorted(_known()))}"
        )
    return Base(known["image"].format(arch=known["arch"][arch]), known["builder"][arch])


@functools.cache
def _known() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "base_images.yaml").read_text())
    return found

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
        base = base_image(args.software, arch)
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


def base_image(software: spec.Software, arch: str) -> Base:
    """Give what the image of a software profile is built on: an image that brings the GPU driver, where the profile names one.

    Raises:
        pulumi.RunError: nothing is known for its operating system on Google Cloud.
    """
    known = _known().get(software.os)
    driver_image = dict(software.origins).get("driver_image")
    if known is None or (driver_image and "driver_images" not in known):
        raise pulumi.RunError(
            f"no Google Cloud image of {software.os} is known that {software.profile} can be built on\n"
            f"  do:  choose another software profile; there are images of {', '.join(sorted(_known()))}"
        )
    image = known["driver_images"].format(driver_image=driver_image) if driver_image else known["image"].format(arch=known["arch"][arch])
    return Base(image, known["builder"][arch])


@functools.cache
def _known() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "base_images.yaml").read_text())
    return found

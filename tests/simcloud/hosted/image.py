"""The file system of an instance's image: what EC2 Image Builder would have made, baked on this machine by the same playbook from the same record of versions.

The component of the image tells which: it holds the software profile's record, as the playbook reads it.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from components import bake
from components.finish import content
from components.local import image as local_image
from components.provider.kind import Work

from ..aws.cloud import Cloud

OF_A_KERNEL = ("kernel", "driver", "efa_installer", "lustre_client", "mountpoint")
"""Parts of a profile that are left out: a host of this machine runs this machine's kernel, and what goes with another one has nothing to do there."""
VARIABLES = re.compile(r"variables\.json <<'END'\n(.*?)\nEND\n", re.DOTALL)


class Unknown(RuntimeError):
    """Nothing on this machine stands for the image."""


def variables(cloud: Cloud, image: str) -> Mapping[str, Any]:
    """Give what the playbook was told of an image: the record of its software profile, and the cloud that it is for.

    Raises:
        Unknown: Image Builder of this cloud did not build it from this project's roles.
    """
    ami = cloud.store.get("ec2.Ami", image)
    built = cloud.store.get("imagebuilder.Image", str(ami.get("builtBy"))) if ami else None
    if built is None:
        raise Unknown(f"{image} is no image that Image Builder made here: hosts of this machine start from such images only")
    recipe = cloud.need("imagebuilder.ImageRecipe", built["imageRecipeArn"])
    for part in recipe["components"]:
        component = cloud.need("imagebuilder.Component", part["componentArn"])
        for command in _commands(component["data"]):
            if found := VARIABLES.search(command):
                told: Mapping[str, Any] = json.loads(found[1])
                return told
    raise Unknown(f"the components of {image} do not run this project's {bake.PLAYBOOK}")


def lowers(told: Mapping[str, Any], *, say: Callable[[str], None]) -> tuple[str, ...]:
    """Give the layers of the image, topmost first; what is missing is baked, which takes minutes.

    Raises:
        Refused: the playbook failed.
    """
    work = Work(show=lambda text, _: say(text), stopping=threading.Event(), timeout_s=local_image.Image.timeout_s, stack="simcloud", purpose="image")
    return tuple(local_image.Image().create(inputs(told), work)["lowers"])


def inputs(told: Mapping[str, Any]) -> local_image.ImageInputs:
    """Give what the local target bakes the layer from."""
    software = {**told["software"], "versions": [[name, version] for name, version in told["software"]["versions"] if name not in OF_A_KERNEL]}
    return local_image.ImageInputs(software["profile"], software["suite"], content.fingerprint(bake.PLAYBOOK), software, told["cloud"])


def _commands(document: str) -> list[str]:
    written = yaml.safe_load(document)
    steps = [step for phase in written.get("phases", ()) for step in phase["steps"]]
    return [command for step in steps if isinstance(step["inputs"], dict) for command in step["inputs"].get("commands", ())]

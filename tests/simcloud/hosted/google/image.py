"""The file system of an instance's image: what the project's builder would have made, baked on this machine by the same playbook from the same record of versions.

The builder's own metadata tell which: they hold the script that it runs.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from components import bake

from ...google.cloud import Cloud
from ..image import Unknown, lowers

__all__ = ["Unknown", "lowers", "variables"]

VARIABLES = re.compile(r"variables\.json <<'END'\n(.*?)\nEND\n", re.DOTALL)


def variables(cloud: Cloud, image: str) -> Mapping[str, Any]:
    """Give what the playbook was told of an image: the record of its software profile, and the cloud that it is for.

    Raises:
        Unknown: no instance of this project baked it from the project's roles.
    """
    found = cloud.store.get("compute.images", image)
    for text in (found.get("_told") or {}).values() if found else ():
        if written := VARIABLES.search(text):
            told: Mapping[str, Any] = json.loads(written[1])
            return told
    raise Unknown(
        f"{image or 'an image of nobody'} was not baked by an instance that runs this project's {bake.PLAYBOOK}: hosts of this machine start from such images only"
    )

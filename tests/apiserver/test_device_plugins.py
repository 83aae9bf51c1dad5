"""Device plugins for real GPUs as a real API server takes them: the part's own manifest, as the stack applies it. No GPU is here, and no plugin runs."""

import copy
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog
from components.kubernetes import manifests
from components.kubernetes.api import Api, ApiError, key_of

pytestmark = pytest.mark.engine

PARTS = Path(__file__).resolve().parents[2] / "tools/kubernetes/parts"
PLUGIN = "nvidia-device-plugin"


def adapted(name: str) -> list[dict[str, Any]]:
    """Give an add-on's objects with the images of its publisher."""
    images = {image: {"digest": digest} for image, digest in catalog.addons()[name].published.items()}
    return manifests.adapt(manifests.read(PARTS / name), group=name, images=images, settings={})


def test_the_plugin_for_gpus_is_one_that_the_api_server_takes(api: Api) -> None:
    for one in adapted(PLUGIN):
        taken = api.apply(one, dry_run=True)
        [container] = taken["spec"]["template"]["spec"]["containers"]
        assert container["image"].partition("@")[2] == catalog.addons()[PLUGIN].published[container["image"].partition("@")[0]]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in taken["spec"]["template"]["spec"]["volumes"]}
        assert api.get(key_of(one)) is None, "a dry run leaves nothing"


def test_a_mistake_in_it_would_be_found(api: Api) -> None:
    [wrong] = adapted(PLUGIN)
    wrong = copy.deepcopy(wrong)
    wrong["spec"]["template"]["spec"]["containers"][0]["volumeMounts"].append({"name": "none", "mountPath": "/x"})
    with pytest.raises(ApiError, match="none"):
        api.apply(wrong, dry_run=True)

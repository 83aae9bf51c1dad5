"""Device plugins for real GPUs as a real API server takes them: the part's own manifest, as the stack applies it. No GPU is here, and no plugin runs."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog
from components.kubernetes import manifests, rdma_devices
from components.kubernetes.api import Api, ApiError, key_of
from tests.apiserver import release

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


@pytest.fixture(scope="module")
def made() -> Path:
    """The release with the plugin for RDMA, which nothing else needs here: it is built where it is not in the cache."""
    answer = subprocess.run([sys.executable, release.INSTALL, "--with", rdma_devices.ADDON], stdout=subprocess.PIPE, text=True, check=True)
    return Path(answer.stdout.strip())


@pytest.mark.soak
def test_the_plugin_for_rdma_is_one_that_the_api_server_takes(api: Api, made: Path) -> None:
    fabrics = [name for name, known in catalog.fabrics().items() if known.pod_link]
    images = json.loads((made / "images.json").read_text())
    found = manifests.adapt(
        manifests.read(made / "manifests" / rdma_devices.ADDON), group=rdma_devices.ADDON, images=images, settings=rdma_devices.settings(fabrics)
    )
    taken = {one["kind"]: api.apply(one, dry_run=True) for one in found}
    assert set(taken) == {"ConfigMap", "DaemonSet"}
    [container] = taken["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(f"@{images[catalog.addons()[rdma_devices.ADDON].images[0]]['digest']}")


@pytest.mark.soak
def test_the_program_reads_the_list_that_it_is_given(made: Path, tmp_path: Path) -> None:
    """Without NICs it stops behind that, where it looks for the mode of RDMA or for PCI devices; a name that it does not take stops it before."""
    written = rdma_devices.settings(["ib-ndr", "roce"])["ConfigMap/rdma-devices"]["data"]["config.json"]
    program = made / "bin" / rdma_devices.ADDON

    def refuses(text: str) -> bool:
        file = tmp_path / "config.json"
        file.write_text(text)
        answer = subprocess.run([program, f"--config-file={file}"], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
        return "invalid configuration(s)" in answer.stderr

    assert not refuses(written)
    assert refuses(written.replace("ib_ndr", "ib-ndr"))


def test_a_mistake_in_it_would_be_found(api: Api) -> None:
    [wrong] = adapted(PLUGIN)
    wrong = copy.deepcopy(wrong)
    wrong["spec"]["template"]["spec"]["containers"][0]["volumeMounts"].append({"name": "none", "mountPath": "/x"})
    with pytest.raises(ApiError, match="none"):
        api.apply(wrong, dry_run=True)

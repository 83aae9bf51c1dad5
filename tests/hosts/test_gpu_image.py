"""The image of a profile with GPUs is baked: kernel, driver and fabric manager from Ubuntu's own archive, what AWS serves from a stand-in. No GPU is there."""

import dataclasses
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog
from components.finish import content
from components.local import image as local_image
from components.local.machine import disk, rootfs
from components.provider.kind import Refused, Work
from tests.hosts import mirror, vendor_archives

pytestmark = [pytest.mark.hosts, pytest.mark.soak]  # a quarter of a gigabyte comes from the archive

PROFILE = "ubuntu-24.04-aws"
SUITE = "jammy"
SOFTWARE = catalog.software(PROFILE)
VERSIONS = dict(SOFTWARE.versions)
KERNEL, DRIVER = VERSIONS["kernel"], VERSIONS["driver"]
OTHER_KERNEL = "6.8.0-1064-aws"
BAKE_WITHIN_S = 1800


def bake(
    tmp_path: Path, *parts: str, origins: Mapping[str, str] | None = None, versions: Mapping[str, str] | None = None, **made: str
) -> tuple[Path, list[str]]:
    """Bake an image with these parts of the profile, and give what it laid over the base and the tasks that were said; `made` is how the mirror differs.

    Raises:
        Refused: the playbook failed.
    """
    mirrored = mirror.Mirror(tmp_path / "served", {**VERSIONS, **{name: made.pop(name) for name in list(made) if name in VERSIONS}}, suite=SUITE, **made)
    nvidia = vendor_archives.Archive(mirrored.folder / "cuda", [*vendor_archives.cuda(VERSIONS["cuda"]), *vendor_archives.nccl(VERSIONS["nccl"], "13.2")])
    said: list[str] = []
    with mirror.serving(mirrored.folder) as address:
        named = {name: {**VERSIONS, **(versions or {})}[name] for name in parts}
        of_nvidia = {"nvidia_archive_address": f"{address}/cuda", "nvidia_archive_key": nvidia.key, "nvidia_archive_simulated": "yes"}
        proofs = {**mirrored.origins(address), **of_nvidia, **(origins or {})}
        software = dataclasses.replace(SOFTWARE, versions=tuple(named.items()), origins=tuple((name, proof) for name, proof in proofs.items() if proof))
        record = json.loads(json.dumps(dataclasses.asdict(software)))
        inputs = local_image.ImageInputs(PROFILE, software.suite, content.fingerprint("image.yml"), record, "aws")
        work = Work(show=lambda text, _: said.append(text), stopping=threading.Event(), timeout_s=BAKE_WITHIN_S, purpose="image")
        local_image.Image().create(inputs, work)
    return rootfs.layer_path(local_image.layer_key(inputs)), said


def test_the_profile_s_image_holds_one_set_and_holds_it_fast(tmp_path: Path) -> None:
    layer, said = bake(tmp_path, *VERSIONS)
    try:
        root = layer / "upper"
        assert any("Kernel, driver, fabric and file systems are one set" in text for text in said), "the check ran"
        assert sorted(path.name.removeprefix("vmlinuz-") for path in (root / "boot").glob("vmlinuz-*")) == [KERNEL]
        assert json.loads((root / "etc/clusterwright/image.json").read_text())["versions"] == [list(pair) for pair in VERSIONS.items()]
        packages: dict[str, Any] = json.loads((root / "var/lib/clusterwright/record/installed.json").read_text())["packages"]
        of_driver = {name: package for name, package in packages.items() if name.startswith(("nvidia-", "libnvidia-")) and "580" in name}
        assert {package["version"].split("-")[0] for package in of_driver.values()} == {DRIVER}
        held = {name for name, package in packages.items() if package["held"]}
        assert {
            f"linux-image-{KERNEL}",
            f"linux-modules-nvidia-580-server-open-{KERNEL}",
            f"lustre-client-modules-{KERNEL}",
            "nvidia-fabricmanager-580",
            "libnccl2",
            "cuda-libraries-13-0",
        } <= held
        assert packages["libnccl2"]["version"] == f"{VERSIONS['nccl']}-1+cuda13.2"
        wants = root / "etc/systemd/system/multi-user.target.wants"
        assert (wants / "clusterwright-gpu.service").is_symlink()
        assert not (wants / "nvidia-fabricmanager.service").is_symlink(), "it would fail on a machine without switches"
        assert not (root / "var/tmp/clusterwright-efa").exists()
        assert not list((root / "var/tmp").glob("mount-s3*"))
        assert "dkms" not in packages, "no module was compiled; the compiler is for programs of users (role mpi)"
    finally:
        disk.remove_tree(layer)


REFUSED: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    # case → the profile's parts, what is wrong, what is said
    "another installer": (("efa_installer",), {"origins": {"efa_installer_sha256": "0" * 64}}, "did not match"),
    "another Mountpoint": (("mountpoint",), {"origins": {"mountpoint_sha256": "0" * 64}}, "did not match"),
    "another key": (("kernel", "lustre_client"), {"origins": {"lustre_client_key": "0" * 40}}, f"trusts {'0' * 40} alone. Nothing was installed with it"),
    "another key of NVIDIA's": (("cuda", "nccl"), {"origins": {"nvidia_archive_key": "0" * 40}}, f"trusts {'0' * 40} alone. Nothing was installed with it"),
    "an NCCL that the archive does not have": (("cuda", "nccl"), {"versions": {"nccl": "2.30.5"}}, "The archive has no such version"),
    "stand-ins that are not called so": (("cuda", "nccl"), {"origins": {"nvidia_archive_simulated": ""}}, "are stand-ins for tests"),
    "no client for the kernel": (("kernel", "lustre_client"), {"kernel": OTHER_KERNEL}, f"can't be installed for the kernel {KERNEL}"),
    "a client that was built for another kernel": (
        ("kernel", "lustre_client"),
        {"built_for": OTHER_KERNEL},
        f"the module lustre was built for the kernel {OTHER_KERNEL}, and would not be loaded by {KERNEL}",
    ),
    "a driver that the archive does not have": (("kernel", "driver"), {"versions": {"driver": "580.1.2"}}, "Ubuntu's archive keeps the newest driver"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_proved_or_does_not_fit_is_no_image(tmp_path: Path, case: str) -> None:
    parts, wrong, said = REFUSED[case]
    with pytest.raises(Refused) as refused:
        bake(tmp_path, *parts, **wrong)
    assert said in " ".join(str(refused.value).split())

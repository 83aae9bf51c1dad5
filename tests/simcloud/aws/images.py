"""Machine images: a few public ones, by the parameters under which their publishers name the latest, and those that the account made.

The ids are the simulated cloud's own; each description says so. Parameter paths: wiki.debian.org/Cloud/AmazonEC2Image, documentation.ubuntu.com/aws, Systems Manager user
guide ("Calling AMI public parameters").
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..core.failure import Refused
from . import facts

if TYPE_CHECKING:
    from .cloud import Cloud

ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64"}
DEBIAN, CANONICAL, AMAZON = "136693071363", "099720109477", "137112412989"
ROOT_GIB = 8


def public(region: str) -> Iterator[Mapping[str, Any]]:
    """Yield the public images of a region in the form of DescribeImages, each with the `Parameter` that names it."""
    for word, architecture in ARCHITECTURES.items():
        for release in ("12", "13"):
            yield _image(region, f"debian-{release}-{word}-simulated", architecture, DEBIAN, f"/aws/service/debian/release/{release}/latest/{word}")
        for release in ("22.04", "24.04"):
            parameter = f"/aws/service/canonical/ubuntu/server/{release}/stable/current/{word}/hvm/ebs-gp3/ami-id"
            yield _image(region, f"ubuntu/images/hvm-ssd-gp3/ubuntu-{release}-{word}-server-simulated", architecture, CANONICAL, parameter)
        parameter = f"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-{architecture}"
        yield _image(region, f"al2023-ami-simulated-{architecture}", architecture, AMAZON, parameter)


def every(cloud: "Cloud", region: str) -> Iterator[Mapping[str, Any]]:
    """Yield the public images and the account's own."""
    yield from public(region)
    for thing in cloud.store.all("ec2.Ami", region=region):
        architecture, root = thing.get("architecture", "x86_64"), thing.get("rootDeviceName", "/dev/xvda")
        tags = [{"Key": key, "Value": value} for key, value in thing.tags.items()]
        shown = _description(thing.id, thing.get("name", ""), architecture, facts.ACCOUNT, root)
        disks = [
            {**disk, "Ebs": {**disk["Ebs"], "SnapshotId": thing["snapshotId"]}} if thing.get("snapshotId") else disk for disk in shown["BlockDeviceMappings"]
        ]
        yield {**shown, "BlockDeviceMappings": disks, "Tags": tags, "Public": False}


def need(cloud: "Cloud", image: str, region: str) -> Mapping[str, Any]:
    """Find an image or refuse."""
    for one in every(cloud, region):
        if one["ImageId"] == image:
            return one
    code = "NotFound" if image.startswith("ami-") else "Malformed"
    raise Refused(f"InvalidAMIID.{code}", f"The image id '[{image}]' does not exist")


def _image(region: str, name: str, architecture: str, owner: str, parameter: str) -> Mapping[str, Any]:
    ident = "ami-" + hashlib.sha256(f"{region} {name}".encode()).hexdigest()[:17]
    return {**_description(ident, name, architecture, owner, "/dev/xvda" if owner != CANONICAL else "/dev/sda1"), "Public": True, "Parameter": parameter}


def _description(ident: str, name: str, architecture: str, owner: str, root: str) -> Mapping[str, Any]:
    return {
        "ImageId": ident, "Name": name, "Architecture": architecture, "OwnerId": owner, "State": "available", "RootDeviceName": root, "RootDeviceType": "ebs", "VirtualizationType": "hvm",
        "EnaSupport": True, "ImageType": "machine", "CreationDate": "2025-01-01T00:00:00.000Z", "Description": "simulated",
        "BlockDeviceMappings": [{"DeviceName": root, "Ebs": {"VolumeSize": ROOT_GIB, "VolumeType": "gp3", "DeleteOnTermination": True}}],
    }  # fmt: skip

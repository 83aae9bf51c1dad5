"""What a changed inventory costs a cluster of Slurm on servers that exist already."""

import json
from typing import Any

import pytest

from blueprints import load, read, spec
from blueprints.plan import changes
from components import this_machine

HEADS = {f"head-{number}": f"10.20.0.{number}" for number in range(1, 4)}
TWO = {"hosts": ["head-1", "head-2"], "highly_available": True, "state": "site"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILfO7axdAlzocl3lyLUde3ycoDtp7k+/IF+u2cOZy+M0"


def lab(control: dict[str, Any], **more: Any) -> spec.ClusterSpec:
    asked = {
        "name": "lab",
        "software": "debian-13",
        "inventory": {
            "hosts": {name: {"address": address, "host_key": KEY} for name, address in {**HEADS, "login": "10.20.0.5", "gpu-1": "10.20.0.11"}.items()}
        },
        "control": control,
        "access": {"hosts": "login"},
        "storage": {"site": {"kind": "existing", "mount": "/site", "source": "10.20.0.9:/site"}},
        "pools": {"train": {"hosts": "gpu-1"}},
        **more,
    }
    document = read.from_bytes(json.dumps(asked).encode(), file="lab.yaml")
    return load.from_document(document, target="metal", stack="lab", facts=this_machine.facts()).spec


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ({"hosts": "head-1"}, {"hosts": "head-2"}, ("state", "database")),
        (TWO, {**TWO, "hosts": ["head-2", "head-1"]}, ("database",)),
        (TWO, {**TWO, "hosts": ["head-3", "head-2"]}, ("database",)),
        (TWO, {**TWO, "hosts": ["head-1", "head-3"]}, ()),
    ],
)
def test_another_first_controller_would_begin_without_what_the_present_one_has(before: dict[str, Any], after: dict[str, Any], lost: tuple[str, ...]) -> None:
    """The accounting database is on its disk, and the queue where it is the only one."""
    found = {change.path: change for change in changes.compare(spec.as_record(lab(before)), lab(after))}["slurm.control.members"]
    assert (found.protected, found.is_refused) == (lost, bool(lost))
    unprotected = {"accounting": {"protect": False}}
    [found] = [one for one in changes.compare(spec.as_record(lab(before, **unprotected)), lab(after, **unprotected)) if one.path == "slurm.control.members"]
    assert (found.effect == "destroys-data", found.is_refused) == (bool(lost), False)

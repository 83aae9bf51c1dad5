"""Every field of the spec does something: a field that only a plan shows promises what nobody keeps.

A field counts as read where its name is an attribute or a key. Names that many things have are found too easily; no field is missed that is read.
"""

import dataclasses
import inspect
import re

from blueprints import catalog, spec
from blueprints.project import project_root

READERS = ("components", "playbooks", "blueprints/checks", "blueprints/live", "stacks/drift", "stacks/engine", "stacks/rolling")
"""Where a field changes what is refused, provisioned, configured, judged or compared; what plans and prices say of it isn't among them."""
CONTRACT = "playbooks/vars/contract.yml"
"""It names fields without reading them."""

SHOWN = {
    "ClusterSpec.services": "what the cloud charges for beside hosts; estimates read it",
    "Hardware.network_gbps": "a fact of the machine, beside the interfaces that are made",
    "Hardware.scratch_gib": "a fact of the machine, beside the mount point that is made",
    "Fabric.gbps_per_gpu": "a fact of the fabric",
}
"""Facts that somebody chooses by."""
NOT_JUDGED_YET = {"Fabric.plugin"}
"""What acceptance shall judge on machines with a fabric; it does not yet."""
NOT_BUILT = {
    "Monitoring.dashboards": "monitoring.dashboards",
    "Login.ldap_uri": "access.ldap",
    "Login.ldap_base": "access.ldap",
    "FileSystem.user_quota_gib": "storage.quotas",
    "FileSystem.group_quota_gib": "storage.quotas",
}
"""Fields that no target builds → the key, which is a finding wherever it is written (`FEATURE_NOT_BUILT`)."""


def texts() -> dict[str, str]:
    folders = [project_root() / folder for folder in READERS]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".j2", ".yml")]
    return {str(path.relative_to(project_root())): path.read_text() for path in files}


def fields() -> dict[str, str]:
    classes = [one for one in vars(spec).values() if inspect.isclass(one) and dataclasses.is_dataclass(one)]
    declared = {one: inspect.get_annotations(one) for one in classes}  # without inherited fields
    return {f"{one.__name__}.{field.name}": field.name for one in classes for field in dataclasses.fields(one) if field.name in declared[one]}


def unread(names: dict[str, str], read: str) -> set[str]:
    return {path for path, name in names.items() if not re.search(rf"\.{name}\b|[\'\"]{name}[\'\"]", read)}


def test_every_field_is_read_by_somebody_who_acts() -> None:
    read = "\n".join(text for path, text in texts().items() if path != CONTRACT)
    assert unread(fields(), read) == {*SHOWN, *NOT_JUDGED_YET, *NOT_BUILT}


def test_a_field_that_nobody_reads_is_found() -> None:
    assert unread({"Slurm.colour": "colour", "Slurm.qos": "qos"}, "for one in slurm.qos:") == {"Slurm.colour"}


def test_what_no_target_builds_is_built_by_none() -> None:
    built = [key for name in catalog.target_names() for built in catalog.target(name).built.values() for key in built.keys]
    assert [key for key in NOT_BUILT.values() for one in built if f"{key}.".startswith(f"{one}.")] == []

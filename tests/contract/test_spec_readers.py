"""Every field of the spec does something: a field that only a plan shows promises what nobody keeps.

Blueprints are checked and provisioned while every read of a field is recorded, with the module that reads it. A field of a common name, such as `name`, counts only where
somebody reads it from an object of its own class.
"""

import contextlib
import dataclasses
import inspect
import re
import sys
import typing
from collections import defaultdict
from collections.abc import Mapping
from types import FrameType
from typing import Any

import pytest

from blueprints import catalog, facts, finding, load, spec
from blueprints.project import project_root
from tests.contract.offerings import OFFERINGS

READERS = ("components.", "blueprints.checks", "blueprints.live")
"""Where a field changes what is refused, provisioned, configured or judged; what plans and prices say of it isn't among them."""
VIEWS = "blueprints.spec.views"
"""Gives the playbooks what they read."""
CONTRACT = "contract.yml"
"""It names fields without reading them."""
MACHINE = facts.Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=2**20)
PASSING_ON = {"dataclasses"} | {one.__module__ for one in vars(spec).values() if inspect.isclass(one) and dataclasses.is_dataclass(one)}
WATCHED = "watched"
WHOLE = ("replace", "__eq__", "__hash__", "__repr__")
MORE: Mapping[str, Mapping[str, Any]] = {
    "local-kubernetes_hosts": {
        "pools.train.taints": [{"key": "example.com/gpu", "value": "yes", "effect": "NoSchedule"}],
        "kubernetes.kwok_nodes": {"train": 8},
        "kubernetes.secondary_networks": {"rail0": "10.40.0.0/24"},
        "monitoring.metrics": True,
    },
    "local-slurm_hosts": {"pools.train.mig": {"1g.10gb": 7}},
    "metal-slurm_hosts": {"inventory.roce": {"priority": 3, "dscp": 26}},
}
"""Offering → what its starter needs more, so that what reads it runs."""

SHOWN = {
    "ClusterSpec.services": "what the cloud charges for beside hosts; estimates read it",
    "Service.name": "as `services`",
    "Service.product": "as `services`",
    "Service.count": "as `services`",
    "Slurm.product": "what the cloud calls it",
    "Kubernetes.product": "what the cloud calls it",
    "Training.product": "what the cloud calls it",
    "Database.product": "what the cloud calls it",
    "FileSystem.product": "what the cloud calls it; estimates read it",
    "FileSystem.durability": "checks and resolution read the blueprint's key; nothing is made from it",
    "Fabric.required": "resolution refuses a pool without it",
    "Fabric.gbps_per_gpu": "a fact of the fabric",
    "Fabric.expected": "what acceptance demands is in `collectives`",
    "Fabric.plugin": "a fact of the fabric",
    "Hardware.network_gbps": "a fact of the machine; the rate of a rail follows from it where an inventory names interfaces",
    "Hardware.scratch_gib": "a fact of the machine, beside the mount point that is made",
    "NodeSet.chosen": "what the blueprint's words chose",
    "Nic.addresses": "resolution divides the network by it",
    "Capacity.max_run": "only flex capacity has one, which no built target sells",
    "Late.what": "a text",
}
"""Facts that somebody chooses by."""
NOT_BUILT = {
    "Login.ldap_uri": "access.ldap",
    "Login.ldap_base": "access.ldap",
    "FileSystem.user_quota_gib": "storage.quotas",
    "FileSystem.group_quota_gib": "storage.quotas",
}
"""Fields that no target builds → the key, which is a finding wherever it is written (`FEATURE_NOT_BUILT`)."""
BY_COMMANDS = {
    "Site.bmc": "components/bmc/boards.py",
    "SiteBmc.authority": "components/bmc/boards.py",
    "SiteBmc.port": "components/bmc/boards.py",
    "SiteBmc.protocol": "components/bmc/boards.py",
    "SiteBmc.user": "components/bmc/boards.py",
    "SiteBmc.password_file": "stacks/bmcs/password.py",
    "SiteBmc.secret": "stacks/bmcs/password.py",
}
"""Fields that only a command reads, from a running stack → where."""


class Readers:
    """Who reads each field: `Class.field` → modules. A field belongs to the class that declares it."""

    def __init__(self) -> None:
        self.of: dict[str, set[str]] = defaultdict(set)

    def watch(self, one: type, patched: pytest.MonkeyPatch) -> None:
        names = {name: f"{_declaring(one, name).__name__}.{name}" for name in (field.name for field in dataclasses.fields(one))}

        def watched(value: object, name: str) -> Any:
            if name in names:
                self.of[names[name]].add(_reader(sys._getframe(1)))
            return object.__getattribute__(value, name)

        patched.setattr(one, "__getattribute__", watched)

    def acting(self, playbooks: str) -> set[str]:
        """Name the fields that somebody reads who acts; what only a view gives has to be in the playbooks."""
        return {
            field
            for field, modules in self.of.items()
            if any(module.startswith(READERS) for module in modules) or (VIEWS in modules and re.search(rf"\b{field.rpartition('.')[2]}\b", playbooks))
        }


def _declaring(one: type, name: str) -> type:
    return next(base for base in reversed(one.__mro__) if name in getattr(base, "__dataclass_fields__", ()))


def _reader(frame: FrameType | None) -> str:
    """Name the module; `dataclasses.asdict` and properties of the spec's own classes read for whoever asks them. Who copies or compares a whole value reads no field."""
    while frame is not None and (frame.f_code.co_name == WATCHED or frame.f_globals["__name__"] in PASSING_ON):
        if frame.f_code.co_name in WHOLE:
            return ""
        frame = frame.f_back
    return str(frame.f_globals["__name__"]) if frame else ""


def classes() -> list[type]:
    """Give the classes of which a spec is made."""
    found: list[type] = []
    waiting: list[Any] = [spec.ClusterSpec]
    while waiting:
        one = waiting.pop()
        waiting += typing.get_args(one)
        if dataclasses.is_dataclass(one) and isinstance(one, type) and one not in found:
            found.append(one)
            waiting += typing.get_type_hints(one).values()
    return found


def fields() -> set[str]:
    return {f"{_declaring(one, field.name).__name__}.{field.name}" for one in classes() for field in dataclasses.fields(one)}


def playbooks() -> str:
    files = [path for path in (project_root() / "playbooks").rglob("*") if path.suffix in (".py", ".j2", ".yml") and path.name != CONTRACT]
    return "\n".join(path.read_text() for path in files)


def check_and_provision() -> None:
    told = {"description": "Every read is recorded"}  # no other test has run these programs
    for offering in OFFERINGS:
        for blueprint in offering.blueprints:
            offering.run(blueprint, told)
        offering.run(offering.starter, {**told, **MORE.get(offering.name, {})})
    folders = (project_root() / "blueprints" / "library", project_root() / "tests" / "blueprints" / "fitting")
    for path in (path for folder in folders for path in sorted(folder.glob("*.yaml"))):
        for target in catalog.target_names():
            with contextlib.suppress(finding.Invalid):  # checks read also what isn't fit for this target
                load.examine(str(path), target=target, stack="read", facts=MACHINE)


# The SDK warns of its own deprecated resources when it is first imported.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_field_is_read_by_somebody_who_acts(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = Readers()
    with monkeypatch.context() as patched:
        for one in classes():
            readers.watch(one, patched)
        check_and_provision()
    unread, known = fields() - readers.acting(playbooks()), {*SHOWN, *NOT_BUILT, *BY_COMMANDS}
    assert (sorted(unread - known), sorted(known - unread)) == ([], [])


def test_what_commands_read_is_read_there() -> None:
    assert [field for field, place in BY_COMMANDS.items() if not re.search(rf"\.{field.rpartition('.')[2]}\b", (project_root() / place).read_text())] == []


def test_a_field_of_a_common_name_is_read_only_where_its_own_class_is(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Named:
        name: str

    @dataclasses.dataclass(frozen=True, slots=True)
    class Shown(Named):
        kind: str = ""

    readers = Readers()
    monkeypatch.setattr(sys.modules[__name__], "READERS", (__name__,))
    with monkeypatch.context() as patched:
        readers.watch(Shown, patched)
        assert (Named("other").name, dataclasses.asdict(Shown("one"))) == ("other", {"name": "one", "kind": ""})
    assert readers.of == {"Named.name": {__name__}, "Shown.kind": {__name__}}
    assert readers.acting("") == {"Named.name", "Shown.kind"}


def test_what_no_target_builds_is_built_by_none() -> None:
    built = [key for name in catalog.target_names() for built in catalog.target(name).built.values() for key in built.keys]
    assert [key for key in NOT_BUILT.values() for one in built if f"{key}.".startswith(f"{one}.")] == []

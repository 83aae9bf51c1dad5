"""What software fits what: rules between versions, GPUs and fabrics, and what which Slurm can do."""

import dataclasses
import functools
import re
from collections.abc import Mapping

from . import files
from .software import Profile

_ARCHITECTURE, _NVLINK, _FABRIC, _ADDONS = "architecture", "nvlink", "fabric", "addons"
_SET = "set"
_EITHER = "|"
"""Between fields of which one is enough."""
_BOUNDS = (">=", "<", "!=")
_TITLES = {
    "cuda": "CUDA",
    "dcgm": "DCGM",
    "doca_ofed": "DOCA-OFED",
    "doca_ofed|rdma_core": "DOCA-OFED or rdma-core",
    "driver": "NVIDIA driver",
    "efa_installer": "EFA installer",
    "gib": "gIB plugin",
    "nccl": "NCCL",
    "nvlsm": "NVLink Subnet Manager",
    "ofi_nccl": "plugin aws-ofi-nccl",
    "lustre_client": "Lustre client",
    "mountpoint": "Mountpoint for S3",
    "gcsfuse": "Cloud Storage FUSE",
    "container_toolkit": "NVIDIA container toolkit",
    "rxdm": "receive daemon (RxDM)",
    "dmabuf_import_helper": "kernel module of TCPXO (dmabuf-import-helper)",
    "tcpxo": "TCPXO plugin",
    "kernel": "kernel",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """What one field must be: `set`, or tests like `>=12.0` that all hold, or one of some words."""

    field: str
    tests: tuple[str, ...]

    def holds(self, values: tuple[str, ...]) -> bool:
        """Say whether one of the field's values passes all tests; a value that is not known passes none."""
        return any(value and all(_passes(value, test) for test in self.tests) for value in values)

    @property
    def text(self) -> str:
        """Write it for people: `NVIDIA driver 580.65.06 or later`."""
        title = _TITLES.get(self.field, self.field)
        words = [_words(test) for test in self.tests if test != _SET]
        return f"{title} {' and '.join(words)}" if words else title


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    name: str
    when: tuple[Condition, ...]
    require: tuple[Condition, ...]
    why: str
    source: str
    as_of: str


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """One thing in a profile that doesn't fit; sentences without a full stop."""

    rule: str
    what: str
    why: str
    remedy: str


@dataclasses.dataclass(frozen=True, slots=True)
class SlurmFeature:
    name: str
    since: str
    """The first major version that has it (`24.05`)."""
    what: str
    source: str
    as_of: str


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Give every rule."""
    entries = files.mapping("software/matrix")["rules"]
    return tuple(
        Rule(name, _conditions(entry["when"]), _conditions(entry["require"]), why=entry["why"], source=entry["source"], as_of=entry["as_of"])
        for name, entry in entries.items()
    )


@functools.cache
def slurm_features() -> Mapping[str, SlurmFeature]:
    """Give what Slurm can do by name, with the version that brought it."""
    return {name: SlurmFeature(name, **entry) for name, entry in files.mapping("software/matrix")["slurm"].items()}


def slurm_has(version: str, feature: str) -> bool:
    """Say whether a Slurm version (`24.11`) has a feature.

    Raises:
        KeyError: there is no such feature in the catalogue.
    """
    return _at_least(version, slurm_features()[feature].since)


def faults(
    profile: Profile, accelerator_architecture: str | None, fabric: str | None, *, nvlink: bool = False, addons: tuple[str, ...] = ()
) -> tuple[Fault, ...]:
    """Find what doesn't fit when a profile runs on nodes with these GPUs, with NVLink between them or without, and this fabric.

    An unknown version only violates rules that require the part itself.

    Args:
        addons: of Kubernetes, on its nodes.
    """
    found: list[Fault] = []
    nodes = {_ARCHITECTURE: (accelerator_architecture or "",), _FABRIC: (fabric or "",), _NVLINK: (_NVLINK if nvlink else "",), _ADDONS: addons}
    for rule in rules():
        if not all(condition.holds(_values(profile, condition.field, nodes)) for condition in rule.when):
            continue
        for condition in rule.require:
            given = _values(profile, condition.field, nodes)
            is_unknown = not any(given)
            if condition.holds(given) or (is_unknown and not _asks_for_the_part(condition)):
                continue
            found.append(_fault(profile, rule, condition, given))
    return tuple(found)


def _values(profile: Profile, field: str, nodes: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if field in nodes:
        return nodes[field]
    if _EITHER in field:
        return tuple(value for one in field.split(_EITHER) for value in _values(profile, one, nodes))
    value = getattr(profile, field)
    return value if isinstance(value, tuple) else (value,)


def _fault(profile: Profile, rule: Rule, condition: Condition, given: tuple[str, ...]) -> Fault:
    title = _TITLES.get(condition.field, condition.field)
    if condition.tests == (_SET,):
        what, remedy = f"the software profile `{profile.profile}` has no {title}", "choose a software profile that has it"
    else:
        has = f"has {title} {' and '.join(given)}" if any(given) else f"has no {title}"
        what, remedy = f"the software profile `{profile.profile}` {has} where {condition.text} is needed", f"choose a software profile with {condition.text}"
    return Fault(rule=rule.name, what=what, why=rule.why, remedy=remedy)


def _conditions(entry: Mapping[str, str]) -> tuple[Condition, ...]:
    return tuple(Condition(field, tuple(text.split())) for field, text in entry.items())


def _asks_for_the_part(condition: Condition) -> bool:
    """True for `set` and for words; a bound on a version can't be judged when the version is unknown."""
    return not all(test.startswith(_BOUNDS) for test in condition.tests)


def _passes(value: str, test: str) -> bool:
    if test == _SET:
        return True
    if test.startswith(">="):
        return _at_least(value, test[2:])
    if test.startswith("<"):
        return not _at_least(value, test[1:])
    if test.startswith("!="):
        return _numbers(value)[: len(_numbers(test))] != _numbers(test)
    return value in test.split("|")


def _at_least(version: str, minimum: str) -> bool:
    """Compare as far as both are known: `580` is a good `580.65.06`, `12.8` is `12.8.0`."""
    pairs = zip(_numbers(version), _numbers(minimum), strict=False)
    for have, need in pairs:
        if have != need:
            return have > need
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]+", version))


def _words(test: str) -> str:
    if test.startswith(">="):
        return f"{test[2:]} or later"
    if test.startswith("<"):
        return f"older than {test[1:]}"
    if test.startswith("!="):
        return f"other than {test[2:]}"
    return f"`{' or '.join(test.split('|'))}`"

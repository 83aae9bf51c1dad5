"""What a changed blueprint does to a running cluster: each field that differs from the recorded spec, and what the change costs. Pure.

Node sets, file systems, accounts, users and so on are matched by name, never by their place in a list. Values that follow from another changed value (a
machine's processors from its name) stand with it as one change.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import catalog, hostlist, spec
from ..spec.cost import Cost, Effect, Rule
from . import blueprint_keys, field_costs, kubernetes_upgrades

COLLECTIONS = {
    "slurm.node_sets": ("hosts", "name"),
    "kubernetes.node_sets": ("hosts", "name"),
    "training.node_sets": ("hosts", "name"),
    "storage": ("name",),
    "accounts": ("name",),
    "users": ("name",),
    "slurm.qos": ("name",),
    "kubernetes.addons": ("name",),
    "kubernetes.kwok_nodes": ("pool",),
    "kubernetes.secondary_networks": ("name",),
    "kubernetes.qos": ("name",),
    "services": ("name",),
    "network.subnets": ("name",),
    "site.hosts": ("name",),
}
"""Lists of named things, and where the name is."""

HEADS = {
    "target": ("",),
    "name": ("network.domain",),
    "software.profile": ("software.",),
    "network.region": ("network.zones", "network.subnets."),
    "network.cidr": ("network.gateway", "network.balancer_address", "network.subnets.", "slurm.", "access.first_address", "kubernetes."),
    "slurm.run_by": ("slurm.product", "slurm.control"),
    "slurm.control.members": ("slurm.control.count",),
    "access.members": ("access.count",),
    "slurm.control.machine.name": ("slurm.control.machine.",),
    "access.machine.name": ("access.machine.",),
    "kubernetes.run_by": ("kubernetes.product", "kubernetes.control", "kubernetes.endpoint"),
    "kubernetes.control.count": ("kubernetes.endpoint",),
    "kubernetes.control.members": ("kubernetes.control.count", "kubernetes.endpoint"),
    "kubernetes.control.machine.name": ("kubernetes.control.machine.",),
    "training.run_by": ("training.product",),
    **{
        f"{scheduler}.node_sets.*.{head}": tuple(f"{scheduler}.node_sets.*.{one}" for one in followers)
        for scheduler in ("slurm", "kubernetes", "training")
        for head, followers in {
            "hosts.machine.name": ("hosts.machine.", "features", "chosen"),
            "hosts.members": ("hosts.count",),
            "fabric": ("placement",),
            "fabric.name": ("fabric.",),
            "capacity.kind": ("capacity.", "placement"),
        }.items()
    },
    "storage.*.kind": ("storage.*.product", "storage.*.storage_class", "storage.*.throughput_mbs", "storage.*.simulated"),
    "storage.*.size_gib": ("storage.*.throughput_mbs",),
    "storage.*.throughput_mbs_per_tib": ("storage.*.throughput_mbs",),
}
"""Fields from which others follow: a change of the first is shown with the others, as one change."""
_KEPT_BY_SCHEDULER = {"database": ("embedded", "managed"), "managed-database": ("managed",), "own-database": ("embedded",), "state": ("embedded", "managed")}
"""Kinds of data that are the scheduler's, and by which placement of its database there are any. One word protects all of them."""
_KUBERNETES_VERSION = "kubernetes.version"
_CONTROL_MEMBERS, _CONTROLLERS = "kubernetes.control.members", "slurm.control.members"
_ONLY_ADDRESSES = ("first_address", "endpoint")
"""Of the schedulers, a network takes only the addresses with it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One difference between the recorded spec and the wanted one."""

    path: str
    """In the recorded spec, with names in place of numbers (`node_sets.train.hosts.count`)."""
    old: Any
    """As recorded; None for what comes."""
    new: Any
    """None for what goes."""
    effect: Effect
    why: str
    protected: tuple[str, ...] = ()
    """Protected data that it would destroy (`storage.home`)."""
    anew: bool = False
    """True: a running cluster can't be changed this way; it has to be deleted first."""
    follows: tuple[str, ...] = ()
    """Paths that changed with it and have no line of their own."""
    key: str | None = None
    """The only key of a blueprint that sets it (`pools.train.nodes`); None: there is no such key."""
    derived: bool = False
    """True: no blueprint sets it, and nothing that runs changes; it follows from another field."""

    @property
    def is_refused(self) -> bool:
        """Whether `up` refuses it: it would destroy protected data, or a running cluster can't be changed this way."""
        return bool(self.protected) or self.anew


def compare(old: Mapping[str, Any], new: spec.ClusterSpec) -> tuple[Change, ...]:
    """Compare a recorded spec with the wanted one; the dearest changes come first.

    Fields that only one of the two forms has are left aside: see `version_note`.

    Args:
        old: what `spec.as_record` gave, as stack outputs and `plan --json` keep it.
    Raises:
        spec.Unreadable: `old` is no such record.
    """
    if not all(isinstance(old.get(field), str) for field in ("name", "target")) or not isinstance(old.get("network"), Mapping):
        raise spec.Unreadable("it has no name, target and network")
    recorded, wanted = _with_defaults(_plain(spec.upgrade(old))), _with_defaults(_plain(spec.as_record(new)))
    differences = [*_differences(recorded, wanted)]
    rules = field_costs.rules(new.target, new.offerings)
    shapeless = [one.path for one in differences if one.pattern not in rules]
    if shapeless and version_note(old) is None:
        raise spec.Unreadable(f"{shapeless[0]} is not of the form that it is written in")
    node_sets = blueprint_keys.node_sets(recorded, wanted)
    found = [_named(_judged(one, recorded, rules[one.pattern]), one.pattern, node_sets) for one in differences if one.pattern in rules]
    return tuple(sorted(_gathered(found), key=lambda change: -change.effect.severity))


def _with_defaults(record: dict[str, Any]) -> dict[str, Any]:
    """Add to a site what its record leaves out because it has its default."""
    site = record.get("site")
    if not isinstance(site, Mapping) or not isinstance(site.get("hosts"), list):
        return record
    of_site, of_host = (
        {field.name: field.default for field in dataclasses.fields(kind) if field.default is not dataclasses.MISSING} for kind in (spec.Site, spec.SiteHost)
    )
    hosts = [{**_plain(of_host), **host} for host in site["hosts"] if isinstance(host, Mapping)]
    return {**record, "site": {**_plain(of_site), **site, "hosts": hosts}}


def version_note(old: Mapping[str, Any]) -> str | None:
    """Say that the record is of another form than this version's, if it is."""
    if spec.upgrade(old).get("version") == spec.SPEC_VERSION:
        return None
    return f"the cluster was recorded in form {old.get('version', 'unknown')}, and this version writes form {spec.SPEC_VERSION}: only fields of both forms are compared"


def as_record(change: Change) -> dict[str, Any]:
    """Turn a change into plain JSON values."""
    return {**dataclasses.asdict(change), "effect": str(change.effect), "refused": change.is_refused}


def kubernetes_upgrade(found: Sequence[Change], new: spec.ClusterSpec) -> tuple[str, ...]:
    """Say in order what an upgrade of Kubernetes among the changes does; empty: there is none, or it is refused."""
    versions = [change for change in found if change.path == _KUBERNETES_VERSION and not change.is_refused]
    return tuple(
        line for change in versions if new.kubernetes for line in kubernetes_upgrades.steps(str(change.old), new.kubernetes, has_windows=bool(new.maintenance))
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Difference:
    path: str
    pattern: str
    old: Any
    new: Any
    around: Mapping[str, Any]
    """The old record that the field is part of; of a thing that goes, the thing itself."""


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "", pattern: str = "") -> Iterator[_Difference]:
    for field in new:
        if field not in old:
            continue
        here, there = f"{path}{field}", f"{pattern}{field}"
        before, after = old[field], new[field]
        named = _by_name(there, before), _by_name(there, after)
        if named[0] is not None and named[1] is not None:
            yield from _of_collection(named[0], named[1], here, there)
        elif isinstance(before, Mapping) and isinstance(after, Mapping) and not (_is_late(before) or _is_late(after)):
            yield from _differences(before, after, f"{here}.", f"{there}.")
        elif before != after:
            yield _Difference(here, there, before, after, old)


def _of_collection(old: Mapping[str, Any], new: Mapping[str, Any], path: str, pattern: str) -> Iterator[_Difference]:
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            yield _Difference(f"{path}.{name}", f"{pattern}.-", old[name], None, old[name])
        elif name not in old:
            yield _Difference(f"{path}.{name}", f"{pattern}.+", None, new[name], {})
        else:
            yield from _differences(old[name], new[name], f"{path}.{name}.", f"{pattern}.*.")


def _by_name(pattern: str, value: Any) -> dict[str, Any] | None:
    """Give the things of a collection by name; None when it is none, or not readable as one."""
    if pattern not in COLLECTIONS or not isinstance(value, list):
        return None
    named: dict[str, Any] = {}
    for thing in value:
        name: Any = thing
        for step in COLLECTIONS[pattern]:
            name = name.get(step) if isinstance(name, Mapping) else None
        if not isinstance(name, str):
            return None
        named[name] = thing
    return named


def _judged(one: _Difference, recorded: Mapping[str, Any], found: Rule) -> Change:
    if _is_late(one.old) or _is_late(one.new):
        return Change(one.path, one.old, one.new, Effect.NONE, "one of the two was not looked up: whether they differ is not known")
    cost = _cost(found, one)
    anew = found.is_anew and cost is found.cost and not _is_open(one)
    if one.pattern == _KUBERNETES_VERSION and (reason := kubernetes_upgrades.refusal(str(one.old), str(one.new))):
        return Change(one.path, one.old, one.new, cost.effect, reason, anew=True)
    if one.pattern == _CONTROL_MEMBERS and not anew and _loses_quorum(one.old, one.new):
        why = "etcd would lose more of its members than it can: exchange one server, run `up`, then the next"
        return Change(one.path, one.old, one.new, cost.effect, why, anew=True)
    kinds = found.reaches
    if one.pattern == _CONTROLLERS and (held := _held_by_first(one.old, one.new)):
        kinds, cost = held, Cost(cost.effect, "another server is the first controller, and what the present one holds begins empty there")
        found = dataclasses.replace(found, cost=cost)
    reached = [data for kind in kinds for data in _data(kind, recorded)]
    if cost is found.cost and reached:
        cost = Cost(Effect.DESTROYS_DATA, f"{cost.why}; lost with it: {', '.join(name for name, _ in reached)}")
    elif cost.effect is Effect.DESTROYS_DATA:
        reached = [(".".join(one.path.split(".")[:2]), bool(one.around.get("protect")))]
    else:
        reached = []
    return Change(one.path, one.old, one.new, cost.effect, cost.why, protected=tuple(name for name, protect in reached if protect), anew=anew)


def _loses_quorum(old: Any, new: Any) -> bool:
    """Say whether fewer than a majority of a control plane's servers stay."""
    before, after = map(set, map(_servers, (old, new)))
    return bool(before) and 2 * len(before & after) <= len(before)


def _held_by_first(old: Any, new: Any) -> tuple[str, ...]:
    """Give the kinds of data that the first of Slurm's controllers has on its disk (keys of `cost.DATA`), where another server is to be the first."""
    before, after = map(_servers, (old, new))
    if not before or not after or before[0] == after[0]:
        return ()
    return ("state", "own-database") if len(before) == 1 else ("own-database",)


def _servers(members: Any) -> list[str]:
    return [*hostlist.expand(members)] if isinstance(members, str) and members else []


def _named(change: Change, pattern: str, node_sets: Mapping[str, Mapping[str, Any]]) -> Change:
    """Name a change as a blueprint does."""
    key = blueprint_keys.key(pattern, change.path, node_sets)
    derived = change.effect is Effect.NONE and pattern not in blueprint_keys.KEYS and not (_is_late(change.old) or _is_late(change.new))
    return dataclasses.replace(change, key=key, derived=derived)


def _cost(found: Rule, one: _Difference) -> Cost:
    for field, value, instead in found.given:
        if one.around.get(field) == value:
            return instead
    if found.less and _is_number(one.old) and _is_number(one.new) and one.new < one.old:
        return found.less
    if found.later and isinstance(one.old, list) and isinstance(one.new, list) and one.old[:1] == one.new[:1]:
        return found.later
    return found.cost


def _data(kind: str, recorded: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Name the cluster's data of one kind (`cost.DATA`), and say whether it is protected. Data that existed before the stack is left out: the stack never deletes it."""
    database = (recorded.get("slurm") or {}).get("database")
    if kind in _KEPT_BY_SCHEDULER:
        if isinstance(database, Mapping) and database.get("placement") in _KEPT_BY_SCHEDULER[kind]:
            yield "state" if kind == "state" else "database", bool(database.get("protect"))
        return
    for name, entry in (_by_name("storage", recorded.get("storage")) or {}).items():
        if entry.get("kind") != "existing" and _keeps_data(kind, entry, recorded["target"]):
            yield f"storage.{name}", bool(entry.get("protect"))


def _keeps_data(kind: str, entry: Mapping[str, Any], target: str) -> bool:
    if kind == "networked":
        return entry.get("kind") in ("lustre", "nfs")
    if kind == "zonal":
        try:
            return catalog.storage_class(target, entry.get("storage_class", "")).zonal
        except KeyError:
            return True  # not known any more: rather too careful
    return True


def _gathered(found: list[Change]) -> Iterator[Change]:
    """Put changes that follow from another one into it."""
    changed = {change.path: change for change in found}
    heads = {change.path: head for change in found if (head := _head(change, changed)) is not None}
    for change in found:
        if change.path in heads:
            continue
        following = [other for other in found if _root(other.path, heads) == change.path and other is not change]
        dearest = max((change, *following), key=lambda one: one.effect.severity)
        protected = tuple(dict.fromkeys(name for one in (change, *following) for name in one.protected))
        derived = all(one.derived for one in (change, *following))
        anew = any(one.anew for one in (change, *following))
        follows = tuple(one.path for one in following)
        yield dataclasses.replace(change, effect=dearest.effect, why=dearest.why, protected=protected, anew=anew, follows=follows, derived=derived)


def _root(path: str, heads: Mapping[str, str]) -> str:
    while path in heads:
        path = heads[path]
    return path


def _head(change: Change, changed: Mapping[str, Change]) -> str | None:
    """Find the changed field that this one follows from."""
    steps = change.path.split(".")
    for head, followers in HEADS.items():
        place = head.split(".").index("*") if "*" in head else None
        name = steps[place] if place is not None and len(steps) > place else "*"
        own = head.replace("*", name)
        if own == change.path or own not in changed:
            continue
        prefixes = [follower.replace("*", name) for follower in followers]
        if any(change.path.startswith(prefix) for prefix in prefixes) and (head != "network.cidr" or _moves_with_network(change.path)):
            return own
    return None


def _moves_with_network(path: str) -> bool:
    return not path.startswith(("slurm.", "kubernetes.")) or path.endswith(_ONLY_ADDRESSES)


def _is_late(value: Any) -> bool:
    """Say whether a recorded value is a placeholder for one that was not looked up (`spec.Late`)."""
    return isinstance(value, Mapping) and list(value) == ["what"]


def _is_open(one: _Difference) -> bool:
    """Say whether one side of a list leaves the choice open: what was chosen may be what the other side names."""
    return isinstance(one.old, list) and isinstance(one.new, list) and not (one.old and one.new)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Turn tuples into lists, as JSON does."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value

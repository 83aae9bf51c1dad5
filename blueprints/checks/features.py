"""Keys that have no effect in this version, or that do not apply to the target.

`built` of the catalogue's targets lists by offering the keys that take effect, by their path without names (`pools.partition.max_time`); a key includes all keys
below it. Some keys take effect for certain `values` only. `ignored` lists the keys that do not apply to the target, `refused` those whose absence would make data less safe.
"""

from collections.abc import Iterator
from typing import Any

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document, Path
from . import lookup


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find keys that differ from their defaults and have no effect in this version, keys that this version refuses, and keys that do not apply to this target."""
    target = lookup.target_of(cluster)
    if target is None or not cluster.offerings or not set(cluster.offerings) <= target.built.keys():
        return
    built = target.built_for(cluster.offerings)
    if cluster.software.profile not in built.software:
        yield _software(cluster, target, built.software, source)
        return
    yield from _machines(cluster, blueprint, target, built.planned_machines, source)
    left_out: dict[str, list[Path]] = {}
    for key, path in _said(blueprint, (), "", built):
        left_out.setdefault(key, []).append(path)
    for key in [one for one in left_out if one in built.refused]:
        yield from _refused(key, left_out.pop(key), built.refused[key], target, source)
    meaningless = {key: left_out.pop(key) for key in [*left_out] if _is_listed(key, built.ignored)}
    for key, paths in left_out.items():
        others = f" (here and in {len(paths) - 1} more places)" if len(paths) > 1 else ""
        where = f"with {message_text.listed(_schedulers(cluster))} on {target.title}" if _is_built_elsewhere(key, cluster, target) else f"on {target.title}"
        what = f"`{key}` has no effect {where} in this version{others}"
        why = "this version ignores the key and provisions the cluster without it"
        remedy = "remove the key, or do not rely on it"
        yield finding.Finding(finding.Level.WARNING, Code.FEATURE_NOT_BUILT, source.where_key(*paths[0]), what, why, remedy)
    if meaningless:
        what = f"these keys do not apply to the target {target.name}: {message_text.listed(meaningless)}"
        why = f"they configure features that {target.title} doesn't have"
        first = next(iter(meaningless.values()))[0]
        yield finding.Finding(finding.Level.NOTE, Code.NOT_ON_TARGET, source.where_key(*first), what, why, "keep them: they apply to other targets")


def _schedulers(cluster: spec.ClusterSpec) -> list[str]:
    return [catalog.offering(name).title or catalog.offering(name).scheduler.capitalize() for name in cluster.offerings]


def _is_built_elsewhere(key: str, cluster: spec.ClusterSpec, target: catalog.Target) -> bool:
    """Say whether a key, or one with a value (`pools.health.check: full`), takes effect with another scheduler of the target."""
    name, _, value = key.partition(": ")
    others = [built for offering, built in target.built.items() if offering not in cluster.offerings]
    return any(_is_listed(name, built.keys) or value in map(str, built.values.get(name, ())) for built in others)


def without_effect(blueprint: language.Blueprint, keys: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """List the keys that differ from their defaults and are none of these, with their paths."""
    return _said(blueprint, (), "", catalog.Built(software=(), keys=keys, values={}, ignored=()))


def _refused(key: str, paths: list[Path], refusal: catalog.Refusal, target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    """Report each place of a key that would be ignored where somebody relies on it."""
    for path in paths:
        what = f"clusterwright can't keep `{key}` on {target.title}"
        remedy = refusal.remedy.format(path=".".join(str(step) for step in path), parent=".".join(str(step) for step in path[:-1]))
        yield finding.Finding(finding.Level.ERROR, Code.FEATURE_REFUSED, source.where_key(*path), what, refusal.why, remedy)


def _software(cluster: spec.ClusterSpec, target: catalog.Target, profiles: tuple[str, ...], source: Document) -> finding.Finding:
    """Report a software profile that this version can't install yet on the target: the cluster supports `plan` only."""
    profile = cluster.software.profile
    where = source.where("software") if source.at("software") else source.where()
    known = message_text.listed(f"`{name}`" for name in profiles)
    what = f"this version can't install the software profile `{profile}` on {target.title}: you can plan the cluster but not provision it"
    why = f"it can install {known} there"
    fitting = next((name for name in profiles if _supports(cluster, name)), None)
    none = f"plan with it; none of {known} supports these nodes, so provision them with a later version, or other nodes now"
    remedy = f"write `targets.{target.name}.software: {fitting}` to provision the cluster" if fitting else none
    return finding.Finding(finding.Level.NOTE, Code.SOFTWARE_NOT_BUILT, where, what, why, remedy)


def _machines(
    cluster: spec.ClusterSpec, blueprint: language.Blueprint, target: catalog.Target, planned: tuple[str, ...], source: Document
) -> Iterator[finding.Finding]:
    """Report pools of machines that this version can't provision: the cluster supports `plan` only."""
    for name, _, node_sets in lookup.pools_of(cluster, blueprint):
        if machine := next((one.hosts.machine.name for one in node_sets if one.hosts.machine.name in planned), None):
            what = f"this version can't provision {machine} on {target.title}: you can plan the cluster but not provision it"
            why = "its interfaces for RDMA need a network that clusterwright does not create"
            remedy = "plan with it, and provision it with a later version, or choose other machines now"
            yield finding.Finding(finding.Level.NOTE, Code.SOFTWARE_NOT_BUILT, source.where("pools", name), what, why, remedy)


def _supports(cluster: spec.ClusterSpec, profile: str) -> bool:
    """Say whether a profile has what all nodes need."""
    return all(profile in lookup.profiles_of(cluster, one) for one in cluster.node_sets)


def _said(value: Any, path: Path, key: str, built: catalog.Built) -> Iterator[tuple[str, Path]]:
    """List the keys that are neither default nor built, with their paths; where nothing below a key is built, only the key itself."""
    for name, entry, default, is_name in _entries(value):
        inner = key if is_name else f"{key}.{name}".lstrip(".")
        if (entry == default and not _is_asked(value, name, inner, built)) or (
            not is_name and (_is_listed(inner, built.keys) or entry in built.values.get(inner, ()))
        ):
            continue
        if is_name or any(one.startswith(f"{inner}.") for one in (*built.keys, *built.values, *built.ignored)):
            yield from _said(entry, (*path, name), inner, built)
        elif inner in built.values:
            yield f"{inner}: {entry}", (*path, name)
        else:
            yield inner, (*path, name)


def _is_asked(value: Any, name: str, key: str, built: catalog.Built) -> bool:
    """Say whether somebody wrote a default where the target implements some values only: what nobody writes, the target does in its own way."""
    is_judged = key in built.values or any(one.startswith(f"{key}.") for one in built.values)
    return is_judged and isinstance(value, language.Section) and name in value.model_fields_set


def _entries(value: Any) -> Iterator[tuple[str, Any, Any, bool]]:
    """List the entries of a section or a mapping: name, value, default, and whether the blueprint chose the name."""
    if isinstance(value, language.Section):
        for name, field in type(value).model_fields.items():
            yield name, getattr(value, name), field.default, False
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield name, entry, None, True


def _is_listed(key: str, keys: tuple[str, ...]) -> bool:
    return any(key == one or key.startswith(f"{one}.") for one in keys)

"""Region and zones of the cluster."""

import dataclasses
from collections.abc import Collection

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from . import capacity
from .context import Context

_LIKE_A_REGION = 0.8
"""Similarity of names (`difflib`) above which one region may be a typo of another; the names of one continent are all similar."""


def region(blueprint: language.Blueprint, target: catalog.Target) -> str:
    """Return the named region, else the region of the named zones, else the target's default; empty if the target has no regions."""
    if not target.default_region:
        return ""
    of_zones = (target.region_of(zone) for zone in blueprint.network.zones)
    return blueprint.network.region or next((found for found in of_zones if found), None) or target.default_region


def check(context: Context) -> None:
    """Find an unknown region, a default region, and zones of another region."""
    asked = context.blueprint.network
    if not context.region:
        return
    known = capacity.regions(context.target.name)
    if asked.region is None and not asked.zones:
        what = f"the region is {context.region}, the target's default"
        why = "the blueprint names no region; machines, prices and quotas differ between regions"
        remedy = f"write `targets.{context.target.name}.network.region: {context.region}`, or another region"
        context.findings.append(finding.Finding(finding.Level.NOTE, Code.REGION_CHOSEN, _of_network(context), what, why, remedy))
    elif context.region not in known:
        _blame_region(context, known)
    for number, zone in enumerate(asked.zones):
        if context.target.region_of(zone) != context.region:
            _blame_zone(context, number, zone)


def _blame_zone(context: Context, number: int, zone: str) -> None:
    what = f"{message_text.quoted(zone)} is not a zone of {context.region}"
    why = "all hosts of a cluster are in one region, and a zone's name starts with its region"
    remedy = "name zones of this region, or the region of these zones"
    own, owner = context.target.region_of(zone), _cloud_of(context, zone)
    if owner is not None:
        what = f"{message_text.quoted(zone)} is a zone of {owner.title}, and this target is {context.target.title}"
        why = "each cloud has its own zones"
        remedy = f"write it as `targets.{owner.name}.network.zones`, and zones of {context.region} here"
    elif zone in capacity.regions(context.target.name):
        what = f"{message_text.quoted(zone)} is a region, and `zones` names zones in it"
        remedy = f"write `region: {zone}`, and names that start with it as `zones`, or no zones"
    elif own is not None:
        why = f"it is a zone of {own}, and all hosts of a cluster are in one region"
        is_alone = all(context.target.region_of(other) == own for other in context.blueprint.network.zones)
        remedy = f"write `region: {own}`, or zones of {context.region}" if is_alone else f"remove it, or write a zone of {context.region} in its place"
    context.error(Code.ZONE_UNKNOWN, "network", "zones", number, what=what, why=why, remedy=remedy)


def _cloud_of(context: Context, zone: str) -> catalog.Target | None:
    """Return the other target with a zone of this name."""
    others = (catalog.target(name) for name in catalog.target_names() if name != context.target.name)
    return next((one for one in others if context.target.region_of(zone) is None and one.region_of(zone) in capacity.regions(one.name)), None)


def _blame_region(context: Context, known: Collection[str]) -> None:
    """Refuse regions of another cloud, typos and invalid names. Warn about a region that is not in the catalogue."""
    key = "region" if context.blueprint.network.region else "zones"
    owner = next((name for name in catalog.target_names() if name != context.target.name and context.region in capacity.regions(name)), None)
    look = f"`clusterwright catalog regions --target {context.target.name}` lists the regions of the catalogue"
    slip = next((name for name in sorted(known) if message_text.is_slip(context.region, name)), None)
    if owner is not None:
        what = f"{message_text.quoted(context.region)} is a region of {catalog.target(owner).title}, and this target is {context.target.title}"
        why = "each cloud has its own regions"
        remedy = f"write it as `targets.{owner}.network.{key}`, and a region such as `{context.target.default_region}` here; {look}"
    elif slip is not None:
        what = f"{context.target.title} has no region {message_text.quoted(context.region)}"
        why, remedy = f"{slip} is nearly the same name", f"did you mean `{slip}`? {look}"
    elif catalog.partition_of(context.target.name, context.region) is None:
        what = f"{message_text.quoted(context.region)} is not a valid region name of {context.target.title}"
        why = f"names of its regions look like `{context.target.default_region}`"
        meant = message_text.near(context.region, known, likeness=_LIKE_A_REGION)
        remedy = f"did you mean `{meant}`? {look}" if meant else f"write a name of this form; {look}"
    else:
        what = f"the catalogue has no region {message_text.quoted(context.region)} of {context.target.title}"
        why = "machines and prices of the region are unknown; clusterwright assumes that the region offers all machines"
        context.warning(Code.REGION_UNKNOWN, "network", key, what=what, why=why, remedy=f"check the name; {look}")
        return
    context.error(Code.REGION_UNKNOWN, "network", key, what=what, why=why, remedy=remedy)


def _of_network(context: Context) -> finding.Position | None:
    """Return the position of the network; only the file if the blueprint has none, as the nearest line would be its first."""
    where = context.where("network")
    if where is None or context.blueprint.network != language.Network():
        return where
    return dataclasses.replace(where, line=0, column=0, text="", width=1)


def zone(context: Context, number: int, node_sets: tuple[spec.NodeSet, ...]) -> str | spec.Late:
    """Return the zone by its number, or what determines it later."""
    zones = context.blueprint.network.zones
    if number < len(zones):
        return zones[number]
    if number:
        return spec.Late(f"another zone of {context.region}")
    held = next((node_set.capacity for node_set in node_sets if node_set.capacity.kind.is_bought_ahead), None)
    if held is not None:
        return spec.Late(f"the zone of {held.id or 'the reserved capacity'}")
    return spec.Late(f"the first zone of {context.region} that offers the pools' machines")

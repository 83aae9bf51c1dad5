"""Where in the world the cluster stands: region and zones."""

import dataclasses
from collections.abc import Collection

from .. import catalog, display, finding, language, spec
from ..codes import Code
from . import capacity
from .case import Case

_HELD = ("reserved", "block")
"""Capacity that is bought in one zone beforehand."""


def region(blueprint: language.Blueprint, target: catalog.Target) -> str:
    """Give the region: the one named, that of the zones named, or the target's usual one; empty where the target has none."""
    if not target.default_region:
        return ""
    of_zones = (target.region_of(zone) for zone in blueprint.network.zones)
    return blueprint.network.region or next((found for found in of_zones if found), None) or target.default_region


def check(case: Case) -> None:
    """Find a region that nobody knows or nobody asked for, and zones elsewhere."""
    asked = case.blueprint.network
    if not case.region:
        return
    known = capacity.regions(case.target.name)
    if asked.region is None and not asked.zones:
        what = f"the region is {case.region}, the target's usual one"
        why = "the blueprint names none, and machines, prices and quotas differ from region to region"
        remedy = f"write `targets.{case.target.name}.network.region: {case.region}`, or another"
        case.findings.append(finding.Finding(finding.Level.NOTE, Code.REGION_CHOSEN, _of_network(case), what, why, remedy))
    elif case.region not in known:
        _blame_region(case, known)
    for number, zone in enumerate(asked.zones):
        if case.target.region_of(zone) != case.region:
            what = f"{display.quoted(zone)} is no zone of {case.region}"
            why = "all hosts of a cluster are in one region, and a zone's name begins with the region's"
            case.error(Code.ZONE_UNKNOWN, "network", "zones", number, what=what, why=why, remedy="name zones of this region, or the region they are in")


def _blame_region(case: Case, known: Collection[str]) -> None:
    key = "region" if case.blueprint.network.region else "zones"
    what = f"the catalogue knows no region {display.quoted(case.region)} of {case.target.title}"
    why = "what is offered there and what it costs is unknown; machines count as offered"
    remedy = display.did_you_mean(case.region, known, allowed="known regions")
    owner = next((name for name in catalog.target_names() if name != case.target.name and case.region in capacity.regions(name)), None)
    if owner is not None:
        why = f"it is a region of {catalog.target(owner).title}"
        remedy = f"write it as `targets.{owner}.network.{key}`, and here one of {', '.join(sorted(known))}"
    case.warning(Code.REGION_UNKNOWN, "network", key, what=what, why=why, remedy=remedy)


def _of_network(case: Case) -> finding.Position | None:
    """Give the place of the network; of one that nobody wrote the file alone, as the nearest line would be the blueprint's first."""
    where = case.where("network")
    if where is None or case.blueprint.network != language.Network():
        return where
    return dataclasses.replace(where, line=0, column=0, text="", width=1)


def zone(case: Case, number: int, node_sets: tuple[spec.NodeSet, ...]) -> str | spec.Late:
    """Give the zone of a number, or say what decides about it."""
    zones = case.blueprint.network.zones
    if number < len(zones):
        return zones[number]
    if number:
        return spec.Late(f"another zone of {case.region}")
    held = next((node_set.capacity for node_set in node_sets if node_set.capacity.kind in _HELD), None)
    if held is not None:
        return spec.Late(f"the zone of {held.id or 'the reserved capacity'}")
    return spec.Late(f"the first zone of {case.region} that offers the pools' machines")

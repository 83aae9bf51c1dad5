"""The software profile: the one named, or the target's usual one for the machines' processors."""

from collections.abc import Sequence

from .. import catalog, display, spec
from ..codes import Code
from . import processors
from .case import Case


def resolve(case: Case, node_sets: Sequence[spec.NodeSet]) -> spec.Software:
    """Choose the profile, and find nodes that it can't run on."""
    name = case.blueprint.software or _usual(case, case.architecture)
    software = catalog.software(_usable(case, name))
    for node_set in node_sets:
        _check_architecture(case, node_set, software)
    return software


def _usual(case: Case, architecture: str) -> str:
    usual = case.target.default_software
    return usual.get(architecture, usual[processors.USUAL])


def _usable(case: Case, name: str) -> str:
    """Give the profile's name back, or that of a stand-in where there is no such profile or it belongs elsewhere."""
    if name not in catalog.profile_names():
        what = f"there is no software profile {display.quoted(name)}"
        why = "a profile is one tested set of versions (blueprints/catalog/software)"
        known = catalog.software_names(case.target.name)
        case.error(Code.SOFTWARE_UNKNOWN, "software", what=what, why=why, remedy=display.did_you_mean(name, known, allowed="profiles"))
    elif case.target.name not in (places := catalog.profile(name).targets):
        what = f"the software profile {display.quoted(name)} is not for {case.target.title}"
        why = f"its image and versions are those of {display.listed(f'`{place}`' for place in places)}"
        usual = display.listed(f"`{known}`" for known in catalog.software_names(case.target.name))
        remedy = f"leave `software` out, or write it under `targets`, here `targets.{case.target.name}.software`; usable here: {usual}"
        case.error(Code.SOFTWARE_TARGET, "software", what=what, why=why, remedy=remedy)
    else:
        return name
    return _usual(case, case.architecture)


def _check_architecture(case: Case, node_set: spec.NodeSet, software: spec.Software) -> None:
    architecture = node_set.hosts.machine.arch
    if software.arch in (processors.ANY, architecture) or case.is_rehearsal or isinstance(node_set.image, str):
        return
    what = f"the nodes of {node_set.pool} have {architecture} processors, and the software profile `{software.profile}` is for {software.arch}"
    why = "a cluster has one software profile, whose programs run on one kind of processor"
    remedy = "give this pool an `image` of your own, or put it into a cluster of its own"
    if case.blueprint.software:
        remedy += f"; for a cluster of such nodes alone, write `software: {_usual(case, architecture)}`"
    case.error(Code.ARCHITECTURES_MIXED, "pools", node_set.pool, what=what, why=why, remedy=remedy)

"""The software profile: the named one, or the target's default for the architecture."""

import dataclasses
from collections.abc import Sequence

from .. import catalog, message_text, spec
from ..codes import Code
from . import processors
from .context import Context

NONE = spec.Software("", "", "", "", "", arch=processors.ANY)
"""Of jobs that bring images of their own."""


def resolve(context: Context, node_sets: Sequence[spec.NodeSet]) -> spec.Software:
    """Choose the profile, and find nodes that it doesn't support."""
    name = context.blueprint.software or _usual(context, context.architecture)
    software = _changed(context, catalog.software(_usable(context, name)))
    for node_set in node_sets:
        _check_architecture(context, node_set, software)
    return software


def _changed(context: Context, software: spec.Software) -> spec.Software:
    """Put the blueprint's versions over the profile's. The set that they make is not the one that was tested. A rehearsal's hosts have the kernel of this machine."""
    own = {str(part): version for part, version in context.blueprint.versions.items()}
    if context.is_rehearsal:
        return software
    if own:
        software = dataclasses.replace(software, versions=tuple({**dict(software.versions), **own}.items()), tested_on="")
    return dataclasses.replace(software, origins=tuple({**dict(software.origins), **_mirrors(context, software)}.items()))


def _mirrors(context: Context, software: spec.Software) -> dict[str, str]:
    """Give the blueprint's mirrors of archives that the profile uses, by the names of the profile's own origins."""
    found: dict[str, str] = {}
    for name, archive in context.blueprint.archives.items():
        if f"{name}_archive_key" in dict(software.origins):
            given = {"address": archive.address, "key": archive.key or "", "simulated": "yes" if archive.simulated else ""}
            found |= {f"{name}_archive_{what}": value for what, value in given.items() if value}
    return found


def simulated(software: spec.Software) -> tuple[str, ...]:
    """List archives whose packages are simulated, one sentence each."""
    origins = dict(software.origins)
    return tuple(
        f"Package content simulated: packages of {origins[f'{name}_archive_address']} have NVIDIA's names and versions, and none of its programs."
        for name in (one.removesuffix("_archive_simulated") for one in origins if one.endswith("_archive_simulated"))
    )


def _usual(context: Context, architecture: str) -> str:
    usual = context.target.default_software
    return usual.get(architecture, usual[processors.USUAL])


def _usable(context: Context, name: str) -> str:
    """Return the profile's name, or the default's if the profile doesn't exist or is for another target. A rehearsal takes the profile of the same distribution."""
    if name not in catalog.profile_names():
        what = f"the software profile {message_text.quoted(name)} does not exist"
        why = "a profile is one tested set of versions (blueprints/catalog/software)"
        known = catalog.software_names(context.target.name)
        context.error(Code.SOFTWARE_UNKNOWN, "software", what=what, why=why, remedy=message_text.did_you_mean(name, known, allowed="profiles"))
    elif context.target.name not in (places := catalog.profile(name).targets) and (rehearsed := _rehearsed(context, name)):
        what = f"the rehearsal takes the software profile `{rehearsed}` instead of {message_text.quoted(name)}"
        why = f"that one has the kernel and drivers of {message_text.listed(f'`{place}`' for place in places)}; hosts on {context.target.title} have its kernel"
        remedy = f"nothing; `targets.{context.target.name}.software` chooses another profile"
        context.note(Code.SOFTWARE_REHEARSED, "software", what=what, why=why, remedy=remedy)
        return rehearsed
    elif context.target.name not in places:
        what = f"the software profile {message_text.quoted(name)} is not for {context.target.title}"
        why = f"its image and versions are those of {message_text.listed(f'`{place}`' for place in places)}"
        usual = message_text.listed(f"`{known}`" for known in catalog.software_names(context.target.name))
        remedy = f"remove `software`, or write `targets.{context.target.name}.software` with one of {usual}"
        context.error(Code.SOFTWARE_TARGET, "software", what=what, why=why, remedy=remedy)
    else:
        return name
    return _usual(context, context.architecture)


def _rehearsed(context: Context, name: str) -> str:
    """Give the profile of the same distribution that a rehearsal takes; empty: there is none, or it is no rehearsal."""
    if not context.is_rehearsal:
        return ""
    return next((own for own in catalog.software_names(context.target.name) if catalog.profile(own).os == catalog.profile(name).os), "")


def _check_architecture(context: Context, node_set: spec.NodeSet, software: spec.Software) -> None:
    architecture = node_set.hosts.machine.arch
    if software.arch in (processors.ANY, architecture) or context.is_rehearsal:
        return
    if context.target.has_images and isinstance(node_set.image, str):
        return
    what = f"the nodes of {node_set.pool} have {architecture} processors, and the software profile `{software.profile}` requires {software.arch}"
    why = "a cluster has one software profile, which is built for one architecture"
    remedy = "write an `image` of your own for this pool, or move it to another cluster" if context.target.has_images else "move this pool to another cluster"
    if context.blueprint.software:
        remedy += f"; for a cluster with only such nodes, write `software: {_usual(context, architecture)}`"
    context.error(Code.ARCHITECTURES_MIXED, "pools", node_set.pool, what=what, why=why, remedy=remedy)

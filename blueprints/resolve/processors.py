"""The default architecture of a cluster's hosts: its own hosts and pools without GPUs get machines of this architecture."""

from collections.abc import Iterator

from .. import catalog, language

USUAL = "x86_64"
ANY = "any"
"""Architecture of a software profile that supports every processor."""


def architecture(blueprint: language.Blueprint, target: catalog.Target) -> str:
    """Return the architecture of the software profile, else of the first pool whose machine or GPU exists with one architecture only.

    Ignore unknown machines and those of other targets; other modules report them.
    """
    return next(_stated(blueprint, target), USUAL)


def _stated(blueprint: language.Blueprint, target: catalog.Target) -> Iterator[str]:
    if blueprint.software in catalog.profile_names() and (named := catalog.profile(blueprint.software).arch) != ANY:
        yield named
    known = catalog.machines(target.name)
    for pool in blueprint.pools.values():
        wanted = [pool.machine] if pool.machine else list(pool.machines)
        kinds = {
            machine.arch for machine in known.values() if (machine.name in wanted if wanted else pool.accelerator and machine.accelerator == pool.accelerator)
        }
        if len(kinds) == 1:
            yield kinds.pop()

"""What kind of processors a cluster's hosts have, before any machine is chosen: the machines of its own hosts and of pools without GPUs follow it."""

from collections.abc import Iterator

from .. import catalog, language

USUAL = "x86_64"
ANY = "any"
"""Of a software profile: for every kind of processor."""


def architecture(blueprint: language.Blueprint, target: catalog.Target) -> str:
    """Give the architecture that the software profile is for, else that of the first pool whose machine or GPU is found with one kind of processor only.

    What is unknown, or belongs to another target, tells nothing here; it is found where it is resolved.
    """
    return next(_told(blueprint, target), USUAL)


def _told(blueprint: language.Blueprint, target: catalog.Target) -> Iterator[str]:
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

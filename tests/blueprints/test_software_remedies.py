"""Every machine with every software profile of its target: a profile that doesn't support the machine is refused, and what the finding advises is accepted."""

import functools
import re
from collections.abc import Iterator

import pytest

from blueprints import catalog, finding, load, read
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
IMAGES = {"aws": "ami-0123456789abcdef0", "gcp": "projects/our-project/global/images/ours"}


def cases() -> Iterator[tuple[str, str]]:
    for target in catalog.target_names():
        yield from ((target, machine.name) for machine in catalog.machines(target).values() if machine.accelerator)


@functools.cache
def conflicts(target: str, machine: str, software: str, image: str = "") -> tuple[finding.Finding, ...]:
    domain = catalog.machines(target)[machine].domain_sizes
    pool = f"machine: {machine}, nodes: {domain[0] if domain else 2}" + (f", image: {image}" if image else "")
    text = f"name: tiny\nsoftware: {software}\npools: {{train: {{{pool}}}}}\n"
    try:
        found = load.from_document(read.from_bytes(text.encode(), file="t.yaml"), target=target, stack="t", facts=FACTS).findings
    except finding.Invalid as invalid:
        found = invalid.findings
    return tuple(one for one in found if one.code is Code.SOFTWARE_CONFLICT)


@pytest.mark.parametrize(("target", "machine"), sorted(cases()))
def test_what_the_remedy_of_an_unsupported_machine_names_supports_it(target: str, machine: str) -> None:
    alike = [name for name in catalog.software_names(target) if catalog.profile(name).arch in ("any", catalog.machines(target)[machine].arch)]
    assert alike, "a blueprint with this machine has no profile to name"
    for software in alike:
        for one in conflicts(target, machine, software):
            profiles = re.search(r"profile that supports these nodes: (.*)", one.remedy)
            other = re.search(r"write `machine: ([^`]+)`", one.remedy)
            if profiles:
                assert all(conflicts(target, machine, name) == () for name in profiles[1].split(", "))
            else:
                assert "`pools.train.image`" in one.remedy
                assert conflicts(target, machine, software, IMAGES[target]) == ()
                assert all(conflicts(target, machine, name) for name in alike), "a profile that supports it is not named"
                assert other is not None
                assert any(conflicts(target, other[1], name) == () for name in alike)

"""The stack's place on this machine: makes nothing but its mark of ownership, checks that the machine can hold the stack, and on deletion removes whatever is left of it."""

import dataclasses
import os
import shutil
from collections.abc import Iterator
from typing import ClassVar

from ..files import disk_space, memory_folders
from ..provider.kind import UNKNOWN, Kind, Refused, Values, Work
from .machine import claim, declared, disk, network, rootfs, sweep
from .machine.names import STATE_ROOT, StackNames, cache_root

TOOLS = {"ip": "iproute2", "iptables": "iptables", "systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap", "ssh-keygen": "openssh-client"}
"""What local hosts take, and the Debian package that brings it."""
STATE_SPACE_GIB = 2.0
LEAST_SPACE_GIB = 0.1
"""For an `up` of a stack that has its disks."""


@dataclasses.dataclass(frozen=True, slots=True)
class SiteInputs:
    stack: str
    owner: str
    """The project folder that runs the stack. Two checkouts with a stack of the same name would otherwise share its hosts."""
    cidr: str


class Site(Kind[SiteInputs]):
    token = "clusterwright:local:Site"
    inputs = SiteInputs
    fixed: ClassVar[frozenset[str]] = frozenset({"stack"})
    """Another name would mean other hosts; the old ones, and the data in their folders, would be swept away."""

    def identity(self, inputs: SiteInputs) -> str:
        return inputs.stack

    def check(self, inputs: SiteInputs) -> Iterator[tuple[str, str]]:
        if os.geteuid() != 0:
            yield (
                "",
                "local hosts need root: they are containers with networks and mounts of their own. Run the same command as root (`sudo -i`, then `make up`).",
            )
            return
        missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
        if missing:
            yield "", f"these Debian packages are missing: {' '.join(missing)}. `make setup` installs them."
            return
        names = StackNames(inputs.stack)
        if found := claim.conflict(names, inputs.cidr) or network.conflict(names, inputs.cidr):
            yield (
                "cidr",
                (
                    f"subnet {inputs.cidr} of stack {inputs.stack} is in use on this machine: {found}. "
                    f"Choose a free one in the blueprint (network: {{cidr: 10.99.0.0/20}}) or for this stack only "
                    f"(pulumi config set --path 'clusterwright:set[\"network.cidr\"]' 10.99.0.0/20)."
                ),
            )
        yield from _space(names)
        existing = claim.read(names)
        if existing and existing.owner != inputs.owner and existing.owner_exists:
            yield "owner", claim.foreign_page(names, existing)

    def expected(self, inputs: SiteInputs) -> Values:
        return {"token": UNKNOWN, "owned": True}

    def read(self, inputs: SiteInputs, outputs: Values) -> Values | None:
        # A site is a right to a name, and never gone: making it anew must not begin with sweeping the stack's living hosts away.
        existing = claim.read(StackNames(inputs.stack))
        return {"owned": existing is not None and existing.token == outputs.get("token")}

    def create(self, inputs: SiteInputs, work: Work) -> Values:
        names = StackNames(inputs.stack)
        is_new = not names.owner_file.exists()
        outputs = self.update(inputs, {}, work)
        if is_new:
            declared.write(names)
        return outputs

    def update(self, inputs: SiteInputs, outputs: Values, work: Work) -> Values:
        problem = next(iter(self.check(inputs)), None)
        if problem:
            raise Refused(problem[1])
        token = claim.make(StackNames(inputs.stack), owner=inputs.owner, cidr=inputs.cidr, token=outputs.get("token") or "")
        return {"token": token, "owned": True}

    def delete(self, inputs: SiteInputs, outputs: Values, work: Work) -> None:
        names = StackNames(inputs.stack)
        claim.require(names, outputs.get("token") or "", deleting=True)
        for kept in sweep.sweep(names, wait_until=work.wait_until, say=work.say):
            work.tell(f"{kept} is protected and stays; the next `up` of this stack adopts it")
        memory_folders.clear_orphans()


def _space(names: StackNames) -> Iterator[tuple[str, str]]:
    """Refuse before the disks are full: what fails for lack of space fails half-way, and on a host."""
    if names.state.exists():
        needs = {names.state: (LEAST_SPACE_GIB, "the hosts' disks and logs")}
    else:
        needs = {STATE_ROOT: (STATE_SPACE_GIB, "the hosts' disks"), cache_root(): (rootfs.SPACE_GIB, "root file systems and layers")}
    for path, (needed_gib, what) in needs.items():
        free = disk.free_gib(path)
        if free < needed_gib:
            yield (
                "",
                f"{path} has {free:.1f} GiB free; {what} need {needed_gib:.1f} GiB. "
                f"Free some space there (file system {disk_space.mount_point(path)}; `make clean-cache` empties the cache) or mount a larger disk.",
            )

"""What was looked up about the place where a cluster will run. `resolve` is pure: it gets facts and never queries."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """The machine that local hosts run on, as `lscpu` and /proc/meminfo tell it."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    declares_by_count: bool = False
    """Whether the stack is of an earlier version, in which the number of hosts decided what memory each declares: it keeps that."""

    @property
    def cpus(self) -> int:
        return self.sockets * self.cores_per_socket * self.threads_per_core

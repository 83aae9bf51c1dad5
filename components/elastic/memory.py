"""The program's memory between runs: JSON in Slurm's state folder, replaced atomically, so that a killed run or a backup controller finds it complete."""

import contextlib
import dataclasses
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FORM = 1
FOLDER = "clusterwright"
"""In Slurm's StateSaveLocation."""
LOOK_EVERY_S = 0.05
PART = "-"
"""Between the token of a launch and the number of a part of it, where a cloud takes only so many nodes at once; tokens have no such sign of their own."""


def whole(token: str) -> str:
    """Give the token of the launch that one with this token, whole or a part, belongs to."""
    return token.partition(PART)[0]


@dataclasses.dataclass(frozen=True, slots=True)
class Hold:
    """A node set that is out of service for a while."""

    reason: str
    since: float
    until: float | None
    """None: until an operator releases it, or its launch template changes."""
    times: int = 1
    """How often in a row."""
    template: str = ""
    """Version of the launch template that failed."""
    trial_at: float | None = None
    """When a hold without an end lets one node through, to see whether it boots; None: an hour after it began."""


@dataclasses.dataclass(frozen=True, slots=True)
class Launch:
    """Nodes of one set that were asked for and are not up yet."""

    token: str
    """The cloud's idempotency token: the same launch asked for twice is made once."""
    node_set: str
    nodes: tuple[str, ...]
    group: str
    """Launches of one group succeed or fail together."""
    jobs: tuple[int, ...]
    requested_at: float
    is_whole: bool
    """All of its nodes or none."""
    launched_at: float | None = None
    """None: it is unknown whether the request reached the cloud."""
    ask_until: float | None = None
    """Until when the request is repeated, counted from the first failed one. None: not requested yet, or the program ended before the answer."""
    instances: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Node → instance, as the launch answered."""
    has_failed: bool = False
    """A node of it did not boot, and it is counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What the cloud was told of the host of an instance."""

    at: float
    why: str
    """The same each time: a report that is made again with other words could be another one."""
    is_over: bool = False
    """It has done what it does, or refused."""


@dataclasses.dataclass(frozen=True, slots=True)
class Memory:
    holds: Mapping[str, Hold] = dataclasses.field(default_factory=dict)
    """By node set."""
    launches: tuple[Launch, ...] = ()
    failed_boots: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Nodes in a row, by node set."""
    failed_launches: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """The launches that these nodes were of."""
    last_failures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Node set → which node did not boot last, and why."""
    missing: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Node → since when something that should be seen of it is not."""
    terminated: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Instance → time of its termination: the cloud may list it as alive for a while."""
    requeued: Mapping[int, float] = dataclasses.field(default_factory=dict)
    """Job → when it lost its nodes: Slurm lets it wait two minutes from the end of its last process on."""

    lives: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Node that is up → the instance on which it was last seen to run."""
    looked_at: float = 0.0
    """When `sync` last looked at nodes that it waits for; 0: it waits for none."""
    reports: Mapping[str, Report] = dataclasses.field(default_factory=dict)
    """Instance → its host was reported as broken; of the last day."""
    arranged_at: float = 0.0
    """When Slurm was last told where nodes are in the cloud's network."""

    def launch_of(self, node: str) -> Launch | None:
        return next((launch for launch in self.launches if node in launch.nodes), None)

    def without(self, nodes: frozenset[str]) -> "Memory":
        """Forget that nodes were asked for."""
        if not nodes:
            return self
        kept = []
        for launch in self.launches:
            left = tuple(node for node in launch.nodes if node not in nodes)
            if left:
                instances = {node: instance for node, instance in launch.instances.items() if node in left}
                kept.append(launch if left == launch.nodes else dataclasses.replace(launch, nodes=left, instances=instances))
        return dataclasses.replace(self, launches=tuple(kept))

    def with_launch(self, launch: Launch) -> "Memory":
        """Remember a launch, in place of an older state of it."""
        others = (one for one in self.launches if one.token != launch.token)
        return dataclasses.replace(self, launches=(*others, launch))

    def with_hold(self, node_set: str, hold: Hold) -> "Memory":
        return dataclasses.replace(self, holds={**self.holds, node_set: hold})


class Busy(Exception):
    """Another run of the program did not end in time."""


class Store:
    """The memory's file and its lock."""

    def __init__(self, state_folder: Path):
        self.folder = state_folder / FOLDER

    @property
    def file(self) -> Path:
        return self.folder / "elastic.json"

    def read(self) -> Memory:
        """Return the memory; empty when there is no file.

        Raises:
            Unreadable: the file is of another form. It is never overwritten then: what it holds may be running machines.
        """
        try:
            text = self.file.read_text()
        except FileNotFoundError:
            return Memory()
        try:
            return decode(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable(
                f"{self.file} can't be read ({error}): inspect it, then delete it; the program then rebuilds it from Slurm and the cloud"
            ) from error

    def write(self, memory: Memory) -> None:
        """Replace what is remembered, durably; nothing is written when it is the same."""
        make_folder(self.folder)
        text = json.dumps(encode(memory), indent=1, sort_keys=True) + "\n"
        if self.file.exists() and self.file.read_text() == text:
            return
        replace(self.file, text)

    @contextlib.contextmanager
    def lock(self, *, within_s: float) -> Iterator[None]:
        """Hold the lock of the whole cluster; the kernel releases it when the process ends, however it ends.

        Raises:
            Busy: another run held it for `within_s` seconds.
        """
        make_folder(self.folder)
        deadline = time.monotonic() + within_s
        with (self.folder / "lock").open("a") as file:
            _give_to_owner_of(self.folder, file.fileno())
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise Busy(f"another run of this program held {file.name} for {within_s:.0f} s") from None
                    time.sleep(LOOK_EVERY_S)
            yield


class Unreadable(Exception):
    """The memory's file is not one that this program can read."""


def make_folder(folder: Path) -> None:
    """Make the folder of the memory and of what else the program writes, for the user that its parent belongs to."""
    folder.mkdir(mode=0o700, exist_ok=True)
    _give_to_owner_of(folder.parent, folder)


def replace(path: Path, text: str, *, is_durable: bool = True) -> None:
    """Replace a file atomically.

    Raises:
        OSError: it can't be written; the old one stays, and nothing else.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w") as file:
            file.write(text)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
            _give_to_owner_of(path.parent, file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()  # what is left of it would fill a full folder further
        raise


def _give_to_owner_of(folder: Path, what: int | Path) -> None:
    """Let Slurm's user have what root has made: the next run may be Slurm's."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.chown(what, owner.st_uid, owner.st_gid)


def encode(memory: Memory) -> dict[str, Any]:
    return {"form": FORM, **dataclasses.asdict(memory)}


def decode(record: Mapping[str, Any]) -> Memory:
    if record["form"] != FORM:
        raise ValueError(f"form {record['form']}")
    launches = tuple(Launch(**{**launch, "nodes": tuple(launch["nodes"]), "jobs": tuple(launch["jobs"])}) for launch in record["launches"])
    return Memory(
        holds={name: Hold(**hold) for name, hold in record["holds"].items()},
        launches=launches,
        failed_boots=dict(record["failed_boots"]),
        failed_launches=dict(record.get("failed_launches", {})),  # older versions kept neither
        last_failures=dict(record.get("last_failures", {})),
        missing=dict(record["missing"]),
        terminated=dict(record["terminated"]),
        requeued={int(job): at for job, at in record["requeued"].items()},
        lives=dict(record.get("lives", {})),
        looked_at=record.get("looked_at", 0.0),
        reports={instance: Report(**one) for instance, one in record.get("reports", {}).items()},
        arranged_at=record.get("arranged_at", 0.0),
    )

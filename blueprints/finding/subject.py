"""What a finding is about: one class for each kind of thing. Code decides by these classes; `str` gives the text that reports, fingerprints and ignore files use.

The texts are an interface: a subject writes the same text in every version.
"""

import dataclasses
import enum

from .position import Position


@dataclasses.dataclass(frozen=True, slots=True)
class HostSubject:
    """Something on one host."""

    host: str


@dataclasses.dataclass(frozen=True, slots=True)
class HostPart(HostSubject):
    """A part of a host that has only one of it: its clock, its memory."""

    part: str

    def __str__(self) -> str:
        return f"{self.host}: {self.part}"


@dataclasses.dataclass(frozen=True, slots=True)
class HostFile(HostSubject):
    """A file, folder or link."""

    path: str

    def __str__(self) -> str:
        return f"{self.host}: {self.path}"


@dataclasses.dataclass(frozen=True, slots=True)
class Unit(HostSubject):
    """A unit of systemd."""

    name: str
    is_of_users: bool = False
    """Each user's own manager runs it, not the system's."""

    def __str__(self) -> str:
        return f"{self.host}: unit {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Package(HostSubject):
    name: str

    def __str__(self) -> str:
        return f"{self.host}: package {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Sysctl(HostSubject):
    """A setting of the kernel."""

    name: str

    def __str__(self) -> str:
        return f"{self.host}: sysctl {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class KernelModule(HostSubject):
    name: str

    def __str__(self) -> str:
        return f"{self.host}: kernel module {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class HostUser(HostSubject):
    """An entry of a host's user table."""

    name: str

    def __str__(self) -> str:
        return f"{self.host}: user {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class HostAdministrator(HostSubject):
    """A member of the group that may become root."""

    name: str

    def __str__(self) -> str:
        return f"{self.host}: administrator {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class RootKey(HostSubject):
    """A key that may log in as root."""

    key_end: str = ""
    """The last characters of the key; empty: the stack's own key."""

    def __str__(self) -> str:
        return f"{self.host}: root's key {self.key_end or 'of the stack'}"


@dataclasses.dataclass(frozen=True, slots=True)
class SoftwareVersion(HostSubject):
    """The version of a piece of software."""

    name: str

    def __str__(self) -> str:
        return f"{self.host}: {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Mount(HostSubject):
    """A mounted file system."""

    path: str

    def __str__(self) -> str:
        return f"{self.host}: mount {self.path}"


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystem(HostSubject):
    """How much of a mounted file system is free."""

    path: str
    resource: str
    """`space` or `files`."""

    def __str__(self) -> str:
        return f"{self.host}: {self.resource} of {self.path}"


@dataclasses.dataclass(frozen=True, slots=True)
class Gpu(HostSubject):
    number: int

    def __str__(self) -> str:
        return f"{self.host}: GPU {self.number}"


@dataclasses.dataclass(frozen=True, slots=True)
class Port(HostSubject):
    """A port of the fabric."""

    name: str
    quantity: str = ""
    """What is measured of it (`rate`); empty: the port itself."""

    def __str__(self) -> str:
        return f"{self.host}: {f'{self.quantity} of' if self.quantity else 'port'} {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class UserKey:
    """A key in a user's home, which all hosts share."""

    user: str
    key_end: str

    def __str__(self) -> str:
        return f"user {self.user}: key {self.key_end}"


class ObjectKind(enum.StrEnum):
    """What a scheduler keeps, by its name in reports."""

    NODE = "node"
    PARTITION = "partition"
    RESERVATION = "reservation"
    SWITCH = "switch"
    BLOCK = "block"
    ACCOUNT = "account"
    USER = "user"
    QOS = "QOS"


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulerObject:
    """An object of the scheduler, or one field or state of it."""

    kind: ObjectKind
    name: str
    field: str = ""
    """In the scheduler's own words; empty: the object itself."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}{_after_colon(self.field)}"


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterObject:
    """An object of a Kubernetes cluster, or one field of it."""

    kind: str
    name: str
    namespace: str = ""
    field: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {f'{self.namespace}/' if self.namespace else ''}{self.name}{_after_colon(self.field)}"


@dataclasses.dataclass(frozen=True, slots=True)
class Membership:
    """A user in an account of the scheduler, or one field of this association."""

    account: str
    user: str
    field: str = ""

    def __str__(self) -> str:
        return f"account {self.account}: user {self.user}{_after_colon(self.field)}"


@dataclasses.dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon of the scheduler."""

    name: str
    host: str = ""
    """Empty: whichever host runs it."""

    def __str__(self) -> str:
        return f"{self.name} of {self.host}" if self.host else self.name


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that a daemon of the scheduler runs with."""

    daemon: str
    name: str

    def __str__(self) -> str:
        return f"{self.daemon}: {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class CloudResource:
    """A resource of the stack, or one property of it."""

    type: str
    name: str
    property: str = ""
    """Its path (`tags.owner`); empty: the resource itself."""

    def __str__(self) -> str:
        return f"{self.type} {self.name}{_after_colon(self.property)}"


@dataclasses.dataclass(frozen=True, slots=True)
class PendingResource:
    """A resource that an interrupted update was creating or changing."""

    name: str

    def __str__(self) -> str:
        return f"pending {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Attachment:
    """What is attached to a resource of the stack."""

    resource: str
    """`type name` of the resource, or its identity in the cloud where the stack records none."""
    what: str

    def __str__(self) -> str:
        return f"{self.resource}: {self.what}"


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """An instance that the cloud lists and no resource records, or one property of it."""

    id: str
    node: str = ""
    property: str = ""

    def __str__(self) -> str:
        return f"instance {self.id}{f' ({self.node})' if self.node else ''}{_after_colon(self.property)}"


@dataclasses.dataclass(frozen=True, slots=True)
class AcceptanceCheck:
    """A check of acceptance on some nodes."""

    nodes: str
    """A host list."""
    name: str

    def __str__(self) -> str:
        return f"{self.nodes}: {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class IgnoreEntry:
    """An entry of the ignore file."""

    code: str
    where: str

    def __str__(self) -> str:
        return f"ignore {self.code} {self.where}"


OnHost = (
    HostPart | HostFile | Unit | Package | Sysctl | KernelModule | HostUser | HostAdministrator | RootKey | SoftwareVersion | Mount | FileSystem | Gpu | Port
)
OfScheduler = SchedulerObject | ClusterObject | Membership | Daemon | Parameter
OfCloud = CloudResource | PendingResource | Attachment | Instance
Subject = Position | OnHost | UserKey | OfScheduler | OfCloud | AcceptanceCheck | IgnoreEntry


def _after_colon(part: str) -> str:
    return f": {part}" if part else ""

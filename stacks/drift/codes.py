"""Every code a drift finding can carry, how much it matters, and its meaning in one line. A code is stable: it is never given a second meaning.

CW70x: the cloud (or whatever provides the hosts); CW720 to CW747: the hosts; CW748 to CW769: the scheduler; CW77x: versions; CW78x: capability; CW79x: the check's own files.
"""

import enum
from typing import Self

from blueprints.finding import Level

from .layer import Layer

_FIRST_NUMBERS = ((790, Layer.CHECK), (780, Layer.CAPABILITY), (770, Layer.VERSIONS), (748, Layer.SCHEDULER), (720, Layer.HOSTS), (700, Layer.CLOUD))
"""Codes of a layer begin here."""


class Code(enum.StrEnum):
    """One code; its text is the value (`CW701`), `level` says how much it matters unless a rule says otherwise, `meaning` what it stands for."""

    level: Level
    meaning: str

    def __new__(cls, text: str, level: Level, meaning: str) -> Self:
        member = str.__new__(cls, text)
        member._value_ = text
        member.level = level
        member.meaning = meaning
        return member

    @property
    def layer(self) -> Layer:
        """The layer that finds it."""
        number = int(self.removeprefix("CW"))
        return next(layer for first, layer in _FIRST_NUMBERS if number >= first)

    RESOURCE_GONE = "CW701", Level.ERROR, "a resource of the stack no longer exists"
    PROPERTY_CHANGED = "CW702", Level.WARNING, "a property of a resource is not as recorded"
    CODE_CHANGED = "CW703", Level.NOTE, "the program or the blueprint asks for something else than is recorded: nobody has run `up` since"
    HALF_MADE = "CW704", Level.ERROR, "an update was cut off: what it was making is neither there nor gone"
    RIGHTS_ADDED = "CW705", Level.ERROR, "a role of the stack has a policy that the stack didn't give it"
    INSTANCE_UNKNOWN = "CW706", Level.WARNING, "an instance carries the stack's name and is nobody's: perhaps it is left over, and paid for"
    INSTANCE_CHANGED = "CW707", Level.ERROR, "a compute node's instance has other security groups or another role than what it was started from"
    ATTACHED = "CW708", Level.ERROR, "something is attached to a resource of the stack, and the stack didn't attach it"

    UNREACHABLE = "CW720", Level.ERROR, "a host does not answer"
    FILE_CHANGED = "CW721", Level.WARNING, "a file has another content"
    FILE_GONE = "CW722", Level.WARNING, "a file, folder or link is gone"
    FILE_ADDED = "CW723", Level.NOTE, "a file, folder or link was added by hand"
    FILE_ATTRIBUTES = "CW724", Level.WARNING, "a file or folder has another mode, owner or group"
    FILE_KIND = "CW725", Level.WARNING, "a link leads elsewhere, or something else is in its place"
    PACKAGE_GONE = "CW726", Level.ERROR, "a package was removed"
    PACKAGE_ADDED = "CW727", Level.NOTE, "a package was added by hand"
    PACKAGE_VERSION = "CW728", Level.ERROR, "a package has another version"
    PACKAGE_HOLD = "CW729", Level.WARNING, "a package lost its hold, or got one"
    PACKAGE_FILE = "CW730", Level.ERROR, "a file of a held package is not the package's"
    UNIT_STOPPED = "CW731", Level.ERROR, "a unit that should run doesn't"
    UNIT_FAILED = "CW732", Level.ERROR, "a unit has failed"
    UNIT_ENABLEMENT = "CW733", Level.WARNING, "a unit was enabled, disabled, masked or unmasked"
    SYSCTL = "CW735", Level.WARNING, "a kernel setting is not as its file says"
    KERNEL_MODULE = "CW736", Level.WARNING, "a kernel module that should be loaded isn't"
    USER_MISSING = "CW737", Level.ERROR, "a user of the cluster is unknown on a host"
    USER_ADDED = "CW738", Level.ERROR, "a host knows a user of the cluster that the blueprint doesn't"
    USER_CHANGED = "CW739", Level.ERROR, "a user has another number, group, home or shell"
    ROOT_KEY = "CW740", Level.ERROR, "somebody else's key may log in as root, or the stack's may not"
    MUNGE_KEY = "CW741", Level.ERROR, "a host's MUNGE key is not the cluster's"
    CLOCK = "CW742", Level.ERROR, "a host's clock is off"
    PENDING = "CW743", Level.WARNING, "a written configuration waits for being taken over"
    USER_KEY = "CW744", Level.WARNING, "a user's key that the stack put there is gone, or another one is in its place"
    ADMINS = "CW745", Level.ERROR, "a user may become root who may not by the blueprint, or the other way round"

    LEASE_UNRESERVED = "CW748", Level.ERROR, "jobs may outlive capacity that was bought for a time: no reservation says when it ends"
    TOPOLOGY = "CW749", Level.ERROR, "the scheduler has another picture of the network than was configured"
    SCHEDULER_SILENT = "CW750", Level.ERROR, "a daemon of the scheduler does not answer"
    CONFIG_VALUE = "CW751", Level.ERROR, "the controller runs with another value than was configured"
    NODE_MISSING = "CW752", Level.ERROR, "the scheduler doesn't know a node"
    NODE_ADDED = "CW753", Level.WARNING, "the scheduler knows a node that the blueprint doesn't"
    NODE_CHANGED = "CW754", Level.WARNING, "a node has other processors, memory, GPUs or features than configured"
    NODE_DRAINED = "CW755", Level.WARNING, "a node takes no jobs because somebody, or a check, drained it"
    NODE_DOWN = "CW756", Level.ERROR, "a node is down"
    PARTITION_MISSING = "CW757", Level.ERROR, "a partition is gone"
    PARTITION_ADDED = "CW758", Level.WARNING, "a partition was added by hand"
    PARTITION_CHANGED = "CW759", Level.WARNING, "a partition has other limits, nodes or another state"
    ACCOUNT_MISSING = "CW760", Level.ERROR, "an account is gone"
    ACCOUNT_ADDED = "CW761", Level.NOTE, "an account was added by hand"
    ACCOUNT_CHANGED = "CW762", Level.ERROR, "an account or a user in it has other limits or another description"
    MEMBER_MISSING = "CW763", Level.ERROR, "a user has lost an account"
    MEMBER_ADDED = "CW764", Level.WARNING, "a user was given an account by hand"
    QOS_MISSING = "CW765", Level.ERROR, "a QOS is gone"
    QOS_ADDED = "CW766", Level.NOTE, "a QOS was added by hand"
    QOS_CHANGED = "CW767", Level.ERROR, "a QOS has another priority or other limits"
    ADMIN_LEVEL = "CW768", Level.ERROR, "a user has more or fewer rights in accounting than the blueprint gives"
    RESERVATION = "CW769", Level.NOTE, "a reservation keeps nodes from ordinary jobs"

    VERSION = "CW770", Level.ERROR, "a version is not the software profile's"
    SKEW = "CW771", Level.WARNING, "hosts of one group have different versions"

    GPU_MISSING = "CW780", Level.ERROR, "a node has fewer GPUs than it should"
    GPU_ADDED = "CW781", Level.NOTE, "a node has more GPUs than it should"
    GPU_DEVICE = "CW782", Level.ERROR, "a GPU's device node is not a usable one"
    MOUNT_MISSING = "CW783", Level.ERROR, "a file system is not mounted"
    MOUNT_CHANGED = "CW784", Level.WARNING, "a file system is mounted from elsewhere or otherwise"
    SPACE = "CW785", Level.WARNING, "a file system is nearly full"
    NIC = "CW786", Level.ERROR, "an interface of the fabric is missing, down or slow"
    HARDWARE = "CW787", Level.ERROR, "a host has fewer processors or less memory than Slurm is told"
    ACCEPTANCE = "CW788", Level.ERROR, "the last acceptance did not reach what is expected"

    IGNORE_EXPIRED = "CW790", Level.WARNING, "an entry of the ignore file has expired"


_CODES = {str(code): code for code in Code}


def code_of(text: str) -> Code:
    """Give the code of a text.

    Raises:
        KeyError: drift has no such code.
    """
    return _CODES[text]

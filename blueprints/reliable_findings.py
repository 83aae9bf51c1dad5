"""Which findings are certain although a part of the blueprint was refused: none that could come from a guessed or missing value is shown."""

from collections.abc import Iterable, Sequence

from . import finding
from .codes import Code
from .document import Path
from .language import NAMED, Refused, Scope

_ALONE = frozenset(
    {
        *(Code.TARGET_UNKNOWN, Code.REGION_UNKNOWN, Code.SOFTWARE_UNKNOWN, Code.SOFTWARE_TARGET, Code.ACCELERATOR_UNKNOWN, Code.MACHINE_UNKNOWN),
        *(
            Code.CAPACITY_NOT_SOLD,
            Code.CIDR_NOT_PRIVATE,
            Code.CIDR_SIZE,
            Code.STORAGE_KIND_MISSING,
            Code.BUCKET_TARGET,
            Code.TAG_REFUSED,
            Code.IDENTIFIER_UNFIT,
        ),
        *(Code.ACCOUNT_UNKNOWN, Code.ACCOUNT_CYCLE, Code.QOS_UNKNOWN, Code.PREEMPTION_CYCLE, Code.UID_DUPLICATE, Code.LIST_DUPLICATE),
        *(Code.MOUNT_DUPLICATE, Code.MOUNT_NESTED, Code.ACCESS_OPEN, Code.LDAP_FORM, Code.LDAP_PLAIN, Code.DEFAULT_PARTITIONS),
        *(Code.SUPPRESSION_EXPIRED, Code.SUPPRESSION_UNUSED, Code.SUPPRESSION_OF_ERROR),
    }
)
"""Findings about valid values that don't depend on the values beside them."""

_HANGS_ON: dict[str, tuple[str, ...]] = {
    Code.CIDR_OVERLAP: ("network", "access"),
    Code.CIDR_TOO_SMALL: ("network", "pools", "access", "control"),
    Code.CLUSTER_TOO_LARGE: ("network", "pools", "access", "control"),
    Code.REHEARSAL_TOO_LARGE: ("pools", "access", "control"),
    Code.SUBNETS_MISSING: ("network", "pools", "access", "control", "accounting"),
    Code.CONTROL_SMALL: ("control", "pools"),
    Code.CONTROL_IGNORED: ("control",),
    Code.MANAGED_TOO_LARGE: ("control", "pools"),
    Code.LOGIN_ARCHITECTURE: ("access", "pools"),
    Code.SOFTWARE_CONFLICT: ("pools", "control"),
    Code.SLURM_TOO_OLD: ("pools", "control"),
    Code.SCHEDULER_WITHOUT_POOL: ("pools",),
    Code.RESOURCE_NAME_LENGTH: ("name", "pools", "storage"),
    Code.ACCESS_NONE: ("access", "pools"),
    Code.HOME_MISSING: ("storage",),
    Code.MOUNT_SCRATCH: ("storage", "pools"),
    Code.BLOCK_HOST: ("storage", "control"),
    Code.DATABASE_ALONE: ("accounting", "control"),
    Code.JOBS_OUTLAST_WINDOWS: ("maintenance", "pools", "qos"),
    Code.LIMIT_WITHOUT_EFFECT: ("accounts",),
    Code.PREEMPTION_ORDER: ("qos",),
    Code.PARTITION_UNUSABLE: ("accounts", "users", "qos", "pools"),
    Code.QOS_UNUSABLE: ("accounts", "users", "qos", "pools"),
    Code.PURCHASE_SHARED: ("pools",),
    Code.BLOCK_TOO_LARGE: ("pools",),
    Code.NODES_TOO_MANY: ("pools",),
    Code.RULES_TOO_MANY: ("access",),
    Code.HOST_PREFIX: ("pools",),
    Code.POOL_LIKE_HOST: ("pools",),
    **dict.fromkeys((Code.HOST_UNKNOWN, Code.HOST_TWICE, Code.HOST_COUNT, Code.HOSTS_UNNAMED), ("inventory", "pools", "control", "access")),
    **dict.fromkeys((Code.HOST_ADDRESS_MISSING, Code.HOST_KEY_MISSING, Code.INVENTORY_DUPLICATE), ("inventory",)),
    Code.HOST_OUTSIDE_NETWORK: ("inventory", "network"),
}
"""Findings that compare a value with other parts of the blueprint."""

_EVERYWHERE: tuple[Path, ...] = (("scheduler",), ("software",), ("targets",), ("network", "region"), ("network", "zones"))
"""What all else hangs on."""


def keep(findings: Iterable[finding.Finding], refused: Sequence[Refused]) -> tuple[finding.Finding, ...]:
    """Leave out findings that may only follow from a refusal: at the same place, or compared with an unknown value."""
    unknown = [one.path for one in refused if not one.is_known]
    return tuple(found for found in findings if not _is_told(found, refused) and (found.code in _ALONE or not _hangs_on(found, unknown)))


def without_notes(findings: Sequence[finding.Finding]) -> tuple[finding.Finding, ...]:
    """Leave notes out where there are errors: they tell what a cluster will be, and it isn't decided yet what this one will be."""
    return tuple(found for found in findings if found.level is not finding.Level.NOTE) if finding.is_fatal(findings) else tuple(findings)


def _is_told(found: finding.Finding, refused: Sequence[Refused]) -> bool:
    path = found.where.path if found.where else None
    if path is None:
        return False
    return any(path == one.path if one.scope is Scope.NAME else one.scope is Scope.VALUE and path[: len(one.path)] == one.path for one in refused)


def _hangs_on(found: finding.Finding, unknown: Sequence[Path]) -> bool:
    path = (found.where.path if found.where else None) or ()
    own = path[: 2 if path[:1] and path[0] in NAMED else 1]
    sections: list[Path] = [(key,) for key in _HANGS_ON[found.code]] if found.code in _HANGS_ON else [own] if own else []
    return any(_meet(one, other) for one in unknown for other in (*sections, *_EVERYWHERE))


def _meet(one: Path, other: Path) -> bool:
    """Say whether one of two places contains the other, or equals it."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]

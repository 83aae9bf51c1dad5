"""How much a finding of each code matters: an error, unless it stands here. Some can be either, by what they are about."""

from .codes import Code
from .finding import Level

_WARNINGS = (
    *(Code.BYTE_ORDER_MARK, Code.NAME_SLIP, Code.GPU_COUNT_UNKNOWN, Code.LIST_DUPLICATE),
    *(Code.LIMIT_WITHOUT_EFFECT, Code.PREEMPTION_ORDER, Code.WINDOWS_OVERLAP, Code.JOBS_OUTLAST_WINDOWS, Code.KUBERNETES_ONLY, Code.SLURM_ONLY),
    *(Code.REPLACE_OWNED, Code.MACHINE_SMALLER, Code.CAPACITY_ID_MISSING, Code.FLEX_ALWAYS, Code.PLACEMENT_TOO_LARGE, Code.PLACEMENT_AGAINST_FABRIC),
    *(Code.FABRIC_PARTIAL_NODE, Code.FABRIC_MIXED, Code.LOGIN_ARCHITECTURE, Code.SLURM_TOO_OLD, Code.ACCESS_OPEN, Code.ACCESS_NONE, Code.CIDR_OVERLAP),
    *(Code.LDAP_PLAIN, Code.EXCHANGE_NOTHING, Code.EXCHANGE_SHARED, Code.QUOTA_TOO_LARGE, Code.CONTROL_SMALL, Code.CONTROL_IGNORED, Code.DATABASE_ALONE),
    *(Code.CAPACITY_ZONE_MISSING, Code.ZONE_LOCAL, Code.SUBNETS_UNNAMED, Code.EGRESS_FOR_IMAGES, Code.FEATURE_NOT_BUILT, Code.SUPPRESSION_EXPIRED),
    *(Code.BLOCK_WITHOUT_LIMIT, Code.PLACEMENT_UNRESERVED, Code.JOBS_OUTLAST_NODES, Code.RULES_TOO_MANY, Code.PARTITION_UNUSABLE, Code.QOS_UNUSABLE),
)
_NOTES = (
    *(
        Code.TARGET_NOT_BUILT,
        Code.SCHEDULER_NOT_BUILT,
        Code.SOFTWARE_NOT_BUILT,
        Code.REGION_CHOSEN,
        Code.IDENTIFIER_OWNERS,
        Code.CAPACITY_IGNORED,
        Code.STORAGE_ROUNDED,
        Code.STORAGE_DURABLE,
    ),
    *(
        Code.STORAGE_ON_CONTROLLER,
        Code.ELASTIC_IGNORED,
        Code.HOSTS_DECLARED,
        Code.MACHINE_SMALLEST,
        Code.DOMAIN_PARTIAL,
        Code.FABRIC_ONE_NODE,
        Code.ACCESS_CLOSED,
        Code.ACCESS_UNREACHABLE,
    ),
    *(Code.SUBNET_UNKNOWN, Code.ZONES_UNUSED, Code.ZONE_SINGLE, Code.DATA_DELETABLE, Code.ON_DELETE_UNUSED, Code.QUOTA_NEEDED, Code.NOT_ON_TARGET),
)
_EITHER = {
    Code.FABRIC_UNAVAILABLE: (Level.ERROR, Level.WARNING),
    Code.PLACEMENT_SPREAD: (Level.ERROR, Level.WARNING),
    Code.MIG_WITH_FABRIC: (Level.ERROR, Level.WARNING),
    Code.BLOCK_HOST: (Level.ERROR, Level.WARNING),
    Code.QUOTAS_NOT_ENFORCED: (Level.ERROR, Level.WARNING),
    Code.IDENTIFIER_UNFIT: (Level.ERROR, Level.WARNING),
    Code.REGION_UNKNOWN: (Level.ERROR, Level.WARNING),
    Code.UNENCRYPTED: (Level.WARNING, Level.NOTE),
    Code.SUPPRESSION_UNUSED: (Level.WARNING, Level.NOTE),
    Code.QUOTA_TOO_SMALL: (Level.ERROR, Level.WARNING),
    Code.RESERVATION_UNFIT: (Level.ERROR, Level.WARNING, Level.NOTE),
    Code.SUBNET_UNFIT: (Level.ERROR, Level.WARNING),
    Code.FILE_SYSTEM_UNFIT: (Level.ERROR, Level.WARNING),
}
_KNOWN = {**dict.fromkeys(_WARNINGS, (Level.WARNING,)), **dict.fromkeys(_NOTES, (Level.NOTE,)), **_EITHER}


def levels(code: Code) -> tuple[Level, ...]:
    """Give the levels that findings of a code can have."""
    return _KNOWN.get(code, (Level.ERROR,))

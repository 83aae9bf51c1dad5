"""The accounting database as a managed service (RDS)."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_aws import cloudwatch, rds

from ..resource_options import beneath
from .logs import retention
from .names import Names

DATABASE, USER = "slurm_acct_db", "slurm"
_CLASS = "db.m7g.large"
"""Two processors, 8 GiB: the accounting of thousands of nodes fits into its memory."""
_ENGINE, _VERSION, _FAMILY = "mariadb", "10.11", "mariadb10.11"
"""The long-term release that Debian and Ubuntu ship with slurmdbd."""
_SIZE_GIB, _LARGEST_GIB = 100, 1000
_BACKUP_DAYS = 14
_PARAMETERS = {"innodb_lock_wait_timeout": "900", "require_secure_transport": "1"}
"""slurmdbd requires the first, and warns below it (accounting.html, "MySQL Configuration"). The second refuses clients without TLS, so that no misconfigured host
sends a password that others could read (RDS User Guide, "Requiring SSL/TLS for all connections to a MariaDB DB instance"; from MariaDB 10.5 on)."""


@dataclasses.dataclass(frozen=True, slots=True)
class DatabaseArgs:
    names: Names
    subnets: Sequence[pulumi.Input[str]]
    """In at least two zones."""
    security_group: pulumi.Input[str]
    password: pulumi.Input[str]
    protect: bool
    log_days: int


class Database(pulumi.ComponentResource):
    """A MariaDB server with a standby in another zone."""

    address: pulumi.Output[str]

    def __init__(self, name: str, args: DatabaseArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Database", name, {}, opts)
        names, tags = args.names, args.names.tags("control", "accounting")
        subnets = rds.SubnetGroup(
            "accounting-subnets",
            name=names.name("subnet_group", "accounting"),
            subnet_ids=[*args.subnets],
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        parameters = rds.ParameterGroup(
            "accounting-parameters",
            name=names.name("subnet_group", "accounting"),
            family=_FAMILY,
            parameters=[{"name": parameter, "value": value} for parameter, value in _PARAMETERS.items()],
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        identifier = names.name("database", "accounting")
        # RDS would create the group itself, without an expiry (RDS User Guide, "Publishing database logs to Amazon CloudWatch Logs").
        errors = cloudwatch.LogGroup(
            "accounting-errors",
            # accepted CKV_AWS_158: CloudWatch encrypts it with its own key; the server logs errors there, and no rows
            # accepted CKV_AWS_338: `monitoring.retention_days` sets the retention
            name=f"/aws/rds/instance/{identifier}/error",
            retention_in_days=retention(args.log_days),
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        server = rds.Instance(
            "accounting-database",
            # accepted CKV_AWS_118, CKV_AWS_353: its host and its queries are monitored through slurmdbd (sdiag, sacctmgr show stats), not in a console
            identifier=identifier,
            engine=_ENGINE,
            engine_version=_VERSION,
            instance_class=_CLASS,
            allocated_storage=_SIZE_GIB,
            max_allocated_storage=_LARGEST_GIB,
            storage_type="gp3",
            storage_encrypted=True,
            multi_az=True,
            db_name=DATABASE,
            username=USER,
            password=args.password,
            db_subnet_group_name=subnets.name,
            parameter_group_name=parameters.name,
            vpc_security_group_ids=[args.security_group],
            publicly_accessible=False,
            auto_minor_version_upgrade=True,
            backup_retention_period=_BACKUP_DAYS,
            copy_tags_to_snapshot=True,
            delete_automated_backups=not args.protect,
            deletion_protection=args.protect,
            # A protected database leaves a final snapshot when somebody removes the protection and deletes it.
            skip_final_snapshot=not args.protect,
            final_snapshot_identifier=_final_snapshot(names) if args.protect else None,
            enabled_cloudwatch_logs_exports=["error"],
            tags=tags,
            opts=pulumi.ResourceOptions.merge(
                beneath(self, protect=args.protect, replace_first=True, ignore=("allocatedStorage", "engineVersion")),
                pulumi.ResourceOptions(depends_on=[errors]),
            ),
        )
        self.address = server.address
        self.register_outputs({})


def _final_snapshot(names: Names) -> pulumi.Output[str]:
    """Name the final snapshot with the stack's mark: it outlives the stack, and its name must be unique (RDS API Reference, DeleteDBInstance, DBSnapshotAlreadyExists)."""
    return pulumi.Output.concat(names.name("database", "accounting", "final"), "-", names.owner)

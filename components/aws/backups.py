"""Daily backups of file systems that don't make their own (EFS, disks), kept as long as the blueprint says."""

import dataclasses
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import backup, iam

from . import policies
from .names import Names
from .options import beneath

_DAILY = "cron(0 4 * * ? *)"  # 04:00 UTC
_POLICY = "service-role/AWSBackupServiceRolePolicyForBackup"


@dataclasses.dataclass(frozen=True, slots=True)
class BackupsArgs:
    names: Names
    region: str
    arns: Mapping[int, Sequence[pulumi.Output[str]]]
    """Days → what is kept for so long."""
    protect: bool
    keep: bool
    """Backups stay when the stack goes; otherwise they go with it."""


class Backups(pulumi.ComponentResource):
    """A vault, and one plan for each number of days."""

    def __init__(self, name: str, args: BackupsArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Backups", name, {}, opts)
        tags = args.names.tags("storage", "backups")
        # Backups are what is left when everything else went wrong: they are as safe as the safest of what they are of.
        vault = backup.Vault(
            "backups",
            name=args.names.name("backup"),
            force_destroy=not (args.protect or args.keep),
            tags=tags,
            opts=beneath(self, protect=args.protect, keep=args.keep),
        )
        role = iam.Role(
            "backups",
            name=args.names.name("iam_role", "backups"),
            force_detach_policies=True,
            assume_role_policy=policies.as_json(
                policies.trust("backup.amazonaws.com", source=f"arn:{policies.partition(args.region)}:backup:{args.region}:*:*")
            ),
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        iam.RolePolicyAttachment("backups", role=role.name, policy_arn=f"arn:{policies.partition(args.region)}:iam::aws:policy/{_POLICY}", opts=beneath(self))
        for days, arns in args.arns.items():
            kept = backup.PlanRuleLifecycleArgs(delete_after=days)
            rule = backup.PlanRuleArgs(rule_name="daily", target_vault_name=vault.name, schedule=_DAILY, lifecycle=kept, recovery_point_tags=tags)
            plan = backup.Plan(f"backups-{days}-days", name=args.names.name("backup", f"{days}-days"), rules=[rule], tags=tags, opts=beneath(self))
            backup.Selection(
                f"backups-{days}-days",
                name=args.names.name("backup", f"{days}-days"),
                plan_id=plan.id,
                iam_role_arn=role.arn,
                resources=[*arns],
                opts=beneath(self),
            )
        self.register_outputs({})

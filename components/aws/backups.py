"""Daily backups of file systems without their own backups (EFS, disks), kept for the blueprint's number of days."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import backup, iam

from ..resource_options import beneath
from . import policies
from .names import Names

_DAILY = "cron(0 4 * * ? *)"  # 04:00 UTC
_MARK_LENGTH = 8
_POLICY = "service-role/AWSBackupServiceRolePolicyForBackup"


@dataclasses.dataclass(frozen=True, slots=True)
class BackupsArgs:
    names: Names
    region: str
    arns: Mapping[tuple[str | None, int], Sequence[pulumi.Output[str]]]
    """KMS key and days → the resources whose backups are kept for that time."""
    protect: bool
    keep: bool
    """Keep backups, and what deletes them in time, when the stack is deleted; otherwise delete them with the stack."""


class Backups(pulumi.ComponentResource):
    """A vault for each key, and in it one plan for each number of days.

    A backup of EFS is encrypted with its vault's key, whatever the file system's own was (AWS Backup Developer Guide, "Encryption for backups"), so that each key needs its own vault.
    """

    def __init__(self, name: str, args: BackupsArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Backups", name, {}, opts)
        tags = args.names.tags("storage", "backups")
        # Backups are the last copy: they get the strongest protection of any resource that they contain.
        vaults = {
            key: backup.Vault(
                "-".join(("backups", *_mark(key))),
                # accepted CKV_AWS_166: `storage.<name>.key` names the owner's key for the files and their backups; without it, AWS's key encrypts both
                name=args.names.name("backup", *_mark(key)),
                kms_key_arn=key,
                force_destroy=not (args.protect or args.keep),
                tags=tags,
                opts=beneath(self, protect=args.protect, keep=args.keep),
            )
            for key in dict.fromkeys(key for key, _ in args.arns)
        }
        # The role outlives the stack together with the backups: AWS Backup deletes them in the role's name, and without it they stay, and cost money, forever
        # (AWS Backup Developer Guide, "Identity and access management in AWS Backup"). No documentation says that the service names the source of its request.
        role = iam.Role(
            "backups",
            name=args.names.name("iam_role", "backups"),
            force_detach_policies=True,
            assume_role_policy=policies.as_json(
                policies.trust("backup.amazonaws.com", source=f"arn:{policies.partition(args.region)}:backup:{args.region}:*:*", says_source=False)
            ),
            tags=tags,
            opts=beneath(self, replace_first=True, keep=args.keep),
        )
        policy = f"arn:{policies.partition(args.region)}:iam::aws:policy/{_POLICY}"
        allowed = iam.RolePolicyAttachment("backups", role=role.name, policy_arn=policy, opts=beneath(self, keep=args.keep))
        for (key, days), arns in args.arns.items():
            plan_name = args.names.name("backup", f"{days}-days", *_mark(key))
            kept = backup.PlanRuleLifecycleArgs(delete_after=days)
            rule = backup.PlanRuleArgs(rule_name="daily", target_vault_name=vaults[key].name, schedule=_DAILY, lifecycle=kept, recovery_point_tags=tags)
            label = "-".join(("backups", f"{days}-days", *_mark(key)))
            plan = backup.Plan(label, name=plan_name, rules=[rule], tags=tags, opts=beneath(self))
            backup.Selection(
                label,
                name=plan_name,
                plan_id=plan.id,
                iam_role_arn=role.arn,
                resources=[*arns],
                opts=pulumi.ResourceOptions.merge(beneath(self), pulumi.ResourceOptions(depends_on=[allowed])),
            )
        self.register_outputs({})


def _mark(key: str | None) -> tuple[str, ...]:
    """Distinguish names by key, within the length limit."""
    return () if key is None else (hashlib.sha256(key.encode()).hexdigest()[:_MARK_LENGTH],)

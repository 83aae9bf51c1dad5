"""Daily backups of file systems that don't make their own (EFS, disks), kept as long as the blueprint says."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import backup, iam

from . import policies
from .names import Names
from .options import beneath

_DAILY = "cron(0 4 * * ? *)"  # 04:00 UTC
_MARK_LENGTH = 8
_POLICY = "service-role/AWSBackupServiceRolePolicyForBackup"


@dataclasses.dataclass(frozen=True, slots=True)
class BackupsArgs:
    names: Names
    region: str
    arns: Mapping[tuple[str | None, int], Sequence[pulumi.Output[str]]]
    """KMS key and days → what is kept for so long."""
    protect: bool
    keep: bool
    """Backups stay when the stack goes, with what ends them in their time; otherwise they go with it."""


class Backups(pulumi.ComponentResource):
    """A vault for each key, and in it one plan for each number of days.

    A backup of EFS is encrypted with its vault's key, whatever the file system's own was (AWS Backup Developer Guide, "Encryption for backups"), so that a key of one's own needs a vault.
    """

    def __init__(self, name: str, args: BackupsArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Backups", name, {}, opts)
        tags = args.names.tags("storage", "backups")
        # Backups are what is left when everything else went wrong: they are as safe as the safest of what they are of.
        vaults = {
            key: backup.Vault(
                "-".join(("backups", *_mark(key))),
                # accepted CKV_AWS_166: `storage.<name>.key` names a key of one's own for the files and their backups; without it AWS's encrypts both
                name=args.names.name("backup", *_mark(key)),
                kms_key_arn=key,
                force_destroy=not (args.protect or args.keep),
                tags=tags,
                opts=beneath(self, protect=args.protect, keep=args.keep),
            )
            for key in dict.fromkeys(key for key, _ in args.arns)
        }
        # It outlives the stack with the backups: AWS Backup ends them as the role that made them, and without it they stay, and are paid for, for ever
        # (AWS Backup Developer Guide, "Identity and access management in AWS Backup"). That the service says on whose behalf it comes is documented nowhere.
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
        iam.RolePolicyAttachment("backups", role=role.name, policy_arn=policy, opts=beneath(self, keep=args.keep))
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
                opts=beneath(self),
            )
        self.register_outputs({})


def _mark(key: str | None) -> tuple[str, ...]:
    """Tell what has a key of its own from what has another, in names of limited length."""
    return () if key is None else (hashlib.sha256(key.encode()).hexdigest()[:_MARK_LENGTH],)

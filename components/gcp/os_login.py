"""OS Login: which users of the blueprint Google Cloud lets in to login nodes, and who of them becomes root there."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_gcp import compute, serviceaccount

from blueprints.spec import User

from ..resource_options import beneath

USER, ADMIN = "roles/compute.osLogin", "roles/compute.osAdminLogin"
ACCOUNT_USER = "roles/iam.serviceAccountUser"
"""Whoever logs in to a host can act as its service account, so OS Login wants this role on the account besides (Compute Engine documentation, "Set up OS Login", required roles; 2026-11)."""


@dataclasses.dataclass(frozen=True, slots=True)
class OsLoginArgs:
    users: Sequence[User]
    instances: Sequence[compute.Instance]
    """The login nodes."""
    zone: pulumi.Input[str]
    project: pulumi.Input[str]
    account: pulumi.Input[str]
    """Full name of the login nodes' service account."""


class OsLogin(pulumi.ComponentResource):
    """Roles on login nodes and on their service account, not on the project: each lists all its members, so that their number doesn't grow with users and drift names strangers."""

    def __init__(self, name: str, args: OsLoginArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:OsLogin", name, {}, opts)
        members = {role: _members(args.users, is_admin=role == ADMIN) for role in (USER, ADMIN)}
        for number, instance in enumerate(args.instances):
            for role, several in members.items():
                if several:
                    compute.InstanceIAMBinding(
                        f"login-{number}-{role.rpartition('.')[2]}",
                        instance_name=instance.name,
                        zone=args.zone,
                        project=args.project,
                        role=role,
                        members=several,
                        opts=beneath(self),
                    )
        if everybody := sorted(one for several in members.values() for one in several):
            serviceaccount.IAMBinding("login-account-users", service_account_id=args.account, role=ACCOUNT_USER, members=everybody, opts=beneath(self))
        self.register_outputs({})


def _members(users: Sequence[User], *, is_admin: bool) -> list[str]:
    """Name users with an account as policies do."""
    return sorted(f"user:{one.cloud_identity}" for one in users if one.cloud_identity and one.admin is is_admin)

"""Permissions of hosts in the project: a service account each for controllers, login nodes and compute nodes, with the least privileges, and the keys that only they may fetch."""

import dataclasses
import json
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_gcp import projects, secretmanager, serviceaccount

from ..resource_options import beneath
from .names import Names

PARTS = ("control", "access", "compute")
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""The account's roles decide, not the older scopes (Compute Engine documentation, "Service accounts", best practices)."""
_STARTS = (
    "compute.disks.create",
    "compute.futureReservations.list",
    "compute.images.useReadOnly",
    "compute.instances.create",
    "compute.instances.get",
    "compute.instances.list",
    "compute.instanceTemplates.get",
    "compute.instanceTemplates.useReadOnly",
    "compute.machineTypes.get",
    "compute.reservations.get",
    "compute.resourcePolicies.get",
    "compute.resourcePolicies.use",
    "compute.subnetworks.use",
    "compute.zoneOperations.get",
    "compute.zoneOperations.list",
    "compute.zones.get",
)
"""What starting a node, reading the result and looking at it and at its capacity needs (Compute Engine API reference, instances.bulkInsert; Compute Engine documentation, "IAM roles and permissions")."""
_CHANGES = (
    "compute.disks.setLabels",
    "compute.instances.setLabels",
    "compute.instances.setMetadata",
    "compute.instances.setServiceAccount",
    "compute.instances.setTags",
)
"""What a new node's labels, metadata and account need: `setMetadata` on the project, the others on the new instance (Compute Engine documentation, "Create and start an instance", required permissions).
They would change any instance of the project, so they are granted with `guarded`."""
_QUEUES = ("compute.instanceGroupManagers.get", "compute.instanceGroupManagers.update", "compute.regionOperations.get")
"""Requests for flex-start nodes, and their end (Compute Engine API reference, regionInstanceGroupManagerResizeRequests and regionInstanceGroupManagers.deleteInstances). No condition can name a group:
managed groups are not among the types that have resource attributes (IAM documentation, "Resource attributes for IAM Conditions", 2026-11)."""
_QUEUE_CHANGES = ("compute.instances.delete",)
"""Flex-start nodes end through their group, which asks for this right on itself."""
_ENDS = ("compute.instances.delete", "compute.instances.getSerialPortOutput", "compute.instances.reportHostAsFaulty")
"""Only on instances whose names begin as the stack's."""


@dataclasses.dataclass(frozen=True, slots=True)
class AccountsArgs:
    names: Names


class Accounts(pulumi.ComponentResource):
    """The service accounts of the stack's hosts."""

    emails: Mapping[str, pulumi.Output[str]]
    names: Mapping[str, pulumi.Output[str]]
    """Part → full name of the account."""
    project: pulumi.Output[str]

    def __init__(self, name: str, args: AccountsArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Accounts", name, {}, opts)
        made = {
            part: serviceaccount.Account(
                f"{part}-account",
                account_id=args.names.name(part, kind="service_account"),
                display_name=f"{part} hosts of {args.names.cluster}",
                description=args.names.description(f"{part} hosts"),
                opts=beneath(self, replace_first=True),
            )
            for part in PARTS
        }
        self.emails = {part: one.email for part, one in made.items()}
        self.names = {part: one.name for part, one in made.items()}
        self.project = made["control"].project
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class IdentityArgs:
    names: Names
    part: str
    """`control`, `access` or `compute`."""
    accounts: Accounts
    munge_key: pulumi.Input[str]
    """Base64."""
    host_key: pulumi.Input[str]
    """OpenSSH private host key."""


class Identity(pulumi.ComponentResource):
    """What all hosts of one part share: their keys in Secret Manager, which their service account alone may read.

    Not in user data: everybody who may describe an instance or a template can read it.
    """

    email: pulumi.Output[str]
    secret: pulumi.Output[str]
    """Full name of the secret (`projects/P/secrets/S`)."""
    ready: list[pulumi.Resource]
    """These must exist before a host starts: it fetches its keys in its first seconds."""

    def __init__(self, name: str, args: IdentityArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Identity", name, {}, opts)
        part = args.part
        secret = secretmanager.Secret(
            f"{part}-keys",
            secret_id=args.names.name(part, "keys"),
            replication=secretmanager.SecretReplicationArgs(auto=secretmanager.SecretReplicationAutoArgs()),
            labels=args.names.labels(part),
            opts=beneath(self, replace_first=True),
        )
        text: pulumi.Output[str] = pulumi.Output.all(munge_key=args.munge_key, host_key=args.host_key).apply(lambda known: json.dumps(known, sort_keys=True))
        value: pulumi.Output[str] = pulumi.Output.secret(text)
        version = secretmanager.SecretVersion(f"{part}-keys", secret=secret.id, secret_data=value, opts=beneath(self))
        reader = secretmanager.SecretIamMember(
            f"{part}-reads-keys", secret_id=secret.id, role="roles/secretmanager.secretAccessor", member=member(args.accounts.emails[part]), opts=beneath(self)
        )  # fmt: skip
        self.email, self.secret = args.accounts.emails[part], secret.name
        self.ready = [version, reader]
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class StarterArgs:
    names: Names
    accounts: Accounts
    queues: bool
    """Whether nodes are requested in a queue."""


class Starter(pulumi.ComponentResource):
    """The controllers' right to start and terminate compute nodes."""

    ready: list[pulumi.Resource]

    def __init__(self, name: str, args: StarterArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Starter", name, {}, opts)
        accounts, prefix = args.accounts, args.names.instance_prefix
        controller = member(accounts.emails["control"])
        # A condition reads the full name; it holds for methods on one instance (IAM documentation, "Resource attributes for IAM Conditions", resource name).
        own = projects.IAMMemberConditionArgs(
            title="instances of the stack",
            expression=f'resource.type == "compute.googleapis.com/Instance" && resource.name.extract("/instances/{{name}}").startsWith("{prefix}")',
        )
        no_others = projects.IAMMemberConditionArgs(title="no instances and disks of others", expression=guarded(prefix))
        changes = self._granted("changes", (*_CHANGES, *(_QUEUE_CHANGES if args.queues else ())), args, controller, no_others)
        self.ready = [
            changes,
            # Afterwards, as an earlier version had the same permissions here: a running cluster never lacks them.
            self._granted("starts", (*_STARTS, *(_QUEUES if args.queues else ())), args, controller, None, after=[changes]),
            self._granted("ends", _ENDS, args, controller, own),
            serviceaccount.IAMMember(
                "control-uses-compute-account",
                service_account_id=accounts.names["compute"],
                role="roles/iam.serviceAccountUser",
                member=controller,
                opts=beneath(self),
            ),
        ]
        self.register_outputs({})

    def _granted(
        self,
        what: str,
        permissions: tuple[str, ...],
        args: StarterArgs,
        controller: pulumi.Output[str],
        condition: projects.IAMMemberConditionArgs | None,
        *,
        after: Sequence[pulumi.Resource] = (),
    ) -> pulumi.Resource:
        names = args.names
        # The id of a deleted role is taken for 37 days, so the mark is in it (IAM documentation, "Creating and managing custom roles").
        role = projects.IAMCustomRole(
            f"control-{what}",
            role_id=pulumi.Output.concat(names.name(kind="role").replace("-", "_"), f"_{what}_", names.owner),
            title=f"{names.cluster} {what} nodes",
            description=names.description(f"What a controller {what} nodes with"),
            permissions=[*permissions],
            opts=pulumi.ResourceOptions.merge(beneath(self, replace_first=True), pulumi.ResourceOptions(depends_on=[*after])),
        )
        granted: pulumi.Resource = projects.IAMMember(
            f"control-{what}", project=args.accounts.project, role=role.name, member=controller, condition=condition, opts=beneath(self, replace_first=True)
        )
        return granted


def guarded(prefix: str) -> str:
    """Write a condition that withholds a permission on instances and disks whose names begin otherwise; on anything else, such as the project, it holds. Pure.

    Source: IAM documentation, "Configure resource-based access", resource name prefixes.
    """
    return " && ".join(
        f'(resource.type != "compute.googleapis.com/{kind}" || resource.name.extract("/{path}/{{name}}").startsWith("{prefix}"))'
        for kind, path in (("Instance", "instances"), ("Disk", "disks"))
    )


def member(email: pulumi.Output[str]) -> pulumi.Output[str]:
    """Write a service account as policies name it."""
    return pulumi.Output.concat("serviceAccount:", email)

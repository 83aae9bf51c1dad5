"""Permissions of hosts in the account: a role each for controllers, login nodes and compute nodes, with the least privileges."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_aws import iam

from blueprints import catalog

from ..resource_options import beneath
from . import policies
from .names import Names
from .secrets import HostKeys, HostKeysArgs


@dataclasses.dataclass(frozen=True, slots=True)
class Starts:
    """Permissions with which a controller starts compute nodes; None: other hosts."""

    nodes: policies.Nodes
    compute_role_arn: pulumi.Input[str]


@dataclasses.dataclass(frozen=True, slots=True)
class RoleArgs:
    names: Names
    part: str
    """`control`, `access` or `compute`."""
    secret_arn: pulumi.Input[str]
    """The secret that these hosts fetch at boot."""
    region: str
    bucket_arns: Sequence[pulumi.Input[str]] = ()
    """Buckets that the hosts mount."""
    bucket_keys: Sequence[str] = ()
    """KMS keys of the buckets, as the blueprint names them."""
    starts: Starts | None = None


class Role(pulumi.ComponentResource):
    """A role and the instance profile that carries it."""

    arn: pulumi.Output[str]
    profile_arn: pulumi.Output[str]
    profile_name: pulumi.Output[str]
    ready: list[pulumi.Resource]
    """These must exist before a host starts: it fetches its keys in its first seconds."""

    def __init__(self, name: str, args: RoleArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Role", name, {}, opts)
        tags = args.names.tags(args.part, args.part)
        role = iam.Role(
            f"{args.part}-role",
            name=args.names.name("iam_role", args.part),
            force_detach_policies=True,  # a policy that somebody attached by hand must not block the deletion of the stack
            assume_role_policy=policies.as_json(policies.trust("ec2.amazonaws.com")),
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        policy = iam.RolePolicy(f"{args.part}-policy", role=role.id, policy=_policy(args), opts=beneath(self))
        profile = iam.InstanceProfile(
            f"{args.part}-profile", name=args.names.name("instance_profile", args.part), role=role.name, tags=tags, opts=beneath(self, replace_first=True)
        )
        self.arn, self.profile_arn, self.profile_name = role.arn, profile.arn, profile.name
        self.ready = [policy, profile]
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class IdentityArgs:
    names: Names
    part: str
    """`control`, `access` or `compute`."""
    region: str
    munge_key: pulumi.Input[str]
    """Base64."""
    host_key: pulumi.Input[str]
    """OpenSSH private host key."""
    bucket_arns: Sequence[pulumi.Input[str]] = ()
    bucket_keys: Sequence[str] = ()
    starts: Starts | None = None


class Identity:
    """Resources that all hosts of one part share: their keys, and a role that may fetch them."""

    keys: HostKeys
    role: Role
    ready: list[pulumi.Resource]
    """These must exist before a host starts: it fetches its keys in its first seconds."""

    def __init__(self, args: IdentityArgs, *, opts: pulumi.ResourceOptions):
        keys = HostKeysArgs(args.names, part=args.part, munge_key=args.munge_key, host_key=args.host_key)
        self.keys = HostKeys(f"{args.part}-keys", keys, opts=opts)
        role = RoleArgs(
            args.names,
            part=args.part,
            secret_arn=self.keys.arn,
            region=args.region,
            bucket_arns=args.bucket_arns,
            bucket_keys=args.bucket_keys,
            starts=args.starts,
        )
        self.role = Role(args.part, role, opts=opts)
        self.ready = [*self.role.ready, self.keys.version]


def _policy(args: RoleArgs) -> pulumi.Output[str]:
    starts = args.starts
    known = pulumi.Output.all(secret=args.secret_arn, buckets=list(args.bucket_arns), compute=starts.compute_role_arn if starts else "", owner=args.names.owner)

    def write(values: dict[str, object]) -> str:
        buckets = [str(arn) for arn in _listed(values["buckets"])]
        statements = [*policies.read_secret(str(values["secret"])), *policies.use_buckets(buckets, region=args.region, keys=args.bucket_keys)]
        if starts:
            statements += policies.start_nodes(starts.nodes, owner=str(values["owner"]), compute_role_arn=str(values["compute"]))
        return require_size(policies.as_json(statements), part=args.part)

    return known.apply(write)


def require_size(document: str, *, part: str) -> str:
    """Return a policy that a role may have.

    Raises:
        pulumi.RunError: it is too long; the check of a blueprint refuses most before (CW606).
    """
    size = catalog.policy_size("aws")
    if size is not None and policies.letters(document) > size.limit:
        raise pulumi.RunError(
            f"the permissions of the {part} hosts need {policies.letters(document)} characters\n"
            f"  why: AWS allows {size.limit} in the policies of one role\n"
            "  do:  mount fewer buckets, use fewer machine types, or give the stack a shorter name"
        )
    return document


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []

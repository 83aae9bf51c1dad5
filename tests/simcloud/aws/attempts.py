"""Which actions on which resources a call of the API amounts to, with what its conditions may ask of: what EC2 and Secrets Manager check of a caller who is a role.

What a condition may ask of an action on a type of resource is in `data/authorization.json`: a key that is not listed there has no value, so that a condition on it never holds.

Source: Service Authorization Reference, "Actions, resources, and condition keys for Amazon EC2" and "… for AWS Secrets Manager"; EC2 user guide, "Example policies" (launch templates). Where that
reference and what is seen in practice differ (CreateFleet on security groups and interfaces: policies of AWS ParallelCluster and Karpenter), both are asked for.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..core.authorization import Attempt, Values, is_allowed
from ..core.failure import Refused
from ..core.store import Thing
from . import facts, rights
from .cloud import Cloud
from .resources import templates

Asked = Mapping[str, Any]
LAUNCHED = ("instance", "volume", "network-interface")
FREE = frozenset({"sts.GetCallerIdentity"})
"""What needs no permission (STS API reference)."""


def refuse_unallowed(cloud: Cloud, role: Thing, arn: str, *, call: str, asked: Asked, region: str) -> None:
    """Refuse a call that the role's policies do not allow, in the words of the service."""
    if call in FREE:
        return
    allowing = [*documents(cloud, role)]
    for attempt in attempts(cloud, call, asked, region):
        if not is_allowed(allowing, attempt):
            because = f"because no identity-based policy allows the {attempt.action} action"
            message = f"User: {arn} is not authorized to perform: {attempt.action} on resource: {attempt.resource} {because}"
            if call.startswith("ec2."):
                raise Refused("UnauthorizedOperation", f"You are not authorized to perform this operation. {message}", status=403)
            raise Refused("AccessDeniedException", message)


def attempts(cloud: Cloud, call: str, asked: Asked, region: str) -> Iterator[Attempt]:
    """Yield what a call attempts."""
    return (rights.bare(attempt) for attempt in _attempts(cloud, call, asked, region))


def _attempts(cloud: Cloud, call: str, asked: Asked, region: str) -> Iterator[Attempt]:
    service, _, name = call.partition(".")
    here: dict[str, Values] = {"aws:RequestedRegion": [region]}
    match call:
        case "secretsmanager.GetSecretValue":
            yield _secret(cloud, asked, here)
        case "ec2.TerminateInstances" | "ec2.RebootInstances" | "ec2.GetConsoleOutput":
            for ident in asked.get("InstanceIds") or [asked["InstanceId"]]:
                yield Attempt(f"ec2:{name}", _arn(region, "instance", ident), here | _tags_of(cloud.store.get("ec2.Instance", ident)))
        case "ec2.CreateTags":
            tags = {tag["Key"]: tag.get("Value", "") for tag in asked["Tags"]}
            for ident in asked["Resources"]:
                thing = next((one for one in cloud.store.everything() if one.id == ident), None)
                kind = "instance" if ident.startswith("i-") else "volume" if ident.startswith("vol-") else "network-interface"
                yield Attempt("ec2:CreateTags", _arn(region, kind, ident), here | _tags_of(thing) | _requested(tags))
        case "ec2.RunInstances":
            yield from _run(cloud, asked, region, here, specifications=asked.get("TagSpecifications", ()))
        case "ec2.CreateFleet":
            yield from _fleet(cloud, asked, region, here)
        case _:
            yield Attempt(f"{service}:{name}", "*", here)


def _secret(cloud: Cloud, asked: Asked, here: dict[str, Values]) -> Attempt:
    secret = cloud.find("secretsmanager.Secret", asked["SecretId"])
    stage = {"secretsmanager:VersionStage": [asked["VersionStage"]]} if asked.get("VersionStage") else {}
    return Attempt("secretsmanager:GetSecretValue", secret.id if secret else str(asked["SecretId"]), {**here, **stage, **_tags_of(secret)})


def _fleet(cloud: Cloud, asked: Asked, region: str, here: dict[str, Values]) -> Iterator[Attempt]:
    """Starting a fleet is allowed or not on all that its instances are made of, and starting these is asked for besides."""
    specifications = asked.get("TagSpecifications", ())
    own = _of_kind(specifications, "fleet")
    yield Attempt("ec2:CreateFleet", _arn(region, "fleet", "*"), here | _requested(own))
    if own:
        yield Attempt("ec2:CreateTags", _arn(region, "fleet", "*"), here | _requested(own) | {"ec2:CreateAction": ["CreateFleet"]})
    for config in asked["LaunchTemplateConfigs"]:
        template = config.get("LaunchTemplateSpecification") or {}
        found, _, data = templates.versioned(cloud, template, region)
        yield Attempt("ec2:CreateFleet", _arn(region, "launch-template", found.id), here | _tags_of(found))
        for override in config.get("Overrides") or [{}]:
            named = {name: override[name] for name in ("InstanceType", "SubnetId") if override.get(name)}
            machine: dict[str, Values] = {"ec2:InstanceType": [named.get("InstanceType") or data.get("InstanceType", "")]}
            for kind in LAUNCHED:
                # Tags that the template has are not in the fleet's own request.
                yield Attempt("ec2:CreateFleet", _arn(region, kind, "*"), here | machine | _requested(_of_kind(specifications, kind)))
            for kind, ident in _used({**data, **named}):
                yield Attempt("ec2:CreateFleet", _used_arn(region, kind, ident), here | _tags_of(_thing(cloud, ident)))
            yield from _run(cloud, {**named, "LaunchTemplate": template}, region, here, specifications=specifications)


def _run(cloud: Cloud, asked: Asked, region: str, here: dict[str, Values], *, specifications: Iterable[Asked]) -> Iterator[Attempt]:
    """Starting instances is allowed or not on everything that it makes and uses."""
    data: Asked = {}
    by = here
    if "LaunchTemplate" in asked:
        template, _, data = templates.versioned(cloud, asked["LaunchTemplate"], region)
        by = {**here, "ec2:LaunchTemplate": [_arn(region, "launch-template", template.id)]}
        yield Attempt("ec2:RunInstances", _arn(region, "launch-template", template.id), by | _tags_of(template))
    merged = {**data, **asked}
    every = [*data.get("TagSpecifications", ()), *specifications]
    machine: dict[str, Values] = {"ec2:InstanceType": [merged.get("InstanceType", "")]}
    for kind in LAUNCHED:
        tags = _of_kind(every, kind)
        yield Attempt("ec2:RunInstances", _arn(region, kind, "*"), by | machine | _requested(tags))
        if tags:
            yield Attempt("ec2:CreateTags", _arn(region, kind, "*"), by | _requested(tags) | {"ec2:CreateAction": ["RunInstances"]})
    named = set(_used(asked))
    for kind, ident in _used(merged):
        # The guide says only that it keeps things which are there from being overridden; of things that are made nothing is known, so they have no such key here.
        from_template: dict[str, Values] = {"ec2:IsLaunchTemplateResource": [str((kind, ident) not in named).lower()]} if "LaunchTemplate" in asked else {}
        yield Attempt("ec2:RunInstances", _used_arn(region, kind, ident), by | from_template | _tags_of(_thing(cloud, ident)))
    if profile := merged.get("IamInstanceProfile"):
        found = cloud.find("iam.InstanceProfile", profile.get("Arn") or profile.get("Name"))
        role = cloud.find("iam.Role", str(found.get("role"))) if found else None
        if role:
            yield Attempt("iam:PassRole", str(role["arn"]), by | {"iam:PassedToService": ["ec2.amazonaws.com"]})


def _used(merged: Asked) -> Iterator[tuple[str, str]]:
    interfaces = merged.get("NetworkInterfaces") or [{"SubnetId": merged.get("SubnetId"), "Groups": merged.get("SecurityGroupIds", ())}]
    if merged.get("ImageId"):
        yield "image", merged["ImageId"]
    yield from (("subnet", ident) for ident in sorted({one["SubnetId"] for one in interfaces if one.get("SubnetId")}))
    yield from (("security-group", ident) for ident in sorted({group for one in interfaces for group in one.get("Groups", ())}))
    if merged.get("KeyName"):
        yield "key-pair", merged["KeyName"]
    if group := merged.get("Placement", {}).get("GroupName"):
        yield "placement-group", group
    yield from (("snapshot", one["Ebs"]["SnapshotId"]) for one in merged.get("BlockDeviceMappings", ()) if one.get("Ebs", {}).get("SnapshotId"))
    target = merged.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    if reservation := target.get("CapacityReservationId"):
        yield "capacity-reservation", reservation
    if group := target.get("CapacityReservationResourceGroupArn"):
        yield "group", group


def documents(cloud: Cloud, role: Thing) -> Iterator[Any]:
    """Yield the role's own policies and those of the account that are attached; what AWS's own ones allow, no program here asks for."""
    names = {role.id, role["name"]}
    yield from (one["policy"] for one in cloud.store.all("iam.RolePolicy") if one["role"] in names)
    for attached in cloud.store.all("iam.RolePolicyAttachment"):
        policy = cloud.store.get("iam.Policy", attached["policyArn"])
        if attached["role"] in names and policy:
            yield policy["policy"]


def _of_kind(specifications: Iterable[Asked], kind: str) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for one in specifications if one.get("ResourceType") == kind for tag in one.get("Tags", ())}


def _requested(tags: Mapping[str, str]) -> dict[str, Values]:
    return {"aws:TagKeys": [*tags], **{f"aws:RequestTag/{name}": [value] for name, value in tags.items()}} if tags else {}


def _tags_of(thing: Thing | None) -> dict[str, Values]:
    tags = thing.tags if thing else {}
    both = {f"{prefix}:ResourceTag/{name}": [value] for name, value in tags.items() for prefix in ("aws", "ec2")}
    return dict(both)


def _thing(cloud: Cloud, ident: str) -> Thing | None:
    return next((one for one in cloud.store.everything() if one.id == ident), None)


def _used_arn(region: str, kind: str, ident: str) -> str:
    """Give the ARN of what an instance is started with: images and snapshots belong to no account, groups have one already."""
    if kind == "group":
        return ident
    return f"arn:aws:ec2:{region}::{kind}/{ident}" if kind in ("image", "snapshot") else _arn(region, kind, ident)


def _arn(region: str, kind: str, ident: str) -> str:
    return f"arn:aws:ec2:{region}:{facts.ACCOUNT}:{kind}/{ident}"

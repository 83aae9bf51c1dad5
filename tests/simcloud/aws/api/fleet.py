"""EC2: starting instances, one by one or as a fleet.

Source: EC2 API reference, RunInstances and CreateFleet (type `instant`); EC2 user guide, "EC2 Fleet", "instant".
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.failure import NotSimulated, Refused
from ...core.store import Thing
from .. import facts, instances, launching
from ..cloud import Cloud
from ..resources import templates

Values = Mapping[str, Any]
RESOURCES = frozenset({"instance", "volume", "network-interface", "spot-instances-request", "fleet"})


def run_instances(cloud: Cloud, asked: Values, region: str) -> Values:
    """Start from MinCount to MaxCount instances, as many as there is room for, or none."""
    least, most = asked["MinCount"], asked["MaxCount"]
    if not 1 <= least <= most:
        raise Refused("InvalidParameterValue", f"MinCount {least} is not from 1 to MaxCount {most}")
    request = {name: value for name, value in asked.items() if name not in ("MinCount", "MaxCount", "ClientToken", "DryRun")}
    launch = launching.prepare(cloud, request, region)
    left, stop = launching.room(cloud, launch)
    if left is not None and left < least and stop is not None:
        raise stop
    started = instances.start(cloud, launch, most if left is None else min(most, left), region=region, door="api")
    shown = [instances.describe(cloud, thing) for thing in started]
    return {"ReservationId": f"r-{cloud.store.new_hex()}", "OwnerId": facts.ACCOUNT, "Groups": [], "Instances": shown}


def create_fleet(cloud: Cloud, asked: Values, region: str) -> Values:
    """Start a fleet at once: what could not be started is in Errors, and the call succeeds all the same."""
    if asked.get("Type", "maintain") != "instant":
        raise NotSimulated(f"fleets of type {asked.get('Type', 'maintain')}")
    target = asked["TargetCapacitySpecification"]
    kind = target.get("DefaultTargetCapacityType", "on-demand")
    options = asked.get("SpotOptions" if kind == "spot" else "OnDemandOptions", {})
    least, wanted = options.get("MinTargetCapacity"), target["TotalTargetCapacity"]
    if least is not None and not (options.get("SingleInstanceType") or options.get("SingleAvailabilityZone")):
        raise Refused("InvalidParameter", "MinTargetCapacity needs at least one of SingleAvailabilityZone and SingleInstanceType")
    if least is not None and least > wanted:
        raise Refused("InvalidParameter", f"MinTargetCapacity {least} is above TotalTargetCapacity {wanted}")
    for one in asked.get("TagSpecifications", ()):
        if one.get("ResourceType") not in RESOURCES:
            raise Refused("InvalidParameterValue", f"Tagging {one.get('ResourceType')} is not supported by CreateFleet")
    pools = _pools(asked)
    launches, errors = _prepared(cloud, pools, region, kind=kind)
    single = [launches[:1]] if options.get("SingleAvailabilityZone") or options.get("SingleInstanceType") else [launches]
    if options.get("SingleAvailabilityZone"):
        zones = list(dict.fromkeys(launch.zone for _, launch in launches))
        single = [[one for one in launches if one[1].zone == zone] for zone in zones] or [[]]
    elif options.get("SingleInstanceType"):
        kinds = list(dict.fromkeys(launch.machine for _, launch in launches))
        single = [[one for one in launches if one[1].machine == machine] for machine in kinds] or [[]]
    extra = [one for one in asked.get("TagSpecifications", ()) if one["ResourceType"] == "instance"]
    started: list[tuple[Values, list[Thing]]] = []
    for group in single:
        started = _started(cloud, group, wanted, region=region, extra=extra, errors=errors, least=least or 0)
        if started:
            break
    fleet = f"fleet-{cloud.store.new_hex(8)}-0000-4000-8000-{cloud.store.new_hex(12)}"
    shown = []
    for pool, things in started:
        for thing in things:
            cloud.note(thing, systemTags={**thing["systemTags"], "aws:ec2:fleet-id": fleet})
        first = things[0]["api"]
        shown.append(
            {"LaunchTemplateAndOverrides": pool, "Lifecycle": kind, "InstanceIds": [thing.id for thing in things], "InstanceType": first["InstanceType"]}
        )
    return {
        "FleetId": fleet,
        "Instances": shown,
        "Errors": [{"LaunchTemplateAndOverrides": pool, "Lifecycle": kind, "ErrorCode": stop.code, "ErrorMessage": stop.message} for pool, stop in errors],
    }


def _pools(asked: Values) -> list[tuple[Values, Values]]:
    """Give (what is reported of it, RunInstances' parameters) for each template with each of its overrides."""
    pools: list[tuple[Values, Values]] = []
    for config in asked["LaunchTemplateConfigs"]:
        specification = config.get("LaunchTemplateSpecification") or {}
        if not specification.get("Version"):
            raise Refused("InvalidLaunchTemplateConfig", "A launch template's version must be specified")
        for override in config.get("Overrides") or [{}]:
            request: dict[str, Any] = {"LaunchTemplate": specification}
            for name in ("InstanceType", "ImageId", "Placement", "BlockDeviceMappings"):
                if name in override:
                    request[name] = override[name]
            if override.get("AvailabilityZone"):
                request["Placement"] = {**request.get("Placement", {}), "AvailabilityZone": override["AvailabilityZone"]}
            pools.append(({"LaunchTemplateSpecification": specification, "Overrides": override}, {**request, "subnet": override.get("SubnetId")}))
    return pools


def _prepared(
    cloud: Cloud, pools: Sequence[tuple[Values, Values]], region: str, *, kind: str
) -> tuple[list[tuple[Values, launching.Launch]], list[tuple[Values, Refused]]]:  # fmt: skip
    launches, errors = [], []
    for pool, wanted in pools:
        try:
            request = _bought(cloud, _placed(cloud, dict(wanted), region), kind, region)
            launches.append((pool, launching.prepare(cloud, request, region)))
        except Refused as stop:
            errors.append((pool, stop))
    return launches, errors


def _bought(cloud: Cloud, request: Values, kind: str, region: str) -> Values:
    """Say how it is bought. A fleet has its own word for it: a template that asks for spot is refused, one for a block must agree.

    Source: EC2 user guide, "Create an EC2 Fleet", "Launch instances into Capacity Blocks".
    """
    _, _, data = templates.versioned(cloud, request["LaunchTemplate"], region)
    market = data.get("InstanceMarketOptions", {}).get("MarketType")
    if market == "spot" or (market == "capacity-block") is not (kind == "capacity-block"):
        raise Refused("InvalidParameterCombination", f"The launch template's market type {market} does not go with the fleet's capacity type {kind}")
    return {**request, "InstanceMarketOptions": {"MarketType": "spot"}} if kind == "spot" else request


def _placed(cloud: Cloud, request: dict[str, Any], region: str) -> Values:
    """Put an override's subnet where the template leaves it open: at its interfaces, or at the instance."""
    subnet = request.pop("subnet")
    if subnet is None:
        return request
    _, _, data = templates.versioned(cloud, request["LaunchTemplate"], region)
    interfaces = data.get("NetworkInterfaces")
    if not interfaces:
        return {**request, "SubnetId": subnet}
    named = sorted({one["SubnetId"] for one in interfaces if one.get("SubnetId")} - {subnet})
    if named:
        raise Refused("InvalidParameterCombination", f"The override's subnet {subnet} is not that of the template's network interfaces, {', '.join(named)}")
    return {**request, "NetworkInterfaces": [{**one, "SubnetId": subnet} for one in interfaces]}


def _started(
    cloud: Cloud, launches: Sequence[tuple[Values, launching.Launch]], wanted: int, *, region: str, extra: Sequence[Values], errors: list[tuple[Values, Refused]], least: int
) -> list[tuple[Values, list[Thing]]]:  # fmt: skip
    """Start `wanted` instances over these pools in their order; none when fewer than `least` would start."""
    plan = []
    missing = wanted
    for pool, launch in launches:
        left, stop = launching.room(cloud, launch)
        number = missing if left is None else max(0, min(missing, left))
        if number < missing and stop is not None:
            errors.append((pool, stop))
        if number:
            plan.append((pool, launch, number))
            missing -= number
        if not missing:
            break
    if wanted - missing < max(least, 1):
        return []
    started = []
    for pool, launch, number in plan:
        try:
            started.append((pool, instances.start(cloud, launch, number, region=region, door="api", extra=extra)))
        except Refused as stop:
            errors.append((pool, stop))
    if sum(len(things) for _, things in started) < least:
        for _, things in started:
            for thing in things:
                cloud.store.remove(thing)
        return []
    return started


OPERATIONS = {"ec2.RunInstances": run_instances, "ec2.CreateFleet": create_fleet}

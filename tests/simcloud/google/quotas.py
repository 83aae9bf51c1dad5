"""Quotas of a region, by the metrics of `regions.get`, and of the project, by those of `projects.get`: the setting `quotas` {metric: limit} or {metric/region: limit}; none
are set at first."""

from typing import TYPE_CHECKING, Any

from . import facts, verbs
from .operations import Failure
from .rules import Call, handles

if TYPE_CHECKING:
    from .cloud import Cloud

OF_PROJECT = {"NETWORKS": "compute.networks"}
"""Metrics of the project as a whole → the kind that they count."""


def exceeded(cloud: "Cloud", machine: str, zone: str, model: str, count: int = 1) -> Failure | None:
    """Say why so many more machines would exceed a quota."""
    limits = cloud.setting("quotas", {})
    if not limits:
        return None
    region = facts.zones()[zone]
    for metric, each in uses(machine, model).items():
        limit = limits.get(f"{metric}/{region}", limits.get(metric))
        if limit is not None and used(cloud, metric, region) + each * count > limit:
            info = {
                "metricName": f"compute.googleapis.com/{metric.lower()}",
                "limitName": f"{metric}-per-project-region",
                "dimensions": {"region": region},
                "limit": limit,
            }
            details = {"errorDetails": [{"quotaInfo": info}]}
            return Failure("QUOTA_EXCEEDED", f"Quota '{metric}' exceeded.  Limit: {float(limit)} in region {region}.", 403, details)
    return None


def uses(machine: str, model: str) -> dict[str, int]:
    """Give what one machine takes of which metric. Source: compute/resource-usage, "GPU quota", "CPU quota"."""
    known = facts.machine(machine) or {}
    series = machine.partition("-")[0].upper()
    cpus = "PREEMPTIBLE_CPUS" if model == "SPOT" else "CPUS" if series in ("E2", "N1", "G2") else f"{series}_CPUS"
    found = {"INSTANCES": 1, cpus: int(known.get("cpus", 0))}
    if gpus := known.get("gpus"):
        name = gpus[1].upper().replace("-", "_").removesuffix("_80GB").removesuffix("_141GB")
        found[f"{'PREEMPTIBLE_' if model == 'SPOT' else ''}{name}_GPUS"] = int(gpus[0])
    return found


def used(cloud: "Cloud", metric: str, region: str) -> int:
    """Give what instances take of a metric in a region now."""
    total = 0
    for key, count in cloud.models.items():
        machine, zone, model = key.split("/")
        if facts.zones()[zone] == region:
            total += uses(machine, model).get(metric, 0) * count
    return total


@handles("compute.regions.get")
def region(cloud: "Cloud", call: Call) -> Any:
    """Show a region with the limits that apply there, and what its instances take."""
    shown = verbs.get(cloud, call)
    name = shown["name"]
    limits = {metric.partition("/")[0]: limit for metric, limit in cloud.setting("quotas", {}).items() if metric.partition("/")[2] in ("", name)}
    found = [
        {"metric": metric, "limit": float(limit), "usage": float(used(cloud, metric, name))} for metric, limit in limits.items() if metric not in OF_PROJECT
    ]
    return {**shown, "quotas": found}


@handles("compute.projects.get")
def project(cloud: "Cloud", call: Call) -> Any:
    """Show the project with its own limits."""
    limits = {metric: limit for metric, limit in cloud.setting("quotas", {}).items() if metric in OF_PROJECT}
    found = [{"metric": metric, "limit": float(limit), "usage": float(len([*cloud.store.all(OF_PROJECT[metric])]))} for metric, limit in limits.items()]
    return {**cloud.show(cloud.need(call.path, "compute.projects")), "quotas": found}

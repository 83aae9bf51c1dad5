"""Quotas of the account: what Service Quotas answers, and what requests are held to.

Codes and names: docs.aws.amazon.com, "Amazon VPC quotas" and "Amazon EC2 endpoints and quotas". Those of VPCs are a new account's; those for vCPUs have been raised, as
an account must before it can start what this project is for. A test sets others with `cloud.set("quotas", {code: value})`.
"""

import dataclasses
import re
from typing import TYPE_CHECKING

from ..core.failure import Refused

if TYPE_CHECKING:
    from .cloud import Cloud


@dataclasses.dataclass(frozen=True, slots=True)
class Quota:
    """One quota; `families` are the instance types whose vCPUs count."""

    code: str
    service: str
    name: str
    value: float
    families: str = ""
    is_spot: bool = False


RAISED_VCPUS = 2_000_000.0
QUOTAS = (
    Quota("L-F678F1CE", "vpc", "VPCs per Region", 5),
    Quota("L-2AFB9258", "vpc", "Security groups per network interface", 5),
    Quota("L-0EA8095F", "vpc", "Inbound or outbound rules per security group", 60),
    Quota("L-0263D0A3", "ec2", "EC2-VPC Elastic IPs", 5),
    Quota("L-417A185B", "ec2", "Running On-Demand P instances", RAISED_VCPUS, r"p\d"),
    Quota("L-DB2E81BA", "ec2", "Running On-Demand G and VT instances", RAISED_VCPUS, r"gr?\d|vt\d"),
    Quota("L-2C3B7624", "ec2", "Running On-Demand Trn instances", RAISED_VCPUS, r"trn\d"),
    Quota("L-F7808C92", "ec2", "Running On-Demand HPC instances", RAISED_VCPUS, r"hpc\d"),
    Quota("L-1216C47A", "ec2", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", RAISED_VCPUS, r"(a|c|d|h|i|m|r|t|z)\d"),
    Quota("L-7212CCBC", "ec2", "All P4, P3 and P2 Spot Instance Requests", RAISED_VCPUS, r"p[234]", is_spot=True),
    Quota("L-C4BD4855", "ec2", "All P5 Spot Instance Requests", RAISED_VCPUS, r"p5", is_spot=True),
    Quota("L-3819A6DF", "ec2", "All G and VT Spot Instance Requests", RAISED_VCPUS, r"gr?\d|vt\d", is_spot=True),
    Quota("L-2C8F52B3", "ec2", "Concurrent P4d Capacity Blocks per account", RAISED_VCPUS),
    Quota("L-DA6814F2", "ec2", "Concurrent P5 Capacity Blocks per account", RAISED_VCPUS),
    Quota("L-4F9BB70B", "ec2", "Concurrent P5en Capacity Blocks per account", RAISED_VCPUS),
    Quota("L-34B43A08", "ec2", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", RAISED_VCPUS, r"(a|c|d|h|i|m|r|t|z)\d", is_spot=True),
)
BY_CODE = {quota.code: quota for quota in QUOTAS}


def value(cloud: "Cloud", code: str) -> float:
    """Give the value that counts now."""
    return float(cloud.store.settings.get("quotas", {}).get(code, BY_CODE[code].value))


def of_machine(name: str, *, is_spot: bool) -> Quota | None:
    """Find the quota that an instance type's vCPUs count towards."""
    return next((quota for quota in QUOTAS if quota.families and quota.is_spot is is_spot and re.match(f"(?:{quota.families})", name)), None)


def refuse_beyond(cloud: "Cloud", code: str, wanted: float, *, refusal: str) -> None:
    """Refuse what goes beyond a quota."""
    if wanted > value(cloud, code):
        raise Refused(refusal, f"{wanted:g} would be more than your quota of {value(cloud, code):g} ({BY_CODE[code].name}, {code})")

"""Blueprints for AWS as somebody might write them, by a seed: words of the language in any combination, which is often not a good one."""

import random
from collections.abc import Sequence
from typing import Any

from blueprints import catalog

BUCKET = "sets-of-ours"
REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-west-1", "eu-central-1")
SOFTWARE = {True: "ubuntu-24.04-aws", False: "debian-13-aws"}
"""By whether there are GPUs."""


def machines(*, with_gpus: bool) -> list[str]:
    """List the catalogue's machines that the software profiles are for."""
    return sorted(name for name, one in catalog.machines("aws").items() if one.arch == "x86_64" and bool(one.gpus) is with_gpus)


class Writer:
    """Writes one blueprint."""

    def __init__(self, seed: int):
        self._chance = random.Random(seed)

    def blueprint(self) -> dict[str, Any]:
        one, is_for_gpus = self._chance, self._may(0.75)
        region = one.choice(REGIONS)
        zones = one.sample([f"{region}{letter}" for letter in "abc"], one.choice((0, 0, 1, 2)))
        is_pair = len(zones) > 1 and self._may(0.4)
        cluster: dict[str, Any] = {
            "name": self._name(40),
            "software": SOFTWARE[is_for_gpus],
            "control": {"highly_available": is_pair, "size": one.choice(("auto", "auto", "large"))},
            "accounting": {"database": "managed" if is_pair else one.choice(("embedded", "managed"))},
            "access": self._access(),
            "network": {"region": region, "private_endpoints": self._may(0.3), "zones": zones},
            "storage": {
                "home": {"kind": "nfs", "mount": "/home"},
                **{self._name(20): self._storage(number, is_for_gpus) for number in range(one.randint(0, 3))},
            },
            "pools": {self._name(25): self._pool(machines(with_gpus=is_for_gpus)) for _ in range(one.choice((1, 1, 2, 3, 5)))},
            "accounts": {"research": {}},
            "users": {"ada": {"uid": 2001, "account": "research"}},
        }
        if self._may(0.5):
            cluster["network"]["cidr"] = f"10.{one.randint(0, 255)}.0.0/{one.choice((16, 18, 20, 22))}"
        if self._may(0.3):
            cluster["tags"] = {self._name(10): one.choice(("x", "a b", "team=1", "é")) for _ in range(one.randint(1, 4))}
        return cluster

    def _access(self) -> dict[str, Any]:
        one = self._chance
        return {
            "login_nodes": one.randint(1, 3),
            "load_balancer": self._may(0.7),
            "allowed_cidrs": one.choice((["198.51.100.0/24"], ["198.51.100.7/32", "203.0.113.0/24"], [])),
        }

    def _storage(self, number: int, has_lustre: bool) -> dict[str, Any]:
        one = self._chance
        kind = one.choice(("nfs", "object", "lustre", "lustre") if has_lustre else ("nfs",))
        entry: dict[str, Any] = {"kind": kind, "mount": f"{one.choice(('/data', '/work', '/opt/apps'))}{number}"}
        if kind == "lustre":
            entry["size"] = f"{one.choice((1.2, 2.4, 7.2, 9.6, 38.4, 40))} TiB"
            entry |= one.choice(({"durability": "scratch"}, {}, {"throughput": f"{one.choice((125, 250, 500, 1000))} MB/s/TiB"}))
            if self._may(0.4):
                entry["exchange"] = {"bucket": f"s3://{BUCKET}/{number}", "export_files": self._may(0.5)}
        if kind in ("nfs", "lustre") and self._may(0.3):
            entry["backup_days"] = one.randint(1, 90)
        return entry

    def _pool(self, machines: Sequence[str]) -> dict[str, Any]:
        one = self._chance
        nodes = one.choice((1, 4, 16, {"min": 0, "max": 4}, {"min": 1, "max": 8}, {"min": 0, "max": 600}))
        several = isinstance(nodes, dict) and self._may(0.3)
        pool: dict[str, Any] = {"nodes": nodes, "capacity": one.choice(("on-demand", "on-demand", "spot"))}
        pool |= {"machines": one.sample(machines, 2)} if several else {"machine": one.choice(machines)}
        for key, values in (("fabric", ("required", "preferred", "none")), ("placement", ("auto", "packed", "spread", "none"))):
            if self._may(0.5):
                pool[key] = one.choice(values)
        return pool | ({"scratch": {}} if self._may(0.2) else {}) | ({"labels": {"team": "a"}} if self._may(0.2) else {})

    def _may(self, share: float) -> bool:
        return self._chance.random() < share

    def _name(self, most: int) -> str:
        inner = "".join(self._chance.choice("abcdefgh0123456789-") for _ in range(self._chance.randint(1, most - 1)))
        return "-".join(part for part in f"{self._chance.choice('abcdefgh')}{inner}".split("-") if part)

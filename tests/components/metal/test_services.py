"""What the controllers and login nodes of a site provide, as the playbooks read it."""

import json
from typing import Any

import pytest

from blueprints import load, read
from blueprints.facts import Facts
from components.metal import services

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILfO7axdAlzocl3lyLUde3ycoDtp7k+/IF+u2cOZy+M0"
HEADS = {"head-1": "10.20.0.2", "head-2": "10.20.0.3"}
OTHERS = {"login-1": "10.20.0.4", "gpu-1": "10.20.0.11"}


def described(
    *heads: str, control: dict[str, Any] | None = None, network: dict[str, Any] | None = None, access: dict[str, Any] | None = None
) -> dict[str, Any]:
    pair = {"highly_available": True} if len(heads) > 1 else {}
    hosts = {name: HEADS[name] for name in heads} | OTHERS
    blueprint = {
        "name": "lab",
        "software": "debian-13",
        "inventory": {"hosts": {name: {"address": address, "host_key": KEY} for name, address in hosts.items()}},
        "network": network or {},
        "control": {"hosts": ",".join(heads), **pair, **(control or {})},
        "access": {"hosts": "login-1", **(access or {})},
        "storage": {"site": {"kind": "existing", "mount": "/site", "source": "10.20.0.9:/site"}},
        "pools": {"train": {"hosts": "gpu-1"}},
    }
    found = load.from_document(
        read.from_bytes(json.dumps(blueprint).encode(), file="lab.yaml"),
        target="metal",
        stack="lab",
        facts=Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000),
    )
    assert found.spec.slurm
    return services.described(found.spec, found.spec.slurm)


def test_a_site_provides_its_own_way_out_and_names_unless_asked() -> None:
    assert not {"nat", "dns", "control_address", "rest_api"} & described("head-1").keys()


def test_nodes_use_the_only_controllers_own_address() -> None:
    found = described("head-1", network={"cidr": "10.20.0.0/24", "nat": "control", "dns": "control"})
    assert found["nat"] == {"address": "10.20.0.2", "hosts": {"head-1": "10.20.0.2"}, "inside": ["10.20.0.0/24"]}
    assert found["dns"] == {**found["nat"], "domain": "lab.internal"}
    assert "control_address" not in found, "nothing moves between one"


@pytest.mark.parametrize(
    ("network", "units"),
    [
        ({"nat": "control"}, ["clusterwright-nat.service"]),
        ({"dns": "control"}, ["clusterwright-dns.service"]),
        ({"nat": "control", "dns": "control"}, ["clusterwright-nat.service", "clusterwright-dns.service"]),
    ],
)
def test_two_controllers_share_an_address_that_only_a_serving_one_has(network: dict[str, Any], units: list[str]) -> None:
    found = described("head-1", "head-2", control={"address": "10.20.0.9"}, network=network)
    assert found["control_address"] == {"address": "10.20.0.9", "hosts": HEADS, "units": units}
    assert {found[name]["address"] for name in ("nat", "dns") if name in found} == {"10.20.0.9"}
    of_hosts = next(found[name]["inside"] for name in ("nat", "dns") if name in found)
    assert of_hosts == sorted({**HEADS, **OTHERS}.values()), "without a network, the hosts' own addresses"


def test_the_rest_api_is_behind_the_balancer_where_there_is_one() -> None:
    alone = described("head-1", access={"rest_api": True})
    shared = described("head-1", access={"rest_api": True, "address": "10.20.0.5"})
    assert alone["rest_api"] == {"hosts": {"login-1": "10.20.0.4"}, "port": 6820, "back_port": 6821, "is_balanced": False}
    assert shared["rest_api"]["is_balanced"]


def trays(**racks: str) -> dict[str, dict[str, str]]:
    """Give the NVLink domains of a site whose trays have these racks."""
    hosts = {"head-1": {"address": "10.20.0.2"}, "login-1": {"address": "10.20.0.4"}}
    hosts |= {f"t{number}": {"address": f"10.20.0.{10 + number}", **({"rack": rack} if rack else {})} for number, rack in enumerate(racks.values(), start=1)}
    blueprint = {
        "name": "lab",
        "software": "ubuntu-24.04",
        "versions": {"driver": "580", "kernel": "6.8.0-149-generic"},
        "inventory": {"hosts": {name: {**entry, "host_key": KEY} for name, entry in hosts.items()}},
        "control": {"hosts": "head-1"},
        "access": {"hosts": "login-1"},
        "pools": {"train": {"machine": "gb200-nvl72-tray", "hosts": f"t[1-{len(racks)}]", "fabric": "none"}},
    }
    found = load.from_document(
        read.from_bytes(json.dumps(blueprint).encode(), file="lab.yaml"),
        target="metal",
        stack="lab",
        facts=Facts(sockets=2, cores_per_socket=72, threads_per_core=1, memory_mib=960_000),
    )
    assert found.spec.slurm
    domains: dict[str, dict[str, str]] = services.described(found.spec, found.spec.slurm).get("nvlink_domains", {})
    return domains


def test_the_trays_of_a_rack_are_one_nvlink_domain() -> None:
    assert trays(one="r1", two="r2", three="r1") == {"r1": {"t1": "10.20.0.11", "t3": "10.20.0.13"}, "r2": {"t2": "10.20.0.12"}}


def test_no_domain_is_guessed() -> None:
    assert trays(one="r1", two="") == {}, "the second tray could be in any rack"
    full = {f"n{number}": "r1" for number in range(19)}
    assert trays(**full, other="r2") == {"r2": {"t20": "10.20.0.30"}}, "NVLink joins 18 trays, so a rack of 19 holds two domains"

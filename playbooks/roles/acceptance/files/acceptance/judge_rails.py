"""Turn what nodes say of their rails into checks (pure)."""

from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import hostlist

from .document import Check, Verdict
from .expectation import NodeSet, Rail

SLOWER = 0.99
"""A link is slow below this share of the catalogue's speed: drivers round."""


def rails(node_set: NodeSet, tested: Sequence[str], outcome: Mapping[str, Any]) -> list[Check]:
    """Judge addresses and MTU, the interface by which packets leave, the size that arrives, and the speed of each rail."""
    concerned = [name for name in tested if name in node_set.rails]
    if not concerned:
        return []
    seen = {line["node"]: line["rails"] for line in outcome["lines"] if "rails" in line}
    silent = [name for name in concerned if name not in seen]
    checks = (
        [_failed("rails", silent, "an answer", f"none: {outcome['error'] or 'the step printed nothing'}", "on {}: `journalctl -u slurmd`")] if silent else []
    )
    answered = [name for name in concerned if name in seen]
    counted = {name: len(node_set.rails[name]) for name in answered}
    checks += _per_rail("rails", answered, counted, lambda name, rail: _settings(rail, seen[name].get(rail.name)), node_set, "set up", "on {}: `ip address`")
    with_neighbour = [name for name in answered if any("neighbour" in one for one in seen[name].values())]
    checks += _per_rail(
        "rail routes",
        with_neighbour,
        counted,
        lambda name, rail: _way(seen[name].get(rail.name)),
        node_set,
        "leave by their own rail",
        "on {}: `ip rule`, `ip route show table all`",
    )
    checks += _per_rail(
        "rail packets",
        with_neighbour,
        counted,
        lambda name, rail: _size(rail, seen[name].get(rail.name)),
        node_set,
        "arrive whole",
        "on {}: `ip link`; the MTU of the switch ports between both",
    )
    timed = [name for name in answered if any(rail.gbps and (seen[name].get(rail.name) or {}).get("gbps") for rail in node_set.rails[name])]
    checks += _per_rail(
        "rail speed",
        timed,
        counted,
        lambda name, rail: _speed(rail, seen[name].get(rail.name)),
        node_set,
        "as in the catalogue",
        "on {}: `ethtool` of the interface; cable, transceiver and switch port",
    )
    return checks


def _settings(rail: Rail, seen: Mapping[str, Any] | None) -> str:
    if not seen or not seen["interface"]:
        return f"{rail.name}: no interface has {rail.mac or 'this name'}"
    if not seen["up"]:
        return f"{rail.name} ({seen['interface']}) is down"
    if rail.address and rail.address not in seen["addresses"]:
        return f"{rail.name} ({seen['interface']}) has {', '.join(seen['addresses']) or 'no address'}, not {rail.address}"
    return f"{rail.name} ({seen['interface']}) has the MTU {seen['mtu']}, not {rail.mtu}" if rail.mtu and seen["mtu"] != rail.mtu else ""


def _way(seen: Mapping[str, Any] | None) -> str:
    if not seen or "neighbour" not in seen or seen["leaves_by"] == seen["interface"]:
        return ""
    return f"packets of {seen['interface']} leave by {seen['leaves_by'] or 'no interface'}"


def _size(rail: Rail, seen: Mapping[str, Any] | None) -> str:
    if not seen or not seen.get("whole"):
        return ""
    if seen["size"] > 1500 and not seen["smaller"]:
        return f"{rail.name}: {seen['size']} bytes don't reach {seen['neighbour']} ({seen['whole']}), 1500 do"
    return f"{rail.name}: nothing reaches {seen['neighbour']} ({seen['whole']})"


def _speed(rail: Rail, seen: Mapping[str, Any] | None) -> str:
    if not seen or not rail.gbps or not seen.get("gbps") or seen["gbps"] >= rail.gbps * SLOWER:
        return ""
    return f"{rail.name} ({seen['interface']}) has {seen['gbps']:g} Gb/s, not {rail.gbps:g}"


def _per_rail(check: str, nodes: Sequence[str], counted: Mapping[str, int], fault: Any, node_set: NodeSet, expected: str, look_at: str) -> list[Check]:
    """One check for all nodes with the same faults."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name in nodes:
        faults = [text for rail in node_set.rails[name] if (text := fault(name, rail))]
        wanted = f"{counted[name]} rails {expected}" if counted[name] != 1 else f"1 rail {expected}"
        alike.setdefault((wanted, "; ".join(faults)), []).append(name)
    return [
        _failed(check, same, wanted, faults, look_at)
        if faults
        else Check(name=check, node=hostlist.compress(same), expected=wanted, measured=wanted, verdict=Verdict.PASS)
        for (wanted, faults), same in alike.items()
    ]


def _failed(check: str, nodes: Sequence[str], expected: str, measured: str, look_at: str) -> Check:
    return Check(name=check, node=hostlist.compress(nodes), expected=expected, measured=measured, verdict=Verdict.FAIL, look_at=look_at.format(nodes[0]))

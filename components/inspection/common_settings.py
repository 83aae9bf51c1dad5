"""Settings that hosts usually share and that no record names: a host that differs from the others shows. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints.finding import Finding
from blueprints.finding.subject import HostPart

from .codes import Code
from .finding import drift, shown
from .recorded_cluster import KnownHost

FIREWALL = ("packet filter", "rules of the packet filter")
ROUTING = ("routes", "routing rules")
OF_GROUPS = ("rules of the packet filter", "kernel command line", "swap")
"""What hosts of different groups may have different: a host without others in its group isn't compared."""
MTU, SYSCTL, TIME_ZONE, AUTHORITIES = "MTU of ", "sysctl ", "time zone", "trusted authorities"
"""How the names of settings begin that one command sets (`stacks.drift.fix.kernel`)."""
NOTHING = "none"


def findings(facts: Mapping[KnownHost, Mapping[str, Any]]) -> Iterator[Finding]:
    """Compare each host with the others of its group; a host that is alone in its group, and a group in which two values are as frequent, with all hosts."""
    found: dict[tuple[KnownHost, str], Finding] = {}
    asked = {host: of_host["alike"] for host, of_host in facts.items() if "alike" in of_host}
    for name in sorted({name for values in asked.values() for name in values}):
        have = {host: values[name] for host, values in asked.items() if name in values}
        for group in dict.fromkeys(host.group for host in have):
            usual = _usual(name, {host: value for host, value in have.items() if host.group == group}, have)
            for host, value in have.items():
                if host.group == group and usual is not None and value != usual:
                    one = _finding(host.name, name, usual, value)
                    found.setdefault((host, one.place), one)
    yield from found.values()


def _usual(name: str, of_group: Mapping[KnownHost, str], everywhere: Mapping[KnownHost, str]) -> str | None:
    """Give the value that a group's hosts should have; None: nothing to compare with."""
    counted, all_counted = Counter(of_group.values()), Counter(everywhere.values())
    if len(of_group) > 1:
        return max(counted, key=lambda value: (counted[value], all_counted[value], value))
    [own] = of_group.values()
    most = max(all_counted, key=lambda value: (all_counted[value], value))
    return most if name not in OF_GROUPS and all_counted[own] == 1 and all_counted[most] > 1 else None


def _finding(host: str, name: str, usual: str, actual: str) -> Finding:
    if name in FIREWALL:
        code, what = Code.FIREWALL, "the packet filter has other rules than on the other hosts"
        remedy = f"`iptables-save` or `nft list ruleset` on {host} shows them; remove what is foreign, or `clusterwright rebuild {host}`"
    elif name in ROUTING:
        code, what = Code.ROUTE, "packets take another way than on the other hosts"
        remedy = f"`ip route` and `ip rule` on {host} show them; remove what is foreign, or `clusterwright rebuild {host}`"
    else:
        code, what = Code.UNLIKE, "the host differs from the others"
        is_set_by_command = name.startswith((MTU, SYSCTL, TIME_ZONE, AUTHORITIES)) and bool(usual)
        remedy = "`clusterwright drift fix` sets it as on the other hosts" if is_set_by_command else "set it as on the other hosts"
        remedy += f", or `clusterwright rebuild {host}`"
    part = FIREWALL[0] if name in FIREWALL else name
    return drift(code, HostPart(host, part), what, remedy=remedy, recorded=shown(usual) or NOTHING, actual=shown(actual) or NOTHING)

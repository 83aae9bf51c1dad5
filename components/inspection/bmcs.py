"""Servers as their management controllers (BMCs) see them: power, health, serial numbers, firmware and the next boot. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from blueprints import hostlist, spec
from blueprints.finding import Finding
from blueprints.finding.subject import HostPart

from ..bmc.model import Facts, Power, Unanswered
from ..bmc.recorded import Server
from .codes import Code
from .finding import Unchecked, digest, drift, shown
from .layer import Layer

HEALTHY = ("", "OK")
SHOWN = 4
"""Components that a finding names; the others are counted."""
FEWEST = 3
"""Fewer servers of a model are not compared: of two that differ, either may be right."""


def findings(cluster: spec.ClusterSpec, answers: Mapping[str, Facts | Unanswered], recorded: Mapping[str, Server], *, stack: str) -> Iterator[Finding]:
    """Compare servers with the inventory, with the recorded file, and with the others of their group.

    Args:
        answers: host → what its BMC said.
        recorded: host → what the file has of it.
    """
    known = cluster.site.by_name if cluster.site else {}
    for host, answer in answers.items():
        if isinstance(answer, Unanswered):
            remedy = f"`clusterwright power status --stack {stack} {host}` asks again"
            yield drift(
                Code.BMC_SILENT, HostPart(host, "BMC"), f"the BMC gives no answer that counts ({answer.cause})", remedy=remedy, actual=shown(str(answer))
            )
            continue
        expected = (known[host].serial if host in known else "") or (recorded[host].serial if host in recorded else "")
        yield from _state(host, answer, stack)
        yield from _serial(host, answer.serial, expected, stack)
    alive = {host: answer for host, answer in answers.items() if isinstance(answer, Facts)}
    for group in cluster.host_groups:
        yield from _firmware({host: alive[host] for host in group.hostnames if host in alive}, recorded, stack)


def unchecked(cluster: spec.ClusterSpec, answers: Mapping[str, Facts | Unanswered], recorded: Mapping[str, Server], *, stack: str) -> Iterator[Unchecked]:
    """Name what could not be compared."""
    without = [host for host, answer in answers.items() if isinstance(answer, Facts) and host not in recorded]
    if without:
        why = f"they are not recorded yet: `clusterwright power status --stack {stack} --record` records them"
        yield Unchecked(Layer.HOSTS, f"serial numbers and firmware of {hostlist.compress(without)}", why)
    for host, answer in answers.items():
        if isinstance(answer, Facts) and answer.incomplete:
            yield Unchecked(Layer.HOSTS, f"{host}: {answer.incomplete}", "the BMC did not say it in time")
    silent = [host.name for host in cluster.site.hosts if not host.bmc] if cluster.site and cluster.site.bmc else []
    if silent:
        yield Unchecked(Layer.HOSTS, f"power and firmware of {hostlist.compress(silent)}", "the inventory has no BMC of it")


def _state(host: str, facts: Facts, stack: str) -> Iterator[Finding]:
    if facts.power is Power.OFF:
        remedy = f"`clusterwright power on --stack {stack} {host}` switches it on"
        yield drift(Code.POWER_OFF, HostPart(host, "power"), "the server is switched off", remedy=remedy, desired="on", recorded="on", actual="off")
    if facts.health not in HEALTHY:
        remedy = f"`clusterwright power status --stack {stack} {host}` shows the BMC's log; drain the node before the repair"
        yield drift(Code.BMC_HEALTH, HostPart(host, "health"), "the server reports a failed part", remedy=remedy, desired="OK", actual=shown(facts.health))
    if facts.boot:
        remedy = "remove the override in the BMC, or let whoever set it boot the server"
        yield drift(Code.NEXT_BOOT, HostPart(host, "next boot"), "the server boots from elsewhere next time", remedy=remedy, actual=shown(facts.boot))


def _serial(host: str, actual: str, expected: str, stack: str) -> Iterator[Finding]:
    if actual and expected and actual != expected:
        what = "the server has another serial number: its board was replaced, or its BMC belongs to another server"
        remedy = f"correct the inventory; or `clusterwright power status --stack {stack} {host} --record`, when you know why"
        yield drift(
            Code.BMC_SERIAL, HostPart(host, "serial number"), what, remedy=remedy, desired=shown(expected), recorded=shown(expected), actual=shown(actual)
        )


def _firmware(alive: Mapping[str, Facts], recorded: Mapping[str, Server], stack: str) -> Iterator[Finding]:
    usual = _usual({host: facts for host, facts in alive.items() if host not in recorded})
    for host, facts in alive.items():
        expected = recorded[host].firmware if host in recorded else usual.get(facts.model, {})
        differing = [
            (part, version, facts.firmware.get(part, ""))
            for part, version in expected.items()
            if facts.firmware.get(part, "") != version and (part in facts.firmware or not facts.incomplete)
        ]
        if differing:
            whose = "recorded" if host in recorded else "the others of its group have"
            what = f"the firmware of {_parts([part for part, _, _ in differing])} is other than {whose}"
            wanted, found = (_versions([(part, pair[side]) for part, *pair in differing]) for side in (0, 1))
            remedy = f"flash it; or `clusterwright power status --stack {stack} {host} --record` records what is there"
            there = digest({part: version for part, _, version in differing})
            subject = HostPart(host, "firmware")
            yield drift(Code.BMC_FIRMWARE, subject, what, remedy=remedy, desired=wanted, recorded=wanted, actual=found, digest=there)


def _usual(alive: Mapping[str, Facts]) -> Mapping[str, Mapping[str, str]]:
    """Give the versions that most servers of a model have: model → component → version. Where no version has most servers, none is usual."""
    found: dict[str, dict[str, str]] = {}
    for model in {facts.model for facts in alive.values()}:
        alike = [facts.firmware for facts in alive.values() if facts.model == model]
        for part in sorted({part for firmware in alike for part in firmware}) if len(alike) >= FEWEST else ():
            [(version, times), *_] = Counter(firmware.get(part, "") for firmware in alike).most_common(1)
            if version and 2 * times > len(alike):
                found.setdefault(model, {})[part] = version
    return found


def _parts(parts: Sequence[str]) -> str:
    return ", ".join(parts[:SHOWN]) + (f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else "")


def _versions(pairs: Sequence[tuple[str, str]]) -> str:
    return shown(", ".join(f"{part} {version or 'missing'}" for part, version in pairs[:SHOWN]))

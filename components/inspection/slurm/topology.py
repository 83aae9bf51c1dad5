"""The controller's picture of the network, compared with topology.conf(5). Pure."""

from collections.abc import Iterator, Mapping

from blueprints import hostlist
from blueprints.finding import Finding
from blueprints.finding.subject import ObjectKind, SchedulerObject

from ..codes import Code
from ..finding import drift
from . import parse
from .parameters import RECONFIGURE

KINDS = {"Switch": ObjectKind.SWITCH, "Block": ObjectKind.BLOCK}


def findings(configured: str, answer: str) -> Iterator[Finding]:
    """Compare switches and blocks; without a topology.conf, the controller should know none."""
    for word, kind in KINDS.items():
        wanted, live = (parse.parse_records(text, f"{word}Name") for text in (configured, answer))
        for name in sorted({*wanted, *live}):
            desired, actual = _members(wanted.get(name)), _members(live.get(name))
            if desired != actual:
                change = "is gone" if name not in live else "has other members" if name in wanted else "was added"
                what = f"the {kind} {change}: jobs are placed by it"
                yield drift(Code.TOPOLOGY, SchedulerObject(kind, name), what, remedy=RECONFIGURE, desired=desired, recorded=desired, actual=actual)


def _members(fields: Mapping[str, str] | None) -> str | None:
    """List what is connected to a switch: nodes, or other switches."""
    if fields is None:
        return None
    switches = fields.get("Switches", "")
    named = switches if switches not in ("", "(null)") else fields.get("Nodes", "")
    return ", ".join(sorted(hostlist.expand(named)))

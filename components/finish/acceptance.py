"""Acceptance: the resource that tests the cluster with real jobs, and fails the run when a check fails."""

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from blueprints import spec
from blueprints.finding import Level

from .. import errors
from ..provider.kind import UNKNOWN, Kind, PartlyMade, Values, Work
from . import checks, inspection_results, node_states, playbook
from .inventory import FinishedHost, inventory, known_hosts

PRINTED_LETTERS = 200
DOCUMENT_TASK = "Acceptance document"
"""The playbook's task whose standard output is the report."""


@dataclasses.dataclass(frozen=True, slots=True)
class AcceptanceInputs:
    hosts: tuple[FinishedHost, ...]
    """Login nodes; the first one is where a user would start the checks too."""
    control: tuple[FinishedHost, ...]
    """Controllers, asked for their side of what failed."""
    spec: dict[str, Any]
    content: str
    secrets: dict[str, Any]
    private_key: str
    proves: dict[str, Any]
    """What the result stands for: another value (a node booted again, a group finished anew) makes the checks run again."""


class Acceptance(Kind[AcceptanceInputs]):
    token = "clusterwright:accept:Acceptance"
    inputs = AcceptanceInputs
    timeout_s = 1800

    def identity(self, inputs: AcceptanceInputs) -> str:
        return str(inputs.spec["name"])

    def expected(self, inputs: AcceptanceInputs) -> Values:
        return {"ok": True, "outdated": "", "checks": UNKNOWN, "seconds": UNKNOWN, "began": UNKNOWN}

    def upgrade(self, recorded: Values) -> Values:
        """Read the whole spec that older versions recorded as the view that this version records, and a result without its time as one that still holds."""
        view = spec.upgrade_view(recorded["spec"])
        known = {} if "outdated" in recorded or "ok" not in recorded else {"outdated": ""}
        return recorded if view is recorded["spec"] and not known else {**recorded, "spec": view, **known}

    def read(self, inputs: AcceptanceInputs, outputs: Values) -> Values | None:
        """Return the recorded measurements, and why they no longer hold: hosts that were repaired since, and nodes that passed then and take no jobs now."""
        known = {name: outputs[name] for name in ("seconds", "began") if name in outputs}
        found = {"ok": outputs.get("ok", False), "checks": outputs.get("checks", []), "outdated": "", **known}
        if not found["ok"] or not inputs.hosts:
            return found  # it runs again in any case, or there is no host to ask
        repaired = inspection_results.repaired_after(str(outputs.get("began", "")), inspection_results.received() or {})
        try:
            now = node_states.ask(inputs.hosts, private_key=inputs.private_key)
        except errors.SchedulerUnanswered as silence:
            return {**found, "outdated": f"Slurm does not answer: {silence}"}
        return {**found, "outdated": "; ".join(filter(None, (repaired, *node_states.contradictions(found["checks"] or (), now))))}

    def create(self, inputs: AcceptanceInputs, work: Work) -> Values:
        began = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        outcome = playbook.run(
            playbook.Run(
                playbook="accept.yml",
                inventory=inventory({"access": inputs.hosts, "control": inputs.control}),
                variables={"spec": inputs.spec, "acceptance_left_to_roll": inspection_results.left_to_roll()},
                secrets=inputs.secrets,
                private_key=inputs.private_key,
                known_hosts=known_hosts((*inputs.hosts, *inputs.control)),
                keep=(DOCUMENT_TASK,),
            ),
            work,
        )
        none = {"ok": False, "checks": [], "began": began, "outdated": ""}
        if not outcome.ok:
            reasons = [f"acceptance could not run: {failure}" for failure in outcome.failures] or [f"acceptance could not run: {outcome.error}"]
            raise PartlyMade(*reasons, outputs=none)
        try:
            outputs = {**result(outcome.results), "began": began, "outdated": ""}
        except Unusable as unusable:
            login = inputs.hosts[0].name if inputs.hosts else "the login node"
            reason = f"acceptance gave no result on {login}: {unusable}; look at: `df -h`, `free -m` and `journalctl -p err -b` on {login}"
            raise PartlyMade(reason, outputs=none) from None
        if not outputs["ok"]:
            failed = [found for found in map(checks.finding, outputs["checks"]) if found.level is Level.ERROR]
            raise PartlyMade(*map(checks.line, failed), outputs=outputs)
        return outputs

    def delete(self, inputs: AcceptanceInputs, outputs: Values, work: Work) -> None:
        """Do nothing: a check leaves only its record."""


class Unusable(Exception):
    """The acceptance program printed something else than its document; the text is what it printed."""


def result(results: Mapping[str, Any]) -> dict[str, Any]:
    """Read the document.

    Raises:
        Unusable: it is none.
    """
    printed = str((results.get(DOCUMENT_TASK) or {}).get("stdout", ""))
    try:
        report = json.loads(printed)
        found: dict[str, Any] = {"ok": bool(report["ok"]), "checks": [dict(check) for check in report["checks"]], "seconds": float(report["seconds"])}
        if not found["ok"] and not any(checks.finding(check).level is Level.ERROR for check in found["checks"]):
            raise Unusable("it reports a failure without a failed check")
    except (ValueError, KeyError, TypeError):
        raise Unusable(f"it printed «{' '.join(printed.split())[:PRINTED_LETTERS]}»" if printed else "it printed nothing") from None
    return found

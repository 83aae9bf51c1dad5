"""Acceptance: the resource that tests the cluster with real jobs, and fails the run when a check fails."""

import dataclasses
import json
from typing import Any

from blueprints import spec
from blueprints.finding import Level

from ..provider.kind import UNKNOWN, Kind, PartlyMade, Values, Work
from . import checks, playbook
from .inventory import FinishedHost, inventory, known_hosts

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
        return {"ok": True, "checks": UNKNOWN, "seconds": UNKNOWN}

    def upgrade(self, recorded: Values) -> Values:
        """Read the whole spec that older versions recorded as the view that this version records."""
        view = spec.upgrade_view(recorded["spec"])
        return recorded if view is recorded["spec"] else {**recorded, "spec": view}

    def read(self, inputs: AcceptanceInputs, outputs: Values) -> Values | None:
        """Return the recorded measurements."""
        return {"ok": outputs.get("ok", False), "checks": outputs.get("checks", [])}

    def create(self, inputs: AcceptanceInputs, work: Work) -> Values:
        outcome = playbook.run(
            playbook.Run(
                playbook="accept.yml",
                inventory=inventory({"access": inputs.hosts, "control": inputs.control}),
                variables={"spec": inputs.spec},
                secrets=inputs.secrets,
                private_key=inputs.private_key,
                known_hosts=known_hosts((*inputs.hosts, *inputs.control)),
                keep=(DOCUMENT_TASK,),
            ),
            work,
        )
        if not outcome.ok:
            reasons = [f"acceptance could not run: {failure}" for failure in outcome.failures] or [f"acceptance could not run: {outcome.error}"]
            raise PartlyMade(*reasons, outputs={"ok": False, "checks": []})
        report = json.loads(outcome.results[DOCUMENT_TASK]["stdout"])
        outputs = {"ok": report["ok"], "checks": report["checks"], "seconds": report["seconds"]}
        if not report["ok"]:
            failed = [found for found in map(checks.finding, report["checks"]) if found.level is Level.ERROR]
            raise PartlyMade(*map(checks.line, failed), outputs=outputs)
        return outputs

    def delete(self, inputs: AcceptanceInputs, outputs: Values, work: Work) -> None:
        """Do nothing: a check leaves only its record."""

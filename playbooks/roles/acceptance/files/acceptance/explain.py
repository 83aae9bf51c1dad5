"""`python3 -m acceptance.explain`: add what the controller's log says about nodes that did not pass. Reads JSON (document, log), prints the document."""

import json
import re
import sys
from typing import Any

REFUSED_PEER = re.compile(r"\[\[([^\]]+)\](?::\d+)?\].*authentication error")
"""slurmctld's line about a message that it can't verify: `[[train-1]:11934] auth_g_verify: … has authentication error`."""


def main() -> None:
    given = json.load(sys.stdin)
    print(json.dumps(explain(given["document"], given["log"])))


def explain(document: dict[str, Any], log: str) -> dict[str, Any]:
    """Name the cause where the controller refused a node's messages: its MUNGE key or its clock differ."""
    refused = {match.group(1).split(".")[0] for match in REFUSED_PEER.finditer(log)}
    return {**document, "checks": [_explained(check) if check["node"] in refused else check for check in document["checks"]]}


def _explained(check: dict[str, Any]) -> dict[str, Any]:
    if check["verdict"] not in ("fail", "error"):
        return check
    node = check["node"]
    return {
        **check,
        "detail": f"the controller refuses the messages of {node} (authentication error): its MUNGE key or its clock differ; {check['detail']}",
        "look_at": f"on {node}: `cmp /etc/munge/munge.key /etc/clusterwright/secrets/munge.key`, `date`, `journalctl -u munge -u slurmd`",
    }


if __name__ == "__main__":
    main()

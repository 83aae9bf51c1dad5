"""The summary of a running stack as plain JSON values (docs/json.md). Nothing in it is secret."""

from collections.abc import Mapping, Sequence
from typing import Any

from blueprints.spec import as_record
from components.finish.node_states import State
from components.inspection.recorded_cluster import Known

from . import summary

FORMAT = 1
"""Raised when a key goes or changes its meaning."""


def document(stack: str, known: Known, *, now: Sequence[State] | str, logins: Mapping[str, str]) -> dict[str, Any]:
    """Give the summary's document.

    Args:
        now: the states of Slurm's nodes, or why Slurm does not answer.
        logins: user → the command that logs in.
    """
    silent = isinstance(now, str)
    return {
        "format": FORMAT,
        "stack": stack,
        "cluster": known.cluster.name,
        "target": known.cluster.target,
        "spec": as_record(known.cluster),
        "hosts": [
            {
                "name": host.name,
                "group": host.group,
                "role": host.role,
                "address": host.address,
                "port": host.port,
                "host_key": host.host_key,
                "jump": host.jump or None,
            }
            for host in known.hosts
        ],
        "logins": dict(logins),
        "acceptance": {
            "at": known.accepted_at.isoformat() if known.accepted_at else None,
            "seconds": known.acceptance_s,
            "outdated": summary.outdated(known, now) or None,
            "checks": [dict(check) for check in known.acceptance],
        },
        "nodes": None if silent else [_state(state) for state in now if isinstance(state, State)],
        "nodes_unknown": now if silent else None,
    }


def _state(state: State) -> dict[str, Any]:
    return {
        "names": list(state.names),
        "state": state.state,
        "takes_jobs": state.serves,
        "responds": state.responds,
        "is_off": state.is_off,
        "reason": state.reason or None,
        "by": state.by or None,
        "since": state.since or None,
    }

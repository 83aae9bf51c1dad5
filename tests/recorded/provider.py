"""The project's provider for stacks on the simulated cloud whose instances only pretend: every playbook counts as run, every cluster as accepted, and no host is asked. All else is the project's own."""

import contextlib
import json
from typing import Any
from unittest import mock

from components.finish import acceptance, node_states, playbook
from components.provider import __main__ as provider
from components.provider.kind import Work

ACCEPTED = {"ok": True, "checks": [], "seconds": 0.0}


def played(order: playbook.Run, work: Work, **_: Any) -> playbook.Outcome:
    """Answer as a playbook that ran on all its hosts."""
    document = {acceptance.DOCUMENT_TASK: {"stdout": json.dumps(ACCEPTED)}}
    return playbook.Outcome(failures=(), results=document, through=frozenset(), changed=0, error="")


def asked(*_: Any, **__: Any) -> tuple[node_states.State, ...]:
    """Answer as Slurm that knows no node."""
    return ()


if __name__ == "__main__":
    with contextlib.ExitStack() as patched:
        patched.enter_context(mock.patch.object(playbook, "run", played))
        patched.enter_context(mock.patch.object(node_states, "ask", asked))
        provider.main()

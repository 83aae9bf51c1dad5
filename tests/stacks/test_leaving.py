"""Which stacks are refused before anything of them is touched."""

from typing import Any

import pytest

from stacks.cli import leaving
from stacks.problem import Problem


def resource(kind: str, name: str, **tags: str) -> dict[str, Any]:
    return {
        "urn": f"urn:pulumi:dev::clusterwright::{kind}::{name}",
        "type": kind,
        "inputs": {"tags": {f"clusterwright:{key}": value for key, value in tags.items()}},
    }


CONTROLLER = resource(leaving.CONTROLLER, "control-0", part="control")
LOGIN = resource(leaving.CONTROLLER, "login-0", part="access")
NODES = resource(leaving.NODES, "train-nodes")


def test_a_controller_whose_nodes_nothing_ends_is_refused() -> None:
    with pytest.raises(Problem) as refused:
        leaving.refuse_older("dev", [LOGIN, CONTROLLER])
    assert "control-0" in str(refused.value.why)
    assert "make up STACK=dev" in str(refused.value.remedy)


@pytest.mark.parametrize("recorded", [[], [LOGIN], [NODES, LOGIN, CONTROLLER], [NODES]], ids=["nothing", "cut off early", "whole", "half gone"])
def test_what_this_version_made_goes(recorded: list[dict[str, Any]]) -> None:
    leaving.refuse_older("dev", recorded)

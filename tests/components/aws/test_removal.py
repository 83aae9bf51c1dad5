"""Which stacks `down` refuses before it touches anything of them."""

from typing import Any

import pytest

from components.aws import removal
from components.errors import RemovalRefused


def resource(kind: str, name: str, **tags: str) -> dict[str, Any]:
    return {
        "urn": f"urn:pulumi:dev::clusterwright::{kind}::{name}",
        "type": kind,
        "inputs": {"tags": {f"clusterwright:{key}": value for key, value in tags.items()}},
    }


CONTROLLER = resource(removal.CONTROLLER, "control-0", part="control")
LOGIN = resource(removal.CONTROLLER, "login-0", part="access")
NODES = resource(removal.NODES, "train-nodes")


def test_a_controller_whose_nodes_nothing_ends_is_refused() -> None:
    with pytest.raises(RemovalRefused) as refused:
        removal.Removal().check("dev", [LOGIN, CONTROLLER])
    assert "control-0" in refused.value.why
    assert "make up STACK=dev" in refused.value.remedy


@pytest.mark.parametrize("recorded", [[], [LOGIN], [NODES, LOGIN, CONTROLLER], [NODES]], ids=["nothing", "cut off early", "whole", "half gone"])
def test_what_this_version_made_goes(recorded: list[dict[str, Any]]) -> None:
    removal.Removal().check("dev", recorded)

"""A unit that changes the network of a host is confirmed over a new connection; the host is a stand-in. tests/hosts/test_rails.py has a real one."""

import importlib.util
import types
from typing import Any

import pytest

from blueprints.project import project_root

PLUGIN = project_root() / "playbooks/roles/confirmed_unit/action_plugins/confirmed_unit.py"
UNIT = "clusterwright-roce.service"


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("confirmed_unit", PLUGIN)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.LOOK_EVERY_S = 0  # type: ignore[attr-defined]
    return module


def run(*states: str) -> tuple[dict[str, Any], bool]:
    """Run the action on a host that shows one state after the other; say whether the host was told to keep the change."""
    module, left, asked = loaded(), [*states], []

    class Host(module.ActionModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self._task = types.SimpleNamespace(
                check_mode=False, args={"unit": UNIT, "verb": "reload-or-restart", "confirm_within_s": 60, "answers_within_s": 60}
            )
            self._connection = types.SimpleNamespace(reset=lambda: None)

        def _shell(self, script: str) -> dict[str, Any]:
            asked.append(script)
            said = left.pop(0) if "ReloadResult" in script else "dcb: no such device\n" if "journalctl" in script else ""
            return {"rc": 0, "stdout": said, "stderr": ""}

    return Host().run(), any(script.lstrip().startswith("systemctl is-active --quiet") for script in asked)


def test_a_unit_is_confirmed_when_its_job_has_ended() -> None:
    done = run("active\nJob=17\nReloadResult=success\n", "reloading\nJob=17\nReloadResult=success\n", "active\nReloadResult=success\n")
    assert done == ({"changed": True}, True)


def test_a_reload_that_failed_is_no_change_and_its_reason_is_given() -> None:
    answer, is_kept = run("active\nReloadResult=exit-code\n")
    assert answer["failed"]
    assert "dcb: no such device" in answer["msg"]
    assert is_kept, "what ran before goes on"


@pytest.mark.parametrize("state", ["failed", "inactive"])
def test_a_unit_that_does_not_start_is_left_to_the_host(state: str) -> None:
    answer, is_kept = run(f"{state}\nReloadResult=success\n")
    assert answer["msg"] == f"{UNIT} does not run: dcb: no such device"
    assert not is_kept

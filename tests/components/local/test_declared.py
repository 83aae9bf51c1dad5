"""Which rule the hosts of a stack declare their memory by."""

from pathlib import Path

import pytest

from components.local.machine import declared, names
from components.local.machine.names import StackNames


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackNames:
    monkeypatch.setattr(names, "STATE_ROOT", tmp_path)
    (tmp_path / "dev").mkdir()
    return StackNames("dev")


def test_a_stack_that_nobody_created_declares_by_the_machine(stack: StackNames) -> None:
    assert not declared.by_count("dev")


def test_a_stack_of_an_earlier_version_declares_by_its_number_of_hosts(stack: StackNames) -> None:
    stack.owner_file.write_text("{}")
    assert declared.by_count("dev")


def test_a_new_stack_keeps_declaring_by_the_machine(stack: StackNames) -> None:
    declared.write(stack)
    stack.owner_file.write_text("{}")
    assert not declared.by_count("dev")


def test_a_name_that_no_stack_on_this_machine_can_have_is_no_error() -> None:
    assert not declared.by_count("..")

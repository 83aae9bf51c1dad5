"""The provider over its real wire: what the engine is told when all goes well, and when it doesn't."""

import os
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2

from components.provider import codec
from components.provider.unknown import UNKNOWN
from tests.components import plugin
from tests.components.plugin import Failed, Provider

NOTE, NOTES, KEY, MEETING, LEDGER = (f"test:files:{name}" for name in ("Note", "Notes", "Key", "Meeting", "Ledger"))
STOPS_WITHIN_S = 1.0
TRIES = 5
"""Of which one has to be quick: a busy machine makes a stop take longer, and never shorter."""


def made(provider: Provider, token: str, inputs: dict[str, Any]) -> struct_pb2.Struct:
    state: struct_pb2.Struct = provider.create(token, inputs).properties
    return state


def seen(provider: Provider, token: str, state: struct_pb2.Struct) -> struct_pb2.Struct:
    """The state after a refresh."""
    read: struct_pb2.Struct = provider.read(token, state).properties
    return read


def changes(provider: Provider, token: str, state: struct_pb2.Struct, inputs: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
    """What a diff says: property → (is it an input, does it replace)."""
    found = provider.diff(token, state, inputs)
    assert (found.changes == provider_pb2.DiffResponse.DIFF_SOME) is bool(found.detailedDiff)
    assert sorted(found.diffs) == sorted(found.detailedDiff)
    return {name: (one.inputDiff, one.kind == provider_pb2.PropertyDiff.UPDATE_REPLACE) for name, one in found.detailedDiff.items()}


# Create, preview, diff


def test_create_makes_it_and_gives_inputs_outputs_and_completeness(provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "note"
    answer = provider.create(NOTE, {"path": str(path), "text": "hello"})
    assert path.read_text() == "hello"
    assert answer.id == str(path)
    assert codec.decode(answer.properties) == {
        "path": str(path), "text": "hello", "found": "hello", "changed_at": str(path.stat().st_mtime_ns), "complete": True,
    }  # fmt: skip


def test_progress_goes_to_the_resource_s_own_row_and_is_kept_only_when_told(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "guest").touch()
    made(provider, MEETING, {"place": str(tmp_path), "guest": "guest"})
    heard = [provider.hear(), provider.hear()]
    assert [(line.message, line.urn, line.ephemeral) for line in heard] == [
        ("waiting", plugin.urn(MEETING), True),
        ("met for stack name", plugin.urn(MEETING), False),
    ]


def test_a_preview_makes_nothing_and_says_what_is_known(provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "note"
    planned = provider.create(NOTE, {"path": str(path), "text": "hello"}, preview=True)
    assert not path.exists()
    assert codec.decode(planned.properties) == {"path": str(path), "text": "hello", "found": "hello", "changed_at": UNKNOWN}


def test_a_preview_of_unknown_inputs_promises_no_outputs(provider: Provider, tmp_path: Path) -> None:
    planned = provider.create(NOTE, {"path": str(tmp_path / "note"), "text": UNKNOWN}, preview=True)
    assert codec.decode(planned.properties) == {"path": str(tmp_path / "note"), "text": UNKNOWN}


def test_a_preview_of_an_update_changes_nothing(provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "note"
    state = made(provider, NOTE, {"path": str(path), "text": "old"})
    planned = provider.update(NOTE, state, {"path": str(path), "text": "new"}, preview=True)
    assert path.read_text() == "old"
    assert codec.decode(planned.properties)["found"] == "new"


def test_what_is_as_it_should_be_has_no_diff(provider: Provider, tmp_path: Path) -> None:
    inputs = {"path": str(tmp_path / "note"), "text": "hello"}
    state = made(provider, NOTE, inputs)
    assert changes(provider, NOTE, state, inputs) == {}
    assert changes(provider, NOTE, seen(provider, NOTE, state), inputs) == {}


def test_a_changed_input_is_an_update_or_a_replacement(provider: Provider, tmp_path: Path) -> None:
    state = made(provider, NOTE, {"path": str(tmp_path / "note"), "text": "old"})
    assert changes(provider, NOTE, state, {"path": str(tmp_path / "note"), "text": "new"}) == {"text": (True, False), "found": (False, False)}
    moved = {"path": str(tmp_path / "other"), "text": "old"}
    assert changes(provider, NOTE, state, moved) == {"path": (True, True)}
    answer = provider.diff(NOTE, state, moved)
    assert (list(answer.replaces), answer.deleteBeforeReplace) == (["path"], True)


def test_an_unknown_input_is_a_change_that_leaves_outputs_alone(provider: Provider, tmp_path: Path) -> None:
    state = made(provider, NOTE, {"path": str(tmp_path / "note"), "text": "old"})
    assert changes(provider, NOTE, state, {"path": str(tmp_path / "note"), "text": UNKNOWN}) == {"text": (True, False)}


def test_drift_is_a_diff_of_an_output_after_a_read(provider: Provider, tmp_path: Path) -> None:
    inputs = {"folder": str(tmp_path / "notes"), "names": ["a", "b"], "text": "hello"}
    state = made(provider, NOTES, inputs)
    (tmp_path / "notes" / "b").unlink()
    observed = seen(provider, NOTES, state)
    assert codec.decode(observed)["present"] == ["a"]
    assert changes(provider, NOTES, observed, inputs) == {"present": (False, False)}
    mended = codec.decode(provider.update(NOTES, observed, inputs).properties)
    assert (mended["present"], mended["complete"]) == (["a", "b"], True)


def test_outputs_that_only_an_apply_gives_are_no_drift(provider: Provider, tmp_path: Path) -> None:
    inputs = {"path": str(tmp_path / "note"), "text": "hello"}
    state = made(provider, NOTE, inputs)
    os.utime(tmp_path / "note", (0, 0))
    observed = seen(provider, NOTE, state)
    assert codec.decode(observed)["changed_at"] == "0"
    assert changes(provider, NOTE, observed, inputs) == {}


# Check


def test_check_names_the_input_and_the_reason(provider: Provider) -> None:
    assert provider.check(NOTE, {"path": "note"}) == {"path": "the path is not absolute"}
    assert provider.check(NOTE, {"path": "/note"}) == {}
    assert provider.check(NOTE, {"path": "/note", "text": "\0"}) == {"": "no file of text holds a null byte"}


def test_check_refuses_to_change_what_is_fixed(provider: Provider) -> None:
    old = {"place": "/here", "guest": "ada"}
    assert provider.check(MEETING, {**old, "guest": "grace"}, olds=old) == {}
    (name,) = provider.check(MEETING, {**old, "place": "/there"}, olds=old)
    assert name == "place"
    (name,) = provider.check(MEETING, {**old, "place": UNKNOWN}, olds=old)
    assert name == "place"


def test_check_refuses_inputs_of_the_wrong_type(provider: Provider) -> None:
    (reason,) = provider.check(NOTE, {"path": "/note", "text": [1]}).values()
    assert reason.startswith("text: ")


def test_check_waits_for_inputs_that_are_not_known_yet(provider: Provider) -> None:
    assert provider.check(NOTE, {"path": UNKNOWN, "text": "\0"}) == {}


def test_a_check_that_could_not_look_is_an_error_and_no_finding(provider: Provider) -> None:
    with pytest.raises(Failed, match=r"^cannot be checked: .*null byte"):
        provider.check(KEY, {"words": {"path": "/\0"}})


# Failure


def test_a_failure_with_nothing_made_is_a_plain_error(provider: Provider, tmp_path: Path) -> None:
    with pytest.raises(Failed) as failed:
        provider.create(NOTE, {"path": str(tmp_path / "missing" / "note")})
    assert failed.value.partly is None
    assert failed.value.message == f"[Errno 2] No such file or directory: '{tmp_path}/missing/note'"


def test_a_failure_half_way_records_what_is_observed(provider: Provider, tmp_path: Path) -> None:
    path, copy = tmp_path / "note", tmp_path / "missing" / "copy"
    inputs = {"path": str(path), "text": "hello", "copy": str(copy)}
    with pytest.raises(Failed) as failed:
        provider.create(NOTE, inputs)
    partly = failed.value.partly
    assert partly is not None
    assert partly.id == str(path)
    assert list(partly.reasons) == [f"[Errno 2] No such file or directory: '{copy}'"]
    assert codec.decode(partly.inputs) == inputs
    assert codec.decode(partly.properties) == {**inputs, "found": "hello", "changed_at": str(path.stat().st_mtime_ns), "complete": False}


def test_a_half_made_resource_says_itself_what_exists_and_every_reason(provider: Provider, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    for name in ("b", "d"):
        (folder / name).mkdir(parents=True)
    inputs = {"folder": str(folder), "names": ["a", "b", "c", "d"], "text": "hello"}
    with pytest.raises(Failed) as failed:
        provider.create(NOTES, inputs)
    partly = failed.value.partly
    assert partly is not None
    assert list(partly.reasons) == ["b: Is a directory", "d: Is a directory"]
    assert failed.value.message == "b: Is a directory"
    assert codec.decode(partly.properties) == {**inputs, "present": ["a", "c"], "content": "hello", "complete": False}


def test_a_half_made_resource_is_not_done_even_when_all_outputs_look_right(provider: Provider, tmp_path: Path) -> None:
    """A refresh wipes the engine's own mark of failure; what is recorded must tell by itself."""
    inputs = {"path": str(tmp_path / "note"), "text": "hello", "copy": str(tmp_path / "missing" / "copy")}
    with pytest.raises(Failed) as failed:
        provider.create(NOTE, inputs)
    assert failed.value.partly is not None
    refreshed = seen(provider, NOTE, failed.value.partly.properties)
    assert changes(provider, NOTE, refreshed, inputs) == {"complete": (False, False)}
    (tmp_path / "missing").mkdir()
    mended = provider.update(NOTE, refreshed, inputs).properties
    assert changes(provider, NOTE, mended, inputs) == {}
    assert (tmp_path / "missing" / "copy").read_text() == "hello"


def test_a_large_partial_failure_comes_through_whole(provider: Provider, tmp_path: Path) -> None:
    """It travels in a header, and headers are what transports like to limit."""
    names = [f"note-{number}-{'x' * 100}" for number in range(1000)]
    (tmp_path / "notes" / names[0]).mkdir(parents=True)
    with pytest.raises(Failed) as failed:
        provider.create(NOTES, {"folder": str(tmp_path / "notes"), "names": names})
    assert failed.value.partly is not None
    assert codec.decode(failed.value.partly.properties)["present"] == names[1:]


def test_an_update_that_fails_half_way_records_the_new_inputs_with_what_exists(provider: Provider, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    state = made(provider, NOTES, {"folder": str(folder), "names": ["a"], "text": "old"})
    (folder / "b").mkdir()
    with pytest.raises(Failed) as failed:
        provider.update(NOTES, state, {"folder": str(folder), "names": ["a", "b"], "text": "new"})
    assert failed.value.partly is not None
    assert codec.decode(failed.value.partly.properties) == {
        "folder": str(folder), "names": ["a", "b"], "text": "new", "present": ["a"], "content": "new", "complete": False,
    }  # fmt: skip


def test_an_update_that_cannot_be_observed_keeps_the_recorded_outputs(provider: Provider, tmp_path: Path) -> None:
    state = made(provider, LEDGER, {"path": str(tmp_path / "ledger"), "entries": {"total": 3}})
    (tmp_path / "ledger").write_text("three")
    with pytest.raises(Failed) as failed:
        provider.update(LEDGER, state, {"path": str(tmp_path / "ledger"), "entries": {}})
    assert failed.value.partly is not None
    assert codec.decode(failed.value.partly.properties) == {
        "path": str(tmp_path / "ledger"), "entries": {}, "sum": 3, "pages": 1, "complete": False,
    }  # fmt: skip


def test_a_failed_update_is_observed_with_what_was_recorded(provider: Provider, tmp_path: Path) -> None:
    """Some outputs can only be carried on, not seen: a read that gets no record of them would forget them."""
    state = made(provider, LEDGER, {"path": str(tmp_path / "ledger"), "entries": {"total": 3}})
    with pytest.raises(Failed) as failed:
        provider.update(LEDGER, state, {"path": str(tmp_path / "ledger"), "entries": {"sub": 1}})
    assert failed.value.partly is not None
    assert codec.decode(failed.value.partly.properties)["pages"] == 1


def test_an_unexpected_error_is_one_bare_line(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text("1 2")
    with pytest.raises(Failed) as failed:
        provider.create(LEDGER, {"path": str(tmp_path / "ledger"), "entries": {}})
    assert failed.value.message == "KeyError: 'total'"
    assert failed.value.partly is not None
    assert list(failed.value.partly.reasons) == ["KeyError: 'total'"]
    assert codec.decode(failed.value.partly.properties)["sum"] == 3


def test_outputs_that_no_state_can_hold_are_a_failure_that_is_recorded(provider: Provider, tmp_path: Path) -> None:
    with pytest.raises(Failed, match="no number") as failed:
        provider.create(KEY, {"words": {"value": "infinite"}})
    assert failed.value.partly is not None


# Cancel and time


def test_cancel_stops_the_work_within_a_second_and_records_what_exists(tmp_path: Path) -> None:
    taken_s = []
    for number in range(TRIES):
        place = tmp_path / f"place-{number}"
        with plugin.served() as provider:
            begun = provider.begin_create(MEETING, {"place": str(place), "guest": "godot"})
            assert provider.hear().message == "waiting"
            asked = time.monotonic()
            provider.cancel()
            with pytest.raises(grpc.RpcError) as error:
                begun.result()
            taken_s.append(time.monotonic() - asked)
        partly = Failed(error.value).partly
        assert partly is not None
        assert partly.id == str(place)
        assert codec.decode(partly.properties) == {"place": str(place), "guest": "godot", "guests": [], "complete": False}
        if taken_s[-1] < STOPS_WITHIN_S:
            break
    assert min(taken_s) < STOPS_WITHIN_S


def test_what_begins_after_cancel_ends_at_its_first_wait(provider: Provider, tmp_path: Path) -> None:
    provider.cancel()
    with pytest.raises(Failed, match=r"^stopped on request"):
        provider.create(MEETING, {"place": str(tmp_path / "place"), "guest": "godot"})


def test_an_operation_ends_when_its_time_is_over(provider: Provider, tmp_path: Path) -> None:
    taken_s = []
    for number in range(TRIES):
        begun = time.monotonic()
        with pytest.raises(Failed) as failed:
            provider.create(MEETING, {"place": str(tmp_path / f"place-{number}"), "guest": "godot"}, timeout_s=0.3)
        taken_s.append(time.monotonic() - begun)
        assert taken_s[-1] >= 0.3
        assert failed.value.partly is not None
        assert (tmp_path / f"place-{number}").is_dir()
        if taken_s[-1] < 0.3 + STOPS_WITHIN_S:
            break
    assert min(taken_s) < 0.3 + STOPS_WITHIN_S


def test_a_delete_ends_when_its_time_is_over(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "guest").touch()
    state = made(provider, MEETING, {"place": str(tmp_path), "guest": "guest"})
    with pytest.raises(Failed, match=r"^not complete within"):
        provider.delete(MEETING, state, timeout_s=0.2)


# Secrets


def test_secret_inputs_and_secret_outputs_go_back_as_secrets(provider: Provider) -> None:
    inputs = codec.encode({"words": {"a": "hush"}}, secrets=["words"])
    assert codec.secret_names(provider.create(KEY, inputs, preview=True).properties) == {"words", "value"}
    state = provider.create(KEY, inputs).properties
    assert codec.secret_names(state) == {"words", "value"}
    assert codec.secret_names(provider.read(KEY, state).properties) == {"words", "value"}
    assert codec.secret_names(provider.update(KEY, state, inputs, preview=True).properties) == {"words", "value"}
    assert codec.secret_names(provider.update(KEY, state, inputs).properties) == {"words", "value"}


def test_a_secret_deep_inside_an_input_makes_the_whole_input_secret(provider: Provider) -> None:
    inputs = struct_pb2.Struct()
    inputs.update({"words": {"a": [{codec.SIGNATURE_KEY: codec.SECRET_SIGNATURE, "value": "hush"}]}})
    state = provider.create(KEY, inputs).properties
    assert codec.secret_names(state) == {"words", "value"}
    assert codec.decode(state)["words"] == {"a": ["hush"]}


def test_secrets_stay_secret_in_what_a_failure_records(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "notes" / "a").mkdir(parents=True)
    inputs = codec.encode({"folder": str(tmp_path / "notes"), "names": ["a"], "text": "hello", "key": "hush"}, secrets=["key", "text"])
    with pytest.raises(Failed) as failed:
        provider.create(NOTES, inputs)
    assert failed.value.partly is not None
    assert codec.secret_names(failed.value.partly.properties) == {"key", "text"}
    assert codec.secret_names(failed.value.partly.inputs) == {"key", "text"}


# Read and delete


def test_a_read_that_finds_nothing_says_gone(provider: Provider, tmp_path: Path) -> None:
    state = made(provider, NOTE, {"path": str(tmp_path / "note")})
    (tmp_path / "note").unlink()
    answer = provider.read(NOTE, state)
    assert (answer.id, len(answer.properties.fields)) == ("", 0)


def test_a_read_gives_the_inputs_back_as_they_were(provider: Provider, tmp_path: Path) -> None:
    inputs = codec.encode({"path": str(tmp_path / "note"), "text": "hello"}, secrets=["text"])
    state = provider.create(NOTE, inputs).properties
    answer = provider.read(NOTE, state, inputs)
    assert (answer.id, answer.inputs) == ("id", inputs)


def test_a_world_that_cannot_be_observed_is_an_error_and_not_gone(provider: Provider, tmp_path: Path) -> None:
    state = made(provider, LEDGER, {"path": str(tmp_path / "ledger"), "entries": {"total": 3}})
    (tmp_path / "ledger").unlink()
    with pytest.raises(Failed, match=r"^cannot be observed: "):
        provider.read(LEDGER, state)


def test_delete_removes_it_and_a_second_one_finds_nothing_to_do(provider: Provider, tmp_path: Path) -> None:
    state = made(provider, NOTES, {"folder": str(tmp_path / "notes"), "names": ["a", "b"]})
    provider.delete(NOTES, state)
    assert not (tmp_path / "notes").exists()
    provider.delete(NOTES, state)


def test_a_failed_delete_says_why(provider: Provider, tmp_path: Path) -> None:
    state = made(provider, NOTES, {"folder": str(tmp_path / "notes"), "names": ["a"]})
    (tmp_path / "notes" / "foreign").touch()
    with pytest.raises(Failed, match="Directory not empty"):
        provider.delete(NOTES, state)

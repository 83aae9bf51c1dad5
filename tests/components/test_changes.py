"""What a row says of a resource that changes."""

from typing import Any

import pytest

from components.provider.changes import describe

NODE_SET = {"pool": "train", "hosts": {"count": 2, "prefix": "train"}, "features": ["h100"]}
ADA = {"name": "ada", "most_jobs": 10, "admin": False, "shell": None}
SPEC: dict[str, Any] = {"slurm": {"node_sets": [NODE_SET]}, "users": [ADA]}


def changed(**users: Any) -> dict[str, Any]:
    return {**SPEC, "users": [{**ADA, **users}]}


@pytest.mark.parametrize(
    ("new", "text"),
    [
        (SPEC, ""),
        ({**SPEC, "slurm": {"node_sets": [{**NODE_SET, "hosts": {"count": 4, "prefix": "train"}}]}}, "train: nodes 2 → 4"),
        (changed(most_jobs=20, admin=True), "ada: most jobs 10 → 20; ada: admin no → yes"),
        (changed(shell="/bin/zsh"), "ada: shell none → /bin/zsh"),
        ({**SPEC, "users": [ADA, {**ADA, "name": "bob"}]}, "bob added to users"),
        ({**SPEC, "users": []}, "ada removed from users"),
        ({**SPEC, "slurm": {"node_sets": [{**NODE_SET, "features": ["h200"]}]}}, "train: features changed"),
    ],
)
def test_a_record_says_whose_field_changes_from_what_to_what(new: dict[str, Any], text: str) -> None:
    assert describe({"spec": SPEC}, {"spec": new}, ["spec"]) == text


@pytest.mark.parametrize(("old", "new"), [("0123456789ab", "ba9876543210"), ("ssh-ed25519 AAAA", "ssh-ed25519 BBBB"), ("x" * 33, "short")])
def test_digests_keys_and_long_texts_are_not_written_out(old: str, new: str) -> None:
    assert describe({"content": old}, {"content": new}, ["content"]) == "playbooks changed"


@pytest.mark.parametrize("entries", [[{"first": 1, "count": 2}], [NODE_SET, NODE_SET]])
def test_entries_that_have_no_name_of_their_own_are_not_compared(entries: list[dict[str, Any]]) -> None:
    assert describe({"ranges": entries}, {"ranges": [*entries[1:], {"first": 9}]}, ["ranges"]) == "ranges changed"


def test_only_named_inputs_are_compared() -> None:
    assert describe({"key": "a", "count": 1}, {"key": "b", "count": 2}, ["count"]) == "nodes 1 → 2"


def test_of_many_differences_the_first_are_shown() -> None:
    text = describe({}, {str(number): number for number in range(7)}, [str(number) for number in range(7)])
    assert text == "0 none → 0; 1 none → 1; 2 none → 2; 3 none → 3; and 3 more"

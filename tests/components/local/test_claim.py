"""Stacks that start at the same moment: one gets the name and the addresses, the other is refused before anything is made."""

import concurrent.futures
from pathlib import Path

import pytest

from components.local.machine import claim, names
from components.local.machine.names import StackNames

CIDR, OTHER_CIDR = "10.90.0.0/20", "10.90.16.0/20"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a stack."""
    monkeypatch.setenv("CLUSTERWRIGHT_CACHE", str(tmp_path / "cache"))
    for module in (claim, names):
        monkeypatch.setattr(module, "STATE_ROOT", tmp_path / "state")


def test_of_two_stacks_that_want_the_same_addresses_one_is_refused(tmp_path: Path) -> None:
    def make(stack: str) -> str:
        try:
            return claim.make(StackNames(stack), owner=str(tmp_path), cidr=CIDR)
        except claim.Occupied as occupied:
            return str(occupied)

    with concurrent.futures.ThreadPoolExecutor() as together:
        answers = dict(zip(("one", "two"), together.map(make, ("one", "two")), strict=True))
    [loser] = [stack for stack, answer in answers.items() if "in use" in answer]
    [winner] = answers.keys() - {loser}
    assert f"stack {winner} " in answers[loser]
    assert claim.read(StackNames(loser)) is None
    assert claim.read(StackNames(winner)) is not None


def test_stacks_with_addresses_of_their_own_are_claimed_side_by_side(tmp_path: Path) -> None:
    tokens = {claim.make(StackNames(stack), owner=str(tmp_path), cidr=cidr) for stack, cidr in (("one", CIDR), ("two", OTHER_CIDR))}
    assert len(tokens) == 2


def test_a_claim_of_the_same_owner_keeps_its_token(tmp_path: Path) -> None:
    first = claim.make(StackNames("one"), owner=str(tmp_path), cidr=CIDR)
    assert claim.make(StackNames("one"), owner=str(tmp_path), cidr=CIDR) == first


def recorded_in(folder: Path, stack: str) -> str:
    """Make a folder with the state of a stack, as the file backend has it, and give its address."""
    (folder / ".pulumi/stacks/clusterwright").mkdir(parents=True)
    (folder / f".pulumi/stacks/clusterwright/{stack}.json").write_text("{}")
    return folder.as_uri()


def test_a_stack_that_another_backend_records_is_not_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new state would have other keys than the hosts, and neither state could change them any more."""
    stack, first = StackNames("one"), recorded_in(tmp_path / "first", "one")
    monkeypatch.setenv("PULUMI_BACKEND_URL", first)
    token = claim.make(stack, owner=str(tmp_path), cidr=CIDR)
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "second").as_uri())
    with pytest.raises(claim.Foreign, match=f"PULUMI_BACKEND_URL={first} make up STACK=one"):
        claim.make(stack, owner=str(tmp_path), cidr=CIDR)
    assert claim.read(stack) == claim.Claim(token, str(tmp_path), first, CIDR)
    assert claim.make(stack, owner=str(tmp_path), cidr=CIDR, token=token) == token, "a state that was moved has the token"


@pytest.mark.parametrize("left", ["no folder", "an empty folder"])
def test_a_stack_whose_state_is_lost_is_taken_over(left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tmp_path / "first"
    monkeypatch.setenv("PULUMI_BACKEND_URL", first.as_uri())
    if left == "an empty folder":
        first.mkdir()
    token = claim.make(StackNames("one"), owner=str(tmp_path), cidr=CIDR)
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "second").as_uri())
    assert claim.make(StackNames("one"), owner=str(tmp_path), cidr=CIDR) == token


def test_a_claim_that_cannot_be_read_names_the_file_to_delete(tmp_path: Path) -> None:
    stack = StackNames("one")
    token = claim.make(stack, owner=str(tmp_path), cidr=CIDR)
    stack.owner_file.write_text("garbage")
    with pytest.raises(claim.Foreign, match=f"`rm {stack.owner_file}`"):
        claim.require(stack, token)
    stack.owner_file.unlink()
    assert claim.make(stack, owner=str(tmp_path), cidr=CIDR, token=token) == token

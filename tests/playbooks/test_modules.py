"""Decisions of the playbooks' own modules."""

import importlib
import pathlib
from typing import Any

import pytest

from tests.playbooks import clusters

slurm_accounting = importlib.import_module("slurm_accounting")
cluster_users = importlib.import_module("cluster_users")
adopted_folder = importlib.import_module("adopted_folder")

FRESH = [("starter", "root", ""), ("starter", "root", "root")]
DONE = [*FRESH, ("starter", "research", ""), ("starter", "research", "ada")]


def wanted(**changes: Any) -> dict[str, Any]:
    spec = clusters.cluster()
    return {"cluster": "starter", "organization": "clusterwright", "accounts": spec["accounts"], "users": spec["users"], "removed_users": [], **changes}


def plan(
    associations: list[tuple[str, str, str]], defaults: dict[str, str] | None = None, descriptions: dict[str, str] | None = None, **changes: Any
) -> list[str]:
    steps = slurm_accounting.plan(wanted(**changes), associations=associations, defaults=defaults or {}, descriptions=descriptions or {})
    return [" ".join(step) for step in steps]


def test_an_empty_database_gets_cluster_account_and_user() -> None:
    assert plan([]) == [
        "add cluster starter",
        "add account research cluster=starter description=First account organization=clusterwright",
        "add user ada account=research cluster=starter",
    ]


def test_a_finished_database_needs_nothing_and_additions_by_hand_stay() -> None:
    by_hand = [("starter", "research", "bob"), ("starter", "guests", ""), ("other", "research", "")]
    assert plan([*DONE, *by_hand], {"ada": "research"}) == []


def test_another_description_is_set_and_the_same_one_in_lower_case_is_not() -> None:
    assert plan(DONE, {"ada": "research"}, {"research": "first account"}) == []
    assert plan(DONE, {"ada": "research"}, {"research": "old"}) == ["modify account where name=research cluster=starter set description=First account"]


def test_a_cluster_of_another_name_does_not_count() -> None:
    assert plan([("other", "research", ""), ("other", "research", "ada")])[0] == "add cluster starter"


def test_another_default_account_is_set_and_one_that_comes_with_the_user_is_not() -> None:
    accounts = [{"name": name, "description": name, "users": ["ada"]} for name in ("first", "second")]
    users = [{"name": "ada", "default_account": "second"}]
    assert plan(FRESH, accounts=accounts, users=users)[-1] == "modify user where name=ada cluster=starter set defaultaccount=second"
    assert not any(step.startswith("modify") for step in plan(FRESH))


def test_who_left_the_blueprint_loses_the_associations_and_nobody_else() -> None:
    assert plan(DONE, {"ada": "research"}, removed_users=["ada", "stranger"]) == ["delete user where name=ada cluster=starter"]


def test_tables_of_users_hold_their_numbers_and_no_password() -> None:
    tables = {name: (text, mode) for name, text, mode in cluster_users._tables([{"name": "ada", "uid": 2001}], home="/home", shell="/bin/bash")}
    assert tables["passwd"] == ("ada:x:2001:2001::/home/ada:/bin/bash\n", 0o644)
    assert tables["group"] == ("ada:x:2001:\n", 0o644)
    text, mode = tables["shadow"]
    # `*` is no password; `!` would lock the account, keys included.
    assert text.split(":")[1] == "*"
    assert mode == 0o640


def test_keys_of_the_blueprint_replace_each_other_and_leave_a_users_own() -> None:
    once = cluster_users._with_block("ssh-ed25519 OWN\n", ["ssh-ed25519 FIRST"])
    twice = cluster_users._with_block(once, ["ssh-ed25519 SECOND"])
    assert "ssh-ed25519 OWN" in twice
    assert "FIRST" not in twice
    assert cluster_users._with_block(twice, ["ssh-ed25519 SECOND"]) == twice


def test_a_first_state_is_copied_whole_and_an_empty_folder_gives_way(tmp_path: pathlib.Path) -> None:
    seed, state = tmp_path / "seed", tmp_path / "state"
    (seed / "mysql").mkdir(parents=True)
    (seed / "mysql" / "user.frm").write_text("x")
    state.mkdir()
    adopted_folder._lay(str(state), str(seed))
    assert (state / "mysql" / "user.frm").read_text() == "x"
    assert not (tmp_path / "state.new").exists()


@pytest.mark.parametrize("left", ["ibdata1", "anything"])
def test_what_lies_where_a_first_state_goes_is_set_aside_and_never_deleted(tmp_path: pathlib.Path, left: str) -> None:
    seed, state = tmp_path / "seed", tmp_path / "state"
    (seed / "mysql").mkdir(parents=True)
    state.mkdir()
    (state / left).write_text("precious")
    adopted_folder._lay(str(state), str(seed))
    assert (tmp_path / "state.set-aside" / left).read_text() == "precious"

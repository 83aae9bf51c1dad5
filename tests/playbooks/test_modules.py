"""Decisions of the playbooks' own modules."""

import importlib
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from components.inspection.slurm import accounting
from tests.playbooks import clusters, templates

slurm_accounting = importlib.import_module("slurm_accounting")
cluster_users = importlib.import_module("cluster_users")
shared_folders = importlib.import_module("shared_folders")
adopted_folder = importlib.import_module("adopted_folder")
slurm_tables = importlib.import_module("slurm_tables")
allocation = importlib.import_module("acceptance.allocation")

Row = dict[str, str]


def associated(account: str, user: str = "", *, cluster: str = "starter", **limits: str) -> Row:
    """Give a row of associations as sacctmgr writes it, nothing being set for it alone."""
    above = "" if user or account == "root" else "root"
    row = {
        "cluster": cluster,
        "account": account,
        "user": user,
        "parentname": above,
        "fairshare": "1",
        "grptres": "",
        "grpjobs": "",
        "qos": "",
        "defaultqos": "",
    }
    return {**row, **limits}


def quality(name: str, **values: str) -> Row:
    return {"name": name, "priority": "0", "maxwall": "", "maxtrespu": "", "maxjobspu": "", "preempt": "", **values}


FRESH = [associated("root", qos="normal"), associated("root", "root")]
DONE = [*FRESH, associated("research"), associated("research", "ada")]
ADA = [{"user": "ada", "defaultaccount": "research", "adminlevel": "None"}]


def wanted(**changes: Any) -> dict[str, Any]:
    spec = clusters.cluster()
    whole = {
        "cluster": "starter",
        "organization": "clusterwright",
        "accounts": spec["accounts"],
        "qos": spec["slurm"]["qos"],
        "users": spec["users"],
        "removed_users": [],
    }
    return {**whole, **changes}


def account(name: str, *users: str, **changes: Any) -> dict[str, Any]:
    plain = {
        "name": name,
        "description": name,
        "users": list(users),
        "parent": None,
        "share": 1,
        "most_gpus": None,
        "most_nodes": None,
        "most_jobs": None,
        "qos": [],
    }
    return {**plain, **changes}


def qos(name: str, **changes: Any) -> dict[str, Any]:
    return {"name": name, "priority": 0, "max_time": "UNLIMITED", "gpus_per_user": None, "jobs_per_user": None, "preempts": [], **changes}


def plan(
    associations: list[Row], *, users: list[Row] | None = None, descriptions: dict[str, str] | None = None, qualities: list[Row] | None = None, **changes: Any
) -> list[str]:
    accounts = [{"account": name, "description": text} for name, text in (descriptions or {}).items()]
    there = {"associations": associations, "accounts": accounts, "qos": [quality("normal"), *(qualities or [])], "users": users or []}
    return [" ".join(step) for step in slurm_accounting.plan(wanted(**changes), **there)]


def test_an_empty_database_gets_cluster_account_and_user() -> None:
    assert plan([]) == [
        "add cluster starter",
        "add account research cluster=starter description=First account organization=clusterwright",
        "add user ada account=research cluster=starter",
    ]


def test_a_finished_database_needs_nothing_and_additions_by_hand_stay() -> None:
    by_hand = [associated("research", "bob", fairshare="7"), associated("guests", grpjobs="3"), associated("research", cluster="other", grpjobs="3")]
    assert plan([*DONE, *by_hand], users=ADA, qualities=[quality("fast", priority="9")]) == []


def test_another_description_is_set_and_the_same_one_in_lower_case_is_not() -> None:
    assert plan(DONE, users=ADA, descriptions={"research": "first account"}) == []
    described = ["modify account where name=research cluster=starter set description=First account"]
    assert plan(DONE, users=ADA, descriptions={"research": "old"}) == described


def test_an_account_without_a_description_has_its_name_as_one() -> None:
    bare = [account("research", "ada", description="")]
    assert "add account research cluster=starter description=research organization=clusterwright" in plan([], accounts=bare)
    assert plan(DONE, users=ADA, accounts=bare, descriptions={"research": "research"}) == []


def test_a_cluster_of_another_name_does_not_count() -> None:
    assert plan([associated("research", cluster="other"), associated("research", "ada", cluster="other")])[0] == "add cluster starter"


def test_another_default_account_is_set_and_one_that_comes_with_the_user_is_not() -> None:
    accounts = [account("first", "ada"), account("second", "ada")]
    users = [{"name": "ada", "default_account": "second", "admin": False}]
    steps = slurm_accounting.plan(wanted(accounts=accounts, users=users), associations=FRESH, accounts=[], qos=[], users=[])
    assert steps[-1] == ["modify", "user", "where", "name=ada", "cluster=starter", "set", "defaultaccount=second"]
    assert not any(step.startswith("modify") for step in plan(FRESH))


def test_who_left_the_blueprint_loses_the_associations_and_nobody_else() -> None:
    assert plan(DONE, users=ADA, removed_users=["ada", "stranger"]) == ["delete user where name=ada cluster=starter"]


LIMITED = account("research", "ada", share=60, most_gpus=12, most_nodes=2, most_jobs=5)
SET = {"fairshare": "60", "grptres": "node=2,gres/gpu=12", "grpjobs": "5"}


def of_research(**limits: str) -> list[Row]:
    return [*FRESH, associated("research", **limits), associated("research", "ada")]


@pytest.mark.parametrize(
    ("there", "asked", "changes"),
    [
        ({}, LIMITED, "fairshare=60 grptres=gres/gpu=12,node=2 grpjobs=5"),
        (SET, LIMITED, ""),
        ({**SET, "grptres": "node=2,gres/gpu=99"}, LIMITED, "grptres=gres/gpu=12"),  # raised by hand
        ({**SET, "grptres": "cpu=64,gres/gpu=12,node=2"}, LIMITED, ""),  # of something that no blueprint limits
        (SET, account("research", "ada"), "fairshare=1 grptres=gres/gpu=-1,node=-1 grpjobs=-1"),  # taken out of the blueprint
        (SET, {**LIMITED, "most_gpus": 0}, "grptres=gres/gpu=0"),
        ({"qos": "normal", "defaultqos": "normal"}, account("research", "ada"), ""),
        ({"qos": "fast,normal"}, account("research", "ada"), "qos=normal defaultqos=normal"),
    ],
)
def test_limits_of_an_account_are_those_of_the_blueprint(there: dict[str, str], asked: dict[str, Any], changes: str) -> None:
    steps = plan(of_research(**there), users=ADA, accounts=[asked])
    assert steps == ([f"modify account where name=research cluster=starter set {changes}"] if changes else [])


def test_accounts_come_after_those_that_they_are_part_of() -> None:
    tree = [account("vision", parent="physics"), account("physics", parent="science"), account("science")]
    assert [step.split(" description")[0] for step in plan(FRESH, accounts=tree) if step.startswith("add account")] == [
        "add account science cluster=starter",
        "add account physics cluster=starter parent=science",
        "add account vision cluster=starter parent=physics",
    ]


def test_an_account_that_moves_goes_before_what_comes_into_it() -> None:
    turned = [account("physics", parent="vision"), account("vision")]
    there = [*FRESH, associated("physics"), associated("vision", parentname="physics")]
    assert [step for step in plan(there, accounts=turned) if "parent" in step] == [
        "modify account where name=vision cluster=starter set parent=root",
        "modify account where name=physics cluster=starter set parent=vision",
    ]


TREE = [account("teaching", qos=["idle", "urgent"]), account("courses", parent="teaching"), account("science")]
QUALITIES = [qos("urgent", priority=1000, max_time="12:00:00", gpus_per_user=8, preempts=["idle"]), qos("idle", jobs_per_user=3)]


def test_jobs_may_have_what_their_account_says_or_the_one_above_it_or_else_all() -> None:
    steps = plan(FRESH, accounts=TREE, qos=QUALITIES)
    given = {step.split()[3]: step.split(" set ")[1] for step in steps if step.startswith("modify account")}
    assert given == {
        "name=teaching": "qos=idle,urgent defaultqos=idle",
        "name=courses": "qos=idle,urgent defaultqos=idle",
        "name=science": "qos=normal,urgent,idle defaultqos=normal",
    }


def test_all_qualities_of_service_are_there_before_one_names_another_and_before_accounts_do() -> None:
    steps = plan(FRESH, accounts=TREE, qos=QUALITIES)
    assert steps[:4] == [
        "add qos urgent",
        "add qos idle",
        "modify qos where name=urgent set priority=1000 maxwall=720 maxtresperuser=gres/gpu=8 preempt=idle",
        "modify qos where name=idle set maxjobsperuser=3",
    ]
    assert steps[4].startswith("add account")


THERE = [quality("urgent", priority="1000", maxwall="12:00:00", maxtrespu="gres/gpu=8", preempt="idle"), quality("idle", maxjobspu="3")]


@pytest.mark.parametrize(
    ("there", "asked", "steps"),
    [
        (THERE, QUALITIES, []),
        ([THERE[0] | {"maxtrespu": "gres/gpu=99", "priority": "5"}, THERE[1]], QUALITIES, ["urgent set priority=1000 maxtresperuser=gres/gpu=8"]),
        (THERE, [qos("idle")], ["idle set maxjobsperuser=-1"]),  # urgent left the blueprint, and stays
        ([THERE[0] | {"maxwall": "12:01:00"}, THERE[1]], [QUALITIES[0] | {"max_time": "12:00:30"}, QUALITIES[1]], []),  # kept in minutes
        (THERE, [QUALITIES[0] | {"preempts": []}, QUALITIES[1]], ["urgent set preempt="]),
        (THERE, [QUALITIES[0] | {"preempts": []}, QUALITIES[1] | {"preempts": ["urgent"]}], ["urgent set preempt=", "idle set preempt=urgent"]),
        (THERE, [QUALITIES[1] | {"preempts": ["urgent"]}, QUALITIES[0] | {"preempts": []}], ["urgent set preempt=", "idle set preempt=urgent"]),
    ],
)
def test_qualities_of_service_are_those_of_the_blueprint(there: list[Row], asked: list[dict[str, Any]], steps: list[str]) -> None:
    changed = [step for step in plan(DONE, users=ADA, qualities=there, qos=asked) if " qos where " in step]
    assert changed == [f"modify qos where name={step}" for step in steps]


@pytest.mark.parametrize(
    ("level", "admin", "step"),
    [
        ("None", True, ["modify user where name=ada set adminlevel=Administrator"]),
        ("Administrator", True, []),
        ("Administrator", False, ["modify user where name=ada set adminlevel=None"]),
        ("Operator", False, []),  # a blueprint knows no operators
        ("Operator", True, ["modify user where name=ada set adminlevel=Administrator"]),
    ],
)
def test_administrators_are_those_of_the_blueprint(level: str, admin: bool, step: list[str]) -> None:
    rows = [{**ADA[0], "adminlevel": level}]
    people = [{"name": "ada", "default_account": "research", "admin": admin}]
    assert slurm_accounting.plan(wanted(users=people), associations=DONE, accounts=[], qos=[], users=rows) == [one.split() for one in step]


ACCEPTANCE = quality("clusterwright-acceptance", maxjobspu="10000")
PERMITTED = [
    associated("root"),
    associated("root", "root"),
    associated("clusterwright-acceptance"),
    associated("clusterwright-acceptance", "root", qos="normal,clusterwright-acceptance"),
]
NAMED = "modify user where name=root account=clusterwright-acceptance cluster=starter set qos+=clusterwright-acceptance"


@pytest.mark.parametrize(
    ("associations", "present", "steps"),
    [
        (PERMITTED, [ACCEPTANCE], []),
        (PERMITTED, [], ["add qos clusterwright-acceptance"]),
        (PERMITTED, [ACCEPTANCE | {"maxjobspu": "0"}], ["modify qos where name=clusterwright-acceptance"]),
        (PERMITTED, [ACCEPTANCE | {"preempt": "normal"}], ["modify qos where name=clusterwright-acceptance"]),
        (PERMITTED[:3], [ACCEPTANCE], ["add user root account=clusterwright-acceptance cluster=starter", NAMED]),
        (
            FRESH,
            [ACCEPTANCE],
            ["add account clusterwright-acceptance cluster=starter fairshare=0", "add user root account=clusterwright-acceptance cluster=starter", NAMED],
        ),
    ],
)
def test_the_acceptance_has_an_account_and_a_quality_of_service_of_its_own(associations: list[Row], present: list[Row], steps: list[str]) -> None:
    found = slurm_accounting.acceptance_steps("starter", associations=associations, qos=[quality("normal"), *present])
    assert [" ".join(step)[: len(begin)] for step, begin in zip(found, steps, strict=True)] == steps


def test_all_roles_name_the_acceptance_s_account_and_quality_of_service_alike() -> None:
    names = {slurm_accounting.ACCEPTANCE_QOS, slurm_tables.ACCEPTANCE_QOS, allocation.QOS, accounting.ACCEPTANCE_QOS}
    assert len(names) == 1
    accounts = {slurm_accounting.ACCEPTANCE_ACCOUNT, slurm_tables.ACCEPTANCE_ACCOUNT, allocation.ACCOUNT, accounting.ACCEPTANCE_ACCOUNT}
    assert len(accounts) == 1
    assert accounts != {slurm_accounting.TOP_ACCOUNT}, "a partition that allows it would allow all accounts"


def test_limits_of_gpus_wait_for_a_database_that_counts_them() -> None:
    limited = wanted(accounts=[LIMITED], qos=QUALITIES)
    without = slurm_accounting.without_uncounted(limited, {"cpu", "node"})
    assert without != limited
    assert "gres/gpu" not in str(slurm_accounting.plan(without, associations=FRESH, accounts=[], qos=[], users=[]))
    assert slurm_accounting.without_uncounted(limited, {"cpu", "node", "gres/gpu"}) == limited
    assert slurm_accounting.without_uncounted(wanted(), {"cpu"}) == wanted(), "nothing waits where nothing is limited"


def tables_of(*users: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """Name → text and mode of each table of these users."""
    tables = cluster_users._tables(list(users), home="/home", shell="/bin/bash", admin_group={"name": "admins", "gid": 61000})
    return {name: (text, mode) for name, text, mode in tables}


def test_who_may_become_root_is_in_the_group_of_administrators() -> None:
    users = [{"name": name, "uid": number, "admin": name != "grace"} for number, name in enumerate(("grace", "alan", "ada"), start=2001)]
    assert tables_of(*users)["group"][0].splitlines()[-1] == "admins:x:61000:ada,alan"


def test_tables_of_users_hold_their_numbers_and_no_password() -> None:
    tables = tables_of({"name": "ada", "uid": 2001, "admin": False})
    assert tables["passwd"] == ("ada:x:2001:2001::/home/ada:/bin/bash\n", 0o644)
    assert tables["group"] == ("ada:x:2001:\nadmins:x:61000:\n", 0o644)
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
    adopted_folder._lay(str(state), str(seed), "mysql")
    assert (state / "mysql" / "user.frm").read_text() == "x"
    assert not (tmp_path / "state.new").exists()


@pytest.mark.parametrize("left", ["ibdata1", "anything"])
def test_what_lies_where_a_first_state_goes_is_set_aside_and_never_deleted(tmp_path: pathlib.Path, left: str) -> None:
    seed, state = tmp_path / "seed", tmp_path / "state"
    (seed / "mysql").mkdir(parents=True)
    state.mkdir()
    (state / left).write_text("precious")
    adopted_folder._lay(str(state), str(seed), "mysql")
    assert (tmp_path / "state.set-aside" / left).read_text() == "precious"


LAY_MOUNTED = """
import sys
sys.path.insert(0, sys.argv[1])
import adopted_folder
adopted_folder._lay("state", "seed", "mysql")
"""


@pytest.mark.parametrize(("was_killed", "kept"), [(False, ["ibdata1"]), (True, [])])
def test_a_first_state_is_laid_into_a_file_system_of_its_own(tmp_path: pathlib.Path, was_killed: bool, kept: list[str]) -> None:
    """It can't be renamed. What an earlier run laid before it was killed is no state of before."""
    seed, state = tmp_path / "seed", tmp_path / "state"
    (seed / "mysql").mkdir(parents=True)
    (seed / "ibdata1").write_text("new")
    (state / "lost+found").mkdir(parents=True)
    (state / "ibdata1").write_text("precious")
    if was_killed:
        (state / ".clusterwright").mkdir()
        (state / ".clusterwright/state.laying").touch()
    within = 'mount --bind state state && exec "$@"'
    program = [sys.executable, "-c", LAY_MOUNTED, str(templates.PLAYBOOKS / "library")]
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", within, "sh", *program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (state / "ibdata1").read_text() == "new"
    assert sorted(one.name for one in state.iterdir()) == [".clusterwright", "ibdata1", "lost+found", "mysql"]
    aside = [*state.glob(".clusterwright/state.set-aside/*")]
    assert [one.name for one in aside] == kept
    assert [one.read_text() for one in aside] == ["precious"] * len(kept)


SHARED_STATES = {"users": (0, 0, 0o1777), "administrators": (0, 61000, 0o3775), "root": (0, 0, 0o755)}


@pytest.mark.parametrize(
    ("present", "is_empty", "writers", "after"),
    [
        ((0, 0, 0o755), True, None, "users"),
        ((0, 0, 0o755), False, None, None),  # in use already
        ((0, 0, 0o700), True, None, None),  # somebody closed it
        ((2001, 2001, 0o755), True, None, None),
        ((0, 0, 0o1777), True, None, None),
        ((0, 0, 0o755), False, "users", "users"),
        ((0, 0, 0o1777), False, "users", None),
        ((0, 0, 0o1777), False, "administrators", "administrators"),
        ((0, 61000, 0o3775), False, "root", "root"),
        ((0, 61000, 0o3775), False, "users", "users"),
    ],
)
def test_a_shared_folder_gets_the_mode_that_lets_its_users_write(present: tuple[int, int, int], is_empty: bool, writers: str | None, after: str | None) -> None:
    wanted = SHARED_STATES[after] if after else None
    assert shared_folders.decide(present, is_empty=is_empty, writers=writers, admin_gid=61000, path="/shared") == wanted


@pytest.mark.parametrize("present", [(2001, 2001, 0o755), (0, 2001, 0o775)])
def test_a_shared_folder_of_somebody_else_is_not_taken_away(present: tuple[int, int, int]) -> None:
    with pytest.raises(shared_folders.Refused, match="`chown root:root /shared` on this host"):
        shared_folders.decide(present, is_empty=True, writers="users", admin_gid=61000, path="/shared")

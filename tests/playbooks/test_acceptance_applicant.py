"""Acceptance submits its jobs as somebody whom the blueprint lets run them."""

import importlib
from typing import Any

import pytest

from tests.playbooks import clusters

expectation = importlib.import_module("acceptance.expectation")

NOTHING: dict[str, Any] = {"description": "", "users": [], "parent": None, "share": 1, "most_gpus": None, "most_nodes": None, "most_jobs": None, "qos": []}
QUALITY: dict[str, Any] = {"priority": 0, "max_time": "UNLIMITED", "gpus_per_user": None, "jobs_per_user": None, "preempts": []}


def spec(
    people: dict[str, dict[str, Any]], users: dict[str, list[str]], *, qos: dict[str, dict[str, Any]] | None = None, pools: int = 1, **partition: Any
) -> dict[str, Any]:
    """Give a cluster of pools of two nodes with eight GPUs each; a user's first account is the default one."""
    record = clusters.cluster(*(clusters.node_set(f"train{number}") for number in range(pools)))
    of_slurm = clusters.with_slurm(
        record,
        qos=[{"name": name, **QUALITY, **values} for name, values in (qos or {}).items()],
        node_sets=[{**node_set, "partition": {**node_set["partition"], **partition}} for node_set in record["slurm"]["node_sets"]],
    )
    return {
        **of_slurm,
        "accounts": [{"name": name, **NOTHING, **values} for name, values in people.items()],
        "users": [
            {"name": name, "uid": 2001, "default_account": named[0], "accounts": named[1:], "ssh_keys": [], "admin": False} for name, named in users.items()
        ],
    }


def chosen(record: dict[str, Any]) -> tuple[str, ...] | None:
    applicant = expectation.expect(record).node_sets[0].applicant
    return None if applicant is None else tuple(word for word in (applicant.user, applicant.account, applicant.qos) if word)


PLAIN = {"ada": ["physics"], "alan": ["teaching"]}
BOTH: dict[str, dict[str, Any]] = {"physics": {}, "teaching": {}}


@pytest.mark.parametrize(
    ("record", "who"),
    [
        (spec({}, {}), ("root", "root")),
        (spec(BOTH, PLAIN), ("ada", "physics")),
        (spec({**BOTH, "physics": {"most_gpus": 64}}, PLAIN), ("alan", "teaching")),  # whom nothing limits comes first
        (spec({"physics": {"most_gpus": 12}, "teaching": {"most_gpus": 16}}, PLAIN), ("alan", "teaching")),
        (spec({"physics": {"most_nodes": 1}, "teaching": {"most_jobs": 1}}, PLAIN), ("alan", "teaching")),
        (spec({"physics": {"parent": "science"}, "science": {"most_gpus": 4}, "teaching": {}}, PLAIN), ("alan", "teaching")),
        (spec({"physics": {"most_gpus": 4}, "teaching": {"most_jobs": 0}}, PLAIN), None),
        (spec({"physics": {"most_gpus": 16}, "teaching": {"most_gpus": 32}}, PLAIN, pools=2), ("alan", "teaching")),  # all pools at one time
        (spec({"physics": {"most_gpus": 16}, "teaching": {"most_gpus": 8}}, PLAIN, pools=2), ("ada", "physics")),
        (spec(BOTH, PLAIN, accounts=["teaching"]), ("alan", "teaching")),
        (spec({"physics": {"parent": "science"}, "science": {}, "teaching": {}}, PLAIN, accounts=["science"]), ("ada", "physics")),
        (spec(BOTH, {"ada": ["physics", "teaching"]}, accounts=["teaching"]), ("ada", "teaching")),
        (spec(BOTH, PLAIN, qos={"urgent": {}}), ("ada", "physics")),
        (spec({**BOTH, "physics": {"qos": ["idle"]}}, PLAIN, qos={"idle": {"gpus_per_user": 8}}), ("alan", "teaching")),
    ],
)
def test_a_job_is_submitted_by_the_first_whom_accounts_and_limits_let(record: dict[str, Any], who: tuple[str, ...] | None) -> None:
    assert chosen(record) == who


@pytest.mark.parametrize(
    ("listed", "taken", "who"),
    [
        ([], ["urgent"], ("ada", "physics", "urgent")),
        (["urgent", "idle"], ["idle"], ("ada", "physics", "idle")),
        (["urgent", "idle"], ["urgent"], ("ada", "physics")),  # what its jobs have that name none
        (["idle"], ["urgent"], None),
    ],
)
def test_a_partition_for_some_qualities_of_service_is_tried_with_one_of_them(listed: list[str], taken: list[str], who: tuple[str, ...] | None) -> None:
    record = spec({"physics": {"qos": listed}}, {"ada": ["physics"]}, qos={"urgent": {}, "idle": {}})
    (node_set,) = record["slurm"]["node_sets"]
    assert chosen(clusters.with_slurm(record, node_sets=[{**node_set, "partition": {**node_set["partition"], "qos": taken}}])) == who

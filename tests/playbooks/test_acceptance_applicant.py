"""Acceptance takes the view of a user whom the partition admits."""

import importlib
from typing import Any

import pytest

from tests.playbooks import clusters

expectation = importlib.import_module("acceptance.expectation")

NOTHING: dict[str, Any] = {"description": "", "users": [], "parent": None, "share": 1, "most_gpus": None, "most_nodes": None, "most_jobs": None, "qos": []}
QUALITY: dict[str, Any] = {"priority": 0, "max_time": "UNLIMITED", "gpus_per_user": None, "jobs_per_user": None, "preempts": []}


def spec(people: dict[str, dict[str, Any]], users: dict[str, list[str]], *, qos: tuple[str, ...] = (), **partition: Any) -> dict[str, Any]:
    """Give a cluster with a pool of two nodes; a user's first account is the default one."""
    record = clusters.cluster(clusters.node_set())
    of_slurm = clusters.with_slurm(
        record,
        qos=[{"name": name, **QUALITY} for name in qos],
        node_sets=[{**node_set, "partition": {**node_set["partition"], **partition}} for node_set in record["slurm"]["node_sets"]],
    )
    return {
        **of_slurm,
        "accounts": [{"name": name, **NOTHING, **values} for name, values in people.items()],
        "users": [
            {"name": name, "uid": 2001, "default_account": named[0], "accounts": named[1:], "ssh_keys": [], "admin": False} for name, named in users.items()
        ],
    }


PLAIN = {"ada": ["physics"], "alan": ["teaching"]}
BOTH: dict[str, dict[str, Any]] = {"physics": {}, "teaching": {}}


@pytest.mark.parametrize(
    ("record", "who"),
    [
        (spec({}, {}), None),
        (spec(BOTH, PLAIN), ("ada", "physics")),
        (spec({**BOTH, "physics": {"most_jobs": 0}}, PLAIN), ("ada", "physics")),  # limits hold jobs of users, not the acceptance's
        (spec(BOTH, PLAIN, accounts=["teaching"]), ("alan", "teaching")),
        (spec({"physics": {"parent": "science"}, "science": {}, "teaching": {}}, PLAIN, accounts=["science"]), ("ada", "physics")),
        (spec(BOTH, {"ada": ["physics", "teaching"]}, accounts=["teaching"]), ("ada", "teaching")),
        (spec(BOTH, PLAIN, accounts=["guests"]), None),
        (spec({**BOTH, "physics": {"qos": ["idle"]}}, PLAIN, qos=("idle",)), ("ada", "physics")),
    ],
)
def test_the_first_user_whom_the_partition_admits(record: dict[str, Any], who: tuple[str, ...] | None) -> None:
    applicant = expectation.expect(record).node_sets[0].applicant
    assert (None if applicant is None else tuple(word for word in (applicant.user, applicant.account, applicant.qos) if word)) == who


@pytest.mark.parametrize(
    ("listed", "taken", "qos"),
    [
        ([], ["urgent"], "urgent"),
        (["urgent", "idle"], ["idle"], "idle"),
        (["urgent", "idle"], ["urgent"], ""),  # what its jobs have that name none
    ],
)
def test_a_partition_for_some_qualities_of_service_is_asked_with_one_of_them(listed: list[str], taken: list[str], qos: str) -> None:
    record = spec({"physics": {"qos": listed}}, {"ada": ["physics"]}, qos=("urgent", "idle"))
    (node_set,) = record["slurm"]["node_sets"]
    changed = clusters.with_slurm(record, node_sets=[{**node_set, "partition": {**node_set["partition"], "qos": taken}}])
    assert expectation.expect(changed).node_sets[0].applicant.qos == qos

"""People, and the small parts that are taken over as they are."""

from blueprints import spec
from tests.blueprints import hand_made
from tests.blueprints.resolve import asked


def test_accounts_users_and_qualities() -> None:
    cluster = asked.cluster(
        accounts={
            "a": {"description": "A", "share": 3, "limits": {"gpus": 64, "nodes": 8, "jobs": 5}, "qos": ["high"]},
            "b": {"parent": "a"},
        },
        users={"ada": {"uid": 2001, "account": "a", "admin": True}, "bob": {"uid": 2002, "account": "b", "accounts": ["a"]}},
        qos={"high": {"priority": 10, "max_time": 60, "gpus_per_user": 8, "jobs_per_user": 2, "preempts": ["low"]}, "low": {}},
    )
    assert cluster.accounts == (
        spec.Account("a", "A", ("ada", "bob"), share=3, most_gpus=64, most_nodes=8, most_jobs=5, qos=("high",)),
        spec.Account("b", "", ("bob",), parent="a"),
    )
    assert cluster.users == (spec.User("ada", 2001, "a", (), admin=True), spec.User("bob", 2002, "b", (), accounts=("a",)))
    assert hand_made.slurm(cluster).qos == (
        spec.Qos("high", 10, "01:00:00", gpus_per_user=8, jobs_per_user=2, preempts=("low",)),
        spec.Qos("low", 0, "UNLIMITED", gpus_per_user=None, jobs_per_user=None, preempts=()),
    )


def test_maintenance_monitoring_acceptance_and_tags() -> None:
    cluster = asked.cluster(
        maintenance=[{"weekday": "tuesday", "start": "02:00", "hours": 4, "week": "first"}],
        monitoring={"metrics": True, "retention_days": 90, "dashboards": False},
        acceptance={"gate": ["nodes", "gpus"]},
        tags={"team": "vision"},
    )
    assert cluster.maintenance == (spec.Window("tuesday", "02:00", 4, "first"),)
    assert cluster.monitoring == spec.Monitoring(metrics=True, retention_days=90, dashboards=False)
    assert cluster.acceptance == ("nodes", "gpus")
    assert cluster.tags == (("team", "vision"),)

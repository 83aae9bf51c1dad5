"""A service that runs training jobs: what its workers are, which network the stack has, what it costs and what changing it does."""

from typing import Any

import pytest

from blueprints import catalog, finding, language, load, resolve, spec
from blueprints.codes import Code
from blueprints.facts import Facts
from blueprints.plan import changes, estimate, quotas
from blueprints.spec import cost

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
POOL = {"accelerator": "h100", "gpus_per_node": 8, "nodes": 4, "fabric": "required", "capacity": {"kind": "flex", "max_run": "3-00:00:00"}}


def cluster(**more: Any) -> spec.ClusterSpec:
    asked = {"name": "tiny", "scheduler": "training", "pools": {"train": POOL}, **more}
    return resolve.resolve(language.Blueprint.model_validate(asked), target="gcp", stack="t", facts=FACTS)


def test_a_service_has_workers_and_no_hosts() -> None:
    found = cluster(users={"ada": {"uid": 2000, "account": "a"}}, accounts={"a": {}})
    assert found.schedulers == ("training",)
    assert found.offerings == ("vertex",)
    assert (found.slurm, found.kubernetes, found.access.count, found.users, found.accounts, found.software.profile) == (None, None, 0, (), (), "")
    (workers,) = found.node_sets
    assert (workers.scheduler, workers.always, workers.hosts.count, workers.hosts.machine.name) == ("training", 0, 4, "a3-megagpu-8g")
    assert (workers.capacity.kind.value, workers.capacity.max_run) == ("flex", "3-00:00:00")
    # How the service connects its machines is its own: no fabric, interface or rate is promised.
    assert (workers.fabric, workers.collectives, workers.hosts.machine.nics) == (None, (), ())


def test_the_stack_has_a_network_only_where_file_systems_need_one() -> None:
    bucket = {"kind": "object", "mount": "/gcs/sets"}
    share = {"kind": "nfs", "mount": "/mnt/nfs/home", "size": "1 TiB"}
    for without in (cluster(), cluster(storage={"sets": bucket})):
        assert (without.network.region, without.network.cidr, without.network.subnets, without.services) == ("us-central1", "", (), ())
    served = cluster(storage={"home": share})
    assert [one.name for one in served.network.subnets] == ["cluster"]
    assert served.network.egress == "none"
    assert served.services == ()


def test_a_bucket_is_seen_by_a_name_that_no_blueprint_can_know() -> None:
    found = cluster(storage={"sets": {"kind": "object", "mount": "/anywhere"}, "home": {"kind": "nfs", "mount": "/mnt/nfs/home", "size": "1 TiB"}})
    assert [one.mount for one in found.storage] == ["/gcs/<bucket, known later>", "/mnt/nfs/home"]


@pytest.mark.parametrize("managed", [False, True, "vertex"])
def test_the_service_is_the_targets_own_however_it_is_asked_for(managed: bool | str) -> None:
    found = cluster(control={"managed": managed}).training
    assert found is not None
    assert found.run_by == "vertex"


@pytest.mark.parametrize("target", [name for name in catalog.target_names() if not catalog.target(name).offerings.get("training")])
def test_targets_without_such_a_service_refuse_it(target: str) -> None:
    asked = language.Blueprint.model_validate({"name": "tiny", "scheduler": "training", "pools": {"train": {"nodes": 1}}})
    attempt = resolve.attempt(asked, target=target, stack="t", facts=FACTS, where=lambda *_: None)
    assert Code.MANAGED_MISSING in {one.code for one in attempt.findings if one.level is finding.Level.ERROR}
    assert attempt.spec.training is None


def test_it_can_be_planned_and_not_provisioned(tmp_path: Any) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text("name: tiny\nscheduler: training\npools: {train: {accelerator: h100, gpus_per_node: 8, nodes: 4, capacity: spot}}\n")
    assert load.examine(str(path), target="gcp", stack="t", facts=FACTS).spec.training is not None
    with pytest.raises(finding.Invalid) as refused:
        load.load(str(path), target="gcp", stack="t", facts=FACTS)
    assert Code.SCHEDULER_NOT_BUILT in {one.code for one in refused.value.findings}


def test_no_price_or_quota_of_instances_is_given_for_its_machines() -> None:
    found = cluster()
    part = estimate.estimate(found).part("compute", "train")
    assert part is not None
    assert (part.unit_usd_per_hour, part.count_min, part.count_max) == (None, 0, 4)
    assert "Vertex AI" in part.note
    assert quotas.needed(found) == ()
    assert quotas.unknown(found) == ("a3-megagpu-8g of Vertex AI (flex)",)


def test_a_record_of_it_is_read_again_and_one_of_other_clusters_does_not_name_it() -> None:
    found = cluster()
    assert spec.from_record(spec.as_record(found)) == found
    other = resolve.resolve(language.Blueprint.model_validate({"name": "tiny", "pools": {"train": {"nodes": 1}}}), target="gcp", stack="t", facts=FACTS)
    assert "training" not in spec.as_record(other)


def test_other_workers_change_nothing_that_runs() -> None:
    recorded = spec.as_record(cluster(pools={"train": {**POOL, "nodes": 8}, "more": POOL}))
    found = changes.compare(recorded, cluster(pools={"train": {**POOL, "accelerator": "h200"}}))
    assert {one.key for one in found} >= {"pools.train.nodes.max", "pools.train.machine", "pools.more"}
    assert {one.effect for one in found} == {cost.Effect.IN_PLACE}


def findings(**more: Any) -> tuple[finding.Finding, ...]:
    asked = language.Blueprint.model_validate({"name": "tiny", "scheduler": "training", "pools": {"train": POOL}, **more})
    return resolve.attempt(asked, target="gcp", stack="t", facts=FACTS, where=lambda *_: None).findings


def test_a_pool_of_another_scheduler_is_not_advised_to_turn_the_blueprint_into_hosts() -> None:
    (advised,) = (one.remedy for one in findings(pools={"train": {**POOL, "scheduler": "slurm"}}) if one.code is Code.POOL_SCHEDULER)
    assert advised == "remove this key"


@pytest.mark.parametrize(("asked", "also"), [({}, ""), ({"managed": "vertex"}, " and remove `control.managed`")])
def test_the_scheduler_that_can_be_provisioned_instead_is_accepted_as_advised(asked: dict[str, str], also: str) -> None:
    (advised,) = (one.remedy for one in findings(control=asked) if one.code is Code.SCHEDULER_NOT_BUILT)
    assert advised == f"write `scheduler: slurm`{also} to provision a cluster for the same jobs"
    refused = (Code.SCHEDULER_NOT_BUILT, Code.MANAGED_MISSING)
    assert [one.code for one in findings(scheduler="slurm") if one.code in refused] == []

"""What a blueprint's accounts, pools and QOS become in a cluster. tests/apiserver has the API server judge it."""

import dataclasses
from typing import Any

import pytest

from blueprints import spec
from components.kubernetes import jobs, labels, network_policies, queues, quotas
from tests.blueprints import hand_made

GPUS = dataclasses.replace(hand_made.LOCAL_MACHINE, gpus=spec.Gpus("h100", 8, simulated=True))
TWO = (spec.Account("research", "", ("ada",), share=3), spec.Account("product", "", ("bob",)))


def cluster(
    *, nodes: int = 4, accounts: tuple[spec.Account, ...] = TWO, qos: tuple[spec.Qos, ...] = (), pools: tuple[str, ...] = ("train",)
) -> spec.ClusterSpec:
    sets = [spec.NodeSet(name, None, hand_made.hosts(name, nodes, "", GPUS), features=()) for name in pools]
    kubernetes = spec.Kubernetes("kubernetes_hosts", "hosts", "1.34.4", hand_made.hosts("kubernetes", 1, "", hand_made.LOCAL_MACHINE), tuple(sets), qos=qos)
    return dataclasses.replace(hand_made.local(), slurm=None, kubernetes=kubernetes, accounts=accounts)


def objects(wanted: spec.ClusterSpec) -> list[dict[str, Any]]:
    return [*queues.shared(wanted), *(one for of_account in queues.by_account(wanted).values() for one in of_account)]


def amounts(found: dict[str, quotas.Quota]) -> dict[str, tuple[int, int]]:
    return {name: (one.owned, one.most) for name, one in found.items()}


def test_shares_divide_a_capacity_without_a_rest() -> None:
    three = (spec.Account("a", "", ("x",)), spec.Account("b", "", ("x",)), spec.Account("c", "", ("x",)))
    assert amounts(quotas.divide(32, TWO, caps={})) == {"research": (24, 32), "product": (8, 32)}
    assert sum(one.owned for one in quotas.divide(16, three, caps={}).values()) == 16


def test_what_a_limit_leaves_goes_to_the_others() -> None:
    assert amounts(quotas.divide(32, TWO, caps={"research": 8})) == {"research": (8, 8), "product": (24, 32)}


def test_nobody_owns_more_than_its_limit_where_all_are_limited() -> None:
    assert amounts(quotas.divide(32, TWO, caps={"research": 8, "product": 4})) == {"research": (8, 8), "product": (4, 4)}


def test_a_parent_is_divided_among_its_children() -> None:
    tree = (
        spec.Account("lab", "", ()),
        spec.Account("vision", "", ("ada",), parent="lab"),
        spec.Account("speech", "", ("bob",), parent="lab"),
        spec.Account("product", "", ("eve",)),
    )
    assert amounts(quotas.divide(32, tree, caps={})) == {"vision": (8, 32), "speech": (8, 32), "product": (16, 32)}


@pytest.mark.parametrize("capacity", [0, 1, 2, 3, 7, 1000])
def test_all_of_a_capacity_is_owned(capacity: int) -> None:
    assert sum(one.owned for one in quotas.divide(capacity, TWO, caps={}).values()) == capacity


def test_a_limit_of_nodes_is_one_of_gpus() -> None:
    limited = (dataclasses.replace(TWO[0], most_nodes=1), TWO[1])
    [capacity] = quotas.capacities(cluster().kubernetes.node_sets)  # type: ignore[union-attr]
    assert quotas.of_pool(capacity, limited)["research"]["gpus"] == quotas.Quota(8, 8)


def test_objects_grow_with_accounts_and_pools_and_not_with_nodes() -> None:
    few, many = objects(cluster(nodes=2)), objects(cluster(nodes=5000))
    assert len(few) == len(many)
    assert len(objects(cluster(accounts=(*TWO, spec.Account("third", "", ("eve",)))))) - len(few) == 5
    assert len(objects(cluster(pools=("train", "serve")))) - len(few) == 1


def test_kueue_does_not_look_for_room_on_nodes_that_come_with_pods() -> None:
    """It would admit nothing while they are away. The flavor has another name: what it says of topology can't change."""
    elastic = cluster(nodes=2).with_node_sets(lambda one: dataclasses.replace(one, minimum=0))
    for wanted, name, levels in ((cluster(nodes=2), "train", {"topologyName"}), (elastic, "train.elastic", set())):
        [flavor] = [one for one in objects(wanted) if one["kind"] == "ResourceFlavor"]
        assert (flavor["metadata"]["name"], flavor["spec"].keys() & {"topologyName"}) == (name, levels)
        of_queues = [one["spec"]["resourceGroups"][0]["flavors"] for one in objects(wanted) if one["kind"] == "ClusterQueue"]
        assert {one["name"] for found in of_queues for one in found} == {name}


def test_queues_share_what_the_others_leave() -> None:
    found = {one["metadata"]["name"]: one["spec"] for one in objects(cluster()) if one["kind"] == "ClusterQueue"}
    assert {one["cohort"] for one in found.values()} == {"starter"}
    [flavor] = found["research"]["resourceGroups"][0]["flavors"]
    assert {"name": labels.GPU, "nominalQuota": "24", "borrowingLimit": "8"} in flavor["resources"]
    assert found["research"]["preemption"]["reclaimWithinCohort"] == "Any"


def test_an_account_is_a_namespace_that_only_its_members_may_use() -> None:
    found = [one for one in objects(cluster()) if one["metadata"].get("namespace") == "research"]
    [binding] = [one for one in found if one["kind"] == "RoleBinding"]
    assert [subject["name"] for subject in binding["subjects"]] == ["ada"]
    [policy] = [one for one in found if one["kind"] == "NetworkPolicy"]
    assert policy["spec"]["podSelector"] == {}
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": {}}]}]


def test_an_account_reaches_its_own_pods_dns_the_api_server_and_what_is_outside() -> None:
    wanted = cluster()
    own, dns, server, outside = network_policies.of_account("research", wanted, marks={})["spec"]["egress"]
    assert own == {"to": [{"podSelector": {}}]}
    assert [one["port"] for one in dns["ports"]] == [53, 53]
    assert server["to"] == [{"ipBlock": {"cidr": wanted.network.cidr}}]
    assert {one["port"] for one in server["ports"]} == {6443, 6444}
    assert outside == {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": [wanted.network.cidr]}}]}


def test_pods_reach_everything_where_a_cloud_runs_the_control_plane() -> None:
    wanted = cluster()
    managed = dataclasses.replace(wanted, kubernetes=dataclasses.replace(queues.kubernetes_of(wanted), control=None))
    rules = network_policies.of_account("research", managed, marks={})["spec"]
    assert rules["policyTypes"] == ["Ingress"]
    assert "egress" not in rules


def test_simulated_nodes_are_a_flavor_and_quota_of_their_own_behind_a_taint() -> None:
    plain = cluster()
    wanted = dataclasses.replace(plain, kubernetes=dataclasses.replace(queues.kubernetes_of(plain), kwok_nodes=(spec.KwokNodes("train", 64),)))
    flavors = {one["metadata"]["name"]: one["spec"] for one in objects(wanted) if one["kind"] == "ResourceFlavor"}
    assert flavors["train-kwok"]["nodeLabels"] == {labels.POOL: "train-kwok"}
    assert flavors["train-kwok"]["nodeTaints"] == [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]
    [queue] = [one for one in objects(wanted) if one["kind"] == "ClusterQueue" and one["metadata"]["name"] == "research"]
    offered = {one["name"]: {of["name"]: of["nominalQuota"] for of in one["resources"]} for one in queue["spec"]["resourceGroups"][0]["flavors"]}
    assert (offered["train"][labels.GPU], offered["train-kwok"][labels.GPU]) == ("24", "384")
    assert "nodeTaints" not in flavors["train"]


def test_a_flavor_has_the_taints_that_keep_pods_away() -> None:
    """Kueue offers nodes with such a taint to jobs that tolerate it; nodes that are only avoided are offered to all."""
    taints = (spec.Taint("for", "training", "NoSchedule"), spec.Taint("rather", "not", "PreferNoSchedule"))
    [flavor] = queues.flavors([dataclasses.replace(one, taints=taints) for one in queues.kubernetes_of(cluster()).node_sets])
    assert flavor["spec"]["nodeTaints"] == [{"key": "for", "value": "training", "effect": "NoSchedule"}]


def test_only_namespaces_whose_pods_lock_memory_for_a_fabric_are_privileged() -> None:
    wanted = cluster()
    sets = queues.kubernetes_of(wanted).node_sets
    levels = []
    for found in (sets, [dataclasses.replace(one, fabric=hand_made.EFA) for one in sets]):
        namespace = next(one for one in queues.of_account(TWO[0], wanted, found, ()) if one["kind"] == "Namespace")
        levels.append(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"])
    assert levels == ["baseline", "privileged"]


def test_qos_become_priorities_and_preemption() -> None:
    urgent = spec.Qos("urgent", 100, "01:00:00", None, None, ("normal",))
    found = objects(cluster(qos=(urgent, spec.Qos("normal", 10, "UNLIMITED", None, None, ()))))
    assert {one["metadata"]["name"]: one["value"] for one in found if one["kind"] == "WorkloadPriorityClass"} == {"urgent": 100, "normal": 10}
    assert all(one["spec"]["preemption"]["withinClusterQueue"] == "LowerPriority" for one in found if one["kind"] == "ClusterQueue")
    [policy] = [one for one in found if one["kind"] == "ValidatingAdmissionPolicy" and one["metadata"]["name"].startswith("clusterwright-qos")]
    assert "<= 3600" in policy["spec"]["validations"][0]["expression"]


def test_limits_hold_for_all_that_users_may_create_and_kueue_admits_by_labels() -> None:
    [policy] = [one for one in queues.time_limits([spec.Qos("urgent", 100, "01:00:00", None, None, ())]) if one["kind"] == "ValidatingAdmissionPolicy"]
    judged = {resource for rule in policy["spec"]["matchConstraints"]["resourceRules"] for resource in rule["resources"]}
    assert judged == {"pods", "jobs", "cronjobs", *(resource for _, resources in queues.JOB_RULES for resource in resources)}


def test_no_job_in_any_form_names_a_class_of_the_system() -> None:
    """Each form has its pods' class at another place, and the rule names all of them."""
    [policy, _] = queues.classes_of_the_system()
    [rule] = policy["spec"]["validations"]
    for form in ("job", "jobset", "pytorchjob", "mpijob"):
        for manifest in jobs.manifests(jobs.Job("a", "example.org/a:1", ("true",)), form):
            for step in places(manifest):
                assert f"?{step}" in rule["expression"]
    assert any(one["metadata"]["name"] == policy["metadata"]["name"] for one in queues.shared(cluster(), has_queues=False))


def places(manifest: Any) -> set[str]:
    """Name the fields on the way to the pods of a job."""
    if isinstance(manifest, list):
        return set().union(*(places(one) for one in manifest))
    if not isinstance(manifest, dict):
        return set()
    return {step for name, part in manifest.items() if "'containers'" in str(part) for step in ({name} - {"Master", "Launcher", "Worker"}) | places(part)}


def test_the_labels_that_decide_are_those_of_a_job_and_of_what_is_made_of_it() -> None:
    [policy] = [one for one in queues.time_limits([spec.Qos("urgent", 100, "01:00:00", None, None, ())]) if one["kind"] == "ValidatingAdmissionPolicy"]
    [rule] = policy["spec"]["validations"]
    train = jobs.manifests(jobs.Job("a", "example.org/a:1", ("true",), qos="urgent"), "trainjob")[0]
    assert train["spec"]["labels"] == train["metadata"]["labels"]
    for path in ("metadata.?labels", "?spec.?labels", "?spec.?jobTemplate.?metadata.?labels"):
        assert f"dyn(object).{path}" in rule["expression"]


@pytest.mark.parametrize(
    ("own", "above", "allowed"),
    [((), (), None), (("slow",), (), ["slow"]), ((), ("slow",), ["slow"]), (("fast",), ("slow",), ["fast"]), (("slow", "fast"), (), None)],
)
def test_an_account_uses_the_qos_of_its_own_list_or_of_its_parents(own: tuple[str, ...], above: tuple[str, ...], allowed: list[str] | None) -> None:
    qos = tuple(spec.Qos(name, 1, "UNLIMITED", None, None, ()) for name in ("slow", "fast"))
    accounts = (spec.Account("lab", "", (), qos=above), spec.Account("Vision", "", ("ada",), parent="lab", qos=own))
    found = queues.by_account(cluster(accounts=accounts, qos=qos))["vision"]
    policies = [one["spec"] for one in found if one["kind"] == "ValidatingAdmissionPolicy"]
    bindings = [one["spec"] for one in found if one["kind"] == "ValidatingAdmissionPolicyBinding"]
    if allowed is None:
        assert policies == bindings == []
        return
    [only] = policies
    [bound] = bindings
    classes = ", ".join(f"'{name}'" for name in allowed)
    assert only["validations"][0]["expression"].endswith(f".all(one, !('{labels.PRIORITY}' in one) || one['{labels.PRIORITY}'] in [{classes}])")
    assert bound["matchResources"]["namespaceSelector"] == {"matchLabels": {labels.ACCOUNT: "vision"}}


def test_only_administrators_administer() -> None:
    users = (spec.User("ada", 2001, "research", ()), spec.User("root-ada", 2002, "research", (), admin=True))
    found = objects(dataclasses.replace(cluster(), users=users))
    [binding] = [one for one in found if one.get("roleRef", {}).get("name") == "cluster-admin"]
    assert [subject["name"] for subject in binding["subjects"]] == ["root-ada"]


def test_without_kueue_there_are_namespaces_and_rights_alone() -> None:
    rules = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert {one["kind"] for one in queues.shared(cluster(), has_queues=False)} == {"ClusterRole", "ClusterRoleBinding", *rules}
    assert {one["kind"] for one in queues.by_account(cluster(), has_queues=False)["research"]} == {"Namespace", "RoleBinding", "NetworkPolicy"}


def test_each_account_has_a_claim_for_each_file_system_that_nodes_mount() -> None:
    home = spec.FileSystem("home", "nfs", "/home", protect=True, simulated=False)
    found = queues.by_account(cluster(), has_queues=False, file_systems=[home])
    for account, manifests in found.items():
        [volume] = [one for one in manifests if one["kind"] == "PersistentVolume"]
        [claim] = [one for one in manifests if one["kind"] == "PersistentVolumeClaim"]
        assert volume["spec"]["claimRef"]["namespace"] == claim["metadata"]["namespace"] == account
        assert (volume["spec"]["hostPath"]["path"], claim["spec"]["volumeName"]) == ("/home", volume["metadata"]["name"])
    assert len({one["metadata"]["name"] for manifests in found.values() for one in manifests if one["kind"] == "PersistentVolume"}) == len(found)


def test_pods_of_accounts_with_a_fabric_are_held_to_rules_where_the_standard_is_not() -> None:
    plain = cluster()
    fast = plain.with_node_sets(lambda one: dataclasses.replace(one, fabric=hand_made.EFA))
    for wanted, expected in ((plain, {"baseline": False}), (fast, {"privileged": True})):
        [namespace] = [one for one in queues.by_account(wanted)["research"] if one["kind"] == "Namespace"]
        has_rules = any(one["metadata"]["name"] == "clusterwright-fabrics" for one in queues.shared(wanted, has_queues=False))
        assert {namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]: has_rules} == expected


@pytest.mark.parametrize(
    ("mebibytes", "written"), [(0, "0"), (1, "1Mi"), (1536, "1536Mi"), (4096, "4Gi"), (1024**2, "1Ti"), (3 * 1024**3, "3Pi"), (1024**4, "1024Pi")]
)
def test_memory_is_written_as_kubernetes_writes_it_so_that_what_comes_back_is_equal(mebibytes: int, written: str) -> None:
    assert queues._mebibytes(mebibytes) == written

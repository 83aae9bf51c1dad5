"""Jobs in every form, and what a submission becomes on a cluster. tests/apiserver has the API server judge the forms that it knows."""

import dataclasses
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprints import catalog, spec
from blueprints.project import project_root
from components.kubernetes import jobs, labels, rdma_devices, settings, submission
from tests.blueprints import hand_made
from tests.components.kubernetes import test_queues

TRAIN = jobs.Job("train", "example.org/torch:1", ("torchrun", "train.py"), nodes=2, gpus_per_node=8, account="research", pool="train", one_rack=True)


def pods(manifest: Any) -> list[dict[str, Any]]:
    """Find every pod template in a manifest."""
    found = []
    if isinstance(manifest, dict):
        if "containers" in manifest:
            found.append(manifest)
        found += [pod for value in manifest.values() for pod in pods(value)]
    elif isinstance(manifest, list):
        found += [pod for value in manifest for pod in pods(value)]
    return found


@pytest.mark.parametrize("form", jobs.FORMS)
def test_every_form_waits_in_the_queue_of_its_account(form: str) -> None:
    written = jobs.manifests(TRAIN, form)[-1]
    assert written["metadata"]["namespace"] == "research"
    assert written["metadata"]["labels"][labels.QUEUE] == labels.LOCAL_QUEUE


@pytest.mark.parametrize("form", [form for form in jobs.FORMS if form != "trainjob"])
def test_every_form_asks_for_the_gpus_of_its_nodes_in_the_pool(form: str) -> None:
    found = pods(jobs.manifests(TRAIN, form)[-1])
    assert all(pod["nodeSelector"] == {labels.POOL: "train"} for pod in found)
    assert any(pod["containers"][0].get("resources", {}).get("limits", {}).get(labels.GPU) == "8" for pod in found)


def test_pods_of_a_job_on_several_nodes_find_the_first_one() -> None:
    service, job = jobs.manifests(TRAIN, "job")
    [pod] = pods(job)
    environment = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
    assert (pod["subdomain"], environment["MASTER_ADDR"]) == (service["metadata"]["name"], "train-0.train")
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 2
    assert [one["kind"] for one in jobs.manifests(dataclasses.replace(TRAIN, nodes=1), "job")] == ["Job"]


MOUNTED = dataclasses.replace(TRAIN, mounts=(jobs.Mount("home", "/home"), jobs.Mount("shared", "/shared")), uid=2001)


@pytest.mark.parametrize("form", ["job", "jobset", "pytorchjob"])
def test_a_job_with_storage_has_it_at_its_place_and_runs_as_the_user(form: str) -> None:
    for pod in pods(jobs.manifests(MOUNTED, form)[-1]):
        [container] = pod["containers"]
        claims = {one["name"]: one["persistentVolumeClaim"]["claimName"] for one in pod["volumes"]}
        assert {claims[one["name"]]: one["mountPath"] for one in container["volumeMounts"]} == {"home": "/home", "shared": "/shared"}
        assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]) == (2001, 2001)
        assert container["securityContext"] == {"allowPrivilegeEscalation": False}


@pytest.mark.parametrize("form", ["mpijob", "trainjob"])
def test_forms_that_can_not_run_as_a_user_are_refused_with_storage(form: str) -> None:
    with pytest.raises(jobs.JobInvalid, match="--as jobset"):
        jobs.manifests(MOUNTED, form)


def test_a_submission_with_storage_runs_as_a_member_of_its_account() -> None:
    cluster = test_queues.cluster()
    users = (spec.User("ada", 2001, "research", ()), spec.User("bob", 2002, "product", ()))
    cluster = dataclasses.replace(cluster, users=users, storage=(spec.FileSystem("home", "nfs", "/home", protect=False, simulated=True),))
    asked = submission.JobFile(image="a", command=["true"], account="research", storage=["home"])
    job = submission.job(asked, cluster, user="ada")
    assert (job.mounts, job.uid) == ((jobs.Mount("files-home", "/home"),), 2001)
    with pytest.raises(jobs.JobInvalid, match="runs as a user of its account research, and bob is none"):
        submission.job(asked, cluster, user="bob")
    with pytest.raises(jobs.JobInvalid, match="no storage scratch; it has home"):
        submission.job(asked.model_copy(update={"storage": ["scratch"]}), cluster, user="ada")


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(jobs.JobInvalid, match="there is no form slurm"):
        jobs.manifests(TRAIN, "slurm")


def test_what_a_user_wrote_stays() -> None:
    own = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "labels": {labels.QUEUE: "mine"}}, "spec": {}}
    placed = jobs.placed(own, dataclasses.replace(TRAIN, qos="urgent"))
    assert placed["metadata"] == {"name": "a", "namespace": "research", "labels": {labels.QUEUE: "mine", labels.PRIORITY: "urgent"}}


URGENT = spec.Qos("urgent", 100, "01:00:00", None, None, ())


def submitted(**asked: Any) -> jobs.Job:
    wanted = submission.read({"image": "example.org/torch:1", "command": ["hostname"], **asked})
    return submission.job(wanted, test_queues.cluster(qos=(URGENT,)), user="ada")


def test_a_submission_takes_all_gpus_of_the_pool_and_the_users_account() -> None:
    found = submitted(nodes=2)
    assert (found.pool, found.gpus_per_node, found.account, found.max_seconds) == ("train", 8, "research", None)


def test_a_submission_takes_the_time_of_its_qos() -> None:
    assert submitted(qos="urgent").max_seconds == 3600
    assert submitted(qos="urgent", time_limit="00:30:00").max_seconds == 1800


def test_a_submission_takes_the_default_qos_of_its_account_and_no_other_than_the_account_may_use() -> None:
    slow = dataclasses.replace(URGENT, name="slow", max_time="02:00:00")
    accounts = (dataclasses.replace(test_queues.TWO[0], qos=("slow",)), test_queues.TWO[1])
    cluster = test_queues.cluster(accounts=accounts, qos=(URGENT, slow))
    asked = submission.read({"image": "a", "command": ["b"]})
    found = submission.job(asked, cluster, user="ada")
    assert (found.qos, found.max_seconds) == ("slow", 7200)
    with pytest.raises(jobs.JobInvalid, match="may use the QOS slow, and urgent is none of them"):
        submission.job(submission.with_options(asked, {"qos": "urgent"}), cluster, user="ada")
    assert submission.job(submission.with_options(asked, {"qos": "urgent", "account": "product"}), cluster, user="ada").qos == "urgent"


EXAMPLES = sorted((project_root() / "blueprints" / "jobs").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=[file.stem for file in EXAMPLES])
@pytest.mark.parametrize("form", jobs.FORMS)
def test_the_jobs_ready_to_copy_can_be_written_in_every_form(file: Path, form: str) -> None:
    job = submission.job(submission.read(yaml.safe_load(file.read_text())), test_queues.cluster(), user="ada")
    [*_, written] = jobs.manifests(job, form)
    assert written["metadata"]["name"] == file.stem


@pytest.mark.parametrize("form", ["job", "jobset"])
def test_torchrun_finds_the_other_nodes_without_options(form: str) -> None:
    """For TrainJob and PyTorchJob their controllers set these variables, and NNODES or NODE_RANK do not exist there: a command that names them fits two forms only."""
    [pod] = pods(jobs.manifests(TRAIN, form)[-1])
    known = {one["name"]: one.get("value") or one["valueFrom"] for one in pod["containers"][0]["env"]}
    assert {name: known[f"PET_{name}"] for name in ("NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")} == {
        name: known[name] for name in ("NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
    }
    assert (known["PET_NNODES"], known["PET_MASTER_PORT"]) == ("2", "29500")


@pytest.mark.parametrize("file", EXAMPLES, ids=[file.stem for file in EXAMPLES])
def test_the_jobs_ready_to_copy_name_no_variable_that_only_some_forms_set(file: Path) -> None:
    assert not [word for word in yaml.safe_load(file.read_text())["command"] if "$" in word]


@pytest.mark.parametrize("fabric", [name for name, known in catalog.fabrics().items() if known.environment])
def test_processes_of_nccl_tests_on_all_nodes_have_the_environment_of_the_fabric(fabric: str) -> None:
    """A process that mpirun starts by SSH has no variables of its container."""
    wanted = {name: str(value) for name, value in catalog.fabrics()[fabric].environment.items()}
    of_pool = dataclasses.replace(hand_made.EFA, name=fabric, environment=tuple(wanted.items()))
    cluster = test_queues.cluster().with_node_sets(lambda one: dataclasses.replace(one, fabric=of_pool))
    asked = submission.read(yaml.safe_load((project_root() / "blueprints/jobs/nccl-tests.yaml").read_text()))
    [written] = jobs.manifests(submission.job(asked, cluster, user="ada"), "mpijob")
    [launcher] = pods(written["spec"]["mpiReplicaSpecs"]["Launcher"])[0]["containers"]
    assert {one["name"]: one["value"] for one in launcher["env"]} == {**wanted, "NCCL_DEBUG": "INFO"}
    words = launcher["command"]
    assert words[:4] == ["mpirun", "--allow-run-as-root", "-np", "16"]
    named = words[4 : words.index("all_reduce_perf")]
    assert (named[::2], {*named[1::2]}) == (["-x"] * (len(wanted) + 1), {*wanted, "NCCL_DEBUG"})


def of_pool_with(fabric: str, *, has_addon: bool = True, **of_fabric: Any) -> jobs.Job:
    """Give a job of two nodes whose pool has a fabric, in a cluster whose pods get its devices."""
    between = dataclasses.replace(hand_made.EFA, name=fabric, environment=(("NCCL_IB_HCA", "mlx5"),), **of_fabric)
    cluster = test_queues.cluster().with_node_sets(lambda one: dataclasses.replace(one, fabric=between))
    assert cluster.kubernetes
    addons = (*cluster.kubernetes.addons, *([spec.Addon(rdma_devices.ADDON, "v1")] if has_addon else []))
    cluster = dataclasses.replace(cluster, kubernetes=dataclasses.replace(cluster.kubernetes, addons=addons))
    return submission.job(submission.read({"image": "a", "command": ["train", "it"], "nodes": 2}), cluster, user="ada")


@pytest.mark.parametrize("form", ["job", "jobset", "pytorchjob", "mpijob"])
def test_pods_on_infiniband_ask_for_its_devices_and_lock_memory(form: str) -> None:
    [written] = jobs.manifests(of_pool_with("ib-ndr"), form)[-1:]
    found = pods(written["spec"]["mpiReplicaSpecs"]["Worker"] if form == "mpijob" else written)
    assert found
    for pod in found:
        [container] = pod["containers"]
        assert (container["resources"]["requests"]["rdma/ib_ndr"], container["resources"]["limits"]["rdma/ib_ndr"]) == ("1", "1")
        assert container["securityContext"]["capabilities"] == {"add": ["IPC_LOCK"]}
        [memory] = [one["name"] for one in container["volumeMounts"] if one["mountPath"] == "/dev/shm"]
        assert {one["name"]: one.get("emptyDir") for one in pod["volumes"]}[memory] == {"medium": "Memory"}
        assert "hostNetwork" not in pod


def test_a_launcher_of_processes_asks_for_no_devices() -> None:
    [written] = jobs.manifests(of_pool_with("ib-ndr"), "mpijob")
    [launcher] = pods(written["spec"]["mpiReplicaSpecs"]["Launcher"])
    assert "resources" not in launcher["containers"][0]


def test_pods_on_roce_use_the_hosts_network_and_one_has_its_name_there() -> None:
    for pod in pods(jobs.manifests(of_pool_with("roce"), "jobset")):
        assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


def ports(form: str, fabric: str, **changes: Any) -> set[int]:
    """The ports at which the nodes of a job meet, as its pods say."""
    found: set[int] = set()
    for pod in pods(jobs.manifests(dataclasses.replace(of_pool_with(fabric), **changes), form)):
        [container] = pod["containers"]
        found |= {int(one["value"]) for one in container.get("env", ()) if one["name"] in ("MASTER_PORT", "PET_MASTER_PORT")}
        found |= {one["containerPort"] for one in container.get("ports", ())}
    return found


@pytest.mark.parametrize("form", ["job", "jobset", "pytorchjob"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_jobs_on_the_hosts_network_meet_at_ports_of_their_own(form: str, nodes: int) -> None:
    """Their first pods may share a node, where one port would be taken, or lead to the other job."""
    [one], [again], [other], [of_another] = (
        ports(form, "roce", nodes=nodes, **changes) for changes in ({"name": "a"}, {"name": "a"}, {"name": "b"}, {"name": "a", "account": "product"})
    )
    assert one == again
    assert len({one, other, of_another}) == 3
    assert {one, other, of_another} <= {*range(20000, 30000)}
    assert ports(form, "ib-ndr", nodes=2) <= {29500}


@pytest.mark.parametrize(("fabric", "form"), [("roce", "mpijob"), ("roce", "trainjob"), ("ib-ndr", "trainjob")])
def test_forms_that_can_not_use_a_fabric_are_refused(fabric: str, form: str) -> None:
    with pytest.raises(jobs.JobInvalid, match="--as jobset"):
        jobs.manifests(of_pool_with(fabric), form)


@pytest.mark.parametrize(("fabric", "has_addon"), [("ib-ndr", False), ("efa", True)])
def test_pods_ask_for_no_devices_that_nobody_gives(fabric: str, has_addon: bool) -> None:
    for form in jobs.FORMS:
        assert "rdma/" not in str(jobs.manifests(of_pool_with(fabric, has_addon=has_addon), form))


def test_processes_source_the_script_of_a_fabric_and_then_have_its_variables(tmp_path: Path) -> None:
    script = tmp_path / "a script"
    script.write_text("export NCCL_IB_HCA=default OF_SCRIPT=yes\n")
    [written] = jobs.manifests(of_pool_with("gcp-gib", environment_script=str(script)), "jobset")
    [pod] = pods(written)
    words = pod["containers"][0]["command"]
    assert words[-2:] == ["train", "it"]
    said = subprocess.run([*words[:-2], "printenv", "NCCL_IB_HCA", "OF_SCRIPT"], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["mlx5", "yes"]
    script.unlink()
    assert subprocess.run([*words[:-2], "true"], capture_output=True, check=False).returncode != 0, "a job without its fabric's settings does not run"


def test_what_jobs_ask_for_is_what_the_plugin_offers_and_queues_do_not_count() -> None:
    fabrics = [name for name, known in catalog.fabrics().items() if known.pod_link]
    offered = json.loads(rdma_devices.settings(fabrics)["ConfigMap/rdma-devices"]["data"]["config.json"])["configList"]
    asked = {of_pool_with(name).rdma for name in fabrics}
    assert asked == {f"rdma/{one['resourceName']}" for one in offered}
    assert all(re.fullmatch("[a-zA-Z0-9_]+", one["resourceName"]) for one in offered), "the plugin takes no other names"

    def excluded(*addons: str) -> list[str]:
        text = settings.of_addon("kueue", addons=addons)["ConfigMap/kueue-manager-config"]["data"]["controller_manager_config.yaml"]
        return list(yaml.safe_load(text).get("resources", {}).get("excludeResourcePrefixes", []))

    assert all(name.startswith(tuple(excluded(rdma_devices.ADDON))) for name in asked)
    assert excluded("prometheus") == []


def test_kueue_restarts_when_the_plugin_joins_the_cluster() -> None:
    """It reads its configuration at its start. Clusters without the plugin keep the template that they have."""

    def template(*addons: str) -> Any:
        return settings.of_addon("kueue", addons=addons)["Deployment/kueue-controller-manager"]["spec"]["template"]

    assert template(rdma_devices.ADDON) != template("prometheus")
    assert "metadata" not in template("prometheus")
    assert template(rdma_devices.ADDON) == template("prometheus", rdma_devices.ADDON)


def test_the_plugin_restarts_with_another_list() -> None:
    def mark(*fabrics: str) -> Any:
        return rdma_devices.settings(fabrics)["DaemonSet/rdma-shared-dp-ds"]["spec"]["template"]["metadata"]["annotations"]

    assert mark("roce") == mark("roce") != mark("roce", "ib-ndr")


def test_a_job_has_the_environment_of_its_pools_fabric() -> None:
    wanted = test_queues.cluster().with_node_sets(lambda one: dataclasses.replace(one, fabric=hand_made.EFA))
    found = submission.job(submission.read({"image": "a", "command": ["b"], "environment": {"A": "b"}}), wanted, user="ada")
    assert found.environment == (("FI_PROVIDER", "efa"), ("A", "b"))


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"pool": "other"}, "the cluster has no pool other; its pools are train"),
        ({"nodes": 5}, "pool train has 4"),
        ({"gpus_per_node": 9}, "have 8"),
        ({"account": "nobody"}, "no account nobody"),
        ({"qos": "slow"}, "no QOS slow"),
        ({"qos": "urgent", "time_limit": "02:00:00"}, "longer than QOS urgent allows"),
        ({"qos": "urgent", "time_limit": "unlimited"}, "longer than QOS urgent allows"),
        ({"image": ""}, "names no image"),
        ({"one_rack": True}, "in which rack every host is"),
        ({"nodes": "many"}, "nodes: "),
        ({"colour": "red"}, "colour: "),
    ],
)
def test_a_submission_that_can_never_run_is_refused(asked: dict[str, Any], why: str) -> None:
    with pytest.raises(jobs.JobInvalid, match=why):
        submitted(**asked)

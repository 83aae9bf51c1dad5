"""Jobs in the forms that Kubernetes knows: one description, written as Job, JobSet, PyTorchJob, MPIJob or TrainJob. Pure.

Source: Kubernetes batch/v1; JobSet v0.10 (jobset.x-k8s.io/v1alpha2); training-operator v1.9 (kubeflow.org/v1); mpi-operator v0.6 (kubeflow.org/v2beta1); Trainer v2.1 (trainer.kubeflow.org/v1alpha1).
"""

import dataclasses
import hashlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import labels

RENDEZVOUS_PORT = 29500
"""torchrun's own default."""
HOST_PORTS = range(20000, 30000)
"""Of jobs on the host's network, which share it: below the ports of NodePort services (30000 on) and those that Linux gives to connections (32768 on)."""
PYTORCHJOB_PORT = "pytorchjob-port"
"""The port of this name is the one at which a PyTorchJob's nodes meet; without it, training-operator takes 23456 (pytorch_defaults.go)."""
OF_TORCHRUN = "PET_"
"""torchrun takes what its options don't say from variables that begin so (PyTorch 2.7, torch.distributed.run). Trainer and training-operator set the same ones for TrainJob and PyTorchJob, so that one command
fits all forms."""
NODE = "node"
"""The container, and the replicated job, that runs the command."""
JOBSET, TRAINER = "jobset.x-k8s.io/v1alpha2", "trainer.kubeflow.org/v1alpha1"
RUNTIME = "torch-distributed"
"""The runtime of Trainer that `trainjob` uses; it comes with Trainer."""


class JobInvalid(ValueError):
    """A job can't be written in the form that was asked for; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Mount:
    """A file system in the job's pods."""

    claim: str
    """Of the account's namespace; also the name of the volume."""
    path: str


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """What somebody wants to run: the same command on every node."""

    name: str
    image: str
    command: tuple[str, ...]
    nodes: int = 1
    gpus_per_node: int = 0
    cpus_per_node: int = 0
    """0: none requested."""
    memory_per_node: str = ""
    """As Kubernetes writes it (`64Gi`)."""
    account: str = ""
    """The namespace; empty: the one of the kubeconfig."""
    pool: str = ""
    qos: str = ""
    max_seconds: int | None = None
    environment: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Mapping[str, str], ...] = ()
    """Of the pool's taints."""
    one_rack: bool = False
    """Start only where all nodes are in one rack."""
    mounts: tuple[Mount, ...] = ()
    """File systems of the cluster, for a job that runs as one of its users."""
    uid: int = 0
    """The user's number, and that of the user's own group; counts with `mounts`."""
    rdma: str = ""
    """The resource by which pods get the devices of the pool's fabric; empty: they need none."""
    uses_host_network: bool = False
    """Programs reach the fabric from the host's network only."""
    environment_script: str = ""
    """A file in the image that processes source before `environment` is set; empty: none."""


MEMORY = "shared-memory"
"""The volume at /dev/shm: NCCL's processes of one node exchange data there, and a pod has 64 MiB of it by itself."""


def manifests(job: Job, form: str) -> list[dict[str, Any]]:
    """Write a job in one of `FORMS`.

    Raises:
        JobInvalid: the form can't say this job.
    """
    if form not in FORMS:
        raise JobInvalid(f"there is no form {form}; the forms are {', '.join(FORMS)}")
    if job.nodes < 1:
        raise JobInvalid("a job needs at least one node")
    if not job.command:
        raise JobInvalid("a job needs a command")
    return FORMS[form](_with_script(job))


def _with_script(job: Job) -> Job:
    """Have processes source the fabric's script first. The variables are set once more behind it: it may have defaults of its own."""
    if not job.environment_script:
        return job
    again = ("env", *(f"{name}={value}" for name, value in job.environment))
    return dataclasses.replace(job, command=("bash", "-c", f'source {shlex.quote(job.environment_script)} && exec "$0" "$@"', *again, *job.command))


def _job(job: Job) -> list[dict[str, Any]]:
    written = {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(job), "spec": _indexed(job, host=f"{job.name}-0.{job.name}", subdomain=job.name)}
    if job.nodes == 1:
        return [written]
    # Pods find each other by the names that a headless Service gives them.
    service = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"batch.kubernetes.io/job-name": job.name}}
    metadata = {name: value for name, value in _metadata(job).items() if name != "labels"}
    return [{"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service}, written]


def _jobset(job: Job) -> list[dict[str, Any]]:
    of_nodes = {"name": NODE, "replicas": 1, "template": {"spec": _indexed(job, host=f"{job.name}-{NODE}-0-0.{job.name}", subdomain="")}}
    spec = {"failurePolicy": {"maxRestarts": 0}, "replicatedJobs": [of_nodes]}
    return [{"apiVersion": JOBSET, "kind": "JobSet", "metadata": _metadata(job), "spec": spec}]


def _pytorchjob(job: Job) -> list[dict[str, Any]]:
    template = _pod(job, container="pytorch")
    if job.uses_host_network:
        template["spec"]["containers"][0]["ports"] = [{"name": PYTORCHJOB_PORT, "containerPort": rendezvous_port(job)}]
    roles: dict[str, Any] = {"Master": {"replicas": 1, "restartPolicy": "Never", "template": template}}
    if job.nodes > 1:
        roles["Worker"] = {"replicas": job.nodes - 1, "restartPolicy": "Never", "template": template}
    spec: dict[str, Any] = {"pytorchReplicaSpecs": roles}
    if job.gpus_per_node:
        spec["nprocPerNode"] = str(job.gpus_per_node)
    return [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": _metadata(job), "spec": spec}]


def _mpijob(job: Job) -> list[dict[str, Any]]:
    if job.mounts:
        raise JobInvalid("an MPIJob starts its processes by SSH servers that run as root, and file systems are for pods of users: choose `--as jobset`")
    if job.uses_host_network:
        raise JobInvalid(
            "an MPIJob runs SSH servers in its pods, and pods of this pool's fabric use the host's network, where the host's own has the port: choose `--as jobset`"
        )
    slots = max(1, job.gpus_per_node)
    launcher = _pod(dataclasses.replace(job, gpus_per_node=0, cpus_per_node=0, memory_per_node="", rdma=""), container="launcher")
    # Open MPI: sshd gives its sessions no variables of the container, only those that `-x` names reach other nodes; and the images' user is root, which mpirun refuses by itself (mpirun(1)).
    exported = [word for name, _ in job.environment for word in ("-x", name)]
    launcher["spec"]["containers"][0]["command"] = ["mpirun", "--allow-run-as-root", "-np", str(job.nodes * slots), *exported, *job.command]
    worker = _pod(job, container="worker")
    worker["spec"]["containers"][0]["command"] = ["/usr/sbin/sshd", "-De"]
    spec = {
        "slotsPerWorker": slots,
        "runPolicy": {"cleanPodPolicy": "Running"},
        "mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": launcher}, "Worker": {"replicas": job.nodes, "template": worker}},
    }
    return [{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": _metadata(job), "spec": spec}]


def _trainjob(job: Job) -> list[dict[str, Any]]:
    if job.mounts:
        raise JobInvalid("Trainer 2.1 can't say as whom a TrainJob runs, and file systems are for pods of users: choose `--as jobset`")
    if job.rdma:
        raise JobInvalid("Trainer 2.1 can't say that a TrainJob may lock memory, which RDMA of the pool's fabric needs: choose `--as jobset`")
    trainer: dict[str, Any] = {"image": job.image, "command": [*job.command], "numNodes": job.nodes, "numProcPerNode": max(1, job.gpus_per_node)}
    if requested := _requests(job):
        trainer["resourcesPerNode"] = {"requests": requested, "limits": _limits(requested)}
    if job.environment:
        trainer["env"] = _environment(job.environment)
    spec: dict[str, Any] = {"runtimeRef": {"name": RUNTIME}, "trainer": trainer, "labels": _queue(job)}
    override = {name: value for name, value in {"nodeSelector": _selector(job), "tolerations": [*job.tolerations]}.items() if value}
    changes: dict[str, Any] = {**({"spec": override} if override else {}), **({"metadata": {"annotations": topology}} if (topology := _topology(job)) else {})}
    if changes:
        spec["podTemplateOverrides"] = [{"targetJobs": [{"name": NODE}], **changes}]
    return [{"apiVersion": TRAINER, "kind": "TrainJob", "metadata": _metadata(job), "spec": spec}]


FORMS: Mapping[str, Callable[[Job], list[dict[str, Any]]]] = {
    "job": _job,
    "jobset": _jobset,
    "pytorchjob": _pytorchjob,
    "mpijob": _mpijob,
    "trainjob": _trainjob,
}


def rendezvous_port(job: Job) -> int:
    """Give the port at which the nodes of a job meet. On the host's network two jobs may have their first pods on one node, so that each has a port of its own, by its name."""
    if not job.uses_host_network:
        return RENDEZVOUS_PORT
    digest = hashlib.sha256(f"{job.account}/{job.name}".encode()).digest()
    return HOST_PORTS[int.from_bytes(digest) % len(HOST_PORTS)]


def claims(manifest: Any) -> set[str]:
    """Name the claims that a job's pods mount."""
    if isinstance(manifest, list):
        return {name for part in manifest for name in claims(part)}
    if not isinstance(manifest, Mapping):
        return set()
    own = {manifest["persistentVolumeClaim"]["claimName"]} if "persistentVolumeClaim" in manifest else set()
    return own | {name for part in manifest.values() for name in claims(part)}


def placed(manifest: dict[str, Any], job: Job) -> dict[str, Any]:
    """Give a manifest that somebody wrote with the account, queue, priority and time limit of a submission; what it says itself stays."""
    metadata = manifest.get("metadata") or {}
    own = {**_queue(job), **(metadata.get("labels") or {})}
    namespace = {"namespace": job.account} if job.account else {}
    return {**manifest, "metadata": {**metadata, **namespace, "labels": own}}


def _metadata(job: Job) -> dict[str, Any]:
    return {"name": job.name, **({"namespace": job.account} if job.account else {}), "labels": _queue(job)}


def _queue(job: Job) -> dict[str, str]:
    found = {labels.QUEUE: labels.LOCAL_QUEUE}
    if job.qos:
        found[labels.PRIORITY] = labels.object_name(job.qos)
    if job.max_seconds is not None:
        found[labels.MOST_SECONDS] = str(job.max_seconds)
    return found


def _indexed(job: Job, *, host: str, subdomain: str) -> dict[str, Any]:
    """One pod on each node; each knows its number, and where the first one is."""
    pod = _pod(job, container=NODE)
    if job.nodes > 1:
        rank = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
        known = (("MASTER_ADDR", host), ("MASTER_PORT", str(rendezvous_port(job))), ("NNODES", str(job.nodes)))
        container = pod["spec"]["containers"][0]
        of_both = [one for prefix in ("", OF_TORCHRUN) for one in (*_environment([(prefix + name, value) for name, value in known]), _of_pod(prefix, rank))]
        container["env"] = [*of_both, *container.get("env", ())]
        if subdomain:
            pod["spec"]["subdomain"] = subdomain
    elif job.uses_host_network:
        # torchrun listens also where all of its processes are on one node.
        container = pod["spec"]["containers"][0]
        container["env"] = [*_environment([(f"{prefix}MASTER_PORT", str(rendezvous_port(job))) for prefix in ("", OF_TORCHRUN)]), *container.get("env", ())]
    return {"parallelism": job.nodes, "completions": job.nodes, "completionMode": "Indexed", "backoffLimit": 0, "template": pod}


def _of_pod(prefix: str, source: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": f"{prefix}NODE_RANK", "valueFrom": source}


def _pod(job: Job, *, container: str) -> dict[str, Any]:
    requested = _requests(job)
    runs: dict[str, Any] = {"name": container, "image": job.image, "command": [*job.command]}
    if requested:
        runs["resources"] = {"requests": requested, "limits": _limits(requested)}
    if job.environment:
        runs["env"] = _environment(job.environment)
    spec: dict[str, Any] = {"restartPolicy": "Never", "containers": [runs]}
    if selector := _selector(job):
        spec["nodeSelector"] = selector
    if job.tolerations:
        spec["tolerations"] = [dict(one) for one in job.tolerations]
    if job.mounts:
        # Files belong to numbers of users, and the API server refuses other numbers (pod_rules.py).
        spec["securityContext"] = {"runAsUser": job.uid, "runAsGroup": job.uid, "runAsNonRoot": True}
        spec["volumes"] = [{"name": one.claim, "persistentVolumeClaim": {"claimName": one.claim}} for one in job.mounts]
        runs["volumeMounts"] = [{"name": one.claim, "mountPath": one.path} for one in job.mounts]
        runs["securityContext"] = {"allowPrivilegeEscalation": False}
    if job.rdma:
        _reach_fabric(job, spec, runs)
    topology = _topology(job)
    return {**({"metadata": {"annotations": topology}} if topology else {}), "spec": spec}


def _reach_fabric(job: Job, spec: dict[str, Any], runs: dict[str, Any]) -> None:
    """Let a container use RDMA: it may lock memory for its NICs, and has room in /dev/shm."""
    runs.setdefault("securityContext", {})["capabilities"] = {"add": ["IPC_LOCK"]}
    spec.setdefault("volumes", []).append({"name": MEMORY, "emptyDir": {"medium": "Memory"}})
    runs.setdefault("volumeMounts", []).append({"name": MEMORY, "mountPath": "/dev/shm"})  # noqa: S108  (shared memory of the container)
    if job.uses_host_network:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}


def _requests(job: Job) -> dict[str, Any]:
    wanted = {labels.GPU: job.gpus_per_node, "cpu": job.cpus_per_node, "memory": job.memory_per_node}
    if job.rdma:
        wanted[job.rdma] = 1  # all devices of the node come with it
    return {name: value if isinstance(value, str) else str(value) for name, value in wanted.items() if value}


def _limits(requested: Mapping[str, Any]) -> dict[str, Any]:
    """Give the limits; resources of devices, whose names have a domain, have no others than their requests."""
    return {name: value for name, value in requested.items() if "/" in name or name == "memory"}


def _selector(job: Job) -> dict[str, str]:
    return {labels.POOL: job.pool} if job.pool else {}


def _topology(job: Job) -> dict[str, str]:
    return {labels.REQUIRED_TOPOLOGY: labels.RACK} if job.one_rack else {}


def _environment(pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in pairs]

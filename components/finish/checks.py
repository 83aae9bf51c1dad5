"""The checks of acceptance: their codes, and the findings that their results are. Pure."""

from collections.abc import Mapping
from typing import Any

from blueprints.finding import Finding, Level
from blueprints.finding.code import FindingCode
from blueprints.finding.subject import AcceptanceCheck
from blueprints.finding.values import Measurement

ERROR, WARNING, NOTE = Level


class Code(FindingCode):
    """The codes of acceptance. A check that only reports a figure gives a note."""

    # fmt: off
    UNKNOWN = "CW900", ERROR, "a check of another version of acceptance", "run acceptance again with `clusterwright up`"
    SLURM_SILENT = "CW901", ERROR, "Slurm does not answer on a login node", "read the journals of munge on the login node and of slurmctld on the controller"
    NODE_STATE = "CW902", ERROR, "a node is not idle, so that it can take no job", "read the reason with `sinfo -R`, and the journal of slurmd on the node"
    NODES_ON_DEMAND = "CW903", NOTE, "nodes that start with their first job, which acceptance does not start", "submit a job to test them"
    GPUS_KNOWN = "CW904", ERROR, "Slurm counts other GPUs on a node than its machine has", "compare `scontrol show node` with gres.conf on the controller"
    GPUS_IN_JOB = "CW905", ERROR, "a job sees other GPUs than its node has, or can't open them", "look at /dev/nvidia* and the journal of slurmd on the node"
    RENDEZVOUS = "CW906", ERROR, "the processes of a job do not find each other by node name", "look at `getent hosts` and `ip address` on the node"
    GPU_CONFINEMENT = "CW907", (ERROR, NOTE), "a job step can open GPUs that it was not given", "look at cgroup.conf and the journal of slurmd on the node"
    CORE_CONFINEMENT = "CW908", (ERROR, NOTE), "a job step can run on cores that it was not given", "look at cgroup.conf and the journal of slurmd on the node"
    JOB = "CW909", (ERROR, NOTE), "a job over all nodes of a pool does not run", "look at `squeue` and `sinfo -R`, and at the journal of slurmctld on the controller"
    MPI = "CW910", ERROR, "an all-reduce over all nodes of a pool gives no or wrong values", "run `srun --mpi=list` as a user; compare the MPI library on the nodes"
    BANDWIDTH = "CW911", NOTE, "the bus bandwidth of an all-reduce, measured and not judged", "nothing"
    ACCOUNTING = "CW912", ERROR, "accounting does not record a job as it ran", "read the journals of slurmdbd and slurmctld on the controller"
    USERS = "CW913", ERROR, "a node does not know a user of the cluster", "look at `getent passwd` on the node; `clusterwright up` restores the users"
    FOLDERS = "CW914", (ERROR, NOTE), "users can't write in a shared file system where the blueprint lets them", "look at its owner and mode on the controller"
    SUBMISSION = "CW915", (ERROR, NOTE), "Slurm does not accept a job of a user", "compare the user's associations and the partition's lists with the blueprint"
    PROGRAM = "CW916", ERROR, "the acceptance program failed on a login node", "look at the login node's disk, memory and journal"
    RAILS = "CW917", ERROR, "a node's rail lacks its interface, its address or its MTU", "compare `ip address` on the node with the inventory; `clusterwright up` sets rails up again"
    RAIL_ROUTES = "CW918", ERROR, "packets of a rail leave by another interface", "look at `ip rule` on the node; `clusterwright up` restores routes and rules"
    RAIL_PACKETS = "CW919", ERROR, "a packet of a rail's MTU doesn't reach the next node", "compare the MTU of both nodes and of the switch ports between them"
    RAIL_SPEED = "CW920", ERROR, "a rail's link is slower than the catalogue says", "look at cable, transceiver and switch port"
    COLLECTIVE_RATE = "CW921", (ERROR, WARNING, NOTE), "a collective over a pool, or inside a node, is slower than its fabric should be", "look at what the check names; `clusterwright accept` measures again"
    COLLECTIVE_VALUES = "CW922", ERROR, "a collective gives wrong values, or ends before it has any", "look at ECC errors and Xids of the GPUs, and for different versions of NCCL on the nodes"
    TRANSPORT = "CW923", (ERROR, WARNING), "another network than the fabric carries a collective, or not all NICs do", "look at the fabric's plugin and driver on the nodes that the check names"
    SLOW_PART = "CW924", (ERROR, WARNING), "some nodes, or the path between two groups of nodes, make a pool's collectives slow", "drain the nodes that the check names, and look at their GPUs, NICs and links"

    ENVIRONMENT = "CW925", (ERROR, NOTE), "a job over several nodes lacks variables of its fabric", "look at TaskProlog in `scontrol show config`; `clusterwright up` writes its files again"
    STORAGE_VALUES = "CW926", (ERROR, WARNING, NOTE), "a shared file system fails, or a node reads other data than another one wrote", "look at the mount and its client on the nodes that the check names"
    STORAGE_RATE = "CW927", (ERROR, WARNING, NOTE), "a shared file system is slower than its product states, for the number of nodes", "look at the load on it; `clusterwright accept` measures again"
    AFFINITY = "CW928", (WARNING, NOTE), "ranks of a collective run far from their GPUs, or on too few processors", "compare `nvidia-smi topo -m` and `lscpu` with what Slurm binds ranks to"
    HUGE_PAGES = "CW929", (WARNING, NOTE), "a fabric should use huge pages, and a node has too few", "look at `grep Huge /proc/meminfo` on the node, or set FI_EFA_USE_HUGE_PAGE=0"
    NODES_OF_KUBERNETES = "CW930", ERROR, "nodes of a pool are missing, not ready, or offer other GPUs than their machine has", "look at `clusterwright kubectl -- describe nodes`, and at the journal of kubelet on the node"
    GANG = "CW931", ERROR, "a gang of pods within the quota does not run at once on nodes of its pool", "look at `clusterwright kubectl -- get clusterqueues,workloads --all-namespaces`"
    OVER_QUOTA = "CW932", ERROR, "a job beyond the quota of its queue does not wait with a reason", "look at the log of kueue-controller-manager in namespace kueue-system"
    PREEMPTION = "CW933", ERROR, "a more important job does not take the place of another", "look at the log of kueue-controller-manager in namespace kueue-system"
    FREE_QUOTA = "CW934", ERROR, "a waiting job does not run when quota is free again", "look at the log of kueue-controller-manager in namespace kueue-system"
    TRAINING = "CW935", ERROR, "a training job over nodes of a pool does not run, or does not learn what one process would", "look at the logs of kubeflow-trainer-controller-manager in namespace kubeflow-system and of jobset-controller-manager in jobset-system"
    GPUS_OF_POD = "CW936", ERROR, "a pod can open GPUs that it was not given, or can't open its own", "look at the log of the device plugin, and at the journals of kubelet and containerd on the node"
    SERVICE_ADDRESS = "CW937", ERROR, "a service of type LoadBalancer gets no address, or one of another range", "look at the log of the Deployment controller in namespace metallb-system"
    NODE_THAT_COMES = "CW938", ERROR, "no node of an elastic pool comes for a pod", "look at `journalctl --unit clusterwright-autoscaler` on the control plane, and `clusterwright kubectl -- describe pods`"
    INTERFACES_OF_POD = "CW939", ERROR, "a pod gets no interface in a secondary network, or an address of another range", "look at the logs of kube-multus-ds and whereabouts in namespace kube-system, and at the journal of containerd on the node"
    ONE_RACK = "CW949", ERROR, "a gang that asks for one rack runs in several, or waits while a rack has room, or without a reason", "look at `clusterwright kubectl -- get nodes --label-columns=clusterwright.io/rack`, and at the log of kueue-controller-manager in namespace kueue-system"
    GPU_DIAGNOSTICS = "CW940", (ERROR, WARNING, NOTE), "DCGM's diagnostic finds a GPU unfit, or could not run", "look at what the check names; `dcgmi diag` on the node tests again"
    # fmt: on


NAMES = {
    "Slurm answers": Code.SLURM_SILENT,
    "node state": Code.NODE_STATE,
    "node left to the roll": Code.NODE_STATE,
    "nodes on demand": Code.NODES_ON_DEMAND,
    "GPUs known to Slurm": Code.GPUS_KNOWN,
    "GPUs in a job": Code.GPUS_IN_JOB,
    "rendezvous by node name": Code.RENDEZVOUS,
    "confinement of GPUs": Code.GPU_CONFINEMENT,
    "confinement of cores": Code.CORE_CONFINEMENT,
    "job over all nodes": Code.JOB,
    "MPI all-reduce": Code.MPI,
    "all-reduce busbw": Code.BANDWIDTH,
    "accounting": Code.ACCOUNTING,
    "users": Code.USERS,
    "shared storage": Code.FOLDERS,
    "job of a user": Code.SUBMISSION,
    "acceptance program": Code.PROGRAM,
    "rails": Code.RAILS,
    "rail routes": Code.RAIL_ROUTES,
    "rail packets": Code.RAIL_PACKETS,
    "rail speed": Code.RAIL_SPEED,
    "collective busbw": Code.COLLECTIVE_RATE,
    "collective values": Code.COLLECTIVE_VALUES,
    "collective transport": Code.TRANSPORT,
    "slow part of a pool": Code.SLOW_PART,
    "environment of jobs": Code.ENVIRONMENT,
    "affinity of ranks": Code.AFFINITY,
    "huge pages": Code.HUGE_PAGES,
    "GPU diagnostics": Code.GPU_DIAGNOSTICS,
    "storage values": Code.STORAGE_VALUES,
    "storage write": Code.STORAGE_RATE,
    "storage read": Code.STORAGE_RATE,
    "storage metadata": Code.STORAGE_RATE,
    "nodes of Kubernetes": Code.NODES_OF_KUBERNETES,
    "gang of pods": Code.GANG,
    "job over quota": Code.OVER_QUOTA,
    "preemption": Code.PREEMPTION,
    "quota that is free again": Code.FREE_QUOTA,
    "training job": Code.TRAINING,
    "GPUs of a pod": Code.GPUS_OF_POD,
    "address of a service": Code.SERVICE_ADDRESS,
    "node that comes for a pod": Code.NODE_THAT_COMES,
    "interfaces of a pod": Code.INTERFACES_OF_POD,
    "gang in one rack": Code.ONE_RACK,
}
"""What a document of acceptance calls a check."""
LEVELS = {"fail": ERROR, "error": ERROR, "warn": WARNING}
"""Verdicts; all others are notes."""


def finding(check: Mapping[str, Any]) -> Finding:
    """Make a finding of a check in a document of acceptance."""
    measurement = Measurement(str(check["expected"]), str(check["measured"]), str(check.get("unit") or ""))
    return Finding(
        LEVELS.get(str(check.get("verdict", "fail")), NOTE),
        NAMES.get(str(check["name"]), Code.UNKNOWN),
        AcceptanceCheck(str(check["node"]), str(check["name"])),
        f"expected {measurement.expected_text}, measured {measurement.measured_text}",
        str(check.get("detail") or ""),
        str(check.get("look_at") or ""),
        measurement=measurement,
    )


def line(found: Finding) -> str:
    """Write a finding on one line: nodes, check, what was measured, and where to look."""
    parts = (f"{found.place}: {found.what}", found.why, found.remedy and f"look at: {found.remedy}")
    return "; ".join(part for part in parts if part)

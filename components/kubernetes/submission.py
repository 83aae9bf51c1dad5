"""What a submission becomes on one cluster: the job with the pool's GPUs and taints, the user's account, and the time that its QOS allows. Pure."""

from collections.abc import Sequence
from typing import Any

import pydantic

from blueprints import catalog, durations
from blueprints.language import values
from blueprints.spec import ClusterSpec, Kubernetes, NodeSet, accounts_of_jobs

from . import file_systems, jobs, labels, queues, rdma_devices


class JobFile(pydantic.BaseModel):
    """A job as users write it: the same keys as the options of `clusterwright submit`."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    image: str = ""
    command: list[str] = []
    nodes: int = pydantic.Field(default=1, ge=1)
    gpus_per_node: int | None = pydantic.Field(default=None, ge=0)
    cpus_per_node: int = pydantic.Field(default=0, ge=0)
    memory_per_node: str = ""
    account: str = ""
    pool: str = ""
    qos: str = ""
    time_limit: str = ""
    environment: dict[str, str] = {}
    storage: list[str] = []
    one_rack: bool = False


def read(found: Any) -> JobFile:
    """Read a job file.

    Raises:
        jobs.JobInvalid: a key or value is wrong; the text names all of them.
    """
    try:
        return JobFile.model_validate(found)
    except pydantic.ValidationError as error:
        raise jobs.JobInvalid("; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())) from None


def job(asked: JobFile, spec: ClusterSpec, *, user: str) -> jobs.Job:
    """Give the job as the cluster takes it.

    Args:
        user: whose account it uses when it names none.
    Raises:
        jobs.JobInvalid: the cluster has no such pool, account or QOS, or the pool is too small.
    """
    if spec.kubernetes is None:
        raise jobs.JobInvalid(f"{spec.name} has no Kubernetes: submit jobs with `sbatch` on a login node")
    node_sets = _pool(asked.pool, spec.kubernetes.node_sets)
    nodes = sum(one.hosts.count for one in node_sets)
    if asked.nodes > nodes:
        raise jobs.JobInvalid(f"{asked.nodes} nodes were asked for, and pool {node_sets[0].pool} has {nodes}: the job would wait for ever")
    machine = node_sets[0].hosts.machine
    most = machine.gpus.count if machine.gpus else 0
    gpus = most if asked.gpus_per_node is None else asked.gpus_per_node
    if gpus > most:
        raise jobs.JobInvalid(f"{gpus} GPUs of each node were asked for, and nodes of pool {node_sets[0].pool} have {most}")
    if not asked.image:
        raise jobs.JobInvalid("the job names no image: give one with --image, or as `image` in the job file")
    if asked.one_rack and not queues.has_racks(spec):
        raise jobs.JobInvalid("the job asks for one rack, and the blueprint does not say in which rack every host is")
    account = _account(asked.account, spec, user)
    asked = asked.model_copy(update={"qos": _qos(asked.qos, spec, account)})
    return jobs.Job(
        name=labels.object_name(asked.name) or "job",
        image=asked.image,
        command=tuple(asked.command),
        nodes=asked.nodes,
        gpus_per_node=gpus,
        cpus_per_node=asked.cpus_per_node,
        memory_per_node=asked.memory_per_node,
        account=account,
        pool=node_sets[0].pool,
        qos=asked.qos,
        max_seconds=_limit(asked, spec),
        environment=tuple({**_of_fabric(node_sets[0]), **asked.environment}.items()),
        tolerations=tuple({"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect} for taint in node_sets[0].taints),
        one_rack=asked.one_rack,
        **_fabric(node_sets[0], spec.kubernetes),
        **_files(asked.storage, spec, user, account),
    )


def _files(names: Sequence[str], spec: ClusterSpec, user: str, account: str) -> dict[str, Any]:
    """Give the file systems that a job asks for, and as whom it runs.

    Args:
        account: its name in the cluster.
    """
    if not names:
        return {}
    known = {one.name: one for one in spec.storage}
    if missing := [name for name in names if name not in known]:
        raise jobs.JobInvalid(f"the cluster has no storage {', '.join(missing)}; it has {', '.join(known) or 'none'}")
    members = next(one.users for one in accounts_of_jobs(spec.accounts) if labels.object_name(one.name) == account)
    uid = next((one.uid for one in spec.users if one.name == user and user in members), None)
    if uid is None:
        raise jobs.JobInvalid(f"a job with storage runs as a user of its account {account}, and {user or 'nobody'} is none of them: name one with --user")
    return {"mounts": tuple(jobs.Mount(file_systems.claim_name(known[name]), known[name].mount) for name in names), "uid": uid}


def _fabric(node_set: NodeSet, kubernetes: Kubernetes) -> dict[str, Any]:
    """Give what pods need to use the pool's fabric beside its environment: devices, where the cluster has the add-on that gives them."""
    fabric = node_set.fabric
    if fabric is None:
        return {}
    has_devices = any(one.name == rdma_devices.ADDON for one in kubernetes.addons)
    resource = catalog.fabrics()[fabric.name].pod_resource if has_devices else ""
    by_host = bool(resource) and rdma_devices.needs_host_network(fabric.name)
    return {"rdma": resource, "uses_host_network": by_host, "environment_script": fabric.environment_script}


def _of_fabric(node_set: NodeSet) -> dict[str, str]:
    """Give the environment that programs need to use the pool's fabric."""
    return dict(node_set.fabric.environment) if node_set.fabric else {}


def _pool(name: str, node_sets: Sequence[NodeSet]) -> tuple[NodeSet, ...]:
    """Give the node sets of a pool; of the first one with GPUs where no pool is named."""
    pools = [*dict.fromkeys(one.pool for one in node_sets)]
    chosen = name or next((one.pool for one in node_sets if one.hosts.machine.gpus), pools[0] if pools else "")
    if chosen not in pools:
        raise jobs.JobInvalid(f"the cluster has no pool {chosen}; its pools are {', '.join(pools)}")
    return tuple(one for one in node_sets if one.pool == chosen)


def _account(name: str, spec: ClusterSpec, user: str) -> str:
    known = {one.name for one in accounts_of_jobs(spec.accounts)}
    chosen = name or next((one.default_account for one in spec.users if one.name == user), "")
    if chosen not in known:
        raise jobs.JobInvalid(f"the cluster has no account {chosen or '(none named)'} that jobs run in; it has {', '.join(sorted(known))}")
    return labels.object_name(chosen)


def _qos(name: str, spec: ClusterSpec, account: str) -> str:
    """Give the QOS of a job: the one that it names, else the account's default.

    Args:
        account: its name in the cluster.
    """
    allowed = next(queues.allowed_qos(one, spec.accounts) for one in accounts_of_jobs(spec.accounts) if labels.object_name(one.name) == account)
    known = {one.name for one in spec.kubernetes.qos} if spec.kubernetes else set()
    if name in known and allowed and name not in allowed:
        raise jobs.JobInvalid(f"jobs of account {account} may use the QOS {', '.join(allowed)}, and {name} is none of them")
    return name or next((one for one in allowed if one in known), "")


def _limit(asked: JobFile, spec: ClusterSpec) -> int | None:
    """Give the time limit in seconds: the job's own, else the longest that its QOS allows."""
    qos = {one.name: one for one in spec.kubernetes.qos} if spec.kubernetes else {}
    if asked.qos and asked.qos not in qos:
        raise jobs.JobInvalid(f"the cluster has no QOS {asked.qos}; it has {', '.join(qos) or 'none'}")
    allowed = durations.seconds(qos[asked.qos].max_time) if asked.qos else None
    if not asked.time_limit:
        return allowed
    try:
        own = durations.seconds(values.time_limit(asked.time_limit))
    except ValueError as unfit:
        raise jobs.JobInvalid(str(unfit)) from None
    if allowed is not None and (own is None or own > allowed):
        raise jobs.JobInvalid(f"the time limit {asked.time_limit} is longer than QOS {asked.qos} allows: {qos[asked.qos].max_time}")
    return own


def with_options(asked: JobFile, changes: dict[str, Any]) -> JobFile:
    """Give the job with what the command line says instead."""
    return read({**asked.model_dump(), **{name: value for name, value in changes.items() if value is not None}})

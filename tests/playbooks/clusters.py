"""Resolved clusters for the tests of this folder, small and by hand: what a spec can say, not what a blueprint gives."""

from typing import Any

from blueprints import spec


def machine(*, gpu_type: str = "h100", gpus: int = 8, exists: bool = True, cores: int = 2, memory_mib: int = 16_000, simulated: bool = True) -> spec.Machine:
    return spec.Machine(
        name="local",
        sockets=1,
        cores_per_socket=cores,
        threads_per_core=1,
        memory_mib=memory_mib,
        gpus=spec.Gpus(gpu_type, gpus, simulated) if gpus else None,
        exists=exists,
    )


def node_set(pool: str = "train", *, nodes: int = 2, partition: str | None = None, default: bool = True, on: spec.Machine | None = None) -> spec.NodeSet:
    return spec.NodeSet(
        pool=pool,
        partition=spec.Partition(partition or pool, default, "1-00:00:00"),
        hosts=spec.HostGroup(pool, "compute", pool, nodes, "10.80.1.0", on or machine()),
        features=("h100",),
    )


def resolved(*node_sets: spec.NodeSet, slurm: str = "24.11") -> spec.ClusterSpec:
    no_gpu = machine(gpus=0)
    return spec.ClusterSpec(
        version=spec.SPEC_VERSION,
        name="starter",
        description="A cluster for tests",
        target="local",
        software=spec.Software("debian-13", "debian-13", "trixie", slurm, "simulated"),
        network=spec.Network("10.80.0.0/20", "10.80.0.1", "10.80.0.2", "starter.internal"),
        access=spec.HostGroup("access", "access", "login", 1, "10.80.0.20", no_gpu),
        storage=(spec.FileSystem("home", "nfs", "/home", protect=False, simulated=True),),
        accounts=(spec.Account("research", "First account", ("ada",)),),
        users=(spec.User("ada", 2001, "research", ()),),
        simulated=("GPUs are device files without a device",),
        slurm=spec.Slurm(
            run_by="slurm_hosts",
            control=spec.HostGroup("control", "control", "control", 1, "10.80.0.10", no_gpu),
            database=spec.Database("embedded", protect=False),
            node_sets=node_sets or (node_set(),),
        ),
    )


def cluster(*node_sets: spec.NodeSet, slurm: str = "24.11") -> dict[str, Any]:
    """Give what the playbooks get of a cluster: JSON's lists for tuples."""
    return dict(_lists(spec.login_view(resolved(*node_sets, slurm=slurm))))


def recorded(*node_sets: spec.NodeSet, slurm: str = "24.11") -> dict[str, Any]:
    """Give what a stack records of a cluster: JSON's lists for tuples."""
    return dict(_lists(spec.as_record(resolved(*node_sets, slurm=slurm))))


def with_slurm(record: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Give a record with other values of Slurm's fields."""
    return {**record, "slurm": {**record["slurm"], **values}}


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lists(entry) for name, entry in value.items()}
    return [_lists(entry) for entry in value] if isinstance(value, list | tuple) else value


SECRETS: dict[str, Any] = {"munge_key": "QUJD" * 16, "database_password": "a-long-password-1", "user_keys": {}}

"""Resolved clusters made by hand, for tests of what reads only the spec."""

import dataclasses
from typing import Any

from blueprints import spec

LOCAL_MACHINE = spec.Machine("local", 1, 2, 1, 2048, gpus=None, exists=True)
P5 = spec.Machine(
    name="p5.48xlarge",
    sockets=2,
    cores_per_socket=48,
    threads_per_core=2,
    memory_mib=2048 * 1024,
    gpus=spec.Gpus("h100", 8, simulated=False, memory_gib=80.0),
    exists=True,
    network_gbps=3200,
    nics=(spec.Nic(0, 0, "ena", 1), *(spec.Nic(card, 1, "efa-only", 0) for card in range(32))),
    scratch_gib=28312.21,
)
M7I = spec.Machine("m7i.large", 1, 1, 2, 8192, gpus=None, exists=True)
EFA = spec.Fabric(
    name="efa",
    title="EFA",
    required=True,
    nics=32,
    gbps_per_gpu=400.0,
    plugin="aws-ofi-nccl",
    environment=(("FI_PROVIDER", "efa"),),
    log_line="Selected provider is efa",
    expected=spec.Expectation("all_reduce", 8 * 2**30, 16, 480.0, 430.0, 380.0, provisional=True, source="nccl-tests", measured_nodes=2),
)


def hosts(name: str, count: int, first_address: str, machine: spec.Machine, *, role: str = "compute") -> spec.HostGroup:
    return spec.HostGroup(name, role, {"access": "login"}.get(name, name), count, first_address, machine)


def pool(name: str, count: int, first_address: str = "", machine: spec.Machine = LOCAL_MACHINE, **more: Any) -> spec.NodeSet:
    partition = spec.Partition(name, default=name == "train", max_time="1-00:00:00")
    return spec.NodeSet(name, partition, hosts(name, count, first_address, machine), features=(), **more)


def local(**more: Any) -> spec.ClusterSpec:
    """Two compute nodes with simulated GPUs on this machine, nothing protected."""
    gpus = dataclasses.replace(LOCAL_MACHINE, gpus=spec.Gpus("h100", 8, simulated=True))
    cluster = spec.ClusterSpec(
        version=spec.SPEC_VERSION,
        name="starter",
        description="One controller, one login node and two compute nodes",
        target="local",
        software=spec.Software("debian-13", "debian-13", "trixie", "24.11", tested_on="simulated"),
        network=spec.Network("10.81.0.0/20", "10.81.0.1", "10.81.0.2", "starter.internal"),
        access=hosts("access", 1, "10.81.0.20", LOCAL_MACHINE, role="access"),
        storage=(
            spec.FileSystem("home", "nfs", "/home", protect=False, simulated=True),
            spec.FileSystem("shared", "nfs", "/shared", protect=False, simulated=True),
        ),
        accounts=(spec.Account("research", "First account", ("ada",)),),
        users=(spec.User("ada", 2001, "research", ()),),
        simulated=("The GPUs are device nodes without hardware.",),
        slurm=spec.Slurm(
            run_by="slurm_hosts",
            control=hosts("control", 1, "10.81.0.10", LOCAL_MACHINE, role="control"),
            database=spec.Database("embedded", protect=False),
            node_sets=(pool("train", 2, "10.81.1.0", gpus), pool("dev", 1, "10.81.1.2")),
        ),
    )
    return replaced(cluster, **more)


def aws(**more: Any) -> spec.ClusterSpec:
    """Up to sixteen p5 nodes in us-east-1 with Lustre, data protected."""
    cluster = dataclasses.replace(
        local(),
        name="llm",
        description="Pre-training of language models",
        target="aws",
        software=spec.Software(
            "ubuntu-24.04-aws", "ubuntu-24.04", "noble", "24.11", tested_on="", versions=(("driver", "570.172.08"), ("cuda", "12.8"), ("nccl", "2.27.7"))
        ),
        network=spec.Network(
            "10.80.0.0/20",
            gateway="",
            balancer_address="",
            domain="llm.internal",
            region="us-east-1",
            zones=("us-east-1a", "us-east-1b"),
            subnets=(
                spec.Subnet("cluster", "cluster", "10.80.0.0/22", "us-east-1a", needed=23, usable=1019),
                spec.Subnet("public-a", "public", "10.80.4.0/24", spec.Late("the zone of the load balancer"), needed=2, usable=251),
            ),
        ),
        access=hosts("access", 2, "", M7I, role="access"),
        storage=(
            spec.FileSystem(
                name="scratch",
                kind="lustre",
                mount="/fsx",
                protect=True,
                simulated=False,
                product="FSx for Lustre, PERSISTENT_2 SSD",
                storage_class="fsx-lustre-persistent-2",
                size_gib=14400.0,
                throughput_mbs_per_tib=250,
                throughput_mbs=3515.625,
            ),
            spec.FileSystem("home", "nfs", "/home", protect=True, simulated=False, product="EFS", storage_class="efs"),
        ),
        slurm=spec.Slurm(
            run_by="slurm_hosts",
            control=hosts("control", 1, "", M7I, role="control"),
            database=spec.Database("embedded", protect=True),
            node_sets=(
                pool(
                    "train",
                    16,
                    machine=P5,
                    minimum=4,
                    capacity=spec.Capacity(spec.CapacityKind.ON_DEMAND),
                    fabric=EFA,
                    placement="packed",
                    scratch_mount="/scratch",
                    image=spec.Late("the newest image of profile ubuntu-24.04-aws"),
                    chosen="highest fabric rate with 8 h100",
                ),
                pool("sweep", 8, machine=P5, minimum=0, capacity=spec.Capacity(spec.CapacityKind.SPOT), chosen="highest fabric rate with 8 h100"),
            ),
        ),
        services=(spec.Service("nat-gateway", "NAT gateway", 1), spec.Service("load-balancer", "Network Load Balancer", 1)),
        login=spec.Login(allowed_cidrs=("192.0.2.0/24",)),
        simulated=(),
    )
    return replaced(cluster, **more)


def replaced(cluster: spec.ClusterSpec, **more: Any) -> spec.ClusterSpec:
    """Give the cluster with other values of its fields, or of Slurm's."""
    own = {name: more.pop(name) for name in ("control", "database", "qos", "node_sets") if name in more}
    if own:
        more["slurm"] = dataclasses.replace(slurm(cluster), **own)
    return dataclasses.replace(cluster, **more)


def slurm(cluster: spec.ClusterSpec) -> spec.Slurm:
    assert cluster.slurm is not None
    return cluster.slurm


def controllers(cluster: spec.ClusterSpec) -> spec.HostGroup:
    """Give Slurm's controllers, which are hosts of the stack."""
    found = slurm(cluster).control
    assert found is not None
    return found


def changed(cluster: spec.ClusterSpec, path: str, value: Any) -> spec.ClusterSpec:
    """Give the cluster with another value at a path, in which things of a list are named by their number (`node_sets.0.hosts.count`)."""
    return _changed(cluster, path.split("."), value)  # type: ignore[no-any-return]


def _changed(whole: Any, steps: list[str], value: Any) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(whole, tuple):
        return tuple(_changed(one, rest, value) if number == int(step) else one for number, one in enumerate(whole))
    return dataclasses.replace(whole, **{step: _changed(getattr(whole, step), rest, value)})


def local_changes() -> dict[str, tuple[spec.ClusterSpec, str]]:
    """Give changes of `local()` by what is changed: the cluster that is wanted, and the dearest effect."""
    old = local()
    train, dev = old.node_sets
    more_gpus = dataclasses.replace(train.hosts.machine, gpus=spec.Gpus("h100", 4, simulated=True))
    return {
        "nothing": (old, "none"),
        "the description": (changed(old, "description", "Another"), "in-place"),
        "the name": (changed(old, "name", "other"), "rolling"),
        "a user more": (changed(old, "users", (*old.users, spec.User("grace", 2002, "research", ()))), "in-place"),
        "a user less": (changed(old, "users", ()), "in-place"),
        "keys of a user": (changed(old, "users.0.ssh_keys", ("ssh-ed25519 AAAA",)), "in-place"),
        "an account more": (changed(old, "accounts", (*old.accounts, spec.Account("teaching", "", ()))), "in-place"),
        "the longest job": (changed(old, "slurm.node_sets.0.partition.max_time", "UNLIMITED"), "in-place"),
        "declared memory": (changed(old, "slurm.node_sets.0.hosts.machine.memory_mib", 4096), "in-place"),
        "declared memory of the controller": (changed(old, "slurm.control.machine.memory_mib", 4096), "none"),
        "an administrator": (changed(old, "users.0.admin", True), "in-place"),
        "a limit of an account": (changed(old, "accounts.0.most_gpus", 8), "in-place"),
        "a quality of service": (changed(old, "slurm.qos", (spec.Qos("urgent", 10, "1-00:00:00", 8, None, ()),)), "in-place"),
        "the priority of a partition": (changed(old, "slurm.node_sets.0.partition.priority", 10), "in-place"),
        "jobs that share no node": (changed(old, "slurm.node_sets.0.partition.exclusive", True), "in-place"),
        "who may use a partition": (changed(old, "slurm.node_sets.0.partition.accounts", ("research",)), "in-place"),
        "which machines of a pool come first": (changed(old, "slurm.node_sets.0.weight", 2), "in-place"),
        "labels of a pool": (changed(old, "slurm.node_sets.0.labels", (("team", "nlp"),)), "none"),
        "the last pool grows": (changed(old, "slurm.node_sets.1.hosts.count", 3), "in-place"),
        "the first pool grows and moves the second": (
            changed(changed(old, "slurm.node_sets.0.hosts.count", 4), "slurm.node_sets.1.hosts.first_address", "10.81.1.4"),
            "rolling",
        ),
        "a pool shrinks": (changed(old, "slurm.node_sets.0.hosts.count", 1), "replaces-nodes"),
        "a pool more": (changed(old, "slurm.node_sets", (train, dev, pool("debug", 1, "10.81.1.3"))), "in-place"),
        "a pool less": (changed(old, "slurm.node_sets", (train,)), "replaces-nodes"),
        "a pool of another name": (changed(old, "slurm.node_sets", (train, pool("debug", 1, "10.81.1.2"))), "replaces-nodes"),
        "fewer GPUs": (changed(old, "slurm.node_sets.0.hosts.machine", more_gpus), "rolling"),
        "no GPUs": (changed(old, "slurm.node_sets.0.hosts.machine.gpus", None), "rolling"),
        "another type of GPU": (changed(old, "slurm.node_sets.0.hosts.machine.gpus.type", "a100"), "in-place"),
        "the software profile": (changed(old, "software", dataclasses.replace(old.software, profile="debian-12", suite="bookworm", slurm="22.05")), "replaces-nodes"),
        "one version of the profile": (changed(old, "software.versions", (("kernel", "6.12"),)), "replaces-nodes"),
        "a second login node": (changed(old, "access.count", 2), "in-place"),
        "a second controller": (changed(old, "slurm.control.count", 2), "rolling"),
        "the network": (
            dataclasses.replace(
                old,
                network=spec.Network("10.82.0.0/20", "10.82.0.1", "10.82.0.2", "starter.internal"),
                access=changed(old, "access.first_address", "10.82.0.20").access,
                slurm=changed(
                    changed(changed(old, "slurm.control.first_address", "10.82.0.10"), "slurm.node_sets.0.hosts.first_address", "10.82.1.0"),
                    "slurm.node_sets.1.hosts.first_address",
                    "10.82.1.2",
                ).slurm,
            ),
            "rolling",
        ),
        "the balancer's address": (changed(old, "network.balancer_address", "10.81.0.3"), "in-place"),
        "a file system more": (changed(old, "storage", (*old.storage, spec.FileSystem("data", "nfs", "/data", protect=True, simulated=True))), "rolling"),
        "a file system less": (changed(old, "storage", old.storage[:1]), "destroys-data"),
        "a file system of another name": (changed(old, "storage.1.name", "common"), "destroys-data"),
        "where a file system is mounted": (changed(old, "storage.1.mount", "/common"), "rolling"),
        "the kind of a file system": (changed(old, "storage.1.kind", "lustre"), "none"),
        "the size of a file system": (changed(old, "storage.1.size_gib", 1200.0), "none"),
        "what happens to files on deletion": (changed(old, "storage.1.on_delete", "delete"), "none"),
        "protection of a file system": (changed(old, "storage.1.protect", True), "in-place"),
        "protection of the database": (changed(old, "slurm.database.protect", True), "in-place"),
        "a placement that this machine has not": (changed(old, "slurm.node_sets.0.placement", "packed"), "none"),
        "tests that gate": (changed(old, "acceptance", ("nodes",)), "none"),
    }  # fmt: skip

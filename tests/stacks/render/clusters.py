"""Clusters of every shape that pictures and reports are tried with, made by hand: what a rehearsal, the clouds and a data centre come to."""

from collections.abc import Callable, Mapping
from typing import Any

from blueprints.spec import (
    SPEC_VERSION,
    Account,
    Capacity,
    CapacityKind,
    ClusterSpec,
    Database,
    Expectation,
    Fabric,
    FileSystem,
    Gpus,
    HostGroup,
    Kubernetes,
    Late,
    Login,
    Machine,
    MigSlices,
    Monitoring,
    Network,
    Nic,
    NodeSet,
    Partition,
    Qos,
    Service,
    Slurm,
    Software,
    Subnet,
    Taint,
    User,
    Window,
)

VERSIONS = (("kernel", "6.8"), ("driver", "580.126.20"), ("CUDA", "13.0"), ("NCCL", "2.28.9"))


def machine(name: str, *, gpus: Gpus | None = None, nics: tuple[Nic, ...] = (Nic(0, 0, "ena", 1),), domain_nodes: int | None = None) -> Machine:
    return Machine(name, 2, 48, 2, 2_097_152, gpus, exists=True, network_gbps=3200, nics=nics, scratch_gib=28_312.21, domain_nodes=domain_nodes)


def small(name: str) -> Machine:
    return Machine(name, 1, 4, 2, 32_768, None, exists=True, network_gbps=12.5, nics=(Nic(0, 0, "ena", 1),))


def cluster(name: str, *, target: str, node_sets: tuple[NodeSet, ...], **more: Any) -> ClusterSpec:
    settings: dict[str, Any] = {
        "description": "",
        "software": Software(f"ubuntu-24.04-{target}", "ubuntu-24.04", "noble", "25.11", "", versions=VERSIONS),
        "network": Network("10.0.0.0/16", "10.0.0.1", "", f"{name}.internal", region="us-east-2", zones=("us-east-2a",)),
        "control": HostGroup("control", "control", "control", 1, "", small("m7i.2xlarge")),
        "access": HostGroup("access", "access", "login", 2, "", small("m7i.large")),
        "storage": (),
        "database": Database("embedded", protect=True),
        "accounts": (Account("research", "Everyone", ("ada", "grace")),),
        "users": (User("ada", 2001, "research", (), admin=True), User("grace", 2002, "research", ())),
        "simulated": (),
    }
    given = {**settings, **more}
    control, database, qos = given.pop("control"), given.pop("database"), given.pop("qos", ())
    if "kubernetes" not in given:
        given["slurm"] = Slurm("slurm_hosts", control, database, node_sets, qos=qos)
    return ClusterSpec(version=SPEC_VERSION, name=name, target=target, **given)


def pool(name: str, nodes: int, on: Machine, **more: Any) -> NodeSet:
    partition = more.pop("partition", Partition(name, default=name == "train", max_time="7-00:00:00"))
    return NodeSet(name, partition, HostGroup(name, "compute", name, nodes, "", on), features=(), **more)


def efa() -> Fabric:
    expected = Expectation("all_gather", 17_179_869_184, 16, 338, 321, 304, provisional=False, source="measurements", measured_nodes=2)
    return Fabric("efa", "Elastic Fabric Adapter", True, 32, 400, "aws-ofi-nccl", (), "Selected provider is efa", expected)


EFA_NICS = (Nic(0, 0, "ena", 1), Nic(0, 1, "efa-only", 0), *(Nic(card, 1, "efa-only", 0) for card in range(1, 32)))


def starter() -> ClusterSpec:
    gpus = Gpus("h100", 8, simulated=True)
    this = Machine("local", 1, 2, 1, 2048, gpus, exists=True)
    own = Machine("local", 1, 2, 1, 2048, None, exists=True)
    return cluster(
        "starter",
        target="local",
        description="One controller, one login node and two compute nodes with eight GPUs each",
        software=Software("debian-13", "debian-13", "trixie", "24.11", "simulated"),
        network=Network("10.81.0.0/20", "10.81.0.1", "10.81.0.2", "starter.internal"),
        control=HostGroup("control", "control", "control", 1, "10.81.0.10", own),
        access=HostGroup("access", "access", "login", 1, "10.81.0.20", own),
        node_sets=(NodeSet("train", Partition("train", True, "1-00:00:00"), HostGroup("train", "compute", "train", 2, "10.81.1.0", this), ("h100",)),),
        storage=(
            FileSystem("home", "nfs", "/home", False, simulated=True),
            FileSystem("shared", "nfs", "/shared", False, simulated=True),
        ),
        database=Database("embedded", protect=False),
        simulated=(
            "The GPUs (16 h100) are device nodes without hardware: Slurm schedules and confines them, and nothing computes on them.",
            "Shared storage, /home (nfs) and /shared (nfs), is a folder of this machine, whatever its kind.",
            "All hosts share the 2 processors and the memory of this machine.",
        ),
    )


def pretrain() -> ClusterSpec:
    train = machine("p5.48xlarge", gpus=Gpus("h100", 8, simulated=False, memory_gib=80), nics=EFA_NICS)
    develop = machine("g6.12xlarge", gpus=Gpus("l4", 4, simulated=False, memory_gib=22.4))
    zone = "us-east-2a"
    return cluster(
        "pretrain",
        target="aws",
        description="Pre-training of language models on 128 H100 GPUs, with a small pool for development",
        node_sets=(
            pool(
                "train", 16, train, capacity=Capacity(CapacityKind.RESERVED, "cr-0123456789abcdef0"), fabric=efa(), placement="given", scratch_mount="/scratch"
            ),
            pool("develop", 8, develop, minimum=1, capacity=Capacity(CapacityKind.SPOT)),
            pool("prepare", 20, small("m7i.8xlarge"), minimum=0),
        ),
        network=Network(
            "10.0.0.0/16",
            "10.0.0.1",
            "",
            "pretrain.internal",
            region="us-east-2",
            zones=(zone, "us-east-2b"),
            subnets=(
                Subnet("cluster", "cluster", "10.0.16.0/20", zone, 52, 4091),
                Subnet("public-a", "public", "10.0.0.0/28", zone, 4, 11),
                Subnet("public-b", "public", "10.0.0.16/28", "us-east-2b", 2, 11),
            ),
        ),
        control=HostGroup("control", "control", "control", 2, "", small("m7i.2xlarge")),
        storage=(
            FileSystem("home", "nfs", "/home", True, False, "EFS", "efs", None, durability="persistent", backup_days=35),
            FileSystem("scratch", "lustre", "/fsx", True, False, "FSx for Lustre", "fsx-lustre-persistent-2", 16_800, 250, 4101, backup_days=7),
            FileSystem("data", "object", "/data", False, False, "S3", "s3", None, on_delete="keep", encrypted=True),
        ),
        database=Database("managed", True, "RDS for MariaDB"),
        login=Login(True, ("203.0.113.0/24", "198.51.100.0/24"), "ldaps://ldap.example.org", "dc=example,dc=org"),
        services=(Service("load-balancer", "Network Load Balancer", 1), Service("nat-gateway", "NAT gateway", 1), Service("database", "RDS for MariaDB", 1)),
        qos=(Qos("urgent", 100, "1-00:00:00", 64, 10, ("normal",)),),
        maintenance=(Window("tuesday", "02:00", 4, "first"),),
        monitoring=Monitoring(metrics=True),
    )


def nine_networks() -> ClusterSpec:
    """GPUDirect-TCPXO: nine interfaces of a node, each in a network of its own."""
    nics = tuple(Nic(card, 0, "gvnic", 1) for card in range(9))
    train = machine("a3-megagpu-8g", gpus=Gpus("h100", 8, simulated=False, memory_gib=80), nics=nics)
    expected = Expectation("all_gather", 8_589_934_592, 2, 188.7, 179, 170, provisional=True, source="measurements")
    fabric = Fabric("gcp-tcpxo", "GPUDirect-TCPXO", True, 8, 200, "FasTrak", (), "NET/FasTrak", expected)
    zone = "us-central1-a"
    gpu_networks = tuple(Subnet(f"gpu-{number}", "fabric", f"10.{number}.0.0/20", zone, 8, 4092) for number in range(1, 9))
    return cluster(
        "mega",
        target="gcp",
        node_sets=(
            pool("train", 8, train, capacity=Capacity(CapacityKind.FLEX, max_run="7-00:00:00"), fabric=fabric, placement="packed", minimum=0),
            pool("debug", 1, train, capacity=Capacity(CapacityKind.ON_DEMAND), placement="none"),
        ),
        network=Network(
            "10.0.0.0/20",
            "10.0.0.1",
            "",
            "mega.internal",
            region="us-central1",
            zones=(zone,),
            subnets=(Subnet("hosts", "cluster", "10.0.0.0/20", zone, 12, 4092), *gpu_networks),
        ),
        storage=(FileSystem("home", "nfs", "/home", True, False, "Filestore zonal", "filestore-zonal", 10_240, None, 1200, backup_days=1),),
        login=Login(True, ("0.0.0.0/0",)),
        services=(Service("load-balancer", "TCP load balancer", 1), Service("nat-gateway", "Cloud NAT", 1)),
    )


def seven_thousand() -> ClusterSpec:
    """Sixteen pools, 7,500 nodes."""
    train = machine("p5.48xlarge", gpus=Gpus("h100", 8, simulated=False, memory_gib=80), nics=EFA_NICS)
    sets = tuple(
        pool(f"team-{number:02}", 469 if number < 12 else 468, train, fabric=efa() if number % 4 else None, minimum=0 if number > 11 else None)
        for number in range(16)
    )
    return cluster(
        "scale",
        target="aws",
        node_sets=sets,
        control=HostGroup("control", "control", "control", 2, "", small("m7i.8xlarge")),
        storage=(FileSystem("scratch", "lustre", "/fsx", True, False, "FSx for Lustre", "fsx-lustre-persistent-2", 1_200_000, 500, 585_937),),
        services=(Service("load-balancer", "Network Load Balancer", 1), Service("nat-gateway", "NAT gateway", 1)),
    )


def kubernetes() -> ClusterSpec:
    train = machine("p5en.48xlarge", gpus=Gpus("h200", 8, simulated=False, memory_gib=141), nics=EFA_NICS[:17])
    serve = machine("g6e.12xlarge", gpus=Gpus("l40s", 4, simulated=False, memory_gib=44.7, mig=(MigSlices("1g.12gb", 4),)))
    taints = (Taint("nvidia.com/gpu", "present", "NoSchedule"),)
    return cluster(
        "serve",
        target="aws",
        node_sets=(),
        software=Software("ubuntu-24.04-aws", "ubuntu-24.04", "noble", "", "", kubernetes="1.34", versions=VERSIONS),
        access=HostGroup("access", "access", "login", 0, "", small("m7i.large")),
        kubernetes=Kubernetes(
            "eks",
            "EKS",
            "1.34",
            None,
            (
                pool(
                    "train",
                    4,
                    train,
                    partition=None,
                    fabric=efa(),
                    placement="packed",
                    taints=taints,
                    image=Late("the newest image of profile ubuntu-24.04-aws"),
                ),
                pool("inference", 40, serve, partition=None, minimum=2, labels=(("purpose", "inference"),)),
            ),
        ),
        services=(Service("kubernetes", "EKS", 1), Service("nat-gateway", "NAT gateway", 1)),
        users=(),
        accounts=(),
        storage=(FileSystem("models", "object", "/models", True, False, "S3", "s3", None),),
    )


def rack() -> ClusterSpec:
    """Two racks of GB200 NVL72 on bare metal."""
    nics = (Nic(0, 0, "ethernet", 1), *(Nic(card, 0, "infiniband", 0) for card in range(1, 5)))
    tray = machine("gb200-nvl72-tray", gpus=Gpus("gb200", 4, simulated=False, memory_gib=186), nics=nics, domain_nodes=18)
    fabric = Fabric("ib-ndr", "InfiniBand NDR", True, 4, 400, "", (), "NET/IB", None)
    return cluster(
        "rack",
        target="metal",
        node_sets=(pool("train", 36, tray, fabric=fabric), pool("spare", 4, tray, fabric=fabric)),
        network=Network("10.20.0.0/22", "10.20.0.1", "10.20.0.2", "rack.internal"),
        control=HostGroup("control", "control", "control", 2, "10.20.0.10", small("control-host")),
        access=HostGroup("access", "access", "login", 1, "10.20.0.20", small("login-host")),
        storage=(FileSystem("work", "existing", "/work", False, False, source="10.30.0.5@tcp:/work"),),
    )


def crowd() -> ClusterSpec:
    """A hundred pools with long names, and words that markup and terminals would take for their own."""
    nasty = "<script>alert(1)</script>&\"'\x1b[2J\u202e"
    train = machine("a-machine-with-a-very-long-name-" + "x" * 30, gpus=Gpus("h100", 16, simulated=True))
    sets = tuple(pool(f"pool-{number:03}-{'n' * 20}", number + 1, train, minimum=0) for number in range(100))
    stores = tuple(FileSystem(f"s{number}", "nfs", f"/mnt/{'deep/' * 8}{number}", True, True) for number in range(20))
    return cluster(
        "crowd",
        target="local",
        description=nasty,
        node_sets=sets,
        storage=stores,
        simulated=(nasty, "Nothing here is real."),
        accounts=tuple(Account(f"account{number}", nasty, ()) for number in range(3)),
        login=Login(False, tuple(f"10.{number}.0.0/16" for number in range(40))),
    )


CLUSTERS: Mapping[str, Callable[[], ClusterSpec]] = {
    made.__name__: made for made in (starter, pretrain, nine_networks, seven_thousand, kubernetes, rack, crowd)
}

"""The offerings that the conformance suite runs: one row each."""

import dataclasses
import functools
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pulumi.runtime import mocks

from blueprints import facts, load
from components import cluster
from components.aws import adopt
from components.gcp import adopt as gcp_adopt
from tests.components import registered
from tests.components.aws import programs
from tests.components.gcp import programs as gcp_programs
from tests.components.registered import Program
from tests.recorded import states
from tests.simcloud.aws import facts as sdk

from .offering import Offering, Run, Said

MACHINE = facts.Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=8 * 1024 * 1024)
"""Holds any number of local hosts."""


SERVERS_BLUEPRINT, KUBERNETES_SERVERS_BLUEPRINT, KUBERNETES_BLUEPRINT = (
    str(pathlib.Path(__file__).with_name(name)) for name in ("metal.yaml", "metal-kubernetes.yaml", "local-kubernetes.yaml")
)


def run_on(target: str, provider: Callable[[], mocks.Mocks]) -> Run:
    """Give what runs blueprints on a target; each runs once for all tests that only look."""

    @functools.cache
    def ran(blueprint: str, overrides: str, preview: bool) -> Program:
        spec = load.examine(blueprint, target=target, stack=registered.STACK, facts=MACHINE, overrides=json.loads(overrides)).spec

        def register() -> None:
            cluster.Cluster(spec.name, spec, stack=registered.STACK)

        return registered.run(register, provider=provider(), preview=preview)

    def run(blueprint: str, overrides: Mapping[str, Any], *, preview: bool = False) -> Program:
        return ran(blueprint, json.dumps(overrides), preview)

    return run


def recorded(target: str) -> tuple[str, ...]:
    """Give the recorded blueprints of a target: together they register every kind of resource, as a test of theirs proves."""
    return tuple(str(path) for path in sorted((states.FOLDER / "blueprints").glob(f"{target}-*.yaml")))


# AWS


def _aws_marks(program: Program) -> tuple[Said, list[tuple[str, Said]]]:
    carrying: list[tuple[str, Said]] = []
    for one in programs.aws(program):
        module, kind = one.type.split(":")[1:]
        if sdk.kinds()[f"{module.partition('/')[0]}.{kind}"].is_tagged:
            carrying.append((one.name, one.inputs.get("tags") or {}))
        carrying += [(f"{one.name}: {each['resourceType']}", each["tags"]) for each in one.inputs.get("tagSpecifications") or ()]
    for one in program.of("clusterwright:aws:Nodes"):
        carrying.append((one.name, {f"clusterwright:{key}": one.inputs[key] for key in ("stack", "cluster", "owner")}))
    (site,) = program.of("clusterwright:aws:Site")
    names = {"clusterwright:stack": registered.STACK, "clusterwright:cluster": site.inputs["cluster"]}
    return {**names, "clusterwright:owner": "owner of clusterwright:aws:Site"}, carrying


def _aws_deletion(program: Program) -> Iterator[tuple[str, ...]]:
    controllers = [one.name for one in program.of("aws:ec2/instance:Instance") if one.inputs["tags"]["clusterwright:part"] == "control"]
    for ending in program.of("clusterwright:aws:Nodes"):
        node_set = ending.inputs["node_set"]
        used = (f"{node_set}-placement", f"{node_set}-placement-spread", "hosts-security-group")  # older nodes may be in either placement group
        yield from ((controller, ending.name, f"{node_set}-template", other) for controller in controllers for other in used)


AWS = Offering(
    target="aws",
    scheduler="slurm",
    run_by="slurm_hosts",
    blueprints=(*recorded("aws"), "gb200-nvl72"),
    starter="starter",
    package="aws:",
    run=run_on("aws", programs.Account),
    marks=_aws_marks,
    deletion=_aws_deletion,
    storage={"nfs": {}, "lustre": {"size": "4800 GiB"}, "block": {"size": "1 TiB"}, "object": {}},
    holding_data=frozenset(
        {
            "aws:backup/vault:Vault",
            "aws:ebs/volume:Volume",
            "aws:efs/fileSystem:FileSystem",
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            "aws:rds/instance:Instance",
            "aws:s3/bucket:Bucket",
        }
    ),
    disposable=frozenset({"cluster-file-system", "image-bucket"}),
    adopted=adopt.KINDS,
)


# Google Cloud


def _gcp_marks(program: Program) -> tuple[Said, list[tuple[str, Said]]]:
    """Labels carry the mark, and the descriptions of what can have no labels."""
    (site,) = program.of("clusterwright:gcp:Site")
    mark = {"clusterwright-stack": registered.STACK, "clusterwright-cluster": site.inputs["cluster"], "clusterwright-owner": "owner of clusterwright:gcp:Site"}
    described = f"cluster {site.inputs['cluster']}, stack {registered.STACK}, clusterwright-owner={mark['clusterwright-owner']}"
    carrying: list[tuple[str, Said]] = []
    for one in gcp_programs.gcp(program):
        if one.type in gcp_adopt.FORMS:
            labels = one.inputs.get("labels") or (mark if str(one.inputs.get("description", "")).endswith(described) else {})
            carrying.append((one.name, labels))
    named = ("stack", "cluster", "owner")
    return mark, [*carrying, *((one.name, {f"clusterwright-{key}": one.inputs.get(key) for key in named}) for one in program.of("clusterwright:gcp:Nodes"))]


def _gcp_deletion(program: Program) -> Iterator[tuple[str, ...]]:
    controllers = [one.name for one in gcp_programs.of(program, "compute:Instance") if one.inputs["labels"]["clusterwright-part"] == "control"]
    for ending in program.of("clusterwright:gcp:Nodes"):
        node_set = ending.inputs["node_set"]
        yield from ((controller, ending.name, f"{node_set}-template", other) for controller in controllers for other in ("cluster-subnet", "compute-account"))


GCP = Offering(
    target="gcp",
    scheduler="slurm",
    run_by="slurm_hosts",
    blueprints=(gcp_programs.CPU, "single-gpu"),
    starter="starter",
    package="gcp:",
    run=run_on("gcp", gcp_programs.Account),
    marks=_gcp_marks,
    deletion=_gcp_deletion,
    storage={"nfs": {}, "block": {"size": "1 TiB"}, "object": {}},
    holding_data=frozenset({"gcp:compute/disk:Disk", "gcp:filestore/instance:Instance", "gcp:storage/bucket:Bucket"}),
    disposable=frozenset({"cluster-disk"}),
    adopted=gcp_adopt.KINDS,
)


# This machine

LOCAL = "clusterwright:local:"


def _local_marks(program: Program) -> tuple[Said, list[tuple[str, Said]]]:
    (site,) = program.of(f"{LOCAL}Site")
    unmarked = (site.type, f"{LOCAL}Image")  # stacks share images
    carrying: list[tuple[str, Said]] = [(one.name, one.inputs) for one in program.resources if one.type.startswith(LOCAL) and one.type not in unmarked]
    return {"stack": site.inputs["stack"], "site": "token of clusterwright:local:Site"}, carrying


def _local_deletion(program: Program) -> Iterator[tuple[str, ...]]:
    """The site is deleted last and sweeps what others left."""
    for one in (*program.of(f"{LOCAL}HostPool"), *program.of(f"{LOCAL}ElasticPool")):
        yield ("acceptance", one.name, "network", "site")
        yield (one.name, "image", "site")
    yield from ((one.name, "site") for one in program.resources if one.type.startswith(LOCAL) and one.name != "site")


HERE = Offering(
    target="local",
    scheduler="slurm",
    run_by="slurm_hosts",
    blueprints=recorded("local"),
    starter="starter",
    package="",
    run=run_on("local", registered.Provider),
    marks=_local_marks,
    deletion=_local_deletion,
    storage={"nfs": {}},
    holding_data=frozenset({f"{LOCAL}Folder"}),
    disposable=frozenset(),
    adopted=frozenset(),
)


def _kubernetes_deletion(program: Program) -> Iterator[tuple[str, ...]]:
    """What runs in the cluster is deleted while its API server answers, and queues before what carries them out."""
    for node in ("train", "kubernetes"):
        yield ("kubernetes-acceptance", "account-research", "queues", "addon-kueue", f"finish-{node}", node, "network", "site")
    yield from ((one.name, "site") for one in program.resources if one.type.startswith(LOCAL) and one.name != "site")


HERE_KUBERNETES = dataclasses.replace(
    HERE,
    scheduler="kubernetes",
    run_by="kubernetes_hosts",
    blueprints=(KUBERNETES_BLUEPRINT,),
    starter="starter-kubernetes",
    deletion=_kubernetes_deletion,
    control="kubernetes",
    most_nodes=5000,
    with_nodes=lambda nodes: {"network.cidr": "10.64.0.0/16", "pools.train.nodes": nodes},
)

# Servers that exist already

METAL = "clusterwright:metal:"


def _metal_marks(program: Program) -> tuple[Said, list[tuple[str, Said]]]:
    (site,) = program.of(f"{METAL}Site")
    return {"stack": site.inputs["stack"], "site": f"token of {METAL}Site"}, [(one.name, one.inputs) for one in program.of(f"{METAL}Hosts")]


def _metal_deletion(program: Program) -> Iterator[tuple[str, ...]]:
    """A server is released when nothing works on it any more, and no group is finished before all are adopted."""
    groups = [one.name for one in program.of(f"{METAL}Hosts")]
    for group in groups:
        yield ("acceptance", f"finish-{group}", group, "site")
        yield from ((f"finish-{group}", other) for other in groups)


def _servers(nodes: int) -> dict[str, Any]:
    names = f"big-[0001-{nodes:04}]"
    return {"network.cidr": "10.0.0.0/8", "inventory.ranges": [{"names": names, "addresses": "10.21.0.1+"}], "pools.train.hosts": names}


SERVERS = Offering(
    target="metal",
    scheduler="slurm",
    run_by="slurm_hosts",
    blueprints=(SERVERS_BLUEPRINT,),
    starter=SERVERS_BLUEPRINT,
    package="",
    run=run_on("metal", registered.Provider),
    marks=_metal_marks,
    deletion=_metal_deletion,
    storage={},
    holding_data=frozenset(),  # a release deletes no data: what servers export and mount stays
    disposable=frozenset(),
    adopted=frozenset(),
    most_nodes=1000,  # the program describes each server, so that more of them take much longer and show nothing else
    with_nodes=_servers,
)


def _servers_of_kubernetes(program: Program) -> Iterator[tuple[str, ...]]:
    """No server is changed before all are adopted, and nodes join a control plane that is there."""
    yield ("kubernetes-acceptance", "queues", "addon-kueue", "finish-train", "finish-kubernetes", "kubernetes", "site")
    yield ("finish-kubernetes", "train", "site")


SERVERS_KUBERNETES = dataclasses.replace(
    SERVERS,
    scheduler="kubernetes",
    run_by="kubernetes_hosts",
    blueprints=(KUBERNETES_SERVERS_BLUEPRINT,),
    starter=KUBERNETES_SERVERS_BLUEPRINT,
    deletion=_servers_of_kubernetes,
    control="kubernetes",
    with_nodes=lambda nodes: {**_servers(nodes), "network.cidr": "10.20.0.0/14"},
)
OFFERINGS = (AWS, GCP, HERE, HERE_KUBERNETES, SERVERS, SERVERS_KUBERNETES)

"""What is installed in a Kubernetes cluster when its nodes have joined: add-ons, then the queues and namespaces of the blueprint."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints import catalog
from blueprints.spec import METALLB, ClusterSpec, FileSystem

from ..provider.resource import OwnResource
from . import acceptance, kwok_nodes, load_balancers, queues, secondary_networks, settings

KWOK, TRAINER = "kwok", "trainer"


@dataclasses.dataclass(frozen=True, slots=True)
class Reached:
    """The cluster that things are installed in."""

    kubeconfig: pulumi.Input[str]
    """The administrator's. Secret."""
    release: pulumi.Input[str]
    """The folder of the release, which has manifests and the digests of images."""
    control: pulumi.Resource
    """When this is deleted, all that is in the cluster is gone with it, and nothing is deleted one by one."""


def install(
    spec: ClusterSpec,
    addons: Sequence[tuple[str, str]],
    *,
    reached: Reached,
    after: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
    file_systems: Sequence[FileSystem] = (),
    proves: Mapping[str, Any] | None = None,
) -> pulumi.Output[Any]:
    """Install add-ons and apply the blueprint's own objects.

    Args:
        addons: name and version of those that are installed through the API server.
        after: what must be there first.
        file_systems: those that nodes mount.
        proves: what acceptance stands for beside what is installed: boots and configurations of hosts.
    Returns:
        the verdicts of acceptance, which runs when all of it is there.
    """
    installed: dict[str, OwnResource] = {}
    kubernetes = queues.kubernetes_of(spec)
    names = [name for name, _ in addons]
    fabrics = {one.fabric.name for one in kubernetes.node_sets if one.fabric}
    for name, version in after_needs(addons):
        own = settings.of_addon(name, services=kubernetes.service_cidr, monitored=spec.monitoring, addons=names, fabrics=fabrics)
        installed[name] = OwnResource(
            "clusterwright:kubernetes:Addon",
            f"addon-{name}",
            inputs={"addon": name, "version": version, "release": reached.release, "kubeconfig": reached.kubeconfig, "settings": own},
            outputs=("content",),
            opts=_within(reached, [*after, *(installed[one] for one in catalog.addons()[name].needs if one in installed)], opts),
        )
    has_queues = settings.KUEUE in installed
    balanced = []
    if kubernetes.load_balancer_cidr and METALLB in installed:
        balanced.append(_objects("load-balancers", load_balancers.objects(kubernetes), reached, [installed[METALLB]], opts))
    shared = _objects("queues", queues.shared(spec, has_queues=has_queues), reached, [*after, *installed.values()], opts)
    accounts = queues.by_account(spec, has_queues=has_queues, file_systems=file_systems)
    of_accounts = [_objects(f"account-{name}", manifests, reached, [shared], opts) for name, manifests in accounts.items()]
    applied = [*installed.values(), *balanced, shared, *of_accounts]
    for nodes in kubernetes.kwok_nodes:
        inputs = {**kwok_nodes.inputs_of(kubernetes, nodes), "kubeconfig": reached.kubeconfig}
        after_kwok = _within(reached, [*after, *(one for name, one in installed.items() if name == KWOK)], opts)
        OwnResource("clusterwright:kubernetes:KwokNodes", f"nodes-{nodes.name}", inputs=inputs, opts=after_kwok)
    contents = pulumi.Output.all(*(one.output("content") for one in applied))
    proven = {"has_queues": has_queues, "proves": {"installed": contents, **(proves or {})}}
    if TRAINER in installed:
        proven["trains"] = True
    if has_queues and queues.has_racks(spec):
        proven["has_racks"] = True
    if balanced:
        proven["load_balancer_cidr"] = kubernetes.load_balancer_cidr
    if kubernetes.secondary_networks:
        proven["secondary_networks"] = secondary_networks.of_pools(kubernetes.node_sets, kubernetes.secondary_networks, spec.site)
    return _accept(spec, proven, reached, [*after, *applied], opts)


def after_needs(addons: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put add-ons after those that they use; these use none themselves. Pure."""
    return sorted(addons, key=lambda one: len(catalog.addons()[one[0]].needs))


def _accept(
    spec: ClusterSpec, inputs: Mapping[str, Any], reached: Reached, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> pulumi.Output[Any]:
    """Prove the cluster whenever something was installed, booted or configured since."""
    kubernetes = queues.kubernetes_of(spec)
    found = OwnResource(
        "clusterwright:kubernetes:Acceptance",
        "kubernetes-acceptance",
        inputs={
            "cluster": spec.name,
            "version": kubernetes.version,
            "kubeconfig": reached.kubeconfig,
            "release": reached.release,
            "pools": [dataclasses.asdict(one) for one in acceptance.pools(kubernetes.node_sets)],
            **inputs,
        },
        outputs=("ok", "checks", "seconds"),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[*after])),
    )
    return found.output("checks")


def _objects(
    name: str, manifests: Sequence[dict[str, object]], reached: Reached, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> OwnResource:
    inputs = {"group": name, "kubeconfig": reached.kubeconfig, "manifests": list(manifests)}
    return OwnResource("clusterwright:kubernetes:Objects", name, inputs=inputs, outputs=("content",), opts=_within(reached, after, opts))


def _within(reached: Reached, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[*after], deleted_with=reached.control))

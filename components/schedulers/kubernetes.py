"""Kubernetes on any target: its keys, its hosts, finishing, what runs in it, and acceptance."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints import catalog, rolling
from blueprints import spec as specs
from blueprints.spec import ClusterSpec, Kubernetes

from .. import contract, node_expectations
from ..finish import content
from ..kubernetes import platform
from ..kubernetes import release as releases
from ..provider import packed
from ..provider.resource import OwnResource
from . import keys
from .keys import People

FINISH, IN_PLACE = "kubernetes.yml", "kubernetes"
"""The playbook, and the role whose software it installs on servers that came with their own system."""
ADMINISTRATOR, ADMINISTRATORS = "clusterwright", "kubeadm:cluster-admins"
"""Who the stack is to the API server, and the group that kubeadm binds to the role cluster-admin. It can be unbound; `system:masters` could not."""


class Scheduler:
    """Kubernetes, provisioned by an offering.

    Its resources are children of the cluster.

    Args:
        kubernetes: Kubernetes' part of the spec.
        offering: what provisions it on the target.
        people: keys of those who log in.
    """

    access: contract.KubernetesAccess
    inventory: dict[str, pulumi.Output[list[dict[str, Any]]]]
    """Group → its hosts, as finishing sees them."""
    checks: pulumi.Output[list[dict[str, Any]]]
    """The verdicts of acceptance."""

    def __init__(
        self,
        spec: ClusterSpec,
        kubernetes: Kubernetes,
        *,
        offering: contract.KubernetesOffering[Any],
        foundation: contract.Foundation,
        people: People,
        opts: pulumi.ResourceOptions,
    ):
        self._opts = opts
        offered = offering.provided(kubernetes, foundation=foundation)
        parts = releases.optional_parts([one.name for one in kubernetes.addons], rehearsal=offered["rehearsal"])
        release = OwnResource(
            "clusterwright:kubernetes:Release", "kubernetes-release", inputs={"version": kubernetes.version, "parts": parts}, outputs=("folder",), opts=opts
        )
        mirror = self._mirror(kubernetes, release) if kubernetes.registry else []
        of_cluster = keys.of_kubernetes(people.admin, opts=opts)
        control = offering.control(kubernetes, foundation=foundation, keys=of_cluster)
        view = packed.pack(specs.kubernetes_view(spec))
        provided = {**offered, "release": release.output("folder").apply(lambda folder: folder.rpartition("/")[2])}
        shared = {"spec": view, "private_key": people.admin.private}
        if offering.in_place:
            provided["in_place"] = content.installation(IN_PLACE)
            shared["release_folder"] = release.output("folder")
        # Mounts of servers are their owner's business here: no file system of the blueprint is mounted on them.
        mounts = [] if offering.in_place else [one.target for one in foundation.mounts]
        expected = {one.hosts.name: node_expectations.expected(one, mounts=mounts, is_replaced=False) for one in kubernetes.node_sets}
        of_control = dict(provided)
        if (fleet := offering.fleet()) is not None:
            # What comes without finishing is told by the control plane what finishing tells others.
            of_control |= {"fleet": fleet, "expected": {one.hosts.name: expected[one.hosts.name] for one in kubernetes.node_sets if one.is_elastic}}
        finished = self._finish(control, {**shared, "provided": of_control, "secrets": pulumi.Output.secret(_control_secrets(of_cluster))}, after=mirror)
        pools = offering.nodes(kubernetes.node_sets, foundation=foundation, keys=of_cluster, control=control, after=finished)
        of_nodes = pulumi.Output.secret({"authority": of_cluster.authority.public})
        elastic = {one.hosts.name for one in kubernetes.node_sets if one.is_elastic}
        at_once = {one.hosts.name: rolling.at_once(one.rolling, one.hosts.count) for one in kubernetes.node_sets}
        joined = []
        for pool in pools:
            name = pool.group.name
            if name in elastic:
                continue
            of_pool = {
                "provided": {**provided, "node_set": name, "expected": expected[name]},
                "secrets": of_nodes,
                "asked": control.described,
                "at_once": at_once[name],
            }
            joined.append(self._finish(pool, {**shared, **of_pool}, after=[finished]))
        self.inventory = {hosts.group.name: hosts.described for hosts in (control, *pools)}
        self.checks = pulumi.Output.from_input([])
        admin = keys.client_certificate("admin-certificate", ADMINISTRATOR, groups=[ADMINISTRATORS], authority=of_cluster.authority, opts=opts)
        server = f"https://{kubernetes.endpoint}"
        self.access = contract.KubernetesAccess(
            server=server,
            version=kubernetes.version,
            kubeconfig=pulumi.Output.all(of_cluster.authority.public, admin.public, admin.private).apply(
                lambda known: kubeconfig(spec.name, server, authority=known[0], user=ADMINISTRATOR, certificate=known[1], key=known[2])
            ),
            release=release.output("folder"),
        )
        reached = platform.Reached(kubeconfig=pulumi.Output.secret(self.access.kubeconfig), release=self.access.release, control=control.resource)
        addons = [(one.name, one.version) for one in kubernetes.addons if catalog.addons()[one.name].installed_by is catalog.InstalledBy.API]
        groups = [finished, *joined]
        proves = {
            "boots": pulumi.Output.all(*(hosts.boots for hosts in (control, *pools))),
            "finished": pulumi.Output.all(*(one.output("finished") for one in groups)),
        }
        mounted = spec.storage if foundation.mounts else ()
        self.checks = platform.install(spec, addons, reached=reached, after=groups, opts=opts, file_systems=mounted, proves=proves)

    def _mirror(self, kubernetes: Kubernetes, release: OwnResource) -> list[pulumi.Resource]:
        """Ask the site's own registry for the images of the release, and for those that publishers build."""
        published = {image: digest for one in kubernetes.addons for image, digest in catalog.addons()[one.name].published.items()}
        inputs = {"registry": kubernetes.registry, "release": release.output("folder"), **({"published": published} if published else {})}
        return [OwnResource("clusterwright:kubernetes:Mirror", "kubernetes-mirror", inputs=inputs, opts=self._opts)]

    def _finish(self, hosts: contract.Hosts, inputs: Mapping[str, Any], *, after: Sequence[pulumi.Resource] = ()) -> OwnResource:
        """Configure the hosts of a group."""
        return OwnResource(
            "clusterwright:finish:Group",
            f"finish-{hosts.group.name}",
            inputs={"group": hosts.group.name, "hosts": hosts.described, "content": content.fingerprint(FINISH), "playbook": FINISH, **inputs},
            outputs=("finished", "repaired"),
            opts=pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=[*after])),
        )


def kubeconfig(cluster: str, server: str, *, authority: str, user: str, certificate: str, key: str) -> str:
    """Write the configuration with which clients reach the API server as a user (JSON, which is YAML too). Pure."""

    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    context = f"{user}@{cluster}"
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": encoded(authority)}}],
            "users": [{"name": user, "user": {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)}}],
            "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
            "current-context": context,
        },
        indent=1,
    )


def _control_secrets(known: contract.KubernetesKeys) -> dict[str, Any]:
    """Gather what hosts of the control plane have from finishing."""
    pairs = {"cluster": known.authority, "etcd": known.etcd, "front_proxy": known.front_proxy, "service_accounts": known.service_accounts}
    return {"encryption": known.encryption, **{name: {"public": pair.public, "private": pair.private} for name, pair in pairs.items()}}

"""Compare what runs in a Kubernetes cluster with what is recorded of it: objects by dry run, queues, nodes, certificates."""

import dataclasses
import datetime as dt
import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cryptography import x509

from blueprints.finding import Finding
from blueprints.finding.subject import ClusterObject
from blueprints.spec import Kubernetes, NodeSet

from ..elastic.kubernetes.model import STARTED_FROM, STOPPING
from ..kubernetes import acceptance, acceptance_jobs, addon, apply, kubeconfig, kwok_nodes, labels, manifests, objects, queues, readiness
from ..kubernetes.api import Api, ApiError, Key, Unreachable, key_of
from ..provider.kind import Refused, typed
from .codes import Code
from .finding import Unchecked, drift, shown
from .layer import Layer
from .recorded_cluster import Known

GROUPS = (addon.Addon(), objects.Objects(), kwok_nodes.Nodes())
QUEUEING = ("ClusterQueue", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass")
EXPIRES_SOON_DAYS = 30
TIMEOUT_S = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """An object, and what applying its recorded manifest would make of it."""

    key: Key
    found: Mapping[str, Any] | None
    wanted: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """What the API server said."""

    objects: tuple[Compared, ...] = ()
    queues: tuple[Key, ...] = ()
    """Those that no record has."""
    nodes: tuple[Mapping[str, Any], ...] = ()
    certificates: Mapping[str, dt.datetime] = dataclasses.field(default_factory=dict)
    """What each proves → when it expires."""
    unchecked: tuple[Unchecked, ...] = ()
    silent: str = ""
    """Why the API server could not be asked; empty: it answered."""


def look(known: Known) -> Seen:
    """Ask the API server of a stack. Changes nothing."""
    recorded = [one for one in known.resources if one["type"] in {kind.token for kind in GROUPS}]
    config = next((str(one["outputs"]["kubeconfig"]) for one in recorded if one["outputs"].get("kubeconfig")), "")
    if not config:
        return Seen(unchecked=(Unchecked(Layer.SCHEDULER, "Kubernetes", "no `up` has installed anything in the cluster yet"),))
    unchecked: list[Unchecked] = []
    try:
        api = Api(config, timeout_s=TIMEOUT_S)
        compared = [one for resource in recorded for one in _compared(api, resource, unchecked)]
        names = {manifests.parsed(name) for resource in recorded for name in resource["outputs"].get("objects") or ()}
        there = [key_of(one) for kind in QUEUEING for one in api.list(queues.KUEUE, kind)]
        strange = tuple(key for key in there if key not in names and not _of_acceptance(key))
        return Seen(tuple(compared), strange, tuple(api.list("v1", "Node")), _expiries(config), tuple(unchecked))
    except (Unreachable, kubeconfig.KubeconfigInvalid, ApiError) as error:
        return Seen(silent=str(error))


def findings(seen: Seen, known: Known, *, now: dt.datetime) -> Iterator[Finding]:
    """Judge what was seen. Pure."""
    if seen.silent:
        subject = ClusterObject("API server", known.cluster.name)
        yield drift(Code.API_SILENT, subject, "the API server does not answer", remedy=Code.API_SILENT.remedy, desired="answers", actual=shown(seen.silent))
        return
    for one in seen.objects:
        subject = ClusterObject(one.key.kind, one.key.name, one.key.namespace)
        if one.found is None:
            yield drift(Code.OBJECT_GONE, subject, "it is gone", remedy=Code.OBJECT_GONE.remedy, desired="there", recorded="there", actual="none")
            continue
        for field, (wanted, found) in differences(one.wanted, one.found).items():
            about = dataclasses.replace(subject, field=field)
            yield drift(Code.OBJECT_CHANGED, about, "it has another value", remedy=Code.OBJECT_CHANGED.remedy, recorded=_text(wanted), actual=_text(found))
    for key in seen.queues:
        yield drift(
            Code.QUEUE_ADDED, ClusterObject(key.kind, key.name, key.namespace), "the blueprint doesn't have it", remedy=Code.QUEUE_ADDED.remedy, actual="there"
        )
    yield from _of_nodes(seen.nodes, known)
    for what, expires in seen.certificates.items():
        left = (expires - now).days
        if left < EXPIRES_SOON_DAYS:
            text = "it has expired" if left < 0 else f"it expires in {left} days"
            yield drift(Code.CERTIFICATE, ClusterObject("certificate", what), text, remedy=Code.CERTIFICATE.remedy, actual=f"{expires:%Y-%m-%d}")


def differences(wanted: Any, found: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """Give the fields that differ: path → what is wanted and what is there. Lists are compared as a whole. Pure."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        different: dict[str, tuple[Any, Any]] = {}
        for name in dict.fromkeys((*wanted, *found)):
            different |= differences(wanted.get(name), found.get(name), f"{path}.{name}" if path else name)
        return different
    return {} if wanted == found else {path: (wanted, found)}


def _simulates(kubernetes: Kubernetes) -> bool:
    """Say whether the blueprint wants nodes that people add with kwok."""
    return any(one.name == "kwok" for one in kubernetes.addons)


def _of_nodes(nodes: Sequence[Mapping[str, Any]], known: Known) -> Iterator[Finding]:
    kubernetes = known.cluster.kubernetes
    if kubernetes is None:
        return
    there = {one["metadata"]["name"]: one for one in nodes if not (_simulates(kubernetes) and kwok_nodes.MARK in (one["metadata"].get("annotations") or {}))}
    control = kubernetes.control.hostnames if kubernetes.control else ()
    racks = known.cluster.site.racks if known.cluster.site else {}
    elastic = {one.pool for one in kubernetes.node_sets if one.is_elastic}
    for name in there.keys() - {*control, *(name for one in kubernetes.node_sets for name in one.hosts.hostnames)}:
        metadata = there[name]["metadata"]
        if STARTED_FROM in (metadata.get("annotations") or {}) and (metadata.get("labels") or {}).get(labels.POOL) in elastic:
            continue  # its pool got a smaller `max`: the autoscaler ends it when it is idle
        yield drift(Code.KUBE_NODE_ADDED, ClusterObject("Node", name), "the blueprint doesn't have it", remedy=Code.KUBE_NODE_ADDED.remedy, actual="there")
    # While one of several is lost, the others answer.
    for name in control if len(control) > 1 else ():
        if name in there and (lack := acceptance.node_lacks(there[name], 0, kubernetes.version)):
            code = _lacking(there[name])
            yield drift(code, ClusterObject("Node", name), f"it {lack}", remedy=code.remedy, desired="ready", actual=shown(lack))
    for node_set in kubernetes.node_sets:
        present = [name for name in node_set.hosts.hostnames if name in there]
        for name in node_set.hosts.hostnames:
            if name in there:
                yield from _of_node(there[name], node_set, kubernetes.version, {labels.RACK: racks[name]} if name in racks else {})
            elif len(present) < node_set.always:
                yield drift(
                    Code.KUBE_NODE_MISSING,
                    ClusterObject("Node", name),
                    "it has not joined",
                    remedy=Code.KUBE_NODE_MISSING.remedy,
                    desired="there",
                    actual="none",
                )


def _of_node(node: Mapping[str, Any], node_set: NodeSet, version: str, rack: Mapping[str, str]) -> Iterator[Finding]:
    subject = ClusterObject("Node", node["metadata"]["name"])
    gpus = node_set.hosts.machine.gpus.count if node_set.hosts.machine.gpus else 0
    if node_set.is_elastic and _is_on_its_way(node):
        return
    code = _lacking(node)
    # An elastic node that stays away, or is of another version, is replaced by the autoscaler.
    if (lack := acceptance.node_lacks(node, gpus, version)) and (not node_set.is_elastic or code is Code.KUBE_NODE_UNHEALTHY):
        yield drift(code, subject, f"it {lack}", remedy=code.remedy, desired="ready", actual=shown(lack))
    if node["spec"].get("unschedulable"):
        yield drift(Code.KUBE_NODE_CORDONED, subject, "it takes no pods", remedy=Code.KUBE_NODE_CORDONED.remedy, desired="schedulable", actual="cordoned")
    there = node["metadata"].get("labels") or {}
    for key, value in {**dict(node_set.labels), **rack, labels.POOL: node_set.pool}.items():
        if there.get(key) != value:
            about = dataclasses.replace(subject, field=key)
            what, actual = ("it has another label", there[key] or '""') if key in there else ("it lacks a label", "none")
            yield drift(Code.KUBE_NODE_CHANGED, about, what, remedy=Code.KUBE_NODE_CHANGED.remedy, desired=value or '""', actual=actual)
    taints = {(one["key"], one["effect"]): one.get("value") or "" for one in node["spec"].get("taints") or ()}
    for taint in node_set.taints:
        if (given := taints.get((taint.key, taint.effect))) != (taint.value or ""):
            about = dataclasses.replace(subject, field=f"taint {taint.key}")
            what = "it has lost a taint" if given is None else "a taint has another value"
            desired, actual = (f"{one or ''}:{taint.effect}" for one in (taint.value, given))
            yield drift(Code.KUBE_NODE_CHANGED, about, what, remedy=Code.KUBE_NODE_CHANGED.remedy, desired=desired, actual="none" if given is None else actual)


def _is_on_its_way(node: Mapping[str, Any]) -> bool:
    """Say whether the autoscaler is about to take an elastic node in or out."""
    annotations = node["metadata"].get("annotations") or {}
    return STOPPING in annotations or STARTED_FROM not in annotations


def _lacking(node: Mapping[str, Any]) -> Code:
    if readiness.condition(node, "Ready") != "True":
        return Code.KUBE_NODE_UNREADY
    return Code.KUBE_NODE_UNHEALTHY if readiness.condition(node, labels.HEALTHY) == "False" else Code.KUBE_NODE_CHANGED


def _compared(api: Api, resource: Mapping[str, Any], unchecked: list[Unchecked]) -> Iterator[Compared]:
    kind = next(one for one in GROUPS if one.token == resource["type"])
    inputs = typed(kind, resource["outputs"])
    try:
        wanted = kind.wanted(inputs)
    except Refused as refused:
        wanted, why = None, str(refused)
    else:
        why = "the release is not on this machine; `clusterwright up` installs it"
    if wanted is None:
        unchecked.append(Unchecked(Layer.SCHEDULER, kind.title(inputs), why))
        return
    for manifest in wanted:
        try:
            found, applied = apply.difference(api, manifest)
        except ApiError as error:
            unchecked.append(Unchecked(Layer.SCHEDULER, str(key_of(manifest)), f"the API server refuses its manifest: {error}"))
        else:
            yield Compared(key_of(manifest), found, applied)


def _expiries(config: str) -> dict[str, dt.datetime]:
    """Give when the certificates expire that are seen from outside: the administrator's, and the API server's own."""
    access = kubeconfig.read(config)
    found = {}
    if access.certificate:
        found["administrator"] = x509.load_pem_x509_certificate(access.certificate.encode()).not_valid_after_utc
    context = kubeconfig.tls(access)
    if context is not None:
        host, port = access.address
        with socket.create_connection((host, port), TIMEOUT_S) as plain, context.wrap_socket(plain, server_hostname=access.server_name or host) as secure:
            if (served := secure.getpeercert(binary_form=True)) is not None:
                found["API server"] = x509.load_der_x509_certificate(served).not_valid_after_utc
    return found


def _of_acceptance(key: Key) -> bool:
    return key.name.startswith(acceptance_jobs.NAMESPACE) or key.namespace == acceptance_jobs.NAMESPACE


def _text(value: Any) -> str:
    return "none" if value is None else shown(str(value))

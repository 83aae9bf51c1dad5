"""The objects that a blueprint's accounts, pools and QOS become: namespaces, rights, queues, quotas and priorities. Pure.

They grow with pools and accounts, never with nodes.
Source: Kueue v0.12 API (kueue.x-k8s.io/v1beta1), Kubernetes' pod security standards.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from blueprints import durations
from blueprints.spec import Account, ClusterSpec, FileSystem, Kubernetes, NodeSet, Qos, User, accounts_of_jobs

from . import file_systems as mounted
from . import kwok_nodes, labels, network_policies, pod_rules, quotas, secondary_networks

KUEUE, KUEUE_TOPOLOGY = "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1alpha1"
RBAC = "rbac.authorization.k8s.io"
MANAGED = {"app.kubernetes.io/managed-by": "clusterwright"}
TOPOLOGY = "cluster"
KIB = 1024
PRIVILEGED = "privileged"
JOB_RULES = (
    (("jobset.x-k8s.io",), ("jobsets",)),
    (("kubeflow.org",), ("pytorchjobs", "mpijobs")),
    (("trainer.kubeflow.org",), ("trainjobs",)),
)
"""Kinds of jobs that users of an account may create, as far as the cluster has them."""
_JOB_KINDS = ("Job", "JobSet", "PyTorchJob", "MPIJob", "TrainJob")
"""Kinds whose own labels say the priority of all that their controllers make of them (Kueue v0.12, pkg/controller/jobs/pod/pod_webhook.go)."""
_LABELS = "[dyn(object).metadata.?labels, dyn(object).?spec.?labels, dyn(object).?spec.?jobTemplate.?metadata.?labels].map(one, one.orValue({}))"
"""Labels that Kueue reads of an object or of what is made of it: a TrainJob gives `spec.labels` to its JobSet, a CronJob those of its template to its jobs."""
SYSTEM_CLASSES = "system-"
"""How Kubernetes begins the names of its own classes of pods; no other may begin so."""
_USER = "request.userInfo.username"


def shared(spec: ClusterSpec, *, has_queues: bool = True) -> list[dict[str, Any]]:
    """Give the objects that all accounts share.

    Args:
        has_queues: Kueue is installed; without it there are rights and namespaces alone.
    """
    node_sets, qos = _parts(spec)
    networks = kubernetes_of(spec).secondary_networks
    found = [
        *roles(spec.users, others=(secondary_networks.RULE,) if networks else ()),
        topology(spec),
        *flavors(node_sets),
        *priorities(qos),
        *time_limits(qos),
    ]
    return [*(one for one in found if has_queues or not _is_queueing(one)), *of_pods(spec)]


def by_account(spec: ClusterSpec, *, has_queues: bool = True, file_systems: Sequence[FileSystem] = ()) -> dict[str, list[dict[str, Any]]]:
    """Give the objects of each account that jobs run in, by the name that it has in the cluster.

    Args:
        file_systems: those that nodes mount.
    """
    node_sets, qos = _parts(spec)
    accounts = {labels.object_name(one.name): one for one in accounts_of_jobs(spec.accounts)}
    return {
        name: [
            *(one for one in of_account(account, spec, node_sets, qos) if has_queues or not _is_queueing(one)),
            *mounted.claims(name, file_systems, marks=MANAGED),
            *secondary_networks.objects(name, [one.name for one in kubernetes_of(spec).secondary_networks], marks=MANAGED),
        ]
        for name, account in accounts.items()
    }


def of_pods(spec: ClusterSpec) -> Iterator[dict[str, Any]]:
    """Give what pods of accounts may not do, and who changes what they may reach."""
    node_sets, _ = _parts(spec)
    accounts = {labels.object_name(one.name): {user.uid for user in spec.users if user.name in one.users} for one in accounts_of_jobs(spec.accounts)}
    yield from pod_rules.shared(accounts, marks=MANAGED)
    yield from network_policies.rule(marks=MANAGED)
    yield from classes_of_the_system()
    if _pod_security(node_sets) == PRIVILEGED:
        yield from pod_rules.of_fabrics(marks=MANAGED)


def roles(users: Sequence[User], *, others: Sequence[Mapping[str, Any]] = ()) -> Iterator[dict[str, Any]]:
    """What members of an account may do in its namespace, what everybody may look at, and who administers.

    Args:
        others: rules for members of accounts that not every cluster has.
    """
    aggregated = {f"{RBAC}/aggregate-to-edit": "true"}
    rules = [{"apiGroups": [*groups], "resources": [*resources], "verbs": ["*"]} for groups, resources in JOB_RULES]
    rules.append({"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueues", "workloads"], "verbs": ["get", "list", "watch"]})
    rules += [dict(one) for one in others]
    yield {**_named(f"{RBAC}/v1", "ClusterRole", "clusterwright-jobs", own=aggregated), "rules": rules}
    look = [
        {"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": ["kueue.x-k8s.io"],
            "resources": ["clusterqueues", "resourceflavors", "workloadpriorityclasses", "topologies"],
            "verbs": ["get", "list", "watch"],
        },
    ]
    yield {**_named(f"{RBAC}/v1", "ClusterRole", "clusterwright-look"), "rules": look}
    yield _binding("ClusterRoleBinding", "clusterwright-look", "clusterwright-look", [_subject("Group", "system:authenticated")])
    if admins := [one.name for one in users if one.admin]:
        yield _binding("ClusterRoleBinding", "clusterwright-admins", "cluster-admin", [_subject("User", name) for name in admins])


def topology(spec: ClusterSpec) -> dict[str, Any]:
    """Give the levels on which jobs can ask for nodes near each other: those whose labels all nodes have, since others would take no job."""
    levels = [labels.RACK] if has_racks(spec) else []
    return {**_named(KUEUE_TOPOLOGY, "Topology", TOPOLOGY), "spec": {"levels": [{"nodeLabel": one} for one in (*levels, labels.HOST)]}}


def has_racks(spec: ClusterSpec) -> bool:
    """Say whether the rack of every node is known."""
    racks = spec.site.racks if spec.site else {}
    return all(name in racks for node_set in kubernetes_of(spec).node_sets for name in node_set.hosts.hostnames)


def flavors(node_sets: Sequence[NodeSet]) -> Iterator[dict[str, Any]]:
    """One flavor for each pool: the nodes that have its label, with their taints.

    Where nodes come with pods, Kueue does not look for room on each of them: it would admit no job before they are there.
    """
    elastic = elastic_pools(node_sets)
    taints: dict[str, list[dict[str, str]]] = {}
    for one in node_sets:
        of_set = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in one.taints if taint.effect != "PreferNoSchedule"]
        taints.setdefault(one.pool, of_set)
    for pool, found in taints.items():
        spec: dict[str, Any] = {"nodeLabels": {labels.POOL: pool}, **({} if pool in elastic else {"topologyName": TOPOLOGY})}
        yield {
            **_named(KUEUE, "ResourceFlavor", labels.flavor_name(pool, is_elastic=pool in elastic)),
            "spec": {**spec, **({"nodeTaints": found} if found else {})},
        }


def elastic_pools(node_sets: Sequence[NodeSet]) -> frozenset[str]:
    return frozenset(one.pool for one in node_sets if one.is_elastic)


def priorities(qos: Sequence[Qos]) -> Iterator[dict[str, Any]]:
    """One class for each QOS; a job names it in a label."""
    for one in qos:
        limit = f"jobs run at most {one.max_time}" if durations.seconds(one.max_time) else "jobs run as long as they need"
        yield {**_named(KUEUE, "WorkloadPriorityClass", labels.object_name(one.name)), "value": one.priority, "description": f"QOS {one.name}: {limit}"}


def of_account(account: Account, spec: ClusterSpec, node_sets: Sequence[NodeSet], qos: Sequence[Qos]) -> Iterator[dict[str, Any]]:
    """Namespace, rights, network policy and queues of one account."""
    name = labels.object_name(account.name)
    marks = {labels.ACCOUNT: name, "pod-security.kubernetes.io/enforce": _pod_security(node_sets), "pod-security.kubernetes.io/warn": "restricted"}
    yield _named("v1", "Namespace", name, own=marks)
    if members := [_subject("User", user) for user in account.users]:
        yield _binding("RoleBinding", "members", "edit", members, namespace=name)
    yield network_policies.of_account(name, spec, marks=MANAGED)
    yield from qos_of_account(account, spec.accounts, qos)
    yield cluster_queue(account, spec, node_sets, qos)
    yield {**_named(KUEUE, "LocalQueue", labels.LOCAL_QUEUE, namespace=name), "spec": {"clusterQueue": name}}


def cluster_queue(account: Account, spec: ClusterSpec, node_sets: Sequence[NodeSet], qos: Sequence[Qos]) -> dict[str, Any]:
    """The account's quota of every pool; in the cohort of all accounts it borrows what others don't use, and takes back what is its own."""
    name = labels.object_name(account.name)
    offered = []
    for capacity in quotas.capacities(node_sets):
        found = quotas.of_pool(capacity, spec.accounts)[account.name]
        amounts = (("cpu", found["cpus"], str), ("memory", found["memory_mib"], _mebibytes), (labels.GPU, found["gpus"], str))
        name_of_flavor = labels.flavor_name(capacity.pool, is_elastic=capacity.pool in elastic_pools(node_sets))
        offered.append({"name": name_of_flavor, "resources": [_resource(resource, one, write) for resource, one, write in amounts]})
    preempting = any(one.preempts for one in qos)
    return {
        **_named(KUEUE, "ClusterQueue", name),
        "spec": {
            "cohort": labels.object_name(spec.name),
            "namespaceSelector": {"matchLabels": {labels.ACCOUNT: name}},
            "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [{"coveredResources": ["cpu", "memory", labels.GPU], "flavors": offered}],
            "preemption": {
                "withinClusterQueue": "LowerPriority" if preempting else "Never",
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "LowerPriority"} if preempting else {"policy": "Never"},
            },
        },
    }


def time_limits(qos: Sequence[Qos]) -> Iterator[dict[str, Any]]:
    """Refuse jobs of a QOS that may run longer than the QOS allows: Kueue ends a job after the seconds in its label, and the API server requires the label here."""
    for one in qos:
        limit = durations.seconds(one.max_time)
        if limit is None:
            continue
        others = f"one[?'{labels.PRIORITY}'].orValue('') != '{labels.object_name(one.name)}'"
        seconds = f"int(one['{labels.MOST_SECONDS}'])"
        # Kueue takes 0 for no limit.
        limited = f"'{labels.MOST_SECONDS}' in one && {seconds} > 0 && {seconds} <= {limit}"
        message = f"jobs of QOS {one.name} run at most {one.max_time}: set the label {labels.MOST_SECONDS} to {limit} or less"
        namespaces = {"matchExpressions": [{"key": labels.ACCOUNT, "operator": "Exists"}]}
        yield from _refusal(
            f"clusterwright-qos-{labels.object_name(one.name)}", rule=_by_labels(f"{others} || ({limited})"), message=message, namespaces=namespaces
        )


def qos_of_account(account: Account, accounts: Sequence[Account], qos: Sequence[Qos]) -> Iterator[dict[str, Any]]:
    """Refuse jobs of a QOS that the account may not use."""
    allowed = allowed_qos(account, accounts)
    if not allowed or set(allowed) >= {one.name for one in qos}:
        return
    name = labels.object_name(account.name)
    classes = ", ".join(f"'{labels.object_name(one)}'" for one in allowed)
    message = f"jobs of account {account.name} may use the QOS {', '.join(allowed)}: change the label {labels.PRIORITY}"
    among = f"!('{labels.PRIORITY}' in one) || one['{labels.PRIORITY}'] in [{classes}]"
    yield from _refusal(f"clusterwright-account-{name}", rule=_by_labels(among), message=message, namespaces={"matchLabels": {labels.ACCOUNT: name}})


def classes_of_the_system() -> Iterator[dict[str, Any]]:
    """Refuse jobs and pods of the classes that Kubernetes has for its own pods: Kueue and the scheduler would have them take the place of all others.

    Source: Kubernetes, "Pod Priority and Preemption"; Kueue v0.12, pkg/util/priority (a job without a QOS has the priority of its pods' class).
    """

    def passes(name: str) -> str:
        return f"!{name}.orValue('').startsWith('{SYSTEM_CLASSES}')"

    of = "dyn(object).?spec"
    rules = [passes(f"{of}.?{path}priorityClassName") for path in ("", "template.?spec.?", "jobTemplate.?spec.?template.?spec.?")]
    rules.append(f"{of}.?replicatedJobs.orValue([]).all(one, {passes('one.?template.?spec.?template.?spec.?priorityClassName')})")
    for kind in ("pytorchReplicaSpecs", "mpiReplicaSpecs"):
        role = passes(f"dyn(object).spec.{kind}[one].?template.?spec.?priorityClassName")
        rules.append(f"{of}.?{kind}.orValue({{}}).all(one, {role})")
    rules.append(passes(f"{of}.?runPolicy.?schedulingPolicy.?priorityClass"))
    yield from _refusal(
        "clusterwright-system-classes",
        rule=" && ".join(rules),
        message=f"classes of pods whose names begin with {SYSTEM_CLASSES} are for the cluster's own pods: name a QOS in the label {labels.PRIORITY}",
        namespaces={"matchExpressions": [{"key": labels.ACCOUNT, "operator": "Exists"}]},
    )


def allowed_qos(account: Account, accounts: Sequence[Account]) -> tuple[str, ...]:
    """Name the QOS that jobs of an account may use, the default first: its own list or the nearest one above it. Empty: all."""
    by_name, found = {one.name: one for one in accounts}, account
    while not found.qos and found.parent in by_name:
        found = by_name[found.parent]
    return found.qos


def _by_labels(unless: str) -> str:
    """Give a rule of what Kueue reads of labels.

    Args:
        unless: what lets labels pass, as an expression (CEL) of `one`, the labels.
    """
    return f"{_LABELS}.all(one, {unless})"


def _refusal(name: str, *, rule: str, message: str, namespaces: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Have the API server refuse jobs and pods of some namespaces of accounts, whoever creates them.

    Args:
        rule: what lets one pass, as an expression (CEL).
    """
    kinds = [(("",), ("pods",)), (("batch",), ("jobs", "cronjobs")), *JOB_RULES]
    groups = [{"apiGroups": [*group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [*resources]} for group, resources in kinds]
    owners = ", ".join(f"'{kind}'" for kind in _JOB_KINDS)
    of_job = f"object.metadata.?ownerReferences.orValue([]).exists(one, one.?controller.orValue(false) && one.kind in [{owners}])"
    # Users, and service accounts that they have, choose the owner of what they create, so that it counts where a controller names it. Controllers may also change what is there already, so that it ends.
    account = "'system:serviceaccount:'"
    own = f"!{_USER}.startsWith({account}) || {_USER}.startsWith({account} + request.namespace + ':')"
    judged = f"{own} || (request.operation == 'CREATE' && !{of_job})"
    yield {
        **_named("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", name),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": groups},
            "matchConditions": [{"name": "made-by-a-user-or-of-no-job", "expression": judged}],
            "validations": [{"expression": rule, "message": message, "reason": "Invalid"}],
        },
    }
    yield {
        **_named("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", name),
        "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": dict(namespaces)}},
    }


def kubernetes_of(spec: ClusterSpec) -> Kubernetes:
    """Give Kubernetes' part of the spec.

    Raises:
        ValueError: it has none.
    """
    if spec.kubernetes is None:
        raise ValueError(f"{spec.name} has no Kubernetes")
    return spec.kubernetes


def _parts(spec: ClusterSpec) -> tuple[Sequence[NodeSet], Sequence[Qos]]:
    kubernetes = kubernetes_of(spec)
    return [*kubernetes.node_sets, *kwok_nodes.node_sets(kubernetes)], kubernetes.qos


def _is_queueing(manifest: Mapping[str, Any]) -> bool:
    return "kueue.x-k8s.io" in manifest["apiVersion"] or manifest["kind"].startswith("ValidatingAdmissionPolicy")


def _resource(name: str, quota: quotas.Quota, write: Callable[[int], str]) -> dict[str, Any]:
    return {"name": name, "nominalQuota": write(quota.owned), "borrowingLimit": write(quota.most - quota.owned)}


def _mebibytes(count: int) -> str:
    """Write an amount of memory as Kubernetes itself writes it, so that an object that comes back is equal to the one that was sent (apimachinery, resource.Quantity)."""
    units = ["Mi", "Gi", "Ti", "Pi"]
    while len(units) > 1 and count and count % KIB == 0:
        count //= KIB
        units.pop(0)
    return f"{count}{units[0]}" if count else "0"


def _pod_security(node_sets: Sequence[NodeSet]) -> str:
    """Name the standard that pods of accounts are held to: RDMA needs locked memory, which only privileged namespaces allow; `pod_rules` forbids the rest there."""
    return PRIVILEGED if any(one.fabric for one in node_sets) else "baseline"


def _named(api_version: str, kind: str, name: str, *, namespace: str = "", own: Mapping[str, str] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {**MANAGED, **(own or {})}}
    return {"apiVersion": api_version, "kind": kind, "metadata": {**metadata, **({"namespace": namespace} if namespace else {})}}


def _binding(kind: str, name: str, role: str, subjects: Sequence[Mapping[str, str]], *, namespace: str = "") -> dict[str, Any]:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    return {**_named(f"{RBAC}/v1", kind, name, namespace=namespace), "roleRef": reference, "subjects": [*subjects]}


def _subject(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": RBAC, "kind": kind, "name": name}

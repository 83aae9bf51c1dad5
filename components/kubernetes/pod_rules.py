"""What pods of accounts may not do, as policies that the API server enforces itself. Pure.

Files of a shared file system belong to numbers of users, and a pod can run under any number: so a pod that has one of them runs as a user of its account, and can't become another. Nor may it name
folders below, which the kubelet would open as root. Members of one account can act as each other there, as the pods of their jobs are created by controllers and not by them. An image can put its
user into further groups, which containerd 1.7 adds (kubernetes#112879): files that groups of others may read are not closed to them.

Namespaces of accounts that use a fabric are not held to the standard "baseline", since RDMA needs locked memory. What gives rights over a node is forbidden here.
Source: Kubernetes, "Pod Security Standards" (baseline), "Validating Admission Policy".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from . import labels
from .file_systems import CLAIMS

ADMISSION = "admissionregistration.k8s.io/v1"
VOLUMES = ("configMap", "secret", "emptyDir", "downwardAPI", "projected", "persistentVolumeClaim", "ephemeral", "image")
"""Kinds of volumes that pods of accounts may have. The others mount a folder of the node, or a file server as the node: with the rights of root."""
LOCKED_MEMORY = "IPC_LOCK"
ADDED = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    LOCKED_MEMORY,
)  # fmt: skip
"""Capabilities that a container may ask for: those of the standard, and locked memory."""
SYSCTLS = (
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)  # fmt: skip
SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_POD, _CONTEXT = "object.spec", "object.spec.?securityContext"
_CONTAINERS = "object.spec.containers.map(c, dyn(c)) + object.spec.?initContainers.orValue([]).map(c, dyn(c)) + object.spec.?ephemeralContainers.orValue([]).map(c, dyn(c))"


def shared(users: Mapping[str, Collection[int]], *, marks: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Say what pods of all accounts may mount, as whom those run that have the blueprint's file systems, and that members leave the claims of these alone.

    Args:
        users: account, as the cluster names it → numbers of its users; each is also the number of the user's own group.
    """
    known = f"({{{', '.join(f'{account!r}: {sorted(uids)}' for account, uids in sorted(users.items()))}}})[?request.namespace].orValue([])"
    kinds = " || ".join(f"has(v.{kind})" for kind in VOLUMES)
    yield from policy(
        "clusterwright-volumes",
        {f"pods of accounts have volumes of these kinds alone: {', '.join(VOLUMES)}": f"{_POD}.?volumes.orValue([]).all(v, {kinds})"},
        marks=marks,
    )
    own = "c.?securityContext"
    mounts = "c.?volumeMounts.orValue([])"

    def as_user(field: str) -> str:
        return f"variables.containers.all(c, {own}.?{field}.orValue({_CONTEXT}.?{field}.orValue(-1)) in variables.known)"

    rules = {
        "runAsUser is one of its users": as_user("runAsUser"),
        "runAsGroup is the group of one of its users": as_user("runAsGroup"),
        "further groups are those of its users": f"({_CONTEXT}.?supplementalGroups.orValue([]) + {_CONTEXT}.?fsGroup.optMap(g, [g]).orValue([])).all(g, g in variables.known)",
        "allowPrivilegeEscalation is false in every container": f"variables.containers.all(c, {own}.?allowPrivilegeEscalation.orValue(true) == false)",
        "no capabilities are added": f"variables.containers.all(c, size({own}.?capabilities.?add.orValue([])) == 0)",
        "no subPath is mounted": f"variables.containers.all(c, {mounts}.all(m, m.?subPath.orValue('') == '' && m.?subPathExpr.orValue('') == ''))",
    }
    has_one = f"{_POD}.?volumes.orValue([]).exists(v, has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName.startsWith('{CLAIMS}'))"
    message = "a pod with the cluster's file systems runs as a user of its account:"
    yield from policy(
        "clusterwright-files",
        {f"{message} {what}": rule for what, rule in rules.items()},
        marks=marks,
        variables={"known": known},
        conditions={"has-files": has_one},
    )
    ours = f"(request.operation == 'DELETE' ? oldObject : object).metadata.name.startsWith('{CLAIMS}')"
    yield from policy(
        "clusterwright-claims",
        {f"claims whose names begin with {CLAIMS} belong to the cluster": "false"},
        marks=marks,
        asked=(("CREATE", "persistentvolumeclaims"), ("DELETE", "persistentvolumeclaims")),
        conditions={
            "of-the-cluster": ours,
            "by-a-member": "!authorizer.group('').resource('persistentvolumes').check('create').allowed() "
            "&& !request.userInfo.username.startsWith('system:serviceaccount:kube-system:')",
        },
    )


def of_fabrics(*, marks: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Forbid pods of accounts that have a fabric what gives rights over a node. They may lock memory and use the host's network."""
    own = "c.?securityContext"
    profiles = f"[{_CONTEXT}] + variables.containers.map(c, {own})"
    rules = {
        "no namespaces of the host": f"!{_POD}.?hostPID.orValue(false) && !{_POD}.?hostIPC.orValue(false)",
        "no privileged containers": f"variables.containers.all(c, !{own}.?privileged.orValue(false))",
        f"no other capabilities than {', '.join(ADDED)}": f"variables.containers.all(c, {own}.?capabilities.?add.orValue([]).all(one, one in {_texts(ADDED)}))",
        "no other /proc": f"variables.containers.all(c, {own}.?procMount.orValue('Default') == 'Default')",
        "no other profiles of seccomp and AppArmor": f"({profiles}).all(s, s.?seccompProfile.?type.orValue('') != 'Unconfined' && s.?appArmorProfile.?type.orValue('') != 'Unconfined')",
        "no other types of SELinux": f"({profiles}).all(s, s.?seLinuxOptions.?type.orValue('') in {_texts(SELINUX_TYPES)} && "
        "s.?seLinuxOptions.?user.orValue('') == '' && s.?seLinuxOptions.?role.orValue('') == '')",
        "safe settings of the kernel alone": f"{_CONTEXT}.?sysctls.orValue([]).all(s, s.name in {_texts(SYSCTLS)})",
    }
    yield from policy("clusterwright-fabrics", {f"pods of accounts get {what}": rule for what, rule in rules.items()}, marks=marks)


def policy(
    name: str,
    rules: Mapping[str, str],
    *,
    marks: Mapping[str, str],
    group: str = "",
    variables: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
    asked: Sequence[tuple[str, str]] = (("CREATE", "pods"), ("UPDATE", "pods/ephemeralcontainers")),
) -> Iterator[dict[str, Any]]:
    """Write a policy and its binding to the namespaces of all accounts.

    Args:
        group: of the API; empty: the one of pods.
        asked: operations and resources. A pod that was created before the rule must be able to end: its controller then changes what it says of itself.
    """
    groups = [{"apiGroups": [group], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]} for operation, resource in asked]
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": groups},
        "validations": [{"expression": rule, "message": message, "reason": "Forbidden"} for message, rule in rules.items()],
    }
    if any("variables.containers" in rule for rule in rules.values()):
        spec["variables"] = [{"name": one, "expression": rule} for one, rule in {"containers": _CONTAINERS, **(variables or {})}.items()]
    if conditions:
        spec["matchConditions"] = [{"name": one, "expression": rule} for one, rule in conditions.items()]
    yield {"apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name, "labels": dict(marks)}, "spec": spec}
    # Only the administrator can create pods where acceptance runs, and one of them looks at its node's devices.
    of_accounts = {
        "namespaceSelector": {
            "matchExpressions": [{"key": labels.ACCOUNT, "operator": "Exists"}, {"key": labels.ACCOUNT, "operator": "NotIn", "values": [labels.ACCEPTANCE]}]
        }
    }
    yield {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name, "labels": dict(marks)},
        "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": of_accounts},
    }


def _texts(words: Sequence[str]) -> str:
    return f"[{', '.join(repr(word) for word in words)}]"

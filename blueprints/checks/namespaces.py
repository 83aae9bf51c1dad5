"""Names of accounts and QOS that become objects of Kubernetes: those that Kubernetes, an add-on or acceptance has already."""

from collections.abc import Iterator

from .. import catalog, finding, language, spec
from ..codes import Code
from ..document import Document

_OWN = "clusterwright-"
"""Acceptance has a namespace, queues and priorities of its own; their names begin like this."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find accounts whose namespace is not their own, and QOS whose class of priority is not.

    Members of an account get the role `edit` in its namespace: in `kube-system` they would administer the whole cluster.
    """
    kubernetes = cluster.kubernetes
    if kubernetes is None:
        return
    for account in spec.accounts_of_jobs(cluster.accounts):
        if owner := _owner(account.name, kubernetes):
            what = f"the account name {account.name} is taken in Kubernetes"
            why = f"each account is a namespace in which its users have rights, and the namespace {account.name} belongs to {owner}"
            remedy = f"choose another name, such as `{_free(account.name)}`, also where users and other accounts name this one"
            yield finding.Finding(finding.Level.ERROR, Code.NAME_RESERVED, source.where_key("accounts", account.name), what, why, remedy)
    for qos in kubernetes.qos:
        if qos.name.startswith(_OWN):
            what = f"the QOS name {qos.name} is taken in Kubernetes"
            why = f"each QOS is a class of priority, and those whose names begin with {_OWN} belong to acceptance"
            yield finding.Finding(finding.Level.ERROR, Code.NAME_RESERVED, source.where_key("qos", qos.name), what, why, "choose another name")


def _owner(name: str, kubernetes: spec.Kubernetes) -> str | None:
    """Say whose a namespace is: the cluster's own, an installed add-on's or acceptance's; None: nobody's."""
    own = catalog.kubernetes_namespaces(kubernetes.run_by)
    if name in own.initial or name.startswith(own.prefixes):
        return "Kubernetes itself" if kubernetes.control else f"{kubernetes.product} itself"
    if name.startswith(_OWN):
        return "acceptance"
    return next((f"the add-on {one.name}" for one in kubernetes.addons if name in catalog.addons()[one.name].namespaces), None)


def _free(name: str) -> str:
    """Give a name that is not reserved: Kubernetes' own and acceptance's are reserved by their beginning alone."""
    return f"team-{name}"[: language.names.ACCOUNT_LENGTH].rstrip("-")

"""Quotas of the account, compared with what the cluster needs."""

import dataclasses
import ipaddress
from collections.abc import Iterator

from .. import addresses, catalog, finding, spec
from ..codes import Code
from ..document import Document
from ..plan import quotas
from .account import Answers

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_ASK = "request an increase of the quota {code} early: approval can take days"


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find quotas that are too small for all nodes or for the nodes that always run, and limits of the region that are reached."""
    at_once = {need.code: need.needed for need in quotas.needed(_smallest(cluster))}
    if answers.knows("quotas"):
        for need in quotas.needed(cluster):
            has = answers.quotas.get(need.code)
            if has is None or need.needed <= has:
                continue
            least = at_once.get(need.code, 0)
            what = f"the account's quota is {has:g} {need.unit} of {need.name}, and the cluster can need {need.needed}"
            why = f"{need.why}; the cloud refuses each node beyond the quota"
            if least > has:
                why = f"{least} of them always run, so provisioning fails: {need.why}"
            level = _ERROR if least > has else _WARNING
            yield finding.Finding(level, Code.QUOTA_TOO_SMALL, source.where_key("pools"), what, why, _ASK.format(code=need.code))
    yield from _rooms(cluster, source, answers)


def _smallest(cluster: spec.ClusterSpec) -> spec.ClusterSpec:
    """Return the cluster with every pool at its minimum size."""
    return cluster.with_node_sets(lambda one: dataclasses.replace(one, hosts=dataclasses.replace(one.hosts, count=one.always)))


def _rooms(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    needed = {"networks": networks(cluster), "public addresses": _addresses(cluster) if cluster.network.existing is None else 0}
    for room in answers.rooms:
        wanted = needed.get(room.what, 0)
        if room.limit is None or room.taken + wanted <= room.limit or not answers.knows("rooms"):
            continue
        what = f"the account's quota is {room.limit:g} {room.what} in {cluster.network.region}; {room.taken} are in use, and the cluster needs {wanted}"
        why = "the cloud refuses resources beyond a quota"
        remedy = f"delete unused ones, or {_ASK.format(code=room.code)}"
        yield finding.Finding(_ERROR, Code.QUOTA_TOO_SMALL, source.where_key("network"), what, why, remedy)


def networks(cluster: spec.ClusterSpec) -> int:
    """Count the networks that the stack creates: the hosts' own, unless it exists, and, where each interface has its own, those of the fabric."""
    known, own = catalog.target(cluster.target).networks, int(cluster.network.existing is None)
    if known is None or not known.for_each_interface:
        return own
    kinds = [subnet.name.rpartition("-")[0] for subnet in cluster.network.subnets if subnet.role == "fabric" and not subnet.interface]
    return own + sum(1 for kind in kinds if kind not in known.one_network_for) + len({*kinds} & {*known.one_network_for})


def _addresses(cluster: spec.ClusterSpec) -> int:
    """Count the public addresses that count towards the quota: one of the NAT gateway, and one of each login node without a load balancer."""
    is_public = any(not addresses.is_private(ipaddress.IPv4Network(cidr)) for cidr in cluster.login.allowed_cidrs)
    return int(cluster.network.egress == "nat") + (cluster.access.count if is_public and not cluster.login.load_balancer else 0)

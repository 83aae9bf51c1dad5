"""What others attached to the stack's networks, secrets, buckets and login nodes, or put into its hosts' subnet, without the stack recording it: firewall rules, routes, peerings, readers, roles, machines. Read-only."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .. import discovery, errors
from . import neighbours, rest
from .names import OWNER_LABEL

NETWORK, FIREWALL = "gcp:compute/network:Network", "gcp:compute/firewall:Firewall"
SECRET, READER = "gcp:secretmanager/secret:Secret", "gcp:secretmanager/secretIamMember:SecretIamMember"
BUCKET, USER = "gcp:storage/bucket:Bucket", "gcp:storage/bucketIAMMember:BucketIAMMember"
HOST, BINDING = "gcp:compute/instance:Instance", "gcp:compute/instanceIAMBinding:InstanceIAMBinding"
SUBNET, SITE = "gcp:compute/subnetwork:Subnetwork", "clusterwright:gcp:Site"
RULE, ROUTE, PEERING, MEMBER, OF_BUCKET, OF_HOST = "firewall rule", "route", "peering", "member", "member of the bucket", "role on the host"
NEIGHBOUR = "machine of others"
EFFECTS: Mapping[str, str] = {
    RULE: "it decides who reaches the hosts",
    ROUTE: "packets of the hosts take it",
    PEERING: "another network reaches the hosts through it",
    MEMBER: "who has the role can read the keys of hosts",
    OF_BUCKET: "who has the role reaches the files in the bucket",
    NEIGHBOUR: "the cluster exports folders to the addresses of this subnet, and who is root on the machine is root in them",
    OF_HOST: "who has the role may be let in by OS Login, or may change the host",
}
_OF_FILESTORE = "filestore-peer-"
"""Filestore connects its own network to the hosts' under such a name (Filestore documentation, "Networking and IP resource requirements")."""
_CONNECTION = "gcp:servicenetworking/connection:Connection"
_OF_PROJECT = ("projectOwner:", "projectEditor:", "projectViewer:")
"""Members that Cloud Storage gives every bucket (Cloud Storage documentation, "IAM roles", basic roles)."""
_NEXT_HOPS = ("nextHopInstance", "nextHopIp", "nextHopVpnTunnel", "nextHopIlb")
"""Routes of subnets and the one to the Internet, which every network has, name none of these (Compute Engine API, Route)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Attached:
    """One attachment, as the project lists it."""

    kind: str
    id: str
    to: str
    """Full name of the stack's resource that it is attached to."""
    description: str


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The project's answer."""

    attached: tuple[Attached, ...]
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Kind → why it could not be listed."""
    answered: bool = True


def look(stack: discovery.Stack, *, project: str) -> Listing:
    """List what is attached to a stack's resources. A refused question does not affect the others."""
    networks, secrets, buckets = _ids(stack, NETWORK), _ids(stack, SECRET), _ids(stack, BUCKET)
    asking = {str(one["outputs"].get("instanceName")).rpartition("/")[2] for one in stack.resources if one["type"] == BINDING}
    hosts = tuple(one for one in _ids(stack, HOST) if one.rpartition("/")[2] in asking)  # those on which OS Login decides
    compute, keys = rest.Compute(project), rest.Compute(project, send=rest.Sender("secretmanager", "v1/"))
    files = rest.Compute("", send=rest.Sender("storage", "storage/v1/"))
    questions: Mapping[str, Callable[[], Iterator[Attached]]] = {
        RULE: lambda: _rules(compute, networks),
        ROUTE: lambda: _routes(compute, networks),
        PEERING: lambda: _peerings(compute, networks),
        MEMBER: lambda: _members(keys, secrets),
        OF_BUCKET: lambda: _members_of_buckets(files, buckets),
        OF_HOST: lambda: _members_of_hosts(compute, hosts),
        NEIGHBOUR: lambda: _neighbours(project, stack),
    }
    found: list[Attached] = []
    refused: dict[str, str] = {}
    for kind, question in questions.items():
        try:
            found += question()
        except errors.TargetUnanswered as error:
            refused[kind] = str(error)
    return Listing(tuple(found), refused, answered=len(refused) < len(questions))


def unrecorded(listing: Listing, stack: discovery.Stack) -> discovery.Attachments:
    """Omit the stack's own attachments. Pure."""
    names = {str(one["id"]): f"{one['type']} {one['name']}" for one in stack.resources if one["type"] in (NETWORK, SUBNET, SECRET, BUCKET, HOST)}
    own = {*_ids(stack, FIREWALL), *_connections(stack), *(_reader(one["outputs"]) for one in stack.resources if one["type"] in (READER, USER))}
    # Of a role that the stack gives, the resource itself says who is a member.
    given = {_role(one["outputs"]) for one in stack.resources if one["type"] == BINDING}
    found = [
        discovery.Attachment(names.get(one.to, one.to), f"{one.kind} {_shown(one)}", EFFECTS[one.kind], one.description)
        for one in listing.attached
        if one.id not in own and one.id.rpartition(" ")[0] not in given
    ]
    return discovery.Attachments(tuple(found), listing.refused, answered=listing.answered)


def _shown(one: Attached) -> str:
    """Name an attachment: a member by who it is, everything else by its own name."""
    return one.id.split()[-1] if one.kind in (MEMBER, OF_BUCKET, OF_HOST) else one.id.rpartition("/")[2]


def _ids(stack: discovery.Stack, kind: str) -> tuple[str, ...]:
    return tuple(str(one["id"]) for one in stack.resources if one["type"] == kind and one["id"])


def _connections(stack: discovery.Stack) -> Iterator[str]:
    """Give the names of the peerings that the stack's own connections with Google's services made."""
    return (str(one["outputs"].get("peering")) for one in stack.resources if one["type"] == _CONNECTION)


def _reader(outputs: Mapping[str, Any]) -> str:
    """Give the id of a member of a secret's or a bucket's policy: what it is allowed and who it is."""
    return f"{str(outputs.get('secretId') or outputs.get('bucket', '')).rpartition('/')[2]} {outputs.get('role')} {outputs.get('member')}"


def _role(outputs: Mapping[str, Any]) -> str:
    """Give a role on a host, as ids of its members begin."""
    return f"{str(outputs.get('instanceName', '')).rpartition('/')[2]} {outputs.get('role')}"


def _path(link: str) -> str:
    return link.partition("/compute/v1/")[2] or link


def _rules(compute: rest.Compute, networks: tuple[str, ...]) -> Iterator[Attached]:
    for one in compute.items("global/firewalls"):
        if (network := _path(one["network"])) in networks:
            sources = [*one.get("sourceRanges", ()), *one.get("sourceServiceAccounts", ()), *one.get("sourceTags", ())]
            shown = f"{one.get('direction', 'INGRESS').lower()} from {', '.join(sources) or 'anywhere'}"
            yield Attached(RULE, _path(one["selfLink"]), network, shown)


def _routes(compute: rest.Compute, networks: tuple[str, ...]) -> Iterator[Attached]:
    for one in compute.items("global/routes"):
        hop = next((str(one[name]) for name in _NEXT_HOPS if one.get(name)), "")
        if hop and (network := _path(one["network"])) in networks:
            yield Attached(ROUTE, _path(one["selfLink"]), network, f"{one['destRange']} to {hop.rpartition('/')[2]}")


def _peerings(compute: rest.Compute, networks: tuple[str, ...]) -> Iterator[Attached]:
    for name in networks:
        found = compute.find(f"global/networks/{name.rpartition('/')[2]}") or {}
        for one in found.get("peerings", ()):
            if not one["name"].startswith(_OF_FILESTORE):
                yield Attached(PEERING, one["name"], name, f"{one.get('state', '').lower()}, with {_path(str(one.get('network', '')))}")


def _members(keys: rest.Compute, secrets: tuple[str, ...]) -> Iterator[Attached]:
    for name in secrets:
        secret = name.rpartition("/")[2]
        with rest.missing():
            for binding in keys.get(f"secrets/{secret}:getIamPolicy").get("bindings", ()):
                for member in binding["members"]:
                    yield Attached(MEMBER, f"{secret} {binding['role']} {member}", name, f"{member} has {binding['role']}")


def _members_of_buckets(files: rest.Compute, buckets: tuple[str, ...]) -> Iterator[Attached]:
    for name in buckets:
        with rest.missing():
            for binding in files.get(f"b/{name}/iam").get("bindings", ()):
                for member in binding["members"]:
                    if not member.startswith(_OF_PROJECT):
                        yield Attached(OF_BUCKET, f"{name} {binding['role']} {member}", name, f"{member} has {binding['role']}")


def _members_of_hosts(compute: rest.Compute, hosts: tuple[str, ...]) -> Iterator[Attached]:
    for full in hosts:
        name = full.rpartition("/")[2]
        with rest.missing():
            for binding in compute.get(f"zones/{full.split('/')[3]}/instances/{name}/getIamPolicy").get("bindings", ()):
                for member in binding["members"]:
                    yield Attached(OF_HOST, f"{name} {binding['role']} {member}", full, f"{member} has {binding['role']}")


def _neighbours(project: str, stack: discovery.Stack) -> Iterator[Attached]:
    """List machines of others in the hosts' subnet: the stack's own, one that existed before, or one that another project shares."""
    owner = next((str(one["outputs"].get("owner")) for one in stack.resources if one["type"] == SITE), "")
    cards = [card for one in stack.resources if one["type"] == HOST for card in one["outputs"].get("networkInterfaces", ())[:1]]
    for subnet in sorted({_path(str(card.get("subnetwork", ""))) for card in cards}):
        others = neighbours.look(lambda one: rest.Compute(one).items, project=project, region=stack.region, subnet=subnet, own={OWNER_LABEL: owner})
        for one in others:
            yield Attached(NEIGHBOUR, f"projects/{one.project or project}/zones/{one.zone}/instances/{one.name}", subnet, f"in {one.place}")

"""Load balancing of TCP: groups of instances, health checks, backend services, forwarding rules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Interface, Thing
from .. import errors, links, operations, verbs
from ..rules import Call, Rules, Want, handles, rules_of
from . import databases, network

if TYPE_CHECKING:
    from ..cloud import Cloud

GROUPS = "compute.instanceGroups"
CHECKS = {
    "TCP": "tcpHealthCheck", "HTTP": "httpHealthCheck", "HTTPS": "httpsHealthCheck", "SSL": "sslHealthCheck", "HTTP2": "http2HealthCheck", "GRPC": "grpcHealthCheck",
    "GRPC_WITH_TLS": "grpcTlsHealthCheck",
}  # fmt: skip
PORTS_MOST = 5  # forwardingRules.insert, field `ports`: "up to five"
PASS_THROUGH = ("EXTERNAL", "INTERNAL")


@rules_of("compute.healthChecks", "compute.regionHealthChecks")
class HealthChecks(Rules):
    """A check has the settings of its type, and of no other."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        for kind, name in CHECKS.items():
            if want.get(name) is not None and kind != want.get("type"):
                raise errors.invalid(f"resource.{name}", "", f"The type is {want.get('type')}.")
        if CHECKS.get(want.get("type", "")) and want.get(CHECKS[want["type"]]) is None:
            raise errors.required(f"resource.{CHECKS[want['type']]}")
        if want["timeoutSec"] > want["checkIntervalSec"]:
            raise errors.invalid("resource.timeoutSec", want["timeoutSec"], "It can't be greater than checkIntervalSec.")


@rules_of(GROUPS)
class Groups(Rules):
    """Unmanaged groups: instances of one zone and one network."""

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        return {} if want.former else {"_instances": []}

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        members = _members(cloud, thing)
        place = {name: members[0]["networkInterfaces"][0][name] for name in ("network", "subnetwork")} if members else {}
        return {"size": len(members), **place}


def _members(cloud: "Cloud", group: Thing) -> list[Thing]:
    return [one for link in group["_instances"] if (one := cloud.find(link.removeprefix(links.BASE), "compute.instances"))]


@handles("compute.instanceGroups.addInstances", "compute.instanceGroups.removeInstances")
def change_members(cloud: "Cloud", call: Call) -> Any:
    group = cloud.need(call.path.rpartition("/")[0], GROUPS)
    named = [
        cloud.refer(one.get("instance", ""), "compute.instances", project=call.project, field="instances") for one in verbs.form(call).get("instances", [])
    ]
    current = [one["selfLink"] for one in _members(cloud, group)]
    if call.method.verb == "addInstances":
        network_of = {one["networkInterfaces"][0]["network"] for one in [*_members(cloud, group), *named]} | (
            {group["network"]} if group.get("network") else set()
        )
        if any(one.region != group.region for one in named) or len(network_of) > 1:
            raise errors.invalid("instances", ", ".join(one.id for one in named), "Instances of a group share its zone and its network.")
        for one in named:
            if one["selfLink"] in current:
                raise Refused("memberAlreadyExists", f"'{one['selfLink']}' is already a member of '{group['selfLink']}'.")
        current += [one["selfLink"] for one in named]
    else:
        for one in named:
            if one["selfLink"] not in current:
                raise Refused("memberNotFound", f"'{one['selfLink']}' is not a member of '{group['selfLink']}'.")
        current = [link for link in current if link not in {one["selfLink"] for one in named}]
    cloud.note(group, _instances=current)
    return operations.begin(cloud, call, group.id, call.method.verb, target_id=group["id"])


@handles("compute.instanceGroups.listInstances")
def list_members(cloud: "Cloud", call: Call) -> Any:
    group = cloud.need(call.path.rpartition("/")[0], GROUPS)
    return {"kind": "compute#instanceGroupsListInstances", "items": [{"instance": one["selfLink"], "status": one["status"]} for one in _members(cloud, group)]}


@handles("compute.instanceGroups.setNamedPorts")
def set_named_ports(cloud: "Cloud", call: Call) -> Any:
    group, values = cloud.need(call.path.rpartition("/")[0], GROUPS), verbs.form(call)
    cloud.note(group, namedPorts=values.get("namedPorts") or None)
    return operations.begin(cloud, call, group.id, "setNamedPorts", target_id=group["id"])


@rules_of("compute.regionBackendServices")
class BackendServices(Rules):
    """Backends of pass-through load balancers."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        scheme = want["loadBalancingScheme"]
        if len(want.get("healthChecks", ())) != 1:
            raise errors.invalid("resource.healthChecks", len(want.get("healthChecks", ())), "A backend service has one health check.")
        if scheme == "EXTERNAL" and want.get("network"):
            raise errors.invalid("resource.network", want["network"], "A network goes with the scheme INTERNAL.")
        for place, backend in enumerate(want.get("backends", ())):
            if not backend.get("group"):
                raise errors.required(f"resource.backends[{place}].group")
            if scheme in PASS_THROUGH and backend.get("balancingMode") != "CONNECTION":
                raise errors.invalid(
                    f"resource.backends[{place}].balancingMode",
                    backend.get("balancingMode", "UTILIZATION"),
                    f"Balancing mode must be CONNECTION for {scheme} backend service.",
                )

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        users = [{"reference": user["selfLink"]} for user in cloud.users(thing.id) if user.kind == "compute.forwardingRules"]
        return {"usedBy": users} if users else {}


@handles("compute.regionBackendServices.getHealth")
def health(cloud: "Cloud", call: Call) -> Any:
    """Give the health of a group's members: those that run are healthy, but those that the setting `unhealthy` names."""
    cloud.need(call.path.rpartition("/")[0], "compute.regionBackendServices")
    group = cloud.refer(verbs.form(call).get("group", ""), f"{GROUPS}|compute.regionInstanceGroups", project=call.project, field="group")
    bad = cloud.setting("unhealthy", ())
    shown = [
        {"instance": one["selfLink"], "ipAddress": one["networkInterfaces"][0]["networkIP"], "healthState": "HEALTHY" if one["status"] == "RUNNING" and one["name"] not in bad else "UNHEALTHY"}
        for one in _members(cloud, group)
    ]  # fmt: skip
    return {"kind": "compute#backendServiceGroupHealth", **({"healthStatus": shown} if shown else {})}


DEFAULTS = {"IPProtocol": "TCP", "networkTier": "PREMIUM", "loadBalancingScheme": "EXTERNAL"}
"""Of a forwarding rule that is no endpoint of Private Service Connect (compute.v1, ForwardingRule)."""
ATTACHMENT = "/serviceAttachments/"
"""In the path of a target that makes a forwarding rule an endpoint of Private Service Connect."""


@rules_of("compute.forwardingRules")
class ForwardingRules(Rules):
    """What reaches a backend service, at an address of its own; an endpoint of Private Service Connect reaches a service outside of the network."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if want.former is not None:
            return
        if ATTACHMENT in want.get("target", ""):
            self._check_endpoint(cloud, want)
            return
        if not want.get("backendService") and not want.get("target"):
            raise errors.required("resource.backendService")
        if sum(bool(want.get(name)) for name in ("ports", "portRange", "allPorts")) != 1:
            raise errors.invalid("resource.ports", want.get("ports"), "Exactly one of ports, portRange and allPorts must be specified.")
        if len(want.get("ports", ())) > PORTS_MOST:
            raise errors.invalid("resource.ports", len(want["ports"]), f"There can't be more than {PORTS_MOST} ports.")
        if want.get("backendService"):
            service = cloud.need(want["backendService"].removeprefix(links.BASE), "compute.regionBackendServices")
            if service["loadBalancingScheme"] != _scheme(want):
                raise errors.invalid("resource.loadBalancingScheme", _scheme(want), f"The backend service has {service['loadBalancingScheme']}.")
            if service["protocol"] not in (want.get("IPProtocol", DEFAULTS["IPProtocol"]), "UNSPECIFIED"):
                raise errors.invalid("resource.IPProtocol", want.get("IPProtocol"), f"The backend service has {service['protocol']}.")
        if _scheme(want) == "EXTERNAL" and (want.get("network") or want.get("subnetwork")):
            raise errors.invalid("resource.network", want.get("network"), "A forwarding rule with the scheme EXTERNAL has no network.")
        if _scheme(want) == "INTERNAL" and not want.get("subnetwork"):
            raise errors.required("resource.subnetwork")

    def _check_endpoint(self, cloud: "Cloud", want: Want) -> None:
        """Refuse what is no endpoint. Source: cloud.google.com/vpc/docs/configure-private-service-connect-services, "Create an endpoint"; compute.v1, ForwardingRule.

        Stricter than Google, which takes the default network and an address of its own choice where a rule names none, and a subnetwork with IPv6.
        """
        if want.get("loadBalancingScheme"):
            raise errors.invalid(
                "resource.loadBalancingScheme", want["loadBalancingScheme"], "A forwarding rule whose target is a service attachment has no scheme."
            )
        for name in ("ports", "portRange", "allPorts", "backendService", "subnetwork"):
            if want.get(name):
                raise errors.invalid(f"resource.{name}", want[name], "A forwarding rule whose target is a service attachment forwards everything.")
        if databases.attached(cloud, want["target"]) is None:
            raise errors.missing(want["target"].removeprefix(links.BASE))
        if not want.get("network"):
            raise errors.required("resource.network")
        reserved = _reserved(cloud, want)
        if cloud.need(reserved["subnetwork"].removeprefix(links.BASE), "compute.subnetworks")["network"] != want["network"]:
            raise errors.invalid("resource.IPAddress", want["IPAddress"], "The address is of another network.")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        if want.former is not None:
            return {}
        wished = want.get("IPAddress", "")
        if ATTACHMENT in want.get("target", ""):
            return {"IPAddress": _reserved(cloud, want)["address"], "pscConnectionId": cloud.new_number()}
        if "/" in wished:
            named = cloud.refer(wished, "compute.addresses|compute.globalAddresses", project=want.project, field="resource.IPAddress")
            if named["addressType"] != _scheme(want):
                raise errors.invalid("resource.IPAddress", wished, f"The address is {named['addressType']}.")
            wished = named["address"]
        if any(
            other["IPAddress"] == wished and set(other.get("ports", [])) & set(want.get("ports", [])) for other in cloud.store.all("compute.forwardingRules")
        ):
            raise errors.in_use("IP address", wished, "another forwarding rule")
        if _scheme(want) == "INTERNAL":
            subnet = want["subnetwork"].removeprefix(links.BASE)
            reserved = any(one["address"] == wished for one in cloud.store.all("compute.addresses"))
            found = {"IPAddress": network.free_address(cloud, subnet, wished or None, field="resource.IPAddress", reserved=reserved)}
        else:
            found = {"IPAddress": wished or network.public_address(cloud)}
        ports = want.get("ports", ())
        given = {name: want.get(name, default) for name, default in DEFAULTS.items()}
        return {**given, **found, **({"portRange": f"{min(map(int, ports))}-{max(map(int, ports))}"} if ports and _scheme(want) == "EXTERNAL" else {})}

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        """Say whether the service lets an endpoint in: one whose service is gone is closed."""
        if ATTACHMENT not in thing.get("target", ""):
            return {}
        service = databases.attached(cloud, thing["target"])
        return {"pscConnectionStatus": "CLOSED" if service is None else "ACCEPTED" if databases.lets_in(service, cloud.project) else "PENDING"}

    def interfaces(self, cloud: "Cloud", properties: Mapping[str, Any]) -> tuple[Interface, ...]:
        subnet = properties.get("subnetwork")
        return (Interface(subnet.removeprefix(links.BASE), properties["IPAddress"]),) if subnet else ()


def _scheme(want: Want) -> str:
    return str(want.get("loadBalancingScheme", DEFAULTS["loadBalancingScheme"]))


def _reserved(cloud: "Cloud", want: Want) -> Thing:
    """Give the address of an endpoint, which is a reserved one inside of the network."""
    if not want.get("IPAddress"):
        raise errors.required("resource.IPAddress")
    named = cloud.refer(want["IPAddress"], "compute.addresses", project=want.project, field="resource.IPAddress")
    if named["addressType"] != "INTERNAL":
        raise errors.invalid("resource.IPAddress", want["IPAddress"], f"The address is {named['addressType']}.")
    return named

"""Which APIs a project has on (Service Usage), and what of its networks Google's own services are let into (Service Networking)."""

import dataclasses
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import aip, discovery, errors, links, verbs
from ..rules import Call, Rules, handles, rules_of

if TYPE_CHECKING:
    from ..cloud import Cloud

SERVICES, CONNECTIONS, NUMBER = "serviceusage.services", "servicenetworking.services.connections", "123456789012"
PRODUCER = "services/servicenetworking.googleapis.com"


def is_on(cloud: "Cloud", host: str) -> bool:
    """Say whether a project has an API on: all are, but those that the setting `apis_off` names and nobody has enabled since."""
    found = cloud.store.get(SERVICES, f"projects/{cloud.project}/services/{host}")
    return found["state"] == "ENABLED" if found else host not in cloud.setting("apis_off", ())


@handles("serviceusage.services.get")
def get_service(cloud: "Cloud", call: Call) -> Any:
    name = call.path.rpartition("/")[2]
    return {
        "name": f"projects/{NUMBER}/services/{name}",
        "parent": f"projects/{NUMBER}",
        "config": {"name": name},
        "state": "ENABLED" if is_on(cloud, name) else "DISABLED",
    }


@handles("serviceusage.services.list")
def list_services(cloud: "Cloud", call: Call) -> Any:
    wanted = call.parameters.get("filter", "").partition(":")[2]
    found = [
        {"name": f"projects/{NUMBER}/services/{host}", "config": {"name": host}, "state": "ENABLED" if is_on(cloud, host) else "DISABLED"}
        for host in discovery.DOCUMENTS
    ]
    return {"services": [one for one in found if wanted in ("", one["state"])]}


@handles("serviceusage.services.enable", "serviceusage.services.disable")
def set_service(cloud: "Cloud", call: Call) -> Any:
    """Enable or disable an API: state of the project, which stays when a program goes."""
    path, _, what = call.path.partition(":")
    path = f"projects/{cloud.project}/services/{path.rpartition('/')[2]}"
    cloud.put(Thing(SERVICES, path, "global", {"state": "ENABLED" if what == "enable" else "DISABLED"}, "kept", cloud.store.clock.now_s()))
    return aip.begin(cloud, call, path, place="operations/")


@handles("serviceusage.services.batchEnable")
def enable_services(cloud: "Cloud", call: Call) -> Any:
    for name in verbs.form(call).get("serviceIds", []):
        path = f"projects/{cloud.project}/services/{name}"
        cloud.put(Thing(SERVICES, path, "global", {"state": "ENABLED"}, "kept", cloud.store.clock.now_s()))
    return aip.begin(cloud, call, f"projects/{cloud.project}", place="operations/")


handles("serviceusage.operations.get", "servicenetworking.operations.get")(aip.operation)


# Private services access


@rules_of(CONNECTIONS)
class Connections(Rules):
    """A connection peers a network with Google's; it goes with the network's peering."""

    def deleted(self, cloud: "Cloud", thing: Thing) -> None:
        network = cloud.find(_network(cloud, thing["network"]), "compute.networks")
        if network:
            rest = {name: one for name, one in network.get("_peerings", {}).items() if name != thing["peering"]}
            cloud.note(network, _peerings=rest or None)


@handles("servicenetworking.services.connections.create")
def connect(cloud: "Cloud", call: Call) -> Any:
    """Let Google's services into a network, at addresses reserved for them.

    Raises:
        Refused: a range is not reserved for this, or the network is connected already.
    """
    values = verbs.form(call)
    network = cloud.need(_network(cloud, values.get("network", "")), "compute.networks")
    _check_ranges(cloud, values, network)
    if _connection(cloud, network.id):
        raise Refused("failedPrecondition", "Cannot modify allocated ranges in CreateConnection. Please use UpdateConnection.", status=400)
    properties = {
        "network": values["network"], "reservedPeeringRanges": values["reservedPeeringRanges"], "peering": "servicenetworking-googleapis-com", "service": PRODUCER,
        "_network": links.link(network.id),
    }  # fmt: skip
    thing = cloud.put(Thing(CONNECTIONS, f"{PRODUCER}/connections/{network['name']}", "global", properties, "api", cloud.store.clock.now_s()))
    cloud.note(
        network,
        _peerings={
            **network.get("_peerings", {}),
            thing["peering"]: {
                "network": "https://www.googleapis.com/compute/v1/projects/tenant/global/networks/servicenetworking",
                "exchangeSubnetRoutes": True,
            },
        },
    )
    return aip.begin(cloud, call, thing.id, place="operations/", gives=[CONNECTIONS, thing.id])


@handles("servicenetworking.services.connections.list")
def connections(cloud: "Cloud", call: Call) -> Any:
    wanted = _network(cloud, call.parameters.get("network", ""))
    found = [cloud.show(one) for one in cloud.store.all(CONNECTIONS) if _network(cloud, one["network"]) == wanted]
    return {"connections": found} if found else {}


@handles("servicenetworking.services.connections.patch")
def reconnect(cloud: "Cloud", call: Call) -> Any:
    values = verbs.form(call)
    network = cloud.need(_network(cloud, values.get("network", "")), "compute.networks")
    found = _connection(cloud, network.id)
    if found is None:
        raise errors.missing(call.path)
    _check_ranges(cloud, values, network)
    cloud.put(dataclasses.replace(found, properties={**found.properties, "reservedPeeringRanges": values["reservedPeeringRanges"]}))
    return aip.begin(cloud, call, found.id, place="operations/", gives=[CONNECTIONS, found.id])


@handles("servicenetworking.services.connections.deleteConnection")
def disconnect(cloud: "Cloud", call: Call) -> Any:
    """Take Google's services out of a network again, unless they still have something in it."""
    network = cloud.need(_network(cloud, verbs.form(call).get("consumerNetwork", "")), "compute.networks")
    found = _connection(cloud, network.id)
    if found is None:
        raise errors.missing(call.path)
    if any(_network(cloud, one.get("_network", "")) == network.id for one in (*cloud.store.all("sql.instances"), *cloud.store.all("lustre.instances"))):
        message = "Failed to delete connection; Producer services (e.g. CloudSQL, Cloud Memstore, etc.) are still using this connection."
        raise Refused("failedPrecondition", message, status=400)
    return aip.begin(cloud, call, found.id, place="operations/", effects=[{"remove": [CONNECTIONS, found.id]}])


def _check_ranges(cloud: "Cloud", values: Any, network: Thing) -> None:
    if not values.get("reservedPeeringRanges"):
        raise errors.required("reservedPeeringRanges")
    for name in values["reservedPeeringRanges"]:
        found = cloud.find(f"projects/{cloud.project}/global/addresses/{name}", "compute.globalAddresses")
        if not found or found.get("purpose") != "VPC_PEERING" or found.get("network") != network["selfLink"]:
            raise Refused("badRequest", f"Requested range {name} was not found, or is no range of the network {network['name']} for VPC peering.")


def _connection(cloud: "Cloud", network: str) -> Thing | None:
    return next((one for one in cloud.store.all(CONNECTIONS) if _network(cloud, one["network"]) == network), None)


def _network(cloud: "Cloud", name: str) -> str:
    """Give the path of a network; the service names projects by number."""
    return name.removeprefix(links.BASE).replace(f"projects/{NUMBER}/", f"projects/{cloud.project}/")

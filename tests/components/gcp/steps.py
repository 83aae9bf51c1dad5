"""What tests of the project's own kinds do on the simulated Google Cloud before: a network, instances, and requests that are waited for."""

from typing import Any

from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

DEBIAN = "projects/debian-cloud/global/images/family/debian-13"


def ask(cloud: SimulatedCloud, method: str, path: str, body: dict[str, Any] | None = None, *, wait: bool = True) -> dict[str, Any]:
    """Ask Compute Engine, and wait for the operation, if it is one."""
    answer = cloud.request("compute.googleapis.com", method, f"/compute/v1/projects/{PROJECT}/{path}", body=body)
    assert answer.status == 200, answer.body
    if wait and "operationType" in answer.body:
        where = "global" if path.startswith("global/") else "/".join(path.split("/")[:2])
        cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/{where}/operations/{answer.body['name']}/wait")
    return dict(answer.body)


def network(cloud: SimulatedCloud) -> None:
    ask(cloud, "POST", "global/networks", {"name": "net", "autoCreateSubnetworks": False})
    subnet = {"name": "sub", "network": f"projects/{PROJECT}/global/networks/net", "ipCidrRange": "10.0.0.0/20"}
    ask(cloud, "POST", f"regions/{REGION}/subnetworks", subnet)


def properties(machine: str) -> dict[str, Any]:
    """Give what an instance of Debian in this network needs, beside its name."""
    disk = {"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": DEBIAN}}
    interface = {"subnetwork": f"projects/{PROJECT}/regions/{REGION}/subnetworks/sub"}
    return {"machineType": machine, "disks": [disk], "networkInterfaces": [interface]}


def start(cloud: SimulatedCloud, name: str) -> str:
    """Start an instance; give its number."""
    machine = f"zones/{ZONE}/machineTypes/n2-standard-2"
    ask(cloud, "POST", f"zones/{ZONE}/instances", {"name": name, **properties(machine)})
    return str(ask(cloud, "GET", f"zones/{ZONE}/instances/{name}")["id"])

"""Programs for the tests of the simulated Google Cloud."""

SMALL = """
import json
import pathlib

import pulumi
import pulumi_gcp as gcp

settings = json.loads(pathlib.Path("settings.json").read_text())
labels = {"stack": "dev"}
network = gcp.compute.Network("net", name="try-net", auto_create_subnetworks=False, mtu=settings.get("mtu", 8896))
subnet = gcp.compute.Subnetwork("nodes", name="try-nodes", network=network.id, ip_cidr_range=settings.get("range", "10.0.0.0/20"), private_ip_google_access=True)
inside = gcp.compute.Firewall(
    "inside", name="try-inside", network=network.id, source_ranges=[subnet.ip_cidr_range], allows=[{"protocol": "tcp"}, {"protocol": "icmp"}],
    target_tags=settings.get("targets", ["try"]),
)
router = gcp.compute.Router("way-out", name="try-way-out", network=network.id)
gcp.compute.RouterNat(
    "nat", name="try-nat", router=router.name, region=router.region, nat_ip_allocate_option="AUTO_ONLY",
    source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES", min_ports_per_vm=settings.get("ports", 64),
)
head = gcp.compute.Instance(
    "head", name="try-head", machine_type=settings.get("machine", "n2-standard-4"), zone=settings.get("zone"), allow_stopping_for_update=settings.get("stopping", True),
    boot_disk={"initialize_params": {"image": "ubuntu-os-cloud/ubuntu-2404-lts-amd64", "size": settings.get("size", 50), "type": "pd-balanced"}},
    network_interfaces=[{"subnetwork": subnet.id, "nic_type": "GVNIC"}],
    metadata={"user-data": settings.get("user_data", "#cloud-config")}, tags=["try"], labels=labels,
)
pulumi.export("address", head.network_interfaces[0]["network_ip"])
pulumi.export("zones", gcp.compute.get_zones().names)
"""

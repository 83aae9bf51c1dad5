"""Whole programs on Google Cloud against Pulumi's mocks: what a blueprint of the library registers there."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pydantic
import yaml
from pulumi.runtime import mocks

from blueprints import load
from blueprints.facts import Facts
from blueprints.spec import ClusterSpec
from components import contract
from components.gcp.group_members import GroupMembers
from components.gcp.machine_image import MachineImage
from components.gcp.nodes import Nodes
from components.gcp.offerings.slurm_hosts import SlurmHosts
from components.gcp.site import Site
from components.gcp.target import Gcp
from components.provider.kind import UNKNOWN, Kind
from components.schedulers import keys
from tests.blueprints import hand_made
from tests.components import registered
from tests.components.registered import Program, Registered

PROJECT, ZONES = "our-project", ("us-central1-a", "us-central1-b", "us-central1-c")
OFFERING = ("us-central1-b", "us-central1-c")
"""Zones of the stand-in project that offer every machine; in the first one there are none."""
CPU = str(Path(__file__).with_name("cpu.yaml"))
"""Every kind of resource that this version provisions for users is in it."""
MACHINE = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


KINDS: Mapping[str, Kind[Any]] = {kind.token: kind for kind in (Site(), MachineImage(), Nodes(), GroupMembers())}


class Account(registered.Provider):
    """Gives resources of Google Cloud what only the cloud would tell: ids, links, addresses."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if args.typ in KINDS:
            return args.name, {**args.inputs, **_expected(args.typ, args.inputs), "complete": True}
        if not args.typ.startswith("gcp:"):
            return super().new_resource(args) if args.custom and args.typ in registered.KINDS else (args.name, dict(args.inputs))
        name = args.inputs.get("name", args.name)
        ident = f"projects/{PROJECT}/{args.typ.rpartition(':')[2]}/{args.name}"
        told: dict[str, Any] = {"name": name, "project": PROJECT, "selfLink": f"https://link/{args.name}"}
        match args.typ.rpartition(":")[2]:
            case "Address":
                told |= {"address": f"address of {args.name}"}
            case "Account":
                told |= {"email": f"{args.inputs['accountId']}@{PROJECT}", "name": f"projects/{PROJECT}/serviceAccounts/{args.inputs['accountId']}"}
            case "DatabaseInstance":
                told |= {"dnsName": f"{args.name}.sql.goog.", "pscServiceAttachmentLink": f"https://link/attachment-of-{args.name}"}
                told |= {"serverCaCerts": [{"cert": f"authority of {args.name}"}]}
            case "Disk":
                told |= {"zone": args.inputs.get("zone", OFFERING[0])}
            case "GlobalAddress":
                told |= {"address": "10.77.0.0"}
            case "Instance" if "lustre" in args.typ:
                told |= {"mountPoint": f"10.77.0.2@tcp:/{args.inputs['filesystem']}"}
            case "Instance" if "filestore" in args.typ:
                told |= {"networks": [{**args.inputs["networks"][0], "ipAddresses": [f"address of {args.name}"]}]}
            case "Instance":
                interface = args.inputs["networkInterfaces"][0]
                told |= {"instanceId": f"number of {args.name}", "networkInterfaces": [{"networkIp": f"address of {args.name}", **interface}]}
            case "Secret":
                told |= {"name": f"projects/{PROJECT}/secrets/{args.inputs['secretId']}"}
        return ident, {**args.inputs, **told}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        self.asked.append(args.token)
        match args.token:
            case "gcp:compute/getZones:getZones":
                return {"names": [*ZONES], "id": "zones", "project": PROJECT, "region": args.args["region"]}, []
            case "gcp:compute/getMachineTypes:getMachineTypes":
                names = [part.split('"')[1] for part in args.args["filter"].split(" OR ")] if args.args["zone"] in OFFERING else []
                return {"machineTypes": [{"name": name} for name in names], "id": "machines", "project": PROJECT, "zone": args.args["zone"]}, []
            case "gcp:compute/getSubnetwork:getSubnetwork":
                name = args.args["selfLink"].rpartition("/")[2]
                return {"id": name, "selfLink": args.args["selfLink"], "network": f"https://link/network-of-{name}"}, []
        raise AssertionError(f"the program called {args.token}")


def _expected(token: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    kind = KINDS[token]
    known = kind.expected(pydantic.TypeAdapter(kind.inputs).validate_python(dict(inputs)))
    return {name: f"{name} of {token}" if value is UNKNOWN else value for name, value in known.items()}


def resolved(blueprint: str, overrides: Mapping[str, Any] | None = None) -> ClusterSpec:
    return load.examine(blueprint, target="gcp", stack=registered.STACK, facts=MACHINE, overrides=overrides).spec


@functools.cache
def library(blueprint: str) -> Program:
    """Run a blueprint of the library; run once for all tests that only look."""
    return program(blueprint)


def program(blueprint: str, *, preview: bool = False, account: Account | None = None, **overrides: Any) -> Program:
    """Run a blueprint, with values put over its own by dotted path (`pools__train__nodes=4`)."""
    cluster = resolved(blueprint, {path.replace("__", "."): value for path, value in overrides.items()})

    def deploy() -> None:
        secret = pulumi.Output.secret
        admin = contract.SshKey(pulumi.Output.from_input("ssh-ed25519 AAAA"), secret("admin"))
        of_hosts = contract.SlurmKeys(
            munge=keys.munge_key("munge-key", opts=pulumi.ResourceOptions()), admin=admin, login_host=admin, database=secret("password")
        )
        foundation = Gcp(cluster, stack=registered.STACK, opts=pulumi.ResourceOptions()).foundation()
        site = SlurmHosts().provision(hand_made.slurm(cluster), foundation=foundation, keys=of_hosts)
        pulumi.export("fleet", site.fleet)
        pulumi.export("addresses", site.addresses)
        assert site.control is not None
        pulumi.export("hosts", [site.control.described, site.login.described])
        pulumi.export("database", site.database)
        pulumi.export("authority", site.database_authority)

    return registered.run(deploy, provider=account or Account(), preview=preview)


def gcp(found: Program) -> list[Registered]:
    return [one for one in found.resources if one.type.startswith("gcp:")]


def of(found: Program, kind: str) -> list[Registered]:
    """Give the resources of one kind by its short name (`Subnetwork`), or with its module (`compute:Instance`)."""
    module, _, short = kind.rpartition(":")
    return [one for one in gcp(found) if one.type.rpartition(":")[2] == short and one.type.split(":")[1].startswith(module)]


def user_data(resource: Registered) -> dict[str, Any]:
    """Read the user data of an instance or a template."""
    text = resource.inputs["metadata"]["user-data"]
    assert text.startswith("#cloud-config\n")
    written: dict[str, Any] = yaml.safe_load(text)
    return written


def order(resource: Registered) -> dict[str, Any]:
    """Give what the first program of a host is told."""
    ((_, _, _, told),) = user_data(resource)["bootcmd"]
    read: dict[str, Any] = json.loads(told)
    return read

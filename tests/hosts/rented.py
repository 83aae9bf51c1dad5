"""A simulated cloud with hosts of this machine, and what a stack of the project would have made in it for one instance: image, network, keys, a role, file systems."""

import base64
import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import boto3

from blueprints import catalog
from components.aws import image, policies, user_data
from components.bootstrap.config import HostConfig
from components.local.machine import command
from tests.hosts.deployment import QUICK_SSH, wait_until
from tests.simcloud.aws import client
from tests.simcloud.hosted import hosts, place

REGION, ZONE = client.REGION, "us-east-1a"
PROFILE = "debian-13-aws"
MACHINE = "m7i.large"
UP_WITHIN_S = 300
"""With the bake of the image, when no one has made it before."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rented:
    """The cloud, what is in it by name, and a key to log in with."""

    cloud: client.SimulatedCloud
    name: str
    ids: Mapping[str, str]
    key: Path
    host_key: str
    """Public."""

    @property
    def ec2(self) -> Any:
        return _service(self.cloud, "ec2")

    def birth(self, **changed: Any) -> str:
        """Write user data as the project does."""
        values: dict[str, Any] = {
            "role": "access", "cluster": "small", "group": "node", "controllers": ("192.0.2.1",), "admin_key": self.key.with_suffix(".pub").read_text().strip(),
        }  # fmt: skip
        return user_data.user_data(HostConfig(**(values | changed)), region=REGION, secret_arn=self.ids["secret"])

    def run(self, name: str, *, text: str | None = None, subnet: str = "near", groups: Sequence[str] = ("hosts",), **more: Any) -> str:
        """Start an instance by the API and give its id."""
        wanted = {
            "ImageId": self.ids["image"], "InstanceType": MACHINE, "MinCount": 1, "MaxCount": 1, "SubnetId": self.ids[subnet], "SecurityGroupIds": [self.ids[one] for one in groups],
            "IamInstanceProfile": {"Name": "node"}, "UserData": text or self.birth(), "MetadataOptions": {"HttpTokens": "required", "InstanceMetadataTags": "enabled"},
            "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "clusterwright:node", "Value": name}]}],
        }  # fmt: skip
        (made,) = self.ec2.run_instances(**(wanted | more))["Instances"]
        return str(made["InstanceId"])

    def address(self, instance: str) -> str:
        (thing,) = (one for one in self.cloud.things("ec2.Instance") if one.id == instance)
        return thing.addresses[0]

    def ssh(self, instance: str, *words: str) -> str:
        """Run a command on an instance as root, which must answer with the host key of its secret."""
        known = self.key.with_name("known_hosts")
        known.write_text(f"{self.address(instance)} {self.host_key}\n")
        options = ["BatchMode=yes", "StrictHostKeyChecking=yes", f"UserKnownHostsFile={known}", "ConnectTimeout=5", "IdentitiesOnly=yes", QUICK_SSH[1]]
        given = [word for option in options for word in ("-o", option)]
        return command.run("ssh", "-F", "/dev/null", "-i", str(self.key), *given, f"root@{self.address(instance)}", *words)

    def answers(self, instance: str, *words: str) -> bool:
        with contextlib.suppress(command.CommandFailed):
            self.ssh(instance, *(words or ("true",)))
            return True
        return False

    def wait_for(self, instance: str, *words: str, within_s: float = UP_WITHIN_S) -> None:
        """Wait until a command succeeds on an instance."""
        try:
            wait_until(lambda: self.answers(instance, *words), awaiting=f"{' '.join(words) or 'SSH'} on {instance}", within_s=within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}. Its console:\n{self.console(instance)[-3000:]}") from error

    def console(self, instance: str) -> str:
        return str(self.ec2.get_console_output(InstanceId=instance).get("Output", ""))

    def bodies(self) -> set[str]:
        """Name the hosts that run."""
        return {name for name, body in hosts.bodies(place.names_of(self.name)).items() if body.is_running}


@contextlib.contextmanager
def rented(folder: Path, name: str, *, network: str = "10.73") -> Iterator[Rented]:
    """Run such a cloud, empty of instances; nothing of it stays. `network` is the beginning of its addresses."""
    (folder / "cloud").mkdir()
    with client.started(folder / "cloud", hosts=name) as cloud:
        yield _furnished(cloud, folder, name, network)


def _furnished(cloud: client.SimulatedCloud, folder: Path, name: str, network: str) -> Rented:
    for one in ("admin", "host"):
        command.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", one, "-f", str(folder / one))
    ids: dict[str, str] = {}

    def make(short: str, kind: str, /, **inputs: Any) -> client.Seen:
        made = cloud.make(kind, **inputs)
        ids[short] = made.id
        return made

    make("vpc", "ec2.Vpc", cidrBlock=f"{network}.0.0/16", enableDnsHostnames=True)
    make("near", "ec2.Subnet", vpcId=ids["vpc"], cidrBlock=f"{network}.0.0/20", availabilityZone=ZONE)
    make("far", "ec2.Subnet", vpcId=ids["vpc"], cidrBlock=f"{network}.16.0/20", availabilityZone="us-east-1b")
    make("hosts", "ec2.SecurityGroup", name="hosts", vpcId=ids["vpc"], ingress=[{"fromPort": 0, "toPort": 0, "protocol": "-1", "self": True}])
    nfs = {"fromPort": 2049, "toPort": 2049, "protocol": "tcp", "securityGroups": [ids["hosts"]]}
    make("storage", "ec2.SecurityGroup", name="storage", vpcId=ids["vpc"], ingress=[nfs])
    make("closed", "ec2.SecurityGroup", name="closed", vpcId=ids["vpc"])
    secret = make("secret", "secretsmanager.Secret", name="small/node")
    keys = {"munge_key": base64.b64encode(b"a key of a test that is long enough for MUNGE").decode(), "host_key": (folder / "host").read_text()}
    make("keys", "secretsmanager.SecretVersion", secretId=secret.id, secretString=json.dumps(keys))
    role = make("role", "iam.Role", name="node", assumeRolePolicy=policies.as_json(policies.trust("ec2.amazonaws.com")))
    make("policy", "iam.RolePolicy", name="node", role=role.id, policy=policies.as_json(policies.read_secret(secret.id)))
    make("profile", "iam.InstanceProfile", name="node", role=role.id)
    base = _public_image(cloud)
    component = make(
        "component", "imagebuilder.Component", name="node", platform="Linux", version="1.0.0", data=image.document(catalog.software(PROFILE), bucket="roles"),
    )  # fmt: skip
    recipe = make("recipe", "imagebuilder.ImageRecipe", name="node", version="1.0.0", parentImage=base, components=[{"componentArn": component.id}])
    builder = make("builder", "imagebuilder.InfrastructureConfiguration", name="node", instanceProfileName="node")
    built = make("built", "imagebuilder.Image", imageRecipeArn=recipe.id, infrastructureConfigurationArn=builder.id)
    ids["image"] = str(built["outputResources"][0]["amis"][0]["image"])
    ids["public-image"] = base
    host_key = " ".join((folder / "host.pub").read_text().split()[:2])
    return Rented(cloud, name, ids, folder / "admin", host_key)


def _public_image(cloud: client.SimulatedCloud) -> str:
    return str(_service(cloud, "ssm").get_parameter(Name="/aws/service/debian/release/13/latest/amd64")["Parameter"]["Value"])


def _service(cloud: client.SimulatedCloud, name: str) -> Any:
    access, secret = (cloud.environment[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    return boto3.client(name, region_name=REGION, endpoint_url=cloud.address, aws_access_key_id=access, aws_secret_access_key=secret)

"""The image of a software profile: EC2 Image Builder runs the project's own roles on a fresh system; the image's name contains their hash.

The roles reach the builder as one archive in a bucket of the stack. Nothing is built twice: the names of component and recipe hold the hash of playbooks and versions, so a change of a role makes
another image and nothing else does.
"""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi_aws import cloudwatch, iam, imagebuilder, s3

from blueprints import spec

from .. import bake
from ..provider.resource import OwnResource
from ..resource_options import beneath
from . import agent, policies, template
from .logs import retention
from .names import OWNER_TAG, Names
from .storage import private_bucket

CLOUD = "aws"
"""The roles' word for this target."""
_BAKE_TIMEOUT_S = 7200  # drivers and CUDA are large; a build without a GPU takes half an hour
_BUILD_TIMEOUT = "2h"
_FORM = "1.0.0"
"""Versions of components and recipes mean nothing here: their names hold what they are made from."""
_BUILDER_POLICIES = ("EC2InstanceProfileForImageBuilder", "AmazonSSMManagedInstanceCore")
_LOGS = "/aws/imagebuilder/"
"""Below it the first of these policies lets a builder write (AWS managed policy reference)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Base:
    """What an image is built on."""

    parameter: str
    root_device: str
    builder: str
    agent: str = ""
    """Where the agent of Systems Manager comes from, if the image lacks it; `{region}` is left open."""
    agent_key: bytes = dataclasses.field(default=b"", repr=False)
    """Public key with which AWS signs it."""


@dataclasses.dataclass(frozen=True, slots=True)
class BuilderArgs:
    names: Names
    region: str
    subnet: pulumi.Input[str]
    security_group: pulumi.Input[str]
    log_days: int
    needs: Sequence[pulumi.Resource]
    """Resources that must exist before an instance can build an image: its way to the Internet."""


class Builder(pulumi.ComponentResource):
    """What all images of a stack are built with: the archive of the roles, and the right to read it."""

    def __init__(self, name: str, args: BuilderArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:ImageBuilder", name, {}, opts)
        self._args = args
        names, tags = args.names, args.names.tags("image", "image")
        bucket = private_bucket(self, "image", names, part="image", empty=True)
        self.archive = s3.BucketObjectv2(
            "image-bundle",
            bucket=bucket.id,
            key=bake.archive_name(),
            source=pulumi.AssetArchive(
                {
                    bake.REQUIREMENTS: pulumi.StringAsset(bake.requirements()),
                    **{name: pulumi.FileAsset(str(path)) for name, path in bake.archive_files().items()},
                }
            ),
            tags=tags,
            opts=beneath(self),
        )
        self.bucket_name = bucket.id
        role = iam.Role(
            "image-role",
            name=names.name("iam_role", "image"),
            force_detach_policies=True,
            assume_role_policy=policies.as_json(policies.trust("ec2.amazonaws.com")),
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        attached: list[pulumi.Resource] = [
            iam.RolePolicyAttachment(
                f"image-{number}", role=role.name, policy_arn=f"arn:{policies.partition(args.region)}:iam::aws:policy/{policy}", opts=beneath(self)
            )
            for number, policy in enumerate(_BUILDER_POLICIES)
        ]
        attached.append(
            iam.RolePolicy("image-policy", role=role.id, policy=bucket.arn.apply(lambda arn: policies.as_json(policies.build_image(arn))), opts=beneath(self))
        )
        self.profile = iam.InstanceProfile(
            "image-profile", name=names.name("instance_profile", "image"), role=role.name, tags=tags, opts=beneath(self, replace_first=True)
        )
        # Image Builder would make one for each image, for ever (Image Builder API reference, ImageLoggingConfiguration).
        self.logs = cloudwatch.LogGroup(
            "image-logs",
            # accepted CKV_AWS_158: CloudWatch encrypts it with its own key; what is said there is how public software was installed
            # accepted CKV_AWS_338: `monitoring.retention_days` says how long
            name=_LOGS + names.name("log_group", "image"),
            retention_in_days=retention(args.log_days),
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        # Said of the image itself: a component's children don't inherit what it depends on.
        self.ready = [*attached, self.archive, *args.needs]
        self.register_outputs({})

    def build(self, software: spec.Software, arch: str) -> pulumi.Output[str]:
        """Build the image of a software profile for one kind of processor; give its id."""
        args, base, key = self._args, base_image(software.os, arch), fingerprint(software, arch)
        name, tags = args.names.name("image_builder", arch, key), args.names.tags("image", arch)
        component = imagebuilder.Component(
            f"image-{arch}-component",
            # accepted CKV_AWS_180: it holds versions of public software, nothing secret
            name=name,
            platform="Linux",
            version=_FORM,
            data=self.bucket_name.apply(lambda bucket: document(software, bucket=bucket)),
            tags=tags,
            opts=beneath(self),
        )
        recipe = imagebuilder.ImageRecipe(
            f"image-{arch}-recipe",
            # accepted CKV_AWS_200: AWS's own key encrypts the image, which holds public software; an account's default key is used where it sets one
            name=name,
            version=_FORM,
            parent_image=f"ssm:{base.parameter}",
            components=[{"component_arn": component.arn}],
            user_data_base64=_user_data(base, args.region),
            systems_manager_agent={"uninstall_after_build": True} if base.agent else None,
            block_device_mappings=[
                {
                    "device_name": base.root_device,
                    "ebs": {"volume_size": template.ROOT_GIB, "volume_type": "gp3", "encrypted": "true", "delete_on_termination": "true"},
                }
            ],
            # Without the mark: a recipe can't be changed, and one that only has other tags must not be another image. So the first labels stay, too: a recipe of the same name can't be made beside it.
            ami_tags={name: value for name, value in tags.items() if name != OWNER_TAG},
            tags=tags,
            opts=beneath(self, ignore=("amiTags",)),
        )
        place = imagebuilder.InfrastructureConfiguration(
            f"image-{arch}-builder",
            # It stays while images change: what an image was built with can't be deleted before the image is.
            name=args.names.name("image_builder", arch),
            instance_profile_name=self.profile.name,
            instance_types=[base.builder],
            subnet_id=args.subnet,
            security_group_ids=[args.security_group],
            instance_metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
            terminate_instance_on_failure=True,
            resource_tags=tags,
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        image = imagebuilder.Image(
            f"image-{arch}",
            image_recipe_arn=recipe.arn,
            infrastructure_configuration_arn=place.arn,
            enhanced_image_metadata_enabled=True,
            logging_configuration={"log_group_name": self.logs.name},
            image_tests_configuration={"image_tests_enabled": False},  # starting it once more proves less than the cluster's own acceptance
            tags=tags,
            opts=pulumi.ResourceOptions.merge(
                # The builder is another one now and then, and so is where it told of it; what it built is the same.
                beneath(self, ignore=("infrastructureConfigurationArn", "loggingConfiguration")),
                pulumi.ResourceOptions(depends_on=self.ready, custom_timeouts=pulumi.CustomTimeouts(create=_BUILD_TIMEOUT)),
            ),
        )
        inputs = {"region": args.region, "image": image.output_resources.apply(_id), "owner": args.names.owner}
        built = OwnResource("clusterwright:aws:MachineImage", f"image-{arch}-ami", inputs=inputs, opts=beneath(self))
        found: pulumi.Output[str] = built.output("image")
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class ImagesArgs:
    builder: BuilderArgs
    software: spec.Software


class Images:
    """The images of a software profile. The stack builds the one of an architecture when the first host needs it."""

    def __init__(self, args: ImagesArgs, *, opts: pulumi.ResourceOptions):
        self._args, self._opts = args, opts
        self._builder: Builder | None = None
        self._built: dict[str, pulumi.Output[str]] = {}

    def of(self, machine: spec.Machine) -> pulumi.Output[str]:
        """Give the id of the image for a machine."""
        if self._builder is None:
            self._builder = Builder("image", self._args.builder, opts=self._opts)
        if machine.arch not in self._built:
            self._built[machine.arch] = self._builder.build(self._args.software, machine.arch)
        return self._built[machine.arch]


def _id(made: Sequence[imagebuilder.outputs.ImageOutputResource]) -> str:
    return next(str(image.image) for resource in made for image in resource.amis or ())


def fingerprint(software: spec.Software, arch: str) -> str:
    """Hash what an image is made from: the base image, what its builder first runs, and the component, which names roles and versions."""
    base = base_image(software.os, arch)
    first = _user_data(base, region="")  # none for an image that has the agent
    return bake.fingerprint(base, document(software, bucket=""), *([first] if first else []))


def _user_data(base: Base, region: str) -> str | None:
    return agent.user_data(base.agent.format(region=region), base.agent_key) if base.agent else None


def document(software: spec.Software, *, bucket: str) -> str:
    """Write the component: fetch the archive, run the bake script."""
    fetch = {"source": f"s3://{bucket}/{bake.archive_name()}", "destination": bake.ARCHIVE}
    steps = [
        {"name": "Fetch", "action": "S3Download", "inputs": [fetch]},
        {
            "name": "Install",
            "action": "ExecuteBash",
            "timeoutSeconds": _BAKE_TIMEOUT_S,
            "inputs": {"commands": [bake.script(dataclasses.asdict(software), cloud=CLOUD)]},
        },
    ]
    written = {"name": "clusterwright", "schemaVersion": 1.0, "phases": [{"name": "build", "steps": steps}]}
    return yaml.safe_dump(written, sort_keys=False, width=1000)


def base_image(system: str, arch: str) -> Base:
    """Give what an image for an operating system is built on.

    Raises:
        pulumi.RunError: nothing is known for it on AWS, or a key is missing.
    """
    known = _known().get(system)
    if known is None:
        raise pulumi.RunError(
            f"the catalogue has no AWS image of {system}\n  do:  choose another software profile; the catalogue has images of {', '.join(sorted(_known()))}"
        )
    word = known["arch"][arch]
    source = known.get("agent", "").replace("{arch}", word)
    return Base(known["parameter"].format(arch=word), known["root_device"], known["builder"][arch], source, agent.key() if source else b"")


@functools.cache
def _known() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "base_images.yaml").read_text())
    return found

"""What EC2 Image Builder is told: the roles, the profile with its proofs, and a name that changes with either."""

import dataclasses
import json
import re

import yaml

from blueprints import catalog
from components.aws import image
from tests.components.aws import programs

SOFTWARE = catalog.software("ubuntu-24.04-aws")


def commands() -> str:
    steps = yaml.safe_load(image.document(SOFTWARE, bucket="bucket"))["phases"][0]["steps"]
    (command,) = steps[-1]["inputs"]["commands"]
    return str(command)


def test_the_roles_are_told_the_versions_and_what_proves_them() -> None:
    told = re.search(r"<<'END'\n(.*?)\nEND\n", commands(), re.DOTALL)
    assert told
    variables = json.loads(told[1])
    assert variables["cloud"] == "aws"
    assert dict(variables["software"]["versions"])["kernel"] == dict(SOFTWARE.versions)["kernel"]
    assert dict(variables["software"]["origins"]) == dict(SOFTWARE.origins)


def test_what_a_build_says_is_kept_as_long_as_all_logs() -> None:
    found = programs.program("starter", monitoring__retention_days=40)
    logs, built = programs.one(found, "LogGroup", "image-logs"), programs.one(found, "Image", "image-x86_64")
    assert logs.inputs["retentionInDays"] == 60
    assert logs.inputs["name"].startswith("/aws/imagebuilder/"), "elsewhere the builder's role may not write"
    assert built.inputs["loggingConfiguration"] == {"logGroupName": logs.inputs["name"]}


def test_the_system_s_own_updates_end_before_anything_is_installed() -> None:
    stop, first = commands().index("systemctl stop apt-daily.timer"), commands().index("apt-get")
    assert stop < first


def each_changed(pairs: tuple[tuple[str, str], ...]) -> list[tuple[tuple[str, str], ...]]:
    return [tuple((name, f"{value}0" if name == changed else value) for name, value in pairs) for changed, _ in pairs]


def test_another_version_or_another_checksum_is_another_image() -> None:
    names = {image.fingerprint(SOFTWARE, arch) for arch in ("x86_64", "arm64")}
    others = [dataclasses.replace(SOFTWARE, versions=pairs) for pairs in each_changed(SOFTWARE.versions)]
    others += [dataclasses.replace(SOFTWARE, origins=pairs) for pairs in each_changed(SOFTWARE.origins)]
    names |= {image.fingerprint(other, "x86_64") for other in others}
    assert len(names) == 2 + len(SOFTWARE.versions) + len(SOFTWARE.origins)
    assert image.fingerprint(SOFTWARE, "x86_64") in names

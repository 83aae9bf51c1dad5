"""What the image of a cloud brings against its own cloud's programs, and that the role takes every cloud that bakes an image with it."""

import configparser
from typing import Any

import pytest
import yaml

from blueprints.project import project_root
from components import registry

ROLE = project_root() / "playbooks/roles/cloud_host"
VARIABLES: dict[str, Any] = yaml.safe_load((ROLE / "vars/main.yml").read_text())
CLOUDS = sorted(name for name, target in registry.TARGETS.items() if any(kind.endswith(":MachineImage") for kind in target.kinds))


def test_the_role_takes_every_cloud_that_bakes_an_image() -> None:
    options = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    assert sorted(options["cloud"]["choices"]) == CLOUDS
    chosen = {name: sorted(by_cloud) for name, by_cloud in VARIABLES.items() if name.endswith("_by_cloud")}
    assert chosen == dict.fromkeys(chosen, CLOUDS) != {}


@pytest.fixture
def written() -> dict[str, dict[str, str]]:
    return {entry["path"]: entry for entry in VARIABLES["cloud_host_files_by_cloud"]["gcp"]}


def test_googles_agent_makes_no_host_keys_and_no_users(written: dict[str, dict[str, str]]) -> None:
    read = configparser.ConfigParser()
    read.read_string(written["/etc/default/instance_configs.cfg"]["content"])
    assert not read.getboolean("InstanceSetup", "set_host_keys", fallback=True)
    assert not read.getboolean("Daemons", "accounts_daemon", fallback=True)
    assert read.getboolean("Daemons", "network_daemon", fallback=True), "login nodes answer at the balancer's address"


def test_nothing_of_googles_names_the_host(written: dict[str, dict[str, str]]) -> None:
    assert written["/etc/systemd/system/networkd-dispatcher.service"]["link"] == "/dev/null"

"""Blueprints for servers, on this machine: the same hosts by the same names."""

import pathlib

import pytest

from blueprints import load, project
from tests.blueprints.test_inventory import FACTS

ALL_OF_IT = """
name: lab
software: ubuntu-24.04-metal
versions: {kernel: 6.8.0-151-generic, driver: 580.178.04}
inventory:
  package_cache: true
  roce: {dscp: 26, priority: 3, cnp_dscp: 48, cnp_priority: 6}
  bmc: {user: admin, password_file: ~/bmc}
  hosts:
    head-1: {address: 10.20.0.2, bmc: 10.30.0.2}
    head-2: {address: 10.20.0.3}
    login-1: {address: 10.20.0.5}
    login-2: {address: 10.20.0.6}
    gpu-001: {address: 10.20.0.11, interfaces: {rail0: {mac: "b8:3f:d2:00:11:22", address: 10.40.0.11/24, mtu: 9000}}}
    gpu-002: {address: 10.20.0.12}
network: {cidr: 10.20.0.0/24, nat: control, dns: control}
control: {hosts: "head-[1-2]", highly_available: true, address: 10.20.0.4, state: site}
access: {hosts: "login-[1-2]", address: 10.20.0.7, rest_api: true}
storage: {site: {kind: existing, mount: /site, source: "10.20.0.9:/site"}}
pools: {train: {machine: hgx-h100-4x200, hosts: "gpu-[001-002]", fabric: required, scratch: {}, rolling: 10%}}
"""
OF_SERVERS = [
    *(path for path in sorted((pathlib.Path(__file__).parent / "fitting").glob("*.yaml")) if "\ninventory:" in path.read_text()),
    project.project_root() / "blueprints/library/metal-h100.yaml",
    project.project_root() / "tests/contract/metal.yaml",
]


@pytest.mark.parametrize("text", [pytest.param(ALL_OF_IT, id="all"), *(pytest.param(path.read_text(), id=path.stem) for path in OF_SERVERS)])
def test_a_blueprint_for_servers_is_rehearsed_under_its_own_host_names(text: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(text)
    rehearsed, real = (load.examine(str(file), target=target, stack="t", facts=FACTS) for target in ("local", "metal"))
    names = [[host for group in one.spec.host_groups for host in group.hostnames] for one in (rehearsed, real)]
    assert names[0] == names[1]
    assert rehearsed.spec.software.os == real.spec.software.os or "\nsoftware:" not in text

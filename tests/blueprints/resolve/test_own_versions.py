"""A blueprint may have its own versions of what hosts restart for, instead of the profile's."""

from pathlib import Path

import pytest

from blueprints.load import load
from components import this_machine

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG0YYdIVHyCNPIwrCp6Xhl5RKPTBJ9h2R4ww4QTcqBVj"
BLUEPRINT = f"""
name: tiny
software: debian-13
network: {{cidr: 10.20.0.0/24}}
inventory:
  hosts:
    head: {{address: 10.20.0.11, host_key: {KEY}}}
    login: {{address: 10.20.0.12, host_key: {KEY}}}
    node: {{address: 10.20.0.13, host_key: {KEY}}}
control: {{hosts: head}}
access: {{hosts: login}}
pools: {{train: {{hosts: node, cpus_per_node: 2, memory: 4 GiB, fabric: none}}}}
"""
OWN = "versions: {kernel: 6.8.0-90-generic, lustre_client: 2.15.6}\n"


@pytest.mark.parametrize(
    ("target", "text", "expected"),
    [
        ("metal", BLUEPRINT, {}),
        ("metal", BLUEPRINT + OWN, {"kernel": "6.8.0-90-generic", "lustre_client": "2.15.6"}),
        ("local", BLUEPRINT + OWN, {}),  # a rehearsal's hosts have the kernel of this machine
    ],
)
def test_they_take_the_place_of_the_profiles(target: str, text: str, expected: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(text)
    software = load(str(file), target=target, stack="test", facts=this_machine.facts(), overrides={}).software
    assert dict(software.versions) == expected
    assert software.tested_on == ("" if expected else "simulated")

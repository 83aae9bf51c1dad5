"""What a server says of its interfaces: hardware in a bond is told by the address that it has by itself."""

import importlib
from pathlib import Path
from typing import Any

import ansible.module_utils
import pytest

from blueprints.project import project_root
from blueprints.spec import SiteInterface
from components.inspection import servers

FIRST, SECOND = "aa:00:00:00:00:01", "aa:00:00:00:00:02"


@pytest.fixture
def interfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The interfaces of a server with two NICs in a bond, which has the address of the first."""
    folder = str(project_root() / "playbooks" / "module_utils")
    if folder not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(folder)
    program: Any = importlib.import_module("components.inspection.program.server")
    monkeypatch.setattr(program, "NET", str(tmp_path))
    for name, own in (("bond0", ""), ("eno1", FIRST), ("eno2", SECOND)):
        (tmp_path / name / ("bonding_slave" if own else "bonding")).mkdir(parents=True)
        (tmp_path / name / "address").write_text(f"{FIRST.upper()}\n")
        (tmp_path / name / "mtu").write_text("9000\n")
        if own:
            (tmp_path / name / "bonding_slave/perm_hwaddr").write_text(f"{own}\n")
            (tmp_path / name / "device").mkdir()
    return program.interfaces()


def test_each_interface_of_a_bond_is_found_by_the_address_of_its_hardware(interfaces: Any) -> None:
    assert {name: one["mac"] for name, one in interfaces.items()} == {"bond0": FIRST, "eno1": FIRST, "eno2": SECOND}
    named = {mac: servers.device(SiteInterface("nic", mac, "", 0, "", ()), interfaces) for mac in (FIRST, SECOND)}
    assert named == {FIRST: "eno1", SECOND: "eno2"}
    assert servers.device(SiteInterface("bond0", "", "", 9000, "", ()), interfaces) == "bond0"

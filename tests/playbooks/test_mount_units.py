"""Units of systemd that mount the file systems of a site."""

import importlib.util
import subprocess
from typing import Any

import pytest

from tests.playbooks import templates

SOURCE = templates.PLAYBOOKS / "roles/site_mounts/filter_plugins/mount_units.py"
HOME = {"name": "home", "target": "/home", "source": "10.0.0.1:/e/home", "kind": "nfs", "options": ["hard"], "exporter": "head-1", "folder": "/e/home"}
STATE = {"name": "state", "target": "/state", "source": "/data/x", "kind": "bind", "within": "/data", "create": True, "group": "control"}
WEKA = {"name": "weka", "target": "/weka", "source": "a/b", "kind": "wekafs", "options": []}


@pytest.fixture(scope="module")
def plugin() -> Any:
    spec = importlib.util.spec_from_file_location("mount_units", SOURCE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(plugin: Any, *mounts: dict[str, Any], host: str = "gpu-1", groups: tuple[str, ...] = ("compute",)) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plugin.mount_rows(mounts, host=host, groups=groups, programs={"wekafs": "mount.wekafs"})
    return found


@pytest.mark.parametrize("path", ["/home", "/data/my-set", "/a_b/c.d", "/.hidden/x", "/x/ä", "/with:colon", "/100%"])
def test_units_have_the_names_that_systemd_gives_them(plugin: Any, path: str) -> None:
    assert (
        plugin.unit_name(path)
        == subprocess.run(["systemd-escape", "--path", "--suffix=mount", path], capture_output=True, text=True, check=True).stdout.strip()
    )


def test_the_host_that_exports_a_folder_mounts_it_without_the_network(plugin: Any) -> None:
    [own] = rows(plugin, HOME, host="head-1", groups=("control",))
    [other] = rows(plugin, HOME)
    assert (own["kind"], own["source"], own["create"]) == ("bind", "/e/home", True)
    assert (other["kind"], other["source"]) == ("nfs", "10.0.0.1:/e/home")
    assert "RequiresMountsFor=/e/home" in plugin.mount_unit(own).splitlines()
    unit = plugin.mount_unit(other).splitlines()
    assert {"After=network-online.target", "What=10.0.0.1:/e/home", "Where=/home", "Type=nfs", "Options=_netdev,hard"} <= set(unit)


def test_the_controllers_state_is_mounted_on_controllers_only(plugin: Any) -> None:
    assert rows(plugin, STATE) == []
    [row] = rows(plugin, STATE, host="head-2", groups=("control",))
    assert (row["create"], row["within"]) == (True, "/data")


def test_a_kind_without_a_package_names_the_program_that_its_client_installs(plugin: Any) -> None:
    assert [row.get("program") for row in rows(plugin, WEKA, HOME)] == ["mount.wekafs", None]


def test_a_unit_of_a_file_system_that_left_the_blueprint_is_removed(plugin: Any) -> None:
    present = ["/etc/systemd/system/old.mount", "/etc/systemd/system/home.mount"]
    entries = plugin.mount_entries(rows(plugin, HOME), present)
    assert [(entry["path"], entry.get("absent", False)) for entry in entries] == [
        ("/etc/systemd/system/home.mount", False),
        ("/etc/systemd/system/old.mount", True),
    ]

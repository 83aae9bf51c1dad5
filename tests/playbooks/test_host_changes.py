"""What an installation changes joins the record of a host, what somebody changed before stays drift, and the host has to restart only for packages."""

import importlib
from pathlib import Path
from typing import Any

import ansible.module_utils
import pytest
import yaml

from blueprints.project import project_root

ansible.module_utils.__path__.append(str(project_root() / "playbooks" / "module_utils"))
host_changes = importlib.import_module("host_changes")
host_places = importlib.import_module("ansible.module_utils.host_places")
installed_record = importlib.import_module("ansible.module_utils.installed_record")


def test_nothing_else_joins_the_record() -> None:
    recorded = {"format": 1, "places": {"/etc/a": 1, "/etc/b": 1, "/etc/gone": 1}, "packages": {"kernel-1": "1", "ours": "1"}}
    before = {"places": {"/etc/a": 2, "/etc/b": 1, "/etc/gone": 1, "/etc/theirs": 1}, "packages": {"kernel-1": "1", "ours": "2", "theirs": "1"}}
    now = {"places": {"/etc/a": 2, "/etc/b": 3, "/etc/new": 1, "/etc/theirs": 1}, "packages": {"kernel-1": "1", "kernel-2": "1", "ours": "2", "theirs": "1"}}
    assert installed_record.joined(recorded, before, now) == {
        "format": 1,
        "places": {"/etc/a": 1, "/etc/b": 3, "/etc/new": 1},
        "packages": {"kernel-1": "1", "kernel-2": "1", "ours": "1"},
    }


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The packages of a host, for a test to change."""
    packages = {"linux-image-1": {"version": "1", "held": True}}
    monkeypatch.setattr(host_changes, "CHANGING", str(tmp_path / "changing.json"))
    monkeypatch.setattr(host_changes, "MARK", str(tmp_path / "pending" / "restart"))
    monkeypatch.setattr(host_places, "INSTALLED", str(tmp_path / "installed.json"))
    monkeypatch.setattr(host_places, "places", dict)
    monkeypatch.setattr(host_places, "packages", lambda: dict(packages))
    return packages


def must_restart() -> bool:
    return Path(host_changes.MARK).exists()


def test_a_host_restarts_for_packages_and_not_for_nothing(host: dict[str, Any]) -> None:
    host_changes.begin()
    assert must_restart(), "a run that is killed now has perhaps installed something"
    assert host_changes.end() == []
    assert not must_restart()
    host_changes.begin()
    host["linux-image-2"] = {"version": "2", "held": True}
    assert host_changes.end() == ["linux-image-2"]
    assert must_restart()
    host_changes.begin()
    assert host_changes.end() == []
    assert must_restart(), "it has not restarted since"


def test_what_a_killed_run_installed_is_made_good_by_the_next(host: dict[str, Any]) -> None:
    host_changes.begin()
    host["linux-image-2"] = {"version": "2", "held": False}
    Path(host_changes.MARK).unlink()  # killed, and restarted by somebody
    host_changes.begin()
    assert host_changes.end() == ["linux-image-2"]


def test_an_installation_that_failed_is_compared_too() -> None:
    """Whatever fails between the two calls: the second one follows."""
    first, installed, *_ = yaml.safe_load((project_root() / "playbooks/roles/kernel_and_drivers/tasks/main.yml").read_text(encoding="utf-8"))
    assert first["host_changes"]["moment"] == "before"
    assert [task["host_changes"] for task in installed["always"]] == [{"moment": "after"}]


def test_what_the_owner_installs_after_an_installation_that_failed_is_not_ours(host: dict[str, Any]) -> None:
    host_places.write_json(host_places.INSTALLED, {"format": 1, "places": {}, "packages": dict(host)})
    host_changes.begin()
    host["linux-image-2"] = {"version": "2", "held": False}
    assert host_changes.end() == ["linux-image-2"]
    host["theirs"] = {"version": "1", "held": False}
    host_changes.begin()
    assert host_changes.end() == []
    assert must_restart(), "for what the failed one installed"
    assert sorted(host_places.read_json(host_places.INSTALLED)["packages"]) == ["linux-image-1", "linux-image-2"]


def test_what_somebody_replaced_is_told_from_what_a_killed_run_installed(host: dict[str, Any]) -> None:
    recorded = {"libnccl2": "2.30", "libnccl-dev": "2.30", "cuda-cudart-13-0": "13.0", "nvidia-utils": "580.1", "bash": "5.2"}
    host_places.write_json(host_places.INSTALLED, {"format": 1, "places": {}, "packages": {name: {"version": one} for name, one in recorded.items()}})
    host.update(
        {name: {"version": one} for name, one in recorded.items() if name != "libnccl-dev"} | {"libnccl2": {"version": "2.31"}, "bash": {"version": "5.3"}}
    )
    patterns = ["libnccl*", "nvidia-*", "cuda-*"]
    assert host_changes.begin(patterns) == ["libnccl-dev=2.30", "libnccl2=2.30"]
    host["nvidia-utils"] = {"version": "580.2"}  # and it is killed
    assert host_changes.begin(patterns) == ["libnccl-dev=2.30", "libnccl2=2.30"]
    assert host_changes.begin() == []


def test_another_hold_alone_needs_no_restart(host: dict[str, Any]) -> None:
    host_changes.begin()
    host["linux-image-1"] = {"version": "1", "held": False}
    assert host_changes.end() == []
    assert not must_restart()

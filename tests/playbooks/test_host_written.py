"""What another module than `files` wrote is recorded as it is, beside what is recorded already."""

import importlib
import json
from pathlib import Path

import ansible.module_utils
import pytest

from blueprints.project import project_root

ansible.module_utils.__path__.append(str(project_root() / "playbooks" / "module_utils"))
host_written = importlib.import_module("host_written")
host_places = importlib.import_module("ansible.module_utils.host_places")


def test_a_file_that_another_module_changed_is_no_drift_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, table = tmp_path / "written.json", tmp_path / "hosts"
    monkeypatch.setattr(host_places, "WRITTEN", str(written))
    written.write_text(json.dumps({"/etc/motd": host_places.ABSENT, str(table): host_places.ABSENT}))
    table.write_text("10.0.0.1 head\n")
    host_written.record([str(table), str(tmp_path / "none")])
    recorded = json.loads(written.read_text())
    assert recorded[str(table)]["text"] == "10.0.0.1 head\n"
    assert recorded[str(table)] == host_places.describe(str(table))
    assert (recorded["/etc/motd"], recorded[str(tmp_path / "none")]) == (host_places.ABSENT, host_places.ABSENT)

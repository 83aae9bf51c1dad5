"""What a server says of its NICs' RoCE settings: the role's own program is asked, and an answer that can't be understood is none."""

import importlib
import json
import os
from pathlib import Path
from typing import Any

import ansible.module_utils
import pytest

from blueprints.catalog import files
from blueprints.project import project_root
from tests.playbooks import test_roce
from tests.playbooks.test_roce import host  # noqa: F401 - a fixture


@pytest.fixture
def server(host: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    """The program on a server with one NIC, set up for RoCE."""
    folder = str(project_root() / "playbooks" / "module_utils")
    if folder not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(folder)
    program: Any = importlib.import_module("components.inspection.program.server")
    order = {"interfaces": [{"name": "rail0", "mac": "02:00:00:00:00:01"}], "roce": test_roce.MARKING, "catalog": files.mapping("roce")}
    (host / "order.json").write_text(json.dumps(order))
    monkeypatch.setattr(program, "ROCE", str(test_roce.PROGRAM))
    monkeypatch.setattr(program, "ROCE_ORDER", str(host / "order.json"))
    monkeypatch.setenv("CLUSTERWRIGHT_ROOT", str(host))
    monkeypatch.setenv("PATH", f"{host / 'bin'}:{os.environ['PATH']}")
    test_roce.changes(host, "set")
    return program


def test_a_server_tells_what_its_nic_has_lost(server: Any, host: Path) -> None:  # noqa: F811
    assert server.roce() == {"changes": [], "failed": []}
    (host / "bin/state.json").write_text(json.dumps({"eth1": {}}))
    assert {one["interface"] for one in server.roce()["changes"]} == {"rail0"}
    test_roce.nic(host, link_layer="InfiniBand")
    [refused] = server.roce()["failed"]
    assert "RoCE runs over Ethernet" in refused["what"]


def test_a_server_without_the_program_or_with_an_older_one_tells_nothing(server: Any, host: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    (host / "older.py").write_text('print(\'{"changes": ["eth1: flow control"]}\')\n')
    for program in ("older.py", "none.py"):
        monkeypatch.setattr(server, "ROCE", str(host / program))
        assert server.roce() is None

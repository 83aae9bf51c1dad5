"""A cluster of servers that exist already has the rails of its inventory, proven by acceptance, and loses them with the stack."""

import json
from pathlib import Path

import pytest

from tests.hosts import plain, rails, test_metal
from tests.hosts.comparison import changed, described
from tests.hosts.deployment import deployment

pytestmark = [pytest.mark.hosts, pytest.mark.soak]


def test_rails_come_with_up_one_wrong_mtu_is_named_and_down_takes_them_back(tmp_path: Path) -> None:
    control, login, (first, second) = test_metal.CONTROL, test_metal.LOGIN, test_metal.NODES
    with plain.plain_hosts("network-life", 4, names=(control, login, first, second), interfaces=3, shared=test_metal.HOME) as servers:
        document = test_metal.blueprint(servers)
        for name in (first, second):
            document["inventory"]["hosts"][name]["interfaces"] = {one.pop("name"): one for one in rails.rails(servers[name])}
        before = {name: described(servers, name) for name in servers.servers}
        path = tmp_path / "lab.yaml"
        path.write_text(json.dumps(document))
        with deployment("test-metal-rails", tmp_path, target="metal", blueprint=str(path)) as stack:
            stack.up()
            found = {check["name"]: (check["node"], check["verdict"]) for check in stack.outputs()["acceptance"]}
            assert [found[name] for name in ("rails", "rail routes", "rail packets")] == [("gpu-[001-002]", "pass")] * 3
            document["inventory"]["hosts"][second]["interfaces"]["rail2"]["mtu"] = 1500
            path.write_text(json.dumps(document))
            failed = stack.clusterwright("up")
            assert failed.returncode == 1
            assert "rail2: 9000 bytes don't reach gpu-002 (no answer), 1500 do" in " ".join(failed.stdout.split())
            stack.down()
        assert changed(servers, before) == {}

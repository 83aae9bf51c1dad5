"""Set up the rails of plain servers as finishing does, with nothing else of a cluster."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.finish import inventory, playbook
from components.provider.kind import Work
from tests.hosts import plain

SHARED = ("ansible.cfg", "roles", "library", "module_utils", "filter_plugins")
PLAY = """\
- hosts: all
  gather_facts: false
  roles: [{role: rails, rails_interfaces: "{{ interfaces }}"}]
"""
CONFIRM_WITHIN_S = 90


def rail(server: plain.PlainHost, number: int, **changes: Any) -> dict[str, Any]:
    """Give the inventory's entry of a server's interface `eth<number>`: a network for each rail, the host's own last number in each."""
    last = server.address.rsplit(".", 1)[1]
    return {"name": f"rail{number}", "mac": server.macs[number], "address": f"10.40.{number}.{last}/24", "mtu": 9000, **changes}


def rails(server: plain.PlainHost, **changes: Any) -> list[dict[str, Any]]:
    """Give the inventory's entries of all interfaces beside the first."""
    return [rail(server, number, **changes) for number in range(1, len(server.macs))]


def open_for_finishing(servers: plain.PlainHosts) -> None:
    """Let the owner's key log in as root, as adopting does with the stack's."""
    key = servers.identity.with_suffix(".pub").read_text()
    for name in servers.servers:
        servers.inside(name, "sh", "-c", "mkdir -p -m 700 /root/.ssh && cat >/root/.ssh/authorized_keys", stdin=key)


def set_up(
    servers: plain.PlainHosts, interfaces: Mapping[str, Sequence[Mapping[str, Any]]], folder: Path, *, confirm_within_s: int = CONFIRM_WITHIN_S
) -> playbook.Outcome:
    """Run the role on these servers."""
    playbooks = folder / "playbooks"
    if not playbooks.exists():
        playbooks.mkdir()
        for name in SHARED:
            (playbooks / name).symlink_to(playbook.PLAYBOOKS / name)
        (playbooks / "rails.yml").write_text(PLAY)
    hosts = [
        inventory.FinishedHost(name, servers[name].address, "", servers[name].host_key, interfaces=tuple(dict(one) for one in of_host))
        for name, of_host in interfaces.items()
    ]
    order = playbook.Run(
        playbook="rails.yml",
        inventory=inventory.inventory({"compute": hosts}),
        variables={"rails_confirm_within_s": confirm_within_s},
        secrets={},
        private_key=servers.identity.read_text(),
        known_hosts=inventory.known_hosts(hosts),
        playbooks=str(playbooks),
    )
    return playbook.run(order, Work(show=lambda text, _: None, stopping=threading.Event(), timeout_s=300, purpose="rails"))

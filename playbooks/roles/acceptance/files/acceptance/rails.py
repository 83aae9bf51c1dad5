"""Runs on every node inside a job step: say what the node's rails are, by which interface their packets leave, and how large a packet arrives. Prints one JSON document in pieces.

Sent to the nodes as text (`python3 -c`), so that nothing needs to be installed there. Standard input has the rails of all nodes.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

ANSWER_WITHIN_S = 1.0
ATTEMPTS = 3
IP_HEADER, ICMP_HEADER = 20, 8
USUAL_MTU = 1500
PORT_LETTERS = 47
"""Of the hardware address of an InfiniBand interface, the last 16 bytes name the port; the first four change when its driver starts (RFC 4391, section 9.1.1)."""
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2  # ip(7): packets are not fragmented; Python has no names for them
ECHO_REQUEST, ECHO_REPLY = 8, 0  # RFC 792
PIECE_LETTERS = 800


def main() -> None:
    everyone = json.load(sys.stdin)
    node = os.environ.get("SLURMD_NODENAME", socket.gethostname())
    seen = look(node, everyone)
    text = json.dumps({"node": node, "rails": seen})
    parts = [text[start : start + PIECE_LETTERS] for start in range(0, len(text), PIECE_LETTERS)]
    print("\n".join(f"@{os.environ['SLURM_PROCID']} {number} {len(parts)} {part}" for number, part in enumerate(parts)), flush=True)


def look(node: str, everyone: "Mapping[str, Any]") -> "dict[str, Any]":
    """Look at every rail of this node.

    Args:
        everyone: node → its rails, and the node whose rails it tries to reach.
    """
    own = everyone.get(node) or {"rails": [], "next": ""}
    neighbour = own["next"]
    addresses = {rail["name"]: rail["address"].split("/")[0] for rail in (everyone.get(neighbour) or {"rails": []})["rails"] if rail["address"]}
    links = json.loads(subprocess.run(["ip", "-json", "-4", "address", "show"], capture_output=True, text=True, check=True, timeout=20).stdout)
    hardware = json.loads(subprocess.run(["ip", "-json", "link", "show"], capture_output=True, text=True, check=True, timeout=20).stdout)
    found = {}
    for rail in own["rails"]:
        link = interface(rail, hardware)
        if link is None:
            found[rail["name"]] = {"interface": ""}
            continue
        name = link["ifname"]
        given = [one["local"] + "/" + str(one["prefixlen"]) for each in links if each["ifname"] == name for one in each.get("addr_info", ()) if "local" in one]
        seen = {"interface": name, "mtu": link["mtu"], "up": "UP" in link.get("flags", ()), "addresses": given, "gbps": speed_gbps(name)}
        if rail["address"] in given and rail["name"] in addresses:
            seen.update(reach(rail, addresses[rail["name"]]), neighbour=neighbour)
        found[rail["name"]] = seen
    return found


def interface(rail: "Mapping[str, Any]", links: "list[dict[str, Any]]") -> "dict[str, Any] | None":
    """Find the interface of a rail; one of hardware before a bond or bridge with its address, and of an InfiniBand port that of the rail's partition."""
    found = port(rail, links)
    if found is None or not rail.get("partition_key"):
        return found
    name = f"{found['ifname']}.{int(rail['partition_key'], 16):04x}"
    return next((link for link in links if link["ifname"] == name), None)


def port(rail: "Mapping[str, Any]", links: "list[dict[str, Any]]") -> "dict[str, Any] | None":
    if not rail["mac"]:
        return next((link for link in links if link["ifname"] == rail["name"]), None)
    same = [link for link in links if str(link.get("address", "")).lower()[-PORT_LETTERS:] == rail["mac"][-PORT_LETTERS:]]
    return min(same, key=lambda link: ("link" in link, not os.path.exists(f"/sys/class/net/{link['ifname']}/device")), default=None)


def speed_gbps(name: str) -> float:
    """Give the speed of the link; 0 where the driver doesn't tell."""
    try:
        with open(f"/sys/class/net/{name}/speed", encoding="ascii") as file:
            return max(int(file.read()), 0) / 1000
    except (OSError, ValueError):
        return 0.0


def reach(rail: "Mapping[str, Any]", address: str) -> "dict[str, Any]":
    """Ask the kernel for the way from the rail's address to the neighbour's, and send packets of the rail's MTU that nobody may fragment."""
    source = rail["address"].split("/")[0]
    asked = subprocess.run(["ip", "-json", "route", "get", address, "from", source], capture_output=True, text=True, check=False, timeout=20)
    way = json.loads(asked.stdout)[0].get("dev", "") if asked.returncode == 0 else ""
    size = rail["mtu"] or USUAL_MTU
    whole = echo(source, address, size)
    smaller = "" if not whole or size <= USUAL_MTU else echo(source, address, USUAL_MTU)
    return {"leaves_by": way, "size": size, "whole": whole, "smaller": smaller}


def echo(source: str, address: str, size: int) -> str:
    """Send a packet of `size` bytes, its IP header included, and wait for its echo; give why none came, empty when one did."""
    identifier, payload = os.getpid() & 0xFFFF, bytes(size - IP_HEADER - ICMP_HEADER)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as door:
        door.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        try:
            door.bind((source, 0))
            for sequence in range(ATTEMPTS):
                door.sendto(packet(identifier, sequence, payload), (address, 0))
                if answered(door, address, identifier, time.monotonic() + ANSWER_WITHIN_S):
                    return ""
        except OSError as error:
            return error.strerror or str(error)
    return "no answer"


def packet(identifier: int, sequence: int, payload: bytes) -> bytes:
    """Build an echo request."""
    header = struct.pack("!BBHHH", ECHO_REQUEST, 0, 0, identifier, sequence)
    words = header + payload + b"\0" * (len(payload) % 2)
    total = sum(struct.unpack(f"!{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!BBHHH", ECHO_REQUEST, 0, ~total & 0xFFFF, identifier, sequence) + payload


def answered(door: socket.socket, address: str, identifier: int, deadline: float) -> bool:
    """Say whether the echo of one of our packets arrives in time."""
    while time.monotonic() < deadline:
        door.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            received, (sender, _) = door.recvfrom(65535)
        except TimeoutError:
            return False
        body = received[(received[0] & 15) * 4 :]
        if sender == address and len(body) >= ICMP_HEADER and body[0] == ECHO_REPLY and struct.unpack("!H", body[4:6])[0] == identifier:
            return True
    return False


if __name__ == "__main__":
    main()

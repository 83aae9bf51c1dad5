"""What a host does at the beginning of every boot, before any daemon: it runs on the host, with Python's standard library alone, from the instance's user data.

1. Keep everyone but root away from the metadata server, which hands out the host's tokens; on a controller, Slurm's user starts and ends nodes with them.
2. Take the name that the instance's own name ends with.
3. Fetch the keys that such a host is born with.
4. Make one file system of the instance's own disks, which are empty after every start.
"""

import base64
import json
import os
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

from ...bootstrap.guest.first_boot import make_scratch, patiently, run, write

SERVER = "169.254.169.254"
METADATA = os.environ.get("GCE_METADATA_HOST", SERVER)
SECRETS_API = os.environ.get("CLUSTERWRIGHT_SECRETS_API", "https://secretmanager.googleapis.com")
WAIT_S = 300
"""The permission to read a secret can come later than the instance."""
DISKS = "google-local-nvme-ssd-*"
SECRETS = "/etc/clusterwright/secrets"


def main(order: dict[str, Any]) -> None:
    guard_metadata(order["metadata"])
    name = patiently("the metadata server", lambda: metadata("instance/name")).removeprefix(order["prefix"])
    socket.sethostname(name)
    write("/etc/hostname", name + "\n", 0o644)
    keys = json.loads(patiently("the host's keys", lambda: secret(order["secret"])))
    Path(SECRETS).mkdir(mode=0o700, parents=True, exist_ok=True)
    write(SECRETS + "/munge.key", base64.b64decode(keys["munge_key"]), 0o400)
    if "host_key" in keys:
        write("/etc/ssh/ssh_host_ed25519_key", keys["host_key"], 0o600)
        public = subprocess.run(["ssh-keygen", "-y", "-f", "/etc/ssh/ssh_host_ed25519_key"], check=True, capture_output=True).stdout
        write("/etc/ssh/ssh_host_ed25519_key.pub", public, 0o644)
    if order["scratch"]:
        make_scratch(order["scratch"])


def guard_metadata(others: list[str]) -> None:
    """The same address resolves names for everyone, so only what is not DNS is kept from others."""
    owner = ["OUTPUT", "-d", SERVER, "-p", "tcp", "!", "--dport", "53", "-m", "owner"]
    rules = [[*owner, "!", "--uid-owner", "0", "-j", "REJECT"], *([*owner, "--uid-owner", user, "-j", "RETURN"] for user in others)]
    for rule in rules:  # each in front of those before it
        if subprocess.run(["iptables", "-w", "-C", *rule], capture_output=True).returncode != 0:
            run("iptables", "-w", "-I", *rule)


def metadata(path: str) -> str:
    request = urllib.request.Request("http://" + METADATA + "/computeMetadata/v1/" + path, headers={"Metadata-Flavor": "Google"})
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - the address is this program's own
        text: str = answer.read().decode().strip()
        return text


def secret(name: str) -> str:
    token = json.loads(metadata("instance/service-accounts/default/token"))["access_token"]
    place = SECRETS_API + "/v1/" + name + "/versions/latest:access"
    request = urllib.request.Request(place, headers={"Authorization": "Bearer " + token})  # noqa: S310 - over TLS
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
        return base64.b64decode(json.load(answer)["payload"]["data"]).decode()

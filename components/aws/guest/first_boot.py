"""What a host does at the beginning of every boot, before any daemon: it runs on the host, with Python's standard library alone, from the instance's user data.

1. Keep everyone but root away from the metadata service, which hands out the host's role; on a controller, Slurm's user starts and ends nodes with it.
2. Take the name that the instance's tag gives.
3. Fetch the keys that such a host is born with.
4. Make one file system of the instance's own disks, which are empty after every start.
"""

import base64
import datetime as dt
import hashlib
import hmac
import json
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

from ...bootstrap.guest.first_boot import make_scratch, patiently, run, write

METADATA = "169.254.169.254"
WAIT_S = 300
"""Tags, credentials and the permission to read a secret can all come later than the instance."""
DISKS = "nvme-Amazon_EC2_NVMe_Instance_Storage_*"
SECRETS = "/etc/clusterwright/secrets"


def main(order: dict[str, Any]) -> None:
    guard_metadata(order["metadata"])
    token = patiently("the metadata service", lambda: fetch("/latest/api/token", method="PUT", headers={"X-aws-ec2-metadata-token-ttl-seconds": "21600"}))
    metadata = {"X-aws-ec2-metadata-token": token}
    name = patiently("the instance's tag with its name", lambda: fetch("/latest/meta-data/tags/instance/clusterwright:node", headers=metadata))
    socket.sethostname(name)
    write("/etc/hostname", name + "\n", 0o644)
    keys = json.loads(patiently("the host's keys", lambda: secret(order["region"], order["endpoint"], order["secret"], metadata)))
    Path(SECRETS).mkdir(mode=0o700, parents=True, exist_ok=True)
    write(SECRETS + "/munge.key", base64.b64decode(keys["munge_key"]), 0o400)
    if "host_key" in keys:
        write("/etc/ssh/ssh_host_ed25519_key", keys["host_key"], 0o600)
        public = subprocess.run(["ssh-keygen", "-y", "-f", "/etc/ssh/ssh_host_ed25519_key"], check=True, capture_output=True).stdout
        write("/etc/ssh/ssh_host_ed25519_key.pub", public, 0o644)
    if order["scratch"]:
        make_scratch(order["scratch"])


def guard_metadata(others: list[str]) -> None:
    owner = ["OUTPUT", "-d", METADATA, "-m", "owner"]
    rules = [[*owner, "!", "--uid-owner", "0", "-j", "REJECT"], *([*owner, "--uid-owner", user, "-j", "RETURN"] for user in others)]
    for rule in rules:  # each in front of those before it
        if subprocess.run(["iptables", "-w", "-C", *rule], capture_output=True).returncode != 0:
            run("iptables", "-w", "-I", *rule)


def fetch(path: str, *, method: str = "GET", headers: dict[str, str] | None = None) -> str:
    request = urllib.request.Request("http://" + METADATA + path, method=method, headers=headers or {})
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - the address is this program's own
        text: str = answer.read().decode().strip()
        return text


def secret(region: str, endpoint: str, arn: str, metadata: dict[str, str]) -> str:
    role = fetch("/latest/meta-data/iam/security-credentials/", headers=metadata)
    credentials = json.loads(fetch("/latest/meta-data/iam/security-credentials/" + role, headers=metadata))
    body = json.dumps({"SecretId": arn, "VersionStage": "AWSCURRENT"}).encode()
    now = dt.datetime.now(dt.timezone.utc)  # noqa: UP017 - the host's Python may be older than this project's
    headers = signed(body, region, endpoint, credentials, now)
    request = urllib.request.Request("https://" + endpoint + "/", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above, over TLS
        text: str = json.load(answer)["SecretString"]
        return text


def signed(body: bytes, region: str, endpoint: str, credentials: dict[str, str], now: dt.datetime) -> dict[str, str]:
    """Sign a request (IAM User Guide, "Create a signed AWS API request")."""
    moment, scope = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d") + "/" + region + "/secretsmanager/aws4_request"
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "host": endpoint,
        "x-amz-date": moment,
        "x-amz-security-token": credentials["Token"],
        "x-amz-target": "secretsmanager.GetSecretValue",
    }
    names = ";".join(sorted(headers))
    lines = "".join(name + ":" + headers[name] + "\n" for name in sorted(headers))
    request = "\n".join(["POST", "/", "", lines, names, hashlib.sha256(body).hexdigest()])
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + credentials["SecretAccessKey"]).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    access = "AWS4-HMAC-SHA256 Credential=" + credentials["AccessKeyId"] + "/" + scope
    return {**headers, "Authorization": access + ", SignedHeaders=" + names + ", Signature=" + signature}

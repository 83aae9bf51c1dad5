"""Join the cluster: what finishing does to other nodes (playbooks/roles/kubeadm_node), an elastic node does to itself, with what it was told when it was started.

Runs on the node, as root and with the standard library alone. It is done again from the start until it has succeeded; then what it was told, with the token, is gone.
"""

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TOLD = "/etc/clusterwright/secrets/join.json"
FOLDER = Path("/etc/clusterwright/kubernetes")
JOINING = Path("/run/clusterwright/join")
KUBELET = Path("/etc/kubernetes/kubelet.conf")
"""The kubelet writes it when the cluster has taken it in."""
PROGRAM = "/usr/lib/clusterwright/join.py"
UNIT = "/etc/systemd/system/clusterwright-join.service"
WANTED = "/etc/systemd/system/multi-user.target.d/clusterwright-join.conf"
RECORD = "/var/lib/clusterwright/record/written.json"
"""What drift compares a host's files with; the module `files` writes it on others (playbooks/library/files.py)."""


def main() -> int:
    told = json.loads(Path(TOLD).read_text())
    for entry in told["files"]:
        write(entry)
    record([*map(described, told["files"]), *map(seeded, (PROGRAM, UNIT, WANTED))])
    run("systemctl", "daemon-reload")
    if not KUBELET.exists():
        JOINING.mkdir(parents=True, exist_ok=True)
        JOINING.chmod(0o700)
        host, _, port = told["join"]["endpoint"].rpartition(":")
        for name, content in configuration(told, name=socket.gethostname(), address=own_address(host, int(port))).items():
            (JOINING / name).write_text(content)
        run("kubeadm", "join", f"--config={JOINING}/join.yaml", f"--ignore-preflight-errors={','.join(told['join']['ignored'])}")
    shutil.rmtree(JOINING, ignore_errors=True)
    (FOLDER / "joined").write_text(f"{told['join']['mark']}\n")
    run("systemctl", "start", "--no-block", *told["units"])
    Path(TOLD).unlink()
    return 0


def write(entry: Mapping[str, Any]) -> None:
    """Write a file, or a link, whole or not at all."""
    path = Path(entry["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    if "link" in entry:
        new.symlink_to(entry["link"])
    else:
        new.write_text(entry["content"])
        new.chmod(int(entry.get("mode", "0644"), 8))
    new.replace(path)


def described(entry: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Describe a file or link in the form of the record. Pure."""
    if "link" in entry:
        return entry["path"], {"kind": "link", "link": entry["link"]}
    digest = hashlib.sha256(entry["content"].encode()).hexdigest()
    return entry["path"], {"kind": "file", "owner": "root", "group": "root", "mode": f"{int(entry.get('mode', '0644'), 8):04o}", "sha256": digest}


def seeded(path: str) -> tuple[str, dict[str, str]]:
    """Describe what was on the disk when the host first ran."""
    file = Path(path)
    return described({"path": path, "content": file.read_text(), "mode": f"{file.stat().st_mode & 0o777:o}"})


def record(entries: Iterable[tuple[str, dict[str, str]]], *, file: str = RECORD) -> None:
    """Add to the record of the host's files."""
    place = Path(file)
    known = json.loads(place.read_text()) if place.exists() else {}
    place.parent.mkdir(parents=True, exist_ok=True)
    write({"path": file, "content": json.dumps({**known, **dict(entries)}), "mode": "0600"})


def configuration(told: Mapping[str, Any], *, name: str, address: str) -> dict[str, str]:
    """Give what kubeadm reads; JSON is YAML too. Pure."""
    join = told["join"]
    cluster = {"server": f"https://{join['endpoint']}", "certificate-authority-data": base64.b64encode(join["authority"].encode()).decode()}
    # In the form of the cluster's own cluster-info: one cluster without a name, and no user.
    authority = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]}
    wanted = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": f"{JOINING}/authority.conf"}, "tlsBootstrapToken": told["token"]},
        "nodeRegistration": {
            "name": name,
            "criSocket": "unix:///run/containerd/containerd.sock",
            "imagePullPolicy": "IfNotPresent",
            "taints": told["node"]["taints"],
            "kubeletExtraArgs": [{"name": "node-ip", "value": address}],
        },
        "patches": {"directory": f"{FOLDER}/patches"},
    }
    return {"authority.conf": json.dumps(authority), "join.yaml": json.dumps(wanted)}


def own_address(host: str, port: int) -> str:
    """Give the address from which this host reaches another; no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looking:
        looking.connect((host, port))
        return str(looking.getsockname()[0])


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, env={**os.environ, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})


if __name__ == "__main__":
    sys.exit(main())

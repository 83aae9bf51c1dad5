"""Log in to a stack: the users' keys on this machine, and the ssh command that uses them."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blueprints import ssh_places
from components.files import atomic_files

from ..errors import Problem
from ..project import private_folder


def write_keys(stack: str, outputs: Mapping[str, Any]) -> dict[str, Path]:
    """Write the keys that the stack created for its users, and the login nodes' host key; give user → key file.

    Raises:
        Problem: the stack has no login nodes.
    """
    if "login" not in outputs:
        raise Problem(
            f"stack {stack} has no login nodes",
            why="its users work with kubectl" if "kubeconfig" in outputs else "its blueprint asks for none",
            remedy=f"`clusterwright kubectl --stack {stack} -- get nodes`; docs/kubernetes.md says how administrators get a shell on a host"
            if "kubeconfig" in outputs
            else "write `access: {login_nodes: 1}`, and run `up`",
        )
    folder = private_folder(stack)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    login = outputs["login"]
    atomic_files.write_text(folder / "known_hosts", f"{ssh_places.known_place(login['address'], login['port'])} {login['host_key']}\n", mode=0o600)
    keys = {}
    for user, key in outputs["user_keys"].items():
        keys[user] = folder / f"{user}.key"
        atomic_files.write_text(keys[user], key, mode=0o600)
    return keys


def command(stack: str, outputs: Mapping[str, Any], user: str) -> list[str]:
    """Give the ssh command that logs `user` in, host key verified."""
    folder, login = private_folder(stack), outputs["login"]
    key = folder / f"{user}.key"
    identity = ["-i", str(key)] if key.exists() else []
    carried = ["-o", f"ProxyCommand={login['command']}"] if login.get("command") else []
    return [
        "ssh",
        *identity,
        "-o",
        f"UserKnownHostsFile={folder / 'known_hosts'}",
        *carried,
        *ssh_places.port_option(login["port"]),
        f"{user}@{login['address']}",
    ]


def shown(argv: list[str], *, relative_to: Path) -> str:
    """Write a command as one would type it in the project folder."""
    return shlex.join(word.replace(f"{relative_to}/", "") for word in argv)

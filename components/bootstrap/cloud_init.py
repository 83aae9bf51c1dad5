"""Write a host's configuration as cloud-init user data. Pure.

User data is no place for secrets: who may describe an instance can read it. A program of the cloud, which cloud-init runs early in every boot, gives the host its name and fetches its keys.
"""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from . import files
from .config import HostConfig


def user_data(config: HostConfig, *, program: str, order: Mapping[str, Any]) -> str:
    """Write the user data of a host.

    Args:
        program: Python, run by root before any daemon of every boot; it needs the standard library alone.
        order: the program's only argument, as JSON.
    """
    mounts = [mount.fields for mount in config.mounts if not (mount.is_disk or mount.is_late)]
    document = {
        "preserve_hostname": True,  # the program gives the name
        "manage_etc_hosts": False,  # it is a link to the cluster's table, which cloud-init would write through
        "users": [],  # no user of the image's own: people come from the cluster's table
        "disable_root": False,  # finishing logs in as root, by key only, and only through a login node
        "ssh_authorized_keys": [config.admin_key],
        "ssh_pwauth": False,
        "ssh_deletekeys": False,  # the program has written the host's own key by then
        "ssh_genkeytypes": ["ed25519"],
        # The image brings both. On Ubuntu, cloud-init would rewrite the package sources and install language packs, and the first boot would wait for it.
        "apt": {"preserve_sources_list": True},
        "locale": False,
        "bootcmd": [["/usr/bin/python3", "-c", program, json.dumps(order, sort_keys=True)]],
        "write_files": _files(config),
        **({"mounts": mounts} if mounts else {}),
        # A host that exports disks enables the server at its first boot: a drift check would report what finishing enables later.
        "runcmd": [
            ["systemctl", "daemon-reload"],
            *([["systemctl", "enable", "nfs-server.service"]] if config.exports else []),
            *(["systemctl", "start", "--no-block", mount.target] for mount in config.mounts if mount.is_disk),
            # It began before these lines were in fstab, and found nothing to wait for.
            *([["systemctl", "restart", "--no-block", "clusterwright-mounted.service"]] if any(mount.is_late for mount in config.mounts) else []),
        ],
    }
    return "#cloud-config\n" + yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=1000)


def _files(config: HostConfig) -> list[dict[str, Any]]:
    """Disks and what is late go into fstab(5) directly: cloud-init mounts once, in its network stage, and a mount that fails is a first boot that failed."""
    return [
        _entry(files.settings(config)),
        *(_entry(file) | {"append": True, "defer": True} for file in files.table(config)),
        *(_entry(file) for file in files.exports(config)),
        *(_entry(file) for file in files.expected(config)),
        *(_entry(file) for file in files.lustre(config)),
    ]


def _entry(file: files.File) -> dict[str, Any]:
    return {"path": file.path, "permissions": f"{file.mode:04o}", "content": file.content.decode()}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are, so that user data is readable in a console."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)

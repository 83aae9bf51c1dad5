"""User data: what an instance is told before its first boot, in cloud-init's form. Pure; nothing in it is secret."""

import dataclasses
import functools
import gzip
import json
from pathlib import Path
from typing import Any

import yaml

from ..expected import PLACE as EXPECTED

LIMIT_BYTES = 16 * 1024
"""EC2 User Guide, "User data": 16 KB before it is encoded."""
SLURM_USER = "slurm"
"""Runs the elastic program on controllers."""
_PROGRAM = Path(__file__).parent / "guest" / "first_boot.py"


@dataclasses.dataclass(frozen=True, slots=True)
class FsTab:
    """A file system as fstab(5) has it."""

    source: str
    target: str
    kind: str
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Birth:
    """What a host is born with."""

    role: str
    cluster: str
    group: str
    region: str
    controllers: tuple[str, ...]
    """Addresses: they need no names to be known yet."""
    admin_key: str
    """OpenSSH public key of the one who finishes the hosts."""
    secret_arn: str
    mounts: tuple[FsTab, ...] = ()
    scratch: str | None = None
    exports: tuple[str, ...] = ()
    """Folders that the host gives to the others over NFS."""
    clients: str = ""
    """Who may mount these: the cluster's network."""
    expected: str = ""
    """What a compute node has to have before it takes jobs (`components/expected.py`)."""


def cloud_config(birth: Birth) -> str:
    """Write the user data of a host."""
    order = {
        "region": birth.region,
        "endpoint": _endpoint(birth.region),
        "secret": birth.secret_arn,
        "scratch": birth.scratch,
        "metadata": [SLURM_USER] if birth.role == "control" else [],
    }
    settings = {
        "CLUSTERWRIGHT_ROLE": birth.role,
        "CLUSTERWRIGHT_CLUSTER": birth.cluster,
        "CLUSTERWRIGHT_GROUP": birth.group,
        "CLUSTERWRIGHT_CONTROLLERS": ",".join(birth.controllers),
    }
    files = [_file("/etc/clusterwright/node.env", "".join(f"{name}={value}\n" for name, value in settings.items())), *_disk_files(birth)]
    if birth.expected:
        files.append(_file(EXPECTED, birth.expected))
    mounts = [_row(mount) for mount in birth.mounts if not _is_disk(mount)]
    config = {
        "preserve_hostname": True,  # the first program gives the name
        "manage_etc_hosts": False,  # it is a link to the cluster's table, which cloud-init would write through
        "users": [],  # no user of the image's own: people come from the cluster's table
        "disable_root": False,  # finishing logs in as root, by key only, and only through a login node
        "ssh_authorized_keys": [birth.admin_key],
        "ssh_pwauth": False,
        "ssh_deletekeys": False,  # the first program wrote the host's own key by then
        "ssh_genkeytypes": ["ed25519"],
        # The image brings both: on Ubuntu, cloud-init would write the sources of packages anew and install what languages need, with the first boot waiting for it.
        "apt": {"preserve_sources_list": True},
        "locale": False,
        "bootcmd": [["/usr/bin/python3", "-c", _program(), json.dumps(order, sort_keys=True)]],
        "write_files": files,
        **({"mounts": mounts} if mounts else {}),
        # A host that exports disks is born with the server enabled: what finishing does later, a drift check would take for a stranger's.
        "runcmd": [
            ["systemctl", "daemon-reload"],
            *([["systemctl", "enable", "nfs-server.service"]] if birth.exports else []),
            *(["systemctl", "start", "--no-block", mount.target] for mount in birth.mounts if _is_disk(mount)),
        ],
    }
    return "#cloud-config\n" + yaml.dump(config, Dumper=_Dumper, sort_keys=False, width=1000)


def packed(text: str) -> bytes:
    """Give user data as EC2 takes it: as it is, for whoever reads it in a console, and compressed where it is too long, which cloud-init sees by itself.

    Raises:
        ValueError: it is too long even so; the check of a blueprint's mounts refuses that before (CW413).
    Source: cloud-init's documentation, "User data formats", gzip compressed content.
    """
    plain = text.encode()
    found = plain if len(plain) <= LIMIT_BYTES else gzip.compress(plain, mtime=0)
    if len(found) > LIMIT_BYTES:
        raise ValueError(f"the user data has {len(plain)} bytes, compressed {len(found)}, and EC2 takes {LIMIT_BYTES}")
    return found


def _is_disk(mount: FsTab) -> bool:
    return mount.source.startswith("/dev/")


def _disk_files(birth: Birth) -> list[dict[str, Any]]:
    """Describe disks that are attached after the start: systemd waits for one and makes a file system on an empty one, cloud-init, which mounts in its network stage, does neither."""
    disks = [mount for mount in birth.mounts if _is_disk(mount)]
    found = [_file("/etc/fstab", "".join(f"{' '.join(_row(mount))}\n" for mount in disks)) | {"append": True, "defer": True}] if disks else []
    if birth.exports:
        options = "rw,sync,no_root_squash,no_subtree_check"
        found.append(_file("/etc/exports.d/clusterwright.exports", "".join(f"{folder} {birth.clients}({options})\n" for folder in birth.exports)))
    return found


def _file(path: str, content: str) -> dict[str, Any]:
    return {"path": path, "permissions": "0644", "content": content}


def _row(mount: FsTab) -> list[str]:
    return [mount.source, mount.target, mount.kind, ",".join(mount.options), "0", "0"]


def _endpoint(region: str) -> str:
    return f"secretsmanager.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"


@functools.cache
def _program() -> str:
    return _PROGRAM.read_text()


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are, for whoever reads the user data in a console."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)

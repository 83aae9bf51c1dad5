"""What a host of a pool boots with, from the pool's inputs. Pure, and without the engine, as the service that starts elastic hosts needs it too."""

import dataclasses
import functools
import ipaddress
from collections.abc import Mapping
from pathlib import Path

from blueprints import hostlist

from ..bootstrap import files
from ..bootstrap.config import HostConfig, HostKeys
from . import join
from .machine import host as hosts
from .machine.names import StackNames, cache_root

SIMULATED_GPU_MAJOR = 60  # LOCAL/EXPERIMENTAL USE, Documentation/admin-guide/devices.txt; never 195, which is a real NVIDIA driver's


CONTROL_PLANE, NODE = "kubernetes", "kubernetes-node"
"""Roles of hosts that run containers."""
RELEASES = "/var/lib/clusterwright/kubernetes"
"""Where hosts that run containers find all releases of Kubernetes in the cache: an upgrade needs no boot."""


_JOIN_UNIT = f"""\
# Written by clusterwright: a node that nobody configures from outside joins its cluster, once. What is cut off is done again.
[Unit]
Description=clusterwright: join the cluster
After=containerd.service clusterwright-boot.service
ConditionPathExists={join.TOLD}
StartLimitIntervalSec=0

[Service]
Type=exec
Restart=on-failure
RestartSec=3
ExecStart=/usr/bin/python3 -I -S -B {join.PROGRAM}
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Mount:
    path: str
    target: str
    incarnation: str
    """Of the folder: a host bound to one that was lost and made anew has to boot again to see it."""
    read_only: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class HostPoolInputs:
    stack: str
    site: str
    """The token of the stack's claim to its name on this machine."""
    group: str
    role: str
    cluster: str
    prefix: str
    count: int
    first_address: str
    cidr: str
    gateway: str
    bridge: str
    controllers: tuple[str, ...]
    image: str
    lowers: tuple[str, ...]
    mounts: tuple[Mount, ...]
    simulated_gpus: int
    admin_public_key: str
    munge_key: str
    """Base64; empty on hosts without Slurm. Secret."""
    expected: str = ""
    """What a compute node has to have before it takes jobs (`components/node_expectations.py`)."""
    host_key: str = ""
    """OpenSSH private key that all hosts of the group answer with; empty: each makes its own. Secret."""

    members: str = ""
    """The hosts' own names as a Slurm host list; empty: they are named by their number."""

    def hostname(self, number: int) -> str:
        return hostlist.nth_of_group(self.prefix, number, self.members)

    starts_hosts: bool = False
    """The service that starts hosts of elastic pools answers these hosts; controllers of Slurm, always."""

    @property
    def runs_containers(self) -> bool:
        return self.role in (CONTROL_PLANE, NODE)

    @property
    def numbers(self) -> Mapping[str, int]:
        """Give each host's number by its name."""
        return _numbers(self.prefix, self.members, self.count)

    def address(self, number: int) -> str:
        return str(ipaddress.ip_address(self.first_address) + number)


@functools.lru_cache(maxsize=64)
def _numbers(prefix: str, members: str, count: int) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(hostlist.of_group(prefix, count, members))}


def boot(inputs: HostPoolInputs, number: int) -> hosts.Boot:
    """Give all that starting host `number` takes."""
    names = StackNames(inputs.stack)
    own = [hosts.Bind(str(names.cluster_folder), hosts.GUEST_CLUSTER_FOLDER, read_only=inputs.role != "control")]
    if inputs.role == "control" or inputs.starts_hosts:
        own.append(hosts.Bind(str(names.door), hosts.GUEST_DOOR))
    if inputs.runs_containers:
        own.append(hosts.Bind(str(cache_root() / "kubernetes"), RELEASES, read_only=True))
    return hosts.Boot(
        address=inputs.address(number),
        prefix=ipaddress.ip_network(inputs.cidr).prefixlen,
        gateway=inputs.gateway,
        bridge=inputs.bridge,
        lowers=inputs.lowers,
        binds=(*own, *(hosts.Bind(mount.path, mount.target, mount.read_only) for mount in inputs.mounts)),
        runs_containers=inputs.runs_containers,
    )


def seeds(inputs: HostPoolInputs) -> tuple[files.File, ...]:
    """List the files that are on every host's disk before its first boot."""
    gpus = {"CLUSTERWRIGHT_SIMULATED_GPUS": str(inputs.simulated_gpus), "CLUSTERWRIGHT_GPU_MAJOR": str(SIMULATED_GPU_MAJOR)} if inputs.simulated_gpus else {}
    config = HostConfig(
        role=inputs.role,
        cluster=inputs.cluster,
        group=inputs.group,
        controllers=inputs.controllers,
        admin_key=inputs.admin_public_key,
        expected=inputs.expected,
        settings=gpus,
    )
    return files.complete(config, HostKeys(inputs.munge_key, inputs.host_key))


def join_seeds(told: str) -> tuple[files.File, ...]:
    """List what an elastic node of Kubernetes finds beside the others' files: what it is told, and the program that joins the cluster with it. Nobody configures such a node from outside.

    Args:
        told: what the autoscaler tells (`components/elastic/kubernetes/program.py`). Secret.
    """
    return (
        files.File(join.TOLD, told.encode(), mode=0o600),
        files.File(join.PROGRAM, Path(join.__file__).read_bytes(), mode=0o700),
        files.File(join.UNIT, _JOIN_UNIT.encode()),
        files.File(join.WANTED, f"# Written by clusterwright.\n[Unit]\nWants={Path(join.UNIT).name}\n".encode()),
    )

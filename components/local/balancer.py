"""HAProxy in front of the login nodes: a host of its own kind, with one process and no system around it."""

import dataclasses
import ipaddress
from pathlib import Path

from .. import rest
from ..files import atomic_files
from ..provider.kind import Kind, Values, Work
from .machine import claim
from .machine import host as hosts
from .machine.names import HostNames, StackNames

HOSTNAME = "balancer"
GUEST_FOLDER = "/etc/balancer"
ANSWER_WITHIN_S = 30
STOP_WITHIN_S = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Backend:
    name: str
    address: str


@dataclasses.dataclass(frozen=True, slots=True)
class BalancerInputs:
    stack: str
    site: str
    """The token of the stack's claim to its name on this machine."""
    address: str
    cidr: str
    gateway: str
    bridge: str
    image: str
    lowers: tuple[str, ...]
    backends: tuple[Backend, ...]
    rest_api: bool = False
    """Slurm's REST API is behind it, too."""


class Balancer(Kind[BalancerInputs]):
    token = "clusterwright:local:Balancer"
    inputs = BalancerInputs

    def identity(self, inputs: BalancerInputs) -> str:
        return f"{inputs.stack}/{HOSTNAME}"

    def expected(self, inputs: BalancerInputs) -> Values:
        return {"running": True, "endpoint": f"{inputs.address}:{hosts.SSH_PORT}", "configuration": configuration(inputs)}

    def read(self, inputs: BalancerInputs, outputs: Values) -> Values | None:
        host = StackNames(inputs.stack).host(HOSTNAME)
        if hosts.recorded(host) is None:
            return None
        return {**self.expected(inputs), "running": hosts.is_running(host), "configuration": _written(host)}

    def create(self, inputs: BalancerInputs, work: Work) -> Values:
        host = StackNames(inputs.stack).host(HOSTNAME)
        claim.require(host.names, inputs.site)
        hosts.kill(host)
        work.wait_until(lambda: hosts.is_gone(host), awaiting="the previous balancer to stop", within_s=STOP_WITHIN_S)
        hosts.make_disk(host, image=inputs.image)
        atomic_files.write_text(_file(host), configuration(inputs))
        boot = hosts.Boot(
            address=inputs.address,
            prefix=ipaddress.ip_network(inputs.cidr).prefixlen,
            gateway=inputs.gateway,
            bridge=inputs.bridge,
            lowers=inputs.lowers,
            binds=(hosts.Bind(str(host.state / "haproxy"), GUEST_FOLDER, read_only=True),),
            program=("/usr/sbin/haproxy", "-W", "-db", "-f", f"{GUEST_FOLDER}/haproxy.cfg"),
        )
        hosts.start(host, boot, fingerprint=hosts.fingerprint((), boot))
        try:
            work.wait_until(lambda: hosts.answers(inputs.address), awaiting=f"a login node behind {inputs.address}", within_s=ANSWER_WITHIN_S)
        except TimeoutError as error:
            raise TimeoutError(f"{error}. The end of HAProxy's log ({host.console}):\n{hosts.console_tail(host)}") from error
        return self.expected(inputs)

    def delete(self, inputs: BalancerInputs, outputs: Values, work: Work) -> None:
        host = StackNames(inputs.stack).host(HOSTNAME)
        claim.require(host.names, inputs.site, deleting=True)
        hosts.kill(host)
        work.wait_until(lambda: hosts.is_gone(host), awaiting="the balancer to stop", within_s=STOP_WITHIN_S)
        hosts.remove(host)


def _file(host: HostNames) -> Path:
    return host.state / "haproxy" / "haproxy.cfg"


def _written(host: HostNames) -> str:
    """Give the configuration as it is on the disk, whatever HAProxy read when it started; empty when it is gone."""
    try:
        return _file(host).read_text(errors="replace")
    except FileNotFoundError:
        return ""


def configuration(inputs: BalancerInputs) -> str:
    """HAProxy's configuration: SSH to the login node with the fewest sessions, each checked for an SSH greeting. Pure."""
    servers = "".join(f"    server {backend.name} {backend.address}:{hosts.SSH_PORT} check inter 2s fall 3 rise 1\n" for backend in inputs.backends)
    return f"""\
global
    log stderr format raw local0 notice
    maxconn 2000

defaults
    mode tcp
    log global
    timeout connect 5s
    timeout client 24h
    timeout server 24h

listen ssh
    bind {inputs.address}:{hosts.SSH_PORT}
    balance leastconn
    option tcp-check
    tcp-check expect rstring ^SSH-2
{servers}{rest.proxy({one.name: one.address for one in inputs.backends}, address=inputs.address) if inputs.rest_api else ""}"""

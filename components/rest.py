"""Slurm's REST API on login hosts: where it listens, as the playbooks read it. Pure."""

from collections.abc import Mapping
from typing import Any

PORT = 6820
"""slurmrestd(8)."""
BACK_PORT = 6821
"""Where slurmrestd listens behind a balancer, which has the port itself."""


def described(hosts: Mapping[str, str], *, is_balanced: bool) -> dict[str, Any]:
    """Describe the service for the playbooks.

    Args:
        hosts: login host → its address.
        is_balanced: a balancer is in front of them.
    """
    return {"hosts": dict(hosts), "port": PORT, "back_port": BACK_PORT, "is_balanced": is_balanced}


def proxy(hosts: Mapping[str, str], *, address: str) -> str:
    """Write HAProxy's part for the API: an expired token is refused here, whatever the versions of Slurm answer to it. Pure."""
    servers = "".join(f"    server {name} {host}:{BACK_PORT} check inter 2s fall 3 rise 1\n" for name, host in hosts.items())
    return f"""\

listen rest
    mode http
    bind {address}:{PORT}
    timeout client 1m
    timeout server 5m
    http-request set-var(txn.token) req.hdr(X-SLURM-USER-TOKEN)
    http-request set-var(txn.token) http_auth_bearer if !{{ var(txn.token) -m found }}
    http-request set-var(txn.expires) var(txn.token),jwt_payload_query('$.exp','int') if {{ var(txn.token) -m found }}
    http-request set-var(txn.now) date()
    http-request deny deny_status 401 if {{ var(txn.expires) -m found }} {{ var(txn.expires),sub(txn.now) -m int lt 0 }}
    http-response set-status 401 if {{ status 511 }}
    balance leastconn
{servers}"""

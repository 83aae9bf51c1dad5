"""User data of an instance: cloud-init's document with the program that these hosts run at the beginning of every boot. Pure; nothing in it is secret."""

from pathlib import Path

from ..bootstrap import cloud_init, first_program
from ..bootstrap.config import HostConfig

LIMIT_BYTES = 256 * 1024
"""Compute Engine documentation, "About VM metadata": the longest value."""
SLURM_USER = "slurm"
"""Runs the elastic program on controllers."""
_PART = Path(__file__).parent / "guest" / "first_boot.py"


def user_data(config: HostConfig, *, prefix: str, secret: str) -> str:
    """Write the user data of a host.

    Args:
        prefix: begins the instance's name; the rest is the hostname.
        secret: full name of the secret with the host's keys.
    Raises:
        ValueError: it is too long.
    """
    order = {"prefix": prefix, "secret": secret, "scratch": config.scratch, "metadata": [SLURM_USER] if config.role == "control" else []}
    written = cloud_init.user_data(config, program=first_program.program(_PART), order=order)
    if len(written.encode()) > LIMIT_BYTES:
        raise ValueError(f"the user data has {len(written.encode())} bytes, and Compute Engine takes {LIMIT_BYTES}")
    return written

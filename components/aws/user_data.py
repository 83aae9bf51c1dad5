"""User data of an EC2 instance: cloud-init's document with the program that EC2's hosts run at the beginning of every boot. Pure; nothing in it is secret."""

import gzip
from pathlib import Path

from ..bootstrap import cloud_init, first_program
from ..bootstrap.config import HostConfig

LIMIT_BYTES = 16 * 1024
"""EC2 User Guide, "User data": 16 KB before it is encoded."""
SLURM_USER = "slurm"
"""Runs the elastic program on controllers."""
_PART = Path(__file__).parent / "guest" / "first_boot.py"


def user_data(config: HostConfig, *, region: str, secret_arn: str) -> str:
    """Write the user data of a host, which fetches its keys from the secret."""
    order = {
        "region": region,
        "endpoint": f"secretsmanager.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}",
        "secret": secret_arn,
        "scratch": config.scratch,
        "metadata": [SLURM_USER] if config.role == "control" else [],
    }
    return cloud_init.user_data(config, program=first_program.program(_PART), order=order)


def packed(text: str) -> bytes:
    """Return user data as EC2 takes it: as it is, so that people can read it in a console, and compressed where it is too long, which cloud-init detects.

    Raises:
        ValueError: it is too long even when compressed; the check of a blueprint's mounts refuses that before (CW413).
    Source: cloud-init's documentation, "User data formats", gzip compressed content.
    """
    plain = text.encode()
    found = plain if len(plain) <= LIMIT_BYTES else gzip.compress(plain, mtime=0)
    if len(found) > LIMIT_BYTES:
        raise ValueError(f"the user data has {len(plain)} bytes, compressed {len(found)}, and EC2 takes {LIMIT_BYTES}")
    return found

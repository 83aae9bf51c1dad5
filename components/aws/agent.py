"""The agent of Systems Manager, for image builders whose base image lacks it: EC2 Image Builder gives its orders through the agent alone.

AWS publishes no checksum of the package. It signs it with a key that it replaces about every year (Systems Manager User Guide, "Verifying the signature of SSM Agent"), which is why the key comes from the user.
"""

import base64
import binascii
import os
from pathlib import Path

import pulumi

from blueprints import project

KEY = "stacks/amazon-ssm-agent.asc"
"""Where the key is expected, in the project."""
KEY_VARIABLE = "CLUSTERWRIGHT_SSM_AGENT_KEY"
"""Names another file."""
_BEGIN, _END = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"


def key() -> bytes:
    """Read the public key with which AWS signs the agent, without its armor: gpgv(1) reads no other form.

    Raises:
        pulumi.RunError: there is none, or it can't be read.
    """
    file = Path(os.environ.get(KEY_VARIABLE) or project.project_root() / KEY)
    try:
        return _without_armor(file.read_text())
    except (OSError, ValueError) as error:
        raise pulumi.RunError(
            "the image of Debian can't be built: the key is missing with which AWS signs the agent of Systems Manager\n"
            f"  why: {project.shown_path(file)}: {error.strerror if isinstance(error, OSError) else error}\n"
            f"  do:  write the public key of the Systems Manager User Guide (Verifying the signature of SSM Agent) into {KEY}\n"
            "       or choose a profile of Ubuntu, whose images have the agent"
        ) from error


def _without_armor(text: str) -> bytes:
    """Decode a key (RFC 9580, "Forming ASCII Armor"). Its checksum is not compared: a wrong key verifies nothing."""
    _, begins, rest = text.partition(_BEGIN)
    body, ends, _ = rest.partition(_END)
    if not begins or not ends:
        raise ValueError("it holds no public key in ASCII armor")
    _, _, data = body.replace("\r", "").partition("\n\n")
    try:
        found = base64.b64decode("".join(line.strip() for line in data.splitlines() if not line.startswith("=")), validate=True)
    except binascii.Error as error:
        raise ValueError(f"its public key can't be decoded ({error})") from error
    if not found:
        raise ValueError("its public key is empty")
    return found


def user_data(source: str, key: bytes) -> str:
    """Write what a builder runs when it first starts, Base64: it installs the agent if AWS signed it, and nothing otherwise.

    Args:
        source: where the package is; its signature is beside it.
    """
    program = [
        "#!/bin/sh",
        "set -eu",
        "folder=$(mktemp -d)",
        'cd "$folder"',
        "if ! command -v gpgv >/dev/null; then",
        "  apt-get -qq update",
        "  apt-get -qq --no-install-recommends install gpgv",
        "fi",
        f"echo {base64.b64encode(key).decode()} | base64 --decode >key.gpg",
        "fetch() {",
        '  python3 -c \'import sys, urllib.request as web; web.urlretrieve(*sys.argv[1:])\' "$1" "$2"',
        "}",
        f"fetch {source} agent.deb",
        f"fetch {source}.sig agent.deb.sig",
        "gpgv --keyring ./key.gpg agent.deb.sig agent.deb",
        "dpkg --install agent.deb",
        "systemctl enable --now amazon-ssm-agent",
        "cd /",
        'rm -r "$folder"',
    ]
    return base64.b64encode("".join(f"{line}\n" for line in program).encode()).decode()

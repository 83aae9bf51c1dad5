"""SSH host keys in OpenSSH's known_hosts format, as ssh-keyscan prints it.

Source: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT".
"""

from collections.abc import Mapping

from .. import ssh_places
from ..finding import Unfit
from ..language import addresses
from .source import Text

_PREFERRED = addresses.HOST_KEY_TYPES
"""Of several keys of one host, the first of these counts."""


def parse(text: Text) -> Mapping[str, str]:
    """Read the keys: name or address → key (`ssh-ed25519 AAAA…`).

    Raises:
        finding.Invalid: a line isn't of the format, hides its host, or is about certificates.
    """
    found: dict[str, str] = {}
    offset = 0
    for line in text.source.lines:
        if (written := line.strip()) and not written.startswith("#"):
            names, key = _entry(text, written, offset)
            for name in names.split(","):
                if name not in found or _rank(key) < _rank(found[name]):
                    found[name] = key
        offset += len(line) + 1
    return found


def line(name: str, address: str, key: str, *, port: int) -> str:
    """Write the line of a host."""
    places = [ssh_places.known_place(place, port) for place in dict.fromkeys((name, address))]
    return f"{','.join(places)} {key}"


def _entry(text: Text, written: str, offset: int) -> tuple[str, str]:
    if written.startswith("@"):
        why = "clusterwright expects one key of each host, and knows no certificates or revoked keys"
        raise text.refusal(f"the line begins with {written.split()[0]}", why, "remove the line", offset=offset)
    if written.startswith("|"):
        why = "the line hides the host's name by a hash, so that it can't be listed"
        raise text.refusal(
            "the host of this key is hidden", why, "write it again with `ssh-keyscan` without -H, or with `clusterwright lookup hosts`", offset=offset
        )
    names, _, key = written.partition(" ")
    try:
        return names, addresses.host_key(key.strip())
    except Unfit as fault:
        raise text.refusal(fault.what, fault.why, "write lines as ssh-keyscan prints them: name or address, type, key", offset=offset) from None


def _rank(key: str) -> int:
    return _PREFERRED.index(key.partition(" ")[0])

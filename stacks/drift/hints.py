"""Hints about a check that failed, from the message of the engine or the cloud. Pure."""

import re

from blueprints import catalog

READ = "give the credentials the right to read all that the stack made"
ADVICE = (
    (r"expired", "log in to the cloud again (the credentials' time is over), then check again"),
    (
        r"incorrect passphrase|passphrase must be set|get passphrase",
        "give the stack's own passphrase in PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE",
    ),
    (r"no stack named|stack .* not found", "`pulumi stack ls` names the stacks of this backend"),
    (
        r"get credentials: |no EC2 IMDS role found|no valid credential sources|unable to locate credentials|NoCredentials",
        "the check has no credentials: log in to the cloud, or name a profile",
    ),
    (r"AccessDenied|Unauthorized|not authorized|forbidden", READ),
)
"""Pattern in the message → what to do."""


def advice(message: str) -> str:
    """Give the advice for a failure; empty when there is none."""
    found = next((what for pattern, what in ADVICE if re.search(pattern, message, re.IGNORECASE)), "")
    return found + _rights() if found == READ else found


def _rights() -> str:
    """Name what is enough to read; the files of all targets are read only where somebody lacks it."""
    targets = map(catalog.target, catalog.target_names())
    return "".join(f"; on {target.title}, {target.read_access} are enough" for target in targets if target.read_access)


def with_advice(failure: str) -> str:
    """Add the advice to a failure, on a line of its own."""
    what = advice(failure)
    return f"{failure}\n{what}" if what else failure

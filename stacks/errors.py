"""The exceptions of stacks: those that stop a command, each as the page that a user reads, and those of drift checks."""

from components import errors
from components.files import disk_space

EXIT_FAILED = 1
EXIT_USAGE = 2
"""The command line asks for something impossible, or names something that can't be read."""


class Problem(errors.Refusal):
    """A command can't go on.

    Args:
        what: one sentence.
        why: what was seen.
        remedy: what to do.
        status: the exit status.
    """

    def __init__(self, what: str, *, why: str, remedy: str, status: int = EXIT_FAILED):
        super().__init__(what, why=why, remedy=remedy)
        self.status = status


def reason(error: OSError) -> str:
    """Say why the operating system refused something, without the file, which the page names."""
    return error.strerror or str(error)


class EngineFailed(Problem):
    """Pulumi's engine refused or failed; `why` is what it said, and which file systems of this machine are full, which it seldom says."""

    def __init__(self, what: str, *, why: str, remedy: str, status: int = EXIT_FAILED):
        super().__init__(what, why="\n".join(filter(None, [why, disk_space.full_here()])), remedy=remedy, status=status)


class DriftError(Exception):
    """A drift check can't go on as asked; the text says why."""


class BadIgnoreFile(DriftError):
    """The ignore file can't be used; the text says each problem with its place."""


class NotDelivered(DriftError):
    """A notification did not arrive; the text says why."""

"""The errors that stop a command, each as the one page that a user reads."""

from components import errors

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


class EngineFailed(Problem):
    """Pulumi's engine refused or failed; `why` is what it said."""

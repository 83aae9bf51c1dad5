"""What stops a command, as the one page that a user reads."""

from components import errors

EXIT_FAILED = 1
EXIT_USAGE = 2
"""What was asked for can't be meant, or what was named can't be read."""


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

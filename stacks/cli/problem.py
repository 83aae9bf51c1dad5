"""What stops a command, as the one page that a user reads."""


class Problem(Exception):
    """A command can't go on.

    Args:
        what: one sentence.
        why: what was seen.
        remedy: what to do.
    """

    def __init__(self, what: str, *, why: str, remedy: str):
        super().__init__(what)
        self.what, self.why, self.remedy = what, why, remedy

    def page(self) -> str:
        return f"error: {self.what}\n  why: {self.why}\n  do:  {self.remedy}"

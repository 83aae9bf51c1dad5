"""How a request of this cloud fails: with a code and a message, as the real services do."""

from collections.abc import Iterable


class Refused(Exception):
    """A request that the cloud does not carry out.

    Args:
        code: the service's own name for the failure (`InvalidParameterValue`).
        message: one sentence for people.
        status: the number of the answer over HTTP.
    """

    def __init__(self, code: str, message: str, *, status: int = 400):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status


class NotSimulated(Refused):
    """The real service knows this; the simulated one has no rule for it and says so instead of guessing."""

    def __init__(self, what: str):
        super().__init__("NotSimulated", f"the simulated cloud has no rule for {what}", status=501)


def refuse_all(problems: Iterable[tuple[str, str]], *, code: str) -> None:
    """Refuse when there are problems (path, reason), naming each."""
    found = [f"{path}: {reason}" if path else reason for path, reason in problems]
    if found:
        raise Refused(code, "; ".join(found))

"""What kinds are given to work with, in tests."""

import threading

from components.provider.kind import Work


class Notes:
    """What an operation said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.kept: list[str] = []

    def work(self, *, timeout_s: float = 240) -> Work:
        def show(text: str, is_kept: bool) -> None:
            (self.kept if is_kept else self.said).append(text)

        return Work(show=show, stopping=threading.Event(), timeout_s=timeout_s, stack="test")

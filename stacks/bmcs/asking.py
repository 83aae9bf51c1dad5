"""Ask a stack's BMCs, with the stack's password and without trying a refused one again."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from blueprints import spec
from components.bmc import boards, inquiry
from components.bmc.model import Access, Board, Cause, Facts, Unanswered

from .. import project
from . import password
from .refusals import Refusals

Given = TypeVar("Given")

SECOND_WITHIN_S = 30.0
"""A BMC that is busy takes seconds to open a session, and so does a machine that checks much else at the same time."""
GONE = (Cause.SILENT, Cause.UNREACHABLE)


class Bmcs:
    """The BMCs of a stack's hosts."""

    def __init__(self, stack: str, site: spec.Site | None, *, try_again: bool = False):
        self._site = site
        self.boards: Sequence[Board] = boards.boards(site)
        self._try_again = try_again
        self._access: Access | None = None
        self._refusals: Refusals | None = None
        if site and site.bmc and self.boards:
            self._access = boards.access(site.bmc, password.read(site.bmc, stack))
            self._refusals = Refusals(project.private_folder(stack), self._access)

    def facts(self, *, names: Collection[str] | None = None, with_log: bool = False) -> Mapping[str, Facts | Unanswered]:
        """Read what the BMCs say of their servers, all at once. Those that do not answer are asked a second time, with more patience: a busy BMC is not a lost one."""
        answers = self._facts(names, inquiry.FACTS_WITHIN_S, with_log=with_log)
        gone = [host for host, answer in answers.items() if isinstance(answer, Unanswered) and answer.cause in GONE]
        return {**answers, **(self._facts(gone, SECOND_WITHIN_S, with_log=with_log) if gone else {})}

    def _facts(self, names: Collection[str] | None, within_s: float, *, with_log: bool) -> Mapping[str, Facts | Unanswered]:
        return self.ask(lambda board, access: inquiry.facts(board, access, within_s=within_s, with_log=with_log), names=names, within_s=within_s)

    def ask(self, work: Callable[[Board, Access], Given], *, names: Collection[str] | None, within_s: float) -> Mapping[str, Given | Unanswered]:
        """Do something with BMCs, all at once.

        Args:
            names: of the hosts; None: all that have a BMC.
        """
        access, refusals = self._access, self._refusals
        if access is None or refusals is None:
            return {}
        chosen = [board for board in self.boards if names is None or board.host in names]

        def one(board: Board) -> Given:
            if not self._try_again:
                refusals.check(board.host)
            return work(board, access)

        answers = inquiry.all_at_once(chosen, one, within_s=within_s)
        refusals.note(answers)
        return answers

"""Ask many BMCs at once, each with a deadline, by Redfish or by IPMI.

A BMC that accepts a connection and drips its answer can hold a thread for as long as it likes; such a thread is left behind, and ends with the process.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from . import ipmi
from .model import Access, Action, Board, Cause, Facts, Power, Protocol, Unanswered

if TYPE_CHECKING:
    from . import redfish_service

FACTS_WITHIN_S = 10.0
ACT_WITHIN_S = 60.0
LOGOUT_SHARE = 0.2
"""Of the whole time: a slow BMC needs it to end a session, of which it has few."""
AT_ONCE = 256

Given = TypeVar("Given")


def facts(board: Board, access: Access, *, within_s: float = FACTS_WITHIN_S, with_log: bool = True) -> Facts:
    """Read what one BMC says of its server.

    Args:
        with_log: read the end of its log, too, which takes several requests more.
    Raises:
        Unanswered: it gave no answer that counts.
    """

    def by_redfish(left_s: float) -> Facts:
        with _session(board, access, left_s) as service:
            return service.facts(with_log=with_log)

    return _either(board, access, by_redfish, lambda left_s: ipmi.facts(board, access, within_s=left_s), within_s)


def power(board: Board, access: Access, *, within_s: float = FACTS_WITHIN_S) -> Power:
    """Read the power state of one server.

    Raises:
        Unanswered: its BMC gave no answer that counts.
    """

    def by_redfish(left_s: float) -> Power:
        with _session(board, access, left_s) as service:
            return service.power()

    return _either(board, access, by_redfish, lambda left_s: ipmi.power(board, access, within_s=left_s), within_s)


def act(board: Board, access: Access, action: Action, *, within_s: float = ACT_WITHIN_S) -> None:
    """Switch one server.

    Raises:
        Unanswered: its BMC gave no answer that counts, or refuses.
    """

    def by_redfish(left_s: float) -> None:
        with _session(board, access, left_s) as service:
            service.act(action)

    _either(board, access, by_redfish, lambda left_s: ipmi.act(board, access, action, within_s=left_s), within_s)


def all_at_once(boards: Sequence[Board], ask: Callable[[Board], Given], *, within_s: float) -> Mapping[str, Given | Unanswered]:
    """Ask BMCs at the same time, and give each host's answer in the order of the boards.

    Args:
        within_s: how long one may take; one that takes longer counts as silent.
    """
    answers: dict[str, Given | Unanswered] = {}
    for first in range(0, len(boards), AT_ONCE):
        some = boards[first : first + AT_ONCE]
        threads = [threading.Thread(target=_keep, args=(board, ask, answers), daemon=True) for board in some]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + within_s
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))
    late = dict(answers)  # a thread that is left behind may still answer
    return {one.host: late.get(one.host) or Unanswered(Cause.SILENT, f"{one.address} did not answer within {within_s:g} s") for one in boards}


def _keep(board: Board, ask: Callable[[Board], Given], answers: dict[str, Given | Unanswered]) -> None:
    try:
        answers[board.host] = ask(board)
    except Unanswered as error:
        answers[board.host] = error
    except Exception as error:  # whatever one BMC answers, the others count; the text of an error could hold anything
        answers[board.host] = Unanswered(Cause.UNUSABLE, f"{board.address} gave an answer of an unexpected form ({type(error).__name__})")


def _session(board: Board, access: Access, within_s: float) -> "contextlib.AbstractContextManager[redfish_service.Service]":
    """Log in by Redfish, which needs a package that only an extra brings.

    Raises:
        Unanswered: it is not installed.
    """
    try:
        from . import redfish_service
    except ImportError as error:
        why = f"there is no Python package {error.name}, which asks by Redfish: `make setup EXTRAS=metal` installs it"
        raise Unanswered(Cause.REFUSED, why) from error
    return redfish_service.session(board, access, within_s=within_s)


def _either(board: Board, access: Access, by_redfish: Callable[[float], Given], by_ipmi: Callable[[float], Given], within_s: float) -> Given:
    """Ask by Redfish, and by IPMI only where nothing serves Redfish: a second try with a refused password could lock the user out.

    A port that the inventory names is that of Redfish, so that IPMI has none.
    """
    if access.protocol is Protocol.IPMI:
        return by_ipmi(within_s)
    begun = time.monotonic()
    try:
        return by_redfish(within_s * (1 - LOGOUT_SHARE))
    except Unanswered as error:
        if access.protocol is Protocol.REDFISH or error.cause is not Cause.ABSENT or board.port:
            raise
    return by_ipmi(within_s - (time.monotonic() - begun))

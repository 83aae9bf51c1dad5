"""Requests of the project's own kinds: what passes is tried again, a change happens once, and what does not pass is said at once."""

import json
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest

from components.gcp import rest

Answer = tuple[int, dict[str, Any]]
DONE: Answer = (200, {"name": "operation-1", "status": "DONE"})


def refusal(status: int, reason: str) -> Answer:
    return status, {"error": {"message": reason, "errors": [{"reason": reason}]}}


class Script:
    """Answers in turn; None: the connection is lost. The last one stays."""

    def __init__(self, *answers: Answer | None):
        self._answers, self.sent, self.paused_s = list(answers), list[str](), list[float]()

    def __call__(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        self.sent.append(path)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is None:
            raise rest.Silent("Google Cloud does not answer: reset")
        return answer[0], json.dumps(answer[1]).encode()

    def compute(self) -> rest.Compute:
        return rest.Compute("proj", send=self, pause=self.paused_s.append)


def delete(compute: rest.Compute) -> str:
    return compute.start("DELETE", "zones/z/instances/one")


@pytest.mark.parametrize("passing", [refusal(403, "rateLimitExceeded"), refusal(503, "backendError"), None], ids=["rate", "unavailable", "lost"])
def test_a_change_is_sent_again_with_the_id_of_its_first_request(passing: Answer | None) -> None:
    script = Script(passing, passing, DONE)
    assert delete(script.compute()) == "zones/z/operations/operation-1"
    (one,) = {urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)["requestId"][0] for path in script.sent}
    assert (len(script.sent), len(one)) == (3, 36)
    delete(script.compute())
    assert script.sent[-1] != script.sent[0], "another change has another id"


def test_a_rate_quota_is_waited_for_until_it_is_refilled() -> None:
    script = Script(refusal(403, "rateLimitExceeded"))
    with pytest.raises(rest.Failed, match="rateLimitExceeded"):
        delete(script.compute())
    assert sum(script.paused_s) > 60


@pytest.mark.parametrize("asked", [lambda one: one.get("zones"), delete], ids=["look", "change"])
def test_a_connection_that_stays_lost_is_said_within_half_a_minute(asked: Callable[[rest.Compute], object]) -> None:
    script = Script(None)
    with pytest.raises(rest.Silent):
        asked(script.compute())
    assert 0 < sum(script.paused_s) <= 30


@pytest.mark.parametrize("final", [refusal(403, "forbidden"), refusal(400, "invalid"), refusal(409, "alreadyExists")], ids=["403", "400", "409"])
def test_what_does_not_pass_is_not_asked_for_again(final: Answer) -> None:
    script = Script(final)
    with pytest.raises(rest.Failed):
        delete(script.compute())
    assert script.paused_s == []

"""The project's provider for recording only: it takes every host for configured and every cluster for accepted, since instances of the simulated cloud only pretend."""

from typing import Any
from unittest import mock

from components.finish.acceptance import Acceptance, AcceptanceInputs
from components.finish.group import Group, GroupInputs
from components.provider import __main__ as provider
from components.provider.kind import Kind, Values, Work
from components.provider.kinds import kinds

NO_SECONDS = 0.0


class Configured(Group):
    def update(self, inputs: GroupInputs, outputs: Values, work: Work) -> Values:
        return self.expected(inputs)


class Accepted(Acceptance):
    def create(self, inputs: AcceptanceInputs, work: Work) -> Values:
        return {"ok": True, "checks": [], "seconds": NO_SECONDS}


def recording() -> tuple[Kind[Any], ...]:
    instead: dict[str, Kind[Any]] = {one.token: one for one in (Configured(), Accepted())}
    return tuple(instead.get(kind.token, kind) for kind in kinds())


if __name__ == "__main__":
    with mock.patch.object(provider, "kinds", recording):
        provider.main()

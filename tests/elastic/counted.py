"""The fleet's adapter of a world whose cloud is a simulated one."""

from collections.abc import Sequence

from components.elastic.act import Fleet
from components.elastic.decide.answers import Answer
from components.elastic.memory import Launch
from components.elastic.model import Cloud, Fault
from tests.elastic.world import World


class Counted:
    """The fleet's adapter; each call of it is one at which the program may be killed, before it or after."""

    def __init__(self, world: World, fleet: Fleet):
        self._world, self._fleet = world, fleet

    def view(self, *, is_brief: bool = False) -> Cloud:
        self._world.step()
        return self._fleet.view(is_brief=is_brief)

    def launch(self, launch: Launch) -> Answer:
        self._world.step()
        answer = self._fleet.launch(launch)
        self._world.step()
        return answer

    def terminate(self, instances: Sequence[str]) -> None:
        self._world.step()
        self._fleet.terminate(instances)
        self._world.step()

    def withdraw(self, requests: Sequence[str]) -> None:
        self._world.step()
        self._fleet.withdraw(requests)
        self._world.step()

    def report(self, instance: str, fault: Fault, why: str, *, waits: bool = True) -> None:
        self._fleet.report(instance, fault, why, waits=waits)

    def console(self, instance: str) -> str:
        return self._fleet.console(instance)

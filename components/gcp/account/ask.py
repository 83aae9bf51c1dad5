"""Query the project for a cluster, one question at a time, so that a refused question does not affect the others."""

import datetime as dt
import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from blueprints import catalog
from blueprints.live import account

from .. import rest
from . import read
from .session import Session

_COMPUTE = "compute.googleapis.com"
Given = TypeVar("Given")


def answers(asked: account.Questions, *, session: Session | None = None) -> account.Answers:
    """Ask all questions.

    Raises:
        AccountUnavailable: the project can't be queried.
    """
    session = session or Session(asked.region)
    asker = _Asker()
    none: Mapping[str, Any] = {}
    # First, so that one answer names every API that is missing; without Compute Engine's nothing else has an answer.
    apis = asker.answer("APIs", none, lambda: _each(asked.apis, lambda one: read.is_enabled(session, one)))
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    if not apis.get(_COMPUTE, True):
        return account.Answers(account=session.project, who="", asked=now, region_state="unasked", apis=apis)
    who = session.identity()
    region = asker.answer("region", none, lambda: session.find(f"regions/{asked.region}") or {"status": "unknown"})
    state = "unknown" if region.get("status") == "unknown" else "enabled"
    known = account.Answers(account=who.account, who=who.who, asked=now, region_state=state, apis=apis, unanswered=asker.unanswered)
    if state != "enabled":
        return known
    no_zones: tuple[account.Zone, ...] = ()
    zones = asker.answer("zones", no_zones, lambda: read.zones(session))
    described = asker.answer("offers", none, lambda: read.described(session, asked.machines, [one.name for one in zones if one.is_usable]))
    if not asker.knows("zones"):
        asker.unanswered.setdefault("offers", asker.unanswered["zones"])
    return account.Answers(
        account=known.account,
        who=known.who,
        asked=known.asked,
        region_state=state,
        zones=zones,
        offered=read.offered(described),
        machines=read.machines(described),
        quotas=read.quotas(region, asked.quotas),
        rooms=asker.answer("rooms", (), lambda: read.networks(session, cluster=asked.cluster, stack=asked.stack)),
        network=asker.answer(
            "network", None, lambda: read.network(session, asked.network, cluster=asked.cluster, stack=asked.stack) if asked.network else None
        ),
        subnets=asker.answer("subnets", none, lambda: _each(asked.subnets, lambda one: read.subnet(session, one))),
        neighbours=asker.answer("machines in the hosts' subnet", (), lambda: _neighbours(session, asked)),
        reservations=asker.answer("reservations", none, lambda: _each(asked.reservations, lambda one: read.reservation(session, one))),
        images=asker.answer("images", none, lambda: _each(asked.images, lambda one: read.image(session, one))),
        buckets=asker.answer("buckets", none, lambda: _each(asked.buckets, lambda one: read.has_bucket(session, one))),
        bases=asker.answer("base images", {}, lambda: {one: _base(session, *one) for one in asked.systems}),
        apis=apis,
        fabric_zones=asker.answer("fabric networks", frozenset[str](), lambda: read.zones_with(session, asked.profile) if asked.profile else frozenset[str]()),
        storage_zones=asker.answer("storage zones", none, lambda: _each(_served(asked, apis), lambda one: read.storage_zones(session, one))),
        keys=asker.answer("keys", none, lambda: _each(asked.keys, lambda one: read.key(session, one))),
        permissions=asker.answer("permissions", none, lambda: _each(asked.permissions, session.may)),
        unanswered=asker.unanswered,
    )


class _Asker:
    """Asks questions and keeps the refusals."""

    def __init__(self) -> None:
        self.unanswered: dict[str, str] = {}

    def answer(self, question: str, otherwise: Given, ask: Callable[[], Given]) -> Given:
        try:
            return ask()
        except rest.Failed as error:
            self.unanswered[question] = f"Google Cloud refused it ({error.code or error.status}): {error}"
            return otherwise

    def knows(self, question: str) -> bool:
        return question not in self.unanswered


def _each(names: Iterable[str], ask: Callable[[str], Given]) -> dict[str, Given]:
    return {name: ask(name) for name in names}


def _neighbours(session: Session, asked: account.Questions) -> tuple[str, ...]:
    return read.neighbours(session, asked.subnets[0], cluster=asked.cluster, stack=asked.stack) if asked.subnets else ()


def _served(asked: account.Questions, apis: Mapping[str, bool]) -> list[str]:
    """List the classes of storage whose API is on: a missing one is a finding of its own."""
    return [one for one in asked.zonal_storage if apis.get(f"{catalog.storage_class('gcp', one).api['service']}.googleapis.com", True)]


def _base(session: Session, system: str, arch: str) -> account.Image | None:
    known = _bases().get(system)
    return None if known is None else read.image(session, known["image"].format(arch=known["arch"][arch]))


@functools.cache
def _bases() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent.parent / "base_images.yaml").read_text())
    return found

"""Query the account for a cluster, one question at a time, so that a refused question does not affect the others."""

import datetime as dt
import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from blueprints.live import account

from ..names import CLUSTER_TAG, STACK_TAG
from . import read
from .session import Session, code, home_region

_QUOTA_SERVICE = "ec2"
"""All quotas of the catalogue are EC2's."""
_ROOMS = (("networks", "vpc", "L-F678F1CE"), ("public addresses", "ec2", "L-0263D0A3"))
"""Limits for each kind in a region ("Amazon VPC quotas"; "Amazon EC2 endpoints and quotas")."""
Given = TypeVar("Given")


def answers(asked: account.Questions, *, session: Session | None = None) -> account.Answers:
    """Ask all questions.

    Raises:
        AccountUnavailable: the account can't be queried.
    """
    session = session or Session(asked.region)
    who = session.identity()
    asker = _Asker(session)
    state = asker.answer("region", "enabled", lambda: _region(session, asked.region))
    known = account.Answers(account=who.account, who=who.who, asked=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), region_state=state)
    if state != "enabled":
        return known
    none: Mapping[str, Any] = {}
    return account.Answers(
        account=known.account,
        who=known.who,
        asked=known.asked,
        region_state=state,
        zones=asker.answer("zones", (), lambda: read.zones(session)),
        offered=asker.answer("offers", none, lambda: read.offered(session, asked.machines)),
        machines=asker.answer("machines", none, lambda: read.machines(session, asked.machines)),
        quotas=asker.answer("quotas", none, lambda: {one: read.quota(session, _QUOTA_SERVICE, one) for one in asked.quotas}),
        rooms=asker.answer("rooms", (), lambda: _rooms(session, asked)),
        network=asker.answer("network", None, lambda: read.network(session, asked.network) if asked.network else None),
        subnets=asker.answer("subnets", none, lambda: _each(asked.subnets, lambda one: read.subnet(session, one))),
        reservations=asker.answer("reservations", none, lambda: _each(asked.reservations, lambda one: read.reservation(session, one))),
        keys=asker.answer("keys", none, lambda: _each(asked.keys, lambda one: read.key(session, one))),
        file_systems=asker.answer("file systems", none, lambda: _each(asked.file_systems, lambda one: read.file_system(session, one))),
        images=asker.answer("images", none, lambda: _each(asked.images, lambda one: read.image(session, one))),
        buckets=asker.answer("buckets", none, lambda: {one: read.has_bucket(session, one) for one in asked.buckets}),
        bases=asker.answer("base images", {}, lambda: {one: _base(session, *one) for one in asked.systems}),
        unanswered=asker.unanswered,
    )


class _Asker:
    """Asks questions and keeps the refusals."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.unanswered: dict[str, str] = {}

    def answer(self, question: str, otherwise: Given, ask: Callable[[], Given]) -> Given:
        import botocore.exceptions

        try:
            return ask()
        except botocore.exceptions.ClientError as error:
            self.unanswered[question] = f"{error.operation_name} was refused ({code(error)}): {error.response.get('Error', {}).get('Message', '')}"
            return otherwise


def _each(names: Iterable[str], ask: Callable[[str], Given]) -> dict[str, Given]:
    return {name: ask(name) for name in names}


def _region(session: Session, region: str) -> str:
    found = session.call("ec2", "describe_regions", region=home_region(region), AllRegions=True)["Regions"]
    state = next((one["OptInStatus"] for one in found if one["RegionName"] == region), None)
    return "unknown" if state is None else "disabled" if state == "not-opted-in" else "enabled"


def _rooms(session: Session, asked: account.Questions) -> tuple[account.Room, ...]:
    """Count what others use: what the stack has already created needs no further quota. Two clusters may have stacks of one name."""
    if asked.network is not None:
        return ()
    there = {
        "networks": session.pages("ec2", "describe_vpcs", "Vpcs"),
        "public addresses": iter(session.call("ec2", "describe_addresses")["Addresses"]),
    }
    own = {CLUSTER_TAG: asked.cluster, STACK_TAG: asked.stack}.items()
    return tuple(
        account.Room(what, number, read.quota(session, service, number), sum(1 for one in there[what] if not own <= read.tags(one).items()))
        for what, service, number in _ROOMS
    )


def _base(session: Session, system: str, arch: str) -> account.Image | None:
    known = _bases().get(system)
    if known is None:
        return None
    found = read.parameter(session, known["parameter"].format(arch=known["arch"][arch]))
    return read.image(session, found) if found else None


@functools.cache
def _bases() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent.parent / "base_images.yaml").read_text())
    return found

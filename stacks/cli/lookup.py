"""`clusterwright lookup`: what an account has that a blueprint may name, each with the lines to write. Nothing is changed; it needs credentials."""

import argparse
import dataclasses
import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blueprints import catalog

from ..engine import account
from ..problem import EXIT_USAGE, Problem
from ..render import tables
from ..render.tables import Column, Facts, Section, Table

FORMAT = 1
"""Of the JSON document (docs/json.md)."""
_TARGET = "aws"
"""The one whose account this version can ask."""
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_LINES = "write"
"""The column of what a blueprint says."""


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """What was found of a kind."""

    title: str
    entries: list[dict[str, Any]]
    """Each with `write`, the lines for a blueprint; blocks with `buy`."""
    hint: str = ""
    """What to do where there is nothing, or what the lines need beside them."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=[*_KINDS], help="what to list")
    default = catalog.target(_TARGET).default_region
    parser.add_argument("--region", help=f"where (default: {' or '.join(_REGION_VARIABLES)}, else {default})")
    parser.add_argument("--machine", help="for zones and blocks: of this machine only (p5.48xlarge)")
    parser.add_argument("--nodes", type=_positive, default=1, help="for blocks: how many machines (default: %(default)s)")
    parser.add_argument("--days", type=_positive, default=1, help="for blocks: for how many days (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    if given.machine is not None and given.machine not in catalog.machines(_TARGET):
        remedy = f"`clusterwright catalog machines --target {_TARGET}` lists those that are known"
        raise Problem(f"no machine {given.machine} is known on {_TARGET}", why="it is not in the catalogue", remedy=remedy, status=EXIT_USAGE)
    if given.machine is None and given.kind == "blocks":
        why = "blocks are offered by machine, number and time"
        raise Problem("which machine the blocks are for is not said", why=why, remedy="add `--machine p5.48xlarge`", status=EXIT_USAGE)
    region = given.region or next((os.environ[name] for name in _REGION_VARIABLES if os.environ.get(name)), catalog.target(_TARGET).default_region)
    listed: Listed = account.ask(_TARGET, region, lambda session: _listed(session, given))
    if given.json:
        print(json.dumps({"format": FORMAT, "target": _TARGET, "region": region, "kind": given.kind, "entries": listed.entries}, indent=2))
    else:
        tables.show([_section(listed, region)])
    return 0


def _positive(word: str) -> int:
    number = int(word) if word.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is no number of 1 or more")
    return number


def _listed(session: Any, given: argparse.Namespace) -> Listed:
    session.identity()  # whoever has no credentials hears so before anything else
    import botocore.exceptions

    try:
        return _KINDS[given.kind](session, given)
    except botocore.exceptions.ClientError as error:
        why = f"{error.operation_name}: {error.response.get('Error', {}).get('Message', error)}"
        remedy = "see to the rights of whoever asks (the policy `ReadOnlyAccess` is enough), to the region and to what was asked for"
        raise Problem(f"the account did not say which {given.kind} there are", why=why, remedy=remedy) from error


def _zones(session: Any, given: argparse.Namespace) -> Listed:
    machines = [given.machine] if given.machine else [name for name, one in catalog.machines(_TARGET).items() if one.gpus]
    found = _offers().zones(session, machines)
    entries = [
        {**_record(zone), "machines": [*offered], _LINES: f"network: {{region: {session.region}, zones: [{zone.name}]}}" if zone.is_usable else ""}
        for zone, offered in found
        if offered or not given.machine
    ]
    return Listed("Zones, and which machines with GPUs this account is offered there", entries, "the hosts stand in the first zone of the list")


def _reservations(session: Any, _: argparse.Namespace) -> Listed:
    found = _offers().reservations(session)
    entries = [{**_record(one), _LINES: f"capacity: {{kind: {one.kind}, id: {one.id}}}   # with network: {{zones: [{one.zone}]}}"} for one in found]
    return Listed("Reservations and capacity blocks", entries, "the line belongs to a pool, and the zone to `targets.aws.network`")


def _blocks(session: Any, given: argparse.Namespace) -> Listed:
    found = _offers().blocks(session, given.machine, nodes=given.nodes, days=given.days)
    order = "aws ec2 purchase-capacity-block --instance-platform Linux/UNIX --capacity-block-offering-id {}"
    entries = [{**dataclasses.asdict(one), "buy": order.format(one.id)} for one in found]
    hint = "buying is yours: it is paid at once and can't be undone; then `clusterwright lookup reservations` says what to write"
    return Listed(f"Capacity blocks on offer: {given.nodes} × {given.machine} for {given.days} days", entries, hint)


def _subnets(session: Any, _: argparse.Namespace) -> Listed:
    found = _offers().subnets(session)
    entries = [{**_record(one), _LINES: f"network: {{existing: {one.network}, subnets: [{one.id}]}}" if one.way_out == "nat" else ""} for one in found]
    return Listed("Subnets", entries, "hosts need a subnet whose way out is `nat`; free addresses decide how many there can be")


def _images(session: Any, _: argparse.Namespace) -> Listed:
    entries = [{**_record(one), _LINES: f"image: {one.id}" if one.is_available else ""} for one in _offers().images(session)]
    return Listed("Images of this account", entries, "without `image` a pool has that of the software profile, which `up` builds")


def _storage(session: Any, _: argparse.Namespace) -> Listed:
    entries = [
        {**_record(one), "what": what, _LINES: f'{{kind: existing, source: "{source}"}}' if one.is_available else ""}
        for one, what, source in _offers().file_systems(session)
    ]
    return Listed("File systems", entries, "the line is an entry of `targets.aws.storage`, where its `mount` stands already")


_KINDS: Mapping[str, Callable[[Any, argparse.Namespace], Listed]] = {
    "zones": _zones,
    "reservations": _reservations,
    "blocks": _blocks,
    "subnets": _subnets,
    "images": _images,
    "storage": _storage,
}


def _offers() -> Any:
    return importlib.import_module("components.aws.account.offers")


def _record(one: Any) -> dict[str, Any]:
    return {name: [*value] if isinstance(value, tuple) else value for name, value in dataclasses.asdict(one).items()}


def _section(listed: Listed, region: str) -> Section:
    title = f"{listed.title}, {region}"
    if not listed.entries:
        return Section(title, (Facts((("", "there are none"), ("", listed.hint))),))
    names = [*listed.entries[0]]
    rows = tuple(tuple(_text(entry[name]) for name in names) for entry in listed.entries)
    columns = tuple(Column(name.replace("_", " "), right=_is_number(listed.entries, name)) for name in names)
    return Section(title, (Table(columns, rows), Facts((("", listed.hint),))))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _is_number(entries: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(isinstance(entry[name], int) and not isinstance(entry[name], bool) for entry in entries)

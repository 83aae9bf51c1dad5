"""Objects of an AWS account that a blueprint may name, each with the lines to write."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from blueprints import catalog

from ... import errors
from ...cloud import account
from . import offers

REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
NEED_MACHINE = ("blocks",)
"""Kinds that AWS lists by machine only."""
EXAMPLE_MACHINE = "p5.48xlarge"


def listing(session: Any, kind: str, wanted: account.Wanted) -> account.Listing:
    """List an account's objects of one kind.

    Raises:
        AccountUnavailable: the account can't be queried.
        Refusal: the account refused this question.
    """
    session.identity()  # missing credentials are reported before anything else
    import botocore.exceptions

    try:
        return KINDS[kind](session, wanted)
    except botocore.exceptions.ClientError as error:
        why = f"{error.operation_name}: {error.response.get('Error', {}).get('Message', error)}"
        remedy = "check the caller's permissions (the policy `ReadOnlyAccess` is enough), the region and the options of the command"
        raise errors.Refusal(f"AWS did not list the {kind} of the account", why=why, remedy=remedy) from error


def _zones(session: Any, given: account.Wanted) -> account.Listing:
    machines = [given.machine] if given.machine else [name for name, one in catalog.machines("aws").items() if one.gpus]
    found = offers.zones(session, machines)
    entries = [
        {**_record(zone), "machines": [*offered], account.WRITE: f"network: {{region: {session.region}, zones: [{zone.name}]}}" if zone.is_usable else ""}
        for zone, offered in found
        if offered or not given.machine
    ]
    return account.Listing("Zones, and the GPU machines that AWS offers this account there", entries, "the hosts run in the first zone of the list")


def _reservations(session: Any, _: account.Wanted) -> account.Listing:
    found = offers.reservations(session)
    entries = [{**_record(one), account.WRITE: f"capacity: {{kind: {one.kind}, id: {one.id}}}   # with network: {{zones: [{one.zone}]}}"} for one in found]
    return account.Listing("Reservations and capacity blocks", entries, "write the line under the pool, and the zone under `targets.aws.network`")


def _blocks(session: Any, given: account.Wanted) -> account.Listing:
    found = offers.blocks(session, given.machine or EXAMPLE_MACHINE, nodes=given.nodes, days=given.days)
    order = "aws ec2 purchase-capacity-block --instance-platform Linux/UNIX --capacity-block-offering-id {}"
    entries = [{**dataclasses.asdict(one), "buy": order.format(one.id)} for one in found]
    hint = "run the command yourself: AWS charges the fee at once, and a purchase can't be undone. Then `clusterwright lookup reservations` shows what to write"
    return account.Listing(f"Capacity blocks on offer: {given.nodes} × {given.machine} for {given.days} days", entries, hint)


def _subnets(session: Any, _: account.Wanted) -> account.Listing:
    found = offers.subnets(session)
    entries = [{**_record(one), account.WRITE: f"network: {{existing: {one.network}, subnets: [{one.id}]}}" if one.way_out == "nat" else ""} for one in found]
    return account.Listing("Subnets", entries, "hosts need a subnet whose way out is `nat`; its free addresses limit the number of hosts")


def _images(session: Any, _: account.Wanted) -> account.Listing:
    entries = [{**_record(one), account.WRITE: f"image: {one.id}" if one.is_available else ""} for one in offers.images(session)]
    return account.Listing("Images of this account", entries, "without `image`, a pool uses the image of the software profile, which `up` builds")


def _storage(session: Any, _: account.Wanted) -> account.Listing:
    entries = [
        {**_record(one), "what": what, account.WRITE: f'{{kind: existing, source: "{source}"}}' if one.is_available else ""}
        for one, what, source in offers.file_systems(session)
    ]
    return account.Listing("File systems", entries, "write the line as an entry of `targets.aws.storage`, beside its `mount`")


def _record(one: Any) -> dict[str, Any]:
    return {name: [*value] if isinstance(value, tuple) else value for name, value in dataclasses.asdict(one).items()}


KINDS: Mapping[str, Callable[[Any, account.Wanted], account.Listing]] = {
    "zones": _zones,
    "reservations": _reservations,
    "blocks": _blocks,
    "subnets": _subnets,
    "images": _images,
    "storage": _storage,
}

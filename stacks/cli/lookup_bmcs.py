"""`clusterwright lookup bmcs FILE`: the certificates that the BMCs of a blueprint's hosts show, to be compared before the blueprint trusts them.

BMCs that the blueprint trusts also say what their servers are, where the password is at hand.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import catalog, load
from blueprints.spec import Site
from components import this_machine
from components.bmc import boards, certificates, inquiry
from components.bmc.model import Facts, Protocol, Unanswered

from ..bmcs import asking
from ..errors import EXIT_FAILED, EXIT_USAGE, Problem
from ..render import bmcs as rendered
from ..render import tables
from ..render.tables import Cell, Column, Section, Table

FORMAT = 1
"""Of the JSON document (docs/json.md)."""
TARGET = next(name for name in catalog.target_names() if catalog.target(name).hosts == "site")
"""The target whose hosts exist already."""
SAME, NEW, OTHER = "as in the inventory", "new: compare it", "DIFFERS from the inventory"
COLUMNS = (Column("host"), Column("BMC"), Column("certificate (SHA-256)"), Column(""))


def run(given: argparse.Namespace) -> int:
    """Read and show the fingerprints, and what BMCs with a pinned one say. No other BMC gets any password."""
    if not given.blueprint:
        raise Problem(
            "`lookup bmcs` needs a blueprint", why="its inventory says where BMCs are", remedy="clusterwright lookup bmcs lab.yaml", status=EXIT_USAGE
        )
    loaded = load.examine(given.blueprint, target=TARGET, stack=TARGET, facts=this_machine.facts())
    site = loaded.spec.site
    asked = boards.boards(site)
    if site is None or not asked or (site.bmc and site.bmc.protocol == Protocol.IPMI):
        why = "it has no `inventory.bmc` with a `user`, none of its hosts has a `bmc`, or they are asked by IPMI, which has no certificates"
        raise Problem(f"{given.blueprint} names no BMCs with certificates", why=why, remedy=f"clusterwright check {given.blueprint}", status=EXIT_USAGE)
    answers = inquiry.all_at_once(asked, lambda board: certificates.fingerprint(board, within_s=inquiry.FACTS_WITHIN_S), within_s=inquiry.FACTS_WITHIN_S)
    trusted = [name for name, answer in answers.items() if isinstance(answer, str) and (_state(name, answer, site) == SAME or _is_signed(name, site))]
    servers = _servers(given.stack, site, trusted) if trusted else {}
    if given.json:
        of_server = {name: {"server": rendered.as_record(one)} for name, one in servers.items()}
        print(
            json.dumps({"format": FORMAT, "bmcs": [{**_record(name, answer, site), **of_server.get(name, {})} for name, answer in answers.items()]}, indent=2)
        )
    else:
        tables.show([Section("certificates of BMCs", (Table(COLUMNS, tuple(_row(name, answer, site) for name, answer in answers.items())),))])
        if servers:
            tables.show([rendered.section(servers)])
        new = {name: answer for name, answer in answers.items() if isinstance(answer, str) and _state(name, answer, site) == NEW}
        if new:
            print("\nCompare each fingerprint with the one that the BMC's own page shows, then write them into `inventory.hosts`:")
            print("\n".join(f'  {name}: {{…, bmc_certificate: "{answer}"}}' for name, answer in new.items()))
    return 0 if all(isinstance(one, str) and _state(name, one, site) != OTHER for name, one in answers.items()) else EXIT_FAILED


def _is_signed(name: str, site: Site) -> bool:
    """Whether an authority of the inventory vouches for a BMC, so that its certificate needs no pin."""
    return bool(site.bmc and site.bmc.authority and not site.by_name[name].bmc_certificate)


def _servers(stack: str, site: Site, names: Sequence[str]) -> Mapping[str, Facts | Unanswered]:
    """Read what trusted BMCs say of their servers; nothing where there is no password yet."""
    try:
        return asking.Bmcs(stack, site).facts(names=names)
    except Problem as error:
        print(f"power, serial numbers and firmware were not read: {error}", file=sys.stderr)
        return {}


def _state(name: str, shown: str, site: Site) -> str:
    known = site.by_name[name].bmc_certificate
    return NEW if not known else SAME if known == shown.replace(":", "").lower() else OTHER


def _row(name: str, answer: str | Unanswered, site: Site) -> tuple[str | Cell, ...]:
    address = site.by_name[name].bmc
    if isinstance(answer, Unanswered):
        return (name, address, str(answer), Cell("no answer", "bad"))
    state = _state(name, answer, site)
    return (name, address, answer, Cell(state, {SAME: "good", NEW: "care"}.get(state, "bad")))


def _record(name: str, answer: str | Unanswered, site: Site) -> Mapping[str, Any]:
    if isinstance(answer, Unanswered):
        return {"host": name, "bmc": site.by_name[name].bmc, "unanswered": str(answer.cause), "why": str(answer)}
    return {"host": name, "bmc": site.by_name[name].bmc, "certificate": answer, "state": _state(name, answer, site)}

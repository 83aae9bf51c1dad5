"""`clusterwright lookup hosts FILE`: the SSH host keys of a blueprint's hosts, to be confirmed before the blueprint trusts them."""

import argparse
import dataclasses
import enum
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from blueprints import catalog, library, load
from blueprints.inventory import known_hosts
from blueprints.spec import Site, SiteHost
from components import this_machine
from components.ssh import host_keys

from ..errors import EXIT_FAILED, EXIT_USAGE, Problem
from ..render import tables
from ..render.tables import Cell, Column, Facts, Section, Table
from . import agreement

FORMAT = 1
"""Of the JSON document (docs/json.md)."""
DEFAULT_FILE = "known_hosts"
TARGET = next(name for name in catalog.target_names() if catalog.target(name).hosts == "site")
"""The target whose hosts exist already."""


class State(enum.StrEnum):
    NEW = "new: confirm it"
    SAME = "as in the inventory"
    OTHER = "DIFFERS from the inventory"
    SILENT = "no answer"


@dataclasses.dataclass(frozen=True, slots=True)
class Read:
    """A host and the key that it presents."""

    host: SiteHost
    key: str
    """Empty: it doesn't answer."""
    state: State

    @property
    def fingerprint(self) -> str:
        return host_keys.fingerprint(self.key) if self.key else ""


def run(given: argparse.Namespace) -> int:
    """Read and show the keys; write those that the user confirms."""
    if not given.blueprint:
        raise Problem(
            "`lookup hosts` needs a blueprint", why="its inventory says which hosts there are", remedy="clusterwright lookup hosts lab.yaml", status=EXIT_USAGE
        )
    file = library.find(given.blueprint)
    loaded = load.examine(given.blueprint, target=TARGET, stack=TARGET, facts=this_machine.facts())
    site = loaded.spec.site
    if site is None:
        why = "it has no `inventory`, or names none of its hosts in `control.hosts`, `access.hosts` or a pool"
        raise Problem(f"{given.blueprint} names no hosts", why=why, remedy=f"clusterwright check {given.blueprint} --target {TARGET}", status=EXIT_USAGE)
    read = _read(site)
    if given.json:
        print(json.dumps({"format": FORMAT, "hosts": [_record(one) for one in read]}, indent=2))
    else:
        tables.show([_section(read)])
        print("\n".join(_advice(read, site, given.blueprint)))
    if given.write and file.parent.resolve() == library.folder().resolve():
        why = "the library's hosts are examples"
        raise Problem(
            "keys are not written into the library",
            why=why,
            remedy=f"cp {os.path.relpath(file)} lab.yaml\nclusterwright lookup hosts lab.yaml --write",
            status=EXIT_USAGE,
        )
    if given.write:
        return _write(given, file, read, site, loaded.blueprint.inventory.host_keys)
    return 0 if all(one.state in (State.NEW, State.SAME) for one in read) else EXIT_FAILED


def _read(site: Site) -> list[Read]:
    found = host_keys.scan([host.address for host in site.hosts], port=site.port)
    read = []
    for host in site.hosts:
        key = found.get(host.address, "")
        state = State.SILENT if not key else State.NEW if not host.host_key else State.SAME if host.host_key == key else State.OTHER
        read.append(Read(host, key, state))
    return read


def _section(read: Sequence[Read]) -> Section:
    columns = (Column("host"), Column("address"), Column("key"), Column("fingerprint"), Column("state"))
    styles = {State.OTHER: "bad", State.SILENT: "care", State.SAME: "good"}
    rows = tuple((one.host.name, one.host.address, one.key.partition(" ")[0], one.fingerprint, Cell(one.state, styles.get(one.state, ""))) for one in read)
    return Section("SSH host keys, as the network shows them", (Table(columns, rows), Facts(())))


def _advice(read: Sequence[Read], site: Site, blueprint: str) -> Iterator[str]:
    new = [one for one in read if one.state is State.NEW]
    if new:
        for kind in dict.fromkeys(host_keys.kind(one.key) for one in new):
            yield f"Compare each new fingerprint with what the host itself prints on its console: ssh-keygen -lf /etc/ssh/ssh_host_{kind}_key.pub"
        yield f"Then write them: clusterwright lookup hosts {blueprint} --write"
        yield f"or put these lines into a file beside the blueprint, and name it there (`inventory: {{host_keys: {DEFAULT_FILE}}}`):"
        yield from (f"  {line}" for line in _lines(new, site.port))
    for one in read:
        if one.state is State.OTHER:
            yield f"{one.host.name} presents another key than the inventory has ({host_keys.fingerprint(one.host.host_key)}): was it installed again, or does another host answer?"
            yield f"  If its console shows {one.fingerprint}, remove its old key from the inventory and run this command again."


def _lines(read: Sequence[Read], port: int) -> list[str]:
    return [known_hosts.line(one.host.name, one.host.address, one.key, port=port) for one in read]


def _write(given: argparse.Namespace, file: Path, read: Sequence[Read], site: Site, named: str) -> int:
    new = [one for one in read if one.state is State.NEW]
    if given.yes == []:
        raise Problem(
            "nothing was written: --yes needs the fingerprints that you confirmed",
            why="without them it would trust whatever the network shows",
            remedy=f"clusterwright lookup hosts {given.blueprint} --write --yes {' '.join(one.fingerprint for one in new[:1])} …",
        )
    if given.yes is not None:
        confirmed = [one for one in new if one.fingerprint in given.yes]
    else:
        if new and not agreement.is_possible():
            why = "nobody is there to answer whether the fingerprints are the hosts' own"
            remedy = f"clusterwright lookup hosts {given.blueprint} --write --yes FINGERPRINT FINGERPRINT …"
            raise Problem("the keys are not confirmed, and nothing was written", why=why, remedy=remedy)
        confirmed = new if new and agreement.asked(f"Did you compare the fingerprints of these {len(new)} hosts with their consoles?") else []
    target = file.parent / (named or DEFAULT_FILE)
    if confirmed:
        if not named:
            _name_file(file)
        _replace(target, _added(target, _lines(confirmed, site.port)))
        print(f"wrote the keys of {len(confirmed)} hosts to {os.path.relpath(target)}")
    left = [one.host.name for one in read if one.state is not State.SAME and one not in confirmed]
    if left:
        print(f"not written: {', '.join(left)}")
    return EXIT_FAILED if left else 0


def _added(target: Path, lines: Sequence[str]) -> str:
    before = target.read_text() if target.exists() else ""
    return f"{before}{'' if before.endswith(chr(10)) or not before else chr(10)}" + "".join(f"{line}\n" for line in lines)


def _name_file(blueprint: Path) -> None:
    """Write `host_keys` into a blueprint below `inventory:`."""
    text = blueprint.read_text()
    found = re.search(r"^inventory:[ \t]*(#.*)?$\n", text, flags=re.MULTILINE)
    if not found:
        why = "its `inventory` is not a block of lines below the word"
        remedy = f"write `host_keys: {DEFAULT_FILE}` into its `inventory`, then run the same command again"
        raise Problem(f"{blueprint} doesn't name a file of host keys", why=why, remedy=remedy)
    indent = (re.match(r"(?:[ \t]*(?:#.*)?\n)*([ ]+)", text[found.end() :]) or ["", "  "])[1]
    _replace(blueprint, f"{text[: found.end()]}{indent}host_keys: {DEFAULT_FILE}\n{text[found.end() :]}")


def _replace(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    path = path.resolve()
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", delete=False) as written:
        written.write(text)
    os.chmod(written.name, path.stat().st_mode & 0o7777 if path.exists() else 0o644)  # noqa: PTH101
    Path(written.name).replace(path)


def _record(one: Read) -> dict[str, str]:
    return {"name": one.host.name, "address": one.host.address, "host_key": one.key, "fingerprint": one.fingerprint, "state": one.state.name.lower()}

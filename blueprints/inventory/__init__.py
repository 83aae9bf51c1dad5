"""Hosts from outside of the blueprint: an inventory file, the output of a command, a file of SSH host keys.

What they say is put under `inventory` of the blueprint in the language's own form, so that it is checked like the blueprint itself, with positions in its own file. Values
that the blueprint itself has override it.
"""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .. import document, finding, hostlist
from ..codes import Code
from ..document import Document, Path
from ..language import merge
from ..language import names as language_names
from . import ansible, known_hosts, maas, netbox, own, source
from .source import Text

FORMATS: Mapping[str, Callable[[Text, str], "Hosts"]] = {"netbox": netbox.hosts, "maas": maas.hosts, "ansible": ansible.hosts}
"""Format of another tool → what reads it; the second argument is `inventory.group`."""
Hosts: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Name → what the language says of a host."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outside:
    """What was read beside the blueprint, and isn't part of it."""

    host_keys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Name or address, as known_hosts has them → SSH host key."""
    names: tuple[str, ...] = ()
    """All hosts of an inventory of another tool, also those that the blueprint doesn't name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Read:
    """A blueprint with its inventory."""

    document: Document
    outside: Outside
    findings: tuple[finding.Finding, ...] = ()


def read(blueprint: Document, folder: pathlib.Path) -> Read:
    """Read the inventory that a blueprint names. What can't be read is a finding, and the blueprint goes on without it.

    Args:
        blueprint: with everything merged into it.
        folder: the blueprint's own: files are read only there, and a command runs there.
    """
    asked = blueprint.at("inventory")
    if not isinstance(asked, dict):
        return Read(blueprint, Outside())
    findings: list[finding.Finding] = []
    whole = blueprint
    names: tuple[str, ...] = ()
    try:
        text = _inventory(blueprint, asked, folder)
        if text is not None:
            whole, names = _with(blueprint, text, str(asked.get("format") or own.FORMAT), str(asked.get("group") or ""))
    except finding.Invalid as invalid:
        findings += invalid.findings
    keys: Mapping[str, str] = {}
    try:
        if isinstance(given := asked.get("host_keys"), str) and given:
            keys = known_hosts.parse(source.of_file(given, folder, blueprint.where("inventory", "host_keys")))
    except finding.Invalid as invalid:
        findings += invalid.findings
    return Read(whole, Outside(keys, names), tuple(findings))


def _inventory(blueprint: Document, asked: Mapping[str, Any], folder: pathlib.Path) -> Text | None:
    file, command = asked.get("file"), asked.get("command")
    has_command = isinstance(command, list) and bool(command) and all(isinstance(word, str) for word in command)
    if file and command:
        where = blueprint.where_key("inventory", "command")
        what, why = "the inventory has both `file` and `command`", "further hosts come from one of the two"
        raise finding.Invalid([finding.Finding(finding.Level.ERROR, Code.INVENTORY_UNREADABLE, where, what, why, "remove one of them")])
    if isinstance(file, str) and file:
        return source.of_file(file, folder, blueprint.where("inventory", "file"))
    if has_command and isinstance(command, list):
        return source.of_command(command, folder, blueprint.where("inventory", "command"))
    return None


def _with(blueprint: Document, text: Text, form: str, group: str) -> tuple[Document, tuple[str, ...]]:
    """Put an inventory below a blueprint, and give the names of all of its hosts if another tool wrote it."""
    if form not in FORMATS:
        return own.below(blueprint, text), ()
    found = FORMATS[form](text, group)
    wanted = _named(blueprint)
    taken = {name: dict(values) for name, values in found.items() if name in wanted}
    places: dict[Path, document.Place] = {("inventory", "hosts", name): text.place(name) for name in taken}
    top: dict[Path, document.Place] = {path: document.Place(None, text.start, text.source) for path in ((), ("inventory",), ("inventory", "hosts"))}
    base = Document(text.source, {"inventory": {"hosts": taken}}, {**top, **places})
    return merge.extend(base, blueprint), tuple(found)


def _named(blueprint: Document) -> frozenset[str]:
    """Collect the hosts that a blueprint names. What isn't a host list, or is too long a one, is reported when the blueprint is parsed."""
    pools = blueprint.at("pools")
    keys: list[Path] = [("control", "hosts"), ("access", "hosts"), *(("pools", name, "hosts") for name in (pools if isinstance(pools, dict) else ()))]
    found: set[str] = set()
    for key in keys:
        given = blueprint.at(*key)
        for entry in given if isinstance(given, list) else [given]:
            try:
                found |= set(hostlist.expand(entry)) if isinstance(entry, str) and hostlist.count(entry) <= language_names.MOST_HOSTS else set()
            except ValueError:
                continue
    return frozenset(found)

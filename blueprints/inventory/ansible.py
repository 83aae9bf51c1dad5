"""Ansible's inventory as hosts: what `ansible-inventory --list` prints (JSON, or YAML with `--yaml`), and inventories that are written in YAML.

| host | variable |
|---|---|
| name | the inventory's name, without a domain |
| address | `ansible_host`, else the inventory's name |
| host_key | `ssh_host_key`; else the facts `ansible_ssh_host_key_ed25519_public` and `…_keytype` |
| bmc, rack, serial, interfaces | the variable of this name; `interfaces` in the form of the blueprint |

A host's variables override those of its groups, and a group's those of the groups around it.
Source: ansible-inventory(1); Ansible's documentation, "How to build your inventory", "Developing dynamic inventory".
"""

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from .. import message_text
from ..language import names
from .source import Text

TAKEN = ("bmc", "rack", "serial", "interfaces")
DEPTH_LIMIT = 32
"""Groups inside of each other."""
_RANGE = re.compile(r"\[([0-9]{1,63}):([0-9]{1,63})(?::([0-9]{1,63}))?\]")
_HOSTS_LIMIT = 100_000

Variables = dict[str, Any]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML with Ansible's own tags (`!vault`, `!unsafe`), whose values nobody needs here."""


_Loader.add_multi_constructor("!", lambda *_: None)


def hosts(text: Text, group: str) -> dict[str, dict[str, Any]]:
    """Read hosts: short name → host in the language's form. Hosts whose names can't be names of hosts are left out.

    Args:
        group: read this group's hosts only; empty: all.
    Raises:
        finding.Invalid: the text is no inventory of Ansible, or has no such group.
    """
    whole = _load(text)
    found = _of_list(text, whole, group) if "_meta" in whole else _of_groups(text, whole, group)
    return {name: values for written, variables in found.items() if (values := _host(written, variables)) is not None for name in [written.partition(".")[0]]}


def _load(text: Text) -> Mapping[str, Any]:
    first = text.text.lstrip()[:16]
    if first.startswith("$ANSIBLE_VAULT"):
        raise text.refusal(
            "the inventory is encrypted by ansible-vault", "clusterwright has no password of it", "use `command: [ansible-inventory, --list, …]`"
        )
    if first.startswith("[") and not first.startswith("[{"):
        why = "clusterwright reads JSON and YAML"
        raise text.refusal("this is an inventory in Ansible's INI form", why, "use `command: [ansible-inventory, --list, --inventory, FILE]`")
    try:
        whole = json.loads(text.text) if first.startswith("{") else yaml.load(text.text, Loader=_Loader)  # noqa: S506 - makes plain values only
    except json.JSONDecodeError as error:
        raise text.refusal("this is not JSON", error.msg, "correct it, or write the right `format`", offset=error.pos) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = str(getattr(error, "problem", None) or "the YAML parser refuses it")
        raise text.refusal("this is not YAML", why, "correct it, or write the right `format`", offset=mark.index if mark else 0) from None
    if not isinstance(whole, dict):
        raise text.refusal("this is not an inventory of Ansible", "it is a mapping of groups", "write the right `format`")
    return whole


def _of_list(text: Text, whole: Mapping[str, Any], group: str) -> dict[str, Variables]:
    """Read what `ansible-inventory --list` prints: groups with their hosts, and the variables of each host, with those of its groups."""
    variables = _mapping(_mapping(whole.get("_meta")).get("hostvars"))
    if not group:
        everyone = [*variables, *(name for one in whole.values() for name in _names(one))]
        return {name: _mapping(variables.get(name)) for name in dict.fromkeys(everyone)}
    _require_group(text, group, [name for name in whole if name != "_meta"])
    wanted, found = [group], dict[str, Variables]()
    for name in wanted:
        found |= {host: _mapping(variables.get(host)) for host in _names(whole.get(name))}
        wanted += [str(child) for child in _mapping(whole.get(name)).get("children") or () if child not in wanted]
    return found


def _names(group: Any) -> list[str]:
    listed = group.get("hosts") if isinstance(group, dict) else group
    return [str(name) for name in listed] if isinstance(listed, list) else []


def _of_groups(text: Text, whole: Mapping[str, Any], group: str) -> dict[str, Variables]:
    """Read an inventory that is written in YAML: groups with hosts, variables and groups inside."""
    found: dict[str, Variables] = {}
    groups: list[str] = []
    for name, variables, members in _walk(text, whole, {}, (), depth=0):
        groups += members
        if name and (not group or group in members):
            if len(found) == _HOSTS_LIMIT and name not in found:
                raise text.refusal("the inventory has too many hosts", f"more than {_HOSTS_LIMIT} are read from none", "check its ranges, or name a `group`")
            found[name] = {**found.get(name, {}), **variables}
    if group:
        _require_group(text, group, groups)
    return found


def _walk(text: Text, groups: Mapping[str, Any], above: Variables, around: tuple[str, ...], *, depth: int) -> Iterator[tuple[str, Variables, tuple[str, ...]]]:
    """Give each host with its variables and the groups around it; once without a host for each group."""
    if depth > DEPTH_LIMIT:
        raise text.refusal("groups of the inventory are nested too deep", f"more than {DEPTH_LIMIT} groups are inside of each other", "check `children`")
    for group, given in groups.items():
        section, members = _mapping(given), (*around, str(group))
        shared = {**above, **_mapping(section.get("vars"))}
        yield "", {}, members
        for pattern, variables in _mapping(section.get("hosts")).items():
            for name in _expanded(text, str(pattern)):
                yield name, {**shared, **_mapping(variables)}, members
        yield from _walk(text, _mapping(section.get("children")), shared, members, depth=depth + 1)


def _expanded(text: Text, pattern: str) -> Iterator[str]:
    """Give the names of a pattern (`gpu[001:016]`, with a step `[0:10:2]`)."""
    numbers = [(int(first), int(last), int(step or 1), len(first)) for first, last, step in _RANGE.findall(pattern)]
    if any(step < 1 for _, _, step, _ in numbers) or math.prod(max(0, (last - first) // step + 1) for first, last, step, _ in numbers) > _HOSTS_LIMIT:
        raise text.refusal(f"{message_text.quoted(pattern)} is not a range of hosts", f"it has no end, or more than {_HOSTS_LIMIT} hosts", "correct it")
    between = _RANGE.sub("{}", pattern.replace("{", "{{").replace("}", "}}"))
    for chosen in itertools.product(*([f"{number:0{width}d}" for number in range(first, last + 1, step)] for first, last, step, width in numbers)):
        yield between.format(*chosen)


def _require_group(text: Text, group: str, groups: list[str]) -> None:
    if group not in groups:
        remedy = message_text.did_you_mean(group, dict.fromkeys(groups), allowed="groups")
        raise text.refusal(f"the inventory has no group {message_text.quoted(group)}", "`inventory.group` names one of Ansible's groups", remedy)


def _host(written: str, variables: Variables) -> dict[str, Any] | None:
    if not names.HOST.fullmatch(written.partition(".")[0]) or written in names.RESERVED_HOSTS:
        return None
    key = variables.get("ssh_host_key")
    if not key and variables.get("ansible_ssh_host_key_ed25519_public"):
        key = f"{variables.get('ansible_ssh_host_key_ed25519_public_keytype') or 'ssh-ed25519'} {variables['ansible_ssh_host_key_ed25519_public']}"
    values = {"address": str(variables.get("ansible_host") or written), "host_key": str(key) if key else "", **{name: variables.get(name) for name in TAKEN}}
    return {name: value for name, value in values.items() if value}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

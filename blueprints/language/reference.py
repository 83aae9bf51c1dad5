"""The language as a page to read: every key with its type, range, default, meaning and an example, derived from the sections and their schema."""

import functools
import re
from collections.abc import Iterator
from typing import Any

from .. import document
from . import examples, merge, outline
from .schema import Schema, schema
from .section import Section

_COLUMNS = 120
_WORD = re.compile(r"(?:`[^`]*`|[^\s`])+")
_TOP = """\
# The language of blueprints

<!-- Made by `clusterwright schema --reference`. -->

A blueprint is one YAML file that describes a cluster in terms that are valid on every target. This page lists every key;
`blueprints/library` has blueprints to start from. Editors with JSON Schema support complete and validate the keys with
[blueprint.schema.json](blueprint.schema.json). Most of them read this first line:
`# yaml-language-server: $schema=PATH/blueprint.schema.json`. `clusterwright schema --output FILE` writes the schema.

The file is plain YAML: no anchors, aliases, merge keys or tags. `yes`, `no`, `on`, `off`, dates and times are text. Unknown
keys are refused, types are never converted, and an empty section (`control:`) has all its defaults.
"""

_INVENTORY = """\
## Inventory: hosts that exist already

On `metal`, clusterwright adopts hosts that exist already. The blueprint names them as they are called, in
`control.hosts`, `access.hosts` and `pools.<name>.hosts`, as Slurm host lists (`gpu-[001-016]`). `inventory` says how each
is reached. On clouds these keys have no effect.

On `local` the same blueprint is rehearsed: hosts of this machine get the same names, and addresses of the stack's own
network, and a software profile for servers becomes that of the same distribution.

```yaml
inventory:
  user: ubuntu # may run everything with sudo, without a password
  host_keys: known_hosts
  hosts:
    head-1: {address: 10.20.0.2}
    gpu-003: {address: 10.20.7.3, bmc: 10.30.0.13} # other than its range says
  ranges:
    - names: "gpu-[001-016]"
      addresses: 10.20.0.11+
      interfaces: {rail0: {addresses: 10.40.0.11+/24, mtu: 9000}}
```

`check` refuses hosts that the inventory lacks, hosts in two places of the cluster, addresses, hardware addresses, BMCs and
serial numbers that two hosts share, and addresses outside of `network.cidr`.

### SSH host keys

Each host proves itself by its SSH host key. Clusterwright never trusts a key that it sees for the first time.

- `clusterwright lookup hosts FILE` reads the keys of all hosts at once and shows their fingerprints.
- Compare them with what each host prints on its console: `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`.
- `clusterwright lookup hosts FILE --write` asks whether you did, and writes the keys into `known_hosts` beside the
  blueprint. In scripts, `--yes FINGERPRINT …` names the fingerprints that you compared.
- A key that differs from the inventory's is shown and never written over the old one.

### Inventories of other tools

`file` names a file in the blueprint's folder; `command` a program that prints the inventory whenever the blueprint is read
for such a target: a blueprint from somewhere else can run a program on your machine. `format` says what they hold:

| format | what is read |
|---|---|
| `clusterwright` | `hosts`, `ranges`, `user` and so on, as in `inventory` |
| `netbox` | devices as NetBox's API answers (`/api/dcim/devices/?limit=0`), or an object with `devices`, `interfaces` and `ip_addresses`, or a GraphQL answer with `device_list`. Address: `primary_ip4`; BMC: `oob_ip`; host key: the custom field `ssh_host_key` |
| `maas` | what `maas PROFILE machines read` prints, or an object with `machines` and `power_parameters` (`maas PROFILE machines power-parameters`). Address: of the interface that the machine starts from; BMC: `power_address`; host key: the workload annotation `ssh_host_key`. Physical interfaces with an address of another network become rails |
| `ansible` | what `ansible-inventory --list` prints (JSON or YAML), or an inventory in YAML. Address: `ansible_host`; host key: `ssh_host_key` or the fact `ansible_ssh_host_key_ed25519_public`; further variables: `bmc`, `rack`, `serial`, `interfaces` |

Of these only the hosts count that the blueprint names, by their names without a domain. `hosts` and `ranges` of the
blueprint override them.

```yaml
inventory:
  command: [ansible-inventory, --list, --inventory, hosts.ini]
  format: ansible
```
"""

_FORMS = """\
## Formats of texts and numbers

Regular expressions and limits. `check` validates more, such as whether a date exists or a public key is complete.
"""


def reference() -> str:
    """Write the page, in Markdown."""
    return "\n".join(map(_wrapped, [_TOP, _sources(), _INVENTORY, *_sections(), _FORMS, *_forms()]))


def _wrapped(page: str) -> str:
    """Break the lines of paragraphs and lists that are longer than `_COLUMNS`, between words and outside of code."""
    parts = re.split(r"(^```.*?^```$)", page, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else "\n".join(_broken(line) for line in part.split("\n")) for part in parts)


def _broken(line: str) -> str:
    if len(line) <= _COLUMNS or line.startswith("|"):
        return line
    indent = " " * (2 if line.startswith("- ") else len(line) - len(line.lstrip()))
    first, *words = _WORD.findall(line)
    lines = [indent * (not line.startswith("- ")) + first]
    for word in words:
        fits = len(lines[-1]) + 1 + len(word) <= _COLUMNS
        lines[-1:] = [f"{lines[-1]} {word}"] if fits else [lines[-1], indent + word]
    return "\n".join(lines)


def _sources() -> str:
    _, _, rules = str(merge.__doc__).partition("\n\n")
    return f"## Where values come from\n\n{rules.strip()}\n"


def _sections() -> Iterator[str]:
    """Write the tables: the blueprint's own first, then each section where the blueprint's keys lead to it."""
    waiting: list[tuple[str, str]] = [("", "Blueprint")]
    while waiting:
        path, name = waiting.pop(0)
        yield _section(path, name)
        waiting = [*_inner(path, name), *waiting]


def _inner(path: str, name: str) -> Iterator[tuple[str, str]]:
    for key, entry in _properties(name).items():
        for section in _led_to(entry):
            yield _joined(path, key, entry), section


def _section(path: str, name: str) -> str:
    written = schema()["$defs"][name]
    heading = f"## `{path}`" if path else "## The blueprint"
    table = ["| key | type | default | meaning | example |", "|---|---|---|---|---|"]
    for key, entry in _properties(name).items():
        cells = [f"`{key}`", _type(entry, _joined(path, key, entry)), _default(name, key), _meaning(entry), examples.short(_steps(path, key))]
        table.append(_row(cells))
    return "\n".join([heading, "", written["description"], "", *table, ""])


def _row(cells: list[str]) -> str:
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def _properties(name: str) -> dict[str, Schema]:
    found: dict[str, Schema] = schema()["$defs"][name]["properties"]
    return found


def _forms_of(entry: Schema) -> list[Schema]:
    """List the forms that a value may have, nothing at all left aside."""
    if "title" in entry:
        return [entry]  # a form with a name, however many ways there are to write it
    forms: list[Schema] = entry.get("anyOf") or entry.get("oneOf") or [entry]
    return [form for form in forms if form != {"type": "null"}]


def _led_to(entry: Schema) -> list[str]:
    """Name the sections that a key leads to."""
    inner = [part for form in _forms_of(entry) for part in (form, form.get("items"), form.get("additionalProperties")) if isinstance(part, dict)]
    return [part["$ref"].rpartition("/")[2] for part in inner if "$ref" in part]


def _joined(path: str, key: str, entry: Schema) -> str:
    name = ".<name>" if "propertyNames" in entry else "[]" if "items" in entry else ""
    return f"{path}.{key}{name}".lstrip(".")


def _type(entry: Schema, path: str) -> str:
    if "propertyNames" in entry:
        return f"mapping: {_type(entry['propertyNames'], path)} → {_type(entry['additionalProperties'], path)}{_at_most(entry.get('maxProperties'))}"
    if "items" in entry:
        return f"list: {_type(entry['items'], path)}{_at_most(entry.get('maxItems'))}"
    return " or ".join(_plain_type(form, path) for form in _forms_of(entry))


def _at_most(entries: int | None) -> str:
    return "" if entries is None else f"; {entries} at most"


def _plain_type(form: Schema, path: str) -> str:
    if "$ref" in form:
        return f"[section](#{_anchor(path)})"
    if "properties" in form:
        return "section"
    if "title" in form:
        return f"[{form['title']}](#{_anchor(form['title'])})"
    if "enum" in form:
        return " / ".join(f"`{examples.on_one_line(word)}`" for word in form["enum"] if word is not None)
    kind = form["type"] if isinstance(form["type"], str) else form["type"][0]
    if kind == "integer":
        return f"number, {form['minimum']} to {form['maximum']}"
    return {"boolean": "`true` / `false`", "string": "text"}[kind]


def _anchor(heading: str) -> str:
    """Name a heading as code hosts do in links."""
    return "".join(character for character in heading.lower().replace(" ", "-") if character.isalnum() or character in "-_")


def _default(name: str, key: str) -> str:
    field = _models()[name].model_fields[key]
    if field.is_required():
        return "**required**"
    is_empty = field.default in (None, "", (), {}) or isinstance(field.default, Section)
    return "" if is_empty else f"`{examples.on_one_line(field.default)}`"


def _steps(path: str, key: str) -> document.Path:
    """Read a heading's path and a key in its table as the steps to an example."""
    inner = path.replace("[]", ".<name>").split(".") if path else []
    return (*(outline.ANY_NAME if step == "<name>" else step for step in inner), key)


@functools.cache
def _models() -> dict[str, type[Section]]:
    return {model.__name__: model for model in Section.__subclasses__()}


def _meaning(entry: Schema) -> str:
    described = entry.get("description")
    return str(described) if described else str(schema()["$defs"][_led_to(entry)[0]]["description"])


def _forms() -> Iterator[str]:
    """Write each form once: its pattern and limits, what it can't be, and examples."""
    found: dict[str, Schema] = {}
    for form in _titled(schema()["$defs"]):
        found.setdefault(form["title"], form)
    for title, form in sorted(found.items(), key=lambda entry: entry[0].lower()):
        yield f"### {title}\n\n" + "\n".join(f"- {line}" for line in _lines(form)) + "\n"


def _lines(form: Schema) -> Iterator[str]:
    for way in form.get("anyOf", ()):
        yield from _lines(way)
    if "pattern" in form:
        yield f"Matches `{form['pattern'].removeprefix('^(?:').removesuffix(')$')}`."
    if "maxLength" in form:
        yield f"At most {form['maxLength']} characters."
    if "minimum" in form:
        yield f"A number from {form['minimum']} to {form['maximum']}."
    if "enum" in form.get("not", {}):
        yield f"Reserved: {', '.join(f'`{word}`' for word in form['not']['enum'])}."
    if "pattern" in form.get("not", {}):
        yield f"Does not match `{form['not']['pattern']}`."
    if "examples" in form:
        yield f"For example {', '.join(f'`{word}`' for word in form['examples'])}."


def _titled(written: Any) -> Iterator[Schema]:
    if isinstance(written, dict) and "title" in written and "properties" not in written and isinstance(written["title"], str):
        yield written
    for entry in written.values() if isinstance(written, dict) else written if isinstance(written, list) else ():
        yield from _titled(entry)

"""The cloud itself: what both doors do to things, with every rule in between."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..core import typed
from ..core.failure import NotSimulated, Refused, refuse_all
from ..core.store import Store, Thing
from . import facts, machines, policies, schema
from .rules import Rules, Want, rules

# Tag restrictions that all services share: Tagging AWS Resources user guide, "Tag naming limits and requirements".
TAGS_MOST, TAG_KEY_LONGEST, TAG_VALUE_LONGEST = 50, 128, 256
PREFIXED_DIGITS = 26  # what the provider puts behind a prefix
GIVEN = "given"
"""Property of every thing: names of the inputs that somebody gave or that have a default."""
TAG_LETTERS = re.compile(r"[\w\s.:/=+\-@]*")


class Cloud:
    """One account with all its regions. Callers hold `store.lock` around each operation."""

    def __init__(self, store: Store):
        self.store = store

    def is_tagged(self, kind: str) -> bool:
        return facts.kinds()[kind].is_tagged

    # What programs do, through the provider's door or the API's

    def check(self, name: str, inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Give (path, reason) for what is wrong with the form of the inputs; values still unknown may be in them."""
        kind = self.kind(name)
        found = list(typed.problems(kind.inputs, inputs, objects=facts.sdk()["objects"]))
        return found or [
            *schema.problems(kind, {**kind.defaults, **inputs}),
            *policies.problems(kind, inputs),
            *rules(name).problems(inputs),
            *tag_problems(inputs.get("tags")),
        ]

    def create(self, name: str, inputs: Mapping[str, Any], *, region: str, default_tags: Mapping[str, str] | None = None, door: str) -> Thing:
        """Make a thing.

        Raises:
            Refused: as the service would.
        """
        want, rule = self._want(name, inputs, region=region, door=door), rules(name)
        self._refuse_taken(want)
        rule.check(self, want)
        ident = rule.identity(self, want)
        if self.store.get(name, ident):
            raise Refused(want.kind.taken, f"{ident} already exists")
        thing = self.store.put(self._thing(want, rule, ident, default_tags or {}, made_s=self.store.clock.now_s()))
        rule.made(self, thing)
        return self.store.get(name, ident) or thing

    def update(self, thing: Thing, inputs: Mapping[str, Any], *, default_tags: Mapping[str, str] | None = None) -> Thing:
        """Bring a thing to new inputs.

        Raises:
            Refused: as the service would, and for an input that only a new thing can have.
        """
        rule = rules(thing.kind)
        autoname = rule.kind.autoname
        named = {autoname: thing[autoname]} if autoname and thing.get(f"{autoname}Prefix") else {}
        want = dataclasses.replace(self._want(thing.kind, {**named, **inputs}, region=thing.region, door=thing.door), former=thing)
        for name in sorted(rule.replaced_by(thing.properties, inputs)):
            if name in inputs and not same(thing.get(name), inputs[name]):
                raise Refused(want.kind.invalid, f"{name} of {thing.id} can't change from {thing.get(name)!r} to {inputs[name]!r}")
        rule.check(self, want)
        changed = self._thing(want, rule, thing.id, default_tags or {}, made_s=thing.made_s)
        self.store.put(changed)
        rule.changed(self, changed, thing)
        return self.store.get(thing.kind, thing.id) or changed

    def read(self, thing: Thing) -> Mapping[str, Any]:
        """Give a thing's properties as the service shows them now."""
        return rules(thing.kind).observed(self, thing)

    def delete(self, thing: Thing) -> None:
        """Remove a thing.

        Raises:
            Refused: something still needs it.
        """
        rule = rules(thing.kind)
        rule.check_delete(self, thing)
        if users := sorted({f"{user.kind} {user.id}" for user in self.users(thing)}):
            raise Refused(rule.kind.in_use, f"{thing.kind} {thing.id} is in use by {', '.join(users[:5])}")
        for part in [other for other in self.store.everything() if _is_part(other, thing)]:
            self.store.remove(part)
        self.store.remove(thing)
        rule.deleted(self, thing)

    def difference(
        self, name: str, *, olds: Mapping[str, Any], news: Mapping[str, Any], old_inputs: Mapping[str, Any], default_tags: Mapping[str, str]
    ) -> dict[str, bool]:
        """Name what differs between what was recorded or observed and the inputs: property → whether a new thing must be made."""
        kind = self.kind(name)
        changed = {name for name, value in news.items() if not name.startswith("__") and name != "tags" and not same(olds.get(name), value)}
        for gone in old_inputs.keys() - news.keys():
            if not gone.startswith("__") and gone != "tags" and gone in kind.inputs and not same(olds.get(gone), kind.defaults.get(gone)):
                changed.add(gone)
        if kind.is_tagged and not same(olds.get("tags") or {}, news.get("tags") or {}):
            changed.add("tags")
        if kind.is_tagged and olds and not same(olds.get("tagsAll") or {}, {**default_tags, **(news.get("tags") or {})}) and news.get("tags") != typed.UNKNOWN:
            changed.add("tagsAll")
        replaced = rules(kind.name).replaced_by(olds, news)
        return {name: name in replaced for name in sorted(changed)}

    # What rules ask

    def kind(self, name: str) -> facts.Kind:
        try:
            return facts.kinds()[name]
        except KeyError:
            raise NotSimulated(f"the kind {name}") from None

    def zones(self, region: str) -> Mapping[str, str]:
        """Give the zones of a region, name → zone id; the setting `zones` adds local ones that the account opted in to."""
        return {**machines.zones(region), **self.store.settings.get("zones", {}).get(region, {})}

    def offered(self, region: str) -> frozenset[tuple[str, str]]:
        """Give which instance types are offered where: (type, zone); the setting `offered` adds pairs."""
        return machines.offered(region) | {(machine, zone) for machine, zone in self.store.settings.get("offered", ()) if zone in self.zones(region)}

    def find(self, names: str, value: str, *, region: str | None = None) -> Thing | None:
        """Find a thing of one of the kinds (`a|b`) by id, ARN or name."""
        for name in names.split("|"):
            if thing := self.store.get(name, value):
                return thing
            for thing in self.store.all(name, region=region):
                if value in (thing.get("arn"), thing.get("name")):
                    return thing
        return None

    def need(self, names: str, value: str, *, region: str | None = None) -> Thing:
        """Find a thing or refuse with the code of its kind."""
        if thing := self.find(names, value, region=region):
            return thing
        kind = self.kind(names.split("|")[0])
        raise Refused(kind.missing, f"{kind.name} '{value}' does not exist")

    def note(self, thing: Thing, **properties: Any) -> Thing:
        """Set properties of a thing that its rules work out later."""
        return self.store.put(dataclasses.replace(thing, properties={**thing.properties, **properties}))

    def users(self, thing: Thing) -> Iterator[Thing]:
        """Yield the things that need this one."""
        names = _names(thing)
        for other in self.store.everything():
            if other is thing or other.get("ended") or _is_part(other, thing):
                continue
            for path, kinds in facts.kinds()[other.kind].holds.items():
                if thing.kind in kinds.split("|") and any(value in names for value in schema.values_at(other.properties, path)):
                    yield other
            if any(thing.id == interface.subnet or thing.id in interface.groups for interface in other.interfaces):
                yield other

    # How the above is done

    def _want(self, name: str, inputs: Mapping[str, Any], *, region: str, door: str) -> Want:
        kind = self.kind(name)
        refuse_all(self.check(name, inputs), code=kind.invalid)
        values = {**kind.defaults, **{key: value for key, value in inputs.items() if value is not None and not key.startswith("__")}}
        if kind.autoname and kind.autoname not in values and values.get(f"{kind.autoname}Prefix"):
            values[kind.autoname] = values[f"{kind.autoname}Prefix"] + self.store.new_hex(PREFIXED_DIGITS)
        want = Want(kind, values, values.get("region", region), door)
        for path, kinds in {**kind.holds, **kind.mentions}.items():
            for value in schema.values_at(values, path):
                thing = self.need(kinds, value, region=want.region)
                if path.removesuffix("[]").endswith(("Arn", "Arns")) and value != thing.get("arn"):
                    raise Refused(kind.invalid, f"{path}: {value} is no ARN")
        return want

    def _refuse_taken(self, want: Want) -> None:
        mine = [want.get(name) for name in want.kind.unique]
        if mine and all(value is not None for value in mine):
            for other in self.store.all(want.kind.name, region=want.region):
                if [other.get(name) for name in want.kind.unique] == mine:
                    raise Refused(want.kind.taken, f"{want.kind.name} {', '.join(map(str, mine))} already exists ({other.id})")

    def _thing(self, want: Want, rule: Rules, ident: str, default_tags: Mapping[str, str], *, made_s: float) -> Thing:
        former = dict(want.former.properties) if want.former else {}
        # What a program may say and did not, the service chose once, and a change in place leaves it: an address, a zone.
        kept = {name: value for name, value in former.items() if name not in want.kind.inputs or name not in former.get(GIVEN, want.kind.inputs)}
        properties: dict[str, Any] = {**kept, **want.values, "region": want.region}
        if want.kind.is_tagged:
            tags = dict(want.get("tags", {}))
            refuse_all(tag_problems({**default_tags, **tags}), code="InvalidParameterValue")
            properties |= {"tags": tags, "tagsAll": {**default_tags, **tags}}
        for name, template in want.kind.computed.items():
            properties.setdefault(name, _filled(template, {**properties, "id": ident, "account": facts.ACCOUNT}))
        properties |= rule.computed(self, want, ident)
        properties[GIVEN] = sorted(want.values)
        interfaces = rule.interfaces(self, want, ident)
        return Thing(want.kind.name, ident, want.region, properties, want.door, made_s, interfaces)


def tag_problems(tags: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with tags, given as a map."""
    if not isinstance(tags, Mapping):
        return
    if len(tags) > TAGS_MOST:
        yield "tags", f"{len(tags)} are more than {TAGS_MOST}"
    for key, value in tags.items():
        if not 1 <= len(key) <= TAG_KEY_LONGEST or not TAG_LETTERS.fullmatch(key) or key.lower().startswith("aws:"):
            yield f"tags.{key}", "this is no name for a tag"
        if value != typed.UNKNOWN and (len(value) > TAG_VALUE_LONGEST or not TAG_LETTERS.fullmatch(value)):
            yield f"tags.{key}", f"{value!r} is no value for a tag"


def same(one: Any, other: Any) -> bool:
    """Say whether two values mean the same: lists of plain values in any order, JSON texts by what they hold, absent as null."""
    if isinstance(one, list) and isinstance(other, list) and all(isinstance(part, (str, int, float)) for part in one + other):
        return sorted(map(str, one)) == sorted(map(str, other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(mine, theirs) for mine, theirs in zip(one, other, strict=True))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(same(one.get(name), other.get(name)) for name in one.keys() | other.keys())
    if isinstance(one, str) and isinstance(other, str) and one[:1] == other[:1] == "{":
        try:
            return bool(json.loads(one) == json.loads(other))
        except ValueError:
            return one == other
    return bool(one == other) or (one in (None, [], {}) and other in (None, [], {}))


def _names(thing: Thing) -> set[Any]:
    return {thing.id, thing.get("arn"), thing.get("name")} - {None}


def _is_part(other: Thing, thing: Thing) -> bool:
    """Say whether the other is there only because of the thing, and goes with it."""
    within = facts.kinds()[other.kind].within
    return other.get("managedBy") == thing.id or bool(within and other.get(within) in _names(thing))


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    return template.format(**values) if isinstance(template, str) else template

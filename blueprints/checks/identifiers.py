"""Identifiers of existing resources: their form, and the partition, region, zone and account that they contain."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from .. import catalog, finding, language, message_text, mount_sources, spec
from ..codes import Code
from ..document import Document, Path
from . import lookup

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
_OWNERS = {"account": "accounts", "project": "projects"}
_IN_HOSTS_ZONE = ("pools.capacity.id", "storage.source")


@dataclasses.dataclass(frozen=True, slots=True)
class _Identifier:
    text: str
    key: str
    """The path without the names that the blueprint chose."""
    path: Path
    parts: Mapping[str, str] = dataclasses.field(default_factory=dict)


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find identifiers that have no valid form on the target, and identifiers of another partition, region, zone or account."""
    target = lookup.target_of(cluster)
    if target is None or target.hosts == "here":
        return
    known: list[_Identifier] = []
    for written in _identifiers(blueprint, is_cloud=target.hosts == "cloud"):
        if target.hosts == "site" and mount_sources.read(written.text, mount=""):
            continue
        forms = [] if target.hosts == "site" else [form for form in catalog.identifier_forms(target.name) if written.key in form.keys]
        found = [(form, parts) for form in forms if (parts := form.parts(written.text)) is not None]
        owner = _owner(written, target.name)
        if not found:
            examples = mount_sources.FORMS if target.hosts == "site" else [f"`{form.like}` ({form.what})" for form in forms]
            yield _unfit(written, examples, owner, target, source)
        elif owner is not None and all(form.is_plain for form, _ in found):
            what = f"{message_text.quoted(written.text)} looks like an identifier of {owner.title}"
            why = f"{target.title} would read it as a resource name of its own"
            remedy = f"write it under `targets.{owner.name}`, and the identifier of {target.title} here"
            yield finding.Finding(_WARNING, Code.IDENTIFIER_UNFIT, source.where(*written.path), what, why, remedy)
        else:
            known.append(dataclasses.replace(written, parts=found[0][1]))
    if target.hosts == "cloud":
        for one in known:
            yield from _elsewhere(one, cluster, target, source)
        yield from _zones(known, cluster, source)
        yield from _owners(known, source)


def zone_of(cluster: spec.ClusterSpec, identifier: str) -> str | None:
    """Return the zone in the identifier of a reservation; None if it contains none."""
    return (catalog.identifier_parts(cluster.target, _IN_HOSTS_ZONE[0], identifier) or {}).get("zone")


def _identifiers(blueprint: language.Blueprint, *, is_cloud: bool) -> Iterator[_Identifier]:
    for name, entry in blueprint.storage.items():
        if entry.source is not None:
            yield _Identifier(entry.source, "storage.source", ("storage", name, "source"))
        if entry.key is not None and is_cloud:
            yield _Identifier(entry.key, "storage.key", ("storage", name, "key"))
    if not is_cloud:
        return
    network = blueprint.network
    if network.existing is not None:
        yield _Identifier(network.existing, "network.existing", ("network", "existing"))
    for number, subnet in enumerate(network.subnets):
        yield _Identifier(subnet, "network.subnets", ("network", "subnets", number))
    for name, pool in blueprint.pools.items():
        if pool.bought.id is not None:
            yield _Identifier(pool.bought.id, "pools.capacity.id", ("pools", name, "capacity", "id"))
        if pool.image is not None:
            yield _Identifier(pool.image, "pools.image", ("pools", name, "image"))


def _owner(written: _Identifier, here: str) -> catalog.Target | None:
    """Find the other target if only its identifiers have this form."""
    others = [name for name in catalog.target_names() if name != here]
    forms = [form for name in others for form in catalog.identifier_forms(name) if form.target == name and written.key in form.keys and not form.is_plain]
    return next((catalog.target(form.target) for form in forms if form.parts(written.text) is not None), None)


def _unfit(written: _Identifier, examples: Sequence[str], owner: catalog.Target | None, target: catalog.Target, source: Document) -> finding.Finding:
    what = f"{message_text.quoted(written.text)} is not a valid identifier on {target.title}"
    if owner is not None:
        why = f"it is an identifier of {owner.title}"
        remedy = f"write it under `targets.{owner.name}`, and an identifier like {' or '.join(examples)} here"
    else:
        is_site = target.hosts == "site"
        why = "sources of any other form can't be mounted" if is_site else "the service refuses identifiers of any other form"
        remedy = f"{'write it like' if is_site else 'copy it from the console; it looks like'} {' or '.join(examples)}"
    return finding.Finding(_ERROR, Code.IDENTIFIER_UNFIT, source.where(*written.path), what, why, remedy)


def _elsewhere(one: _Identifier, cluster: spec.ClusterSpec, target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    region, where = cluster.network.region, source.where(*one.path)
    stated = one.parts.get("region") or target.region_of(one.parts.get("zone", ""))
    partition, here = one.parts.get("partition"), catalog.partition_of(target.name, region)
    if partition is not None and here is not None and partition != here:
        what = f"{message_text.quoted(one.text)} belongs to the partition {partition}, and {region} to {here}"
        why = "partitions share no accounts, keys or networks"
        yield finding.Finding(_ERROR, Code.IDENTIFIER_ELSEWHERE, where, what, why, f"name a resource of {here}, or a region of {partition}")
    elif stated is not None and stated != region:
        what = f"{message_text.quoted(one.text)} is in {stated}, and the cluster in {region}"
        why = "the cloud's services use only resources of their own region"
        remedy = f"name a resource in {region}, or write `targets.{target.name}.network.region: {stated}`"
        yield finding.Finding(_ERROR, Code.IDENTIFIER_ELSEWHERE, where, what, why, remedy)


def _zones(known: Sequence[_Identifier], cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Compare the zones in identifiers with the hosts' zone, or with each other if the blueprint names no zone."""
    hosts = cluster.network.zones[0] if cluster.network.zones else None
    by = "the hosts are"
    for one in known:
        zone = one.parts.get("zone") if one.key in _IN_HOSTS_ZONE else None
        if zone is None:
            continue
        if hosts is None:
            hosts, by = zone, f"{message_text.quoted(one.text)} is"
        elif zone != hosts:
            what = f"{message_text.quoted(one.text)} is in {zone}, and {by} in {hosts}"
            why = "all nodes of a cluster run in one zone, and a reservation has capacity in its own zone only"
            remedy = f"write `network.zones: [{zone}]` under the target, or name a resource in {hosts}"
            yield finding.Finding(_ERROR, Code.IDENTIFIER_ELSEWHERE, source.where(*one.path), what, why, remedy)


def _owners(known: Sequence[_Identifier], source: Document) -> Iterator[finding.Finding]:
    """Note identifiers of several accounts: their owners must share them with the cluster's account."""
    for part, words in _OWNERS.items():
        stated = {one.parts[part]: one for one in reversed(known) if part in one.parts}
        first = next((one for one in known if part in one.parts), None)
        other = next((one for owner, one in stated.items() if first is not None and owner != first.parts[part]), None)
        if other is not None:
            what = f"the identifiers belong to the {words} {message_text.listed(sorted(stated))}"
            why = f"the cluster runs in one of these {words}; the others must share their resources with it"
            remedy = f"check the key's policy and the reservation's sharing, or use resources of one {part}"
            yield finding.Finding(_NOTE, Code.IDENTIFIER_OWNERS, source.where(*other.path), what, why, remedy)

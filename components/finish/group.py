"""Finishing: the resource that turns the hosts of one group into nodes by running the site playbook on them.

A host is finished when its mark is recorded: a hash of its disk's incarnation and of everything the playbook reads. A replaced host has another mark, and only this host is finished again.
So is a host that differs in what the roles own. The output `repaired` says when the engine finished a host again with the same inputs, so that acceptance knows that it is older.
"""

import contextlib
import dataclasses
import datetime as dt
import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import pydantic

from blueprints import spec

from ..provider.kind import UNKNOWN, Kind, PartlyMade, Stopped, Values, Work
from . import inspection_results, playbook
from .inventory import COMPUTE, FinishedHost, inventory, known_hosts

OWN_GROUPS, KUBERNETES = ("control", "access", "kubernetes"), "kubernetes"
"""Groups of the inventory: the nodes of all pools are in `COMPUTE`, the hosts of Kubernetes' control plane in `KUBERNETES`."""

SITE = "site.yml"
"""The playbook that configures hosts."""
RECORD = "record.yml"
"""The playbook that ends a round of changes on servers that were there already."""
RECORD_WITHIN_S = 60
"""What a run that should end spends on it."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupInputs:
    group: str
    hosts: tuple[FinishedHost, ...]
    spec: dict[str, Any]
    """What of the resolved cluster the hosts are configured from (`blueprints.spec.slurm_view`)."""
    content: str
    """Fingerprint of the site playbook with its roles."""
    secrets: dict[str, Any]
    private_key: str
    provided: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What only the target knows: `fleet` (what nodes are started from), `database` (the address of one outside), `addresses` (of hosts that always stand). Not secret."""
    playbook: str = SITE
    asked: tuple[FinishedHost, ...] = ()
    """Hosts of the control plane that nodes of Kubernetes join: the playbook gets a token from them."""
    release_folder: str = ""
    """The release of Kubernetes on this machine, where hosts have copies of it. `provided.release` says which one it is."""
    at_once: int = 1
    """How many nodes of Kubernetes an upgrade takes out of service at once. It configures no host, and is no part of a mark."""


class Group(Kind[GroupInputs]):
    token = "clusterwright:finish:Group"
    inputs = GroupInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"group"})
    timeout_s = 3600

    def identity(self, inputs: GroupInputs) -> str:
        return inputs.group

    def expected(self, inputs: GroupInputs) -> Values:
        return {"finished": marks(inputs), "repaired": UNKNOWN}

    def upgrade(self, recorded: Values) -> Values:
        """Read the whole spec that older versions recorded as the view that this version records; hosts that were finished by it count as finished."""
        view = spec.upgrade_view(recorded["spec"], group=recorded["group"])
        if view is recorded["spec"]:
            return recorded
        upgraded = {**recorded, "spec": view}
        before, after = _recorded_marks(recorded), _recorded_marks(upgraded)
        finished: Mapping[str, str] = recorded.get("finished") or {}
        return {**upgraded, "finished": {name: after[name] if mark == before.get(name) else mark for name, mark in finished.items()}}

    def read(self, inputs: GroupInputs, outputs: Values) -> Values | None:
        """Leave out of `finished` the hosts that differ in what the roles own, unless `clusterwright` has looked and repaired.

        A host that doesn't answer stays as it is recorded: whether it differs is unknown.
        """
        finished: Mapping[str, str] = outputs.get("finished") or {}
        if inspection_results.received() is None:
            from . import changed_hosts  # what inspects hosts takes its time to load

            differ = changed_hosts.look(inputs.hosts, inputs.spec, private_key=inputs.private_key)
            return {"finished": {hostname: mark for hostname, mark in finished.items() if hostname not in differ}}
        return {"finished": finished}

    def create(self, inputs: GroupInputs, work: Work) -> Values:
        return self.update(inputs, {}, work)

    def update(self, inputs: GroupInputs, outputs: Values, work: Work) -> Values:
        wanted = marks(inputs)
        recorded: Mapping[str, str] = outputs.get("finished") or {}
        unfinished = [hostname for hostname, mark in wanted.items() if recorded.get(hostname) != mark]
        before: Mapping[str, str] = outputs.get("repaired") or {}
        # Hosts that were finished with these inputs before, and differed.
        again = set(unfinished) & {name for name, mark in (_recorded_marks(outputs) if "hosts" in outputs else {}).items() if wanted.get(name) == mark}
        kept = {hostname: moment for hostname, moment in before.items() if recorded.get(hostname) == wanted.get(hostname)}
        if not unfinished:
            return {"finished": wanted, "repaired": kept}
        outcome = _run(inputs, unfinished, work)
        if not outcome.ok:
            through = outcome.through - {failure.host for failure in outcome.failures}
            done = {hostname: mark for hostname, mark in wanted.items() if recorded.get(hostname) == mark or hostname in through}
            raise PartlyMade(*(str(failure) for failure in outcome.failures), *filter(None, [outcome.error]), outputs={"finished": done, "repaired": kept})
        moment = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        return {"finished": wanted, "repaired": {**kept, **dict.fromkeys(sorted(again), moment)}}

    def delete(self, inputs: GroupInputs, outputs: Values, work: Work) -> None:
        """Do nothing: the configuration is deleted with the host."""


def finish_again(recorded: Values, hostnames: Sequence[str], work: Work, *, variables: Mapping[str, Any] | None = None, order: str = "") -> playbook.Outcome:
    """Configure hosts again from what is recorded of their group; the record stays as it is.

    Args:
        recorded: inputs of the group, as this version or an older one recorded them.
        variables: what the playbook gets beside them.
        order: another playbook than the group's own.
    """
    upgraded = Group().upgrade(recorded)
    names = {field.name for field in dataclasses.fields(GroupInputs)}
    inputs = pydantic.TypeAdapter(GroupInputs).validate_python({name: value for name, value in upgraded.items() if name in names})
    return _run(inputs, hostnames, work, variables or {}, order=order)


def _run(
    inputs: GroupInputs, hostnames: Sequence[str], work: Work, variables: Mapping[str, Any] = MappingProxyType({}), *, order: str = ""
) -> playbook.Outcome:
    groups = {inputs.group if inputs.group in OWN_GROUPS else COMPUTE: inputs.hosts, **({KUBERNETES: inputs.asked} if inputs.asked else {})}
    wanted = playbook.Run(
        playbook=order or inputs.playbook,
        inventory=inventory(groups, pool=inputs.group),
        variables={"spec": inputs.spec, "provided": inputs.provided, "release_folder": inputs.release_folder, "at_once": inputs.at_once, **variables},
        secrets=inputs.secrets,
        private_key=inputs.private_key,
        known_hosts=known_hosts((*inputs.hosts, *inputs.asked)),
        limit=",".join(hostnames),
    )
    try:
        outcome = playbook.run(wanted, work)
    except Stopped:
        _record(
            wanted,
            hostnames,
            Work(show=lambda _text, _is_kept: None, stopping=threading.Event(), timeout_s=RECORD_WITHIN_S, stack=work.stack, purpose=work.purpose),
        )
        raise
    unreachable = {failure.host for failure in outcome.failures if failure.unreachable}
    if not outcome.ok and (reached := [name for name in hostnames if name not in unreachable]):
        _record(wanted, reached, work)
    return outcome


def _record(order: playbook.Run, hostnames: Sequence[str], work: Work) -> None:
    """Close the round of changes on adopted servers that a run left open: what their owner changes from now on is theirs. A server that can't do it keeps the round open."""
    if "in_place" in (order.variables["provided"] or {}):
        with contextlib.suppress(Stopped):
            playbook.run(dataclasses.replace(order, playbook=RECORD, limit=",".join(hostnames)), work)


def marks(inputs: GroupInputs) -> dict[str, str]:
    """The mark that each host has once it is finished. Pure."""
    own = {host.name: _own(host.incarnation, host.interfaces) for host in inputs.hosts}
    return _marks(own, [inputs.content, inputs.spec, inputs.secrets, inputs.provided, *_of_asked({host.name: host.incarnation for host in inputs.asked})])


def _recorded_marks(recorded: Values) -> dict[str, str]:
    own = {host["name"]: _own(host["incarnation"], host.get("interfaces")) for host in recorded["hosts"]}
    asked = {host["name"]: host["incarnation"] for host in recorded.get("asked") or ()}
    return _marks(own, [recorded["content"], recorded["spec"], recorded["secrets"], recorded.get("provided", {}), *_of_asked(asked)])


def _of_asked(incarnations: Mapping[str, str]) -> list[Mapping[str, str]]:
    """Give what of the hosts that are asked belongs to a mark: nodes join again when all of the control plane has new disks."""
    return [incarnations] if incarnations else []


def _own(incarnation: str, interfaces: Sequence[Mapping[str, Any]] | None) -> str:
    """Give what only one host is configured from; hosts without interfaces to set up keep the mark that earlier versions gave them."""
    return incarnation if interfaces is None else f"{incarnation} {json.dumps([*interfaces], sort_keys=True)}"


def _marks(own: Mapping[str, str], inputs: Sequence[Any]) -> dict[str, str]:
    read = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    return {name: hashlib.sha256(f"{of_host} {read}".encode()).hexdigest()[:16] for name, of_host in own.items()}

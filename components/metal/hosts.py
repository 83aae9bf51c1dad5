"""A group of servers that exist already, as one resource: adopted all at once, watched, released.

Adopting marks a server as the stack's, keeps what was there before, lets the stack's key log in as root, and writes what a host needs before it is finished (`guest`). A server has another incarnation for each
installation of its operating system and for each adoption: one that was reinstalled is finished again, and only it.
"""

import base64
import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from blueprints import hostlist

from .. import release_choices
from ..bootstrap import files
from ..bootstrap.config import HostConfig, HostKeys
from ..provider.kind import UNKNOWN, Kind, PartlyMade, Refused, Values, Work
from . import connection, guest_program
from .connection import Answer, Login, Server
from .guest.adoption import FOLDER

LOOK_WITHIN_S = 60
ADOPT_WITHIN_S = 300
RELEASE_WITHIN_S = 900
BY_HAND = f"sudo python3 {FOLDER}/release.py"
"""Releases the server that it runs on."""
LOST = "the record of what was there before the adoption is gone; a release will remove the scheduler and the stack's own folders, and leave everything else as it is then"
STAYING_SHOWN = 20
SHOWN = 5
"""Servers whose trouble is explained one by one."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostsInputs:
    stack: str
    site: str
    """The stack's mark."""
    owner: str
    group: str
    role: str
    cluster: str
    login: Login
    members: tuple[Server, ...]
    least: int
    """How many of them must answer; with fewer, nothing is changed."""
    controllers: tuple[str, ...]
    """Addresses."""
    admin_public_key: str
    admin_private_key: str
    """Secret."""
    munge_key: str
    """Base64. Secret."""
    expected: str = ""
    """What a compute node must have before it takes jobs (`components/node_expectations.py`)."""


class Hosts(Kind[HostsInputs]):
    token = "clusterwright:metal:Hosts"
    inputs = HostsInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"stack", "group"})
    id_inputs = ("stack", "group")
    timeout_s = 1800

    def identity(self, inputs: HostsInputs) -> str:
        return f"{inputs.stack}/{inputs.group}"

    def expected(self, inputs: HostsInputs) -> Values:
        return {"up": [one.name for one in inputs.members], "hosts": UNKNOWN, "adopted": UNKNOWN, "boots": UNKNOWN, "hardware": UNKNOWN, "identity": UNKNOWN}

    def read(self, inputs: HostsInputs, outputs: Values) -> Values | None:
        """Look at every server. What is recorded of one that does not answer stays recorded: its state is unknown. One that a killed run adopted is recorded now."""
        answers = _ask(inputs, inputs.members, "look", within_s=LOOK_WITHIN_S, adopted=True)
        return _outputs(inputs, outputs, _ours(inputs, outputs, answers), is_look=True)

    def create(self, inputs: HostsInputs, work: Work) -> Values:
        return self.update(inputs, {}, work)

    def update(self, inputs: HostsInputs, outputs: Values, work: Work) -> Values:
        work.say(f"looking at {_servers(len(inputs.members))}")
        seen = _ask(inputs, inputs.members, "look", within_s=LOOK_WITHIN_S, adopted=bool(outputs))
        silent = _left_out(inputs, seen)
        work.check()
        answering = [server for server in inputs.members if server not in silent]
        work.say(f"adopting {_servers(len(answering))}")
        adopted = _ask(inputs, answering, "adopt", within_s=ADOPT_WITHIN_S, adopted=bool(outputs), order=_order(inputs, outputs))
        failures = [_complaint(inputs, server, answer) for server, answer in adopted.items() if not _is_done(answer)]
        released, stuck = self._release_others(inputs, outputs, work)
        found = _outputs(inputs, outputs, {server: answer for server, answer in adopted.items() if _is_done(answer)}, released=released, silent=silent)
        if lost := [server.name for server, answer in adopted.items() if _is_done(answer) and answer.value and answer.value.get("is_lost")]:
            work.tell(f"{hostlist.compress(lost)}: {LOST}")
        if failures or stuck:
            raise PartlyMade(*_few([*failures, *stuck]), outputs=found)
        if silent:
            work.tell(
                f"{hostlist.compress(one.name for one in silent)} did not answer and stays out: at least {inputs.least} of {_servers(len(inputs.members))} must"
            )
        return found

    def delete(self, inputs: HostsInputs, outputs: Values, work: Work) -> None:
        leaving = [Server(one["name"], one["address"], one["host_key"]) for one in _by_name(outputs).values()]
        work.say(f"releasing {_servers(len(leaving))}")
        if complaints := _release(inputs, outputs, leaving, work):
            raise Refused("\n".join([*_few(list(complaints.values())), _way_on(complaints, f"clusterwright down --stack {inputs.stack}")]))

    def _release_others(self, inputs: HostsInputs, outputs: Values, work: Work) -> tuple[list[str], list[str]]:
        """Release servers that left the group; give their names, and complaints about those that could not be released."""
        members = {one.name for one in inputs.members}
        leaving = [Server(one["name"], one["address"], one["host_key"]) for one in _by_name(outputs).values() if one["name"] not in members]
        if leaving:
            work.say(f"releasing {hostlist.compress(one.name for one in leaving)}")
        complaints = _release(inputs, outputs, leaving, work)
        way_on = [_way_on(complaints, f"clusterwright up --stack {inputs.stack}")] if complaints else []
        return [one.name for one in leaving if one not in complaints], [*complaints.values(), *way_on]


def _ask(
    inputs: HostsInputs, servers: Sequence[Server], action: str, *, within_s: float, adopted: bool, order: Mapping[str, Any] | None = None
) -> dict[Server, Answer]:
    if not servers:
        return {}
    program = guest_program.text({"do": action, **(order or {})})
    return connection.run(
        dict.fromkeys(servers, program), inputs.login, mark=guest_program.MARK, stack_key=inputs.admin_private_key, within_s=within_s, as_root_first=adopted
    )


def _order(inputs: HostsInputs, outputs: Values) -> dict[str, Any]:
    """Give what adopting a server of the group takes."""
    config = HostConfig(
        role=inputs.role,
        cluster=inputs.cluster,
        group=inputs.group,
        controllers=inputs.controllers,
        admin_key=inputs.admin_public_key,
        expected=inputs.expected,
    )
    written = [one for one in files.complete(config, HostKeys(inputs.munge_key)) if one.path != files.AUTHORIZED_KEYS]
    return {
        "token": inputs.site,
        **_evidence(inputs, outputs),
        "files": [{"path": one.path, "content": base64.b64encode(one.content).decode(), "mode": one.mode} for one in written],
    }


def _evidence(inputs: HostsInputs, outputs: Values) -> dict[str, Any]:
    """Give what tells the stack's own servers where somebody deleted mark and record (`guest/lost_mark.py`)."""
    ids = sorted(identity["machine-id"] for identity in (outputs.get("identity") or {}).values() if identity.get("machine-id"))
    stack = {"stack": inputs.stack, "owner": inputs.owner, "role": inputs.role}
    return {**stack, "adopted": ids, "admin_key": inputs.admin_public_key, "munge_key": inputs.munge_key}


def _release(inputs: HostsInputs, outputs: Values, servers: Sequence[Server], work: Work) -> dict[Server, str]:
    """Release servers, show what stays on them, and give complaints about those that could not be released and that nobody abandoned."""
    choices = release_choices.received()
    order = {"token": inputs.site, "group": inputs.group, **_evidence(inputs, outputs), **({"keep": []} if choices.deletes_data else {})}
    answers = _ask(inputs, servers, "release", within_s=RELEASE_WITHIN_S, adopted=True, order=order)
    complaints = {}
    for server, answer in answers.items():
        if not _is_done(answer):
            complaint = _complaint(inputs, server, answer)
            if server.name in choices.abandoned:
                work.tell(f"{complaint}\n  {server.name} is abandoned: the stack forgets it as it is. To release it later, on it: {BY_HAND}")
            else:
                complaints[server] = complaint
        elif answer.value:
            for line in _staying(answer.value):
                work.tell(f"{server.name}: {line}")
    return complaints


def _staying(answer: Mapping[str, Any]) -> list[str]:
    """Say what a release left on a server."""
    stays = [f"{one['what']} stays: {one['why']}" for one in answer["stays"]]
    shown = stays if len(stays) <= STAYING_SHOWN else [*stays[:STAYING_SHOWN], f"and {len(stays) - STAYING_SHOWN} more places stay"]
    return [*shown, *(f"data is kept in {path}" for path in answer["kept"])]


def _way_on(complaints: Mapping[Server, str], command: str) -> str:
    """Say how to go on without the servers that could not be released."""
    names = hostlist.compress(one.name for one in complaints)
    return f"to go on without them, as they are: {command} --abandon {shlex.quote(names)}"


def _ours(inputs: HostsInputs, outputs: Values, answers: Mapping[Server, Answer]) -> dict[Server, Answer]:
    """Give what servers answered that are recorded as the stack's, or have its mark."""
    recorded = _by_name(outputs)
    return {server: answer for server, answer in answers.items() if answer.value and (server.name in recorded or answer.value.get("token") == inputs.site)}


def _outputs(
    inputs: HostsInputs,
    outputs: Values,
    answers: Mapping[Server, Answer],
    *,
    released: Sequence[str] = (),
    silent: Sequence[Server] = (),
    is_look: bool = False,
) -> Values:
    """Give what is known now: of servers that answered what they said, of others what is recorded.

    Args:
        released: names of servers that are the stack's no more.
        silent: servers that are left out of the work for now. They stay adopted.
        is_look: nothing was done to them. One whose root no longer accepts the stack's key is not up: adopting it writes the key again.
    """
    facts = {server.name: answer.value for server, answer in answers.items() if answer.value}
    ours = {name for name, seen in facts.items() if seen.get("token") == inputs.site}
    recorded, members = _by_name(outputs), {one.name: one for one in inputs.members}
    adopted, boots, hardware, identity = [], {}, {}, {}
    for name in dict.fromkeys((*members, *recorded)):
        seen, before = facts.get(name), recorded.get(name)
        if name in released or (seen is None and before is None):
            continue
        known = dataclasses.asdict(members[name]) if name in members else {}
        host = {**(before or {}), **known, **({"incarnation": seen["incarnation"]} if seen else {})}
        adopted.append(host)
        boots[name] = seen["boot_id"] if seen else (outputs.get("boots") or {}).get(name, "")
        # What was found first counts as long as the system is the same: Slurm need not hear of each small difference.
        is_same = before is not None and before["incarnation"] == host["incarnation"]
        hardware[name] = ((outputs.get("hardware") or {}).get(name) if is_same else None) or (seen["hardware"] if seen else {})
        # Of a system without the stack's mark, as one that was installed again, nothing is recorded until it is adopted.
        identity[name] = _identity(seen) if seen and name in ours else (outputs.get("identity") or {}).get(name, {})
    out = {one.name for one in silent}
    locked = {server.name for server, answer in answers.items() if answer.is_second_way} if is_look else set()
    up = [one["name"] for one in adopted if one["name"] not in members or one["name"] in ours - locked]
    there = [one for one in adopted if one["name"] not in out]
    return {"up": up, "hosts": there, "adopted": adopted, "boots": boots, "hardware": hardware, "identity": identity}


def _identity(seen: Mapping[str, Any]) -> dict[str, str]:
    """Give what tells a server from others of its kind, by the names that drift checks use (`inspection/program/server.py`)."""
    machine = seen["machine"]
    known = {"serial number": machine["serial"], "serial number of the board": machine["board_serial"], "product": machine["product"]}
    return {"machine-id": seen["machine_id"], **known}


def _by_name(outputs: Values) -> dict[str, dict[str, str]]:
    """Give the servers that are recorded as the stack's."""
    return {one["name"]: dict(one) for one in outputs.get("adopted") or ()}


def _is_done(answer: Answer) -> bool:
    return answer.value is not None and bool(answer.value["ok"])


def _complaint(inputs: HostsInputs, server: Server, answer: Answer) -> str:
    if answer.value is None:
        return connection.explain(server, answer, inputs.login)
    refused = answer.value["refused"]
    return f"{server.name}: {refused['what']}\n  why: {refused['why']}\n  do:  {refused['remedy']}"


def _left_out(inputs: HostsInputs, seen: Mapping[Server, Answer]) -> list[Server]:
    """Give the servers that do not answer, and are left out of the work for now.

    Raises:
        Refused: too few are left.
    """
    silent = [server for server, answer in seen.items() if answer.is_silent]
    if len(inputs.members) - len(silent) < inputs.least:
        raise Refused(_too_few(inputs, {server: seen[server] for server in silent}))
    return silent


def _too_few(inputs: HostsInputs, silent: Mapping[Server, Answer]) -> str:
    there = len(inputs.members) - len(silent)
    said = [connection.explain(server, answer, inputs.login) for server, answer in silent.items()]
    head = f"{there} of {_servers(len(inputs.members))} of {inputs.group} answer, and at least {inputs.least} must; nothing was changed"
    return "\n".join([head, *_few(said)])


def _few(complaints: list[str]) -> list[str]:
    return complaints if len(complaints) <= SHOWN else [*complaints[:SHOWN], f"and {len(complaints) - SHOWN} more servers"]


def _servers(count: int) -> str:
    return f"{count} server{'' if count == 1 else 's'}"

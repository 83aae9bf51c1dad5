"""One BMC by Redfish, through DMTF's own client: a session that is always closed, facts, and power.

Resources are read as they are: BMCs leave out properties that the schemas require.
Source: DMTF DSP0266 (Redfish Specification) 1.23 and the schemas of DSP8010.
"""

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib import parse

import requests
from redfish.rest import v1
from urllib3 import exceptions

from .model import REDFISH_PORT, Access, Action, Board, Cause, Facts, Power, Protocol, Unanswered
from .pinning import Pinned

LOGIN_SHARE = 0.4
"""Of the whole time, for each request of a log-in."""
SHORTEST_S = 0.5
LOOK_EVERY_S = 2.0
EVENTS = 5
RESET_TYPES: Mapping[Action, tuple[str, ...]] = {
    Action.ON: ("On", "ForceOn"),
    Action.OFF: ("GracefulShutdown",),
    Action.HARD_OFF: ("ForceOff",),
    Action.CYCLE: ("PowerCycle", "ForceRestart"),
}
"""Action → values of ResetType that carry it out, the best first (Resource.ResetType, DSP8010)."""
POWER_STATES = {"On": Power.ON, "Off": Power.OFF, "PoweringOn": Power.CHANGING, "PoweringOff": Power.CHANGING}
DELL_INSTALLED = re.compile(r"Installed-.*?__(?P<name>.+)")
"""iDRAC names an entry of the firmware inventory after its state and version; the others, `Previous-…` and `Available-…`, run nowhere."""
DELL_ELSEWHERE = re.compile(r"(?:Previous|Available|Current)-")
NO_PROXY = dict.fromkeys(("http", "https", "all"))
"""BMCs are asked directly: proxies of the environment don't reach their network."""

logging.getLogger("redfish").setLevel(logging.CRITICAL)  # its messages hold session keys and whole answers


class Service:
    """A logged-in Redfish service."""

    def __init__(self, client: v1.HttpClient, board: Board, deadline: float):
        self._client, self._board, self._deadline = client, board, deadline
        self._resources: dict[str, Mapping[str, Any]] = {}
        with _translated(board):
            self._root = _mapping({"root": client.root_resp.dict}, "root")

    def facts(self, *, with_log: bool) -> Facts:
        """Read the server's facts, what matters most first; what comes too late is named in `incomplete`.

        Raises:
            Unanswered: not even the power state came.
        """
        system = self._system()
        late: list[str] = []
        firmware = {"BIOS": _text(system, "BiosVersion")}
        firmware |= self._if_in_time("its own firmware", lambda: self._own_firmware(system), late) or {}
        firmware |= self._if_in_time("the firmware of parts", self._firmware, late) or {}
        events = self._if_in_time("its log", lambda: self._events(system), late) if with_log else ()
        boot = _mapping(system, "Boot")
        enabled, source = _text(boot, "BootSourceOverrideEnabled"), _text(boot, "BootSourceOverrideTarget")
        status = _mapping(system, "Status")
        return Facts(
            protocol=Protocol.REDFISH,
            power=POWER_STATES.get(_text(system, "PowerState"), Power.UNKNOWN),
            manufacturer=_text(system, "Manufacturer"),
            model=_text(system, "Model"),
            serial=_text(system, "SerialNumber"),
            health=_text(status, "HealthRollup") or _text(status, "Health"),
            boot=f"{source} ({enabled})" if enabled not in ("", "Disabled") and source not in ("", "None") else "",
            firmware={name: version for name, version in firmware.items() if version},
            events=tuple(events or ()),
            incomplete=", ".join(late),
        )

    def power(self) -> Power:
        """Read the power state."""
        return POWER_STATES.get(_text(self._system(), "PowerState"), Power.UNKNOWN)

    def act(self, action: Action) -> None:
        """Carry out an action and wait until the BMC has done it.

        Raises:
            Unanswered: the BMC offers no such reset, or refuses it.
        """
        system = self._system()
        reset = _mapping(_mapping(system, "Actions"), "#ComputerSystem.Reset")
        offered = self._offered(reset)
        if action is Action.CYCLE and POWER_STATES.get(_text(system, "PowerState")) is Power.OFF:
            action = Action.ON
        chosen = next((one for one in RESET_TYPES[action] if one in offered), None)
        if chosen is None:
            raise Unanswered(Cause.REFUSED, f"{self._board.address} offers no reset for `{action}`: it offers {', '.join(sorted(offered)) or 'none'}")
        self._finished(self._request("POST", _text(reset, "target"), {"ResetType": chosen}))

    def get(self, path: str) -> Mapping[str, Any]:
        """Read a resource, once in a session.

        Raises:
            Unanswered: it is not there, or is no JSON object.
        """
        if path in self._resources:
            return self._resources[path]
        found = _content(self._request("GET", path), self._board)
        if not isinstance(found, dict):
            raise Unanswered(Cause.UNUSABLE, f"{self._board.address} gave no object for {path}")
        self._resources[path] = found
        return found

    def _system(self) -> Mapping[str, Any]:
        """Find the server among the systems of the service: baseboards of GPUs are systems too, and have no BIOS."""
        members = [self.get(path) for path in self._members(_link(self._root, "Systems"))]
        servers = [one for one in members if "#ComputerSystem.Reset" in _mapping(one, "Actions")] or members
        if len(servers) > 1:
            servers = [one for one in servers if _text(one, "BiosVersion")] or servers
        if len(servers) != 1:
            names = ", ".join(_text(one, "Id") for one in servers) or "none"
            raise Unanswered(Cause.UNUSABLE, f"{self._board.address} manages not exactly one server: {names}")
        return servers[0]

    def _offered(self, reset: Mapping[str, Any]) -> tuple[str, ...]:
        """List the values of ResetType, which a service gives beside the action or in a resource of their own."""
        if values := reset.get("ResetType@Redfish.AllowableValues"):
            return tuple(values)
        if path := _text(reset, "@Redfish.ActionInfo"):
            parameters = self.get(path).get("Parameters") or ()
            return tuple(value for one in parameters if one.get("Name") == "ResetType" for value in one.get("AllowableValues") or ())
        return ()

    def _own_firmware(self, system: Mapping[str, Any]) -> dict[str, str]:
        linked = [_text(one, "@odata.id") for one in _mapping(system, "Links").get("ManagedBy") or ()]
        managers = [self.get(path) for path in linked or self._members(_link(self._root, "Managers"))]
        own = next((one for one in managers if _text(one, "ManagerType") == "BMC"), managers[0] if managers else {})
        return {"BMC": _text(own, "FirmwareVersion")}

    def _firmware(self) -> dict[str, str]:
        update = _link(self._root, "UpdateService")
        inventory = _link(self.get(update), "FirmwareInventory") if update else ""
        found = {}
        for one in self._expanded(inventory):
            identity = _text(one, "Id")
            dell = DELL_INSTALLED.match(identity)
            if dell or not DELL_ELSEWHERE.match(identity):
                found[dell["name"] if dell else identity] = _text(one, "Version")
        return found

    def _events(self, system: Mapping[str, Any]) -> tuple[str, ...]:
        """Read the end of the first log that has entries: the system event log where there is one."""
        owners = [system, *([self.get(path) for path in self._members(_link(self._root, "Managers"))[:1]])]
        services = [path for owner in owners for path in self._members(_link(owner, "LogServices"))]
        services.sort(key=lambda path: not re.search(r"/(?:SEL|Sel|EventLog|Log1)$", path))
        for path in services[:2]:
            entries = _link(self.get(path), "Entries")
            if entries and (found := [one for one in self.get(entries).get("Members") or () if "Created" in one]):
                newest = sorted(found, key=lambda one: (_text(one, "Created"), _text(one, "Id")))[-EVENTS:]
                return tuple(" ".join(filter(None, (_text(one, "Created"), _text(one, "Severity"), _text(one, "Message")))) for one in newest)
        return ()

    def _members(self, path: str) -> tuple[str, ...]:
        return tuple(_text(one, "@odata.id") for one in self.get(path).get("Members") or ()) if path else ()

    def _expanded(self, path: str) -> Iterator[Mapping[str, Any]]:
        """Read the members of a collection, in one request where the service can (DSP0266, `$expand`)."""
        if not path:
            return
        if _mapping(_mapping(self._root, "ProtocolFeaturesSupported"), "ExpandQuery").get("NoLinks"):
            yield from self.get(f"{path}?$expand=.($levels=1)").get("Members") or ()
        else:
            yield from (self.get(one) for one in self._members(path))

    def _if_in_time(self, what: str, read: Callable[[], Any], late: list[str]) -> Any:
        try:
            return read()
        except Unanswered as error:
            late.append(f"{what} ({error.cause})")
            return None

    def _finished(self, answer: v1.RestResponse) -> None:
        """Wait for the task of an action."""
        while answer.status == requests.codes.accepted and (place := answer.task_location):
            if time.monotonic() + LOOK_EVERY_S > self._deadline:
                raise Unanswered(Cause.SILENT, f"{self._board.address} accepted the action and has not finished it")
            time.sleep(min(answer.retry_after or LOOK_EVERY_S, LOOK_EVERY_S))
            answer = self._request("GET", place)
        _content(answer, self._board)

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> v1.RestResponse:
        timeout = self._deadline - time.monotonic()
        if timeout < SHORTEST_S:
            raise Unanswered(Cause.SILENT, f"{self._board.address} is too slow")
        split = parse.urlsplit(path)
        asked = split.path + (f"?{split.query}" if split.query else "")
        with _translated(self._board):
            if method == "GET":
                return self._client.get(asked, timeout=timeout)
            return self._client.post(asked, body=dict(body or {}), timeout=timeout)


@contextlib.contextmanager
def session(board: Board, access: Access, *, within_s: float) -> Iterator[Service]:
    """Log in to a BMC, once, and log out at the end.

    Args:
        within_s: the time for everything but the log-out.
    Raises:
        Unanswered: there is no connection, or the BMC refuses.
    """
    if not board.certificate and not access.authority:
        raise Unanswered(Cause.CERTIFICATE, f"no certificate of {board.address} is pinned, and no authority is named")
    deadline = time.monotonic() + within_s
    connections = Pinned(board.certificate)
    client = v1.HttpClient(
        base_url=f"https://{board.name}:{board.port or REDFISH_PORT}",
        username=access.user,
        password=access.password,
        timeout=max(within_s * LOGIN_SHARE, SHORTEST_S),
        max_retry=0,  # a second try would count as a second wrong password
        cafile=access.authority if not board.certificate else None,
        proxies=NO_PROXY,
        check_connectivity=False,
        https_adapter=connections,
    )
    try:
        with _translated(board):
            client.get_root_object()
            client.login_url = _link(_mapping(client.root_resp.dict, "Links"), "Sessions") or client.login_url
            client.login(auth=v1.AuthMethod.SESSION)
        yield Service(client, board, deadline)
    finally:
        with contextlib.suppress(v1.RetriesExhaustedError, v1.BadRequestError):  # the BMC ends the session by itself later
            client.logout()
        connections.close()


@contextlib.contextmanager
def _translated(board: Board) -> Iterator[None]:
    """Turn what the client raises into what a BMC did."""
    try:
        yield
    except v1.InvalidCredentialsError as error:
        raise Unanswered(Cause.PASSWORD, f"{board.address} refuses the user or the password") from error
    except v1.SessionCreationError as error:
        raise Unanswered(Cause.REFUSED, f"{board.address} opens no session: {_short(str(error))}") from error
    except v1.ServerDownOrUnreachableError as error:
        missing = error.response is not None and error.response.status in (requests.codes.not_found, requests.codes.not_allowed)
        raise Unanswered(Cause.ABSENT if missing else Cause.REFUSED, f"{board.address}: {_short(str(error))}") from error
    except v1.JsonDecodingError as error:
        raise Unanswered(Cause.UNUSABLE, f"{board.address} answers with something that is not JSON") from error
    except v1.RetriesExhaustedError as error:
        raise _of_connection(board, error.__cause__ or error) from error


def _of_connection(board: Board, error: BaseException) -> Unanswered:
    causes = tuple(_causes(error))
    reason = _short(str(causes[-1]))
    match error:
        case requests.exceptions.SSLError():
            return Unanswered(
                Cause.CERTIFICATE, f"{board.address} shows another certificate than the pinned one, or one that the authority did not sign: {reason}"
            )
        case requests.exceptions.ConnectTimeout():
            return Unanswered(Cause.UNREACHABLE, f"there is no connection to {board.address}")
        case requests.exceptions.InvalidURL():
            return Unanswered(Cause.UNUSABLE, f"{board.address}: {reason}")
        case _ if any(isinstance(one, ConnectionRefusedError) for one in causes):
            return Unanswered(Cause.ABSENT, f"nothing listens at {board.address}")
        case _ if any(isinstance(one, TimeoutError | exceptions.TimeoutError | requests.exceptions.Timeout) for one in causes):
            return Unanswered(Cause.SILENT, f"{board.address} accepts connections and does not answer")
        case _:
            return Unanswered(Cause.UNREACHABLE, f"{board.address}: {reason}")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and what it wraps, the innermost last."""
    while error is not None:
        yield error
        first = error.args[0] if error.args else None
        wrapped = (getattr(error, "reason", None), first, error.__cause__)
        error = next((one for one in wrapped if isinstance(one, BaseException)), None)


def _content(answer: v1.RestResponse, board: Board) -> Any:
    """Give an answer's content.

    Raises:
        Unanswered: the answer is an error.
    """
    if answer.status == requests.codes.unauthorized:
        raise Unanswered(Cause.PASSWORD, f"{board.address} ended the session")
    with _translated(board):
        content = answer.dict
    if answer.status >= requests.codes.bad_request:
        raise Unanswered(Cause.REFUSED, f"{board.address} refuses: HTTP {answer.status} {_message(content)}".rstrip())
    return content


def _message(content: Any) -> str:
    """Read what a Redfish error says (DSP0266, error responses)."""
    error = _mapping(content, "error")
    extended = [_text(one, "Message") or _text(one, "MessageId") for one in error.get("@Message.ExtendedInfo") or () if isinstance(one, dict)]
    return _short(" ".join(filter(None, extended)) or _text(error, "message"))


def _short(text: str) -> str:
    return " ".join(text.split())[:200]


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name) if isinstance(value, dict) else None
    return str(found).strip() if isinstance(found, str | int | float) else ""


def _link(value: Mapping[str, Any], name: str) -> str:
    return _text(_mapping(value, name), "@odata.id")

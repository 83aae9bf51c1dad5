"""A strict simulated BMC that serves Redfish over TLS: it refuses what the specification forbids, and its power switches whatever a test gives it.

Source: DMTF DSP0266 (Redfish Specification) for requests, sessions, ETags, errors, actions and tasks; DSP8010 for the resources.

DMTF's own Redfish Protocol Validator 1.3.2 passes 189 assertions and fails three, SEC_PRIV_SUPPORT_PREDEFINED_ROLES for Administrator,
Operator and ReadOnly: the BMC has one user and no AccountService, since clusterwright creates no users on BMCs. The validator leaves out 55
more: changes of accounts (ETags of writes, PATCH, privileges, expired passwords), events (SSE), discovery by SSDP and OpenAPI. None of these
is used either.
"""

import base64
import contextlib
import dataclasses
import hashlib
import http.server
import json
import secrets
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

ROOT = "/redfish/v1/"
SCHEMAS = "http://redfish.dmtf.org/schemas/v1/"
METADATA = "/redfish/v1/$metadata"
METADATA_DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
<edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/ServiceRoot_v1.xml"><edmx:Include Namespace="ServiceRoot"/><edmx:Include Namespace="ServiceRoot.v1_16_0"/></edmx:Reference>
<edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">
<EntityContainer Name="Service" Extends="ServiceRoot.v1_16_0.ServiceContainer"/></Schema></edmx:DataServices></edmx:Edmx>
"""
OPEN = ("/redfish", "/redfish/", "/redfish/v1", ROOT, "/redfish/v1/odata", "/redfish/v1/$metadata")
"""What everybody may read (DSP0266, "Authentication requirements")."""
SESSIONS = "/redfish/v1/SessionService/Sessions"
RESET = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
RESET_TYPES = ("On", "ForceOff", "GracefulShutdown", "ForceRestart", "PowerCycle")
ON_AFTER = ("On", "ForceRestart", "PowerCycle")
DRIP_EVERY_S = 0.2


@dataclasses.dataclass
class Fault:
    """What is wrong with a BMC."""

    silent: bool = False
    """It accepts connections, and never answers."""
    drips: bool = False
    """It answers byte by byte, and never ends."""
    slow_s: float = 0.0
    """Each answer takes so long."""
    elsewhere: str = ""
    """It redirects everything there."""
    absent: bool = False
    """The web server knows no Redfish."""
    refuses_resets: bool = False


class Bmc:
    """One BMC. `switch` is called with a value of ResetType once the reset is due."""

    reset_path = RESET

    def __init__(self, folder: Path, *, user: str = "operator", password: str = "correct horse", lockout: int = 3, switch: Callable[[str], None] | None = None):
        self.user, self.password, self.lockout = user, password, lockout
        self.switch = switch or (lambda _: None)
        self.fault = Fault()
        self.power = "On"
        self.ignores_shutdown = False
        """Whether the operating system does nothing when it is asked to shut down."""
        self.task_s: float | None = None
        """A reset is a task that takes so long; None: it is done when it is answered."""
        self.expands = True
        """Whether it answers `$expand`."""
        self.lists_resets_apart = False
        """Whether the values of ResetType are in a resource of their own."""
        self.most_sessions = 4
        self.offered: tuple[str, ...] = RESET_TYPES
        self.serial, self.model, self.bios, self.own_version, self.health = "SN-0001", "HGX H100", "1.4.2", "24.09.1", "OK"
        self.parts = {"GPU_SXM_1": "96.00.A5.00.01", "NIC_1": "28.39.1002"}
        self.sessions: dict[str, str] = {}
        """Path of a session → its key."""
        self.log_ins = 0
        self.refused_log_ins = 0
        self.resets: list[str] = []
        self.requests: list[str] = []
        self.is_ending = threading.Event()
        self._tasks: dict[str, tuple[float, str]] = {}
        self._lock = threading.RLock()
        self._certificate = folder / "bmc.pem"
        _make_certificate(self._certificate)
        self._server: _Server | None = None

    @property
    def certificate(self) -> str:
        """Give the fingerprint of the certificate."""
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(self._certificate.read_text().partition("-----END PRIVATE KEY-----\n")[2])).hexdigest()

    @property
    def authority(self) -> Path:
        """Give the certificate as a file, which signed itself."""
        return self._certificate

    @property
    def address(self) -> str:
        assert self._server is not None
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    @contextlib.contextmanager
    def serving(self, host: str = "127.0.0.1", port: int = 0) -> Iterator["Bmc"]:
        """Serve at an address of this machine: each of 127.0.0.0/8 is one."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate)
        self._server = _Server((host, port), _Handler)
        self._server.bmc, self._server.context = self, context
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.is_ending.set()
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def log_in(self, body: Any) -> "Answer":
        """Open a session (DSP0266, "Redfish session login authentication")."""
        if not isinstance(body, dict) or set(body) - {"UserName", "Password"} or not {"UserName", "Password"} <= set(body):
            return error(HTTPStatus.BAD_REQUEST, "PropertyMissing", "UserName and Password are required, and nothing else is known")
        self.log_ins += 1
        if self.refused_log_ins >= self.lockout:
            return error(HTTPStatus.UNAUTHORIZED, "AccountLocked", "The account is locked.")
        if (body["UserName"], body["Password"]) != (self.user, self.password):
            self.refused_log_ins += 1
            return error(HTTPStatus.UNAUTHORIZED, "NoValidSession", "The credentials are not valid.")
        if len(self.sessions) >= self.most_sessions:
            return error(HTTPStatus.SERVICE_UNAVAILABLE, "SessionLimitExceeded", "The session establishment failed: too many are open.")
        self.refused_log_ins = 0
        path, key = f"{SESSIONS}/{secrets.token_hex(4)}", secrets.token_hex(16)
        self.sessions[path] = key
        return Answer(HTTPStatus.CREATED, self._session(path), {"X-Auth-Token": key, "Location": path})

    def reset(self, body: Any) -> "Answer":
        if not isinstance(body, dict) or set(body) - {"ResetType"}:
            return error(HTTPStatus.BAD_REQUEST, "ActionParameterUnknown", "The action has the parameter ResetType alone.")
        kind = body.get("ResetType")
        if kind not in self.offered:
            return error(HTTPStatus.BAD_REQUEST, "ActionParameterNotSupported", f"The value {kind!r} is not allowable.")
        if self.fault.refuses_resets:
            return error(HTTPStatus.CONFLICT, "ResourceInUse", "The change of the power state is in use.")
        if (self.power == "On") is (kind == "On"):
            return error(HTTPStatus.CONFLICT, "NoOperation", "The server already has this power state.")
        self.resets.append(kind)
        if self.task_s is None:
            self._done(kind)
            return Answer(HTTPStatus.NO_CONTENT)
        path = f"/redfish/v1/TaskService/TaskMonitors/{len(self.resets)}"
        self._tasks[path] = (time.monotonic() + self.task_s, kind)
        return Answer(HTTPStatus.ACCEPTED, {"@odata.id": path, "TaskState": "Running"}, {"Location": path, "Retry-After": "1"})

    def monitor(self, path: str) -> "Answer":
        """Answer for a task: 202 while it runs, then what the action answers (DSP0266, "Asynchronous operations")."""
        due, kind = self._tasks[path]
        if time.monotonic() < due:
            return Answer(HTTPStatus.ACCEPTED, {"@odata.id": path, "TaskState": "Running"}, {"Location": path, "Retry-After": "1"})
        del self._tasks[path]
        self._done(kind)
        return Answer(HTTPStatus.NO_CONTENT)

    def _done(self, kind: str) -> None:
        if kind == "GracefulShutdown" and self.ignores_shutdown:
            return
        self.power = "On" if kind in ON_AFTER else "Off"
        self.switch(kind)

    def _session(self, path: str) -> dict[str, Any]:
        return {
            "@odata.id": path,
            "@odata.type": "#Session.v1_7_0.Session",
            "Id": path.rpartition("/")[2],
            "Name": "Session",
            "UserName": self.user,
            "Password": None,
        }

    def resources(self) -> dict[str, dict[str, Any]]:
        """Give every resource by its path."""
        reset: dict[str, Any] = {"target": RESET}
        if self.lists_resets_apart:
            reset["@Redfish.ActionInfo"] = "/redfish/v1/Systems/1/ResetActionInfo"
        else:
            reset["ResetType@Redfish.AllowableValues"] = list(self.offered)
        inventory = "/redfish/v1/UpdateService/FirmwareInventory"
        entries = "/redfish/v1/Managers/bmc/LogServices/SEL/Entries"
        parts = {
            f"{inventory}/{name}": resource(f"{inventory}/{name}", "SoftwareInventory.v1_10_0.SoftwareInventory", Version=version, Updateable=True)
            for name, version in self.parts.items()
        }
        events = {
            f"{entries}/{number}": resource(
                f"{entries}/{number}",
                "LogEntry.v1_16_0.LogEntry",
                EntryType="SEL",
                Created=f"2026-01-0{number}T00:00:00Z",
                Severity="OK",
                Message=f"event {number}",
            )
            for number in range(1, 8)
        }
        return {
            ROOT: resource(
                ROOT,
                "ServiceRoot.v1_16_0.ServiceRoot",
                RedfishVersion="1.18.0",
                UUID="92384634-2938-2342-8820-489239905423",
                ProtocolFeaturesSupported={
                    "ExpandQuery": {"ExpandAll": False, "Levels": self.expands, "Links": False, "NoLinks": self.expands, "MaxLevels": 1}
                },
                Systems=link("/redfish/v1/Systems"),
                Managers=link("/redfish/v1/Managers"),
                UpdateService=link("/redfish/v1/UpdateService"),
                SessionService=link("/redfish/v1/SessionService"),
                Links={"Sessions": link(SESSIONS)},
            ),
            "/redfish/v1/SessionService": resource("/redfish/v1/SessionService", "SessionService.v1_1_9.SessionService", Sessions=link(SESSIONS)),
            SESSIONS: collection(SESSIONS, "Session", list(self.sessions)),
            **{path: self._session(path) for path in self.sessions},
            "/redfish/v1/Systems": collection("/redfish/v1/Systems", "ComputerSystem", ["/redfish/v1/Systems/1", "/redfish/v1/Systems/HGX_Baseboard_0"]),
            "/redfish/v1/Systems/1": resource(
                "/redfish/v1/Systems/1",
                "ComputerSystem.v1_22_0.ComputerSystem",
                SystemType="Physical",
                Manufacturer="Simulated",
                Model=self.model,
                SerialNumber=self.serial,
                BiosVersion=self.bios,
                PowerState=self.power,
                Status={"State": "Enabled", "Health": "OK", "HealthRollup": self.health},
                Boot={
                    "BootSourceOverrideEnabled": "Once",
                    "BootSourceOverrideTarget": "Pxe",
                    "BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Hdd"],
                },
                Links={"ManagedBy": [link("/redfish/v1/Managers/bmc")]},
                Actions={"#ComputerSystem.Reset": reset},
            ),
            "/redfish/v1/Systems/HGX_Baseboard_0": resource(
                "/redfish/v1/Systems/HGX_Baseboard_0",
                "ComputerSystem.v1_22_0.ComputerSystem",
                SystemType="Physical",
                PowerState=self.power,
                Actions={"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/HGX_Baseboard_0/Actions/ComputerSystem.Reset"}},
            ),
            "/redfish/v1/Systems/1/ResetActionInfo": resource(
                "/redfish/v1/Systems/1/ResetActionInfo",
                "ActionInfo.v1_4_0.ActionInfo",
                Parameters=[{"Name": "ResetType", "Required": True, "DataType": "String", "AllowableValues": list(self.offered)}],
            ),
            "/redfish/v1/Managers": collection("/redfish/v1/Managers", "Manager", ["/redfish/v1/Managers/bmc"]),
            "/redfish/v1/Managers/bmc": resource(
                "/redfish/v1/Managers/bmc",
                "Manager.v1_19_0.Manager",
                ManagerType="BMC",
                FirmwareVersion=self.own_version,
                LogServices=link("/redfish/v1/Managers/bmc/LogServices"),
            ),
            "/redfish/v1/Managers/bmc/LogServices": collection(
                "/redfish/v1/Managers/bmc/LogServices", "LogService", ["/redfish/v1/Managers/bmc/LogServices/SEL"]
            ),
            "/redfish/v1/Managers/bmc/LogServices/SEL": resource(
                "/redfish/v1/Managers/bmc/LogServices/SEL", "LogService.v1_7_0.LogService", Entries=link(entries)
            ),
            entries: {**collection(entries, "LogEntry", []), "Members": list(events.values()), "Members@odata.count": len(events)},
            **events,
            "/redfish/v1/UpdateService": resource("/redfish/v1/UpdateService", "UpdateService.v1_14_0.UpdateService", FirmwareInventory=link(inventory)),
            inventory: collection(inventory, "SoftwareInventory", list(parts)),
            **parts,
        }


@dataclasses.dataclass(frozen=True)
class Answer:
    status: HTTPStatus
    body: Any = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


def link(path: str) -> dict[str, str]:
    return {"@odata.id": path}


def resource(path: str, kind: str, **values: Any) -> dict[str, Any]:
    name = path.rstrip("/").rpartition("/")[2] if path != ROOT else "RootService"
    return {"@odata.id": path, "@odata.type": f"#{kind}", "Id": name, "Name": name, **values}


def collection(path: str, kind: str, members: list[str]) -> dict[str, Any]:
    return {
        "@odata.id": path,
        "@odata.type": f"#{kind}Collection.{kind}Collection",
        "Name": f"{kind} Collection",
        "Members": [link(member) for member in members],
        "Members@odata.count": len(members),
    }


def error(status: HTTPStatus, message: str, text: str) -> Answer:
    extended = [{"@odata.type": "#Message.v1_2_1.Message", "MessageId": f"Base.1.18.{message}", "Message": text, "Severity": "Critical", "Resolution": "None."}]
    return Answer(status, {"error": {"code": f"Base.1.18.{message}", "message": text, "@Message.ExtendedInfo": extended}})


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    bmc: Bmc
    context: ssl.SSLContext

    def get_request(self) -> tuple[socket.socket, Any]:
        plain, address = super().get_request()
        return self.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that see a foreign certificate end the connection."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    @property
    def bmc(self) -> Bmc:
        return cast("_Server", self.server).bmc

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer_to("GET")

    def do_HEAD(self) -> None:
        self._answer_to("HEAD")

    def do_POST(self) -> None:
        self._answer_to("POST")

    def do_PATCH(self) -> None:
        self._answer_to("PATCH")

    def do_DELETE(self) -> None:
        self._answer_to("DELETE")

    def _answer_to(self, method: str) -> None:
        bmc, fault = self.bmc, self.bmc.fault
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        if fault.silent:
            self.rfile.read(1)  # until the client gives up
            return
        if fault.drips:
            self._drip()
            return
        time.sleep(fault.slow_s)
        with bmc._lock:
            bmc.requests.append(f"{method} {self.path}")
            answer = self._decide(method, sent)
        self._send(method, answer)

    def _decide(self, method: str, sent: bytes) -> Answer:
        bmc = self.bmc
        path, _, query = self.path.partition("?")
        if bmc.fault.absent:
            return Answer(HTTPStatus.NOT_FOUND)
        if bmc.fault.elsewhere:
            return Answer(HTTPStatus.TEMPORARY_REDIRECT, None, {"Location": bmc.fault.elsewhere})
        if self.headers.get("OData-Version", "4.0") != "4.0":
            return error(HTTPStatus.PRECONDITION_FAILED, "HeaderInvalid", "OData-Version")
        is_log_in = (method, path) in (("POST", SESSIONS), ("POST", f"{SESSIONS}/Members"))
        if not is_log_in and not (method in ("GET", "HEAD") and path in OPEN) and not self._is_known():
            refused = error(HTTPStatus.UNAUTHORIZED, "NoValidSession", "There is no valid session established with the implementation.")
            return dataclasses.replace(refused, headers={"WWW-Authenticate": 'Basic realm="Redfish"'})
        body: Any = None
        if method in ("POST", "PATCH"):
            if self.headers.get_content_type() != "application/json":
                return error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "HeaderInvalid", "Content-Type")
            try:
                body = json.loads(sent)
            except ValueError:
                return error(HTTPStatus.BAD_REQUEST, "MalformedJSON", "The request body is not JSON.")
        return self._routed(method, path, query, body)

    def _routed(self, method: str, path: str, query: str, body: Any) -> Answer:
        bmc = self.bmc
        if method == "POST" and path in (SESSIONS, f"{SESSIONS}/Members"):
            return bmc.log_in(body)
        if path == bmc.reset_path:
            return bmc.reset(body) if method == "POST" else Answer(HTTPStatus.METHOD_NOT_ALLOWED, None, {"Allow": "POST"})
        if path in bmc._tasks:
            return bmc.monitor(path)
        if method in ("GET", "HEAD") and path in ("/redfish", "/redfish/"):
            return Answer(HTTPStatus.OK, {"v1": ROOT})
        if method in ("GET", "HEAD") and path == "/redfish/v1/odata":
            names = [{"name": name, "kind": "Singleton", "url": f"/redfish/v1/{name}"} for name in ("Systems", "Managers", "SessionService", "UpdateService")]
            return Answer(HTTPStatus.OK, {"@odata.context": METADATA, "value": [{"name": "Service", "kind": "Singleton", "url": ROOT}, *names]})
        if method in ("GET", "HEAD") and path == METADATA:
            return Answer(HTTPStatus.OK, METADATA_DOCUMENT)
        found = bmc.resources().get(path if path != "/redfish/v1" else ROOT)
        if found is None:
            return error(HTTPStatus.NOT_FOUND, "ResourceMissingAtURI", f"The resource {path} was not found.")
        if method == "DELETE" and path in bmc.sessions:
            del bmc.sessions[path]
            return Answer(HTTPStatus.NO_CONTENT)
        if method not in ("GET", "HEAD"):
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, None, {"Allow": "GET, HEAD"})
        if query.startswith("$"):  # others are ignored (DSP0266, "Query parameters")
            if not bmc.expands or query != "$expand=.($levels=1)" or "Members" not in found:
                return error(HTTPStatus.NOT_IMPLEMENTED, "QueryNotSupported", "Querying is not supported by the implementation.")
            found = {**found, "Members": [bmc.resources()[one["@odata.id"]] for one in found["Members"]]}
        tag = f'"{hashlib.sha256(json.dumps(found).encode()).hexdigest()[:12]}"'
        if self.headers.get("If-None-Match") == tag:
            return Answer(HTTPStatus.NOT_MODIFIED, None, {"ETag": tag})
        allowed = "GET, HEAD, POST" if path == SESSIONS else "GET, HEAD, DELETE" if path in bmc.sessions else "GET, HEAD"
        schema = f"<{SCHEMAS}{found['@odata.type'].removeprefix('#').partition('.')[0]}.json>; rel=describedby"
        return Answer(HTTPStatus.OK, found, {"ETag": tag, "Allow": allowed, "Link": schema})

    def _is_known(self) -> bool:
        if key := self.headers.get("X-Auth-Token"):
            return key in self.bmc.sessions.values()
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        return kind == "Basic" and base64.b64decode(value).decode() == f"{self.bmc.user}:{self.bmc.password}"

    def _send(self, method: str, answer: Answer) -> None:
        is_text = isinstance(answer.body, str)
        content = b"" if answer.body is None else (answer.body if is_text else json.dumps(answer.body)).encode()
        self.send_response(answer.status)
        for name, value in {"OData-Version": "4.0", "Cache-Control": "no-cache", **answer.headers}.items():
            self.send_header(name, value)
        if content:
            self.send_header("Content-Type", f"application/{'xml' if is_text else 'json'};charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if method != "HEAD":
            self.wfile.write(content)

    def _drip(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        with contextlib.suppress(OSError):  # the client gives up, or the test ends
            while not self.bmc.is_ending.wait(DRIP_EVERY_S):
                self.wfile.write(b" ")
                self.wfile.flush()
        self.close_connection = True


def _make_certificate(path: Path) -> None:
    """Make a key and a certificate that signs itself, for the address that the simulated BMC has."""
    subject = ["-subj", "/CN=simulated-bmc", "-addext", "subjectAltName=IP:127.0.0.1"]
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", *subject]
    made = subprocess.run([*words, "-keyout", "/dev/stdout", "-out", "/dev/stdout"], check=True, capture_output=True, text=True).stdout
    path.touch(mode=0o600)
    path.write_text(made)

"""What a BMC (the small computer that powers and watches a server) is asked, and what it answers."""

import dataclasses
import enum
from collections.abc import Mapping

REDFISH_PORT = 443
IPMI_PORT = 623


class Protocol(enum.StrEnum):
    AUTO = "auto"
    """Redfish; IPMI where nothing serves Redfish."""
    REDFISH = "redfish"
    IPMI = "ipmi"


class Power(enum.StrEnum):
    ON = "on"
    OFF = "off"
    CHANGING = "changing"
    UNKNOWN = "unknown"


class Action(enum.StrEnum):
    ON = "on"
    OFF = "off"
    """Ask the operating system to shut down."""
    HARD_OFF = "hard-off"
    """Cut the power."""
    CYCLE = "cycle"
    """Cut the power and give it back, which also ends what hangs."""


class Cause(enum.StrEnum):
    """Why a BMC gave no answer that counts."""

    UNREACHABLE = "unreachable"
    """No connection."""
    SILENT = "silent"
    """It accepts connections, and does not answer in time."""
    CERTIFICATE = "certificate"
    """It shows another certificate than the pinned one, or one that the authority did not sign."""
    PASSWORD = "password"
    """It refuses the user or the password."""
    REFUSED = "refused"
    """It refuses the request."""
    UNUSABLE = "unusable"
    """Its answer makes no sense."""
    ABSENT = "absent"
    """Nothing serves the protocol there."""


class Unanswered(Exception):
    """A BMC gave no answer that counts; the text says why, without any secret."""

    def __init__(self, cause: Cause, text: str):
        super().__init__(text)
        self.cause = cause


@dataclasses.dataclass(frozen=True, slots=True)
class Board:
    """The BMC of one host."""

    host: str
    address: str
    """Address or name, with `:port` where the port is not the protocol's own."""
    certificate: str = ""
    """SHA-256 fingerprint of its TLS certificate, as hexadecimal digits with or without colons; empty: an authority signs it."""

    @property
    def name(self) -> str:
        """Give the address without the port."""
        return self.address.rpartition(":")[0] if self.port else self.address

    @property
    def port(self) -> int:
        """Give the port; 0: the protocol's own."""
        _, colon, port = self.address.rpartition(":")
        return int(port) if colon and port.isdigit() else 0


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """How to log in to BMCs."""

    user: str
    password: str = dataclasses.field(repr=False)
    protocol: Protocol = Protocol.AUTO
    authority: str = ""
    """Path of the certificates of the authority that signs BMCs' certificates; empty: each certificate is pinned."""


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What a BMC says of its server. An empty text: it doesn't say."""

    protocol: Protocol
    power: Power
    manufacturer: str = ""
    model: str = ""
    serial: str = ""
    health: str = ""
    """`OK`, `Warning` or `Critical`, of the server with all its parts."""
    boot: str = ""
    """What it boots from next when that is not its own order: `Pxe (Once)`."""
    firmware: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Component → version: `BIOS`, `BMC`, and what the BMC's inventory lists (GPUs, network interfaces, …)."""
    events: tuple[str, ...] = ()
    """The last entries of its log, the newest last."""
    incomplete: str = ""
    """What it did not answer in time; empty: it answered everything."""

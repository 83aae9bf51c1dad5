"""Certificates of BMCs: most sign their own, so that its fingerprint is pinned."""

import hashlib
import re
import socket
import ssl

from .model import REDFISH_PORT, Board, Cause, Unanswered

FINGERPRINT = re.compile(r"(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}", re.IGNORECASE)


def fingerprint(board: Board, *, within_s: float) -> str:
    """Give the SHA-256 fingerprint of the certificate that a BMC shows; nothing is sent to it.

    Raises:
        Unanswered: there is no connection, or nothing speaks TLS.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((board.name, board.port or REDFISH_PORT), timeout=within_s) as plain, context.wrap_socket(plain) as secured:
            shown = secured.getpeercert(binary_form=True)
    except TimeoutError as error:
        raise Unanswered(Cause.SILENT, f"{board.address} did not answer within {within_s:g} s") from error
    except OSError as error:
        raise Unanswered(Cause.UNREACHABLE, f"{board.address}: {error.strerror or error}") from error
    return written(hashlib.sha256(shown or b"").hexdigest())


def written(digits: str) -> str:
    """Write a fingerprint as other tools do: pairs of capital digits with colons."""
    plain = digits.replace(":", "").upper()
    return ":".join(plain[number : number + 2] for number in range(0, len(plain), 2))

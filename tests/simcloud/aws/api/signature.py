"""Signatures: a request without one, with a wrong or an old one, is refused.

Source: IAM user guide, "AWS Signature Version 4 for API requests".
"""

import datetime as dt
import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from ...core.failure import Refused
from ...core.listening import Request

FORM = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})")
SKEW_S = 900


def scope(request: Request) -> tuple[str, str]:
    """Give region and service that a request is signed for.

    Raises:
        Refused: it is not signed.
    """
    found = FORM.fullmatch(request.headers.get("authorization", ""))
    if found is None:
        raise Refused("MissingAuthenticationToken", "The request must contain either a valid (registered) AWS access key ID or X.509 certificate.", status=403)
    return found[3], found[4]


def key(request: Request) -> str:
    """Give the access key that a request is signed with."""
    found = FORM.fullmatch(request.headers.get("authorization", ""))
    return found[1] if found else ""


def check(request: Request, keys: Mapping[str, str], *, now: dt.datetime) -> None:
    """Refuse a request whose signature is not that of a known key."""
    found = FORM.fullmatch(request.headers.get("authorization", ""))
    assert found
    key, day, region, service, names, given = found.groups()
    if key not in keys:
        raise Refused("AuthFailure", "AWS was not able to validate the provided access credentials", status=401)
    stamp = request.headers.get("x-amz-date", "")
    try:
        sent = dt.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=dt.UTC)
    except ValueError:
        raise Refused("IncompleteSignature", f"Date is not in ISO-8601 'basic format': {stamp}") from None
    if abs((now - sent).total_seconds()) > SKEW_S:
        raise Refused("RequestExpired", "Request has expired.")
    secret = ("AWS4" + keys[key]).encode()
    for part in (day, region, service, "aws4_request"):
        secret = hmac.digest(secret, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{day}/{region}/{service}/aws4_request\n{hashlib.sha256(_canonical(request, names).encode()).hexdigest()}"
    if not hmac.compare_digest(hmac.digest(secret, text.encode(), "sha256").hex(), given):
        raise Refused("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.", status=403)


def _canonical(request: Request, names: str) -> str:
    place = urlsplit(request.path)
    headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in names.split(";"))
    query = "&".join(sorted(place.query.split("&"))) if place.query else ""
    payload = request.headers.get("x-amz-content-sha256") or hashlib.sha256(request.body).hexdigest()
    return "\n".join((request.method, quote(place.path or "/", safe="/~"), query, headers, names, payload))

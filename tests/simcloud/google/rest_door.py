"""The REST door: requests over HTTP, `/<host>/<path>` or by the Host header, and the metadata server of whoever runs the tests."""

import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ..core import listening
from ..core.listening import Request
from . import discovery
from .cloud import Answer, Cloud

OWNER_TOKEN = "ya29.owner"
METADATA = {"Metadata-Flavor": "Google", "Server": "Metadata Server for VM"}
TOKEN_S = 3599


def answer(cloud: Cloud, request: Request, *, owner: bool = True) -> listening.Answer:
    """Answer one request over HTTP.

    Args:
        owner: whether the project's owner may be who asks; hosts of the project come with tokens of their own.
    """
    split = urlsplit(request.path)
    first, _, rest = split.path.lstrip("/").partition("/")
    host, path = (first, f"/{rest}") if first in discovery.DOCUMENTS else (request.headers.get("host", "").partition(":")[0], split.path)
    if owner and ("metadata-flavor" in request.headers or split.path == "/"):
        return _metadata(cloud, split.path, split.query)
    query: dict[str, Any] = {name: values if len(values) > 1 else values[0] for name, values in parse_qs(split.query).items()}
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    try:
        body = json.loads(request.body) if request.body else None
    except ValueError:
        message = "Invalid JSON payload received."
        return _json(
            Answer(400, {"error": {"code": 400, "message": message, "errors": [{"message": message, "reason": "parseError"}], "status": "INVALID_ARGUMENT"}})
        )
    if scheme != "Bearer" or not token or (token == OWNER_TOKEN and not owner):
        message = "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential."
        return _json(
            Answer(401, {"error": {"code": 401, "message": message, "errors": [{"message": message, "reason": "required"}], "status": "UNAUTHENTICATED"}})
        )
    method = request.headers.get("x-http-method-override", request.method)
    return _json(cloud.request(host, method, unquote(path), query, body, "" if token == OWNER_TOKEN else token))


def _json(found: Answer) -> listening.Answer:
    return listening.Answer(found.status, json.dumps(found.body).encode(), {"Content-Type": "application/json; charset=UTF-8"})


def _metadata(cloud: Cloud, path: str, query: str) -> listening.Answer:
    """Answer what google-auth asks of a metadata server to find its project and a token."""
    account = {"email": "owner@example.com", "scopes": ["https://www.googleapis.com/auth/cloud-platform"], "aliases": ["default"]}
    known: dict[str, Any] = {
        "/": "computeMetadata/\n",
        "/computeMetadata/v1/project/project-id": cloud.project,
        "/computeMetadata/v1/universe/universe-domain": "googleapis.com",
        "/computeMetadata/v1/instance/service-accounts/default/": account,
        "/computeMetadata/v1/instance/service-accounts/default/email": account["email"],
    }
    if path.endswith("/token"):
        found: Any = {"access_token": OWNER_TOKEN, "expires_in": TOKEN_S, "token_type": "Bearer"}
    elif path in known:
        found = known[path]
    else:
        return listening.Answer(404, b"", METADATA)
    kind = "application/text" if isinstance(found, str) else "application/json"
    return listening.Answer(200, (found if isinstance(found, str) else json.dumps(found)).encode(), {**METADATA, "Content-Type": kind})

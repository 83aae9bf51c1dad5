"""The wire forms of the AWS API, read and written by botocore's own models: `ec2`, `query`, `json`, `rest-json` as far as it needs no headers, and of `rest-xml` what asks by HEAD and is answered
without a body.

Sources: smithy.io, "AWS EC2 query protocol", "AWS query protocol", "AWS JSON 1.1 protocol", "AWS restJson1 protocol"; botocore's `serialize.py` and `parsers.py`, of which this is the other side.
"""

import datetime as dt
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

from ...core.failure import Refused
from ...core.listening import Answer, Request

REQUEST_ID = "00000000-0000-4000-8000-000000000000"
ACCESS_DENIED, FORBIDDEN = "AccessDenied", 403
NUMBERS = {"integer": int, "long": int, "float": float, "double": float}


def read(service: ServiceModel, request: Request) -> tuple[OperationModel, dict[str, Any]]:
    """Give the operation that is asked for, and its parameters by the names of its input shape.

    Raises:
        Refused: there is no such operation or parameter.
    """
    if service.resolved_protocol == "json":
        name = request.headers.get("x-amz-target", "").rpartition(".")[2]
        operation = _operation(service, name)
        return operation, json.loads(request.body or b"{}")
    if service.resolved_protocol in ("rest-json", "rest-xml"):
        return _read_rest(service, request)
    words = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
    operation = _operation(service, words.pop("Action", ""))
    version = words.pop("Version", None)
    if version != service.api_version:
        raise Refused("InvalidParameterValue", f"the version of {service.service_name} is {service.api_version}, not {version}")
    left = dict(words)
    found = _parsed(operation.input_shape, "", left, is_ec2=service.resolved_protocol == "ec2") if operation.input_shape else {}
    if left:
        raise Refused("UnknownParameter", f"The parameter {min(left)} is not recognized")
    return operation, found or {}


def write(service: ServiceModel, operation: OperationModel, result: Mapping[str, Any]) -> Answer:
    """Write a result by its output shape."""
    shape = operation.output_shape
    if service.resolved_protocol == "json":
        return Answer(
            200, json.dumps(_plain(shape, result) if shape else {}).encode(), {"Content-Type": "application/x-amz-json-1.1", "x-amzn-RequestId": REQUEST_ID}
        )
    if service.resolved_protocol == "rest-json":
        return Answer(200, json.dumps(_plain(shape, result) if shape else {}).encode(), {"Content-Type": "application/json"})
    if service.resolved_protocol == "rest-xml":
        return Answer(200, b"", {member.serialization["name"]: str(result[name]) for name, member in shape.members.items() if name in result} if shape else {})
    inner = _xml_members(shape, result) if shape else ""
    space = service.metadata.get("xmlNamespace", f"http://{service.endpoint_prefix}.amazonaws.com/doc/{service.api_version}/")
    if service.resolved_protocol == "ec2":
        text = f'<{operation.name}Response xmlns="{space}"><requestId>{REQUEST_ID}</requestId>{inner}</{operation.name}Response>'
    else:
        wrapper = shape.serialization.get("resultWrapper", f"{operation.name}Result") if shape else f"{operation.name}Result"
        metadata = f"<ResponseMetadata><RequestId>{REQUEST_ID}</RequestId></ResponseMetadata>"
        text = f'<{operation.name}Response xmlns="{space}"><{wrapper}>{inner}</{wrapper}>{metadata}</{operation.name}Response>'
    return Answer(200, text.encode(), {"Content-Type": "text/xml"})


def write_failure(protocol: str, refused: Refused) -> Answer:
    """Write a refusal."""
    code, message = escape(refused.code), escape(refused.message)
    if protocol == "json":
        return Answer(refused.status, json.dumps({"__type": refused.code, "message": refused.message}).encode(), {"Content-Type": "application/x-amz-json-1.1"})
    if protocol == "rest-json":
        return Answer(refused.status, json.dumps({"Message": refused.message}).encode(), {"Content-Type": "application/json", "x-amzn-ErrorType": refused.code})
    if protocol == "rest-xml":
        return Answer(FORBIDDEN if refused.code == ACCESS_DENIED else refused.status, b"", {})  # an answer to HEAD has nothing but its number
    if protocol == "ec2":
        text = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>{REQUEST_ID}</RequestID></Response>"
    else:
        text = f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>{REQUEST_ID}</RequestId></ErrorResponse>"
    return Answer(refused.status, text.encode(), {"Content-Type": "text/xml"})


def _read_rest(service: ServiceModel, request: Request) -> tuple[OperationModel, dict[str, Any]]:
    """Find the operation by method and path, and take its parameters out of path, query and body."""
    place = urlsplit(request.path)
    for name in service.operation_names:
        operation = service.operation_model(name)
        form = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(operation.http["requestUri"]))
        if operation.http["method"] == request.method and (match := re.fullmatch(form, place.path)):
            break
    else:
        raise Refused("UnknownOperationException", f"{request.method} {place.path} is no operation of {service.service_name}", status=404)
    words = {**dict(parse_qsl(place.query, keep_blank_values=True)), **{key: unquote(value) for key, value in match.groupdict().items()}}
    found = json.loads(request.body) if request.body else {}
    for name, member in operation.input_shape.members.items() if operation.input_shape else ():
        key = member.serialization.get("name", name)
        if member.serialization.get("location") in ("uri", "querystring") and key in words:
            found[name] = _scalar(member, words.pop(key), name)
    if words:
        raise Refused("UnknownParameter", f"The parameter {min(words)} is not recognized")
    return operation, found


def _operation(service: ServiceModel, name: str) -> OperationModel:
    if name not in service.operation_names:
        raise Refused("InvalidAction", f"The action {name} is not valid for this web service.")
    return service.operation_model(name)


def _parsed(shape: Shape, prefix: str, left: dict[str, str], *, is_ec2: bool) -> Any:
    """Take a shape's value out of the words of a query; None when it is not there."""
    match shape:
        case StructureShape():
            found = {}
            for name, member in shape.members.items():
                key = _query_name(name, member, is_ec2=is_ec2)
                value = _parsed(member, f"{prefix}.{key}" if prefix else key, left, is_ec2=is_ec2)
                if value is not None:
                    found[name] = value
            return found if found or not prefix else None
        case ListShape():
            base = prefix if is_ec2 or shape.serialization.get("flattened") else f"{prefix}.{shape.member.serialization.get('name', 'member')}"
            items: list[Any] = []
            while (item := _parsed(shape.member, f"{base}.{len(items) + 1}", left, is_ec2=is_ec2)) is not None:
                items.append(item)
            return items or None
        case MapShape():
            pairs: dict[str, Any] = {}
            while (key := left.pop(f"{prefix}.entry.{len(pairs) + 1}.key", "")) != "":
                pairs[key] = _parsed(shape.value, f"{prefix}.entry.{len(pairs) + 1}.value", left, is_ec2=is_ec2)
            return pairs or None
    return _scalar(shape, left.pop(prefix), prefix) if prefix in left else None


def _query_name(name: str, member: Shape, *, is_ec2: bool) -> str:
    if is_ec2:
        own = member.serialization.get("queryName") or member.serialization.get("name", name)
        return str(own[0].upper() + own[1:])
    if isinstance(member, ListShape) and member.serialization.get("flattened"):
        return str(member.member.serialization.get("name") or member.serialization.get("name", name))
    return str(member.serialization.get("name", name))


def _scalar(shape: Shape, text: str, path: str) -> Any:
    if shape.type_name == "boolean":
        if text not in ("true", "false"):
            raise Refused("InvalidParameterValue", f"Value ({text}) for parameter {path} is invalid. Expected: 'true' or 'false'")
        return text == "true"
    if shape.type_name in NUMBERS:
        try:
            return NUMBERS[shape.type_name](text)
        except ValueError:
            raise Refused("InvalidParameterValue", f"Value ({text}) for parameter {path} is invalid. A number is wanted") from None
    return text


def _xml_members(shape: StructureShape, values: Mapping[str, Any]) -> str:
    unknown = values.keys() - shape.members.keys()
    assert not unknown, f"{shape.name} has no {', '.join(unknown)}"
    return "".join(
        _xml(shape.members[name], value, str(shape.members[name].serialization.get("name", name))) for name, value in values.items() if value is not None
    )


def _xml(shape: Shape, value: Any, tag: str) -> str:
    match shape:
        case StructureShape():
            return f"<{tag}>{_xml_members(shape, value)}</{tag}>"
        case ListShape():
            inner = str(shape.member.serialization.get("name", "member"))
            if shape.serialization.get("flattened"):
                return "".join(_xml(shape.member, one, tag) for one in value)
            return f"<{tag}>{''.join(_xml(shape.member, one, inner) for one in value)}</{tag}>"
        case MapShape():
            entries = "".join(f"<entry><key>{escape(str(key))}</key>{_xml(shape.value, one, 'value')}</entry>" for key, one in value.items())
            return f"<{tag}>{entries}</{tag}>"
    return f"<{tag}>{escape(_text(shape, value))}</{tag}>"


def _text(shape: Shape, value: Any) -> str:
    if shape.type_name == "boolean":
        return "true" if value else "false"
    if shape.type_name == "timestamp" and isinstance(value, (int, float)):
        return dt.datetime.fromtimestamp(value, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return str(value)


def _plain(shape: Shape, value: Any) -> Any:
    match shape:
        case StructureShape():
            unknown = value.keys() - shape.members.keys()
            assert not unknown, f"{shape.name} has no {', '.join(unknown)}"
            return {shape.members[name].serialization.get("name", name): _plain(shape.members[name], one) for name, one in value.items() if one is not None}
        case ListShape():
            return [_plain(shape.member, one) for one in value]
        case MapShape():
            return {key: _plain(shape.value, one) for key, one in value.items()}
    return value

"""Long records in the state as one short text each: the engine prints every line of a value that it shows, and of a record nobody reads two hundred.

A packed record begins with a digest, so that two that differ do so at the beginning, which is what the engine shows of a long text. What differs is said on the resource's row.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

_DIGITS = 12
_PACKED = re.compile(rf"^record [0-9a-f]{{{_DIGITS}}}, packed: (?P<content>[A-Za-z0-9+/=]+)$")


def pack(value: Any) -> str:
    """Turn plain values into one text."""
    content = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    digest = hashlib.sha256(content).hexdigest()[:_DIGITS]
    return f"record {digest}, packed: {base64.b64encode(zlib.compress(content, 9)).decode()}"


def unpack(value: Any) -> Any:
    """Give what was packed. Anything else comes back as it is: earlier versions recorded plain values."""
    found = _PACKED.match(value) if isinstance(value, str) else None
    return json.loads(zlib.decompress(base64.b64decode(found["content"]))) if found else value


def unpack_each(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give properties with each packed one unpacked."""
    return {name: unpack(value) for name, value in values.items()}

"""Long records as one short text in the state."""

import json
import re

import pytest

from components.provider import codec, packed

RECORD = {"name": "starter", "pools": [{"name": "train", "nodes": 2, "reserved": None, "price": 1.5}], "text": "größer"}


def test_a_record_comes_back_as_json_would_give_it() -> None:
    text = packed.pack({**RECORD, "pair": (1, 2)})
    assert packed.unpack(text) == {**RECORD, "pair": [1, 2]}
    assert "\n" not in text


def test_records_that_differ_do_so_at_the_beginning() -> None:
    texts = [packed.pack({**RECORD, "nodes": nodes}) for nodes in (2, 4)]
    digests = [re.match(r"record ([0-9a-f]{12}), ", text) for text in texts]
    assert all(digests)
    assert len({digest[1] for digest in digests if digest}) == 2
    assert packed.pack(dict(reversed(RECORD.items()))) == packed.pack(RECORD), "the order of keys is no difference"


@pytest.mark.parametrize("value", [RECORD, "starter", "record of something", "record 0123456789ab, packed: ", 7, None, [packed.pack(RECORD)]])
def test_what_was_not_packed_comes_back_as_it_is(value: object) -> None:
    assert packed.unpack(value) == value


def test_a_provider_gets_packed_inputs_as_plain_values() -> None:
    wire = codec.encode({"spec": packed.pack(RECORD), "group": "control"})
    assert codec.decode(wire) == {"spec": json.loads(json.dumps(RECORD)), "group": "control"}
    assert packed.unpack_each({"spec": packed.pack(RECORD), "group": "control"}) == {"spec": RECORD, "group": "control"}

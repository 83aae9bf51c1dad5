"""Values on their way between the engine's wire form and plain Python, with Pulumi's own marshalling as the judge."""

import json
import math
from typing import Any

import pytest
from google.protobuf import json_format, struct_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pulumi import output
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.runtime import rpc

from components.provider import codec
from components.provider.unknown import UNKNOWN

EXACT = 2**53  # whole numbers up to here are exact as doubles
NAMES = st.text(max_size=6)
LEAVES = st.none() | st.booleans() | st.integers(-EXACT, EXACT) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12)
PROPERTIES = st.dictionaries(NAMES, VALUES, max_size=4)
JUDGED_LEAVES = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8) | st.just(rpc.UNKNOWN)
FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of the codec


def _judged(value: Any) -> st.SearchStrategy[PropertyValue]:
    return st.builds(PropertyValue, st.just(value), is_secret=st.booleans(), dependencies=st.sampled_from([None, ["urn:a"], ["urn:a", "urn:b"]]))


JUDGED = st.recursive(
    JUDGED_LEAVES.flatmap(_judged),
    lambda inner: (st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)).flatmap(_judged),
    max_leaves=8,
)


def plain(judged: PropertyValue) -> Any:
    """What a value of Pulumi's own is in plain words."""
    value = judged.value
    if value == rpc.UNKNOWN:
        return UNKNOWN
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if hasattr(value, "items"):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value]  # type: ignore[union-attr]


@FEW
@given(PROPERTIES)
def test_plain_values_come_back_as_they_went(values: dict[str, Any]) -> None:
    assert codec.decode(codec.encode(values)) == values
    assert codec.secret_names(codec.encode(values)) == frozenset()


@FEW
@given(PROPERTIES)
def test_pulumi_reads_the_same_values(values: dict[str, Any]) -> None:
    assert {name: plain(one) for name, one in PropertyValue.unmarshal_map(codec.encode(values)).items()} == values


@FEW
@given(st.dictionaries(NAMES, JUDGED, max_size=4))
def test_what_pulumi_writes_is_read_with_secrets_unknowns_and_outputs(judged: dict[str, PropertyValue]) -> None:
    wire = PropertyValue.marshal_map(judged)
    assert codec.decode(wire) == {name: plain(value) for name, value in judged.items()}
    assert codec.secret_names(wire) == {name for name, value in judged.items() if value.contains_secret()}


@FEW
@given(PROPERTIES, st.data())
def test_named_properties_are_secret_as_a_whole_for_pulumi_too(values: dict[str, Any], data: st.DataObject) -> None:
    hidden = data.draw(st.sets(st.sampled_from(sorted(values)))) if values else set()
    wire = codec.encode(values, secrets=hidden)
    read = PropertyValue.unmarshal_map(wire)
    assert {name for name, value in read.items() if value.is_secret} == hidden == codec.secret_names(wire)
    assert codec.decode(wire) == values


@pytest.mark.parametrize("number", [0, 1, -7, EXACT, 2001])
def test_whole_numbers_stay_whole(number: int) -> None:
    (back,) = codec.decode(codec.encode({"number": [number]}))["number"]
    assert (back, type(back)) == (number, int)
    assert json.dumps(codec.decode(codec.encode({"number": number}))) == json.dumps({"number": number})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_on_both_ways(number: float) -> None:
    """The engine's state is JSON, which has no word for them: a state that holds one can't be written."""
    with pytest.raises(ValueError, match="number"):
        codec.encode({"inside": [{"number": number}]})
    wire = struct_pb2.Struct(fields={"number": struct_pb2.Value(number_value=number)})
    with pytest.raises(ValueError, match="number"):
        codec.decode(wire)


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (UNKNOWN, True),
        ({"a": [{"b": UNKNOWN}]}, True),
        ((1, (UNKNOWN,)), True),
        ({"a": [None, "", 0, {}]}, False),
        (codec.UNKNOWN_MARK, False),
    ],
)
def test_unknown_is_found_at_any_depth(value: Any, holds: bool) -> None:
    assert codec.holds_unknown(value) is holds


def test_unknown_is_unknown_to_pulumi() -> None:
    wire = codec.encode({"later": UNKNOWN, "inside": [1, {"later": UNKNOWN}], "hidden": UNKNOWN}, secrets=["hidden"])
    read = rpc.deserialize_properties(wire, keep_unknowns=True)
    assert isinstance(read["later"], output.Unknown)
    assert isinstance(read["inside"][1]["later"], output.Unknown)
    assert codec.decode(wire) == {"later": UNKNOWN, "inside": [1, {"later": UNKNOWN}], "hidden": UNKNOWN}


def test_an_output_without_a_value_is_unknown() -> None:
    """Pulumi's Go code leaves the value out where its Python code writes the unknown mark."""
    value = {codec.SIGNATURE_KEY: codec.OUTPUT_SIGNATURE, "secret": True, "dependencies": ["urn"]}
    wire = json_format.ParseDict({"later": [value]}, struct_pb2.Struct())
    assert codec.decode(wire) == {"later": [UNKNOWN]}
    assert codec.secret_names(wire) == {"later"}

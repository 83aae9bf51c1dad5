"""A stack's settings, as the program and the command read them."""

import json

import pytest

from blueprints.finding import Invalid, Position
from stacks.settings import Settings, parse


def test_settings_are_read_by_their_full_names_and_others_left_aside() -> None:
    config = {"clusterwright:blueprint": "starter", "clusterwright:target": "local", "aws:region": "us-east-1", "other:blueprint": "x"}
    assert parse(config, stack="local") == Settings(blueprint="starter", target="local", overrides={})


def test_without_settings_there_is_the_starter_on_this_machine() -> None:
    assert parse({}, stack="local") == Settings("starter", "local", {})


@pytest.mark.parametrize("as_text", [True, False], ids=["from the engine", "from the file"])
def test_values_over_the_blueprint_s_come_as_json_or_as_they_are(as_text: bool) -> None:
    values = {"pools.train.nodes": 4, "network": {"cidr": "10.99.0.0/20"}}
    assert parse({"clusterwright:set": json.dumps(values) if as_text else values}, stack="local").overrides == values


def test_an_unknown_setting_says_what_was_meant_and_where_it_is() -> None:
    with pytest.raises(Invalid) as invalid:
        parse({"clusterwright:blueprnt": "starter", "clusterwright:sets": "{}", "clusterwright:zzz": 1}, stack="dev")
    one, two, three = invalid.value.findings
    assert one.where == Position("stacks/Pulumi.dev.yaml, setting clusterwright:blueprnt")
    assert (one.what, one.code) == ("unknown setting clusterwright:blueprnt", "CW150")
    assert one.remedy == "did you mean clusterwright:blueprint? `pulumi config rm clusterwright:blueprnt` removes it"
    assert two.remedy.startswith("did you mean clusterwright:set? ")
    assert three.remedy == "`pulumi config rm clusterwright:zzz` removes it"


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("clusterwright:blueprint", 7, "setting clusterwright:blueprint is not a text"),
        ("clusterwright:target", ["local"], "setting clusterwright:target is not a text"),
        ("clusterwright:set", "nodes=4", "setting clusterwright:set is not an object: values by dotted path"),
        ("clusterwright:set", "[1, 2]", "setting clusterwright:set is not an object: values by dotted path"),
    ],
)
def test_a_setting_of_the_wrong_type_is_refused_and_no_other_name_is_suggested(name: str, value: object, what: str) -> None:
    with pytest.raises(Invalid) as invalid:
        parse({name: value}, stack="local")
    (only,) = invalid.value.findings
    assert (only.code, only.what) == ("CW151", what)
    assert "did you mean" not in only.remedy

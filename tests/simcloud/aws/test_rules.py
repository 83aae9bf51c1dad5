"""Every kind: what is right is made and can go again, what is wrong is refused with the service's code."""

from collections.abc import Mapping

import pytest

from tests.simcloud.aws import audit, cases, facts
from tests.simcloud.aws.cloud import GIVEN
from tests.simcloud.aws.landscape import Account

GOOD = [pytest.param(kind, needs, inputs, id=f"{kind}-{place}") for place, (kind, needs, inputs, _) in enumerate(cases.CASES)]
TAGGED = [
    pytest.param(kind, needs, inputs, id=f"{kind}-{place}") for place, (kind, needs, inputs, _) in enumerate(cases.CASES) if facts.kinds()[kind].is_tagged
]
WRONG = [
    pytest.param(kind, needs, {**inputs, **change}, code, id=f"{kind}-{code}-{'-'.join(change)}")
    for kind, needs, inputs, changes in cases.CASES
    for change, code in changes
]

LEFT = {"imagebuilder.Image": ("ec2.Ami", "ebs.Snapshot")}
"""What a kind leaves behind, as its service does."""


def make_needed(account: Account, needs: tuple[str, ...]) -> None:
    for name in needs:
        kind, inputs = cases.NEEDS[name]
        account.named(name, kind, **inputs)


LOGGING = [
    pytest.param("rds.Instance", {"enabledCloudwatchLogsExports": ["error"]}, "/aws/rds/instance/accounting/error", id="database"),
    pytest.param("imagebuilder.Image", {}, "/aws/imagebuilder/base", id="build"),
    pytest.param("imagebuilder.Image", {"loggingConfiguration": {"logGroupName": "/aws/imagebuilder/own"}}, "/aws/imagebuilder/own", id="named"),
]


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize(("kind", "more", "group"), LOGGING)
def test_a_group_of_logs_that_nobody_made_stays_for_ever(account: Account, kind: str, more: dict[str, object], group: str, *, is_there: bool) -> None:
    needs, inputs = next((needs, inputs) for name, needs, inputs, _ in cases.CASES if name == kind)
    make_needed(account, tuple(needs))
    if is_there:
        account.make("cloudwatch.LogGroup", name=group, retentionInDays=30)
    thing = account.make(kind, **inputs, **more)
    account.cloud.delete(thing)
    left = account.cloud.store.get("cloudwatch.LogGroup", group)
    assert left is not None
    assert (left.door == "stray") is not is_there
    assert any(finding.startswith(f"{group} never expires") for finding in audit.findings(account.cloud)) is not is_there


def test_a_builder_writes_its_logs_where_its_role_may(account: Account) -> None:
    make_needed(account, ("component", "recipe", "builder"))
    own = {"imageRecipeArn": "{recipe}", "infrastructureConfigurationArn": "{builder}", "loggingConfiguration": {"logGroupName": "/flow"}}
    assert account.refusal("imagebuilder.Image", **own).code == "InvalidParameterValueException"


@pytest.mark.parametrize(("kind", "needs", "inputs"), GOOD)
def test_what_is_right_is_made_and_goes_again(account: Account, kind: str, needs: tuple[str, ...], inputs: dict[str, object]) -> None:
    make_needed(account, needs)
    before = {thing.id for thing in account.cloud.store.everything()}
    thing = account.make(kind, **inputs)
    assert account.cloud.store.get(kind, thing.id) == thing
    account.cloud.delete(thing)
    ended = {one.id for one in account.cloud.store.everything() if one.get("ended") or one.door == "stray"}
    after = {one.id for one in account.cloud.store.everything() if one.id not in ended and one.kind not in LEFT.get(kind, ())}
    assert after <= before
    if kind not in ("imagebuilder.Image", "autoscaling.Group"):
        assert not thing.interfaces or not any(interface.address in account.cloud.store.taken(interface.subnet) for interface in thing.interfaces)


@pytest.mark.parametrize(("kind", "needs", "inputs", "code"), WRONG)
def test_what_is_wrong_is_refused(account: Account, kind: str, needs: tuple[str, ...], inputs: dict[str, object], code: str) -> None:
    make_needed(account, needs)
    before = {thing.id for thing in account.cloud.store.everything()}
    refused = account.refusal(kind, **inputs)
    assert refused.code == code, refused
    assert {thing.id for thing in account.cloud.store.everything()} == before


@pytest.mark.parametrize(("kind", "needs", "inputs"), TAGGED)
def test_a_change_in_place_leaves_what_the_service_worked_out(account: Account, kind: str, needs: tuple[str, ...], inputs: dict[str, object]) -> None:
    make_needed(account, needs)
    before = account.make(kind, **inputs)
    after = account.cloud.update(before, account.filled({**inputs, "tags": {"changed": "yes"}}))
    others = dict(before.properties) | {name: after[name] for name in ("tags", "tagsAll", GIVEN)}
    assert dict(after.properties) == others


def is_named(kind: facts.Kind, inputs: Mapping[str, object]) -> bool:
    in_id = f"{{{kind.autoname}}}" in kind.id and kind.autoname in inputs
    return in_id or bool(kind.unique and set(kind.unique) <= inputs.keys())


NAMED = [pytest.param(kind, needs, inputs, id=kind) for kind, needs, inputs, _ in cases.CASES if is_named(facts.kinds()[kind], inputs)]


@pytest.mark.parametrize(("kind", "needs", "inputs"), NAMED)
def test_a_name_that_exists_is_never_adopted(account: Account, kind: str, needs: tuple[str, ...], inputs: dict[str, object]) -> None:
    make_needed(account, needs)
    account.make(kind, **inputs)
    assert account.refusal(kind, **inputs).code == facts.kinds()[kind].taken


def test_no_line_of_the_table_leads_nowhere() -> None:
    """Each path, kind, name and shape that `types.yaml` speaks of exists."""
    for kind in facts.kinds().values():
        inputs = set(kind.inputs)
        for path in (*kind.free, *kind.names, *kind.holds, *kind.mentions, *kind.shapes, *kind.policies, *kind.unique, *kind.replace, *kind.keep):
            assert path.partition(".")[0].removesuffix("[]") in inputs, f"{kind.name}: {path}"
        for kinds in (*kind.holds.values(), *kind.mentions.values()):
            assert set(kinds.split("|")) <= facts.kinds().keys(), f"{kind.name}: {kinds}"
        assert kind.computed.keys() <= kind.outputs.keys(), kind.name
        for path, name in kind.names.items():
            assert "." in path or not kind.schema or name.partition("/")[0] in kind.schema["properties"], f"{kind.name}: {path}"
        for name in kind.shapes.values():
            assert facts.shape(name)

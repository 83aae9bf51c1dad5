"""Stacks that an earlier version brought up: a preview by today's code changes nothing of them."""

import ast
import contextlib
import functools
import importlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi
import pytest

from blueprints import facts, load, spec
from blueprints.project import project_root
from components import bake
from components.aws import image, names
from components.finish import content
from components.provider import kinds
from components.provider.kind import UNKNOWN, typed
from tests.simcloud.aws import client

from . import states
from .stack import Stack, changed
from .states import State

pytestmark = pytest.mark.engine
KINDS = kinds.kinds()
PLAYBOOKS = {"clusterwright:finish:Group": "site.yml", "clusterwright:accept:Acceptance": "accept.yml", "clusterwright:local:Image": "image.yml"}
"""What the input `content` of a kind is the fingerprint of."""
DEFAULT_PROVIDER = "pulumi:providers:clusterwright"
DERIVED = ("clusterwright:finish:Group", "clusterwright:local:Image", "clusterwright:local:ElasticPool")
"""Kinds with outputs that follow from a fingerprint of playbooks."""


@functools.cache
def recorded(name: str) -> State:
    return State.read(name)


def images_now(name: str, state: State) -> dict[str, str]:
    return {arch: image.fingerprint(resolved(name, state).software, arch) for arch in state.images}


def resolved(name: str, state: State) -> spec.ClusterSpec:
    return load.examine(str(states.blueprint_of(name)), target=state.target, stack=state.stack, facts=facts.Facts(**state.machine)).spec


def with_todays_playbooks(name: str, state: State) -> list[dict[str, Any]]:
    """Give the recorded resources as they would be if the playbooks had been today's: fingerprints, and what is derived from these. All else stays."""
    now = {playbook: content.fingerprint(playbook) for playbook in state.content}
    renamed = {state.images[arch]: key for arch, key in images_now(name, state).items() if key != state.images[arch]}
    renamed = image_names(name, state, renamed) | renamed
    found = []
    for before in state.resources:
        one = as_baked_today(states.replaced(before, renamed), name, state)
        if (playbook := PLAYBOOKS.get(one["type"])) and now[playbook] != state.content[playbook]:
            one["inputs"]["content"] = one["outputs"]["content"] = now[playbook]
        if one["type"] in DERIVED and one["inputs"] != before["inputs"]:
            kind = KINDS[one["type"]]
            then, today = (known(kind.expected(typed(kind, states.opened(each["inputs"])))) for each in (before, one))
            assert {output: json.loads(json.dumps(then[output])) for output in then} == {output: before["outputs"][output] for output in then}, one["urn"]
            one["outputs"] |= json.loads(json.dumps(dict(today)))
            renamed |= dict(zip(texts(dict(then)), texts(dict(today)), strict=True))
        found.append(one)
    return found


def image_names(name: str, state: State, keys: Mapping[str, str]) -> dict[str, str]:
    """Map the names of images that end in a hash of what is before it."""
    named = names.Names(resolved(name, state).name, state.stack, (), "")
    return {named.name("image_builder", arch, old): named.name("image_builder", arch, keys[old]) for arch, old in state.images.items() if old in keys}


def as_baked_today(resource: dict[str, Any], name: str, state: State) -> dict[str, Any]:
    """Give a resource of a cloud's image with today's name of the archive and today's script in it."""
    short = resource["urn"].rpartition("::")[2]
    for values in (resource.get("inputs") or {}, resource.get("outputs") or {}):
        if short == "image-bundle" and "key" in values:
            values["key"] = bake.archive_name()
            values.update({field: bake.archive_name() for field in ("id",) if field in values})
        if short.startswith("image-") and short.endswith("-component") and "data" in values:
            bucket = values["data"].partition("s3://")[2].partition("/")[0]
            values["data"] = image.document(resolved(name, state).software, bucket=bucket)
    return resource


def known(expected: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what only an apply gives."""
    return {output: value for output, value in expected.items() if value is not UNKNOWN}


def texts(value: Any) -> list[str]:
    """List the texts in a plain value."""
    if isinstance(value, Mapping):
        return [text for one in value.values() for text in texts(one)]
    if isinstance(value, (list, tuple)):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []


@contextlib.contextmanager
def restored(folder: Path, name: str) -> Iterator[Stack]:
    """A stack that is to take a recorded state, with a cloud in which nothing is: a preview without a refresh asks it for zones and offers only."""
    state = recorded(name)
    with contextlib.ExitStack() as exits:
        environment = {"CLUSTERWRIGHT_CACHE": state.cache}
        if state.target == "aws":
            (folder / "cloud").mkdir()
            environment |= exits.enter_context(client.started(folder / "cloud")).environment
        settings = {"blueprint": str(states.blueprint_of(name)), "target": state.target}
        yield exits.enter_context(Stack.of(folder / "stack", state.stack, settings=settings, machine=state.machine, environment=environment))


def take(stack: Stack, name: str, resources: Sequence[Mapping[str, Any]]) -> None:
    exported = recorded(name).deployment
    stack.take(states.replaced({**exported, "deployment": {**exported["deployment"], "resources": resources}}, {states.PROJECT: str(project_root())}))


UNUSED_RULES = {"aws-training": {"update storage-security-group": ["egress", "ingress"]}}
"""FSx for Lustre was ordered with EFA, which needs open rules, and no host has ever mounted it over EFA. The file system itself stays as it is."""


JUDGED_SINCE = {"aws-training": {"update acceptance": ["spec"]}}
"""Stacks with a fabric: acceptance demands since then what it must deliver, and runs again."""


VERIFIED_SINCE = {"aws-guest": {"update image-x86_64-recipe": ["userDataBase64"]}}
"""Stacks of Debian: the builder verifies the agent of Systems Manager since then, and the image has another name for it."""


RESERVED_SINCE = {"local-shared": {"update finish-control": ["finished", "provided"], "update acceptance": ["proves"]}}
"""Stacks with maintenance windows: the controllers reserve nodes for them since then."""


FINISHED_AGAIN = {"update finish-control": ["finished", "spec"], "update finish-access": ["finished", "spec"], "update acceptance": ["proves", "spec"]}
LIBRARIES_SINCE = {"aws-training": FINISHED_AGAIN, "aws-public": FINISHED_AGAIN}
"""Stacks with GPUs: their image has CUDA, NCCL and nccl-tests since then, which the software profile in the spec names."""


def permitted(name: str) -> dict[str, list[str]]:
    """Name what may change: where the image's playbook was changed, the archive of its files, whose hash the engine alone makes; what acceptance judges; rules that no host ever used; what a builder first runs; and another software profile."""
    state = recorded(name)
    image = {} if images_now(name, state) == state.images else {"update image-bundle": ["source"]}
    rules = (JUDGED_SINCE, UNUSED_RULES, VERIFIED_SINCE, RESERVED_SINCE, LIBRARIES_SINCE)
    return image | {change: inputs for rule in rules for change, inputs in rule.get(name, {}).items()}


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="local hosts need root, in a preview too")
EACH = [pytest.param(name, marks=ROOT_ONLY if name.startswith("local") else ()) for name in states.NAMES]


@pytest.mark.parametrize("name", EACH)
def test_a_preview_of_a_recorded_stack_changes_nothing(tmp_path: Path, name: str) -> None:
    resources = with_todays_playbooks(name, recorded(name))
    with restored(tmp_path, name) as stack:
        take(stack, name, resources)
        steps = stack.preview()
    assert changed(steps) == permitted(name)
    shown = {step["urn"] for step in steps}
    assert {one["urn"] for one in resources} - shown <= {one["urn"] for one in resources if one["type"] == DEFAULT_PROVIDER}, "a preview shows no other step"


@pytest.mark.parametrize(
    ("name", "resource", "key", "value", "expected"),
    [
        pytest.param(
            "aws-public",
            "hosts-security-group",
            "description",
            "another text",
            {"replace hosts-security-group": ["description"]},
            marks=pytest.mark.soak,
        ),
        pytest.param("local-starter", "network", "domain", "another.example", {"update network": ["domain"]}, marks=ROOT_ONLY),
    ],
)
def test_an_input_that_was_another_one_is_a_change(tmp_path: Path, name: str, resource: str, key: str, value: str, expected: dict[str, list[str]]) -> None:
    resources = with_todays_playbooks(name, recorded(name))
    (other,) = [one for one in resources if one["urn"].endswith(f"::{resource}")]
    other["inputs"][key] = other["outputs"][key] = value
    with restored(tmp_path, name) as stack:
        take(stack, name, resources)
        found = changed(stack.preview())
    assert {step: found.get(step) for step in expected} == expected


# What the recorded stacks are made of


def kinds_in_code(target: str) -> set[str]:
    """Find every kind of resource that a target's folder makes: classes of SDKs that it calls, and tokens of the project's own kinds."""
    found = set()
    for file in (project_root() / "components" / target).rglob("*.py"):
        if "guest" in file.parts or file.stem == "__main__":
            continue
        module = importlib.import_module(".".join(file.relative_to(project_root()).with_suffix("").parts))
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                made: Any = module
                for name in _names(node.func):
                    made = getattr(made, name, None)
                if isinstance(made, type) and issubclass(made, pulumi.CustomResource) and hasattr(made, "pulumi_type"):
                    found.add(str(made.pulumi_type))
            elif isinstance(node, ast.Constant) and node.value in KINDS:
                found.add(str(node.value))
    return found


def _names(node: ast.expr) -> list[str]:
    """Give the parts of a dotted name; of anything else one that nothing has."""
    if isinstance(node, ast.Name):
        return [node.id]
    return [*_names(node.value), node.attr] if isinstance(node, ast.Attribute) else [""]


@pytest.mark.parametrize("target", sorted({recorded(name).target for name in states.NAMES}))
def test_every_kind_that_a_target_makes_is_recorded(target: str) -> None:
    made = kinds_in_code(target)
    assert len(made) > 5, "the walk found nothing"
    kept = {one["type"] for name in states.NAMES if name.startswith(target) for one in recorded(name).resources}
    assert made - kept == set()

"""A target's name appears in code only in its own folder and in the registry: everything else asks the registry or the catalogue."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints import catalog
from components import registry

PROJECT = Path(__file__).resolve().parents[2]
NAMES = frozenset({*catalog.target_names(), *registry.TARGETS})
IMPORTED = re.compile(rf"\bcomponents\.({'|'.join(sorted(NAMES))})\b")
TYPED = re.compile(rf"^(clusterwright:)?({'|'.join(sorted(NAMES - {'local', 'metal'}))}):|^clusterwright:({'|'.join(sorted(NAMES))}):")
"""Types of resources (`aws:ec2/vpc:Vpc`, `clusterwright:local:Site`)."""

_ANY = "|".join(sorted(NAMES))
QUOTED = re.compile(rf"""['"](clusterwright:)?({_ANY})(['"]|:[A-Za-z*])|^\s*({_ANY}):|fleets/({_ANY})/""")
"""A name in a task file or template: a text, a key, or a part of a path."""
TEXTS = (".yml", ".yaml", ".j2")

ALLOWED = {
    "components/registry.py": "the table itself",
    "components/inspection/program/server.py": "ip(8) calls an interface's own address `local`",
    "components/metal/guest/host_facts.py": "ip(8) calls an interface's own address, and the table of such addresses, `local`",
    "playbooks/roles/kubeadm_control/templates/kubeadm.yaml.j2": "kubeadm calls etcd on its own hosts `local`",
    "playbooks/roles/elastic/vars/main.yml": "the files of each fleet's adapter that controllers get",
    "playbooks/roles/rails/files/rails/live.py": "ip(8) calls an interface's own address `local`",
    "playbooks/roles/acceptance/files/acceptance/rails.py": "ip(8) calls an interface's own address `local`",
    "blueprints/language/cluster.py": "the vocabulary of the language: a type that the schema and the type checker read",
}


def mentions(source: str, *, own: str = "") -> Iterator[tuple[int, str]]:
    """Give the places in a module that name a target.

    Args:
        own: the target in whose folder the module is.
    """
    tree = ast.parse(source)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            is_typed = TYPED.search(node.value) or IMPORTED.search(node.value)
            names = [node.value] if node.value in NAMES or is_typed else []
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if IMPORTED.search(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            through = [alias.name for alias in node.names if alias.name in NAMES and (node.level or module == "components")]
            is_relative = node.level > 0 and module.partition(".")[0] in NAMES
            names = [module] if IMPORTED.search(module) or is_relative else through
        yield from ((getattr(node, "lineno", 0), name) for name in names if own not in re.split(r"\W", name) or not own)


def named_in_text(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines of a task file or template that name a target, comments left out."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("#") and (found := QUOTED.search(line)):
            yield number, found[0].strip()


def texts() -> Iterator[str]:
    """Give the files beside the modules that belong to no target; the catalogue is by target, and so are the roles of a cloud's hosts."""
    for package in ("blueprints", "components", "stacks", "playbooks"):
        for path in sorted((PROJECT / package).rglob("*")):
            place = path.relative_to(PROJECT)
            is_own = {*place.parts[:-1], place.stem} & NAMES or str(place).startswith(("blueprints/catalog/", "blueprints/library/", "blueprints/language/"))
            is_setting = path.match("stacks/Pulumi.*.yaml")  # settings say where a stack lands, and whoever runs one here writes them
            if path.suffix in TEXTS and not is_own and not is_setting and not OF_A_CLOUD & set(place.parts):
                yield str(place)


OF_A_CLOUD = frozenset({"cloud_host", "efa", "mountpoint"})
"""Roles that install and set up what only hosts of a cloud have."""


def modules() -> Iterator[tuple[str, str]]:
    """Give each module of the product with the target that it belongs to; empty: it belongs to none."""
    for package in ("blueprints", "components", "stacks", "playbooks"):
        for path in sorted((PROJECT / package).rglob("*.py")):
            place = path.relative_to(PROJECT)
            own = next((part for part in (*place.parts[:-1], place.stem) if part in NAMES), "")
            yield str(place), own


def test_only_a_targets_folder_and_the_registry_name_it() -> None:
    found = [
        f"{place}:{line}: {name}"
        for place, own in modules()
        if place not in ALLOWED
        for line, name in mentions((PROJECT / place).read_text(encoding="utf-8"), own=own)
    ]
    assert not found, "\n".join(found)


def test_no_task_file_template_or_table_names_a_target() -> None:
    found = [
        f"{place}:{line}: {name}" for place in texts() if place not in ALLOWED for line, name in named_in_text((PROJECT / place).read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_every_exception_is_needed() -> None:
    texts_of = {place: (PROJECT / place).read_text(encoding="utf-8") for place in ALLOWED}
    assert [place for place, text in texts_of.items() if not [*(mentions(text) if place.endswith(".py") else named_in_text(text))]] == []


@pytest.mark.parametrize(
    "line",
    [
        "      when: spec.target in ['aws', 'gcp']",
        "  aws: {share: 0.95}",
        '- {type: "local"}',
        "  - ../components/elastic/fleets/aws/known.py",
        '- {type: "aws:*"}',
        '- {type: "clusterwright:local:HostPool"}',
    ],
)
def test_a_name_in_a_task_file_is_noticed(line: str) -> None:
    assert [*named_in_text(line)]


@pytest.mark.parametrize("line", ["# aws: a comment", "when: host_settings.cloud_host", "  path: /usr/local/bin", "connection: local"])
def test_other_words_of_a_task_file_are_fine(line: str) -> None:
    assert not [*named_in_text(line)]


def test_the_registry_and_the_catalogue_name_the_same_targets() -> None:
    assert registry.TARGETS.keys() <= set(catalog.target_names())
    assert {name for name in catalog.target_names() if catalog.target(name).is_built} == set(registry.TARGETS)


@pytest.mark.parametrize(
    "code",
    [
        'if target == "aws": pass',
        'EXTRAS = {"gcp": 1}',
        'KIND = "aws:ec2/vpc:Vpc"',
        'SITE = "clusterwright:local:Site"',
        "from components.aws import instances",
        "from components import local",
        "import components.local.machine",
        "from ..aws import instances",
        "from . import aws",
        'PLACE = "components.local.target:Local"',
    ],
)
def test_a_name_outside_is_noticed(code: str) -> None:
    assert [*mentions(code)]


@pytest.mark.parametrize("code", ['"""aws"""', 'text = "a local stack"', "from . import targets", "local = 1", 'URL = "https://aws.amazon.com"'])
def test_words_that_name_no_target_are_fine(code: str) -> None:
    assert not [*mentions(code)]


def test_a_target_may_name_itself_and_no_other() -> None:
    assert not [*mentions('SITE = "clusterwright:aws:Site"', own="aws")]
    assert [*mentions('SITE = "clusterwright:local:Site"', own="aws")]

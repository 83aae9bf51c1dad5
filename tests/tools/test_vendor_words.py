"""What vendors call their interfaces, fabrics, identifiers and products is data of the catalogue: code outside of a target's folder never writes such a word."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints import catalog
from components import registry

PROJECT = Path(__file__).resolve().parents[2]
CATALOGUE = ("blueprints/catalog/", "blueprints/language/")
"""The catalogue itself, and the language, whose descriptions give examples."""
GENERAL = frozenset({"ethernet", "nvlink", "roce"})
"""A kind of interface and a protocol that no vendor owns, and a fabric whose name is a field of accelerators, too."""
WORDS = frozenset({nic.kind for layout in catalog.layouts().values() for nic in layout.interfaces} | {*catalog.fabrics()}) - GENERAL
NUMBERS = frozenset({number for one in catalog.files.mapping("fabric_devices").values() for number in (one["vendor"], *one["devices"])})
"""Of vendors and their devices on the PCI bus."""
ADDRESSES = frozenset(
    {part for one in catalog.files.mapping("host_settings").values() for each in one["database_authorities"] for part in [each["address"].split("/")[2]]}
)
"""Where a cloud publishes what hosts fetch."""
OF_A_CLOUD = frozenset({"cloud_host", "efa", "mountpoint"})
"""Roles that install and set up what only hosts of a cloud have."""
ALLOWED = {"playbooks/library/fitting_set.py": "kernel modules of the parts of a software profile"}
CLOUDS = [name for name in registry.TARGETS if catalog.target(name).hosts == "cloud"]
_TITLES = {
    *(catalog.target(name).title for name in CLOUDS),
    *(one.title for name in CLOUDS for ways in catalog.target(name).offerings.values() for one in ways if one.title),
    *(catalog.target(name).managed.database for name in CLOUDS),
    *(entry["product"].partition(",")[0] for name in CLOUDS for entry in catalog.files.mapping("storage")[name].values()),
}
PRODUCTS = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(_TITLES)))}|Amazon|Compute Engine|EBS|EC2|EFA|FSx|Google|IAM|PCS|RDS)(?![\w-])")
"""What clouds and their products are called in sentences."""
PRODUCTS_ALLOWED = {
    "blueprints/spec/upgrade.py": "an older record names services by their titles",
    "stacks/drift/hints.py": "messages of the SDKs of clouds",
}
IDENTIFIER = re.compile(r"(arn:|(ami|cr|eni|fs|igw|sg|subnet|vpc)-(\[.*)?)")
"""The beginning of an identifier, or a regular expression of one."""


def mentions(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (node.value in WORDS | NUMBERS | ADDRESSES or IDENTIFIER.fullmatch(node.value)):
            yield node.lineno, node.value


def modules() -> Iterator[str]:
    """Give the modules that belong to no target."""
    for package in ("blueprints", "components", "stacks"):
        places = (path.relative_to(PROJECT) for path in sorted((PROJECT / package).rglob("*.py")))
        yield from (str(place) for place in places if not {*place.parts, place.stem} & registry.TARGETS.keys() and not str(place).startswith(CATALOGUE))


def said_in(text: str) -> Iterator[tuple[int, str]]:
    """Give the vendors' words in a task file or template, comments left out."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("#"):
            quoted = WORDS & set(re.findall(r"""['"]([a-z0-9-]+)['"]""", line))
            yield from ((number, word) for word in sorted(quoted | {word for word in NUMBERS | ADDRESSES if word in line}))


def of_playbooks() -> Iterator[str]:
    places = (path.relative_to(PROJECT) for path in sorted((PROJECT / "playbooks").rglob("*")))
    yield from (str(place) for place in places if place.suffix in (".py", ".yml", ".j2") and not OF_A_CLOUD & set(place.parts) and str(place) not in ALLOWED)


def test_playbooks_read_vendors_words_from_the_catalogue() -> None:
    found = []
    for place in of_playbooks():
        text = (PROJECT / place).read_text(encoding="utf-8")
        found += [f"{place}:{line}: {word}" for line, word in (mentions(text) if place.endswith(".py") else said_in(text))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line", ["  when: 'efa' in interfaces", '  vendor: "0x1d0f"', "  url: https://truststore.pki.rds.amazonaws.com/x.pem"])
def test_a_word_of_a_vendor_in_a_task_file_is_noticed(line: str) -> None:
    assert [*said_in(line)]


def test_only_the_catalogue_and_the_targets_write_vendors_words() -> None:
    found = [f"{place}:{line}: {word}" for place in modules() for line, word in mentions((PROJECT / place).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def products(source: str) -> Iterator[tuple[int, str]]:
    """Give the places in a module whose texts name a product of a cloud; docstrings may."""
    tree = ast.parse(source)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told and (found := PRODUCTS.search(node.value)):
            yield node.lineno, found[0]


def test_sentences_name_products_of_clouds_from_the_catalogue() -> None:
    found = {place: [*products((PROJECT / place).read_text(encoding="utf-8"))] for place in modules()}
    assert {place for place, words in found.items() if words} == {*PRODUCTS_ALLOWED}, found


@pytest.mark.parametrize("text", ["EC2 assigns none", "an EKS cluster", "`--target` of AWS", "from Google Cloud, where", "Mountpoint for S3"])
def test_a_product_in_a_sentence_is_noticed(text: str) -> None:
    assert [*products(f"WHY = {text!r}")]


@pytest.mark.parametrize("code", ['"""AWS\' own."""', 'x = "FI_EFA_USE_HUGE_PAGE=0"', 'x = "disk"', 'x = "a foldered name"'])
def test_other_sentences_are_fine(code: str) -> None:
    assert not [*products(code)]


@pytest.mark.parametrize(
    "code", ['EFA = ("efa", "efa-only")', 'x = nic.kind == "mrdma"', 'GROUP = "arn:"', 'IMAGE = re.compile(r"ami-[0-9a-f]+")', 'x.startswith("subnet-")']
)
def test_a_word_of_a_vendor_is_noticed(code: str) -> None:
    assert [*mentions(code)]


@pytest.mark.parametrize("code", ['x = "for example fs-0123456789abcdef0"', 'x = "cr"', 'x = "ethernet"'])
def test_other_words_are_fine(code: str) -> None:
    assert not [*mentions(code)]

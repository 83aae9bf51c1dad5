"""Files as large as a file may be: each is answered in seconds, and what is more than a blueprint may have is said."""

from collections.abc import Callable

import pytest

from blueprints import content, finding, language, load, read
from blueprints.checks import cycles
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
TINY = "name: tiny\npools: {t: {nodes: 1}}\n"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
"""Each takes seconds, on a busy machine too; what grows with the square takes minutes."""


def filled(head: str, line: Callable[[int], str], entries: int) -> str:
    """Write as many entries as asked for, or as a file holds."""
    lines = [head]
    room = content.SIZE_LIMIT_BYTES - len(head)
    for number in range(entries):
        room -= len(line(number))
        if room < 0:
            break
        lines.append(line(number))
    return "".join(lines)


def several_targets(entries: int) -> str:
    parts = [filled(f"  {target}:\n    pools:\n", lambda number: f"      p{number}: {{nodes: 1}}\n", entries) for target in ("aws", "gcp", "metal", "local")]
    return f"{TINY}targets:\n{''.join(parts)}"


def chain(number: int) -> str:
    return f"  a{number}: {{parent: a{(number + 1) % 2000}}}\n"


MACHINES = "p5.48xlarge, p5en.48xlarge, p4d.24xlarge, p4de.24xlarge, g5.48xlarge, g6.48xlarge, g6e.48xlarge"
PATHS = filled("name: tiny\nstorage:\n", lambda number: f"  s{number}: {{kind: nfs, mount: /a{'/a' * number}}}\n", 100)
MANY = 100_000
LARGE = {
    "pools": filled("name: tiny\npools:\n", lambda number: f"  p{number}: {{nodes: 1}}\n", 1000),
    "pools of several machines": filled("name: tiny\npools:\n", lambda number: f"  p{number}: {{nodes: {{min: 0, max: 2}}, machines: [{MACHINES}]}}\n", 1000),
    "pools with unknown accounts": filled(
        "name: tiny\npools:\n", lambda number: f"  p{number}: {{nodes: 1, partition: {{accounts: [{', '.join(f'a{one}' for one in range(190))}]}}}}\n", 1000
    ),
    "lists of one word": filled(
        "name: tiny\naccounts: {r: {}}\npools:\n", lambda number: f"  p{number}: {{nodes: 1, partition: {{accounts: [{'r, ' * 2000}]}}}}\n", 1000
    ),
    "accounts in a circle": filled(f"{TINY}accounts:\n", chain, 2000),
    "windows": filled(f"{TINY}maintenance:\n", lambda number: f'  - {{weekday: monday, start: "{number % 24:02}:00", hours: 2, week: last}}\n', 100),
    "mounts inside each other": filled(f"{PATHS}pools:\n", lambda number: f"  p{number}: {{nodes: 1, scratch: {{mount: /b{'/b' * (number % 60)}}}}}\n", 1000),
    "qualities": filled(f"{TINY}qos:\n", lambda number: f"  q{number}: {{preempts: [{', '.join(f'q{one}' for one in range(number))}]}}\n", 200),
    "users": filled(
        f"{TINY}storage: {{home: {{kind: nfs, mount: /home}}}}\nusers:\n", lambda number: f"  u{number}: {{uid: {2000 + number}, account: r}}\n", 10_000
    ),
    "suppressions of nothing": filled(f"{TINY}suppress:\n", lambda number: f"  - {{code: CW520, at: pools.t{number}, reason: x, until: 2027-01-01}}\n", 1000),
    "unknown keys": filled(TINY, lambda number: f"k{number}: 1\n", MANY),
    "unknown keys of a target": filled(f"{TINY}targets:\n  gcp:\n", lambda number: f"    k{number}: 1\n", MANY),
}
TOO_MANY = {
    "pools": (filled("name: tiny\npools:\n", lambda number: f"  p{number}: {{nodes: 1}}\n", MANY), "pools has "),
    "pools for every target": (several_targets(11_000), "pools has 11001 entries"),
    "accounts": (filled(f"{TINY}accounts:\n", chain, MANY), "accounts has "),
    "windows": (filled(f"{TINY}maintenance:\n", lambda _: '  - {weekday: monday, start: "02:00", hours: 2}\n', MANY), "maintenance has "),
    "file systems": (filled(f"{TINY}storage:\n", lambda number: f"  s{number}: {{kind: nfs, mount: /s{number}}}\n", MANY), "storage has "),
    "qualities": (filled(f"{TINY}qos:\n", lambda number: f"  q{number}: {{}}\n", MANY), "qos has "),
    "suppressions": (filled(f"{TINY}suppress:\n", lambda _: "  - {code: CW520, at: pools.t, reason: x, until: 2027-01-01}\n", MANY), "suppress has "),
    "users": (filled(f"{TINY}users:\n", lambda number: f"  u{number}: {{uid: {2000 + number}, account: r}}\n", MANY), "users has "),
    "labels": (filled("name: tiny\npools:\n  t:\n    nodes: 1\n    labels:\n", lambda number: f"      k{number}: v\n", MANY), "pools.t.labels has "),
    "networks": (filled(f"{TINY}access:\n  allowed_cidrs:\n", lambda _: "    - 10.0.0.0/24\n", MANY), "access.allowed_cidrs has "),
}


def findings(text: str, target: str) -> tuple[finding.Finding, ...]:
    """Check a blueprint and show what is found."""
    try:
        found = load.from_document(read.from_bytes(text.encode(), file="large.yaml"), target=target, stack="large", facts=FACTS).findings
    except finding.Invalid as invalid:
        found = invalid.findings
    finding.render(found)
    return found


@pytest.mark.parametrize("target", [pytest.param("local", marks=pytest.mark.soak), "aws"])
@pytest.mark.parametrize("name", LARGE)
def test_what_is_as_large_as_it_may_be_is_answered_in_seconds(name: str, target: str) -> None:
    assert Code.TOO_MANY not in {one.code for one in findings(LARGE[name], target)}


@pytest.mark.parametrize("name", TOO_MANY)
def test_more_than_a_blueprint_may_have_is_an_error_with_the_limit(name: str) -> None:
    text, what = TOO_MANY[name]
    (only,) = [one for one in findings(text, "aws") if one.code == Code.TOO_MANY]
    assert only.what.startswith(what)
    assert only.level is finding.Level.ERROR
    assert only.remedy.startswith("write ")
    assert only.where is not None


def test_every_list_and_mapping_of_the_language_has_a_limit() -> None:
    without = []
    for section in language.Section.__subclasses__():
        for name, field in section.model_fields.items():
            is_bounded = any(hasattr(limit, "max_length") for limit in field.metadata)
            if isinstance(field.default, tuple | dict) and not is_bounded:
                without.append((section.__name__, name))
    assert without == [("Blueprint", "targets")]  # its keys are the targets that there are


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ({}, []),
        ({"a": None, "b": "a", "c": "elsewhere"}, []),
        ({"a": "a"}, [["a"]]),
        ({"a": "b", "b": "c", "c": "b"}, [["b", "c"]]),
        ({"a": "b", "b": "a", "c": "a", "d": "e", "e": "d"}, [["a", "b"], ["d", "e"]]),
        ({"z": "a", "a": "b", "b": "c", "c": None}, []),
    ],
)
def test_circles_are_found_once_and_without_the_way_to_them(parents: dict[str, str | None], expected: list[list[str]]) -> None:
    assert list(cycles.of_parents(parents)) == expected


def test_long_circles_are_shown_by_their_beginning() -> None:
    assert cycles.words(["a", "b"], " in ") == "a in b in a"
    assert cycles.words([f"a{number}" for number in range(2000)], " in ") == "a0 in a1 in a2 in a3 in a4 in a5 in … (1994 more) in a0"

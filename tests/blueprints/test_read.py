"""Reading: YAML 1.2's plain values, the place of each, and what the system says about files."""

import math
import os
import pathlib
import socket

import pytest

from blueprints import document, finding, project, read
from blueprints import language as model
from blueprints.codes import Code
from blueprints.content import SIZE_LIMIT_BYTES

ANSWERED_WITHIN_S = 120
"""Each takes a second or two, on a busy machine some more; what grows with the square takes minutes. The bar in seconds is the benchmark's."""


def read_text(text: str) -> document.Document:
    return read.from_bytes(text.encode(), file="test.yaml")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("tRUE", "tRUE"),
        ("12", 12),
        ("-3", -3),
        ("+7", 7),
        ("0", 0),
        ("012", "012"),
        ("0o14", "0o14"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("12:30:45", "12:30:45"),
        ("1-00:00:00", "1-00:00:00"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("999999999999999999", 10**18 - 1),
        ("9" * 5000, "9" * 5000),
        ("1.5", 1.5),
        ("22.05", 22.05),
        (".5", 0.5),
        ("1e3", 1000.0),
        (".inf", math.inf),
        ("+.inf", math.inf),
        ("-.INF", -math.inf),
        ("inf", "inf"),
        ("1.2.3", "1.2.3"),
        ("'true'", "true"),
        ('"12"', "12"),
        ("=", "="),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        ("[a, 1, {b: c}]", ["a", 1, {"b": "c"}]),
    ],
)
def test_values_follow_yaml_1_2_with_decimal_numbers(written: str, value: object) -> None:
    assert read_text(f"key: {written}\n").values == {"key": value}
    assert type(read_text(f"key: {written}\n").values["key"]) is type(value)


def test_keys_are_always_text() -> None:
    assert list(read_text("no: 1\n2001: 2\ntrue: 3\n1.5: 4\n~: 5\n").values) == ["no", "2001", "true", "1.5", "~"]


def test_every_key_and_value_knows_its_place() -> None:
    source = read_text("name: tiny\npools:\n  train: {nodes: 12, list: [a, 'b c']}\n  dev:\n    nodes:\n")
    places = {
        ("name",): (1, 7, 4),
        ("pools",): (2, 1, 5),  # a mapping over lines is shown at its key
        ("pools", "train"): (3, 3, 5),
        ("pools", "train", "nodes"): (3, 18, 2),
        ("pools", "train", "list", 1): (3, 32, 5),
        ("pools", "dev", "nodes"): (5, 5, 5),  # nothing stands there: the key is shown
        ("pools", "dev", "accelerator"): (4, 3, 3),  # it isn't there: what it is missing in
        ("pools", "test", "nodes"): (2, 1, 5),
        ("users",): (1, 1, 1),
    }
    for path, (line, column, width) in places.items():
        where = source.where(*path)
        assert (where.line, where.column, where.width) == (line, column, width), path
        assert where.text == source.source.lines[line - 1]
    assert source.where_key("pools", "train", "nodes").column == 11


def test_lines_are_counted_whatever_ends_them() -> None:
    for ending in ("\n", "\r\n", "\r"):
        where = read_text(f"name: tiny{ending}# größe{ending}pools: 5{ending}").where("pools")
        assert (where.line, where.column, where.text) == (3, 8, "pools: 5")


def test_columns_are_characters_not_bytes() -> None:
    source = read_text("größe: {höhe: 3}\n")
    assert source.where("größe", "höhe").column == 15


def test_a_setting_takes_the_place_of_the_file() -> None:
    where = finding.Position("setting")
    source = read_text("pools: {train: {nodes: 2, x: 1}}\n")
    changed = source.with_setting(("pools", "train"), {"nodes": 3}, where)
    assert changed.values == {"pools": {"train": {"nodes": 3}}}
    assert changed.where("pools", "train", "nodes") == where
    assert changed.where("pools").line == 1
    assert source.values == {"pools": {"train": {"nodes": 2, "x": 1}}}


def code_of(path: pathlib.Path) -> str:
    with pytest.raises(finding.Invalid) as invalid:
        read.read(path)
    (only,) = invalid.value.findings
    assert only.where is not None
    assert only.where.file == str(path)
    return only.code


def test_files_that_cannot_be_read_are_findings(tmp_path: pathlib.Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (SIZE_LIMIT_BYTES + 1))
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    listening = tmp_path / "socket.yaml"
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(listening))
        assert code_of(listening) == Code.FILE_UNREADABLE
    assert code_of(tmp_path / "none.yaml") == Code.FILE_MISSING
    assert code_of(large / "below-a-file.yaml") == Code.FILE_MISSING
    assert code_of(tmp_path) == Code.FILE_UNREADABLE
    assert code_of(pipe) == Code.FILE_UNREADABLE
    assert code_of(loop) == Code.FILE_UNREADABLE
    assert code_of(pathlib.Path("/dev/zero")) == Code.FILE_UNREADABLE
    assert code_of(tmp_path / ("a" * 300)) == Code.FILE_UNREADABLE
    assert code_of(pathlib.Path("a\0b.yaml")) == Code.FILE_UNREADABLE
    assert code_of(large) == Code.FILE_TOO_LARGE


def test_a_file_without_permission_is_a_finding(tmp_path: pathlib.Path) -> None:
    """Root reads everything, so another user tries, in a process of its own."""
    path = tmp_path / "closed.yaml"
    path.write_text("name: tiny\n")
    path.chmod(0)
    if os.geteuid() != 0:
        assert code_of(path) == Code.FILE_UNREADABLE
        return
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        try:
            read.read(path)
        except finding.Invalid as invalid:
            os._exit(40 + len(invalid.findings) if invalid.findings[0].code == Code.FILE_UNREADABLE else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 41


def test_a_file_of_the_largest_size_is_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "full.yaml"
    head = b"name: tiny\n"
    path.write_bytes(head + b"#" * (SIZE_LIMIT_BYTES - len(head)))
    assert read.read(path).values == {"name": "tiny"}


def test_files_of_the_project_are_named_from_its_root() -> None:
    source = read.read(project.project_root() / "blueprints" / "library" / "starter.yaml")
    assert source.file == "blueprints/library/starter.yaml"


def test_thousands_of_lines_are_read() -> None:
    pools = "".join(f"  pool-{number}:\n    accelerator: h100\n    gpus_per_node: 8\n    nodes: 2\n" for number in range(500))
    assert len(read_text(f"name: tiny\npools:\n{pools}").values["pools"]) == 500


@pytest.mark.timeout(ANSWERED_WITHIN_S)
def test_a_file_full_of_faults_is_answered_soon() -> None:
    source = read_text("".join(f"unknown-{number}: 1\n" for number in range(50_000)))
    with pytest.raises(finding.Invalid) as invalid:
        model.parse(source)
    page = finding.render(invalid.value.findings)
    assert page.endswith("the first 100 are shown\n")
    assert len(page) < 100_000


@pytest.mark.timeout(ANSWERED_WITHIN_S)
@pytest.mark.parametrize("text", ["[" * 500_000, "{" * 500_000, "? " * 300_000, "- " * 300_000, "!a " * 100_000, "&a [" * 200_000, "a: " * 200_000])
def test_deep_nesting_ends_in_a_finding_and_soon(text: str) -> None:
    with pytest.raises(finding.Invalid):
        read_text(text)

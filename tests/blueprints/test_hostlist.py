"""Slurm's bracket form of host names: read, written, and back."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprints import hostlist
from blueprints.project import project_root

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
"""Host names as Slurm takes them: with and without a number at their end, with and without leading zeros."""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("login", ("login",)),
        ("train-0", ("train-0",)),
        ("train-[0-2,7]", ("train-0", "train-1", "train-2", "train-7")),
        ("gpu-a-[1-2],login-0", ("gpu-a-1", "gpu-a-2", "login-0")),
        ("n-[08-10]", ("n-08", "n-09", "n-10")),
        ("n[8-10]", ("n8", "n9", "n10")),
        ("n[001,009-011]x", ("n001x", "n009x", "n010x", "n011x")),
        ("rack[0-1]node[08-09]", ("rack0node08", "rack0node09", "rack1node08", "rack1node09")),
        ("a[0-1]b[2]c[3-4],d", ("a0b2c3", "a0b2c4", "a1b2c3", "a1b2c4", "d")),
    ],
)
def test_a_host_list_is_expanded_as_scontrol_expands_it(text: str, names: tuple[str, ...]) -> None:
    assert hostlist.expand(text) == names
    assert hostlist.count(text) == len(names)


@pytest.mark.parametrize(
    ("text", "count"), [("gpu-[0-99999999]", 10**8), ("a[0-999]b[0-999]c[0-999],d", 10**9 + 1), ("gpu-[008-001]", 0), ("n-[1-9999999999999]", 10**13 - 1)]
)
def test_names_are_counted_without_being_made(text: str, count: int) -> None:
    assert hostlist.count(text) == count


@pytest.mark.parametrize("text", ["train-[0-1", "train-0]", "train-[a-b]", "train-[]", "train-[0-]", "train-[[0-1]]", f"n[{'0' * 64}-1]"])
def test_what_is_no_host_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="host list"):
        hostlist.expand(text)
    with pytest.raises(ValueError, match="host list"):
        hostlist.count(text)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), ""),
        (("train-0",), "train-0"),
        (("train-10", "train-0", "train-3", "train-2"), "train-[0,2-3,10]"),
        (("n-08", "n-09", "n-10"), "n-[08-10]"),
        (("n-99", "n-100", "n-08"), "n-100,n-[08,99]"),
        (tuple(f"big-{number:04}" for number in range(1, 7501)), "big-[0001-7500]"),
        (("train-0", "debug-0", "login"), "debug-0,train-0,login"),
        (("a-1", "a-1"), "a-1"),
    ],
)
def test_names_are_compressed_to_ranges(names: tuple[str, ...], text: str) -> None:
    assert hostlist.compress(names) == text


@settings(derandomize=True)
@given(st.sets(NAMES))
def test_compressed_names_expand_to_the_same_names(names: set[str]) -> None:
    expanded = hostlist.expand(hostlist.compress(names))
    assert sorted(expanded) == sorted(names)


@settings(derandomize=True)
@given(st.sampled_from(["train-", "rack1-n"]), st.sets(st.integers(0, 300)), st.integers(1, 4))
def test_numbered_names_with_any_padding_expand_to_the_same_names(prefix: str, numbers: set[int], width: int) -> None:
    names = [f"{prefix}{number:0{width}d}" for number in sorted(numbers)]
    assert sorted(hostlist.expand(hostlist.compress(names))) == sorted(names)


@settings(derandomize=True)
@given(st.integers(0, 50))
def test_a_counted_group_is_written_as_its_names_are(count: int) -> None:
    assert hostlist.counted("train-", count) == hostlist.compress(f"train-{number}" for number in range(count))


def test_thousands_of_names_are_one_range() -> None:
    assert hostlist.compress(f"train-{number}" for number in range(7500)) == hostlist.counted("train-", 7500) == "train-[0-7499]"


@pytest.mark.parametrize(
    ("prefix", "count", "members", "names"),
    [
        ("train", 3, "", ("train-0", "train-1", "train-2")),
        ("train", 0, "", ()),
        ("train", 2, "gpu-[007-008]", ("gpu-007", "gpu-008")),
    ],
)
def test_hosts_of_a_group_have_their_own_names_or_numbers(prefix: str, count: int, members: str, names: tuple[str, ...]) -> None:
    assert hostlist.of_group(prefix, count, members) == names
    assert tuple(hostlist.nth_of_group(prefix, number, members) for number in range(count)) == names


def test_names_of_hosts_are_written_in_one_place() -> None:
    """A second place would name other hosts on the day on which groups are named otherwise."""
    files = (
        path
        for folder in ("blueprints", "components", "stacks", "playbooks")
        for path in (project_root() / folder).rglob("*")
        if path.suffix in (".py", ".j2", ".yml")
    )
    assert [path.name for path in files if re.search(r"prefix[^\"{}]*\}+-\{", path.read_text())] == ["hostlist.py"]

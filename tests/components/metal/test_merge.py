"""What a release takes out of a text that somebody changed since the stack did."""

import pytest

from components.metal.guest import merge

BEFORE = "127.0.0.1 localhost\n::1 ip6-localhost\n"
LEFT = BEFORE + "10.0.0.1 controller\n"


@pytest.mark.parametrize(
    ("what", "before", "left", "now", "wanted"),
    [
        ("the stack's line goes", BEFORE, LEFT, LEFT, BEFORE),
        ("a line that was added behind it stays", BEFORE, LEFT, LEFT + "10.9.9.9 mine\n", BEFORE + "10.9.9.9 mine\n"),
        ("a line that was added before it stays", BEFORE, LEFT, "# mine\n" + LEFT, "# mine\n" + BEFORE),
        ("another line that was changed stays so", BEFORE, LEFT, LEFT.replace("::1", "::2"), BEFORE.replace("::1", "::2")),
        ("a line that the stack removed is there again", LEFT, BEFORE, "# mine\n" + BEFORE, "# mine\n" + LEFT),
        ("the same line changed by both is nobody's to decide", BEFORE, BEFORE.replace("::1", "::2"), BEFORE.replace("::1", "::3"), None),
        ("what is as before already stays", BEFORE, LEFT, BEFORE, BEFORE),
        ("the stack's line inside of one that was rewritten", BEFORE, LEFT, "everything else\n", None),
    ],
)
def test_lines(what: str, before: str, left: str, now: str, wanted: str | None) -> None:
    assert merge.without_lines(before=before, left=left, now=now) == wanted, what


def test_a_line_that_both_removed_stays_removed() -> None:
    assert merge.without_lines(before="a\nb\nc\n", left="a\nc\n", now="a\nc\nd\n") == "a\nb\nc\nd\n"


@pytest.mark.parametrize(
    ("what", "before", "left", "now", "wanted"),
    [
        ("the stack's user goes, one that was added since stays", "root:0\n", "root:0\nslurm:64030\n", "root:0\nslurm:64030\nada:1000\n", "root:0\nada:1000\n"),
        ("a member that the stack added leaves", "sudo:27:ada\n", "sudo:27:ada,bob\n", "sudo:27:ada,bob\nnew:5:\n", "sudo:27:ada\nnew:5:\n"),
        ("a user that the stack removed is there again", "root:0\nold:7\n", "root:0\n", "root:0\nada:1000\n", "root:0\nada:1000\nold:7\n"),
        ("a row that both changed", "sudo:27:\n", "sudo:27:bob\n", "sudo:27:bob,ada\n", None),
        ("a stack's user that somebody removed already", "root:0\n", "root:0\nslurm:64030\n", "root:0\n", "root:0\n"),
        ("several ranges of one user", "ada:1:2\nada:9:9\n", "ada:1:2\nada:9:9\nslurm:5:5\n", "ada:1:2\nada:9:9\nslurm:5:5\n", "ada:1:2\nada:9:9\n"),
    ],
)
def test_rows_of_users_and_groups(what: str, before: str, left: str, now: str, wanted: str | None) -> None:
    assert merge.without("/etc/group", before=before, left=left, now=now) == wanted, what


def test_a_user_that_a_staying_package_needs_counts_as_there_before() -> None:
    before, left = "root:x:0\n", "root:x:0\nmunge:x:101\nslurm:x:64030\n"
    kept = merge.with_named_rows(before, left, "adduser --system munge\n")
    assert merge.without_rows(before=kept, left=left, now=left) == "root:x:0\nmunge:x:101\n"

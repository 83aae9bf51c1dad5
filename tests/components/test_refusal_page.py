"""The page of a refusal."""

from components import errors


def test_further_lines_of_a_part_are_below_its_first_word() -> None:
    page = errors.Refusal("it failed", why="one\ntwo", remedy="first this\nthen that").page()
    assert page == "error: it failed\n  why: one\n       two\n  do:  first this\n       then that"

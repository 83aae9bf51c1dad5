"""Who is sent the SDK's debug messages; with the real engine in test_engine.py."""

import pytest

from components import debug_messages


@pytest.mark.parametrize("words", [("--debug",), ("--debug=true",), ("-d",), ("--yes", "-yd")])
def test_who_asks_for_them_gets_them(words: tuple[str, ...]) -> None:
    assert debug_messages.are_wanted(("pulumi", "up", *words))


@pytest.mark.parametrize("words", [(), ("--yes", "--diff"), ("--stack", "debug"), ("-y", "-s", "dev"), ("",)])
def test_nobody_else_does(words: tuple[str, ...]) -> None:
    assert not debug_messages.are_wanted(("pulumi", "up", *words))

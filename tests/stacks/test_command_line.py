"""Words of a command line that only look like allowed ones are named, as in blueprints."""

import pytest

from stacks.cli import main


@pytest.mark.parametrize(
    ("words", "named", "remedy"),
    [
        (["plan", "starter", "--target", "\u0430ws"], "U+0430, Cyrillic small letter a", "type `a` in its place"),
        (["\u0440lan", "starter"], "U+0440, Cyrillic small letter er", "type `p` in its place"),
        (["lookup", "zones", "--target", "a\u200bws"], "U+200B, Zero width space", "delete it"),
        (["check", "starter", "--targ\u0435t", "aws"], "U+0435, Cyrillic small letter ie", "type `e` in its place"),
        (["check", "starter", "\u2014target", "aws"], "U+2014, Em dash", "type `--` in its place"),
        (["compare", "starter", "--targets", "aws,g\u0441p"], "U+0441, Cyrillic small letter es", "type `c` in its place"),
        (["compare", "starter", "--targets=aws,g\u0441p"], "U+0441, Cyrillic small letter es", "type `c` in its place"),
        (["check", "starter", "--target", "\uff21WS"], "U+FF21, Fullwidth latin capital letter a", "type `A` in its place"),
    ],
)
def test_a_character_that_only_looks_like_another_is_named(words: list[str], named: str, remedy: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.parsed(words)
    page = capsys.readouterr().err
    assert ended.value.code == 2
    assert named in page
    assert remedy in page


@pytest.mark.parametrize("target", ["\u0431ws", "awz", "AWS"])
def test_other_unknown_words_get_the_list(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.parsed(["plan", "starter", "--target", target])
    assert "choose from" in capsys.readouterr().err


def test_a_character_that_is_no_fault_is_not_blamed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.parsed(["check", "starter", "--set", "description=\u0430", "--target", "awz"])
    assert "only looks like" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["check", "st\u0430rter", "--target", "local"], "U+0430, Cyrillic small letter a"),
        (["explain", "\u0421W537"], "U+0421, Cyrillic capital letter es"),
    ],
)
def test_a_name_that_only_looks_like_a_known_one_is_explained(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(words) == 2
    page = capsys.readouterr().err
    assert named in page
    assert "did you mean" in page


@pytest.mark.parametrize("key", ["p\u043eols.train.nodes", "pols.train.nodes"])
def test_an_unknown_key_of_an_option_is_found_in_the_option(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["check", "starter", "--target", "local", "--set", f"{key}=3"]) == 2
    assert capsys.readouterr().err.startswith("option --set: error: ")

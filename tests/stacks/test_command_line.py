"""Words of a command line that only look like allowed ones are named, as in blueprints."""

import pytest

from stacks.cli import main


@pytest.mark.parametrize(
    ("words", "named", "remedy"),
    [
        (["plan", "starter", "--target", "\u0430ws"], "U+0430, Cyrillic small letter a", "type `a` in its place"),
        (["\u0440lan", "starter"], "U+0440, Cyrillic small letter er", "type `p` in its place"),
        (["lookup", "zones", "--target", "a\u200bws"], "U+200B, Zero width space", "delete it"),
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

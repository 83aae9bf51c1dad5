"""`clusterwright values`: the words it takes, the order it keeps, and what it says of a place that isn't there."""

import json

import pytest

from blueprints.language import Blueprint, Pool
from stacks.cli import main
from tests.stacks.test_completion import completed


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main.main(["values", *words]) == 0
    return [line.split(" ")[0] for line in capsys.readouterr().out.splitlines()]


def test_the_first_word_is_the_blueprint_and_the_second_a_place_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "pools.gpu.nodes.max" in shown(capsys, "research-shared")
    assert {path.split(".")[1] for path in shown(capsys, "research-shared", "pools")} == {"gpu", "debug"}
    assert shown(capsys, "--blueprint", "starter") == shown(capsys, "starter")


TRIED = ("--set", "pools.train.nodes=3")


@pytest.mark.parametrize(
    "words",
    [("starter", "pools", *TRIED), ("starter", *TRIED, "pools"), (*TRIED, "starter", "pools"), ("--blueprint", "starter", *TRIED), (*TRIED, "starter")],
)
def test_words_and_options_may_stand_in_any_order(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert main.main(["values", *words]) == 0
    out = capsys.readouterr().out
    assert "pools.train.nodes" in out
    assert "= 3   (option --set)" in out
    assert ("accounts.research" in out) is ("pools" not in words)


def test_a_word_too_many_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["values", "starter", *TRIED, "pools", "access"])
    assert ended.value.code == 2
    assert "access" in capsys.readouterr().err


def test_values_stand_in_the_order_of_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "starter", "--all")
    sections = list(dict.fromkeys(path.split(".")[0] for path in found))
    assert sections == [name for name in Blueprint.model_fields if name in sections]
    keys = list(dict.fromkeys(path.split(".")[2] for path in found if path.startswith("pools.train.")))
    assert keys == list(Pool.model_fields)
    written = shown(capsys, "starter")
    assert [path for path in written if path in found] == [path for path in found if path in written], "with and without the language's own values"


def test_a_place_that_nothing_sets_is_shown_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert "network.egress" in shown(capsys, "starter", "network")
    assert "control.size" in shown(capsys, "starter", "control"), "`control: {}` says nothing of what is in it"
    assert {"control.size", "control.managed"} <= {*shown(capsys, "starter", "--all")}


@pytest.mark.parametrize(
    ("path", "meant"),
    [("pools.trian", "pools.train"), ("pools.train.node", "pools.train.nodes"), ("netwrk", "network"), ("pools.trian.nodes", "pools.train"), ("zzz.y", None)],
)
def test_a_place_that_isn_t_there_is_refused_with_the_one_that_was_meant(path: str, meant: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["values", "starter", path]) == 2
    err = capsys.readouterr().err
    assert f"there is no `{path}` in the blueprint [CW229]" in err
    assert (f"did you mean `{meant}`?" in err) == (meant is not None)
    assert main.main(["values", "starter", path, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "CW229"


def test_bash_completes_places() -> None:
    assert completed("clusterwright values starter pools.train.pa")[:2] == ["pools.train.partition", "pools.train.partition.default"]
    assert {"pools", "pools.train", "network.cidr"} <= {*completed("clusterwright values starter ")}
    assert completed("clusterwright plan starter --set pools.train.no") == ["pools.train.nodes="]
    assert completed("clusterwright values no-such-blueprint ") == [""]

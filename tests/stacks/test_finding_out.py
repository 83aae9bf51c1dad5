"""The commands that show what there is: `library`, `catalog`, `explain`, and the version."""

import json
import tomllib
from typing import Any, get_args

import pytest

from blueprints import catalog, library
from blueprints.codes import Code
from blueprints.language import TargetName
from blueprints.project import project_root
from stacks.cli import main
from stacks.render import catalog_tables


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main.main([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def page(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.main([*words]) == 0
    return capsys.readouterr().out


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["--version"])
    assert ended.value.code in (0, None)
    written = tomllib.loads((project_root() / "pyproject.toml").read_text())["project"]["version"]
    assert capsys.readouterr().out == f"clusterwright {written}\n"


# The library


def test_the_library_is_listed_with_whom_it_is_for_and_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    found = {entry["name"]: entry for entry in document(capsys, "library")["blueprints"]}
    assert [*found] == [*library.names()]
    assert all(entry["audience"] for entry in found.values())
    assert [size["target"] for size in found["metal-h100"]["targets"]] == ["metal", "local"]
    assert found["llm-pretraining"]["targets"][0] == {"target": "aws", "nodes": 16, "gpus": 128}
    lines = page(capsys, "library").splitlines()
    (line,) = [line for line in lines if line.split()[0] == "scale-7500"]
    assert line.endswith("aws, gcp, metal           7,500     60,000")
    assert len(lines) == len(found) + 2


# The catalogue


@pytest.mark.parametrize("kind", catalog_tables.SHELVES)
def test_every_kind_is_listed_with_its_sources_and_dates(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "catalog", kind)
    assert (found["format"], found["kind"]) == (1, kind)
    assert found["entries"]
    for entry in found["entries"]:
        assert entry["source"]
        assert entry.get("as_of") or entry["date"]
    lines = page(capsys, "catalog", kind).splitlines()
    for entry in found["entries"]:
        assert any(line.split()[:1] == [entry.get("profile") or entry["name"]] for line in lines)


def test_machines_are_those_of_the_catalogue_with_prices_and_their_dates(capsys: pytest.CaptureFixture[str]) -> None:
    entries = {entry["name"]: entry for entry in document(capsys, "catalog", "machines", "--target", "aws")["entries"]}
    assert [*entries] == [*catalog.machines("aws")]
    known = catalog.price("aws", "p5.48xlarge", region="us-east-1", capacity="on-demand")
    assert known is not None
    (price,) = [one for one in entries["p5.48xlarge"]["prices"] if (one["region"], one["capacity"]) == ("us-east-1", "on-demand")]
    assert (price["usd_per_hour"], price["as_of"], price["source"]) == (known.usd_per_hour, known.as_of, known.source)
    text = page(capsys, "catalog", "machines", "--target", "aws")
    (line,) = [line for line in text.splitlines() if line.split()[:1] == ["p5.48xlarge"]]
    for words in ("8 × h100 80 GB", "efa, 3200 Gb/s", f"{known.usd_per_hour:,.2f}", known.as_of):
        assert words in line
    assert "USD in us-east-1" in text


def test_a_doubtful_or_unknown_price_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    lines = {line.split()[0]: line for line in page(capsys, "catalog", "machines", "--target", "gcp").splitlines() if line.strip()}
    doubtful = catalog.price("gcp", "a3-megagpu-8g", region="us-central1", capacity="on-demand")
    assert doubtful is not None
    assert doubtful.confidence != "high"
    assert f"~{doubtful.usd_per_hour:,.2f}" in lines["a3-megagpu-8g"]
    assert catalog.price("gcp", "a3-edgegpu-8g", region="us-central1", capacity="on-demand") is None
    assert "unknown" in lines["a3-edgegpu-8g"]


def test_a_target_narrows_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    names = {target: {entry["name"] for entry in document(capsys, "catalog", "accelerators", "--target", target)["entries"]} for target in ("aws", "metal")}
    assert "a10g" in names["aws"] - names["metal"]
    assert all("gcp" in entry["targets"] for entry in document(capsys, "catalog", "software", "--target", "gcp")["entries"])
    assert "efa" not in {entry["name"] for entry in document(capsys, "catalog", "fabrics", "--target", "gcp")["entries"]}
    assert "nvlink" in {entry["name"] for entry in document(capsys, "catalog", "fabrics", "--target", "gcp")["entries"]}
    assert {entry["target"] for entry in document(capsys, "catalog", "storage")["entries"]} == {*get_args(TargetName)}
    assert "the catalogue has no machines here" in page(capsys, "catalog", "machines", "--target", "local")


# Codes


def test_a_code_is_explained_and_how_it_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    text = page(capsys, "explain", "cw520")
    assert text.startswith(f"CW520: {Code.PLACEMENT_TOO_LARGE.meaning}\n  level: warning\n")
    assert "- {code: CW520, at: pools.train, reason: why it is accepted, until: 20" in text
    error = page(capsys, "explain", "CW201")
    assert "level: error" in error
    assert "can't be accepted" in error
    assert "suppress" not in error
    assert "`up` refuses" in page(capsys, "explain", "CW303")
    assert "found by acceptance" in page(capsys, "explain", "CW910")
    assert page(capsys, "explain", "CW150").startswith("CW150: a stack setting")


def test_all_codes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "explain")["codes"]
    assert {entry["code"] for entry in found} >= {*map(str, Code), "CW150"}
    of_blueprints = [entry for entry in found if entry["code"] in {*map(str, Code)}]
    assert {entry["can_be_accepted"] for entry in of_blueprints if entry["levels"] == ["error"]} == {False}
    [one] = document(capsys, "explain", "CW303")["codes"]
    words = {"title": "Scheduler not built", "meaning": Code.SCHEDULER_NOT_BUILT.meaning, "remedy": Code.SCHEDULER_NOT_BUILT.remedy}
    assert one == {"code": "CW303", **words, "levels": ["note"], "can_be_accepted": True}
    assert all(entry["title"] and entry["meaning"] and entry["remedy"] for entry in found)
    assert len(page(capsys, "explain").splitlines()) == len(found) + 3


def test_a_code_that_isn_t_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["explain", "CW5200"]) == 2
    err = capsys.readouterr().err
    assert "no finding has the code CW5200" in err
    assert "did you mean CW520?" in err

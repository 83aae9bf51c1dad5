"""Codes of drift: one meaning each, and known to `clusterwright explain`."""

import json
from collections import Counter

import pytest

from blueprints.codes import Code as BlueprintCode
from components.finish import checks
from components.inspection.codes import Code
from stacks import settings
from stacks.cli import main


def test_no_code_has_two_meanings() -> None:
    counted = Counter(str(code) for codes in (BlueprintCode, settings.Code, Code, checks.Code) for code in codes)
    assert [code for code, times in counted.items() if times > 1] == []


def test_every_code_is_explained_with_its_level_and_how_it_is_let_stand(capsys: pytest.CaptureFixture[str]) -> None:
    for code in Code:
        assert main.main(["explain", code.lower()]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"{code}: {code.meaning}\n  level: {code.level}\n")
        assert (f"- {{code: {code}, where:" in said) is (code is not Code.IGNORE_EXPIRED)


def test_drift_is_let_stand_whatever_its_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["explain", Code.RESOURCE_GONE, "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["codes"]
    assert found == {
        "code": "CW701",
        "title": "Resource gone",
        "meaning": Code.RESOURCE_GONE.meaning,
        "remedy": Code.RESOURCE_GONE.remedy,
        "levels": ["error"],
        "can_be_accepted": True,
    }

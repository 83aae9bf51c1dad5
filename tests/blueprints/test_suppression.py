"""Suppressions: what they take out, for how long, and what is said of those that take out nothing."""

import datetime as dt
from typing import Any

import pytest
import yaml

from blueprints import document, finding, language, load, read, suppression
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
LAST_DAY = dt.date(2027, 3, 31)
OPEN = {"name": "tiny", "pools": {"train": {"nodes": 1}}, "access": {"allowed_cidrs": ["0.0.0.0/0"]}}


def source_of(*entries: dict[str, Any]) -> document.Document:
    text = yaml.safe_dump({**OPEN, "suppress": list(entries)}, sort_keys=False)
    return read.from_bytes(text.encode(), file="tiny.yaml")


def suppress(code: str, at: str) -> dict[str, Any]:
    return {"code": code, "at": at, "reason": "known", "until": str(LAST_DAY)}


def codes(findings: tuple[finding.Finding, ...]) -> list[str]:
    return [str(one.code) for one in findings if one.code != Code.FEATURE_NOT_BUILT]


@pytest.mark.parametrize("at", ["access", "access.allowed_cidrs", "access.allowed_cidrs.0"])
def test_a_warning_is_taken_out_at_its_place_and_around_it_until_the_last_day(at: str) -> None:
    source = source_of(suppress("CW550", at))
    loaded = load.from_document(source, target="local", stack="test", facts=FACTS, today=LAST_DAY)
    assert codes(loaded.findings) == []
    assert codes(loaded.suppressed) == [Code.ACCESS_OPEN]


def test_after_the_last_day_the_warning_is_back_with_a_word_about_it() -> None:
    source = source_of(suppress("CW550", "access"))
    loaded = load.from_document(source, target="local", stack="test", facts=FACTS, today=LAST_DAY + dt.timedelta(days=1))
    assert codes(loaded.findings) == [Code.ACCESS_OPEN, Code.SUPPRESSION_EXPIRED]
    assert loaded.suppressed == ()


@pytest.mark.parametrize("entry", [suppress("CW550", "pools"), suppress("CW551", "access"), suppress("CW550", "acces"), suppress("CW550", "access.allowed")])
def test_other_places_and_other_codes_take_nothing_out(entry: dict[str, Any]) -> None:
    loaded = load.from_document(source_of(entry), target="local", stack="test", facts=FACTS, today=LAST_DAY)
    assert codes(loaded.findings) == [Code.ACCESS_OPEN, Code.SUPPRESSION_UNUSED]


def test_two_suppressions_hold_as_long_as_the_later() -> None:
    later = {**suppress("CW550", "access"), "until": "2028-01-01"}
    source = source_of(suppress("CW550", "access"), later)
    loaded = load.from_document(source, target="local", stack="test", facts=FACTS, today=dt.date(2027, 6, 1))
    assert codes(loaded.findings) == [Code.SUPPRESSION_EXPIRED]
    assert codes(loaded.suppressed) == [Code.ACCESS_OPEN]


def test_an_error_stays_and_what_is_in_no_blueprint_too() -> None:
    source = source_of(suppress("CW550", "access"))
    (entry,) = language.parse(source).suppress
    where = source.where("access", "allowed_cidrs", 0)
    fatal = finding.Finding(finding.Level.ERROR, Code.ACCESS_OPEN, where, "what", "why", "remedy")
    elsewhere = finding.Finding(finding.Level.NOTE, Code.ACCESS_OPEN, finding.Position("stack setting"), "what", "why", "remedy")
    kept, suppressed = suppression.apply([fatal, elsewhere], [entry], source, today=LAST_DAY)
    assert kept[:1] == (fatal,)
    assert elsewhere in kept
    assert [one.code for one in kept if one not in (fatal, elsewhere)] == [Code.SUPPRESSION_OF_ERROR]
    assert suppressed == ()


def test_a_place_holds_its_path_whichever_file_it_is_in() -> None:
    source = source_of(suppress("CW550", "access"))
    assert source.where("access", "allowed_cidrs", 0).path == ("access", "allowed_cidrs", 0)
    assert source.where("access", "ldap", "uri").path == ("access", "ldap", "uri")  # not there: the place is the nearest, the path the one asked for
    assert source.where_key("pools", "train").path == ("pools", "train")

"""The stack's mark and short names, the same on every target."""

import threading
from typing import Any

import pytest

from components import short_names
from components.aws import site as aws
from components.metal import site as metal
from components.provider.kind import UNKNOWN, Work

SITES = [(aws.Site(), aws.SiteInputs("prod", "starter"), "owner", 16), (metal.Site(), metal.SiteInputs("prod", "/home/ada/clusters"), "token", 32)]


def work() -> Work:
    return Work(show=lambda _text, _kept: None, stopping=threading.Event(), timeout_s=0)


@pytest.mark.parametrize(("site", "inputs", "output", "digits"), SITES)
def test_a_stack_gets_one_mark_and_keeps_it(site: Any, inputs: Any, output: str, digits: int) -> None:
    first, second = (site.create(inputs, work()) for _ in range(2))
    assert first != second
    assert {len(one[output]) for one in (first, second)} == {digits}
    assert site.expected(inputs) == {output: UNKNOWN}
    assert site.update(inputs, first, work()) == site.read(inputs, first) == first
    assert (site.identity(inputs), site.fixed) == ("prod", {"stack"})


@pytest.mark.parametrize(("site", "inputs", "output", "digits"), SITES)
def test_a_stack_of_an_earlier_version_gets_a_mark(site: Any, inputs: Any, output: str, digits: int) -> None:
    assert site.read(inputs, {}) == {output: ""}
    assert len(site.update(inputs, {}, work())[output]) == digits


def test_a_short_name_has_its_digest_and_fits() -> None:
    names = [short_names.shortened("starter-prod", 12, of=of, digits=4) for of in ("one", "other")]
    assert [name.rpartition("-")[0] for name in names] == ["starter", "starter"]
    assert names[0] != names[1]
    assert short_names.shortened("starter-", 13, of="one", digits=4) == names[0], "no two hyphens"
    assert len(short_names.shortened("much-too-long-a-name", 8, of="one", digits=5, joint="")) == 8

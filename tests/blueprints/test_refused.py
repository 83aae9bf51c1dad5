"""Keys that a target refuses: each is an error in one place, and its remedy works when it is typed."""

import re
from pathlib import Path

import pytest
import yaml

from blueprints import catalog, finding, load
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
FILES = sorted((Path(__file__).parent / "broken").glob("refused-*.yaml"))


def target_of(path: Path) -> str:
    """Give the target that the file's first line names."""
    return re.match(r"# target (\w+);", path.read_text())[1]  # type: ignore[index]


def found(path: Path, target: str) -> list[finding.Finding]:
    try:
        findings = load.examine(str(path), target=target, stack="test", facts=FACTS).findings
    except finding.Invalid as invalid:
        findings = invalid.findings
    return [one for one in findings if one.level is finding.Level.ERROR]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_remedy_of_a_refusal_works(path: Path, tmp_path: Path) -> None:
    written, target = yaml.safe_load(path.read_text()), target_of(path)
    for one in found(path, target):
        (said,) = re.findall(rf"`(targets\.{target}\.[^`]*)`", one.remedy)
        place, value = said.split(": ", 1)
        part, steps = written, place.split(".")
        for step in steps[:-1]:
            part = part.setdefault(step, {})
        value = yaml.safe_load(value)
        part[steps[-1]] = {**part.get(steps[-1], {}), **value} if isinstance(value, dict) else value
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump(written))
    assert found(changed, target) == []


def test_every_refusal_has_a_blueprint_that_it_refuses() -> None:
    refused = {re.search("`(.*)`", one.what)[1] for path in FILES for one in found(path, target_of(path)) if one.code is Code.FEATURE_REFUSED}  # type: ignore[index]
    assert refused == {key for target in catalog.target_names() for built in catalog.target(target).built.values() for key in built.refused}


def test_what_is_refused_is_not_called_built() -> None:
    for built in (built for target in catalog.target_names() for built in catalog.target(target).built.values()):
        assert [key for key in built.refused if any(f"{key}.".startswith(f"{one}.") for one in (*built.keys, *built.ignored))] == []

"""Every blueprint of the library resolves to its stored spec.

A changed spec is looked at and then stored anew: `python -m tests.blueprints.test_library`.
"""

import json
import pathlib

import pytest

from blueprints import finding, library, load, spec
from blueprints.codes import Code
from blueprints.facts import Facts

SPECS = pathlib.Path(__file__).parent / "specs"
FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=2, memory_mib=24_000)


def resolved(name: str) -> str:
    cluster = load.load(name, target="local", stack="local", facts=FACTS)
    return json.dumps(spec.as_record(cluster), indent=2) + "\n"


@pytest.mark.parametrize("name", library.names())
def test_a_blueprint_of_the_library_resolves_to_its_stored_spec(name: str) -> None:
    assert resolved(name) == (SPECS / f"{name}.local.json").read_text()


@pytest.mark.parametrize("name", library.names())
def test_a_blueprint_of_the_library_says_for_whom_and_has_no_findings(name: str) -> None:
    assert library.find(name).read_text().startswith("# For ")
    assert load.examine(name, target="local", stack="local", facts=FACTS).findings == ()


def test_every_stored_spec_belongs_to_a_blueprint() -> None:
    assert {path.name.removesuffix(".local.json") for path in SPECS.iterdir()} == set(library.names())


def test_an_unknown_blueprint_is_answered_with_the_near_one_and_the_list() -> None:
    with pytest.raises(finding.Invalid) as invalid:
        library.find("startr")
    (only,) = invalid.value.findings
    assert only.code == Code.BLUEPRINT_UNKNOWN
    assert "did you mean `starter`?" in only.remedy
    assert ", ".join(library.names()) in only.remedy


def test_a_path_is_taken_as_it_is(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("mine.yaml").write_text("name: mine\npools: {cpu: {nodes: 1}}\n")
    for given in ("mine.yaml", "./mine.yaml", str(tmp_path / "mine.yaml")):
        assert load.load(given, target="local", stack="local", facts=FACTS).name == "mine"
    assert load.load("starter", target="local", stack="local", facts=FACTS).name == "starter"


if __name__ == "__main__":
    for blueprint in library.names():
        (SPECS / f"{blueprint}.local.json").write_text(resolved(blueprint))

"""Both sides of each limit of the catalogue are in the corpus, as near as they come: with a limit that is looser by one step, a broken blueprint passes; with a
tighter one, a fitting one fails."""

import dataclasses
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints import catalog, project
from blueprints.catalog import files

from . import test_broken


@dataclasses.dataclass(frozen=True)
class Limit:
    place: tuple[str | int, ...]
    """File of the catalogue, and the keys to the number."""
    code: str
    target: str
    looser: int = 1
    """What one step more is: 1, or as much as things of this kind differ by."""

    @property
    def name(self) -> str:
        return "-".join(map(str, self.place))


LIMITS = (
    Limit(("limits", "aws", "security_group_rules", "value"), "CW565", "aws"),
    Limit(("limits", "aws", "controller_disks", "value"), "CW594", "aws"),
    Limit(("limits", "aws", "block_instances", "value"), "CW527", "aws"),
    Limit(("limits", "aws", "block_days", "value"), "CW526", "aws"),
    Limit(("limits", "gcp", "block_days", "value"), "CW526", "gcp"),
    Limit(("limits", "slurm", "nodes", "value"), "CW605", "metal"),
    Limit(("limits", "kubernetes", "nodes", "value"), "CW605", "metal"),
    Limit(("offerings", "pcs", "nodes_max", "LARGE"), "CW604", "aws"),
    Limit(("limits", "policies", "aws", "limit"), "CW606", "aws", looser=170),  # a bucket more takes that much
    Limit(("targets", "aws", "control_sizes", 0, "nodes_max"), "CW600", "aws"),
    Limit(("storage", "aws", "ebs-gp3", "sizes", 0, "to"), "CW337", "aws"),
    Limit(("storage", "gcp", "filestore-zonal", "sizes", 1, "to"), "CW337", "gcp", looser=2560),
    Limit(("storage", "gcp", "managed-lustre", "tiers", 0, "sizes", 0, "to"), "CW337", "gcp", looser=72000),
    Limit(("storage", "gcp", "managed-lustre", "tiers", 3, "sizes", 1, "to"), "CW337", "gcp", looser=72000),
    Limit(("targets", "aws", "tags_max"), "CW424", "aws"),
    Limit(("targets", "aws", "limits", "mounts_letters_max"), "CW413", "aws"),
    Limit(("targets", "aws", "limits", "spread_nodes_max"), "CW523", "aws"),
    Limit(("targets", "gcp", "name_limits", "hostname"), "CW423", "gcp"),
    Limit(("targets", "gcp", "name_limits", "lustre_file_system"), "CW596", "gcp"),
    Limit(("targets", "gcp", "tags_max"), "CW424", "gcp"),
    Limit(("targets", "gcp", "limits", "flex_seconds_min"), "CW512", "gcp", looser=-1),
    Limit(("targets", "gcp", "limits", "flex_seconds_max"), "CW512", "gcp"),
)


def forget() -> None:
    """Forget what was computed from the catalogue's files, and keep the files."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("blueprints.") and name != files.__name__:
            for one in vars(module).values():
                if hasattr(one, "cache_clear") and getattr(one, "__module__", "").startswith("blueprints.") and one.__module__ != files.__name__:
                    one.cache_clear()


@pytest.fixture
def catalogue() -> Iterator[Any]:
    """Change numbers of the catalogue until the end of a test."""
    before: list[tuple[Any, Any, int]] = []

    def change(limit: Limit, by: int) -> None:
        held: Any = files.mapping(str(limit.place[0]))
        for step in limit.place[1:-1]:
            held = held[step]
        before.append((held, limit.place[-1], held[limit.place[-1]]))
        held[limit.place[-1]] += by
        forget()

    yield change
    for held, key, value in reversed(before):
        held[key] = value
    forget()


def found(limit: Limit, folder: pathlib.Path, within: pathlib.Path) -> set[str]:
    """Name the blueprints of a folder that concern the limit and break it."""
    cases = [test_broken.stored(path) for path in sorted(within.glob("*.yaml"))]
    of_limit = [one for one in cases if one.target == limit.target and limit.code in re.findall(r"CW\d+", one.content.decode().splitlines()[0])]
    return {one.name for one in of_limit if any(str(finding.code) == limit.code for finding in test_broken.findings(one, folder))}


def test_every_limit_of_a_target_is_read() -> None:
    code = "".join(path.read_text() for folder in ("blueprints", "components") for path in (project.project_root() / folder).rglob("*.py"))
    named = {key for name in catalog.target_names() for key in (*catalog.target(name).limits, *catalog.target(name).name_limits)}
    assert {key for key in named if f'"{key}"' not in code} == set()


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_the_corpus_has_both_sides_of_a_limit(limit: Limit, catalogue: Any, tmp_path: pathlib.Path) -> None:
    broken = found(limit, tmp_path, test_broken.FOLDER)
    catalogue(limit, limit.looser)
    assert found(limit, tmp_path, test_broken.FOLDER) < broken, "no blueprint exceeds the limit by as little as possible"
    catalogue(limit, -2 * limit.looser)
    assert found(limit, tmp_path, test_broken.FITTING), "no blueprint is as large as the limit allows"

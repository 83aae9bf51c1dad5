"""Records of version 2, as that version wrote them, read by this version.

records/version2 holds what version 2 resolved some of the library's blueprints to, records/version3 what this version resolved them to on the same day.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from blueprints.plan import changes
from tests.blueprints import hand_made

STORED = Path(__file__).parent / "records"
RECORDED = sorted(path.name for path in (STORED / "version2").iterdir())


def recorded(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((STORED / "version2" / name).read_text())
    assert record["version"] == 2
    return record


@pytest.mark.parametrize("name", RECORDED)
def test_a_record_of_version_2_says_the_same_in_the_form_of_this_version(name: str) -> None:
    cluster = spec.from_record(recorded(name))
    assert json.loads(json.dumps(spec.as_record(cluster))) == json.loads((STORED / "version3" / name).read_text())
    assert changes.compare(recorded(name), cluster) == ()
    assert changes.version_note(recorded(name)) is None


def test_who_ran_the_schedulers_is_said_by_the_offering() -> None:
    both = {"scheduler": "both", "managed_scheduler": "AWS PCS"}
    cluster = spec.from_record(recorded("train-and-serve.aws.json") | both)
    assert cluster.slurm is not None
    assert cluster.kubernetes is not None
    assert (cluster.slurm.run_by, cluster.slurm.product, cluster.slurm.control) == ("pcs", "AWS PCS", None)
    assert (cluster.kubernetes.run_by, cluster.kubernetes.control) == ("eks", None)
    assert {one.scheduler for one in cluster.slurm.node_sets} == {"slurm"}


def test_what_has_this_version_s_form_stays_as_it_is() -> None:
    record = spec.as_record(hand_made.aws())
    assert spec.upgrade(record) == record


@pytest.mark.parametrize("field", ["scheduler", "node_sets", "control", "database"])
def test_a_record_that_says_version_2_and_is_not_is_refused(field: str) -> None:
    record = recorded("starter.local.json")
    del record[field]
    with pytest.raises(spec.Unreadable, match=f"version 2.*'{field}'"):
        spec.upgrade(record)

"""What pages and findings about Google Cloud advise works when it is typed: against Pulumi's mocks, and with `check --live` on the simulated project."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.gcp import network, rest
from stacks.cli import main
from tests.components.gcp import programs
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

IMAGE = "projects/debian-cloud/global/images/debian-13-trixie-v20260901"
KEY = f"projects/keys-of-ours/locations/{REGION}/keyRings/ours/cryptoKeys/data"


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rest, "PAUSES_S", (0.0, 0.0, 0.0))
    return cloud


def blueprint(**changed: Any) -> dict[str, Any]:
    pools = {"batch": {"machine": "n2-standard-8", "nodes": 2, "image": IMAGE}}
    access = {"login_nodes": 1, "allowed_cidrs": ["192.0.2.0/24"]}
    return {"name": "tiny", "access": access, "network": {"region": REGION, "zones": [ZONE]}, "pools": pools, **changed}


def remedies(tmp_path: Path, written: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Run `check --live`; give the remedy of each error by its code."""
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(written, indent=1))
    main.main(["check", str(file), "--target", "gcp", "--live", "--json"])
    said = json.loads(capsys.readouterr().out)
    return {one["code"]: one["remedy"] for one in said["findings"] if one["level"] == "error"}


def typed(project: SimulatedCloud, command: str) -> None:
    """Do what the CLI does for the one command that a finding gives."""
    words = shlex.split(command)
    assert (words[:3], words[-2:]) == (["gcloud", "services", "enable"], ["--project", PROJECT])
    path = f"/v1/projects/{PROJECT}/services:batchEnable"
    answer = project.request("serviceusage.googleapis.com", "POST", path, body={"serviceIds": words[3:-2]})
    assert answer.status == 200, answer.body


def test_the_command_of_the_finding_enables_every_missing_api(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = blueprint(
        software="ubuntu-24.04-gcp",
        storage={"sets": {"kind": "object", "mount": "/sets"}, "data": {"kind": "lustre", "mount": "/data"}},
        access={"login_nodes": 1, "tunnel": True},
    )
    off = ["iap.googleapis.com", "lustre.googleapis.com", "storage.googleapis.com"]
    project.set("apis_off", off)
    found = remedies(tmp_path, written, capsys)
    assert set(found) == {"CW814"}
    (command,) = re.findall("`(.*)`", found["CW814"])
    assert [word for word in off if word not in command] == []
    typed(project, command)
    assert remedies(tmp_path, written, capsys) == {}


@pytest.mark.parametrize(
    ("code", "more", "zone"),
    [
        ("CW815", {"pools": {"train": {"machine": "a3-ultragpu-8g", "nodes": {"min": 0, "max": 2}}}, "software": "ubuntu-24.04-gcp"}, "us-central1-c"),
        ("CW816", {"storage": {"data": {"kind": "lustre", "mount": "/data"}}, "software": "ubuntu-24.04-gcp"}, ZONE),
    ],
)
def test_a_zone_that_a_finding_names_fits(
    project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, more: dict[str, Any], zone: str
) -> None:
    project.set("zones_without_lustre", [ZONE])
    written = blueprint(**more, network={"region": REGION, "zones": [zone]})
    remedy = remedies(tmp_path, written, capsys)[code]
    for named in re.findall(rf"{REGION}-[a-z]", remedy):
        assert code not in remedies(tmp_path, {**written, "network": {"region": REGION, "zones": [named]}}, capsys), named


def test_without_a_key_that_does_not_exist_google_s_own_encrypts(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = {"kind": "nfs", "mount": "/home"}
    found = remedies(tmp_path, blueprint(storage={"home": {**home, "key": KEY}}), capsys)
    assert found["CW809"].endswith("or remove `key`")
    assert remedies(tmp_path, blueprint(storage={"home": home}), capsys) == {}


def test_a_zone_for_capacity_that_is_bought_ahead_is_written_where_the_page_says() -> None:
    gpu = str(Path(__file__).with_name("gpu.yaml"))
    with pytest.raises(pulumi.RunError) as page:
        programs.program(gpu, network__zones=[], pools__ultra__capacity__id="h200", pools__calendar__capacity__id="b200")
    assert re.search(r"do: .*`targets\.gcp\.network\.zones`", str(page.value))
    programs.program(gpu, network__zones=["us-central1-b"], pools__ultra__capacity__id="h200", pools__calendar__capacity__id="b200")


def test_a_network_of_the_cluster_s_own_project_is_taken() -> None:
    with pytest.raises(pulumi.RunError, match=r"name a network of the cluster's own project as `network\.existing`"):
        network.full_name("projects/others/global/networks/ours", PROJECT)
    assert network.full_name("ours", PROJECT) == f"projects/{PROJECT}/global/networks/ours"

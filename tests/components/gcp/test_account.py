"""The project is asked over REST: `check --live`, `lookup`, `up` and the page about credentials, on the simulated Google Cloud."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog, load
from blueprints.facts import Facts
from blueprints.finding import Invalid
from blueprints.live import account as live_account
from components.gcp import credentials, rest
from components.gcp.account import read
from components.gcp.account.session import Session
from stacks.cli import main, options
from stacks.engine import account, preflight
from stacks.errors import EXIT_FAILED, EXIT_USAGE
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

EXIT_INVALID = 2
MACHINE = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
MEGA, ULTRA = "a3-megagpu-8g", "a3-ultragpu-8g"
WITHOUT_ULTRA = "us-central1-a"
IMAGE = "projects/debian-cloud/global/images/debian-13-trixie-v20260901"
CHANGING = ("insert", "delete", "patch", "update", "create", "start", "stop", "set")


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rest, "PAUSES_S", (0.0, 0.0, 0.0))
    return cloud


def blueprint(**changed: Any) -> dict[str, Any]:
    """Write a blueprint that fits the simulated project, as JSON, which YAML is too."""
    pools = {"batch": {"machine": "n2-standard-8", "nodes": 2, "image": IMAGE}}
    access = {"login_nodes": 1, "allowed_cidrs": ["192.0.2.0/24"]}
    storage = {"home": {"kind": "nfs", "mount": "/home"}}
    return {"name": "tiny", "access": access, "network": {"region": REGION, "zones": [ZONE]}, "pools": pools, "storage": storage, **changed}


def reserved(name: str, **capacity: Any) -> dict[str, Any]:
    return {"train": {"machine": MEGA, "nodes": 2, "fabric": "preferred", "capacity": {"kind": "reserved", "id": name, **capacity}}}


def reserve(project: SimulatedCloud, machine: str = MEGA, *, zone: str = ZONE, count: int = 4, name: str = "ours", **more: str) -> None:
    specific = {"count": str(count), "instanceProperties": {"machineType": machine}}
    body = {"name": name, "specificReservation": specific, "specificReservationRequired": True, **more}
    answer = project.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/zones/{zone}/reservations", body=body)
    assert answer.status == 200, answer.body


def checked(tmp_path: Path, written: Any, capsys: pytest.CaptureFixture[str], *, status: int = 0) -> dict[str, Any]:
    """Run `check --live --json`."""
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(written, indent=1))
    found = main.main(["check", str(file), "--target", "gcp", "--live", "--json"])
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found == status, [one for one in said["findings"] if one["level"] == "error"]
    return said


def of_project(said: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Give code, level and path of what the project said."""
    found = [one for one in said["findings"] if one["code"].startswith("CW8")]
    return [(one["code"], one["level"], one["where"] and one["where"]["path"]) for one in found]


def looked_up(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main.main(["lookup", *words, "--target", "gcp", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["target"], said["region"], said["kind"]) == ("gcp", REGION, words[0])
    entries: list[dict[str, Any]] = said["entries"]
    return entries


def test_what_is_there_and_fits_is_no_finding_and_nothing_is_changed(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = project.things()
    said = checked(tmp_path, blueprint(), capsys)
    assert of_project(said) == []
    assert said["account"]["account"] == PROJECT
    assert project.things() == before
    verbs = [name.rpartition(".")[2] for name in project.calls()]
    assert verbs
    assert not [verb for verb in verbs if verb.startswith(CHANGING)]


def test_the_catalogue_says_of_every_machine_what_the_project_says(project: SimulatedCloud) -> None:
    listed = catalog.machines("gcp")

    def ask(session: Session) -> dict[str, live_account.OfferedMachine]:
        return read.machines(read.described(session, listed, [one.name for one in read.zones(session)]))

    described = account.ask("gcp", REGION, ask)
    assert {MEGA, ULTRA, "n2-standard-8", "c4a-standard-8"} <= described.keys()
    differing = {
        name: one for name, one in described.items() if (one.vcpus, one.gpus, one.arch) != (listed[name].vcpus, listed[name].gpus, (listed[name].arch,))
    }
    assert differing == {}
    assert {name: one.memory_gib for name, one in described.items()} == {name: listed[name].memory_gib for name in described}


def test_faults_of_the_project_are_found_with_their_places(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project.set("quotas", {"N2_CPUS": 8})
    pools = {"batch": {"machine": "n2-standard-8", "nodes": 2, "image": "projects/debian-cloud/global/images/debian-0"}}
    pools |= {"train": {"machine": ULTRA, "nodes": 1, "fabric": "preferred", "capacity": {"kind": "reserved", "id": "nobody-s"}}}
    written = blueprint(pools=pools, network={"region": REGION, "zones": [WITHOUT_ULTRA]})
    assert sorted(of_project(checked(tmp_path, written, capsys, status=EXIT_INVALID))) == [
        ("CW803", "error", "pools.train"),
        ("CW804", "error", "pools"),
        ("CW805", "error", "pools.train.capacity.id"),
        ("CW811", "error", "pools.batch.image"),
    ]


@pytest.mark.parametrize(
    ("made", "named", "expected"),
    [
        ({}, "ours", []),
        ({}, f"projects/{PROJECT}/reservations/ours", []),
        ({}, f"projects/{PROJECT}/zones/{ZONE}/reservations/ours/reservationBlocks/one", []),
        ({"machine": "a3-highgpu-8g"}, "ours", [("CW806", "error")]),
        ({"zone": "us-central1-b"}, "ours", [("CW806", "error")]),
        ({"count": 1}, "ours", [("CW806", "error")]),
        ({"deploymentType": "DENSE"}, "ours", [("CW806", "error")]),
        ({"deploymentType": "DENSE"}, f"projects/{PROJECT}/zones/{ZONE}/reservations/ours/reservationBlocks/one", []),
        ({}, "projects/somebody/reservations/ours", [("CW805", "error")]),
    ],
)
def test_a_reservation_has_to_be_there_and_to_fit(
    project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], made: dict[str, Any], named: str, expected: list[tuple[str, str]]
) -> None:
    reserve(project, **made)
    said = checked(tmp_path, blueprint(pools=reserved(named)), capsys, status=EXIT_INVALID if expected else 0)
    assert of_project(said) == [(code, level, "pools.train.capacity.id") for code, level in expected]


def test_another_project_has_to_share_its_reservation() -> None:
    found = {"zone": f"zones/{ZONE}", "status": "READY", "specificReservation": {"count": "4", "inUseCount": "1", "instanceProperties": {"machineType": MEGA}}}
    shared = {**found, "shareSettings": {"shareType": "SPECIFIC_PROJECTS", "projectMap": {PROJECT: {"projectId": PROJECT}}}}
    both = [read.described_reservation(one, "theirs", PROJECT, owner="somebody", is_calendar=False) for one in (found, shared)]
    assert [one.is_shared for one in both] == [False, True]
    assert (both[0].free, both[0].state) == (3, "active")


def test_capacity_that_was_ordered_ahead_says_when_it_begins() -> None:
    window = {"startTime": "2026-12-01T00:00:00Z", "endTime": "2026-12-08T00:00:00Z"}
    specific = {"totalCount": "8", "instanceProperties": {"machineType": f"zones/{ZONE}/machineTypes/{MEGA}"}}
    found = {"zone": ZONE, "status": {"procurementStatus": "COMMITTED"}, "timeWindow": window, "specificSkuProperties": specific}
    one = read.described_future(found, "next")
    assert (one.machine, one.zone, one.state, one.total, one.starts) == (MEGA, ZONE, "scheduled", 8, window["startTime"])


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ({"region": "us-nowhere9"}, ("CW801", "network.region")),
        ({"region": REGION, "zones": ["us-central1-z"]}, ("CW802", "network.zones.0")),
    ],
)
def test_a_region_and_its_zones_have_to_exist(
    project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], network: dict[str, Any], expected: tuple[str, str]
) -> None:
    written = blueprint(network=network, storage={})
    assert expected in [(code, path) for code, _, path in of_project(checked(tmp_path, written, capsys, status=EXIT_INVALID))]


def test_a_zone_has_to_have_the_network_of_the_fabric(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pools = {"train": {"machine": ULTRA, "nodes": {"min": 0, "max": 2}}}
    network = {"region": REGION, "zones": ["us-central1-c"]}
    said = checked(tmp_path, blueprint(pools=pools, network=network, software="ubuntu-24.04-gcp"), capsys, status=EXIT_INVALID)
    assert sorted(of_project(said)) == [("CW803", "error", "pools.train"), ("CW815", "error", "network.zones.0")]
    (found,) = [one for one in said["findings"] if one["code"] == "CW815"]
    assert found["remedy"] == "choose one of us-central1-a, us-central1-b"


def test_a_zone_has_to_have_the_service_of_the_file_system(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage = {"fast": {"kind": "lustre", "mount": "/fast"}}
    written = blueprint(storage=storage, software="ubuntu-24.04-gcp")
    assert of_project(checked(tmp_path, written, capsys)) == []
    project.set("zones_without_lustre", [ZONE, "us-central1-f"])
    said = checked(tmp_path, written, capsys, status=EXIT_INVALID)
    assert of_project(said) == [("CW816", "error", "storage.fast")]
    (found,) = [one for one in said["findings"] if one["code"] == "CW816"]
    assert found["remedy"].startswith("choose one of us-central1-")
    assert ZONE not in found["remedy"]
    project.set("apis_off", ["lustre.googleapis.com", "servicenetworking.googleapis.com"])
    assert of_project(checked(tmp_path, written, capsys, status=EXIT_INVALID)) == [("CW814", "error", "name")], "one finding with the command for both"


def test_a_network_that_is_made_needs_room_for_it(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project.set("quotas", {"NETWORKS": 1})
    assert of_project(checked(tmp_path, blueprint(), capsys)) == []
    body = {"name": "theirs", "autoCreateSubnetworks": False, "description": "Network of cluster other, stack local, clusterwright-owner=0"}
    project.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/global/networks", body=body)
    assert of_project(checked(tmp_path, blueprint(), capsys, status=EXIT_INVALID)) == [("CW804", "error", "network")]
    project.request("compute.googleapis.com", "DELETE", f"/compute/v1/projects/{PROJECT}/global/networks/theirs")
    body["description"] = "Network of cluster tiny, stack local, clusterwright-owner=0"
    project.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/global/networks", body=body)
    assert of_project(checked(tmp_path, blueprint(), capsys)) == [], "it is the stack's own"


@pytest.mark.parametrize(("machine", "needed"), [(MEGA, 9), (ULTRA, 3)])
def test_each_interface_of_a_fabric_needs_a_network_but_those_for_rdma_share_one(
    project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], machine: str, needed: int
) -> None:
    pools = {"train": {"machine": machine, "nodes": {"min": 0, "max": 2}}}
    written = blueprint(pools=pools, network={"region": REGION, "zones": ["us-central1-b"]}, software="ubuntu-24.04-gcp")
    project.set("quotas", {"NETWORKS": needed})
    assert of_project(checked(tmp_path, written, capsys)) == []
    project.set("quotas", {"NETWORKS": needed - 1})
    said = checked(tmp_path, written, capsys, status=EXIT_INVALID)
    assert of_project(said) == [("CW804", "error", "network")]


@pytest.mark.parametrize("off", [["file.googleapis.com"], ["compute.googleapis.com", "file.googleapis.com"]])
def test_missing_apis_are_one_finding_with_the_command_that_enables_them(
    project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], off: list[str]
) -> None:
    project.set("apis_off", off)
    said = checked(tmp_path, blueprint(), capsys, status=EXIT_INVALID)
    assert of_project(said) == [("CW814", "error", "name")]
    (found,) = [one for one in said["findings"] if one["code"] == "CW814"]
    assert f"gcloud services enable {' '.join(off)} --project {PROJECT}" in found["remedy"]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ({}, []),
        ({"state": "DISABLED"}, [("CW809", "error", "storage.home.key")]),
        ({"purpose": "ASYMMETRIC_SIGN"}, [("CW809", "error", "storage.home.key")]),
        (None, [("CW809", "error", "storage.home.key")]),
    ],
)
def test_a_key_has_to_exist_and_to_encrypt(
    project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], key: dict[str, str] | None, expected: list[tuple[str, str, str]]
) -> None:
    name = f"projects/keys-of-ours/locations/{REGION}/keyRings/ours/cryptoKeys/data"
    project.set("kms_keys", {} if key is None else {name: key})
    written = blueprint(storage={"home": {"kind": "nfs", "mount": "/home", "key": name}})
    assert of_project(checked(tmp_path, written, capsys, status=EXIT_INVALID if expected else 0)) == expected


def test_an_api_that_nothing_of_the_cluster_needs_may_be_off(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project.set("apis_off", ["file.googleapis.com", "sqladmin.googleapis.com"])
    assert of_project(checked(tmp_path, blueprint(storage={}), capsys)) == []


@pytest.mark.parametrize("method", ["compute.machineTypes.list", "compute.zones.list", "compute.images.get", "serviceusage.services.get"])
def test_a_question_that_is_refused_is_an_error_of_its_own(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str) -> None:
    project.fault(method, code="forbidden", message="you are not authorized", times=None)
    said = checked(tmp_path, blueprint(), capsys, status=EXIT_INVALID)
    assert {(code, path) for code, _, path in of_project(said)} <= {("CW800", None), ("CW811", "pools.batch.image"), ("CW811", "software")}
    assert of_project(said)


def test_a_busy_service_is_asked_again(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project.fault("compute.zones.list", code="rateLimitExceeded", message="later", times=2)
    assert of_project(checked(tmp_path, blueprint(), capsys)) == []


# Who can't ask


@pytest.mark.parametrize("words", [["lookup", "zones", "--target", "gcp"], ["check", "starter", "--target", "gcp", "--live"]])
class TestNoAnswer:
    def page(self, capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
        assert main.main(words) == EXIT_FAILED
        said = capsys.readouterr()
        assert said.out == ""
        first, why, remedy = said.err.splitlines()
        assert (first[:7], why[:7], remedy[:7]) == ("error: ", "  why: ", "  do:  ")
        return first

    def test_expired(self, project: SimulatedCloud, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
        project.set("credentials_expired", True)
        assert self.page(capsys, words) == "error: the Google Cloud credentials have expired, or are invalid"

    def test_none(self, project: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:9")
        monkeypatch.setenv("GCE_METADATA_IP", "127.0.0.1:9")
        monkeypatch.setenv("NO_GCE_CHECK", "true")
        monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN", raising=False)
        assert self.page(capsys, words) == "error: no valid Google Cloud credentials found"

    def test_no_project(self, project: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        for name in credentials.PROJECT_VARIABLES:
            monkeypatch.delenv(name, raising=False)
        assert self.page(capsys, words) == "error: no project of Google Cloud is named"

    def test_another_project(self, project: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        monkeypatch.setenv("GOOGLE_PROJECT", "somebody-elses")
        assert self.page(capsys, words) == "error: the project somebody-elses can't be queried"

    def test_nobody_answers(self, project: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        for service in ("COMPUTE", "SERVICEUSAGE"):
            monkeypatch.setenv(f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service}", "http://127.0.0.1:9/")
        assert self.page(capsys, words) == "error: Google Cloud does not answer"

    def test_no_sdk(self, project: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        monkeypatch.setitem(sys.modules, "google.auth", None)
        assert self.page(capsys, words) == "error: the Google Cloud project can't be queried"


def test_a_lookup_without_the_api_names_the_command(project: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    project.set("apis_off", ["compute.googleapis.com"])
    assert main.main(["lookup", "zones", "--target", "gcp"]) == EXIT_FAILED
    assert "gcloud services enable compute.googleapis.com" in capsys.readouterr().err


def test_a_kind_that_another_target_lists_is_a_matter_of_usage(project: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["lookup", "blocks", "--target", "gcp"]) == EXIT_USAGE
    assert capsys.readouterr().err.startswith("error: ")
    assert not project.calls()


# Before something is made


def impossible() -> dict[str, Any]:
    """Write a blueprint that only the project knows to be wrong."""
    pools = {"batch": {"machine": "n2-standard-8", "nodes": 2, "fabric": "none", "image": "projects/debian-cloud/global/images/debian-0"}}
    return blueprint(software="debian-13-gcp", accounting={"database": "embedded"}, pools=pools)


@pytest.mark.engine
def test_up_makes_nothing_where_the_project_lacks_something(
    project: SimulatedCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written, settings = tmp_path / "mine.yaml", tmp_path / "Pulumi.mine.yaml"
    written.write_text(json.dumps(impossible(), indent=1))
    settings.write_text(json.dumps({"config": {"clusterwright:target": "gcp", "clusterwright:blueprint": str(written)}}))
    monkeypatch.setattr(options, "stack_file", lambda _: settings)
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}")
    before = project.things()
    assert main.main(["up", "--stack", "mine"]) == EXIT_INVALID
    assert "[CW811]" in capsys.readouterr().err
    assert project.things() == before
    assert not (tmp_path / ".pulumi").exists(), "the engine has not begun"


def test_findings_do_not_stop_the_change_of_a_running_cluster(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(impossible(), indent=1))
    loaded = load.examine(str(file), target="gcp", stack="mine", facts=MACHINE, overrides={})
    with pytest.raises(Invalid):
        preflight.validate_live(loaded, "mine", has_resources=False)
    preflight.validate_live(loaded, "mine", has_resources=True)
    assert "warning: the image" in capsys.readouterr().err


# What a user may write


def test_zones_are_listed_with_the_machines_that_they_offer(project: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    found = {one["name"]: one for one in looked_up(capsys, "zones")}
    assert ULTRA in found["us-central1-b"]["machines"]
    assert ULTRA not in found[WITHOUT_ULTRA]["machines"]
    (only,) = looked_up(capsys, "zones", "--machine", ULTRA)
    assert only["write"] == f"network: {{region: {REGION}, zones: [us-central1-b]}}"


def test_reservations_are_listed_ready_to_paste(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reserve(project)
    (only,) = looked_up(capsys, "reservations")
    assert only["write"] == f"capacity: {{kind: reserved, id: ours}}   # with network: {{zones: [{ZONE}]}}"
    assert (only["machine"], only["total"], only["free"]) == (MEGA, 4, 4)


def _furnish_lustre(project: SimulatedCloud, name: str) -> None:
    """Create an instance of Managed Lustre in a network."""
    network = f"projects/{PROJECT}/global/networks/{name}"
    reserved = {"name": "range", "addressType": "INTERNAL", "purpose": "VPC_PEERING", "prefixLength": 20, "network": network}
    instance = {"filesystem": "data", "capacityGib": "18000", "perUnitStorageThroughput": "500", "network": network}
    for host, path, query, body in (
        ("compute", f"/compute/v1/projects/{PROJECT}/global/addresses", {}, reserved),
        ("servicenetworking", "/v1/services/servicenetworking.googleapis.com/connections", {}, {"network": network, "reservedPeeringRanges": ["range"]}),
        ("lustre", f"/v1/projects/{PROJECT}/locations/{ZONE}/instances", {"instanceId": "fast"}, instance),
    ):
        answer = project.request(f"{host}.googleapis.com", "POST", path, query, body)
        assert answer.status == 200, answer.body


def test_file_systems_subnets_and_images_are_listed(project: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    networks, subnets = f"/compute/v1/projects/{PROJECT}/global/networks", f"/compute/v1/projects/{PROJECT}/regions/{REGION}/subnetworks"
    project.request("compute.googleapis.com", "POST", networks, body={"name": "theirs", "autoCreateSubnetworks": False})
    project.request(
        "compute.googleapis.com", "POST", subnets, body={"name": "inner", "network": f"projects/{PROJECT}/global/networks/theirs", "ipCidrRange": "10.9.0.0/24"}
    )
    share = {"name": "data", "capacityGb": "1024"}
    body = {"tier": "BASIC_HDD", "fileShares": [share], "networks": [{"network": f"projects/{PROJECT}/global/networks/theirs", "modes": ["MODE_IPV4"]}]}
    project.request("file.googleapis.com", "POST", f"/v1/projects/{PROJECT}/locations/{ZONE}/instances", {"instanceId": "files"}, body)
    (subnet,) = looked_up(capsys, "subnets")
    assert (subnet["network"], subnet["cidr"], subnet["way_out"]) == ("theirs", "10.9.0.0/24", "none")
    _furnish_lustre(project, "theirs")
    files, fast = looked_up(capsys, "storage")
    assert (fast["what"], fast["zones"], fast["network"]) == ("managed-lustre", [ZONE], "theirs")
    assert fast["write"].startswith('{kind: existing, source: "10.')
    assert fast["write"].endswith('@tcp:/data"}')
    project.set("apis_off", ["lustre.googleapis.com"])
    assert [one["what"] for one in looked_up(capsys, "storage")] == ["filestore"]
    project.set("apis_off", [])
    assert files["write"].startswith('{kind: existing, source: "10.')
    assert files["write"].endswith(':/data"}')
    assert looked_up(capsys, "images") == []


@pytest.mark.parametrize("kind", ["zones", "reservations", "subnets", "images", "storage"])
def test_people_get_a_table(project: SimulatedCloud, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    reserve(project)
    assert main.main(["lookup", kind, "--target", "gcp"]) == 0
    title, *rest = capsys.readouterr().out.splitlines()
    assert REGION in title
    assert rest


def test_what_may_not_be_listed_is_a_page_that_names_the_roles(project: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    project.fault("compute.subnetworks.list", code="forbidden", message="You are not authorized", times=None)
    assert main.main(["lookup", "subnets", "--target", "gcp"]) == EXIT_FAILED
    assert "the roles Viewer" in capsys.readouterr().err

"""An instance bakes itself and becomes the image, also when a run was interrupted between the two."""

import threading

import pytest

from components.gcp import machine_image
from components.gcp.machine_image import MachineImage, MachineImageInputs
from components.provider.kind import Refused, Work
from tests.components.gcp import steps
from tests.components.gcp.standing import baking
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

LABELS = {"clusterwright-stack": "dev", "clusterwright-owner": "ours"}
WANTED = MachineImageInputs(
    project=PROJECT,
    zone=ZONE,
    name="cpu-dev-x86-64-0123456789ab",
    subnet=f"projects/{PROJECT}/regions/{REGION}/subnetworks/sub",
    base="projects/debian-cloud/global/images/family/debian-13",
    machine="n2-standard-4",
    disk_type="pd-balanced",
    size_gib=100,
    script="true",
    labels=LABELS,
)


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    steps.network(cloud)
    return cloud


def work() -> Work:
    return Work(show=lambda text, keep: None, stopping=threading.Event(), timeout_s=60)


def instances(cloud: SimulatedCloud) -> list[str]:
    return [one.id.rpartition("/")[2] for one in cloud.things("compute.instances")]


def test_the_builder_becomes_the_image_once_and_goes(project: SimulatedCloud) -> None:
    kind = MachineImage()
    with baking(project):
        assert kind.create(WANTED, work()) == {"image": f"projects/{PROJECT}/global/images/{WANTED.name}"}
        kind.create(WANTED, work())
    assert (instances(project), project.count("compute.images.insert")) == ([], 1)
    assert project.thing("compute.images").tags == LABELS
    assert kind.read(WANTED, {}) == kind.expected(WANTED)
    kind.delete(WANTED, {}, work())
    assert project.things("compute.images") == []
    assert kind.read(WANTED, {}) is None


def test_a_bake_that_fails_says_why_and_leaves_nothing(project: SimulatedCloud) -> None:
    with baking(project, says="failed: no such package"), pytest.raises(Refused, match="failed: no such package"):
        MachineImage().create(WANTED, work())
    assert (instances(project), project.things("compute.images")) == ([], [])


def builder(cloud: SimulatedCloud, name: str, *, machine: str = WANTED.machine, owner: str = "ours") -> None:
    """Leave an instance as a run does that was killed while it baked; it has powered itself off since."""
    body = {**steps.properties(f"zones/{ZONE}/machineTypes/{machine}"), "name": name, "labels": {**LABELS, "clusterwright-owner": owner}}
    steps.ask(cloud, "POST", f"zones/{ZONE}/instances", body)
    steps.ask(cloud, "POST", f"zones/{ZONE}/instances/{name}/stop")


def test_the_builder_of_an_older_image_goes_and_others_stay(project: SimulatedCloud) -> None:
    """A run was killed while it baked, and the profile has changed since: nobody wants that image any more."""
    builder(project, "bake-cpu-dev-x86-64-ffffffffffff")
    builder(project, "bake-cpu-dev-arm64-0123456789ab", machine="n2-standard-8")  # of another architecture, on another machine
    builder(project, "bake-of-another-stack", owner="theirs")
    builder(project, "no-builder")
    with baking(project):
        MachineImage().create(WANTED, work())
    assert sorted(instances(project)) == ["bake-cpu-dev-arm64-0123456789ab", "bake-of-another-stack", "no-builder"]
    MachineImage().delete(WANTED, {}, work())
    assert sorted(instances(project)) == ["bake-of-another-stack", "no-builder"], "the stack goes, and no image is baked"


def test_a_policy_against_guest_attributes_is_one_page_before_the_bake(project: SimulatedCloud) -> None:
    """No instance bakes here: the page comes although none ever ends."""
    project.set("guest_attributes_forbidden", True)
    with pytest.raises(Refused) as refused:
        MachineImage().create(WANTED, work())
    told = str(refused.value)
    assert f"an organization policy forbids guest attributes in project {PROJECT}" in told
    assert f"disable-enforce {machine_image.POLICY} --project {PROJECT}" in told
    assert (instances(project), project.things("compute.images")) == ([], [])


def test_an_image_that_google_still_makes_is_waited_for(project: SimulatedCloud) -> None:
    """A run was killed after it had asked for the image; the builder's disk is what the image is made from."""
    kind = MachineImage()
    with baking(project):
        kind.create(WANTED, work())
    image = project.thing("compute.images").id
    project.ask("drift", id=image, properties={"status": "PENDING"})
    assert kind.read(WANTED, {}) is None
    threading.Timer(0.5, lambda: project.ask("drift", id=image, properties={"status": "READY"})).start()
    kind.create(WANTED, work())
    assert project.thing("compute.images").properties["status"] == "READY"
    assert project.count("compute.images.insert") == 1


def test_an_image_that_google_could_not_make_is_made_again(project: SimulatedCloud) -> None:
    kind = MachineImage()
    with baking(project):
        kind.create(WANTED, work())
        project.ask("drift", id=project.thing("compute.images").id, properties={"status": "FAILED"})
        assert kind.read(WANTED, {}) is None
        kind.create(WANTED, work())
    assert project.count("compute.images.insert") == 2
    assert project.thing("compute.images").properties["status"] == "READY"


def test_the_roles_fit_into_a_value_of_metadata_and_are_the_same_each_time() -> None:
    assert machine_image.bundle() == machine_image.bundle()
    assert len(machine_image.bundle()) < machine_image.VALUE_BYTES * 3 // 4

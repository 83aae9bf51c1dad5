"""How plans and pictures show a service that runs training jobs: its name, and nothing of hosts that it doesn't have."""

from blueprints import language, resolve, spec
from blueprints.facts import Facts
from stacks.render import plan_view
from stacks.render.picture import topology
from stacks.render.tables import Facts as Lines

MACHINE = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
POOL = {"accelerator": "h100", "gpus_per_node": 8, "nodes": 4, "capacity": {"kind": "flex", "max_run": "3-00:00:00"}}


def cluster() -> spec.ClusterSpec:
    asked = language.Blueprint.model_validate({"name": "tiny", "scheduler": "training", "pools": {"train": POOL}})
    return resolve.resolve(asked, target="gcp", stack="t", facts=MACHINE)


def test_a_plan_names_the_service_and_no_software_of_hosts() -> None:
    view = plan_view.view(cluster())
    (about,) = view.about.parts
    assert isinstance(about, Lines)
    shown = dict(about.lines)
    assert "Vertex AI" in str(shown["training"])
    assert not {"software", "control", "access"} & shown.keys()
    assert "3-00:00:00" in str(view.pools.parts[0])


def test_a_picture_leads_from_users_to_the_service() -> None:
    picture = topology.topology(cluster())
    assert picture.routes == (("people", "training"),)
    assert [one.kind for one in picture.pools] == ["Workers of training jobs"]
    assert picture.zone is not None
    assert picture.zone.title == "Machines of Vertex AI"

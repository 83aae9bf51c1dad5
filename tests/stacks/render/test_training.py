"""How plans and pictures show a service that runs training jobs: its name, and nothing of hosts that it doesn't have."""

from typing import Any

from blueprints import language, resolve, spec
from blueprints.facts import Facts
from stacks.render import plan_html, plan_view, tables
from stacks.render.picture import topology
from stacks.render.tables import Facts as Lines

MACHINE = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
POOL = {"accelerator": "h100", "gpus_per_node": 8, "nodes": 4, "capacity": {"kind": "flex", "max_run": "3-00:00:00"}}


def cluster(**more: Any) -> spec.ClusterSpec:
    asked = language.Blueprint.model_validate({"name": "tiny", "scheduler": "training", "pools": {"train": POOL}, **more})
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


def test_all_views_count_workers_from_none_to_what_a_job_can_have() -> None:
    view = plan_view.view(cluster())
    (hosts,) = view.hosts.parts
    assert isinstance(hosts, tables.Table)
    assert [[tables.plain(cell) for cell in row[:3]] for row in hosts.rows] == [["train", "0–4", "a3-megagpu-8g"]]
    picture = topology.topology(view.cluster)
    assert picture.subtitle.startswith("At most 4 nodes, 32 GPUs")
    assert picture.pools[0].lines[0] == "0 to 4 × a3-megagpu-8g"
    assert "train: at most 4 nodes of a3-megagpu-8g" in picture.description


def test_a_page_speaks_of_no_hosts_queue_or_users() -> None:
    storage = {"home": {"kind": "nfs", "mount": "/mnt/nfs/home", "size": "1 TiB"}}
    found = cluster(storage=storage)
    signs = {sample.text.content for drawing in plan_html.pictures(found).values() for sample in drawing.samples}
    assert signs == {"the way in", "network of Vertex AI, and what it reaches", "starts and ends with a job"}
    (stores,) = plan_view.view(found).storage.shown(detailed=True)
    assert isinstance(stores, tables.Table)
    assert "writable by" not in {column.title for column in stores.columns}


def test_a_machine_that_its_purchase_alone_left_is_called_so() -> None:
    machines = {
        kind: resolved.node_sets[0] for kind, resolved in ((kind, cluster(pools={"train": {**POOL, "capacity": kind}})) for kind in ("on-demand", "spot"))
    }
    assert cluster().node_sets[0].chosen == "the only machine sold as `flex` with 8 h100 GPUs"
    assert all("sold as" not in one.chosen for one in machines.values())

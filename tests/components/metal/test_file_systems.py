"""What hosts of a site mount, and what the first controller exports."""

import dataclasses

import pytest

from blueprints import spec
from components.metal import file_systems, services
from tests.blueprints import hand_made

NAMES = ("head-1", "login-1", "gpu-1", "gpu-2")
DATA = spec.FileSystem("data", "existing", "/data", protect=True, simulated=False, source="10.20.0.5@o2ib:/data")
HOME = spec.FileSystem("home", "nfs", "/home", protect=True, simulated=False, storage_class="controller-export")


def lab(*storage: spec.FileSystem) -> spec.ClusterSpec:
    """One controller, one login node and two nodes under their own names."""
    cluster = hand_made.local(storage=storage)
    assert cluster.slurm
    assert cluster.slurm.control
    slurm = dataclasses.replace(
        cluster.slurm,
        control=dataclasses.replace(cluster.slurm.control, members="head-1"),
        node_sets=tuple(dataclasses.replace(one, hosts=dataclasses.replace(one.hosts, members="gpu-[1-2]")) for one in cluster.slurm.node_sets[:1]),
    )
    hosts = tuple(spec.SiteHost(name, f"10.20.0.{11 + number}", "ssh-ed25519 AAAA") for number, name in enumerate(NAMES))
    return dataclasses.replace(cluster, slurm=slurm, access=dataclasses.replace(cluster.access, members="login-1"), site=spec.Site("root", 22, hosts))


def test_what_exists_is_mounted_as_its_source_says() -> None:
    [data] = file_systems.mounts(lab(DATA))
    assert data == {"name": "data", "target": "/data", "source": "10.20.0.5@o2ib:/data", "kind": "lustre", "options": ["flock"]}
    assert file_systems.exports(lab(DATA)) is None


def test_the_first_controller_exports_what_does_not_exist_to_the_clusters_hosts_alone() -> None:
    cluster = lab(HOME, DATA)
    home, _ = file_systems.mounts(cluster)
    assert (home["source"], home["kind"], home["exporter"]) == (f"10.20.0.11:{home['folder']}", "nfs", "head-1")
    exports = file_systems.exports(cluster)
    assert exports == {"host": "head-1", "folders": [home["folder"]], "clients": [f"10.20.0.{last}" for last in (11, 12, 13, 14)]}


def test_exported_folders_are_below_the_state_that_a_release_keeps() -> None:
    [home] = file_systems.mounts(lab(HOME))
    assert home["folder"].startswith("/var/lib/clusterwright/state/")


def test_a_source_without_a_known_form_is_refused_by_its_name() -> None:
    with pytest.raises(file_systems.UnknownSource, match=r"storage.data.source is `fs-0123`"):
        file_systems.mounts(lab(dataclasses.replace(DATA, source="fs-0123")))


def test_the_first_controller_keeps_packages_where_the_inventory_says_so() -> None:
    cluster = lab()
    assert cluster.site
    assert cluster.slurm
    assert "packages" not in services.described(cluster, cluster.slurm)
    cached = dataclasses.replace(cluster, site=dataclasses.replace(cluster.site, package_cache=True))
    assert services.described(cached, cluster.slurm)["packages"] == {"host": "head-1", "address": "10.20.0.11"}

"""Slurm's files say what the resolved cluster says, for every version of Slurm that the playbooks know."""

import dataclasses
import re
from collections import Counter
from typing import Any

import pytest
import yaml

from blueprints import spec
from tests.playbooks import clusters, templates

VERSIONS = ("22.05", "23.11", "24.11")
ROLE = templates.PLAYBOOKS / "roles" / "slurm_config"


@dataclasses.dataclass(frozen=True)
class SlurmConf:
    """slurm.conf as Slurm reads it."""

    settings: dict[str, str]
    nodes: tuple[dict[str, str], ...]
    partitions: tuple[dict[str, str], ...]


def parse(text: str) -> SlurmConf:
    settings: dict[str, str] = {}
    lines: dict[str, list[dict[str, str]]] = {"NodeName": [], "PartitionName": []}
    for line in (line for line in text.splitlines() if line and not line.startswith("#")):
        fields = dict(re.findall(r"(\w+)=(\S*)", line))
        first = next(iter(fields))
        if first in lines:
            lines[first].append(fields)
        else:
            settings.update(fields)
    return SlurmConf(settings, tuple(lines["NodeName"]), tuple(lines["PartitionName"]))


def slurm_conf(spec: dict[str, Any], *, cgroup: str = "v1") -> SlurmConf:
    return parse(templates.render("slurm.conf.j2", role="slurm_config", spec=spec, slurm_config_cgroup=cgroup))


def other(name: str, spec: dict[str, Any], *, cgroup: str = "v1") -> list[dict[str, str]]:
    text = templates.render(name, role="slurm_config", spec=spec, slurm_config_cgroup=cgroup)
    return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("version", VERSIONS)
def test_nodes_of_a_pool_are_one_line_with_layout_and_typed_gpus(version: str) -> None:
    conf = slurm_conf(clusters.cluster(slurm=version))
    assert conf.nodes == (
        {
            "NodeName": "train-[0-1]",
            "Sockets": "1",
            "CoresPerSocket": "2",
            "ThreadsPerCore": "1",
            "RealMemory": "16000",
            "Gres": "gpu:h100:8",
            "Feature": "h100",
            "State": "UNKNOWN",
        },
    )
    assert conf.settings["SlurmctldHost"] == "control-0"
    assert conf.settings["AccountingStorageTRES"] == "gres/gpu,gres/gpu:h100"


@pytest.mark.parametrize("version", VERSIONS)
def test_only_users_with_an_account_may_run_jobs(version: str) -> None:
    enforced = slurm_conf(clusters.cluster(slurm=version)).settings["AccountingStorageEnforce"]
    assert {"associations", "limits"} <= set(enforced.split(","))


@pytest.mark.parametrize(("version", "plugin"), [("22.05", None), ("23.11", "topology/block"), ("24.11", "topology/block")])
def test_jobs_are_placed_by_nvlink_domain_where_racks_are_known(version: str, plugin: str | None) -> None:
    given = clusters.with_slurm(clusters.cluster(slurm=version), racks={"train-0": "r1", "train-1": "r2"})
    assert slurm_conf(given).settings.get("TopologyPlugin") == plugin
    blocks = [one["BlockName"] for one in other("topology.conf.j2", given) if "BlockName" in one]
    assert blocks == (["block-1", "block-2"] if plugin else [])
    assert "TopologyPlugin" not in slurm_conf(clusters.cluster(slurm=version)).settings


def test_one_node_is_written_without_brackets_and_a_node_without_gpus_has_no_gres() -> None:
    conf = slurm_conf(clusters.cluster(clusters.node_set(nodes=1, on=clusters.machine(gpus=0))))
    assert conf.nodes[0]["NodeName"] == "train-0"
    assert "Gres" not in conf.nodes[0]
    assert conf.settings["AccountingStorageTRES"] == "gres/gpu"


def test_a_cluster_whose_pools_are_empty_still_starts_its_controller() -> None:
    conf = slurm_conf(clusters.cluster(clusters.node_set(nodes=0)))
    assert conf.nodes == ({"NodeName": "nonesuch", "State": "FUTURE"},)
    assert conf.partitions[0]["PartitionName"] == "train"
    # `Nodes=` without a value makes Slurm take the next word for a node.
    assert "Nodes" not in conf.partitions[0]


def test_pools_of_one_partition_share_its_line_and_the_smaller_memory_counts() -> None:
    big = clusters.node_set("big", partition="batch", on=clusters.machine(memory_mib=64_000))
    small = clusters.node_set("small", nodes=3, partition="batch", on=clusters.machine(gpu_type="a100"))
    conf = slurm_conf(clusters.cluster(big, small))
    (partition,) = conf.partitions
    assert partition["Nodes"] == "big-[0-1],small-[0-2]"
    assert partition["DefMemPerCPU"] == "8000"
    assert conf.settings["AccountingStorageTRES"] == "gres/gpu,gres/gpu:a100,gres/gpu:h100"


def test_a_second_partition_is_not_the_default_one() -> None:
    conf = slurm_conf(clusters.cluster(clusters.node_set(), clusters.node_set("debug", default=False)))
    assert {line["PartitionName"]: line["Default"] for line in conf.partitions} == {"train": "YES", "debug": "NO"}


@pytest.mark.parametrize(("nodes", "width"), [(2, 16), (256, 16), (257, 17), (1000, 32)])
def test_messages_fan_out_by_the_square_root_of_the_nodes(nodes: int, width: int) -> None:
    assert slurm_conf(clusters.cluster(clusters.node_set(nodes=nodes))).settings["TreeWidth"] == str(width)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cgroup", ["v1", "v2"])
def test_hosts_that_exist_as_declared_are_confined(version: str, cgroup: str) -> None:
    spec = clusters.cluster(slurm=version)
    conf = slurm_conf(spec, cgroup=cgroup)
    (confinement,) = _merged(other("cgroup.conf.j2", spec, cgroup=cgroup))
    assert conf.settings["ProctrackType"] == "proctrack/cgroup"
    assert conf.settings["TaskPlugin"] == "task/cgroup,task/affinity"
    assert "SlurmdParameters" not in conf.settings
    assert confinement == {"CgroupPlugin": f"cgroup/{cgroup}", "ConstrainDevices": "yes", "ConstrainCores": "yes", "ConstrainRAMSpace": "yes"}


def test_hosts_declared_larger_than_their_machine_keep_only_the_confinement_of_devices() -> None:
    spec = clusters.cluster(clusters.node_set(on=clusters.machine(exists=False, cores=112)))
    (confinement,) = _merged(other("cgroup.conf.j2", spec))
    assert slurm_conf(spec).settings["SlurmdParameters"] == "config_overrides"
    # task/affinity would bind to processors that aren't there.
    assert slurm_conf(spec).settings["TaskPlugin"] == "task/cgroup"
    assert (confinement["ConstrainDevices"], confinement["ConstrainCores"], confinement["ConstrainRAMSpace"]) == ("yes", "no", "no")


def test_hosts_without_controllers_run_without_control_groups() -> None:
    spec = clusters.cluster()
    assert slurm_conf(spec, cgroup="none").settings["ProctrackType"] == "proctrack/linuxproc"
    assert slurm_conf(spec, cgroup="none").settings["JobAcctGatherType"] == "jobacct_gather/linux"
    assert _merged(other("cgroup.conf.j2", spec, cgroup="none")) == [{"CgroupPlugin": "disabled"}]


@pytest.mark.parametrize(("version", "refused"), [("22.05", False), ("23.11", True), ("24.11", False)])
def test_a_slurm_that_needs_control_groups_is_refused_where_there_are_none(version: str, refused: bool) -> None:
    given: dict[str, Any] = {"role": "slurm_config", "spec": clusters.cluster(slurm=version), "inventory_hostname": "train-0"}
    said = templates.value("slurm_config_problem", slurm_config_cgroup="none", **given)
    assert (f"Slurm {version} does not run" in said) is refused
    assert templates.value("slurm_config_problem", slurm_config_cgroup="v1", **given) in ("", None)


@pytest.mark.parametrize(
    ("version", "simulated", "detect"),
    [("24.11", True, "off"), ("23.11", True, "off"), ("22.05", True, "off"), ("24.11", False, "nvidia"), ("23.11", False, "off"), ("22.05", False, "off")],
)
def test_simulated_gpus_are_never_detected(version: str, simulated: bool, detect: str) -> None:
    spec = clusters.cluster(clusters.node_set(on=clusters.machine(simulated=simulated)), slurm=version)
    assert other("gres.conf.j2", spec) == [
        {"NodeName": "train-[0-1]", "AutoDetect": detect, "Name": "gpu", "Type": "h100", "File": "/dev/nvidia[0-7]"},
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_mig_instances_are_given_out_by_profile_each_with_its_device_files(version: str) -> None:
    on = clusters.machine(gpus=2, simulated=False)
    divided = dataclasses.replace(on, gpus=spec.Gpus("h100", 2, simulated=False, mig=(spec.MigSlices("3g.40gb", 1), spec.MigSlices("1g.10gb", 2))))
    given = clusters.cluster(clusters.node_set(on=divided), slurm=version)
    (node,) = slurm_conf(given).nodes
    assert node["Gres"] == "gpu:3g.40gb:2,gpu:1g.10gb:4"
    assert slurm_conf(given).settings["AccountingStorageTRES"] == "gres/gpu,gres/gpu:1g.10gb,gres/gpu:3g.40gb"
    lines = other("gres.conf.j2", given)
    assert Counter(line["Type"] for line in lines) == {"3g.40gb": 2, "1g.10gb": 4}, "a line is one instance: that is what several files of one line mean"
    assert {(line["NodeName"], line["AutoDetect"], line["Name"]) for line in lines} == {("train-[0-1]", "off", "gpu")}
    devices = "/dev/clusterwright-mig/gpu1-1g.10gb-0"
    assert f"/dev/nvidia1,{devices}-instance,{devices}-compute" in [line["MultipleFiles"] for line in lines]
    assert len({line["MultipleFiles"] for line in lines}) == len(lines)


def test_nodes_without_gpus_have_no_line_in_gres_conf() -> None:
    assert other("gres.conf.j2", clusters.cluster(clusters.node_set(on=clusters.machine(gpus=0)))) == []


FLEET = {
    "version": 1,
    "target": "local",
    "idle_s": 60,
    "stop_timeout_s": 20,
    "node_sets": [{"name": "train", "prefix": "train", "count": 4, "minimum": 1, "boot_timeout_s": 300}],
}


def elastic(version: str, *, minimum: int = 1, **fleet: Any) -> SlurmConf:
    spec = clusters.cluster(clusters.node_set(nodes=4), clusters.node_set("debug", nodes=3, default=False), slurm=version)
    table = {**FLEET, "node_sets": [{**FLEET["node_sets"][0], "minimum": minimum}], **fleet}  # type: ignore[index]
    return parse(templates.render("slurm.conf.j2", role="slurm_config", spec=spec, slurm_config_cgroup="v1", provided={"fleet": table}))


@pytest.mark.parametrize("version", VERSIONS)
def test_nodes_of_the_fleet_come_and_go_and_the_others_stand(version: str) -> None:
    conf = elastic(version)
    assert {line["NodeName"]: line["State"] for line in conf.nodes} == {"train-[0-3]": "CLOUD", "debug-[0-2]": "UNKNOWN"}
    assert conf.settings["SuspendExcNodes"] == "debug-[0-2],train-0"
    assert (conf.settings["SuspendTime"], conf.settings["SuspendTimeout"], conf.settings["ResumeTimeout"]) == ("60", "20", "420")
    assert conf.settings["ResumeProgram"] == "/usr/lib/clusterwright/resume"
    assert conf.settings["ResumeRate"] == "0", "a job of 500 nodes must not wait for Slurm's own pace"
    assert conf.settings["BatchStartTimeout"] == "300", "Slurm's own ten seconds are for nodes that stand"
    assert set(conf.settings["SchedulerParameters"].split(",")) == {"salloc_wait_nodes", "sbatch_wait_nodes"}


def test_what_somebody_took_down_comes_back_by_itself_only_where_hosts_stand() -> None:
    table = {**FLEET, "node_sets": [FLEET["node_sets"][0]]}  # type: ignore[index]
    returns = {}
    for name, sets in (("all come and go", ["train"]), ("some stand", ["train", "debug"]), ("all stand", ["debug"])):
        spec = clusters.cluster(*(clusters.node_set(one, nodes=4) for one in sets))
        provided = {"fleet": table} if "train" in sets else {}
        conf = parse(templates.render("slurm.conf.j2", role="slurm_config", spec=spec, slurm_config_cgroup="v1", provided=provided))
        returns[name] = conf.settings["ReturnToService"]
    assert returns == {"all come and go": "1", "some stand": "2", "all stand": "2"}


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_fleet_nothing_comes_and_goes(version: str) -> None:
    conf = slurm_conf(clusters.cluster(slurm=version))
    assert not {name for name in conf.settings if name.startswith(("Suspend", "Resume", "BatchStart", "SchedulerParameters"))}
    assert conf.settings["SlurmctldParameters"] == "enable_configless"


@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_are_placed_by_where_the_cloud_runs_the_nodes_if_the_fleet_table_names_a_file_of_it(version: str) -> None:
    assert elastic(version, topology="/var/lib/topology.conf").settings["TopologyPlugin"] == "topology/tree"
    assert "TopologyPlugin" not in elastic(version).settings


@pytest.mark.parametrize(
    ("fleet", "racks", "wanted"),
    [
        ({"topology": "/var/lib/topology.conf"}, [], {"link": "/var/lib/topology.conf"}),
        ({"topology": "/var/lib/topology.conf"}, ["BlockName=block-1"], {"absent": False}),
        ({}, [], {"absent": True}),
    ],
)
def test_topology_conf_is_the_elastic_programs_unless_nvlink_joins_racks(fleet: dict[str, Any], racks: list[str], wanted: dict[str, Any]) -> None:
    found = templates.value(
        "slurm_config_topology", role="slurm_config", provided={"fleet": fleet}, slurm_config_tables={"topology": racks}, ansible_search_path=[str(ROLE)]
    )
    assert {name: value for name, value in found.items() if name != "content"} == {"path": "/etc/slurm/topology.conf", **wanted}


def test_what_a_table_does_not_say_has_a_default() -> None:
    conf = elastic("24.11", minimum=0, idle_s=600, stop_timeout_s=120)
    assert (conf.settings["SuspendTime"], conf.settings["SuspendTimeout"], conf.settings["SuspendExcNodes"]) == ("600", "120", "debug-[0-2]")


@pytest.mark.parametrize("newer", ["23.11", "24.11"])
def test_versions_differ_in_how_nodes_come_and_go(newer: str) -> None:
    old, new = elastic("22.05").settings, elastic(newer).settings
    assert (old["PrivateData"], old["SlurmctldParameters"], old["TreeWidth"]) == ("cloud", "enable_configless,cloud_reg_addrs", "65533")
    assert "SuspendExcStates" not in old
    assert (new["SuspendExcStates"], new["SlurmctldParameters"], new["TreeWidth"]) == ("DOWN,DRAIN,MAINTENANCE", "enable_configless", "16")
    assert "PrivateData" not in new


def test_the_scheduler_takes_the_machines_of_a_pool_in_their_order() -> None:
    first, second = (dataclasses.replace(clusters.node_set(name, partition="train"), weight=weight) for name, weight in (("train-a", 1), ("train-b", 2)))
    assert [line.get("Weight") for line in slurm_conf(clusters.cluster(first, second)).nodes] == [None, "2"]


def test_a_job_has_at_most_as_many_nodes_as_its_pool_may_have_whatever_it_has_names_for() -> None:
    first, second = (dataclasses.replace(clusters.node_set(name, nodes=4, partition="train"), pool="train", pool_most=4) for name in ("train-a", "train-b"))
    partitions = {line["PartitionName"]: line for line in slurm_conf(clusters.cluster(first, second, clusters.node_set("debug", default=False))).partitions}
    assert (partitions["train"]["Nodes"], partitions["train"]["MaxNodes"]) == ("train-a-[0-3],train-b-[0-3]", "4")
    assert "MaxNodes" not in partitions["debug"], "of a pool of one machine there are no more names than nodes"


def _merged(lines: list[dict[str, str]]) -> list[dict[str, str]]:
    merged: dict[str, str] = {}
    for line in lines:
        merged.update(line)
    return [merged]


# On a cloud

CLOUD: dict[str, Any] = {"provided": {"addresses": {"control-0": "10.0.0.4", "control-1": "10.0.0.5", "login-0": "10.0.0.7"}}}


def on_aws() -> dict[str, Any]:
    return {**clusters.cluster(clusters.node_set(on=clusters.machine(gpus=0, memory_mib=8192))), "target": "aws"}


def test_controllers_and_accounting_are_found_by_their_addresses_where_these_are_known() -> None:
    given = templates.render("slurm.conf.j2", role="slurm_config", spec=on_aws(), slurm_config_cgroup="v2", **CLOUD)
    assert "\nSlurmctldHost=control-0(10.0.0.4)\n" in given
    assert "\nAccountingStorageHost=10.0.0.4\n" in given
    unknown = templates.render("slurm.conf.j2", role="slurm_config", spec=on_aws(), slurm_config_cgroup="v2")
    assert "\nSlurmctldHost=control-0\n" in unknown
    assert "\nAccountingStorageHost=control-0\n" in unknown


def two(record: dict[str, Any]) -> dict[str, Any]:
    return clusters.with_slurm(record, control={**record["slurm"]["control"], "count": 2})


@pytest.mark.parametrize(("more", "backup"), [({}, None), ({"database": "db.internal"}, "10.0.0.5")])
def test_of_two_controllers_the_second_takes_over_and_serves_accounting_where_it_reaches_the_database(more: dict[str, str], backup: str | None) -> None:
    provided = {**CLOUD["provided"], **more}
    given = templates.render("slurm.conf.j2", role="slurm_config", spec=two(on_aws()), slurm_config_cgroup="v2", provided=provided)
    assert "\nSlurmctldHost=control-0(10.0.0.4)\nSlurmctldHost=control-1(10.0.0.5)\n" in given
    settings = parse(given).settings
    assert int(settings["SlurmctldTimeout"]) > 0
    assert settings["AccountingStorageHost"] == "10.0.0.4"
    assert settings.get("AccountingStorageBackupHost") == backup
    alone = parse(templates.render("slurm.conf.j2", role="slurm_config", spec=on_aws(), slurm_config_cgroup="v2", provided=provided)).settings
    assert not {"SlurmctldTimeout", "SlurmctldPrimaryOnProg", "AccountingStorageBackupHost"} & alone.keys()


def test_the_programs_of_the_controller_that_serves_are_those_that_the_image_has() -> None:
    settings = parse(templates.render("slurm.conf.j2", role="slurm_config", spec=two(on_aws()), slurm_config_cgroup="v2")).settings
    task = (templates.PLAYBOOKS / "roles/slurmctld/tasks/main.yml").read_text()
    folder = yaml.safe_load((templates.PLAYBOOKS / "roles/slurmctld/defaults/main.yml").read_text())["slurmctld_folder"]
    for setting in ("SlurmctldPrimaryOnProg", "SlurmctldPrimaryOffProg"):
        path, _, program = settings[setting].rpartition("/")
        assert path == folder
        assert f'path: "{{{{ slurmctld_folder }}}}/{program}"' in task


@pytest.mark.parametrize(("controllers", "conditions"), [(1, []), (2, ["ConditionPathExists=/run/slurmctld/serves"])])
def test_of_two_controllers_only_the_one_that_serves_looks_after_elastic_pools(controllers: int, conditions: list[str]) -> None:
    record = on_aws() if controllers == 1 else two(on_aws())
    unit = templates.render("clusterwright-elastic.service.j2", role="elastic", spec=record).splitlines()
    assert [line for line in unit if "slurmctld/" in line] == conditions


def test_an_instance_gives_jobs_less_memory_than_it_is_sold_with() -> None:
    """8 GiB of EC2 show as 7.5 to 7.7, and a node that shows less than it is said to have is refused."""
    (there,), (here,) = slurm_conf(on_aws()).nodes, slurm_conf({**on_aws(), "target": "local"}).nodes
    assert (there["RealMemory"], here["RealMemory"]) == ("7526", "8192")
    assert slurm_conf(on_aws()).partitions[0]["DefMemPerCPU"] == str(7526 // 2)


# The other tables of a controller


def test_the_table_of_hosts_names_what_always_stands() -> None:
    text = templates.render("hosts.j2", role="hosts_table", spec=on_aws(), **CLOUD)
    assert text.splitlines()[3:] == [
        "10.0.0.4 control-0.starter.internal control-0",
        "10.0.0.5 control-1.starter.internal control-1",
        "10.0.0.7 login-0.starter.internal login-0",
    ]
    assert text.splitlines()[0] == "127.0.0.1 localhost"


def test_name_servers_know_a_server_that_the_inventory_has_by_a_dns_name() -> None:
    named = {"gpu-001": "10.20.0.11", "gpu-002": "gpu-002.example.org"}
    text = templates.render("hosts.j2", role="in_place", spec={"network": {"domain": "lab.internal"}}, provided={"addresses": named})
    assert text.splitlines() == ["10.20.0.11 gpu-001.lab.internal gpu-001"]


@pytest.mark.parametrize(
    ("suite", "provided", "server", "authorities"),
    [
        ("trixie", {}, "localhost", None),
        ("trixie", {"database": "db.internal"}, "host=db.internal;ssl-verify-server-cert=1", "SSL_CA=/var/lib/clusterwright/database-authorities.pem"),
        ("noble", {"database": "db.internal"}, "db.internal", "SSL_CA=/var/lib/clusterwright/database-authorities.pem"),
    ],
)
def test_the_accounting_daemon_uses_the_database_that_there_is_and_believes_no_stranger(
    suite: str, provided: dict[str, str], server: str, authorities: str | None
) -> None:
    secrets = {"database_password": "correct-horse-battery"}
    known = {"database_name": "slurm_acct_db", "database_user": "slurm", "provided": provided, "secrets": secrets}
    record = {**on_aws(), "network": {"region": "us-east-1"}}
    record["software"] = {**record["software"], "suite": suite}
    text = templates.render("slurmdbd.conf.j2", role="slurmdbd", spec=record, **known)
    settings = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    assert settings["StorageHost"] == server
    assert settings.get("StorageParameters") == authorities


def test_a_database_with_an_authority_of_its_own_is_verified_with_that_one_and_nothing_is_fetched() -> None:
    provided = {"database": "unique.us-central1.sql.goog", "database_authority": "-----BEGIN CERTIFICATE-----"}
    known = {"database_name": "slurm_acct_db", "database_user": "slurm", "provided": provided, "secrets": {"database_password": "correct-horse-battery"}}
    record = {**on_aws(), "target": "gcp", "network": {"region": "us-central1"}}
    settings = parse(templates.render("slurmdbd.conf.j2", role="slurmdbd", spec=record, **known)).settings
    (written,) = templates.value("slurmdbd_authority_files", role="slurmdbd", spec=record, **known)
    assert settings["StorageParameters"] == f"SSL_CA={written['path']}"
    assert written["content"] == provided["database_authority"]
    assert templates.value("slurmdbd_authorities", role="slurmdbd", spec=record, **known) == ""
    without = {**known, "provided": {"database": "db.internal"}}
    assert templates.value("slurmdbd_authority_files", role="slurmdbd", spec=record, **without) == []
    assert "StorageParameters" not in parse(templates.render("slurmdbd.conf.j2", role="slurmdbd", spec=record, **without)).settings


@pytest.mark.parametrize(
    ("region", "publisher"),
    [
        ("eu-west-1", "https://truststore.pki.rds.amazonaws.com/eu-west-1/eu-west-1-bundle.pem"),
        ("us-gov-east-1", "https://truststore.pki.us-gov-west-1.rds.amazonaws.com/us-gov-east-1/us-gov-east-1-bundle.pem"),
        ("cn-northwest-1", "https://rds-truststore.s3.cn-north-1.amazonaws.com.cn/cn-northwest-1/cn-northwest-1-bundle.pem"),
    ],
)
def test_the_authorities_of_databases_come_from_where_the_region_publishes_them(region: str, publisher: str) -> None:
    known = {"spec": {**on_aws(), "network": {"region": region}}, "provided": {"database": "db.internal"}}
    assert templates.value("slurmdbd_authorities", role="slurmdbd", **known) == publisher


@pytest.mark.parametrize(("controllers", "provided", "backup"), [(1, {"database": "db"}, None), (2, {}, None), (2, {"database": "db"}, "control-1")])
def test_two_accounting_daemons_share_a_database_outside(controllers: int, provided: dict[str, str], backup: str | None) -> None:
    record = {**(on_aws() if controllers == 1 else two(on_aws())), "network": {"region": "us-east-1"}}
    known = {"database_name": "slurm_acct_db", "database_user": "slurm", "provided": provided, "secrets": {"database_password": "correct-horse-battery"}}
    settings = parse(templates.render("slurmdbd.conf.j2", role="slurmdbd", spec=record, **known)).settings
    assert (settings["DbdHost"], settings.get("DbdBackupHost")) == ("control-0", backup)


@pytest.mark.parametrize(("role", "unit", "folder"), [("slurmctld", "slurmctld", "slurmctld"), ("database", "mariadb", "mysql")])
def test_what_keeps_state_waits_for_the_volume_that_it_is_on(role: str, unit: str, folder: str) -> None:
    """Its volume is attached after the start on a cloud: on the disk below it, a controller would begin anew and forget all jobs."""
    assert f"\nRequiresMountsFor=/var/lib/clusterwright/state/{folder}\n" in templates.render(f"{unit}.service.conf.j2", role=role)


def people(*accounts: tuple[str, str | None], **qos: dict[str, Any]) -> dict[str, Any]:
    """Give a cluster with these accounts, each with the one it is part of, and these qualities of service."""
    plain = {"priority": 0, "max_time": "UNLIMITED", "gpus_per_user": None, "jobs_per_user": None, "preempts": []}
    return {
        **clusters.with_slurm(clusters.cluster(), qos=[{"name": name, **plain, **values} for name, values in qos.items()]),
        "accounts": [{"name": name, "description": "", "users": [], "parent": parent, "share": 1, "qos": []} for name, parent in accounts],
    }


def partition(spec: dict[str, Any], **values: Any) -> dict[str, str]:
    """Give the line of the one partition, with these values of the blueprint."""
    (node_set,) = spec["slurm"]["node_sets"]
    changed = clusters.with_slurm(spec, node_sets=[{**node_set, "partition": {**node_set["partition"], **values}}])
    (line,) = slurm_conf(changed).partitions
    return line


def test_a_partition_of_which_nothing_is_said_is_open_and_like_the_others() -> None:
    assert not {"PriorityTier", "OverSubscribe", "AllowAccounts", "AllowQos"} & set(partition(people(("research", None))))


def test_a_partition_says_whose_jobs_it_takes_which_come_first_and_whether_they_share_nodes() -> None:
    line = partition(people(("research", None), high={}), priority=10, exclusive=True, accounts=["research"], qos=["high", "normal"])
    assert {name: line[name] for name in ("PriorityTier", "OverSubscribe", "AllowAccounts", "AllowQos")} == {
        "PriorityTier": "10",
        "OverSubscribe": "EXCLUSIVE",
        "AllowAccounts": "research,clusterwright-acceptance",
        "AllowQos": "high,normal,clusterwright-acceptance",
    }


def test_what_is_part_of_an_account_may_use_its_partitions() -> None:
    tree = (("cells", "vision"), ("vision", "physics"), ("physics", None), ("biology", None), ("optics", "physics"))
    assert set(partition(people(*tree), accounts=["physics"])["AllowAccounts"].split(",")) == {
        "physics",
        "vision",
        "optics",
        "cells",
        "clusterwright-acceptance",
    }
    assert partition(people(*tree), accounts=["biology"])["AllowAccounts"] == "biology,clusterwright-acceptance"


def test_nobody_names_a_quality_of_service_that_the_own_associations_lack() -> None:
    """That of the acceptance has no limits, and would be everybody's without it."""
    assert "qos" in slurm_conf(people(("research", None))).settings["AccountingStorageEnforce"].split(",")


def test_a_priority_is_added_as_it_is_and_fair_share_counts_where_accounts_share() -> None:
    """Slurm multiplies a quality of service's part of the highest priority with the weight."""
    assert "PriorityType" not in slurm_conf(people(("research", None))).settings
    both = slurm_conf(people(("physics", None), ("biology", None), high={"priority": 500}, urgent={"priority": 2000})).settings
    assert {name: both[name] for name in both if name.startswith("Priority")} == {
        "PriorityType": "priority/multifactor",
        "PriorityWeightFairshare": "1000",
        "PriorityWeightQOS": "2000",
    }
    assert "PriorityWeightQOS" not in slurm_conf(people(("physics", None), ("biology", None), idle={})).settings
    assert "PriorityWeightFairshare" not in slurm_conf(people(("research", None), high={"priority": 500})).settings


def test_jobs_are_stopped_for_others_only_where_a_quality_of_service_may() -> None:
    asked = slurm_conf(people(("research", None), urgent={"preempts": ["idle"]}, idle={})).settings
    assert (asked["PreemptType"], asked["PreemptMode"]) == ("preempt/qos", "REQUEUE")
    assert not {"PreemptType", "PreemptMode"} & set(slurm_conf(people(("research", None), idle={})).settings)

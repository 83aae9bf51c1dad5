"""Jobs over several nodes get the variables of their fabric: the program that slurmd runs before each task is run here as slurmd runs it."""

import dataclasses
import importlib
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from tests.playbooks import clusters, templates
from tests.playbooks.test_slurm_config import VERSIONS, slurm_conf

expectation = importlib.import_module("acceptance.expectation")
judge = importlib.import_module("acceptance.judge_environment")

PROGRAM = templates.PLAYBOOKS / "roles/job_environment/files/task-prolog.sh"
EFA = {"FI_EFA_USE_HUGE_PAGE": "0", "NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
TCPX = {"NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX": "/run/tcpx-{job}", "NCCL_TX": "enp6s0:8-21,112-125;enp12s0:8-21", "LD_LIBRARY_PATH": "/var/lib/tcpx/lib64"}


def with_fabric(pool: str, variables: dict[str, str], *, script: str = "") -> spec.NodeSet:
    fabric = spec.Fabric("efa", "Fabric", True, 4, 100, "", tuple(variables.items()), "", None, environment_script=script)
    return dataclasses.replace(clusters.node_set(pool, default=pool == "train"), fabric=fabric)


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """A folder as nodes have it, of a cluster with two pools with fabrics and one without."""
    record = clusters.cluster(with_fabric("train", EFA), with_fabric("train-tcpx", TCPX), clusters.node_set("train-2", default=False))
    (tmp_path / "environment").write_text(templates.value("job_environment_text", role="job_environment", spec=record))
    shutil.copy(PROGRAM, tmp_path / "task-prolog")
    (tmp_path / "task-prolog").chmod(0o755)
    return tmp_path


def printed(folder: Path, group: str = "train", **variables: str) -> list[str]:
    """Run the program on a node of the group; a job over two nodes, unless the variables say otherwise."""
    (folder / "node.env").write_text(f"CLUSTERWRIGHT_ROLE=compute\nCLUSTERWRIGHT_GROUP={group}\nCLUSTERWRIGHT_CONTROLLERS=a,b\n")
    environment = {"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": "42", "SLURM_JOB_NUM_NODES": "2", "CLUSTERWRIGHT_NODE_ENV": str(folder / "node.env"), **variables}
    done = subprocess.run([folder / "task-prolog"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_job_over_two_nodes_gets_what_its_own_fabric_needs(nodes: Path) -> None:
    assert printed(nodes) == ["export FI_EFA_USE_HUGE_PAGE=0", "export NCCL_SOCKET_IFNAME=^docker,lo,veth"]
    assert printed(nodes, "train-tcpx") == [
        "export NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/run/tcpx-42",
        "export NCCL_TX=enp6s0:8-21,112-125;enp12s0:8-21",
        "export LD_LIBRARY_PATH=/var/lib/tcpx/lib64",
    ]
    assert printed(nodes, "train-2") == [], "its name begins like that of a pool with a fabric"


HIGH = {"NCCL_FASTRAK_IFNAME": "{nic 0000:06:00.0},{nic 0000:0c:00.0}", "NCCL_SOCKET_IFNAME": "enp0s12"}


@pytest.mark.parametrize(("first", "second"), [("enp6s0", "enp12s0"), ("enp6s0f0", "enp12s0f0")])
def test_interfaces_are_found_at_their_pci_addresses_whatever_the_kernel_calls_them(tmp_path: Path, first: str, second: str) -> None:
    record = clusters.cluster(with_fabric("train", HIGH))
    (tmp_path / "environment").write_text(templates.value("job_environment_text", role="job_environment", spec=record))
    shutil.copy(PROGRAM, tmp_path / "task-prolog")
    (tmp_path / "task-prolog").chmod(0o755)
    for address, name in (("0000:06:00.0", first), ("0000:0c:00.0", second)):
        (tmp_path / "pci" / address / "net" / name).mkdir(parents=True)
    place = {"CLUSTERWRIGHT_PCI": str(tmp_path / "pci")}
    assert printed(tmp_path, **place) == [f"export NCCL_FASTRAK_IFNAME={first},{second}", "export NCCL_SOCKET_IFNAME=enp0s12"]
    shutil.rmtree(tmp_path / "pci" / "0000:0c:00.0")
    assert printed(tmp_path, **place) == ["export NCCL_SOCKET_IFNAME=enp0s12"], "acceptance names the node whose jobs lack it"


def test_acceptance_takes_any_interface_where_nodes_look_for_it_and_no_other_value() -> None:
    found = {"NCCL_FASTRAK_IFNAME": "enp6s0f0,enp12s0f0", "NCCL_SOCKET_IFNAME": "enp0s12"}
    assert judged({"train-0": found, "train-1": found}, **HIGH) == [("train-[0-1]", "2 variables of the fabric", "pass")]
    for other in ("enp6s0f0", "enp6s0f0,{nic 0000:0c:00.0}", "enp6s0f0,", "a,b,c"):
        wrong = {**found, "NCCL_FASTRAK_IFNAME": other}
        assert ("train-1", "1 with another value", "reported") in judged({"train-0": found, "train-1": wrong}, **HIGH)
    without = {**found, "NCCL_FASTRAK_IFNAME": None}
    assert ("train-1", "lacks NCCL_FASTRAK_IFNAME", "fail") in judged({"train-0": found, "train-1": without}, **HIGH)


def test_a_fabric_s_daemon_is_named_beside_its_variables_and_slurm_runs_it_before_and_after_jobs() -> None:
    pool = with_fabric("train", EFA)
    assert pool.fabric is not None
    pool = dataclasses.replace(pool, fabric=dataclasses.replace(pool.fabric, daemon="rxdm", daemon_arguments="--num_hops=2"))
    record = clusters.cluster(pool, clusters.node_set("train-2", default=False))
    written = templates.value("job_environment_text", role="job_environment", spec=record).splitlines()
    assert {"train daemon rxdm", "train arguments --num_hops=2"} <= {*written}
    with_daemon, without = slurm_conf(record).settings, slurm_conf(clusters.cluster(with_fabric("train", EFA))).settings
    assert (with_daemon["Prolog"], with_daemon["Epilog"], with_daemon["PrologFlags"]) == ("/usr/lib/clusterwright/rxdm",) * 2 + ("Alloc",)
    assert {"Prolog", "PrologFlags"}.isdisjoint(without)
    assert without["Epilog"] == "/usr/lib/clusterwright/health"


def test_jobs_on_nodes_in_nvlink_domains_have_the_program_that_joins_them() -> None:
    pool = dataclasses.replace(with_fabric("train", EFA), placement=spec.IN_DOMAINS)
    joined = dataclasses.replace(pool.hosts.machine, domain_nodes=18)
    record = clusters.cluster(dataclasses.replace(pool, hosts=dataclasses.replace(pool.hosts, machine=joined)))
    written = templates.value("job_environment_text", role="job_environment", spec=record).splitlines()
    assert {"train daemon imex", "train arguments 18"} <= {*written}
    settings = slurm_conf(record).settings
    assert (settings["Prolog"], settings["Epilog"], settings["PrologFlags"]) == ("/usr/lib/clusterwright/imex-job",) * 2 + ("Alloc",)


@pytest.mark.parametrize("own", ["1", "", "$(reboot) `x` 'y'"])
def test_what_the_user_has_set_stays(nodes: Path, own: str) -> None:
    assert printed(nodes, FI_EFA_USE_HUGE_PAGE=own) == ["export NCCL_SOCKET_IFNAME=^docker,lo,veth"]


@pytest.mark.parametrize(("own", "all_of_them"), [("/my/lib", "/my/lib:/var/lib/tcpx/lib64"), ("", "/var/lib/tcpx/lib64")])
def test_the_user_s_libraries_come_before_the_fabric_s(nodes: Path, own: str, all_of_them: str) -> None:
    assert printed(nodes, "train-tcpx", LD_LIBRARY_PATH=own)[-1] == f"export LD_LIBRARY_PATH={all_of_them}"
    assert not any("LD_LIBRARY_PATH" in line for line in printed(nodes, "train-tcpx", LD_LIBRARY_PATH=all_of_them)), "once is enough"


@pytest.mark.parametrize("variables", [{"SLURM_JOB_NUM_NODES": "1"}, {"SLURM_JOB_NUM_NODES": "?"}, {"CLUSTERWRIGHT_FABRIC": "none"}])
def test_jobs_on_one_node_and_those_that_want_none_get_none(nodes: Path, variables: dict[str, str]) -> None:
    assert printed(nodes, **variables) == []


def test_a_job_of_two_parts_on_one_node_each_is_a_job_over_several_nodes(nodes: Path) -> None:
    assert printed(nodes, SLURM_JOB_NUM_NODES="1", SLURM_HET_SIZE="2")


def test_a_plugin_s_own_script_gives_more_and_the_catalogue_s_values_hold(nodes: Path) -> None:
    script = nodes / "set_nccl_env.sh"
    script.write_text('echo noise\nexport NCCL_NET=gIB NCCL_TUNER="a b" NCCL_MINE=script OTHER=1\n')
    record = clusters.cluster(with_fabric("train", {"NCCL_NET": "catalogue"}, script=str(script)))
    (nodes / "environment").write_text(templates.value("job_environment_text", role="job_environment", spec=record))
    assert sorted(printed(nodes, NCCL_MINE="user")) == ["export NCCL_NET=catalogue", "export NCCL_TUNER=a b"]
    script.write_text("exit 3\n")
    assert printed(nodes) == ["export NCCL_NET=catalogue"]


def test_no_fault_of_the_node_fails_a_job(nodes: Path) -> None:
    (nodes / "environment").unlink()
    assert printed(nodes) == []


def test_it_takes_no_time(nodes: Path) -> None:
    begin = time.monotonic()
    for _ in range(10):
        printed(nodes, "train-tcpx")
    assert (time.monotonic() - begin) / 10 < 0.3


@pytest.mark.parametrize("version", VERSIONS)
def test_slurm_runs_it_only_where_a_fabric_sets_something(version: str) -> None:
    program = slurm_conf(clusters.cluster(with_fabric("train", EFA), slurm=version)).settings["TaskProlog"]
    folder = templates.value("job_environment_folder", role="job_environment")
    assert program == f"{folder}/task-prolog"
    assert "TaskProlog" in slurm_conf(clusters.cluster(with_fabric("train", {}, script="/x.sh"), slurm=version)).settings
    assert "TaskProlog" not in slurm_conf(clusters.cluster(with_fabric("train", {}), slurm=version)).settings


def judged(seen: dict[str, dict[str, Any] | None], **variables: str) -> list[tuple[str, str, str]]:
    one = expectation.expect(clusters.cluster(with_fabric("train", variables or EFA))).node_sets[0]
    whole = {"lines": [{"node": node, "environment": values} for node, values in seen.items() if values is not None], "error": "the step ended"}
    return [(check.node, check.measured, check.verdict.value) for check in judge.environment(one, [*seen], whole, job="42")]


def test_acceptance_passes_jobs_that_have_the_variables() -> None:
    assert judged({"train-0": EFA, "train-1": EFA}) == [("train-[0-1]", "2 variables of the fabric", "pass")]
    tcpx = {**TCPX, "NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX": "/run/tcpx-42", "LD_LIBRARY_PATH": "/my/lib:/var/lib/tcpx/lib64"}
    assert judged({"train-0": tcpx, "train-1": tcpx}, **TCPX) == [("train-[0-1]", "3 variables of the fabric", "pass")]
    assert judged({"train-0": {}}) == [], "one node has no fabric to use"


def test_acceptance_names_the_node_whose_jobs_lack_them_and_values_of_somebody_else() -> None:
    without = dict.fromkeys(EFA)
    assert judged({"train-0": EFA, "train-1": without})[1] == ("train-1", "lacks FI_EFA_USE_HUGE_PAGE, NCCL_SOCKET_IFNAME", "fail")
    assert judged({"train-0": EFA, "train-1": {**EFA, "FI_EFA_USE_HUGE_PAGE": "1"}})[1] == ("train-1", "1 with another value", "reported")
    assert judged({"train-0": EFA, "train-1": None})[1] == ("train-1", "no answer: the step ended", "fail")
    assert judged({"train-0": EFA, "train-1": {**EFA, "NCCL_SOCKET_IFNAME": None}})[1] == ("train-1", "lacks NCCL_SOCKET_IFNAME", "fail")


PAGES = {"total": 5128, "free": 5000, "size_kib": 2048}
USED = {**EFA, "FI_EFA_USE_HUGE_PAGE": "1"}


def pages(seen: dict[str, tuple[dict[str, Any], dict[str, int]]], **variables: str) -> list[tuple[str, str, str]]:
    one = expectation.expect(clusters.cluster(with_fabric("train", variables or EFA))).node_sets[0]
    whole = {"lines": [{"node": node, "environment": values, "huge_pages": found} for node, (values, found) in seen.items()], "error": ""}
    return [(check.node, check.measured, check.verdict.value) for check in judge.huge_pages(one, [*seen], whole)]


@pytest.mark.parametrize(
    ("found", "values"),
    [
        (PAGES, USED),
        ({**PAGES, "total": 0, "free": 0}, EFA),
        ({"total": 0, "free": 0, "size_kib": 524288}, USED),
        ({}, USED),
    ],
    ids=["enough", "turned off in the job", "pages too large for EFA", "a kernel without huge pages"],
)
def test_nodes_with_the_huge_pages_that_their_jobs_use_pass(found: dict[str, int], values: dict[str, str]) -> None:
    assert {verdict for _, _, verdict in pages({"train-0": (values, found), "train-1": (values, found)})} <= {"pass"}


@pytest.mark.parametrize("values", [USED, dict.fromkeys(EFA)], ids=["turned on by somebody else", "on by EFA's default"])
@pytest.mark.parametrize("found", [{**PAGES, "total": 0, "free": 0}, {**PAGES, "free": 879}], ids=["none reserved", "taken by others"])
def test_a_node_without_the_huge_pages_that_its_jobs_use_is_named(values: dict[str, Any], found: dict[str, int]) -> None:
    # Eight ranks with two buffers of 110 MiB each: 880 pages of 2 MiB.
    assert pages({"train-0": (values, {**PAGES, "free": 880}), "train-1": (values, found)}) == [
        ("train-0", "880 of 5128 free", "pass"),
        ("train-1", f"{found['free']} of {found['total']} free", "warn"),
    ]


def test_fabrics_that_use_no_huge_pages_are_not_asked_for_them() -> None:
    assert pages({"train-0": (TCPX, {**PAGES, "free": 0}), "train-1": (TCPX, {**PAGES, "free": 0})}, **TCPX) == []

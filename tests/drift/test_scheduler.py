"""Slurm's answers against what was configured."""

from typing import Any

import pytest

from blueprints import spec
from components.inspection import collect, slurm
from components.inspection.slurm import daemons, parse
from components.inspection.slurm import nodes as slurm_nodes
from stacks.drift.report import texts
from tests.drift.examples import told
from tests.playbooks import clusters, templates

SPEC = clusters.recorded()
CONF = templates.render("slurm.conf.j2", role="slurm_config", spec=SPEC, host={"cgroup": "v2"})
CONFIG = """\
Configuration data as of 2026-11-21T20:29:01
AccountingStorageEnforce = associations,limits,qos
AccountingStorageHost   = control-0
AccountingStorageTRES   = cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu,gres/gpu:h100,gres/gpumem,gres/gpuutil
DebugFlags              = (null)
MessageTimeout          = 30 sec
SelectTypeParameters    = CR_CORE_MEMORY
SlurmUser               = slurm(64030)
SlurmctldDebug          = info
SlurmctldHost[0]        = control-0
SlurmdTimeout           = 60 sec
TaskPlugin              = task/affinity,task/cgroup

Cgroup Support Configuration:
ConstrainCores          = yes

Slurmctld(primary) at control-0 is UP
"""
NODE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=2  CPUAlloc=0 AvailableFeatures=h100 ActiveFeatures=h100 Gres=gpu:h100:8(S:0) NodeAddr={name} Version=24.11.5 "
    "OS=Linux 6.18 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=16000 Sockets=1 Boards=1 State={state} ThreadsPerCore=1 Weight=1 Partitions=train {more}"
)
PARTITION = (
    "PartitionName=train AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 "
    "Hidden=NO MaxNodes=UNLIMITED MaxTime=1-00:00:00 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=train-[0-1] PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO "
    "OverSubscribe=NO PreemptMode=OFF State=UP DefMemPerCPU=8000"
)
ASSOCIATIONS = "starter|root|||1|||||normal|\nstarter|root|root||1||||||\nstarter|research||root|1||||||\nstarter|research|ada||1||||||\n"


def nodes(state: str = "IDLE", more: str = "") -> str:
    return "\n".join([NODE.format(name="train-0", state="MIXED", more=""), NODE.format(name="train-1", state=state, more=more)])


def answers(**changes: str | dict[str, str]) -> dict[str, dict[str, str]]:
    whole = {
        "ping": "Slurmctld(primary) at control-0 is UP\n",
        "config": CONFIG,
        "nodes": nodes(),
        "partitions": PARTITION,
        "reservations": "No reservations in the system\n",
        "topology": "",
        "associations": ASSOCIATIONS,
        "accounts": "research|first account|clusterwright|\nroot|default root account|root|\n",
        "users": "ada|research|None\nroot|root|Administrator\n",
        "qos": "normal|0||||||\n",
    }
    return {name: text if isinstance(text, dict) else {"text": text} for name, text in {**whole, **changes}.items()}


def found(record: Any = SPEC, **changes: str | dict[str, str]) -> list[str]:
    return [" ".join(one) for one in told(slurm.findings(answers(**changes), {"/etc/slurm/slurm.conf": CONF}, spec.from_record(record))[0])]


def test_a_scheduler_as_configured_has_no_findings() -> None:
    assert found() == []


CASES = [
    ({"ping": "Slurmctld(primary) at control-0 is DOWN\n"}, ["CW750 slurmctld"]),
    ({"ping": {"error": "scontrol is not installed"}}, ["CW750 slurmctld"]),
    ({"config": {"error": "Unable to contact slurm controller"}}, ["CW750 slurmctld"]),
    ({"associations": {"error": "Connection refused"}}, ["CW750 slurmdbd"]),
    ({"config": CONFIG.replace("= 30 sec", "= 31 sec")}, ["CW751 slurmctld: MessageTimeout"]),
    ({"config": CONFIG.replace("associations,limits,qos", "associations,limits")}, ["CW751 slurmctld: AccountingStorageEnforce"]),
    ({"config": CONFIG.replace(",gres/gpu:h100", "")}, ["CW751 slurmctld: AccountingStorageTRES"]),
    ({"config": CONFIG.replace("= info", "= debug2")}, ["CW751 slurmctld: SlurmctldDebug"]),
    ({"nodes": NODE.format(name="train-0", state="IDLE", more="")}, ["CW752 node train-1"]),
    ({"nodes": nodes() + "\n" + NODE.format(name="ghost", state="IDLE", more="")}, ["CW753 node ghost"]),
    ({"nodes": nodes().replace("gpu:h100:8", "gpu:h100:7", 1)}, ["CW754 node train-0: Gres"]),
    ({"nodes": nodes().replace("Gres=gpu:h100:8(S:0)", "Gres=(null)", 1)}, ["CW754 node train-0: Gres"]),
    ({"nodes": nodes().replace("AvailableFeatures=h100", "AvailableFeatures=h100,fast", 1)}, ["CW754 node train-0: Feature"]),
    ({"nodes": nodes().replace("RealMemory=16000", "RealMemory=8000", 1)}, ["CW754 node train-0: RealMemory"]),
    ({"nodes": nodes().replace("Weight=1", "Weight=9", 1)}, ["CW754 node train-0: Weight"]),
    ({"nodes": nodes("IDLE+DRAIN", "Reason=bad fan [root@2026-11-21T20:00:00]")}, ["CW755 node train-1: drained"]),
    ({"nodes": nodes("DOWN*", "Reason=Not responding [slurm@2026-11-21T20:00:00]")}, ["CW756 node train-1: down"]),
    ({"nodes": nodes("IDLE+DRAIN", "Reason=clusterwright: health: 7 of 8 GPUs [root@2026-11-21T20:00:00]")}, ["CW755 node train-1: health check"]),
    ({"nodes": nodes("DOWN*", "Reason=clusterwright: start guard: 7 of 8 GPUs [root@2026-11-21T20:00:00]")}, ["CW756 node train-1: start guard"]),
    ({"nodes": nodes("IDLE+NOT_RESPONDING")}, ["CW756 node train-1: down"]),
    ({"nodes": nodes("ALLOCATED")}, []),
    ({"nodes": nodes("IDLE+COMPLETING")}, []),
    ({"nodes": nodes("IDLE+CLOUD+POWERED_DOWN")}, []),
    ({"nodes": nodes("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")}, []),
    ({"partitions": ""}, ["CW757 partition train"]),
    ({"partitions": f"{PARTITION}\n{PARTITION.replace('=train ', '=mine ')}"}, ["CW758 partition mine"]),
    ({"partitions": PARTITION.replace("1-00:00:00", "2:00:00")}, ["CW759 partition train: MaxTime"]),
    ({"partitions": PARTITION.replace("State=UP", "State=DRAIN")}, ["CW759 partition train: State"]),
    ({"partitions": PARTITION.replace("AllowAccounts=ALL", "AllowAccounts=vip")}, ["CW759 partition train: AllowAccounts"]),
    ({"partitions": PARTITION.replace("train-[0-1]", "train-0")}, ["CW759 partition train: Nodes"]),
    ({"partitions": PARTITION.replace("train-[0-1]", "train-1,train-0")}, []),
    ({"associations": ASSOCIATIONS.replace("research", "other")}, ["CW760 account research", "CW761 account other"]),
    ({"associations": ASSOCIATIONS + "starter|guests||root|1||||||\n"}, ["CW761 account guests"]),
    ({"associations": ASSOCIATIONS + "another|guests||root|1||||||\n"}, []),
    ({"accounts": "research|something else|clusterwright|\n"}, ["CW762 account research: description"]),
    ({"associations": ASSOCIATIONS.replace("research||root|1||", "research||root|1|gres/gpu=4|")}, ["CW762 account research: grptres"]),
    ({"associations": ASSOCIATIONS.replace("ada||1", "ada||50")}, ["CW762 account research: user ada: fairshare"]),
    ({"associations": ASSOCIATIONS.replace("research||root|1|||||", "research||root|1||||7|")}, ["CW762 account research: maxjobs"]),
    ({"associations": ASSOCIATIONS.replace("research||root|1||||||", "research||root|1|||||fast,normal|")}, ["CW762 account research: qos"]),
    ({"associations": ASSOCIATIONS.replace("research||root|1||||||", "research||root|1|||||normal|normal")}, []),
    ({"associations": ASSOCIATIONS.replace("ada||1||||||", "ada||1|||||fast|")}, ["CW762 account research: user ada: qos"]),
    ({"partitions": PARTITION.replace("OverSubscribe=NO", "OverSubscribe=EXCLUSIVE")}, ["CW759 partition train: OverSubscribe"]),
    ({"users": "ada|other|None\n"}, ["CW762 user ada: default account"]),
    ({"associations": ASSOCIATIONS.replace("starter|research|ada||1||||||\n", "")}, ["CW763 account research: user ada"]),
    ({"associations": ASSOCIATIONS + "starter|research|bob||1||||||\n"}, ["CW764 account research: user bob"]),
    ({"qos": ""}, ["CW765 QOS normal"]),
    ({"qos": "normal|0||||||\nfast|5||||||\n"}, ["CW766 QOS fast"]),
    ({"qos": "normal|10||||||\n"}, ["CW767 QOS normal: priority"]),
    ({"qos": "normal|0|01:00:00|||||\n"}, ["CW767 QOS normal: maxwall"]),
    ({"users": "ada|research|Operator\n"}, ["CW768 user ada: admin level"]),
    ({"accounts": "research|first account|clusterwright|ada,bob\n"}, ["CW768 account research: user ada: coordinator", "CW768 account research: user bob: coordinator"]),
    ({"reservations": "ReservationName=mine StartTime=2026-11-21T20:00:00 EndTime=2026-11-21T21:00:00 Nodes=train-0 Users=root State=ACTIVE\n"}, ["CW769 reservation mine"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_each_difference_is_one_finding(changes: dict[str, Any], expected: list[str]) -> None:
    assert sorted(found(**changes)) == sorted(expected)


def test_a_node_that_is_powered_down_and_not_shown_is_no_drift() -> None:
    conf = CONF.replace("State=UNKNOWN", "State=CLOUD")
    assert (
        slurm.findings(answers(nodes=NODE.format(name="train-0", state="IDLE+CLOUD", more="")), {"/etc/slurm/slurm.conf": conf}, spec.from_record(SPEC))[0]
        == []
    )


def test_who_drained_a_node_and_why_is_said() -> None:
    drained = nodes("IDLE+DRAIN", "Reason=bad fan [ada@2026-11-21T20:00:00]")
    [one] = slurm.findings(answers(nodes=drained), {"/etc/slurm/slurm.conf": CONF}, spec.from_record(SPEC))[0]
    assert one.what == "the node takes no jobs: it was drained by ada at 2026-11-21T20:00:00 (bad fan)"


def test_what_a_node_lacks_is_said_as_what_it_is() -> None:
    short = nodes("DOWN*", "Reason=clusterwright: start guard: 7 of 8 GPUs: 8 on the PCI bus, 7 with the driver, 8 device files [root@2026-11-21T20:00:00]")
    findings, unchecked = slurm.findings(answers(nodes=short), {"/etc/slurm/slurm.conf": CONF}, spec.from_record(SPEC))
    assert [one.what for one in findings] == [
        "the node takes no jobs, since it found less than it should have: 7 of 8 GPUs: 8 on the PCI bus, 7 with the driver, 8 device files"
    ]
    assert unchecked == []


def test_what_could_not_be_asked_is_unchecked_and_no_finding() -> None:
    findings, unchecked = slurm.findings(answers(associations={"error": "refused"}), {}, spec.from_record(SPEC))
    assert told(findings) == [("CW750", "slurmdbd")]
    assert [one.where for one in unchecked] == ["configuration, nodes, partitions", "accounts, users and QOS"]


PEOPLE = {
    **SPEC,
    "accounts": [
        {**SPEC["accounts"][0], "parent": "science", "most_gpus": 12, "most_nodes": 2},
        {**SPEC["accounts"][0], "name": "science", "description": "", "users": [], "share": 60, "most_jobs": 9},
        {**SPEC["accounts"][0], "name": "teaching", "description": "", "users": [], "qos": ["idle"]},
    ],
    "users": [{**SPEC["users"][0], "admin": True}],
    "slurm": {
        **SPEC["slurm"],
        "qos": [
            {"name": "urgent", "priority": 1000, "max_time": "12:00:00", "gpus_per_user": 8, "jobs_per_user": None, "preempts": ["idle"]},
            {"name": "idle", "priority": 0, "max_time": "UNLIMITED", "gpus_per_user": None, "jobs_per_user": 3, "preempts": []},
        ],
    },
}
OF_PEOPLE = {
    "associations": (
        "starter|root|||1|||||normal|\nstarter|root|root||1||||||\n"
        "starter|science||root|60||9|||idle,normal,urgent|normal\n"
        "starter|research||science|1|node=2,gres/gpu=12||||idle,normal,urgent|normal\nstarter|research|ada||1||||||\n"
        "starter|teaching||root|1|||||idle|idle\n"
    ),
    "users": "ada|research|Administrator\nroot|root|Administrator\n",
    "qos": "normal|0||||||\nurgent|1000|12:00:00|gres/gpu=8||idle||\nidle|0|||3|||\n",
}


def test_people_as_the_blueprint_has_them_are_no_drift() -> None:
    assert found(PEOPLE, **OF_PEOPLE) == []
    assert slurm.findings(answers(**OF_PEOPLE), {slurm.CONF: CONF}, spec.from_record(PEOPLE))[1] == []


def test_none_of_it_is_there_before_the_roles_have_set_it() -> None:
    assert {line.split(": ")[0] for line in found(PEOPLE)} == {"CW760 account science", "CW760 account teaching", "CW762 account research", "CW765 QOS idle", "CW765 QOS urgent", "CW768 user ada"}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "by_hand", "expected"),
    [
        ("associations", ("gres/gpu=12", "gres/gpu=99"), "CW762 account research: grptres"),
        ("associations", ("node=2,gres/gpu=12", "cpu=5,node=2,gres/gpu=12"), "CW762 account research: grptres"),
        ("associations", ("node=2,gres/gpu=12", ""), "CW762 account research: grptres"),
        ("associations", ("research||science", "research||root"), "CW762 account research: parentname"),
        ("associations", ("root|60", "root|1"), "CW762 account science: fairshare"),
        ("associations", ("||9|", "||10|"), "CW762 account science: grpjobs"),
        ("associations", ("|idle|idle", "|idle,urgent|idle"), "CW762 account teaching: qos"),
        ("associations", ("|idle|idle", "|idle|"), "CW762 account teaching: defaultqos"),
        ("users", ("ada|research|Administrator", "ada|research|None"), "CW768 user ada: admin level"),
        ("users", ("ada|research|Administrator", "ada|research|Operator"), "CW768 user ada: admin level"),
        ("qos", ("gres/gpu=8", "gres/gpu=80"), "CW767 QOS urgent: maxtrespu"),
        ("qos", ("|1000|", "|1|"), "CW767 QOS urgent: priority"),
        ("qos", ("12:00:00", "1-12:00:00"), "CW767 QOS urgent: maxwall"),
        ("qos", ("|idle||\n", "|||\n"), "CW767 QOS urgent: preempt"),
        ("qos", ("||3|||", "||3||DenyOnLimit|"), "CW767 QOS idle: flags"),
        ("qos", ("idle|0|||3|||\n", ""), "CW765 QOS idle"),
    ],
)
def test_what_was_set_by_hand_beside_the_blueprint_is_found(question: str, by_hand: tuple[str, str], expected: str) -> None:
    changed = OF_PEOPLE[question].replace(*by_hand)
    assert changed != OF_PEOPLE[question]
    assert found(PEOPLE, **{**OF_PEOPLE, question: changed}) == [expected]


@pytest.mark.parametrize(("by_hand", "way"), [("gres/gpu=99,node=2", "clusterwright up"), ("cpu=5,node=2,gres/gpu=12", "sacctmgr modify account")])
def test_who_takes_a_limit_back_is_said(by_hand: str, way: str) -> None:
    changed = OF_PEOPLE["associations"].replace("node=2,gres/gpu=12", by_hand)
    [one] = slurm.findings(answers(**{**OF_PEOPLE, "associations": changed}), {slurm.CONF: CONF}, spec.from_record(PEOPLE))[0]
    assert way in one.remedy.split("`")[1]
    assert (texts(one).desired, texts(one).actual) == ("gres/gpu=12,node=2", by_hand)


def test_an_account_has_the_qualities_of_service_of_the_one_above_it() -> None:
    accounts = [PEOPLE["accounts"][0], {**PEOPLE["accounts"][1], "qos": ["urgent"]}, PEOPLE["accounts"][2]]
    rows = OF_PEOPLE["associations"].replace("idle,normal,urgent|normal", "urgent|urgent")
    assert found({**PEOPLE, "accounts": accounts}, **{**OF_PEOPLE, "associations": rows}) == []


def test_slurm_conf_is_read_with_defaults_comments_and_continued_lines() -> None:
    conf = parse.parse_conf(
        "# c\nA=1 # why\nSlurmctldHost=x\nSlurmctldHost=y\nNodeName=DEFAULT Sockets=2\nNodeName=n[0-1] \\\n RealMemory=5\nNodeName=f State=FUTURE\n"
        "PartitionName=DEFAULT MaxTime=5\nPartitionName=p Nodes=n0\n"
    )
    assert conf.parameters == {"A": "1", "SlurmctldHost": "x,y"}
    assert conf.nodes == {name: {"Sockets": "2", "RealMemory": "5"} for name in ("n0", "n1")}
    assert conf.partitions == {"p": {"MaxTime": "5", "Nodes": "n0"}}


TREE = "SwitchName=leaf1 Nodes=train-[0-1]\nSwitchName=spine Switches=leaf[1-2]\n"
SHOWN = "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=train-[0-1]\nSwitchName=spine Level=1 LinkSpeed=1 Nodes=train-[0-1] Switches=leaf[1-2]\n"
TOPOLOGIES = [
    (TREE, SHOWN, []),
    ("", "", []),
    (TREE, "", ["CW749 switch leaf1", "CW749 switch spine"]),
    (TREE, SHOWN.replace("train-[0-1]\nS", "train-0\nS"), ["CW749 switch leaf1"]),
    ("", "SwitchName=mine Level=0 LinkSpeed=1 Nodes=train-0\n", ["CW749 switch mine"]),
    ("BlockName=b1 Nodes=train-[0-1]\n", "BlockName=b1 BlockIndex=0 Nodes=train-[0-1] BlockSize=2\n", []),
    ("BlockName=b1 Nodes=train-[0-1]\n", "BlockName=b1 BlockIndex=0 Nodes=train-0 BlockSize=2\n", ["CW749 block b1"]),
]


@pytest.mark.parametrize(("configured", "answer", "expected"), TOPOLOGIES)
def test_the_network_as_the_scheduler_sees_it_is_the_configured_one(configured: str, answer: str, expected: list[str]) -> None:
    configuration = {slurm.CONF: CONF, **({slurm.TOPOLOGY_CONF: configured} if configured else {})}
    found, _ = slurm.findings(answers(topology=answer), configuration, spec.from_record(SPEC))
    assert [f"{one.code} {one.place}" for one in found] == expected


HELD = "Reason=clusterwright: train is held until 21 Nov 23:00 UTC: no capacity [root@2026-11-21T22:50:00]"
BROKEN = "Reason=clusterwright: train is held: 10 nodes in a row did not boot; look at `clusterwright-elastic status` [root@2026-11-21T22:50:00]"


def test_what_the_elastic_program_does_by_itself_is_no_drift() -> None:
    lease = "ReservationName=clusterwright-lease-train StartTime=now EndTime=later Nodes=train-0 Users=root\n"
    found, unchecked = slurm.findings(answers(nodes=nodes("DOWN+CLOUD", HELD), reservations=lease), {slurm.CONF: CONF}, spec.from_record(SPEC))
    assert found == []
    assert [(one.where, one.why) for one in unchecked if one.where.startswith("node")] == [
        ("node train-1", "the elastic program keeps it out: train is held until 21 Nov 23:00 UTC: no capacity")
    ]


LEASE = "ReservationName=clusterwright-lease-train StartTime=now EndTime=later Nodes=train-0 Users=root\n"


@pytest.mark.parametrize(
    ("target", "kind", "reservations", "expected"),
    [
        ("aws", "block", "No reservations in the system\n", [("CW748", "reservation clusterwright-lease-train")]),
        ("aws", "block", LEASE, []),
        ("aws", "block", {"error": "refused"}, []),
        ("aws", "reserved", "No reservations in the system\n", []),
        ("local", "block", "No reservations in the system\n", []),
    ],
)
def test_a_block_whose_end_nothing_reserves_is_drift(target: str, kind: str, reservations: str | dict[str, str], expected: list[tuple[str, str]]) -> None:
    bought = [{**one, "capacity": {"kind": kind, "id": "cr-1"}} for one in SPEC["slurm"]["node_sets"]]
    cluster = spec.from_record({**SPEC, "target": target, "slurm": {**SPEC["slurm"], "node_sets": bought}})
    found, _ = slurm.findings(answers(reservations=reservations), {slurm.CONF: CONF}, cluster)
    assert [one for one in told(found) if one[0] == "CW748"] == expected


def test_what_the_elastic_program_leaves_to_somebody_is() -> None:
    found, _ = slurm.findings(answers(nodes=nodes("DOWN+CLOUD", BROKEN)), {slurm.CONF: CONF}, spec.from_record(SPEC))
    assert told(found) == [("CW756", "node train-1: down")]


def test_what_a_drained_node_lost_comes_with_what_ends_it() -> None:
    drained = nodes("IDLE+DRAIN", "Reason=clusterwright: health: GPU 0000:3b:00: Xid 79: fallen off the bus (reboot) [root@2026-11-21T22:50:00]")
    found, _ = slurm.findings(answers(nodes=drained), {slurm.CONF: CONF}, spec.from_record({**SPEC, "target": "metal"}))
    [remedy] = [one.remedy for one in found if one.code == "CW755"]
    assert "`clusterwright power cycle train-1`" in remedy


@pytest.mark.parametrize(
    ("drained", "of", "brake", "expected"),
    [
        (0, 8, "", []),
        (1, 8, "", []),
        (2, 8, "", ["partition train"]),
        (2, 8, "3", []),
        (3, 8, "3", ["partition train"]),
        (1, 4, "", ["partition train"]),
        (1, 3, "", []),
    ],
)
def test_a_partition_in_which_no_further_node_drains_itself_is_drift(drained: int, of: int, brake: str, expected: list[str]) -> None:
    cluster = spec.from_record({**SPEC, "slurm": {**SPEC["slurm"], "node_sets": [{**one, "health_brake": brake} for one in SPEC["slurm"]["node_sets"]]}})
    reason = "clusterwright: health: 7 of 8 GPUs [root@2026-11-21T22:50:00]"
    live = {f"train-{number}": {"Partitions": "train", **({"Reason": reason} if number < drained else {})} for number in range(of)}
    others = {f"debug-{number}": {"Partitions": "debug", "Reason": reason} for number in range(4)}
    assert [one.place for one in slurm_nodes.brakes(cluster, {**live, **others})] == expected


TWO = {**SPEC, "slurm": {**SPEC["slurm"], "control": {**SPEC["slurm"]["control"], "count": 2}}}
PAIR = "Slurmctld(primary) at control-0 is {}\nSlurmctld(backup) at control-1 is {}\n"


def pair(first: str, second: str) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Give what a cluster of two controllers answers, and its slurm.conf."""
    conf = templates.render(
        "slurm.conf.j2", role="slurm_config", spec=TWO, host={"cgroup": "v2"}, provided={"addresses": {"control-0": "10.0.0.4", "control-1": "10.0.0.5"}}
    )
    config = CONFIG.replace(
        "SlurmctldHost[0]        = control-0\n", "SlurmctldHost[0]        = control-0(10.0.0.4)\nSlurmctldHost[1]        = control-1(10.0.0.5)\n"
    )
    return answers(ping=PAIR.format(first, second), config=config.replace("= control-0\nAccountingStorageT", "= 10.0.0.4\nAccountingStorageT")), {
        slurm.CONF: conf
    }


@pytest.mark.parametrize(
    ("first", "second", "silent"),
    [
        ("UP", "UP", []),
        ("DOWN", "UP", [("CW750", "slurmctld of control-0")]),
        ("UP", "DOWN", [("CW750", "slurmctld of control-1")]),
        ("DOWN", "DOWN", [("CW750", "slurmctld")]),
    ],
)
def test_of_two_controllers_each_has_to_answer(first: str, second: str, silent: list[tuple[str, str]]) -> None:
    found, _ = slurm.findings(*pair(first, second), spec.from_record(TWO))
    assert told(found) == silent


@pytest.mark.parametrize(
    ("gave", "teller"),
    [
        ({}, ""),
        ({"control-0": {}}, "control-0"),
        ({"control-1": {}}, "control-1"),
        ({"control-1": {"serves": False}, "control-0": {"serves": False}}, "control-0"),
        ({"control-0": {"serves": False}, "control-1": {"serves": True}}, "control-1"),
    ],
)
def test_the_controller_that_serves_is_believed_and_else_one_that_answers(gave: dict[str, dict[str, bool]], teller: str) -> None:
    assert collect.teller_of(gave) == teller


@pytest.mark.parametrize(("serving", "said"), [((), False), (("control-0",), False), (("control-1",), True)])
def test_a_second_controller_that_serves_is_told_and_no_drift(serving: tuple[str, ...], said: bool) -> None:
    told_of = [one.where for one in daemons.taken_over(spec.from_record(TWO), serving)]
    assert told_of == (["which controller serves"] if said else [])

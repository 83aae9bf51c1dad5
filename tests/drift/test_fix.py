"""What is repaired, with which command, and what is left to a person."""

import dataclasses
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from blueprints.finding import Finding
from blueprints.finding.subject import ClusterObject, HostFile, HostPart, Mount, ObjectKind, Package, SchedulerObject, Subject, Sysctl, Unit
from blueprints.finding.values import FileState, PackageState, Setting, UnitLink, UnitState, Value
from blueprints.project import project_root
from components.bmc.model import Action
from components.inspection import common_settings, in_place, servers
from components.inspection.codes import Code
from components.inspection.recorded_cluster import Known
from stacks.drift import fix, repair
from stacks.drift.fix import step, units
from tests.drift import examples
from tests.drift.examples import finding

ASIDE = "/var/lib/clusterwright/set-aside/20261121T200000Z"
CLUSTER = step.Cluster(
    controller="control-0",
    name="starter",
    groups={"control-0": "control", "login-0": "access", "train-0": "train", "train-1": "train"},
    finishing=frozenset({"control", "access"}),
    control=("control-0",),
    compute=frozenset({"train-0", "train-1"}),
    slurm_nodes=frozenset({"train-0", "train-1"}),
    root_keys={"train-0": "ssh-ed25519 AAAAOwn\n"},
    unreachable=frozenset({"train-9"}),
    aside=ASIDE,
)
LEFT_WITH_REMEDY = ((), ["put it back"])
ENABLED, DISABLED, MASKED, PLAIN = UnitState.ENABLED, UnitState.DISABLED, UnitState.MASKED, UnitState.PLAIN
LINK = "/etc/systemd/system/multi-user.target.wants/x.service"
MOTD = FileState("file", "0640", "root", "slurm")


def plan(*findings: Finding, kinds: set[fix.Kind] | None = None, busy: frozenset[str] | None = frozenset()) -> fix.Plan:
    return fix.plan(findings, kinds=set(fix.Kind) if kinds is None else kinds, cluster=CLUSTER, busy=busy)


def words(*findings: Finding) -> list[tuple[str, tuple[str, ...]]]:
    """Host and command of each step."""
    return [(one.host, one.action.argv) for one in plan(*findings).steps if isinstance(one.action, fix.Command)]


def differs(code: Code, subject: Subject, recorded: Value | None = "active", actual: Value | None = "other") -> Finding:
    return finding(subject, code=code, desired=recorded, recorded=recorded, actual=actual)


def of_unit(name: str, *, code: Code = Code.UNIT_STOPPED, host: str = "train-0") -> Finding:
    return differs(code, Unit(host, name))


def of_file(path: str, state: FileState = MOTD) -> Finding:
    return differs(Code.FILE_ATTRIBUTES, HostFile("train-0", path), state, FileState("file", "0666", "root", "slurm"))


def enablement(was: UnitState, became: UnitState, unit: Unit | None = None) -> Finding:
    target = {ENABLED: "/usr/lib/systemd/system/x.service", MASKED: "/dev/null"}
    return differs(Code.UNIT_ENABLEMENT, unit or Unit("train-0", "x.service"), UnitLink(was, LINK, target.get(was)), UnitLink(became, LINK, target.get(became)))


def partition(name: str = "train", field: str = "MaxTime", value: str = "1-00:00:00") -> Finding:
    return differs(Code.PARTITION_CHANGED, SchedulerObject(ObjectKind.PARTITION, name, field), Setting(value))


def node(name: str = "train-0", field: str = "Weight", value: str = "1") -> Finding:
    return differs(Code.NODE_CHANGED, SchedulerObject(ObjectKind.NODE, name, field), Setting(value))


def left(*findings: Finding) -> tuple[tuple[fix.Step, ...], list[str]]:
    made = plan(*findings)
    return made.steps, [one.why for one in made.left]


COMMANDS: list[tuple[Finding, str, tuple[str, ...]]] = [
    (of_unit("munge.service"), "train-0", ("sh", "-c", units.START, "sh", "munge.service", "20")),
    (differs(Code.SYSCTL, Sysctl("train-0", "net.ipv4.ip_forward"), Setting("0"), "1"), "train-0", ("sysctl", "-w", "--", "net.ipv4.ip_forward=0")),
    (differs(Code.SYSCTL, Sysctl("train-0", "net.ipv4.tcp_rmem"), Setting("4096 87380 6291456")), "train-0", ("sysctl", "-w", "--", "net.ipv4.tcp_rmem=4096 87380 6291456")),
    (differs(Code.PACKAGE_HOLD, Package("train-0", "slurmd"), PackageState("24.11", is_held=True)), "train-0", ("apt-mark", "hold", "--", "slurmd")),
    (differs(Code.PACKAGE_HOLD, Package("train-0", "libc6:i386"), PackageState("5.2", is_held=False)), "train-0", ("apt-mark", "unhold", "--", "libc6:i386")),
    (partition(), "control-0", ("scontrol", "update", "partitionname=train", "MaxTime=1-00:00:00")),
    (node(), "control-0", ("scontrol", "update", "nodename=train-0", "weight=1")),
    (node(field="Feature", value="a,b"), "control-0", ("scontrol", "update", "nodename=train-0", "availablefeatures=a,b")),
]  # fmt: skip


@pytest.mark.parametrize(("found", "host", "argv"), COMMANDS)
def test_the_command_for_each_kind(found: Finding, host: str, argv: tuple[str, ...]) -> None:
    assert words(found)[0] == (host, argv)


def test_packages_that_a_roll_installs_are_left_to_it_where_it_is_due() -> None:
    due = dataclasses.replace(CLUSTER, due=frozenset({"train-0"}))

    def steps(code: Code, host: str, package: str) -> list[fix.Step]:
        found = differs(code, Package(host, package), PackageState("2.30.4", is_held=True), PackageState("2.29.7", is_held=True))
        made = fix.plan([found], kinds=set(fix.Kind), cluster=due, busy=frozenset())
        assert [bool(made.steps), len(made.left)] in ([True, 0], [False, 1])
        assert all("agree to its roll" in one.why and not one.waits for one in made.left)
        return [*made.steps]

    for package in ("libnccl2", "libnccl-dev", "nvidia-utils-580-server", "linux-image-6.8.0-60-generic", "cuda-cudart-13-0", "libcublas-13-0"):
        assert not steps(Code.PACKAGE_VERSION, "train-0", package)
        assert not steps(Code.PACKAGE_GONE, "train-0", package)
        assert steps(Code.PACKAGE_VERSION, "train-1", package), "no roll is due there"
        assert steps(Code.PACKAGE_HOLD, "train-0", package), "a hold changes nothing that runs"
    assert steps(Code.PACKAGE_VERSION, "train-0", "slurmd"), "no roll installs it"


def test_what_a_roll_does_not_mend_is_repaired_where_one_is_due() -> None:
    due = dataclasses.replace(CLUSTER, due=frozenset({"train-0"}))
    added = differs(Code.PACKAGE_ADDED, Package("train-0", "nvidia-settings"), None, PackageState("580.1", is_held=False))
    changed = differs(Code.PACKAGE_FILE, HostFile("train-0", "/usr/bin/nvidia-smi"), "as in the package", "another content, or gone")
    for found, kind in ((added, fix.Kind.ADDED), (changed, fix.Kind.PACKAGES)):
        made = fix.plan([found], kinds={kind}, cluster=due, busy=frozenset())
        assert ([one.findings for one in made.steps], made.left) == ([(found,)], ())
    of_up = fix.plan([added], kinds=set(fix.Kind) - step.REMOVING, cluster=due, busy=frozenset())
    assert [one.why for one in of_up.left] == ["add --kind added to repair it"], "no roll removes it"


def test_the_role_of_a_roll_and_repairs_know_the_same_packages() -> None:
    tasks = yaml.safe_load((project_root() / "playbooks/roles/kernel_and_drivers/tasks/main.yml").read_text(encoding="utf-8"))
    [patterns] = [task["host_changes"]["patterns"] for task in tasks if task.get("host_changes", {}).get("moment") == "before"]
    variables = yaml.safe_load((project_root() / "playbooks/roles/kernel_and_drivers/vars/main.yml").read_text(encoding="utf-8"))
    assert patterns == "{{ kernel_and_drivers_of_kernel + kernel_and_drivers_of_drivers }}"
    assert (variables["kernel_and_drivers_of_kernel"], variables["kernel_and_drivers_of_drivers"]) == ([*in_place.OF_KERNEL], [*in_place.OF_DRIVERS])


def test_a_server_gets_its_mark_again_and_its_interfaces_from_the_roles() -> None:
    mark = differs(Code.MARK_GONE, HostPart("train-0", "mark"), "this stack's mark", None)
    rail = differs(Code.INTERFACE_CHANGED, HostPart("control-0", "MTU of rail0"), "9000", "1500")
    assert words(mark) == [("train-0", ("python3", "-IS", "/var/lib/clusterwright/adoption/release.py", "mark"))]
    lost = differs(Code.MARK_GONE, HostPart("train-0", servers.LOST_MARK_AND_RECORD), "this stack's mark", None)
    assert left(lost) == LEFT_WITH_REMEDY, "no record has the mark: `up` adopts the server again"
    [one] = plan(rail).steps
    assert (one.host, one.action) == ("control-0", step.Finish("control"))
    taken = differs(Code.SERVER_TAKEN, HostPart("train-0", "mark"), "this stack's mark", "stack hpc")
    assert left(taken) == LEFT_WITH_REMEDY, "two stacks would take the server from each other in turn"


@pytest.mark.parametrize(
    ("state", "is_divided"),
    [
        ("IDLE+DRAIN", True),
        ("DOWN+NOT_RESPONDING", True),
        ("MIXED+DRAIN", False),
        ("ALLOCATED+DRAIN", False),
        ("IDLE+COMPLETING+DRAIN", False),
        ("COMPLETING+DRAIN", False),
        ("IDLE", False),
    ],
)
def test_gpus_are_divided_again_on_a_drained_node_and_never_under_a_job(tmp_path: Path, state: str, is_divided: bool) -> None:
    """A node that its check does not drain, since too many are, may be given a job at any moment."""
    divided = differs(Code.MIG_LAYOUT, HostPart("train-0", "MIG layout"), "7 x 1g.10gb on each GPU, 56 instances", "whole GPUs")
    [one] = plan(divided).steps
    assert isinstance(one.action, step.Command)
    node = f"NodeName=train-0 Arch=x86_64 State={state} Partitions=train Reason=clusterwright: health: State=IDLE"
    for name, says in (("scontrol", node), ("systemctl", ""), ("health", "")):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{tmp_path}/called\necho "{says}"\n')
        (tmp_path / name).chmod(0o755)
    words = [word.replace("/usr/lib/clusterwright/health", "health") for word in one.action.argv]
    done = subprocess.run(words, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    called = [line.split()[0] for line in (tmp_path / "called").read_text().splitlines()]
    assert (done.returncode, called) == ((0, ["health", "scontrol", "systemctl", "health"]) if is_divided else (1, ["health", "scontrol"]))
    assert is_divided or state in done.stderr


def test_a_clock_is_set_by_its_time_service_where_no_job_runs() -> None:
    clock = differs(Code.CLOCK, HostPart("train-0", "clock"), "at most 60 s off", "-3600 s")
    [one] = plan(clock).steps
    assert (one.host, one.order, one.is_quiet) == ("train-0", step.Order.RUNNING, False)


@pytest.mark.parametrize(
    ("active", "enabled", "asked"),
    [
        ("chrony", "chrony", ["restart chrony.service", "chronyc waitsync"]),
        ("systemd-timesyncd", "systemd-timesyncd", ["restart systemd-timesyncd.service", "timedatectl timesync-status"]),
        ("systemd-timesyncd", "chrony", ["restart systemd-timesyncd.service", "timedatectl timesync-status"]),
        ("none", "ntpsec", ["restart ntpsec.service", "ntpwait -n"]),
        ("none", "none", []),
    ],
)
def test_the_time_service_that_a_server_has_is_restarted(tmp_path: Path, active: str, enabled: str, asked: list[str]) -> None:
    answers = f'case $1.$3 in is-active.{active}.service | is-enabled.{enabled}.service) exit 0 ;; is-*) exit 1 ;; *) echo "$1 $2" >>asked ;; esac'
    programs = {
        "systemctl": answers,
        "timedatectl": 'echo "timedatectl $1" >>asked; echo "  Offset: +1ms"',
        **{one: f'echo "{one} $1" >>asked' for one in ("chronyc", "ntpwait")},
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "asked").touch()
    [one] = plan(differs(Code.CLOCK, HostPart("train-0", "clock"), "at most 60 s off", "-3600 s")).steps
    assert isinstance(one.action, fix.Command)
    done = subprocess.run(one.action.argv, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False, timeout=30)
    assert done.returncode == (0 if asked else 1)
    assert (tmp_path / "asked").read_text().splitlines() == asked


RUNNING_ONLY = [
    differs(Code.FIREWALL, HostPart("train-0", "packet filter")),
    differs(Code.ROUTE, HostPart("train-0", "routes")),
    differs(Code.LISTENING, HostPart("train-0", "port 9999")),
    differs(Code.PROGRAM_GONE, HostPart("train-0", "process ghost")),
    differs(Code.MOUNT_COVERING, Mount("train-0", "/usr/share/doc")),
]


def test_what_no_file_holds_is_ended_by_one_boot_of_an_idle_node() -> None:
    [one] = plan(*RUNNING_ONLY).steps
    assert (one.host, one.action, one.order, len(one.findings)) == ("train-0", fix.Boot(), step.Order.BOOT, len(RUNNING_ONLY))
    assert plan(*RUNNING_ONLY, busy=frozenset({"train-0"})).steps == ()
    assert [one.waits for one in plan(RUNNING_ONLY[0], busy=frozenset({"train-0"})).left] == [True]


def test_slurm_reboots_no_node_of_kubernetes() -> None:
    known = examples.known()
    assert known.cluster.slurm
    of_kubernetes = dataclasses.replace(known, cluster=dataclasses.replace(known.cluster, slurm=dataclasses.replace(known.cluster.slurm, node_sets=())))

    def planned(one: Known) -> fix.Plan:
        cluster = repair.cluster_of(one, facts={}, controller="control-0", unreachable=(), aside=ASIDE, servers={}, becoming=one.cluster)
        return fix.plan(RUNNING_ONLY, kinds=set(fix.Kind), cluster=cluster, busy=frozenset())

    assert [one.host for one in planned(known).boots] == ["train-0"]
    assert planned(of_kubernetes).boots == ()
    assert [one.why for one in planned(of_kubernetes).left] == [one.remedy for one in RUNNING_ONLY]


def test_nodes_are_rebooted_only_when_somebody_names_the_kind() -> None:
    made = fix.plan(RUNNING_ONLY, kinds=None, cluster=CLUSTER, busy=frozenset())
    assert made.steps == ()
    assert {one.why for one in made.left} == {"add --kind boot to repair it"}


def test_controllers_and_login_nodes_are_rebooted_by_a_person() -> None:
    assert (
        left(*(dataclasses.replace(one, subject=HostPart(host, "routes")) for one, host in zip(RUNNING_ONLY, ("control-0", "login-0"), strict=False)))[0] == ()
    )


@pytest.mark.parametrize(
    ("found", "last_words"),
    [
        (enablement(ENABLED, DISABLED), (LINK, "/nonexistent", "/usr/lib/systemd/system/x.service")),
        (enablement(DISABLED, ENABLED), (LINK,)),
        (enablement(MASKED, PLAIN), (LINK, "/nonexistent", "/dev/null")),
        (enablement(PLAIN, MASKED), (LINK,)),
    ],
)
def test_the_link_of_a_unit_comes_back_or_goes_and_systemd_reads_it(found: Finding, last_words: tuple[str, ...]) -> None:
    (host, argv), reload = words(found)
    assert (host, argv[4:]) == ("train-0", last_words)
    assert reload == ("train-0", ("systemctl", "daemon-reload"))


@pytest.mark.parametrize("name", ["-.service", "--force.service", "getty@tty1.service", r"dev-disk-by\x2dlabel-a\x2db.service", "a:b_c.timer"])
def test_unusual_names_of_units_are_taken_as_they_are(name: str) -> None:
    assert words(of_unit(name)) == [("train-0", ("sh", "-c", units.START, "sh", name, "20"))]


def test_a_unit_is_started_after_the_failures_of_those_that_it_requires_are_forgotten(tmp_path: Path) -> None:
    """systemd refuses to start a unit whose requirement failed again and again."""
    log, program = tmp_path / "log", tmp_path / "systemctl"
    program.write_text(f'#!/bin/sh\n[ "$1" = show ] && echo system.slice munge.service && exit\necho "$@" >> {log}\n[ "$1" != reset-failed ]\n')
    program.chmod(0o755)
    subprocess.run(["sh", "-c", units.START, "sh", "slurmd.service", "20"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    assert log.read_text().splitlines() == ["reset-failed -- slurmd.service system.slice munge.service", "start -- slurmd.service"]


@pytest.mark.parametrize(
    ("script", "state", "job", "status"),
    [(units.START, "activating", "", 0), (units.RESTART, "activating", "", 0), (units.START, "active", "", 0), (units.START, "inactive", "77", 0),
     (units.START, "inactive", "", 124), (units.START, "failed", "", 124)],
)  # fmt: skip
def test_repairs_go_on_while_a_unit_waits_for_another_one(tmp_path: Path, script: str, state: str, job: str, status: int) -> None:
    """slurmd waits in its start for slurmctld, which a later step on another host may start."""
    program = tmp_path / "systemctl"
    program.write_text(
        f"#!/bin/sh\ncase $1 in start | restart) exec sleep 600 ;; show) case $2 in *ActiveState) echo {state} ;; *Job) echo {job} ;; *) echo enabled ;; esac ;; esac\n"
    )
    program.chmod(0o755)
    done = subprocess.run(["sh", "-c", script, "sh", "slurmd.service", "0.2"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False, timeout=60)
    assert done.returncode == status


@pytest.mark.parametrize("name", ["a b.service", "a'b.service", '"a".service', "a.service\nb.service", "*.service", "a[0-9].service", "a", "x: unit ssh.service", "--force", "", "a.service\n", "ä.service", f"{'a' * 250}.service"])  # fmt: skip
@pytest.mark.parametrize("make", [of_unit, lambda name: enablement(DISABLED, ENABLED, Unit("train-0", name))])
def test_what_is_no_name_of_a_unit_is_left_to_a_person(name: str, make: Callable[[str], Finding]) -> None:
    assert left(make(name)) == LEFT_WITH_REMEDY


@pytest.mark.parametrize(
    "path", ["/etc/a $(reboot)", "/etc/it's", '/etc/"quoted"', "/etc/a: unit ssh.service", "/etc/-rf", "/etc/line\nbreak", "/etc/{{ 7 * 7 }}", "/etc/größe"]
)
def test_a_file_gets_owner_and_mode_back_whatever_its_name_is(path: str) -> None:
    assert words(of_file(path)) == [("train-0", ("sh", "-c", 'chown -h -- "$1" "$3" && chmod -- "$2" "$3"', "sh", "root:slurm", "0640", path))]


@pytest.mark.parametrize(
    "found",
    [
        of_file("etc/relative"),
        of_file("/etc/not-utf-8-\udcff"),
        of_file("/etc/x", FileState("file", "u+s", "root", "root")),
        of_file("/etc/x", FileState("file", "0640", "--reference=/etc/passwd", "root")),
        of_file("/etc/x", FileState("file", "0640", "root:root", "x y")),
        differs(Code.FILE_ATTRIBUTES, HostFile("train-0", "/etc/x"), "file, 0640 root:root"),
        differs(Code.SYSCTL, Sysctl("train-0", "-p"), Setting("1")),
        differs(Code.SYSCTL, Sysctl("train-0", "net.ipv4.conf.*.rp_filter"), Setting("1")),
        differs(Code.SYSCTL, Sysctl("train-0", "a=b"), Setting("1")),
        differs(Code.SYSCTL, Sysctl("train-0", "kernel.core_pattern"), Setting("core\n|/tmp/x")),
        differs(Code.SYSCTL, Sysctl("train-0", "net.ipv4.ip_forward"), "0"),
        differs(Code.PACKAGE_HOLD, Package("train-0", "--root=/tmp"), PackageState("1", is_held=True)),
        differs(Code.PACKAGE_HOLD, Package("train-0", "lib*"), PackageState("1", is_held=True)),
        differs(Code.PACKAGE_HOLD, Package("train-0", "bash zsh"), PackageState("1", is_held=True)),
        partition(name="train,debug"),
        partition(name="train nodes=ALL"),
        partition(field="MaxTime=1 State"),
        partition(value="1 State=DOWN"),
        node(name="train-[0-99]"),
        node(name="ALL,train-0"),
    ],
    ids=lambda found: ascii(found.place),
)
def test_a_name_or_value_that_a_command_would_read_as_something_else_is_left_to_a_person(found: Finding) -> None:
    assert left(found) == LEFT_WITH_REMEDY


@pytest.mark.parametrize("code", [Code.UNIT_STOPPED, Code.UNIT_FAILED])
@pytest.mark.parametrize("unit", ["home.mount", "data.automount", "swapfile.swap"])
def test_units_that_hold_data_are_left_to_a_person(code: Code, unit: str) -> None:
    assert left(of_unit(unit, code=code, host="control-0")) == LEFT_WITH_REMEDY


def test_nothing_is_done_without_its_kind() -> None:
    made = plan(*(found for found, _, _ in COMMANDS), kinds={fix.Kind.UNITS})
    assert {found.code for one in made.steps for found in one.findings} == {Code.UNIT_STOPPED}
    assert plan(COMMANDS[0][0], kinds=set()).left[0].why == "add --kind units to repair it"


def test_hosts_with_jobs_are_left_alone_and_all_of_them_when_no_controller_answers() -> None:
    found = [of_unit("a.service", host=host) for host in ("login-0", "train-0", "train-1")]
    assert [one.host for one in plan(*found, busy=frozenset({"train-1"})).steps] == ["login-0", "train-0"]
    assert [one.host for one in plan(*found, busy=None).steps] == ["login-0"]
    assert [(one.finding, one.waits) for one in plan(*found, busy=None).left] == [(found[1], True), (found[2], True)]


def test_a_host_that_does_not_answer_is_left_to_up() -> None:
    made = plan(of_unit("a.service", host="train-9"))
    assert (made.steps, [one.why for one in made.left]) == (
        (),
        ["train-9 does not answer"],
    )


def test_without_a_controller_that_answers_the_scheduler_is_left_alone() -> None:
    made = fix.plan([node()], cluster=dataclasses.replace(CLUSTER, controller=""), busy=frozenset())
    assert (made.steps, [one.why for one in made.left]) == LEFT_WITH_REMEDY


@pytest.mark.parametrize(
    ("found", "hosts"),
    [
        (differs(Code.CERTIFICATE, ClusterObject("certificate", "API server")), ["kubernetes-0", "kubernetes-1"]),
        (differs(Code.API_SILENT, ClusterObject("API server", "lab")), ["kubernetes-0", "kubernetes-1"]),
        (differs(Code.CERTIFICATE, ClusterObject("certificate", "administrator")), []),  # the stack's own: `up` makes another one
    ],
)
def test_hosts_of_the_control_plane_renew_their_own_certificates(found: Finding, hosts: list[str]) -> None:
    cluster = dataclasses.replace(CLUSTER, api_servers=("kubernetes-0", "kubernetes-1"))
    made = fix.plan([found], kinds=None, cluster=cluster, busy=None)
    assert [one.host for one in made.steps] == hosts
    assert all(str(one.action) == "systemctl start clusterwright-kube-certificates.service" for one in made.steps)


def test_a_host_of_the_control_plane_that_is_gone_keeps_no_other_from_renewing() -> None:
    cluster = dataclasses.replace(CLUSTER, api_servers=("kubernetes-0", "kubernetes-1"), unreachable=frozenset({"kubernetes-0"}))
    made = fix.plan([differs(Code.API_SILENT, ClusterObject("API server", "lab"))], kinds=None, cluster=cluster, busy=None)
    assert [one.host for one in made.steps] == ["kubernetes-1"]


@pytest.mark.parametrize("code", [Code.SPACE, Code.NIC, Code.HARDWARE, Code.VERSION])
def test_what_no_role_restores_is_left_with_its_remedy(code: Code) -> None:
    assert left(differs(code, HostFile("train-0", "/etc/motd"), MOTD)) == LEFT_WITH_REMEDY


def test_busy_nodes_are_read_from_the_scheduler_and_no_answer_is_not_no_jobs() -> None:
    assert fix.busy_nodes({"jobs": {"text": "train-[0-1]\ntrain-7\n\n"}}) == frozenset({"train-0", "train-1", "train-7"})
    assert fix.busy_nodes({"jobs": {"text": ""}}) == frozenset()
    assert fix.busy_nodes({"jobs": {"error": "refused"}}) is None
    assert fix.busy_nodes({}) is None


@pytest.mark.parametrize("action", [Action.ON, Action.CYCLE])
def test_a_server_whose_bmc_answers_is_switched_only_when_somebody_names_power(action: Action) -> None:
    dark = differs(Code.UNREACHABLE, HostPart("train-9", "SSH"))
    off = differs(Code.POWER_OFF, HostPart("train-9", "power"))
    cluster = dataclasses.replace(CLUSTER, servers={"train-9": action})
    of_default = fix.plan([dark, off], cluster=cluster, busy=frozenset())
    named = fix.plan([dark, off], kinds={fix.Kind.POWER}, cluster=cluster, busy=frozenset())

    assert (of_default.steps, [one.needs_kind for one in of_default.left]) == ((), [True, True])
    [one] = named.switches
    assert (one.host, one.action, one.findings) == ("train-9", step.Switch(action), (dark, off))


def test_a_host_without_a_bmc_that_answers_is_left_to_a_person() -> None:
    left = plan(differs(Code.UNREACHABLE, HostPart("train-9", "SSH"))).left

    assert [(one.why, one.needs_kind) for one in left] == [("put it back", False)]


def test_a_plan_says_on_which_hosts_jobs_could_notice_it() -> None:
    quiet, loud = of_file("/etc/motd"), of_unit("munge.service", host="train-1")
    assert plan(quiet).noticed == frozenset()
    assert plan(quiet, loud).noticed == {"train-1"}
    off = differs(Code.POWER_OFF, HostPart("train-0", "power"))
    switched = fix.plan([off], kinds={fix.Kind.POWER}, cluster=dataclasses.replace(CLUSTER, servers={"train-0": Action.ON}), busy=frozenset())
    assert switched.noticed == {"train-0"}, "acceptance found nothing on a server that was off"


@pytest.mark.parametrize(
    ("part", "usual", "argv"),
    [
        ("MTU of host0", "1500", ("ip", "link", "set", "dev", "host0", "mtu", "1500")),
        ("MTU of bond0.100", "9000", ("ip", "link", "set", "dev", "bond0.100", "mtu", "9000")),
        ("sysctl net.ipv4.conf.all.rp_filter", "2", ("sysctl", "-w", "--", "net.ipv4.conf.all.rp_filter=2")),
        ("trusted authorities", "5e884898da28", ("update-ca-certificates",)),
    ],
)
def test_a_setting_that_hosts_share_is_set_as_on_the_others(part: str, usual: str, argv: tuple[str, ...]) -> None:
    found = differs(Code.UNLIKE, HostPart("train-0", part), usual, "other")
    assert words(found) == [("train-0", argv)]
    assert plan(found, busy=frozenset({"train-0"})).steps == (), "jobs may notice it"


def test_the_time_zone_is_set_to_one_that_the_host_knows() -> None:
    [(host, argv)] = words(differs(Code.UNLIKE, HostPart("login-0", "time zone"), "Etc/UTC", "Asia/Tokyo"))
    assert (host, argv[-1]) == ("login-0", "Etc/UTC")


@pytest.mark.parametrize(
    ("part", "usual"),
    [
        ("MTU of host0", "none"),
        ("MTU of host0", "1500; reboot"),
        ("MTU of -a", "1500"),
        ("MTU of a b", "1500"),
        ("sysctl net.ipv4.ip_forward", "none"),
        ("sysctl -p", "1"),
        ("time zone", "../../etc/shadow"),
        ("time zone", "none"),
        ("DNS servers", "10.80.0.2"),
        ("swap", "/swap"),
        ("kernel command line", "quiet"),
    ],
)
def test_other_settings_that_hosts_share_are_left_to_a_person(part: str, usual: str) -> None:
    found = differs(Code.UNLIKE, HostPart("train-0", part), usual, "other")
    assert (plan(found).steps, [one.why for one in plan(found).left]) == LEFT_WITH_REMEDY


@pytest.mark.parametrize("name", ["MTU of host0", "sysctl net.ipv4.conf.all.rp_filter", "time zone", "trusted authorities", "DNS servers"])
def test_the_remedy_names_the_command_exactly_where_it_sets_the_setting(name: str) -> None:
    values = {"MTU of host0": ("1500", "1400"), "time zone": ("Etc/UTC", "Asia/Tokyo")}
    usual, actual = values.get(name, ("1", "2"))
    facts = {host: {"alike": {name: actual if host.name == "login-0" else usual}} for host in examples.hosts()}
    [found] = [one for one in common_settings.findings(facts) if one.place.startswith("login-0")]
    assert bool(plan(found).steps) is ("`clusterwright drift fix`" in found.remedy)

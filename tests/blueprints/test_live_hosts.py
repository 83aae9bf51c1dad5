"""A cluster against what its hosts say about themselves: each fault is found with its code, level and place, and good hosts with nothing."""

import base64
import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from blueprints import finding, load, read
from blueprints.codes import Code
from blueprints.facts import Facts as MachineFacts
from blueprints.live import hosts
from blueprints.live.hosts import answers, login, paths

ERROR, WARNING, NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
OWNER = "/srv/ours"
MACHINE = MachineFacts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


def host_key(name: str) -> str:
    """Give a public key as OpenSSH writes it: the type, then 32 bytes that differ by name."""
    kind = b"ssh-ed25519"
    body = hashlib.sha256(name.encode()).digest()
    return "ssh-ed25519 " + base64.b64encode(len(kind).to_bytes(4, "big") + kind + len(body).to_bytes(4, "big") + body).decode()


def blueprint(nodes: str = "") -> str:
    lines = [f"    {name}: {{address: 10.20.0.{number}, host_key: {host_key(name)}}}" for name, number in (("head-1", 1), ("login-1", 2), ("gpu-002", 12))]
    first = f"    gpu-001: {{address: 10.20.0.11, host_key: {host_key('gpu-001')}, serial: S1, interfaces: {{rail0: {{mac: '02:00:00:00:01:01'}}}}}}"
    ranged = [f"    gpu-{number:03}: {{address: 10.20.0.{10 + number}, host_key: {host_key(f'gpu-{number:03}')}}}" for number in (3, 4)]
    return "\n".join(
        [
            "name: lab",
            "scheduler: slurm",
            "inventory:",
            "  user: ubuntu",
            "  identity: /home/me/lab",
            "  hosts:",
            *lines,
            first,
            *ranged,
            "control: {hosts: head-1}",
            "access: {hosts: login-1}",
            "storage:",
            "  home: {kind: existing, mount: /home, source: '10.20.0.5:/home'}",
            "pools:",
            "  train:",
            "    machine: dgx-h100",
            "    hosts: gpu-[001-004]",
            "    partition: {default: true}",
            *([f"    nodes: {nodes}"] if nodes else []),
            "accounts: {research: {}}",
            "users: {ada: {uid: 2001, account: research}}",
            "targets: {metal: {network: {cidr: 10.20.0.0/24}}}",
        ]
    )


def loaded(text: str) -> load.Loaded:
    return load.from_document(read.from_bytes(text.encode(), file="t.yaml"), target="metal", stack="lab", facts=MACHINE)


LAB = loaded(blueprint())
NAMES = ("head-1", "login-1", "gpu-001", "gpu-002", "gpu-003", "gpu-004")
DISK = answers.Disk(free_mib=200_000, size_mib=400_000, free_files_percent=90, is_read_only=False)


def good(name: str) -> hosts.Answer:
    number = NAMES.index(name)
    is_node = name.startswith("gpu")
    mac = "02:00:00:00:01:01" if name == "gpu-001" else f"02:00:00:00:00:{number:02}"
    facts = hosts.Facts(
        os=LAB.spec.software.os,
        os_title="Ubuntu 24.04.3 LTS",
        arch="x86_64",
        kernel="6.8.0-85-generic",
        hostname=name,
        machine_id=f"{number:032}",
        serial=f"S{number - 1}",
        cpus=224 if is_node else 16,
        memory_mib=2_064_000 if is_node else 64_000,
        gpus=("0x2330",) * 8 if is_node else (),
        interfaces={"eno1": f"02:00:00:00:99:{number:02}", "rail0": mac},
        mark=None,
        occupied=(),
        sudo="",
        is_root=True,
        in_container=False,
        has_systemd=True,
        disks={"/": DISK},
        restart_for=(),
        clock=answers.Clock("chronyd", is_synchronized=True, offset_s=0.0001),
        is_secure_boot=False,
        modules=(),
        mig_modes=(),
        incomplete=(),
        locked_by="",
        upgrades_unattended=False,
        headers=None,
        archives={},
        listeners={},
        filters=(),
        unreached={},
        users={"root": 0, "ubuntu": 1000},
        groups={"root": 0, "ubuntu": 1000},
        epoch_s=1000.5,
        took_s=0.2,
    )
    return hosts.Answer(facts=facts, asked_s=(1000.0, 1001.0))


Answers = Mapping[str, hosts.Answer]
GOOD: Answers = {name: good(name) for name in NAMES}


def with_facts(name: str, **changed: Any) -> Answers:
    """Give good answers, one of them with other facts."""
    facts = GOOD[name].facts
    assert facts is not None
    return {**GOOD, name: dataclasses.replace(GOOD[name], facts=dataclasses.replace(facts, **changed))}


def without_answer(*names: str, trouble: hosts.Trouble = hosts.Trouble.UNREACHABLE, said: str = "connect timed out", fingerprint: str = "") -> Answers:
    return {**GOOD, **{name: hosts.Answer(trouble=trouble, said=said, fingerprint=fingerprint) for name in names}}


def findings(given: Answers, lab: load.Loaded = LAB) -> tuple[finding.Finding, ...]:
    return hosts.check(lab.spec, lab.document, given, stack="lab", owner=OWNER)


def only(given: Answers, lab: load.Loaded = LAB) -> finding.Finding:
    [found] = findings(given, lab)
    return found


def test_hosts_that_have_everything_are_no_reason_to_say_anything() -> None:
    assert findings(GOOD) == ()
    adopted = {"stack": "lab", "owner": OWNER, "token": "t"}
    ours = with_facts("head-1", mark=adopted, listeners={"6817": "slurmctld", "6819": "slurmdbd"})
    assert findings(ours) == (), "a host that the stack adopted already"


def test_a_user_whom_the_hosts_have_already_with_the_same_number_is_the_same_user() -> None:
    assert findings(with_facts("gpu-002", users={"ada": 2001, "alias": 2001}, groups={"ada": 2001})) == ()


TROUBLE = hosts.Trouble
FAULTS: tuple[tuple[str, Answers, Code, finding.Level, str], ...] = (
    ("controller off", without_answer("head-1"), Code.HOST_UNREACHABLE, ERROR, "head-1:"),
    ("node off", without_answer("gpu-002"), Code.HOST_UNREACHABLE, ERROR, "gpu-002:"),
    ("other key", without_answer("gpu-002", trouble=TROUBLE.OTHER_KEY, fingerprint="SHA256:new"), Code.HOST_KEY_CHANGED, ERROR, "gpu-002:"),
    ("key refused", without_answer("gpu-002", trouble=TROUBLE.LOGIN_REFUSED, said="x: Permission denied (publickey)."), Code.LOGIN_REFUSED, ERROR, "gpu-002:"),
    ("no Python", without_answer("gpu-002", trouble=TROUBLE.WITHOUT_PYTHON), Code.HOST_WITHOUT_PYTHON, ERROR, "gpu-002:"),
    ("no answer after login", without_answer("gpu-002", trouble=TROUBLE.FAILED), Code.HOST_SILENT, ERROR, "gpu-002:"),
    ("sudo asks", with_facts("gpu-002", is_root=False, sudo="sudo: a password is required"), Code.SUDO_REFUSED, ERROR, "gpu-002:"),
    ("no sudo", with_facts("gpu-002", is_root=False, sudo="missing"), Code.SUDO_REFUSED, ERROR, "gpu-002:"),
    ("other distribution", with_facts("gpu-002", os="debian-12", os_title="Debian 12"), Code.HOST_SYSTEM_UNFIT, ERROR, "gpu-002:"),
    ("other architecture", with_facts("gpu-002", arch="aarch64"), Code.HOST_SYSTEM_UNFIT, ERROR, "gpu-002:"),
    ("no systemd", with_facts("gpu-002", has_systemd=False), Code.HOST_SYSTEM_UNFIT, ERROR, "gpu-002:"),
    ("disk full", with_facts("gpu-002", disks={"/": dataclasses.replace(DISK, free_mib=100)}), Code.HOST_DISK_FULL, ERROR, "gpu-002:"),
    ("boot disk full", with_facts("gpu-002", disks={"/": DISK, "/var": dataclasses.replace(DISK, free_mib=10)}), Code.HOST_DISK_FULL, ERROR, "gpu-002:"),
    ("no inodes", with_facts("gpu-002", disks={"/": dataclasses.replace(DISK, free_files_percent=0)}), Code.HOST_DISK_FULL, ERROR, "gpu-002:"),
    ("read-only", with_facts("gpu-002", disks={"/": dataclasses.replace(DISK, is_read_only=True)}), Code.HOST_DISK_FULL, ERROR, "gpu-002:"),
    ("clock 2 s off", with_facts("gpu-002", clock=answers.Clock("chronyd", is_synchronized=True, offset_s=-2.0)), Code.HOST_CLOCK_OFF, WARNING, "gpu-002:"),
    ("clock 2 min off", with_facts("gpu-002", clock=answers.Clock("ntpd", is_synchronized=True, offset_s=120.0)), Code.HOST_CLOCK_OFF, ERROR, "gpu-002:"),
    ("clock ahead of ours", with_facts("gpu-002", epoch_s=1003.0), Code.HOST_CLOCK_OFF, WARNING, "gpu-002:"),
    ("clock far behind ours", with_facts("gpu-002", epoch_s=800.0), Code.HOST_CLOCK_OFF, ERROR, "gpu-002:"),
    ("no time source", with_facts("gpu-002", clock=answers.Clock("chronyd", is_synchronized=False)), Code.HOST_CLOCK_OFF, WARNING, "gpu-002:"),
    ("no time service", with_facts("gpu-002", clock=answers.Clock()), Code.HOST_CLOCK_OFF, WARNING, "gpu-002:"),
    ("apt in use", with_facts("gpu-002", locked_by="apt-get (process 9)"), Code.HOST_PACKAGES_BUSY, WARNING, "gpu-002:"),
    ("apt at work", with_facts("gpu-002", locked_by="apt-get (process 9)", incomplete=("galera-4",)), Code.HOST_PACKAGES_BUSY, WARNING, "gpu-002:"),
    ("half installed", with_facts("gpu-002", incomplete=("linux-image-generic",)), Code.HOST_PACKAGES_BROKEN, ERROR, "gpu-002:"),
    ("unattended upgrades", with_facts("gpu-002", upgrades_unattended=True), Code.HOST_UPGRADES, NOTE, "gpu-002:"),
    ("user with another number", with_facts("gpu-002", users={"ada": 1001}), Code.HOST_USER_TAKEN, ERROR, "gpu-002:"),
    ("group with another number", with_facts("gpu-002", groups={"ada": 1001}), Code.HOST_USER_TAKEN, ERROR, "gpu-002:"),
    ("number of another user", with_facts("gpu-002", users={"eve": 2001}), Code.HOST_USER_TAKEN, WARNING, "gpu-002:"),
    ("restart pending", with_facts("gpu-002", restart_for=("linux-base",)), Code.HOST_RESTART, WARNING, "gpu-002:"),
    ("a GPU off", with_facts("gpu-002", gpus=("0x2330",) * 7), Code.HOST_GPUS_DIFFER, ERROR, "gpu-002:"),
    ("no GPU", with_facts("gpu-002", gpus=()), Code.HOST_GPUS_DIFFER, ERROR, "gpu-002:"),
    ("a GPU more", with_facts("gpu-002", gpus=("0x2330",) * 9), Code.HOST_GPUS_DIFFER, WARNING, "gpu-002:"),
    ("another model", with_facts("gpu-002", gpus=("0x2330",) * 7 + ("0x20b2",)), Code.HOST_GPUS_DIFFER, WARNING, "gpu-002:"),
    ("nouveau", with_facts("gpu-002", modules=("nouveau",)), Code.HOST_GPU_DRIVER, WARNING, "gpu-002:"),
    ("MIG", with_facts("gpu-002", mig_modes=("Enabled",) * 8), Code.HOST_GPU_DRIVER, WARNING, "gpu-002:"),
    ("fewer processors", with_facts("gpu-002", cpus=112), Code.HOST_SIZE_DIFFERS, ERROR, "gpu-002:"),
    ("more processors", with_facts("gpu-002", cpus=448), Code.HOST_SIZE_DIFFERS, WARNING, "gpu-002:"),
    ("half of the memory", with_facts("gpu-002", memory_mib=1_040_000), Code.HOST_SIZE_DIFFERS, ERROR, "gpu-002:"),
    ("a memory module less", with_facts("gpu-002", memory_mib=2_000_000), Code.HOST_SIZE_DIFFERS, WARNING, "gpu-002:"),
    ("no such interface", with_facts("gpu-001", interfaces={"eno1": "02:00:00:00:99:99"}), Code.HOST_INTERFACE_MISSING, ERROR, "gpu-001:"),
    ("another machine", with_facts("gpu-001", serial="S7"), Code.HOST_OTHER_MACHINE, ERROR, "gpu-001:"),
    ("another stack", with_facts("gpu-002", mark={"stack": "prod", "owner": OWNER, "token": "t"}), Code.HOST_OWNED, ERROR, "gpu-002:"),
    ("another checkout", with_facts("gpu-002", mark={"stack": "lab", "owner": "/srv/theirs", "token": "t"}), Code.HOST_OWNED, ERROR, "gpu-002:"),
    ("damaged mark", with_facts("gpu-002", mark={}), Code.HOST_OWNED, ERROR, "gpu-002:"),
    ("foreign Slurm", with_facts("gpu-002", occupied=("slurmd runs (process 812)",)), Code.HOST_OCCUPIED, ERROR, "gpu-002:"),
    ("port taken", with_facts("gpu-002", listeners={"6818": "nginx"}), Code.HOST_PORT_TAKEN, ERROR, "gpu-002:"),
    ("path blocked", with_facts("gpu-002", unreached={"head-1:6817": "no answer within 3 s"}), Code.HOST_PATH_BLOCKED, ERROR, "gpu-002:"),
    ("no archive", with_facts("gpu-002", archives={"http://mirror": "mirror: timed out"}), Code.HOST_ARCHIVE_SILENT, ERROR, "gpu-002:"),
    ("packet filter", with_facts("gpu-002", filters=("ufw",)), Code.HOST_FILTERED, NOTE, "gpu-002:"),
)


def test_nodes_whose_way_out_the_controllers_will_be_need_no_archive_before() -> None:
    silent = {name: given[name] for name in ("gpu-002", "head-1") for given in [with_facts(name, archives={"http://mirror": "mirror: no route"})]}
    behind = loaded(blueprint().replace("cidr: 10.20.0.0/24}", "cidr: 10.20.0.0/24, nat: control}"))
    found = hosts.check(behind.spec, behind.document, {**GOOD, **silent}, stack="lab", owner=OWNER)
    assert [(one.code, one.what.partition(":")[0]) for one in found] == [(Code.HOST_ARCHIVE_SILENT, "head-1")]


def test_a_time_service_is_installed_by_the_servers_owner() -> None:
    """The roles of servers bring none."""
    found = only(with_facts("gpu-002", clock=answers.Clock()))
    assert found.remedy.startswith("install one (`ssh -i /home/me/lab ubuntu@10.20.0.12 sudo apt-get install chrony`)")


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case[0])
def test_each_fault_of_a_host_is_one_finding_at_its_place(case: tuple[str, Answers, Code, finding.Level, str]) -> None:
    _, given, code, level, line = case
    found = only(given)
    assert (found.code, found.level) == (code, level)
    assert found.where is not None
    assert line in found.where.text
    assert found.level in code.levels
    for text in (found.what, found.why, found.remedy):
        assert text
        assert text[-1] not in ". \n"
        assert "{" not in text.replace("`nodes: {min: ", "")


@pytest.mark.parametrize(
    ("given", "code", "level"),
    [
        (with_facts("gpu-002", headers="none"), Code.HOST_KERNEL_HEADERS, ERROR),
        (with_facts("gpu-002", headers="archive", is_secure_boot=True), Code.HOST_SECURE_BOOT, WARNING),
    ],
)
def test_modules_that_the_owner_builds_need_headers_of_the_profile_s_kernel_and_an_enrolled_key(given: Answers, code: Code, level: finding.Level) -> None:
    found = only(given)
    assert (found.code, found.level) == (code, level)
    software = dataclasses.replace(LAB.spec.software, versions=())
    assert findings(given, dataclasses.replace(LAB, spec=dataclasses.replace(LAB.spec, software=software))) == (), "hosts keep their kernel"


def test_a_host_that_builds_nothing_needs_no_key() -> None:
    assert findings(with_facts("gpu-002", is_secure_boot=True)) == (), "the modules of the profile's kernel are signed by the distribution"


def test_an_infiniband_port_is_found_after_its_driver_gave_it_another_queue_pair() -> None:
    address = ":fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:aa:bb:cc"
    lab = loaded(blueprint().replace("02:00:00:00:01:01", "00:00:10:28" + address))
    assert findings(with_facts("gpu-001", interfaces={"ib0": "00:00:11:04" + address}), lab) == ()
    other = only(with_facts("gpu-001", interfaces={"ib0": "00:00:11:04" + address.replace("aa", "ab")}), lab)
    assert other.code is Code.HOST_INTERFACE_MISSING


def test_one_machine_under_two_names_is_one_finding() -> None:
    first = GOOD["gpu-003"].facts
    assert first is not None
    found = only(with_facts("gpu-004", machine_id=first.machine_id, interfaces=first.interfaces))
    assert (found.code, found.what) == (Code.MACHINE_TWICE, "gpu-[003-004] (2 hosts): one machine under several names")
    cloned = only(with_facts("gpu-004", machine_id=first.machine_id))
    assert cloned.what == "gpu-[003-004] (2 hosts): the same /etc/machine-id on several hosts"


OF_BUILDERS = frozenset({Code.HOST_KERNEL_HEADERS, Code.HOST_SECURE_BOOT})
"""Codes of servers that build modules."""


def test_every_code_of_hosts_is_found() -> None:
    of_hosts = {code for code in Code if "CW820" <= code < "CW900"}
    assert of_hosts == {case[2] for case in FAULTS} | {Code.MACHINE_TWICE, *OF_BUILDERS}


def test_hosts_with_the_same_fault_are_one_finding_with_a_host_list_at_their_pool() -> None:
    asks = {name: with_facts(name, is_root=False, sudo="sudo: a password is required")[name] for name in NAMES[2:]}
    found = only({**GOOD, **asks})
    assert found.what == "gpu-[001-004] (4 hosts): ubuntu may not become root without a password"
    assert found.where is not None
    assert found.where.text.strip() == "hosts: gpu-[001-004]"
    assert "ssh -i /home/me/lab ubuntu@10.20.0.11" in found.remedy


def test_the_remedy_for_a_foreign_slurm_purges_the_packages_that_were_found() -> None:
    found = only(with_facts("gpu-002", occupied=("slurmd runs (process 812)", "installed packages: munge, slurmd")))
    assert "`ssh -i /home/me/lab ubuntu@10.20.0.12 sudo apt-get purge munge slurmd`" in found.remedy
    assert "slurmd runs and installed packages: munge, slurmd" in found.why


def test_two_distributions_in_one_pool_are_named_together() -> None:
    found = only(with_facts("gpu-002", os="debian-12", os_title="Debian GNU/Linux 12 (bookworm)"))
    assert found.what == "gpu-002: Debian GNU/Linux 12 (bookworm) does not fit the software profile ubuntu-24.04-metal"
    assert "hosts of `train` run debian-12 and ubuntu-24.04" in found.why


def test_the_remedy_for_a_blocked_path_can_be_typed_on_hosts_without_names() -> None:
    found = only(with_facts("gpu-002", unreached={"head-1:6817": "no answer within 3 s"}))
    assert "`ssh -i /home/me/lab ubuntu@10.20.0.12 \"timeout 3 bash -c '</dev/tcp/10.20.0.1/6817'\"`" in found.remedy


def test_a_changed_host_key_shows_both_fingerprints() -> None:
    found = only(without_answer("gpu-002", trouble=TROUBLE.OTHER_KEY, fingerprint="SHA256:new"))
    assert login.fingerprint(host_key("gpu-002")) in found.why
    assert "SHA256:new" in found.why


@pytest.mark.parametrize("key", [host_key("gpu-002"), ""], ids=["changed", "missing"])
def test_the_command_for_a_host_key_names_the_blueprint(key: str) -> None:
    lab = loaded(blueprint()) if key else loaded(blueprint().replace(f", host_key: {host_key('gpu-002')}", ""))
    answers = without_answer("gpu-002", trouble=TROUBLE.OTHER_KEY, fingerprint="SHA256:new")
    [found] = [one for one in findings(answers, lab) if one.level is ERROR]
    assert f"`clusterwright lookup hosts {lab.document.file} --write`" in found.remedy


def test_a_host_without_a_key_in_the_inventory_is_not_called_changed() -> None:
    without_key = loaded(blueprint().replace(f", host_key: {host_key('gpu-002')}", ""))
    [found] = [one for one in findings(without_answer("gpu-002", trouble=TROUBLE.OTHER_KEY), without_key) if one.level is ERROR]
    assert (found.code, found.what) == (Code.HOST_KEY_MISSING, "gpu-002: no SSH host key in the inventory")


def test_a_fingerprint_is_the_one_of_ssh_keygen() -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"  # GitHub's, whose fingerprint GitHub publishes
    assert login.fingerprint(key) == "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"


@pytest.mark.parametrize(
    ("trouble", "code", "what", "remedy"),
    [
        (TROUBLE.UNREACHABLE, Code.HOST_UNREACHABLE, "no SSH server answers", "switch"),
        (TROUBLE.HANGS, Code.HOST_SILENT, "the SSH server answers, and the host hangs", "restart"),
    ],
)
@pytest.mark.parametrize(
    ("nodes", "off", "level"),
    [
        ("{min: 2, max: 4}", ("gpu-003", "gpu-004"), WARNING),
        ("{min: 3, max: 4}", ("gpu-003", "gpu-004"), ERROR),
        ("", ("gpu-003", "gpu-004"), ERROR),
    ],
)
def test_half_of_the_hosts_off_is_decided_by_the_minimum_of_the_pool(
    nodes: str, off: Sequence[str], level: finding.Level, trouble: hosts.Trouble, code: Code, what: str, remedy: str
) -> None:
    found = only(without_answer(*off, trouble=trouble), loaded(blueprint(nodes)))
    assert (found.code, found.level, found.what) == (code, level, f"gpu-[003-004] (2 hosts): {what}")
    assert found.remedy.startswith(remedy)


def test_hosts_that_are_off_and_hosts_that_hang_count_together() -> None:
    given = {**without_answer("gpu-003"), "gpu-004": without_answer("gpu-004", trouble=TROUBLE.HANGS)["gpu-004"]}
    assert [found.level for found in findings(given, loaded(blueprint("{min: 2, max: 4}")))] == [WARNING, WARNING]
    assert [found.level for found in findings(given, loaded(blueprint("{min: 3, max: 4}")))] == [ERROR, ERROR]


def test_the_minimum_that_is_proposed_lets_up_go_on() -> None:
    given = without_answer("gpu-003", "gpu-004")
    remedy = only(given).remedy
    assert "`nodes: {min: 2, max: 4}`" in remedy
    assert only(given, loaded(blueprint("{min: 2, max: 4}"))).level is WARNING


def test_a_host_that_is_off_is_not_also_a_blocked_path() -> None:
    given = {**with_facts("head-1", unreached={"gpu-002:6818": "no answer within 3 s"}), "gpu-002": without_answer("gpu-002")["gpu-002"]}
    assert [found.code for found in findings(given)] == [Code.HOST_UNREACHABLE]


def test_paths_grow_with_hosts_and_not_with_their_square() -> None:
    reached = paths.peers(LAB.spec)
    assert reached["head-1"] == tuple((name, f"10.20.0.{10 + number}", 6818) for number, name in enumerate(NAMES[2:], start=1))
    assert reached["login-1"] == (("head-1", "10.20.0.1", 6817),)
    assert reached["gpu-004"] == (("head-1", "10.20.0.1", 6817), ("gpu-001", "10.20.0.11", 6818))


def test_a_host_without_an_address_is_asked_for_by_the_name_that_daemons_use() -> None:
    lab = loaded(blueprint().replace("gpu-003: {address: 10.20.0.13", "gpu-003: {address: n3.example.org"))
    assert paths.peers(lab.spec)["gpu-002"] == (("head-1", "10.20.0.1", 6817), ("gpu-003", "gpu-003", 6818))
    found = only(with_facts("gpu-002", unreached={"gpu-003:6818": "gpu-003 does not resolve: Name or service not known"}), lab)
    assert (found.code, found.what) == (Code.HOST_PATH_BLOCKED, "gpu-002: no address is known of gpu-003")
    assert "write IPv4 addresses" in found.remedy


def test_hosts_of_kubernetes_reach_the_api_server_the_registry_and_each_others_kubelets() -> None:
    slurms = ("access:", "storage:", "  home:", "    partition:", "    login-1:")
    lines = [line.replace("scheduler: slurm", "scheduler: kubernetes") for line in blueprint().splitlines() if not line.startswith(slurms)]
    cluster = loaded("\n".join(lines)).spec
    reached = paths.peers(cluster)
    assert reached["gpu-004"] == (("head-1", "10.20.0.1", 6443), ("head-1", "10.20.0.1", 5000), ("gpu-001", "10.20.0.11", 10250))
    assert {port for _, _, port in reached["head-1"]} == {10250}
    listening = {group.name: paths.ports(cluster, group) for group in cluster.host_groups}
    assert {2379, 6443} < set(listening["kubernetes"])
    assert listening["train"] == (10250,)


def test_three_hosts_of_a_control_plane_reach_each_others_etcd_and_api_server() -> None:
    text = blueprint().replace("scheduler: slurm", "scheduler: kubernetes").replace("gpu-[001-004]", "gpu-[003-004]")
    text = text.replace("control: {hosts: head-1}", "control: {hosts: 'head-1,gpu-[001-002]', address: 10.20.0.99}")
    cluster = loaded(
        "\n".join(line for line in text.splitlines() if not line.startswith(("access:", "storage:", "  home:", "    partition:", "    login-1:")))
    ).spec
    reached = paths.peers(cluster)
    assert {(name, port) for name, _, port in reached["head-1"]} == {
        *((name, port) for name in ("gpu-001", "gpu-002") for port in (2379, 2380, 5000, 6443, 6444)),
        *((name, 10250) for name in ("gpu-003", "gpu-004")),
    }
    assert {port for _, _, port in reached["gpu-003"]} == {5000, 6443, 10250}, "nodes reach what the balancer serves"
    assert 6444 in paths.ports(cluster, next(group for group in cluster.host_groups if group.name == "kubernetes"))


def test_ports_of_services_are_asked_for_where_the_cluster_has_them() -> None:
    def asked(group: str, *, address: str = "", rest_api: bool = False, package_cache: bool = False) -> set[int]:
        assert LAB.spec.site is not None
        cluster = dataclasses.replace(
            LAB.spec,
            network=dataclasses.replace(LAB.spec.network, balancer_address=address),
            login=dataclasses.replace(LAB.spec.login, rest_api=rest_api),
            site=dataclasses.replace(LAB.spec.site, package_cache=package_cache),
        )
        return {*paths.ports(cluster, next(one for one in cluster.host_groups if one.name == group))}

    assert asked("access") == set()
    assert asked("access", address="10.20.0.5") == {2221, 2222}
    assert asked("access", rest_api=True) == {6820, 6821}
    assert asked("access", package_cache=True) == set()
    assert asked("control", package_cache=True) - asked("control", address="10.20.0.5", rest_api=True) == {3142}


def test_findings_point_into_the_blueprint_as_written() -> None:
    pages = [finding.render(findings(case[1])) for case in FAULTS]
    assert all(page.startswith("t.yaml:") for page in pages)

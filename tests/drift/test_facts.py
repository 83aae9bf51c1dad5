"""What an inspection reads of a host: places with their attributes, packages, and only differences."""

import datetime as dt
import importlib
import json
import os
import struct
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from components.metal.guest import places as guest_places

PLAYBOOKS = project_root() / "playbooks"


@pytest.fixture(scope="module", autouse=True)
def modules() -> None:
    """Import the hosts' modules as they are imported there: from their own folders, with the project's module_utils beside Ansible's."""
    import ansible.module_utils

    if str(PLAYBOOKS / "library") not in sys.path:
        sys.path.insert(0, str(PLAYBOOKS / "library"))
    if str(PLAYBOOKS / "module_utils") not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(str(PLAYBOOKS / "module_utils"))


def module(name: str) -> Any:
    return importlib.import_module(name)


def program(name: str) -> Any:
    return importlib.import_module(f"components.inspection.program.{name}")


def places(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = module("ansible.module_utils.host_places").places((str(root),))
    return found


def test_every_kind_of_place_is_described(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "large").write_bytes(b"a" * 9000)
    (tmp_path / "folder").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "pipe")
    found = {Path(path).name: place for path, place in places(tmp_path).items()}
    assert found["text"]["text"] == "hello\n"
    assert found["text"]["mode"] == "0644"
    assert "text" not in found["secret"], "what not everybody on the host may read is not copied"
    assert "text" not in found["large"]
    assert found["folder"]["kind"] == "folder"
    assert found["link"] == {"kind": "link", "link": "/nowhere"}
    assert found["pipe"]["kind"] == "special"


def test_only_differences_are_given(tmp_path: Path) -> None:
    differences = program("places").differences
    (tmp_path / "a").write_text("1")
    recorded = places(tmp_path)
    assert differences(recorded, places(tmp_path), written=set()) == []
    (tmp_path / "a").write_text("2")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").write_text("x")
    found = differences(recorded, places(tmp_path), written={str(tmp_path / "a")})
    assert [(one["path"], one["written"]) for one in found] == [(str(tmp_path / "a"), True), (str(tmp_path / "new"), False)], (
        "a new folder stands for all in it"
    )
    assert (found[0]["recorded"]["text"], found[0]["actual"]["text"]) == ("1", "2")


def test_a_place_that_shall_be_absent_is_right_when_it_is(tmp_path: Path) -> None:
    differences = program("places").differences
    path = str(tmp_path / "key")
    assert differences({path: {"kind": "absent"}}, {}, written={path}) == []
    (tmp_path / "key").write_text("x")
    [found] = differences({path: {"kind": "absent"}}, places(tmp_path), written={path})
    assert (found["recorded"], found["actual"]["kind"]) == (None, "file")


def test_folders_on_the_way_to_a_written_file_are_no_addition() -> None:
    folder, file = {"kind": "folder", "mode": "0755", "owner": "root", "group": "root"}, {"kind": "file", "sha256": "a"}
    actual = {"/etc/a": folder, "/etc/a/b": folder, "/etc/a/b/c": file, "/etc/a/x": file}
    found = program("places").differences({"/etc/a/b/c": file}, actual, written={"/etc/a/b/c"})
    assert [one["path"] for one in found] == ["/etc/a/x"]


def test_places_that_the_system_writes_are_left_out() -> None:
    is_left_out = module("ansible.module_utils.host_places").is_left_out
    for path in ("/etc/hostname", "/etc/ssh/ssh_host_ed25519_key.pub", "/etc/passwd-", "/usr/local/lib/x/__pycache__/a.pyc"):
        assert is_left_out(path), path
    for path in ("/etc/passwd", "/etc/ssh/sshd_config", "/etc/munge", "/etc/hosts"):
        assert not is_left_out(path), path


STATUS = """\
Package: slurmd
Status: hold ok installed
Version: 24.11.5-4
Description: a daemon
 Version: not this

Package: gone
Status: deinstall ok config-files
Version: 1

Package: bash
Status: install ok installed
Version: 5.2
"""


def test_packages_are_read_with_their_holds(tmp_path: Path) -> None:
    (tmp_path / "status").write_text(STATUS)
    packages = module("ansible.module_utils.host_places").packages
    assert packages(str(tmp_path / "status")) == {"slurmd": {"version": "24.11.5-4", "held": True}, "bash": {"version": "5.2", "held": False}}
    assert packages(str(tmp_path / "none")) == {}


def test_records_are_private_and_written_only_when_they_change(tmp_path: Path) -> None:
    host_places = module("ansible.module_utils.host_places")
    path = tmp_path / "record" / "it.json"
    assert host_places.write_json(str(path), {"a": 1})
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not host_places.write_json(str(path), {"a": 1})
    assert host_places.read_json(str(path)) == {"a": 1}
    path.write_text("{cut")
    assert host_places.read_json(str(path)) is None
    assert host_places.read_json(str(tmp_path / "none")) is None


def entry(**changes: Any) -> dict[str, Any]:
    return {"path": "/etc/x", "content": None, "link": None, "folder": False, "absent": False, "mode": None, "owner": None, "group": None, **changes}


ENTRIES = [
    (entry(content="a"), False, {"kind": "file", "mode": "0644", "owner": "root", "group": "root", "text": "a"}),
    (entry(content="a", mode="0600", owner="slurm"), True, {"kind": "file", "mode": "0600", "owner": "slurm", "group": "root"}),
    (entry(folder=True), False, {"kind": "folder", "mode": "0755", "owner": "root", "group": "root"}),
    (entry(link="b"), False, {"kind": "link", "link": "b"}),
    (entry(absent=True), False, {"kind": "absent"}),
]


@pytest.mark.parametrize(("asked", "secret", "expected"), ENTRIES)
def test_what_a_role_writes_is_recorded_in_the_form_in_which_it_is_found(asked: dict[str, Any], secret: bool, expected: dict[str, Any]) -> None:
    recorded = module("files").recorded_entry(asked, secret=secret)
    assert {name: value for name, value in recorded.items() if name != "sha256"} == expected


def test_declared_kernel_settings_are_read_from_recorded_texts() -> None:
    recorded = {
        "/etc/sysctl.d/b.conf": {"text": "# c\n-net.ipv4.ip_forward = 0\nkernel.hostname=x\n"},
        "/etc/sysctl.d/a.conf": {"text": "kernel.hostname=y\n"},
        "/etc/other": {"text": "a=b"},
    }
    found = program("kernel").sysctls(recorded, in_container=False)
    assert {name: one["declared"] for name, one in found.items()} == {"net.ipv4.ip_forward": "0", "kernel.hostname": "x"}
    assert found["kernel.hostname"]["actual"] == Path("/proc/sys/kernel/hostname").read_text().strip()


def test_a_container_is_not_blamed_for_settings_of_the_machine() -> None:
    """Ubuntu's packages declare some: that the kernel lets no container set them is no drift there, and is drift on a machine of its own."""
    recorded = {"/etc/sysctl.d/10-some.conf": {"text": "kernel.ostype = BSD\nkernel.none_such = 1\n"}}
    found = program("kernel").sysctls(recorded, in_container=False)
    assert found == {"kernel.ostype": {"declared": "BSD", "actual": "Linux"}, "kernel.none_such": {"declared": "1", "actual": ""}}
    assert program("kernel").sysctls(recorded, in_container=True) == {}


BLOCK = ("# BEGIN clusterwright: keys of the blueprint; your own go outside of this block", "# END clusterwright")


def test_of_a_users_keys_only_the_block_of_the_roles_is_read(tmp_path: Path) -> None:
    between = program("accounts").between
    assert between(["ssh-ed25519 AAAA own", BLOCK[0], "# by the stack", "ssh-ed25519 BBBB stack", "", BLOCK[1], "ssh-ed25519 CCCC own"]) == [
        "ssh-ed25519 BBBB stack"
    ]
    assert between(["ssh-ed25519 AAAA own"]) == []
    assert (program("accounts").BLOCK_BEGIN, program("accounts").BLOCK_END) == (module("cluster_users").BLOCK_BEGIN, module("cluster_users").BLOCK_END)


def test_a_home_that_is_not_there_is_no_answer(tmp_path: Path) -> None:
    block = program("accounts").block
    home = tmp_path / "ada"
    assert block(os.getuid(), str(home)) is None
    (home / ".ssh").mkdir(parents=True)
    assert block(os.getuid(), str(home)) == []
    (home / ".ssh" / "authorized_keys").write_text("\n".join([BLOCK[0], "ssh-ed25519 BBBB stack", BLOCK[1]]))
    assert block(os.getuid(), str(home)) == ["ssh-ed25519 BBBB stack"]


def test_what_the_first_boot_left_is_recorded_and_what_came_after_it_is_found(tmp_path: Path) -> None:
    """A cloud's host is made from an image and writes some places when it is born; `since` is what it records of them."""
    since, differences = module("ansible.module_utils.host_places").since, program("places").differences
    (tmp_path / "fstab").write_text("")
    (tmp_path / "sample").write_text("x")
    image = places(tmp_path)
    (tmp_path / "fstab").write_text("fs-1:/ /home nfs4\n")
    (tmp_path / "sample").unlink()
    (tmp_path / "network").write_text("eth0")
    born = since(image, places(tmp_path))
    assert {path.rpartition("/")[2]: entry["kind"] for path, entry in born.items()} == {"fstab": "file", "network": "file", "sample": "absent"}
    assert differences({**image, **born}, places(tmp_path), written=set()) == []
    (tmp_path / "network").write_text("eth1")
    assert [one["path"].rpartition("/")[2] for one in differences({**image, **born}, places(tmp_path), written=set())] == ["network"]


def test_a_lustre_client_counts_for_the_kernel_that_it_was_built_for() -> None:
    lustre_client = program("versions").lustre_client
    packages = {
        "lustre-client-modules-6.8.0-1063-aws": {"version": "2.15.6-1fsx34", "held": True},
        "lustre-client-utils": {"version": "2.15.6-1fsx34", "held": True},
    }
    assert lustre_client(packages, "6.8.0-1063-aws") == "2.15.6-1fsx34"
    assert lustre_client(packages, "6.8.0-1064-aws") == "none for this kernel"
    assert lustre_client({}, "6.8.0-1063-aws") == ""


def test_cuda_is_told_by_its_libraries() -> None:
    cuda_libraries = program("versions").cuda_libraries
    packages = {
        "cuda-libraries-13-0": {"version": "13.0.2-1"},
        "cuda-libraries-dev-13-0": {"version": "13.0.2-1"},
        "libnccl2": {"version": "2.30.4-1+cuda13.2"},
    }
    assert cuda_libraries(packages) == "13.0.2"
    assert cuda_libraries({**packages, "cuda-libraries-12-9": {"version": "12.9.1-1"}}) == "12.9.1, 13.0.2", "two of them are no version of a profile"
    assert cuda_libraries({}) == ""


def test_a_container_tells_of_the_kernel_that_it_would_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_set = module("ansible.module_utils.kernel_set")
    marker = tmp_path / "container"
    monkeypatch.setattr(kernel_set, "MODULES", str(tmp_path / "modules"))
    monkeypatch.setattr(kernel_set, "CONTAINER", str(marker))
    marker.touch()
    assert kernel_set.release() == os.uname().release, "it has none of its own"
    (tmp_path / "modules" / "6.8.0-1063-aws" / "kernel").mkdir(parents=True)
    assert kernel_set.release() == "6.8.0-1063-aws"
    marker.unlink()
    assert kernel_set.release() == os.uname().release


def test_private_files_that_others_could_read_are_given_with_what_they_should_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = program("accounts")
    owner = accounts.host_places.describe(str(tmp_path))["owner"]
    (tmp_path / "good").write_text("x")
    (tmp_path / "good").chmod(0o400)
    (tmp_path / "open").write_text("x")
    (tmp_path / "open").chmod(0o640)
    (tmp_path / "link").symlink_to("open")
    monkeypatch.setattr(accounts, "PRIVATE", ((owner, 0o077, (f"{tmp_path}/*",)),))
    [found] = accounts.private_files()
    assert (found["path"], found["mode"], found["needed_mode"]) == (str(tmp_path / "open"), "0640", "0600")
    monkeypatch.setattr(accounts, "PRIVATE", (("somebody", 0o077, (f"{tmp_path}/good",)),))
    [found] = accounts.private_files()
    assert (found["owner"], found["needed_owner"]) == (owner, "somebody")


def test_files_and_units_without_a_value_are_told_with_their_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exposure, digests = program("exposure"), program("digests").Digests(str(tmp_path / "remembered"))
    tool, link, unit, drop_in = (tmp_path / name for name in ("tool", "link", "x.service", "x.service.d/50-a.conf"))
    drop_in.parent.mkdir()
    for file in (tool, unit, drop_in):
        file.write_text("one")
    link.symlink_to(tool)
    monkeypatch.setattr(exposure, "TRANSIENT", str(tmp_path))
    paths = ("unowned", "changed_programs", "runtime_files", "root_starts", "privileged", "system_keys")
    exposed = {**dict.fromkeys(paths, ()), "unowned": [str(tool)], "changed_programs": [str(link), str(tmp_path / "gone")], "transient_units": ["x.service"]}
    seen = []
    for changed, text in ((None, ""), (tool, "two"), (unit, "two"), (drop_in, "two")):
        if changed:
            changed.write_text(text)
        seen.append(exposure.contents(exposed, digests))
    before, of_tool, of_unit, of_drop_in = seen
    assert before[str(tmp_path / "gone")] == [None]
    assert {name for name in before if before[name] != of_tool[name]} == {str(tool), str(link)}, "what a link leads to counts"
    assert {name for name in before if of_tool[name] != of_unit[name]} == {"x.service"}
    assert {name for name in before if of_unit[name] != of_drop_in[name]} == {"x.service"}
    tool.chmod(0o4755)
    assert exposure.contents(exposed, digests)[str(tool)] != of_drop_in[str(tool)], "the mode counts"


@pytest.mark.parametrize(
    ("name", "mode", "expected"),
    [
        ("tool", 0o755, ["executable"]), ("pam_extra.so", 0o755, ["executable"]), ("pam_extra.so", 0o644, ["loaded"]), ("libnss_extra.so.2", 0o600, ["loaded"]),
        ("extra.pth", 0o644, ["loaded"]), ("notes.txt", 0o644, []), ("notes.txt", 0o666, []), ("a.sound", 0o644, []),
    ],
)  # fmt: skip
def test_files_that_programs_load_are_read_whatever_their_mode(tmp_path: Path, name: str, mode: int, expected: list[str]) -> None:
    file = tmp_path / name
    file.touch()
    file.chmod(mode)
    executables, loaded, *_ = program("exposure")._inodes((str(tmp_path),))
    assert [kind for kind, paths in (("executable", executables), ("loaded", loaded)) if str(file) in paths] == expected


def test_names_in_messages_of_the_packet_filter_are_read() -> None:
    """Two rules as the kernel sends them: header of netlink, of netfilter, and attributes padded to four bytes."""
    network = program("network")

    def attribute(kind: int, value: bytes) -> bytes:
        whole = struct.pack("=HH", 4 + len(value), kind) + value
        return whole + b"\0" * (-len(whole) % 4)

    def message(kind: int, body: bytes) -> bytes:
        return struct.pack("=IHHII", 16 + len(body), kind, 2, 1, 0) + body

    rule = struct.pack("=BBH", 2, 0, 0) + attribute(network.TABLE, b"filter\0") + attribute(network.CHAIN, b"INPUT\0") + attribute(3, b"12345678")
    received = message(network.NFT_MSG_GETRULE - 1, rule) * 2 + message(network.NLMSG_DONE, b"\0\0\0\0")
    kinds = [kind for kind, _ in network._messages(received)]
    assert kinds == [network.NFT_MSG_GETRULE - 1] * 2 + [network.NLMSG_DONE]
    [(_, body), *_] = network._messages(received)
    names = dict(network._attributes(body[4:]))
    assert (network._text(names[network.TABLE]), network._text(names[network.CHAIN])) == ("filter", "INPUT")


@pytest.mark.parametrize(
    ("address", "expected"),
    [("0100007F", True), ("00000000", False), ("0A90660A", False), ("00000000000000000000000001000000", True), ("00000000000000000000000000000000", False)],
)
def test_a_socket_that_only_this_host_reaches_is_told_from_others(address: str, expected: bool) -> None:
    assert program("exposure")._is_loopback(address) is expected


def test_the_package_database_names_files_below_usr_whatever_name_they_were_packaged_under() -> None:
    exposure = program("exposure")
    assert exposure._is_owned("/usr/bin/mount", {"/usr/bin/mount"})
    assert exposure._is_owned("/bin/mount", {"/usr/bin/mount"})
    assert not exposure._is_owned("/usr/bin/helper", {"/usr/bin/mount"})


@pytest.mark.parametrize(
    ("cgroups", "expected"),
    [
        (["0::/system.slice/ssh.service"], "ssh.service"),
        (["12:memory:/system.slice/other.service", "1:name=systemd:/system.slice/ssh.service", "0::/"], "ssh.service"),
        (["0::/system.slice/system-getty.slice/getty@tty1.service"], "getty@tty1.service"),
        (["0::/system.slice/slurmstepd.scope/job_5/step_0/slurm"], "slurmstepd.scope"),
        (["0::/user.slice/user-0.slice/session-3.scope"], ""),
        (["0::/user.slice/user-0.slice/user@0.service/app.slice/x.service"], ""),
        (["0::/../.."], ""),
        ([], ""),
    ],
)
def test_a_process_belongs_to_a_unit_of_the_system_or_to_none(cgroups: list[str], expected: str) -> None:
    assert program("exposure").unit_of(cgroups) == expected


POD = "kubepods-besteffort.slice/kubepods-besteffort-pod9089.slice/cri-containerd-4494.scope"


@pytest.mark.parametrize(
    ("cgroups", "expected"),
    [
        ([f"0::/kubepods.slice/{POD}"], True),
        (["9:name=systemd:/kubepods/besteffort/pod9089/4494", "0::/"], True),
        (["0::/system.slice/kubelet.service"], False),
        (["0::/user.slice/kubepods/x"], False),
        (["0::/kubepods"], False),
        ([], False),
    ],
)
def test_a_process_belongs_to_a_pod_or_not(cgroups: list[str], expected: bool) -> None:
    assert program("exposure").is_of_pod(cgroups) is expected


def test_rules_that_follow_pods_are_left_out_and_those_that_lead_to_them_stay() -> None:
    kept = {"ip filter INPUT": 2, "ip filter FLANNEL-FWD": 2, "inet clusterwright_services output": 1, "ip other KUBE": 1, "inet kube-proxy x": 1}
    followed = {"ip kube-proxy services": 9, "ip6 kube-proxy services": 9, "ip filter KUBE-NWPLCY-K6TO": 4, "ip nat CNI-HOSTPORT-DNAT": 1}
    assert program("network").without_pods(Counter({**kept, **followed})) == kept


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        ({"dst": "10.224.3.0/24", "dev": "flannel.1", "gateway": "10.224.3.0"}, True),
        ({"dst": "10.224.3.0/24", "dev": "eth0"}, False),
        ({"dst": "203.0.113.0/24", "dev": "flannel.1"}, False),
        ({"dst": "10.224.3.7", "dev": "flannel.1"}, True),
    ],
)
def test_a_route_of_flannel_leads_to_pods_of_another_node(route: dict[str, str], expected: bool) -> None:
    network = program("network")
    pods = network.pod_network(["FLANNEL_NETWORK=10.224.0.0/11", "FLANNEL_SUBNET=10.224.1.1/24"])
    assert network._leads_to_pods(route, pods) is expected
    assert network._leads_to_pods(route, network.pod_network([])) is False, "a host without flannel"


def test_what_an_adopted_server_had_before_is_read_from_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adoption = program("adoption")
    contents = guest_places.Contents(str(tmp_path / "contents"))
    digest = contents.keep(b"ssh-rsa AAAAtheirs root@lab\n")
    keys = {"/root/.ssh/authorized_keys": {"kind": "file", "sha256": digest}}
    (tmp_path / "record.json").write_text(json.dumps({"mark": {"adopted_at": "2026-11-21T20:00:00+00:00"}, "before": {"places": keys}}))
    monkeypatch.setattr(adoption, "FOLDER", str(tmp_path))
    record = adoption.read()
    assert adoption.root_keys(record) == ["ssh-rsa AAAAtheirs root@lab"]
    assert adoption.moment_s(record) == dt.datetime(2026, 11, 21, 20, tzinfo=dt.UTC).timestamp()
    (tmp_path / "record.json").unlink()
    assert (adoption.read(), adoption.root_keys({}), adoption.moment_s({})) == ({}, [], None)


def test_a_file_is_older_than_an_adoption_only_where_nobody_has_changed_it_since(tmp_path: Path) -> None:
    adoption = program("adoption")
    file = tmp_path / "helper"
    file.touch()
    os.utime(file, (0, 0))
    changed_s = file.stat().st_ctime
    assert adoption.is_older(str(file), changed_s + 1)
    assert not adoption.is_older(str(file), changed_s), "its time of change counts, which nobody can set"
    assert not adoption.is_older(str(file), None)
    assert not adoption.is_older(str(tmp_path / "missing"), changed_s)

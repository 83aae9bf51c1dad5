"""Files come back with content, owner and mode, and what was there before is kept: the scripts run here as they run on a host."""

import argparse
import dataclasses
import os
import pathlib
import pwd
import re
import shlex
import shutil
import struct
import subprocess

import pytest

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile
from blueprints.finding.values import FileContent, FileState, LinkTarget, Value
from components.inspection.codes import Code
from components.inspection.hosts import files as inspected_files
from stacks.cli import drift
from stacks.drift import fix, repair
from stacks.drift.fix import exposure, files
from tests.drift.examples import finding
from tests.drift.test_fix import ASIDE, CLUSTER

ME = pwd.getpwuid(os.getuid()).pw_name
STATE = FileState("file", "0640", ME, ME)


def content(text: str | None, state: FileState = STATE) -> FileContent:
    return FileContent(state, text, "sha256 5e88")


def differs(code: Code, path: str, recorded: Value | None, host: str = "train-0") -> Finding:
    return finding(HostFile(host, path), code=code, desired=recorded, recorded=recorded, actual=None if code == Code.FILE_GONE else "another")


def steps(*findings: Finding) -> tuple[fix.Step, ...]:
    return fix.plan(findings, cluster=CLUSTER, busy=frozenset()).steps


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder of the test's own in the place of a host's root: names in it are paths on the host."""
    return tmp_path


def carry_out(root: pathlib.Path, found: Finding) -> pathlib.Path:
    """Run the first step of a finding here; give the folder in which the step keeps what was there."""
    aside = root / "aside"
    action = steps(found)[0].action
    assert isinstance(action, fix.Command)
    argv = [str(aside) if word == ASIDE else word for word in action.argv]
    done = subprocess.run(argv, input=action.stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(f"{aside}{root}")


def mode(path: pathlib.Path) -> int:
    return path.lstat().st_mode & 0o7777


@pytest.mark.parametrize("name", ["motd", "it's", "a b", "$(reboot)", "-rf", "{{ 7 * 7 }}", "größe"])
def test_a_changed_file_gets_its_text_back_and_the_other_text_is_kept(root: pathlib.Path, name: str) -> None:
    path = root / name
    path.write_text("edited by hand\n")
    aside = carry_out(root, differs(Code.FILE_CHANGED, str(path), content("as it was\nwithout a line break at its end")))
    assert path.read_text() == "as it was\nwithout a line break at its end"
    assert mode(path) == 0o640
    assert (aside / name).read_text() == "edited by hand\n"
    assert mode(root / "aside") == 0o700
    assert [one.name for one in root.iterdir() if one.name.startswith(".clusterwright")] == []


def test_a_file_that_is_gone_without_its_text_comes_with_its_package() -> None:
    [step] = steps(differs(Code.FILE_GONE, "/etc/ssh/moduli", content(None)))
    assert isinstance(step.action, fix.Command)
    assert (step.action.argv[2], step.action.argv[-1]) == (files.REINSTALL, "/etc/ssh/moduli")
    assert steps(differs(Code.FILE_CHANGED, "/etc/ssh/moduli", content(None))) == (), "dpkg leaves a file that is there"
    secret = dataclasses.replace(content(None), is_written=True)
    assert steps(differs(Code.FILE_GONE, "/etc/keepalived/keepalived.conf", secret)) == (), "no package has what a role wrote"


PROGRAM = """
import sys
_, word, path, digest = sys.argv
if digest == "unknown":
    sys.exit("no earlier state")
open(path, "w").write(f"{word} {digest}")
"""


@pytest.mark.parametrize(
    ("is_server", "digest", "after"),
    [(True, "0123", "restore 0123"), (True, "unknown", "by the other program"), (False, "0123", "by the other program")],
)
def test_a_table_of_passwords_comes_back_from_the_record_of_its_server(root: pathlib.Path, is_server: bool, digest: str, after: str) -> None:
    """Only what adopting kept has its content; elsewhere it loses the rows that have no user."""
    changed = dataclasses.replace(content(None), sha256=digest)
    [step] = steps(differs(Code.FILE_CHANGED, "/etc/shadow", changed))
    assert isinstance(step.action, fix.Command)
    table, program, synchronize = root / "shadow", root / "release.py", root / "synchronize"
    table.write_text("changed by hand")
    if is_server:
        program.write_text(PROGRAM)
    synchronize.write_text(f"#!/bin/sh\nprintf 'by the other program' >{table}\n")
    synchronize.chmod(0o755)
    here = {"/etc/shadow": table, ASIDE: root / "aside", files.ADOPTION_PROGRAM: program, "pwconv": synchronize}
    done = subprocess.run([str(here.get(word, word)) for word in step.action.argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert table.read_text() == after
    assert pathlib.Path(f"{root / 'aside'}{table}").exists() is is_server


def test_the_remedy_of_a_changed_password_accepts_that_finding_when_it_is_typed() -> None:
    place = {"kind": "file", "mode": "0640", "owner": "root", "group": "shadow"}
    differing = [{"path": "/etc/shadow", "recorded": {**place, "sha256": "0" * 64}, "actual": {**place, "sha256": "1" * 64}, "written": False}]
    [found] = inspected_files.findings("gpu-001", differing)
    [command] = re.findall("`(clusterwright drift baseline [^`]*)`", found.remedy)
    parser = argparse.ArgumentParser()
    drift.arguments(parser)
    given = parser.parse_args(shlex.split(command)[2:])
    assert (given.action, given.reason) == ("baseline", "TEXT")
    assert repair.Selection(only=tuple(given.only)).covers(found)
    assert not repair.Selection(only=tuple(given.only)).covers(differs(Code.FILE_CHANGED, "/etc/shadow", content(None)))


@pytest.mark.parametrize(("name", "is_of_roles"), [("slurm.conf", True), ("plugstack.conf", False)])
def test_what_a_package_has_beside_the_files_of_roles_is_written_by_its_record(name: str, is_of_roles: bool) -> None:
    [step] = steps(differs(Code.FILE_GONE, f"/etc/slurm/{name}", content("text\n"), host="control-0"))
    assert isinstance(step.action, fix.Finish) is is_of_roles


def test_a_file_that_is_gone_comes_back_with_the_folders_on_its_way(root: pathlib.Path) -> None:
    carry_out(root, differs(Code.FILE_GONE, f"{root}/a/b/c", content("text")))
    assert (root / "a/b/c").read_text() == "text"
    assert mode(root / "a") == 0o755


@pytest.mark.parametrize("in_its_place", ["folder", "link", "pipe"])
def test_what_took_the_place_of_a_file_is_moved_aside_and_a_link_is_not_followed(root: pathlib.Path, in_its_place: str) -> None:
    path, elsewhere = root / "place", root / "elsewhere"
    elsewhere.write_text("not to be touched")
    match in_its_place:
        case "folder":
            path.mkdir()
            (path / "kept").write_text("kept")
        case "link":
            path.symlink_to(elsewhere)
        case _:
            os.mkfifo(path)
    aside = carry_out(root, differs(Code.FILE_KIND, str(path), content("text")))
    assert (path.read_text(), path.is_symlink(), elsewhere.read_text()) == ("text", False, "not to be touched")
    if in_its_place == "folder":
        assert (aside / "place/kept").read_text() == "kept"
    else:
        assert os.path.lexists(aside / "place")


@pytest.mark.parametrize("before", ["nothing", "link", "file", "folder"])
def test_a_link_comes_back_whatever_is_in_its_place(root: pathlib.Path, before: str) -> None:
    path = root / "link"
    if before == "link":
        path.symlink_to("/elsewhere")
    elif before == "file":
        path.write_text("kept")
    elif before == "folder":
        path.mkdir()
    aside = carry_out(root, differs(Code.FILE_GONE if before == "nothing" else Code.FILE_KIND, str(path), LinkTarget("-n a 'target'")))
    assert path.readlink() == pathlib.Path("-n a 'target'")
    assert os.path.lexists(aside / "link") == (before in ("file", "folder"))


def test_a_folder_comes_back_with_its_mode(root: pathlib.Path) -> None:
    carry_out(root, differs(Code.FILE_GONE, f"{root}/folder", FileState("folder", "1770", ME, ME)))
    assert mode(root / "folder") == 0o1770


@pytest.mark.parametrize("what", ["file", "folder", "dangling link"])
def test_what_was_added_is_moved_aside_and_never_deleted(root: pathlib.Path, what: str) -> None:
    path = root / "added"
    if what == "file":
        path.write_text("mine")
    elif what == "folder":
        path.mkdir()
        (path / "inside").write_text("mine")
    else:
        path.symlink_to("/nowhere")
    aside = carry_out(root, differs(Code.FILE_ADDED, str(path), None))
    assert not os.path.lexists(path)
    assert os.path.lexists(aside / "added")
    carry_out(root, differs(Code.FILE_ADDED, str(path), None))  # a second time, it is gone


def test_what_is_moved_aside_gives_nobody_rights_any_more(root: pathlib.Path) -> None:
    path = root / "helper"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o6755)
    aside = carry_out(root, differs(Code.FILE_ADDED, str(path), None))
    assert mode(aside / "helper") == 0o755


def test_where_it_is_moved_is_said_before() -> None:
    [step] = steps(differs(Code.FILE_ADDED, "/opt/tool", None))
    assert str(step.action) == f"move /opt/tool to {ASIDE}/opt/tool"


@pytest.mark.parametrize(
    ("code", "path", "recorded"),
    [
        (Code.FILE_CHANGED, "/etc/ssh/moduli", content(None)),
        (Code.FILE_CHANGED, "/etc/x", content("text \udcff")),
        (Code.FILE_CHANGED, "/etc/x", content("text", FileState("file", "a+w", "root", "root"))),
        (Code.FILE_CHANGED, "/etc/x", content("text", FileState("file", "0644", "--reference=/x", "root"))),
        (Code.FILE_CHANGED, "/etc/../x", content("text")),
        (Code.FILE_CHANGED, "/etc//x", content("text")),
        (Code.FILE_CHANGED, "etc/x", content("text")),
        (Code.FILE_GONE, "/etc/\udcff", content("text")),
        (Code.FILE_ADDED, "/etc/./x", None),
        (Code.FILE_KIND, "/etc/x", LinkTarget("a\0b")),
        (Code.FILE_KIND, "/dev/x", FileState("special", "0666", "root", "root")),
        (Code.FILE_CHANGED, "/etc/x", "sha256 5e88"),
    ],
    ids=lambda one: ascii(one)[:40],
)
def test_what_nobody_can_restore_exactly_is_left_to_a_person(code: Code, path: str, recorded: Value | None) -> None:
    made = fix.plan([differs(code, path, recorded)], cluster=CLUSTER, busy=frozenset())
    assert made.steps == ()
    assert len(made.left) == 1


def test_files_of_roles_are_restored_by_finishing_their_host_so_that_daemons_read_them() -> None:
    found = [differs(Code.FILE_CHANGED, path, content("text"), "control-0") for path in ("/etc/slurm/slurm.conf", "/etc/slurm/slurmdbd.conf")]
    [step] = steps(*found)
    assert (step.host, step.action, step.findings) == ("control-0", fix.Finish("control"), tuple(found))
    [step] = steps(differs(Code.FILE_CHANGED, "/etc/slurm/slurm.conf", content("text"), "train-0"))
    assert isinstance(step.action, fix.Command), "no resource finishes compute hosts"


def test_what_reads_a_file_reads_it_again() -> None:
    found = [differs(Code.FILE_CHANGED, f"/etc/systemd/system/{name}.service.d/x.conf", content("text")) for name in ("munge", "slurmd")]
    *_, last = steps(*found)
    assert isinstance(last.action, fix.Command)
    assert (last.action.argv, last.findings) == (("systemctl", "daemon-reload"), tuple(found))


def test_on_a_host_with_jobs_only_what_they_cannot_notice_is_done() -> None:
    quiet, noticed = differs(Code.FILE_ADDED, "/etc/cron.d/extra", None), differs(Code.FILE_CHANGED, "/etc/hosts.allow", content("text"))
    made = fix.plan([quiet, noticed], cluster=CLUSTER, busy=frozenset({"train-0"}))
    assert [one for step in made.steps for one in step.findings] == [quiet]
    assert [(one.finding, one.why) for one in made.waiting] == [(noticed, "jobs run there")]


def test_what_was_not_chosen_and_jobs_would_notice_is_said_to_wait_and_not_asked_about() -> None:
    added = differs(Code.FILE_ADDED, "/etc/slurm/slurm.conf", None)
    made = fix.plan([added], kinds=frozenset(fix.Kind) - fix.step.REMOVING, cluster=CLUSTER, busy=frozenset({"train-0"}))
    assert made.waiting == ()
    assert repair.command_for(added, stack="dev", plan=made, tried=False, known=None).endswith("'CW723:train-0: /etc/slurm/slurm.conf', when no job runs there")


def test_a_program_of_a_package_loses_rights_that_its_package_did_not_give_it(root: pathlib.Path) -> None:
    program = root / "-a program"
    shutil.copy("/bin/true", program)
    program.chmod(0o6755)
    for _ in range(2):
        subprocess.run(["sh", "-euc", exposure.TAKE_RIGHTS, "sh", str(program)], check=True)
        assert mode(program) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives capabilities")
def test_a_program_of_a_package_loses_a_capability(root: pathlib.Path) -> None:
    program = root / "program"
    shutil.copy("/bin/true", program)
    os.setxattr(program, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 7, 0, 0, 0))  # cap_setuid+ep (<linux/capability.h>)
    subprocess.run(["sh", "-euc", exposure.TAKE_RIGHTS, "sh", str(program)], check=True)
    assert os.listxattr(program) == []
    assert mode(program) == 0o755


APT = """
case "$1" in
update) touch lists ;;
install) if test -e lists && test ! -e gone; then echo packaged >program; else echo "Reinstallation of slurmdbd is not possible, it cannot be downloaded."; fi ;;
esac"""
"""apt-get succeeds without a word of failure where no list of packages has the version."""
PROGRAMS = {
    "apt-get": APT,
    "apt-mark": 'test "$1" = showhold && echo slurmdbd || echo "slurmdbd set on hold."',
    "dpkg-query": 'case "$1" in --search) echo "slurmdbd: $3" ;; *) echo 24.11.5-4 ;; esac',
    "dpkg": 'echo "missing     /usr/share/doc/slurmdbd/changelog"; test "$(cat program)" = packaged || echo "??5??????   /usr/sbin/slurmdbd"',
}


@pytest.mark.parametrize(("left", "status", "program"), [("", 0, "packaged"), ("gone", 1, "another")])
def test_a_package_is_installed_again_also_where_apt_has_no_lists(tmp_path: pathlib.Path, left: str, status: int, program: str) -> None:
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "program").write_text("another\n")
    (tmp_path / (left or "nothing")).touch()
    done = subprocess.run(
        ["sh", "-c", files.REINSTALL, "sh", "/usr/sbin/slurmdbd"],
        cwd=tmp_path, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, (tmp_path / "program").read_text().strip()) == (status, program), done.stderr
    assert done.stdout.splitlines()[-1] == ("E: no archive has slurmdbd 24.11.5-4" if status else "slurmdbd set on hold.")

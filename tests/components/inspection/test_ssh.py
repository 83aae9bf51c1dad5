"""Running a program on hosts: each host's answer or its reason, deadlines, jump hosts, and a key that no folder names. A stand-in for `ssh` says what it was given."""

import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from blueprints.project import project_root
from components.finish import node_states
from components.inspection import collect, ssh
from components.inspection.recorded_cluster import KnownHost
from components.ssh import remote

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nmarker\n-----END OPENSSH PRIVATE KEY-----"
DIRECT = KnownHost("a", "train", "compute", "192.0.2.1", "1", "ssh-ed25519 AAAA")
THROUGH = KnownHost("b", "train", "compute", "192.0.2.2", "1", "ssh-ed25519 BBBB", jump="192.0.2.9", jump_key="ssh-ed25519 CCCC")
SOON_S = 60

Stand = Callable[[str], None]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Put a program in the place of `ssh`."""

    def put(body: str) -> None:
        program = tmp_path / "bin" / "ssh"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!{sys.executable}\nimport json, os, sys, time\nargv = sys.argv[1:]\n{textwrap.dedent(body)}")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return put


ECHO = """
given = {name: value for name, _, value in (word.partition("=") for word in argv)}
key, known = argv[argv.index("-i") + 1], given["UserKnownHostsFile"]
text, status = open(key).read(), os.stat(key)
print(json.dumps({"argv": argv, "key": text, "mode": status.st_mode & 0o777, "links": status.st_nlink, "known": open(known).read(),
                  "environment": sorted(os.environ), "program": sys.stdin.read()}))
"""


def test_each_host_gets_its_own_program_by_a_verified_connection(stand_in: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(ECHO)
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "secret")
    answers = ssh.run({DIRECT: b"first", THROUGH: b"second"}, private_key=KEY, within_s=SOON_S)
    first, second = (json.loads(answers[host].output) for host in (DIRECT, THROUGH))
    assert (first["program"], second["program"]) == ("first", "second")
    assert first["known"] == "192.0.2.1 ssh-ed25519 AAAA\n192.0.2.2 ssh-ed25519 BBBB\n192.0.2.9 ssh-ed25519 CCCC\n"
    assert {"StrictHostKeyChecking=yes", "BatchMode=yes", "IdentitiesOnly=yes", "GlobalKnownHostsFile=none"} <= set(first["argv"])
    assert first["key"] == f"{KEY}\n"
    assert (first["mode"], first["links"]) == (0o600, 0), "a private file that no folder names"
    assert not any("marker" in word for word in first["argv"]), "the key is no argument"
    assert "PULUMI_CONFIG_PASSPHRASE" not in first["environment"]
    [way] = (word for word in second["argv"] if word.startswith("ProxyCommand="))
    assert way.endswith("-W '[%h]:%p' root@192.0.2.9")
    assert "StrictHostKeyChecking=yes" in way
    assert not any(word.startswith("ProxyCommand=") for word in first["argv"])


def test_a_host_is_asked_and_known_at_the_port_of_its_ssh_server(stand_in: Stand) -> None:
    stand_in(ECHO)
    moved = dataclasses.replace(DIRECT, port=2022)
    answer = json.loads(ssh.run({moved: b""}, private_key=KEY, within_s=SOON_S)[moved].output)
    assert answer["known"] == "[192.0.2.1]:2022 ssh-ed25519 AAAA\n"
    assert answer["argv"][answer["argv"].index("-p") + 1] == "2022"
    assert '"-p"' not in ssh.run({DIRECT: b""}, private_key=KEY, within_s=SOON_S)[DIRECT].output.decode()


def test_a_command_on_one_host_goes_to_the_port_of_its_ssh_server(stand_in: Stand) -> None:
    stand_in(ECHO)
    moved = dataclasses.replace(DIRECT, port=2022).as_finished
    with remote.session(moved, private_key=KEY) as session:
        answer = json.loads(session.run(["true"]))
    assert answer["known"] == "[192.0.2.1]:2022,[a]:2022 ssh-ed25519 AAAA\n"
    assert answer["argv"][-4:] == ["-p", "2022", "root@192.0.2.1", "true"]


def test_a_login_node_is_asked_for_node_states_at_the_port_of_its_ssh_server(stand_in: Stand) -> None:
    stand_in("place = argv.index('-p')\nprint('idle|Unknown|Unknown|' + argv[place + 1] + '|none')")
    moved = dataclasses.replace(DIRECT, port=2022).as_finished
    assert [one.nodes for one in node_states.ask([moved], private_key=KEY)] == ["2022"]


@pytest.mark.parametrize(
    ("body", "unreachable", "failed"),
    [
        ("print('Connection refused', file=sys.stderr); sys.exit(255)", "Connection refused", ""),
        ("sys.exit(255)", "the connection ended", ""),
        ("print('Traceback\\nOSError: broken', file=sys.stderr); sys.exit(1)", "", "OSError: broken"),
        ("sys.exit(-14)", "", "the inspection ended with status 242"),
        ("time.sleep(3600)", "it gave no answer within 0.5 s", ""),
    ],
    ids=["refused", "silent", "program", "alarm", "hangs"],
)
def test_a_host_without_an_answer_has_a_reason(stand_in: Stand, body: str, unreachable: str, failed: str) -> None:
    stand_in(body)
    answer = ssh.run({DIRECT: b""}, private_key=KEY, within_s=0.5 if "sleep" in body else SOON_S)[DIRECT]
    assert (answer.unreachable, answer.failed) == (unreachable, failed)


def test_a_host_that_hangs_delays_no_other(stand_in: Stand) -> None:
    stand_in("time.sleep(3600) if 'root@192.0.2.1' in argv else print('here')")
    answers = ssh.run({DIRECT: b"", THROUGH: b""}, private_key=KEY, within_s=5)
    assert answers[DIRECT].unreachable
    assert answers[THROUGH].output == b"here\n"


def test_a_machine_without_ssh_is_an_error_of_the_whole_inspection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="this machine has no ssh"):
        ssh.run({DIRECT: b""}, private_key=KEY, within_s=SOON_S)


def test_ssh_and_the_key_end_with_the_process_that_looks_also_when_it_is_killed(stand_in: Stand, tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    stand_in(f"open({str(told)!r}, 'w').write(f'{{os.getpid()}} ' + argv[argv.index('-i') + 1]); time.sleep(3600)")
    program = f"""
        from components.inspection import ssh
        from components.inspection.recorded_cluster import KnownHost
        ssh.run({{{DIRECT!r}: b""}}, private_key={KEY!r}, within_s=3600)
    """
    looking = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=project_root())
    try:
        pid, key = told.read_text().split()
        assert Path(key).read_text() == f"{KEY}\n"
        below = os.pidfd_open(int(pid))
    finally:
        os.kill(looking.pid, signal.SIGKILL)
        looking.wait()
    poll = select.poll()
    poll.register(below)
    assert poll.poll(SOON_S * 1000), "ssh did not end"
    os.close(below)
    assert not Path(key).exists()


def test_facts_are_found_among_what_a_login_prints() -> None:
    assert collect.facts(b'Welcome!\n\nclusterwright-facts {"host": {}}\nlogout\n') == {"host": {}}


@pytest.mark.parametrize("output", [b"", b"Welcome!\n", b"clusterwright-facts {"], ids=["nothing", "greeting", "cut"])
def test_output_without_facts_is_an_error(output: bytes) -> None:
    with pytest.raises(ValueError, match="the inspection gave no facts"):
        collect.facts(output)

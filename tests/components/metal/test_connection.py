"""What becomes of a connection is told from what ssh(1) printed, and each cause has its own remedy."""

import subprocess

import pytest

from blueprints.live import hosts
from components.metal import connection, live
from components.metal.connection import Answer, Login, Server, Trouble

MARK = "mark "
SERVER = Server("gpu-001", "10.20.0.11", "ssh-ed25519 AAAA")


@pytest.mark.parametrize(
    ("status", "complaints", "trouble"),
    [
        (255, "ssh: connect to host 10.20.0.11 port 22: Connection timed out", Trouble.UNREACHABLE),
        (255, "ssh: connect to host 10.20.0.11 port 22: Connection refused", Trouble.UNREACHABLE),
        (255, "@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", Trouble.OTHER_KEY),
        (255, "No ED25519 host key is known for 10.20.0.11 and you have requested strict checking.\nHost key verification failed.", Trouble.OTHER_KEY),
        (255, "ubuntu@10.20.0.11: Permission denied (publickey,password).", Trouble.NO_LOGIN),
        (1, "sudo: a password is required", Trouble.NO_SUDO),
        (1, "ubuntu is not in the sudoers file.", Trouble.NO_SUDO),
        (127, "bash: line 1: /usr/bin/python3: No such file or directory", Trouble.NO_PYTHON),
        (1, "Traceback (most recent call last):\nValueError: oops", Trouble.FAILED),
    ],
)
def test_each_trouble_is_told_by_what_ssh_says(status: int, complaints: str, trouble: Trouble) -> None:
    answer = connection._read("", complaints, status, MARK)
    assert (answer.trouble, answer.value) == (trouble, None)
    assert answer.said == complaints.rpartition("\n")[2]


def test_an_answer_is_read_behind_whatever_a_login_shell_prints() -> None:
    assert connection._read('welcome\nmark {"ok": true}\n', "", 0, MARK) == Answer(value={"ok": True})


def test_only_a_server_that_does_not_speak_ssh_may_be_off() -> None:
    assert [trouble for trouble in Trouble if Answer(trouble=trouble).is_silent] == [Trouble.UNREACHABLE, Trouble.HANGS]


def test_every_trouble_of_a_connection_is_told_as_one_of_a_host_and_what_may_be_off_is_the_same() -> None:
    assert {live.TROUBLES[one] for one in Trouble} <= {*hosts.Trouble}
    for trouble in Trouble:
        assert Answer(trouble=trouble).is_silent == hosts.Answer(trouble=live.TROUBLES[trouble]).is_off, trouble


def test_the_remedy_names_the_port_where_it_is_not_the_usual_one() -> None:
    login = Login("ubuntu", port=2222)
    page = connection.explain(SERVER, Answer(trouble=Trouble.NO_SUDO, said="sudo: a password is required"), login)
    assert "`ssh -p 2222 ubuntu@10.20.0.11 sudo -n true` must work" in page


@pytest.mark.parametrize(
    "way", [connection._operators(Login("ubuntu"), as_user_too=False), connection._stacks(Login("ubuntu"), "/run/key")], ids=["operator", "stack"]
)
def test_only_a_server_with_the_host_key_of_the_inventory_is_logged_in_to(way: connection._Way) -> None:
    """ssh(1) itself says what its options come to."""
    ssh, *options = way.argv(SERVER, "/run/known")
    said = subprocess.run([ssh, "-G", *options], capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"stricthostkeychecking true", "userknownhostsfile /run/known", "globalknownhostsfile /dev/null", "batchmode yes"} <= {*said}

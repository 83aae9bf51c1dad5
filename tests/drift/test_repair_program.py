"""The program that carries out repairs on a host: it runs here as it runs there, from the standard input of an isolated Python."""

import pathlib
import subprocess
import sys
import tempfile

import pytest

from components.inspection import ssh
from components.repair import program, shipping

LOCK = f"{tempfile.gettempdir()}/clusterwright-test-repair.lock"
FAILS_FIRST = 'if [ -e "$1" ]; then exit 0; fi; echo not yet >&2; exit 3'


def carry_out(*orders: shipping.Order) -> tuple[shipping.Outcome, ...]:
    done = subprocess.run([sys.executable, "-I", "-"], input=shipping.text(orders, lock=LOCK), capture_output=True, check=True)
    return shipping.outcomes(ssh.Answer(b"a greeting of the login shell\n" + done.stdout), len(orders))


@pytest.mark.parametrize(
    "name", ["{{ 7 * 7 }}", "$(touch harm)", "'; touch harm; '", '"quoted"', r"\n\x41", " with spaces", "-leading", "line\nbreak", "größe"]
)
def test_names_and_texts_reach_the_command_as_they_are(tmp_path: pathlib.Path, name: str) -> None:
    [outcome] = carry_out(shipping.Order(("tee", "--", f"{tmp_path}/{name}"), f"{name}\nwithout an end"))
    assert outcome.is_done
    assert (tmp_path / name).read_text() == f"{name}\nwithout an end"


def test_a_step_that_fails_stops_no_other_and_its_words_are_given(tmp_path: pathlib.Path) -> None:
    first, second, third = carry_out(
        shipping.Order(("sh", "-c", "echo the reason; exit 3")), shipping.Order(("no-such-program",)), shipping.Order(("touch", f"{tmp_path}/made"))
    )
    assert (first.is_done, first.said) == (False, "the reason")
    assert (second.is_done, second.said) == (False, "no-such-program: No such file or directory")
    assert third.is_done
    assert (tmp_path / "made").exists()


def test_a_step_that_a_later_one_makes_possible_is_tried_again(tmp_path: pathlib.Path) -> None:
    words = ("sh", "-c", FAILS_FIRST, "sh", f"{tmp_path}/made")
    assert [one.is_done for one in carry_out(shipping.Order(words), shipping.Order(("touch", f"{tmp_path}/made")))] == [True, True]
    assert [one.is_done for one in carry_out(shipping.Order(("false",)), shipping.Order(("false",)))] == [False, False]


def test_a_list_is_given_whole_without_complaints() -> None:
    text = "".join(f"/state/dumps/slurm_acct_db-20261123T12{number:04}Z.sql.gz\t123456789 bytes\n" for number in range(30))
    [listed, failed] = carry_out(
        shipping.Order(("sh", "-c", "echo a complaint >&2; cat"), text, lists=True), shipping.Order(("sh", "-c", "echo part; echo why >&2; exit 1"), lists=True)
    )
    assert listed == shipping.Outcome(is_done=True, said=text)
    assert failed == shipping.Outcome(is_done=False, said="why")


def test_a_command_that_never_ends_is_ended() -> None:
    assert program.carry_out([{"argv": ["sleep", "60"], "stdin": "", "lists": False, "within_s": 0.05}]) == [
        {"state": "failed", "said": "it did not end within 0.05 s"}
    ]


def test_a_host_without_an_answer_fails_each_of_its_steps() -> None:
    assert shipping.outcomes(ssh.Answer(unreachable="No route to host"), 2) == (shipping.Outcome(is_done=False, said="No route to host"),) * 2
    assert shipping.outcomes(ssh.Answer(b"", failed="killed"), 1)[0].said == "killed"
    assert shipping.outcomes(ssh.Answer(b"nothing of ours\n"), 1)[0].said == "the host gave no answer"

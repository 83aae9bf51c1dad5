"""What is recorded of a group of servers follows from what they answered."""

import dataclasses
from typing import Any

import pytest

from components.metal import hosts
from components.metal.connection import Answer, Login, Server, Trouble
from components.metal.hosts import HostsInputs
from components.provider.kind import Refused

ONE, TWO = Server("gpu-001", "10.20.0.11", "ssh-ed25519 AAAA"), Server("gpu-002", "10.20.0.12", "ssh-ed25519 BBBB")
HARDWARE = {"sockets": 1, "cores_per_socket": 8, "threads_per_core": 2, "memory_mib": 64_000}


def inputs(*members: Server, least: int = 2) -> HostsInputs:
    return HostsInputs(
        stack="lab", site="ours", owner="/srv/checkout", group="train", role="compute", cluster="lab", login=Login("ubuntu"), members=members, least=least,
        controllers=("10.20.0.2",), admin_public_key="ssh-ed25519 CCCC", admin_private_key="secret", munge_key="AAAA",
    )  # fmt: skip


def facts(incarnation: str = "first", *, token: str = "ours", memory_mib: int = 64_000) -> Answer:
    seen = {
        "token": token,
        "incarnation": incarnation,
        "boot_id": f"boot of {incarnation}",
        "hardware": {**HARDWARE, "memory_mib": memory_mib},
        "machine_id": f"id of {incarnation}",
        "machine": {"serial": "S1", "board_serial": "B1", "product": "HGX"},
    }
    return Answer(value={"ok": True, **seen})


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["name"] for one in found]


def test_all_servers_that_answer_are_up() -> None:
    found = hosts._outputs(inputs(ONE, TWO), {}, {ONE: facts(), TWO: facts()})
    assert found["up"] == ["gpu-001", "gpu-002"]
    assert found["hosts"][0] == {"name": "gpu-001", "address": "10.20.0.11", "host_key": "ssh-ed25519 AAAA", "incarnation": "first"}


def test_a_server_that_is_silent_for_a_look_stays_as_it_is_recorded() -> None:
    before = hosts._outputs(inputs(ONE, TWO), {}, {ONE: facts(), TWO: facts()})
    now = hosts._outputs(inputs(ONE, TWO), before, {ONE: facts()})
    assert (now["up"], now["hosts"]) == (["gpu-001"], before["hosts"])


def test_a_look_takes_in_what_a_killed_run_adopted_and_nothing_else() -> None:
    """The record has what the killed run was to do, and not what it did."""
    answers = {ONE: facts(), TWO: facts(token="theirs")}
    found = hosts._outputs(inputs(ONE, TWO), {}, hosts._ours(inputs(ONE, TWO), {}, answers), is_look=True)
    assert (found["up"], names(found["adopted"])) == (["gpu-001"], ["gpu-001"])
    before = hosts._outputs(inputs(ONE, TWO), {}, {ONE: facts(), TWO: facts()})
    reinstalled = {ONE: Answer(trouble=Trouble.UNREACHABLE, said=""), TWO: facts("second", token="")}
    now = hosts._outputs(inputs(ONE, TWO), before, hosts._ours(inputs(ONE, TWO), before, reinstalled), is_look=True)
    assert (now["up"], names(now["adopted"])) == ([], ["gpu-001", "gpu-002"])


def test_a_server_that_is_left_out_is_not_worked_on_and_stays_adopted() -> None:
    before = hosts._outputs(inputs(ONE, TWO), {}, {ONE: facts(), TWO: facts()})
    now = hosts._outputs(inputs(ONE, TWO), before, {ONE: facts()}, silent=[TWO])
    assert names(now["hosts"]) == ["gpu-001"]
    assert names(now["adopted"]) == ["gpu-001", "gpu-002"]


def test_a_reinstalled_server_has_another_incarnation_and_is_not_up_until_it_is_adopted() -> None:
    before = hosts._outputs(inputs(ONE, TWO), {}, {ONE: facts(), TWO: facts()})
    now = hosts._outputs(inputs(ONE, TWO), before, {ONE: facts(), TWO: facts("", token="")})
    assert now["up"] == ["gpu-001"]
    assert [one["incarnation"] for one in now["hosts"]] == ["first", ""]


def test_a_system_without_the_mark_is_not_recorded_as_the_adopted_one() -> None:
    before = hosts._outputs(inputs(ONE), {}, {ONE: facts()})
    now = hosts._outputs(inputs(ONE), before, {ONE: facts("second", token="")})
    assert now["identity"]["gpu-001"]["machine-id"] == "id of first"
    assert hosts._order(inputs(ONE), now)["adopted"] == ["id of first"]
    assert hosts._outputs(inputs(ONE), now, {ONE: facts("second")})["identity"]["gpu-001"]["machine-id"] == "id of second"


def test_a_server_whose_root_refuses_the_stacks_key_is_not_up_until_it_is_adopted() -> None:
    before = hosts._outputs(inputs(ONE, TWO), {}, {ONE: facts(), TWO: facts()})
    answers = {ONE: dataclasses.replace(facts(), is_second_way=True), TWO: facts()}
    assert hosts._outputs(inputs(ONE, TWO), before, answers, is_look=True)["up"] == ["gpu-002"]
    assert hosts._outputs(inputs(ONE, TWO), before, answers)["up"] == ["gpu-001", "gpu-002"], "adopting wrote the key"


def test_a_released_server_is_forgotten() -> None:
    before = hosts._outputs(inputs(ONE, TWO), {}, {ONE: facts(), TWO: facts()})
    now = hosts._outputs(inputs(ONE, least=1), before, {ONE: facts()}, released=["gpu-002"])
    assert names(now["adopted"]) == names(now["hosts"]) == ["gpu-001"]


def test_a_server_that_left_the_group_and_is_not_released_is_a_difference() -> None:
    before = hosts._outputs(inputs(ONE, TWO), {}, {ONE: facts(), TWO: facts()})
    now = hosts._outputs(inputs(ONE, least=1), before, {ONE: facts()})
    assert now["up"] == ["gpu-001", "gpu-002"] != hosts.Hosts().expected(inputs(ONE, least=1))["up"]


@pytest.mark.parametrize(("incarnation", "memory_mib"), [("first", 64_000), ("second", 65_000)])
def test_hardware_is_what_was_found_first_as_long_as_the_system_is_the_same(incarnation: str, memory_mib: int) -> None:
    before = hosts._outputs(inputs(ONE), {}, {ONE: facts()})
    now = hosts._outputs(inputs(ONE), before, {ONE: facts(incarnation, memory_mib=65_000)})
    assert now["hardware"]["gpu-001"]["memory_mib"] == memory_mib


@pytest.mark.parametrize("trouble", [Trouble.UNREACHABLE, Trouble.HANGS])
def test_servers_that_do_not_answer_are_left_out_while_enough_others_do(trouble: Trouble) -> None:
    seen = {ONE: facts(), TWO: Answer(trouble=trouble, said="Connection timed out")}
    assert hosts._left_out(inputs(ONE, TWO, least=1), seen) == [TWO]


def test_a_server_that_refuses_the_login_is_not_left_out() -> None:
    assert hosts._left_out(inputs(ONE, TWO), {ONE: facts(), TWO: Answer(trouble=Trouble.NO_LOGIN, said="Permission denied")}) == []


def test_too_few_servers_are_named_with_their_trouble() -> None:
    with pytest.raises(Refused) as refused:
        hosts._left_out(inputs(ONE, TWO), {ONE: facts(), TWO: Answer(trouble=Trouble.UNREACHABLE, said="Connection timed out")})
    assert str(refused.value).splitlines() == [
        "1 of 2 servers of train answer, and at least 2 must; nothing was changed",
        "gpu-002 (10.20.0.12) does not answer: Connection timed out",
    ]

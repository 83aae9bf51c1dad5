"""HAProxy's configuration; tests/hosts has HAProxy itself read it."""

import dataclasses

import pytest

from components.local.balancer import Backend, BalancerInputs, configuration

ONE, TWO = Backend("login-0", "10.80.0.20"), Backend("login-1", "10.80.0.21")


def balancer(*backends: Backend) -> BalancerInputs:
    return BalancerInputs(
        stack="test", site="token", address="10.80.0.2", cidr="10.80.0.0/20", gateway="10.80.0.1", bridge="cw-test", image="image", lowers=(), backends=backends,
    )  # fmt: skip


def servers(text: str) -> list[list[str]]:
    return [line.split()[:3] for line in text.splitlines() if line.split()[:1] == ["server"]]


@pytest.mark.parametrize("backends", [(), (ONE,), (ONE, TWO)])
def test_every_login_node_is_a_checked_server(backends: tuple[Backend, ...]) -> None:
    text = configuration(balancer(*backends))
    assert servers(text) == [["server", backend.name, f"{backend.address}:22"] for backend in backends]
    assert all("check" in line.split() for line in text.splitlines() if line.split()[:1] == ["server"])
    assert "bind 10.80.0.2:22" in [line.strip() for line in text.splitlines()]


def test_the_rest_api_is_behind_it_where_the_blueprint_asks_for_it() -> None:
    plain = balancer(ONE)
    text = configuration(dataclasses.replace(plain, rest_api=True))
    assert "bind 10.80.0.2:6820" in text
    assert "server login-0 10.80.0.20:6821 check" in text
    assert text.startswith(configuration(plain)), "and everything else is as without it"

"""HAProxy in front of the login nodes."""

import pytest

from components.local.balancer import Backend, BalancerInputs, configuration
from components.local.machine.command import CommandFailed
from tests.hosts.deployment import Deployment

pytestmark = pytest.mark.hosts

ONE, TWO = Backend("login-0", "10.80.0.20"), Backend("login-1", "10.80.0.21")
READ = ("sh", "-c", "cat > /run/haproxy-test.cfg && haproxy -c -f /run/haproxy-test.cfg 2>&1")


@pytest.mark.parametrize("backends", [(ONE,), (ONE, TWO)])
def test_haproxy_takes_the_configuration_without_a_warning(running: Deployment, backends: tuple[Backend, ...]) -> None:
    inputs = BalancerInputs(
        stack="test", site="token", address="10.80.0.2", cidr="10.80.0.0/20", gateway="10.80.0.1", bridge="cw-test", image="image", lowers=(), backends=backends
    )  # fmt: skip
    text = configuration(inputs)
    assert "WARNING" not in running.inside("login-0", *READ, stdin=text)
    with pytest.raises(CommandFailed, match="tcp-check"):
        running.inside("login-0", *READ, stdin=text.replace("tcp-check expect rstring", "tcp-check expects"))


def test_a_person_meets_one_host_key_through_the_balancer_and_at_the_node(running: Deployment) -> None:
    outputs = running.outputs()
    keys = {
        tuple(running.run("ssh-keyscan", "-T", "60", "-t", "ed25519", address).stdout.split()[1:3])
        for address in (outputs["login"]["address"], outputs["spec"]["access"]["first_address"])
    }
    assert keys == {tuple(outputs["login"]["host_key"].split())}

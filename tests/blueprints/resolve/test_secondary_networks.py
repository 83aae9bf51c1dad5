"""Which part of a network pods get addresses of."""

import pytest

from blueprints import spec
from blueprints.resolve import kubernetes


@pytest.mark.parametrize(
    ("cidr", "pods", "usable"),
    [
        ("10.40.0.0/24", "10.40.0.128/25", ("10.40.0.128", "10.40.0.254")),
        ("10.40.0.0/24", "10.40.0.0/24", ("10.40.0.1", "10.40.0.254")),
        ("10.40.0.0/16", "10.40.1.0/24", ("10.40.1.0", "10.40.1.255")),
        ("10.40.0.0/24", "10.40.0.255/32", ("", "")),
    ],
)
def test_no_pod_gets_the_first_or_the_last_address_of_a_network(cidr: str, pods: str, usable: tuple[str, str]) -> None:
    host = spec.SiteHost("gpu-1", "", "", interfaces=(spec.SiteInterface("rail0", address=cidr),))
    [found] = kubernetes.as_known([spec.SecondaryNetwork("rail0", pods, pods)], spec.Site("root", 22, (host,)))
    assert (found.cidr, (found.first, found.last)) == (cidr, usable)

"""Addresses of services of type LoadBalancer: what MetalLB is told, and who reaches pods of accounts then."""

import dataclasses
from typing import Any

from blueprints import spec
from components.kubernetes import load_balancers, manifests, network_policies, queues, settings
from tests.components.kubernetes.test_queues import cluster

WANTED = "10.80.15.192/27"


def balanced(cidr: str) -> spec.ClusterSpec:
    plain = cluster()
    kubernetes = dataclasses.replace(queues.kubernetes_of(plain), pod_cidr="10.224.0.0/11", service_cidr="10.63.0.0/16", load_balancer_cidr=cidr)
    return dataclasses.replace(plain, kubernetes=kubernetes)


def test_nodes_answer_for_the_addresses_of_the_blueprint_and_no_others() -> None:
    pool, advertisement = load_balancers.objects(queues.kubernetes_of(balanced(WANTED)))
    assert (pool["kind"], pool["spec"]["addresses"]) == ("IPAddressPool", [WANTED])
    assert (advertisement["kind"], advertisement["spec"]["ipAddressPools"]) == ("L2Advertisement", [pool["metadata"]["name"]])


def test_both_come_after_the_controller_whose_webhook_judges_them() -> None:
    steps = [manifests.step_of(one["kind"]) for one in load_balancers.objects(queues.kubernetes_of(balanced(WANTED)))]
    assert min(steps) > manifests.step_of("Deployment")


def test_speakers_are_on_nodes_with_taints_too() -> None:
    assert settings.of_addon("metallb")["DaemonSet/speaker"]["spec"]["template"]["spec"]["tolerations"] == [{"operator": "Exists"}]


def test_clients_outside_reach_pods_of_accounts_where_services_have_addresses_for_them() -> None:
    own: dict[str, Any] = {"from": [{"podSelector": {}}]}
    outside = {"from": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.63.0.0/16", "10.224.0.0/11"]}}]}
    for cidr, expected in (("", [own]), (WANTED, [own, outside])):
        assert network_policies.of_account("research", balanced(cidr), marks={})["spec"]["ingress"] == expected

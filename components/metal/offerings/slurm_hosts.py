"""Slurm on servers that exist already: each group is adopted as one resource, and configured in place."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints.spec import NodeSet, Slurm

from ... import contract
from ...node_expectations import expected
from .. import services
from ..adopted import Adopted, Groups, addresses
from ..target import Foundation

SSH = 22


class SlurmHosts:
    """Implements `contract.SlurmOffering`."""

    def provision(self, slurm: Slurm, *, foundation: Foundation, keys: contract.SlurmKeys) -> contract.SlurmSite:
        if slurm.control is None:
            raise pulumi.RunError("Slurm on hosts needs controllers, and the blueprint asks for a service")
        groups = Groups(foundation, admin=keys.admin, controllers=slurm.control, munge=keys.munge)
        control, login = groups.adopt(slurm.control), groups.adopt(foundation.cluster.access)
        pools = tuple(groups.adopt(one.hosts, least=one.reachable_min, must_have=_expected(one, foundation)) for one in slurm.node_sets)
        adopted = (control, login, *pools)
        served = services.described(foundation.cluster, slurm)
        return contract.SlurmSite(
            control=control.hosts,
            login=login.hosts,
            pools=tuple(one.hosts for one in pools),
            endpoint=_shared_endpoint(served["access"]["address"], login, keys) if "access" in served else _endpoint(foundation, login),
            addresses=pulumi.Output.from_input(addresses(foundation, [one.hosts.group for one in adopted])),
            in_place=True,
            host_services=served,
            hardware=pulumi.Output.all(*(one.hardware for one in adopted)).apply(_merged),
        )


def _merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: one for part in parts for name, one in part.items()}


def _endpoint(shared: Foundation, login: Adopted) -> contract.Endpoint:
    """Give the first login node: users reach it with its own host key."""
    first = shared.inventory.by_name[login.hosts.group.hostname(0)]
    address = login.hosts.described.apply(lambda _: first.address)
    return contract.Endpoint(address=address, port=shared.inventory.port, host_key=pulumi.Output.from_input(first.host_key))


def _shared_endpoint(address: str, login: Adopted, keys: contract.SlurmKeys) -> contract.Endpoint:
    """Give the address that the login nodes share: all of them answer there with one host key."""
    return contract.Endpoint(address=login.hosts.described.apply(lambda _: address), port=SSH, host_key=keys.login_host.public)


def _expected(node_set: NodeSet, shared: Foundation) -> str:
    scratch = [node_set.scratch_mount] if node_set.scratch_mount else []
    return expected(node_set, mounts=[*(one.mount for one in shared.cluster.storage), *scratch], is_replaced=False)

"""Slurm on any target: its keys, its hosts, finishing and acceptance."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pulumi

from blueprints import spec as specs
from blueprints.spec import ClusterSpec, Slurm

from .. import contract
from ..finish import content
from ..provider import packed
from ..provider.resource import OwnResource
from . import hardware, keys
from .keys import People

FINISH, ACCEPT = "site.yml", "accept.yml"
"""Playbooks."""


class Scheduler:
    """Slurm, provisioned by an offering and proven by acceptance.

    Its resources are children of the cluster, so that their URNs don't change with the way in which this code is divided.

    Args:
        slurm: Slurm's part of the spec.
        offering: what provisions it on the target.
        people: keys of those who log in.
    """

    endpoint: contract.Endpoint
    inventory: dict[str, pulumi.Output[list[dict[str, Any]]]]
    """Group → its hosts, as finishing sees them."""
    checks: pulumi.Output[list[dict[str, Any]]]
    """The verdicts of acceptance."""
    hardware: pulumi.Output[dict[str, Any]] | None
    """Hostname → what a host says of its processors and memory, where the spec need not (`hardware.described`)."""

    def __init__(
        self,
        spec: ClusterSpec,
        slurm: Slurm,
        *,
        offering: contract.SlurmOffering[Any],
        foundation: contract.Foundation,
        people: People,
        opts: pulumi.ResourceOptions,
    ):
        self._opts = opts
        of_hosts = contract.SlurmKeys(
            munge=keys.munge_key("munge-key", opts=opts),
            admin=people.admin,
            login_host=keys.ssh_key("login-host-key", opts=opts),
            database=keys.password("database-password", opts=opts),
        )
        site = offering.provision(slurm, foundation=foundation, keys=of_hosts)
        control = site.control
        if control is None:
            raise TypeError("this version configures controllers that are hosts of the stack, and the offering gave none")
        self.endpoint, self.hardware = site.endpoint, site.hardware
        self.inventory = {hosts.group.name: hosts.described for hosts in (control, site.login, *site.pools)}
        known = {"munge_key": of_hosts.munge, "database_password": of_hosts.database, "user_keys": {user: key.public for user, key in people.users.items()}}
        secrets = pulumi.Output.secret(known)
        # Hosts that share an address have the key with which they answer there from finishing; on others, it is their own key from the first boot.
        of_login_hosts = pulumi.Output.secret({**known, "login_host_key": of_hosts.login_host.private}) if "access" in (site.host_services or {}) else secrets
        # Controllers alone verify tokens of the REST API.
        of_control = pulumi.Output.secret({**known, "jwt_key": keys.password("jwt-key", opts=opts)}) if spec.login.rest_api else secrets
        shared = {"secrets": secrets, "private_key": of_hosts.admin.private}
        # With nothing to learn from the hosts the view is known before they are.
        view, of_login = _view(spec, site, specs.slurm_view), _view(spec, site, specs.login_view)
        adopted = [hosts.resource for hosts in (control, site.login, *site.pools)] if site.in_place else []
        first = self._finish(control, {"spec": view, **shared, "secrets": of_control, **_provided(site, control, _windows(spec))}, after=adopted)
        # Nodes install packages over what the controllers provide.
        of_pools = [*adopted, first] if {"nat", "dns"} & (site.host_services or {}).keys() else adopted
        finished = [
            first,
            self._finish(site.login, {"spec": of_login, **shared, "secrets": of_login_hosts, **_provided(site, site.login)}, after=adopted),
            *(self._finish(pool, {"spec": view, **shared, **_provided(site, pool)}, after=of_pools) for pool in site.pools if site.in_place),
        ]
        self.checks = self._accept(site, control, finished, {"spec": _accepted_view(spec, site), **shared})

    def _finish(self, hosts: contract.Hosts, inputs: dict[str, Any], *, after: Sequence[pulumi.Resource]) -> OwnResource:
        """Configure the hosts of a group.

        Args:
            after: resources that must exist before any host is changed.
        """
        return OwnResource(
            "clusterwright:finish:Group",
            f"finish-{hosts.group.name}",
            inputs={"group": hosts.group.name, "hosts": hosts.described, "content": content.fingerprint(FINISH), **inputs},
            outputs=("finished", "repaired"),
            opts=pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=[*after])) if after else self._opts,
        )

    def _accept(self, site: contract.SlurmSite, control: contract.Hosts, finished: list[OwnResource], inputs: dict[str, Any]) -> pulumi.Output[Any]:
        """Prove the cluster whenever a host booted or was configured since."""
        boots = pulumi.Output.all(*(hosts.boots for hosts in (control, site.login, *site.pools)))
        after = [*finished, *(pool.resource for pool in site.pools)]
        acceptance = OwnResource(
            "clusterwright:accept:Acceptance",
            "acceptance",
            inputs={
                "hosts": site.login.described,
                "control": control.described,
                "content": content.fingerprint(ACCEPT),
                "proves": pulumi.Output.all(
                    boots, *(group.output("finished") for group in finished), *(group.output_if_known("repaired", otherwise={}) for group in finished)
                ).apply(_proved),
                **inputs,
            },
            outputs=("ok", "checks", "seconds"),
            opts=pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=after)),
        )
        return acceptance.output("checks")


def _view(spec: ClusterSpec, site: contract.SlurmSite, view: Callable[[ClusterSpec], dict[str, Any]]) -> Any:
    """Pack what hosts are configured from."""
    if site.hardware is None:
        return packed.pack(view(spec))
    return site.hardware.apply(lambda known: packed.pack(view(hardware.described(spec, known))))


def _accepted_view(spec: ClusterSpec, site: contract.SlurmSite) -> Any:
    """Pack what acceptance judges by; where some hosts may be off, the nodes that answer."""
    if not site.in_place:
        return _view(spec, site, specs.acceptance_view)
    known = pulumi.Output.all(site.hardware if site.hardware is not None else {}, *(pool.described for pool in site.pools))

    def pack(found: Sequence[Any]) -> str:
        of_hosts, *described = found
        names = {pool.group.name: [one["name"] for one in hosts] for pool, hosts in zip(site.pools, described, strict=True)}
        return packed.pack(specs.acceptance_view(hardware.present(hardware.described(spec, of_hosts), names)))

    return known.apply(pack)


def _proved(found: Sequence[Any]) -> dict[str, Any]:
    """Give what a result of acceptance stands for; groups of which no host was repaired, as in records of older versions, are left out."""
    boots, *of_groups = found
    finished, repaired = of_groups[: len(of_groups) // 2], of_groups[len(of_groups) // 2 :]
    return {"boots": boots, "finished": finished, **({"repaired": repaired} if any(repaired) else {})}


def _windows(spec: ClusterSpec) -> dict[str, Any]:
    """Give the maintenance windows, which controllers alone reserve; nothing where there are none, as in records of older versions."""
    return {"maintenance": [dataclasses.asdict(one) for one in spec.maintenance]} if spec.maintenance else {}


def _provided(site: contract.SlurmSite, hosts: contract.Hosts, own: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Gather what the playbooks need beside the spec's view to configure a group of hosts. Nothing in it is secret.

    Args:
        own: what this group alone needs.
    """
    known = {"fleet": site.fleet, "database": site.database, "database_authority": site.database_authority, "addresses": site.addresses}
    given: dict[str, Any] = {**(site.host_services or {}), **{name: value for name, value in known.items() if value is not None}, **own}
    if site.in_place:
        given["in_place"] = content.installation(hosts.group.role)
    return {"provided": given} if given else {}

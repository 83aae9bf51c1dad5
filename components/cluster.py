"""The composition root: a target's foundation, and the schedulers on it."""

from typing import Any

import pulumi

from blueprints import catalog
from blueprints.spec import ClusterSpec, Slurm

from . import contract, errors, registry
from .schedulers import keys, slurm


class Cluster(pulumi.ComponentResource):
    """A cluster from its resolved spec.

    Args:
        name: the resource's name.
        spec: what to provision.
        stack: Pulumi's stack name.
    """

    endpoint: contract.Endpoint
    inventory: dict[str, pulumi.Output[list[dict[str, Any]]]]
    """Group → its hosts, as finishing sees them."""
    checks: pulumi.Output[list[dict[str, Any]]]
    """The verdicts of acceptance."""
    hardware: pulumi.Output[dict[str, Any]] | None
    """Hostname → what a host says of its processors and memory, where the spec need not."""
    user_keys: dict[str, pulumi.Output[str]]
    """Private keys made for users who brought none, secret."""

    def __init__(self, name: str, spec: ClusterSpec, *, stack: str, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:index:Cluster", name, {}, opts)
        beneath = pulumi.ResourceOptions(parent=self)
        wanted, offering = _slurm(spec)
        target: contract.Target = registry.load(registry.TARGETS[spec.target].foundation)(spec, stack=stack, opts=beneath)
        foundation = target.foundation()
        people = keys.of_people(spec.users, opts=beneath)
        scheduler = slurm.Scheduler(spec, wanted, offering=offering, foundation=foundation, people=people, opts=beneath)
        self.endpoint, self.inventory, self.checks = scheduler.endpoint, scheduler.inventory, scheduler.checks
        self.hardware = scheduler.hardware
        self.user_keys = {user: key.private for user, key in people.users.items()}
        self.register_outputs({})


def _slurm(spec: ClusterSpec) -> tuple[Slurm, contract.SlurmOffering[Any]]:
    """Give Slurm's part of the spec, and what provisions it on the target.

    Raises:
        pulumi.RunError: the SDK of the target is missing, or this version doesn't provision the cluster's schedulers there.
    """
    try:
        registry.require_sdk(spec.target)
    except errors.SdkMissing as missing:
        raise pulumi.RunError(missing.page().removeprefix("error: ")) from None
    offerings = registry.TARGETS[spec.target].slurm if spec.target in registry.TARGETS else {}
    if spec.slurm is None or spec.kubernetes is not None or spec.slurm.run_by not in offerings:
        asked = " and ".join(catalog.offering(one.run_by).label for one in (spec.slurm, spec.kubernetes) if one)
        built = ", ".join(catalog.offering(name).label for name in offerings) or "nothing"
        raise pulumi.RunError(
            f"this version can't provision {asked} on {spec.target}\n  why: it provisions {built} there\n  do:  choose another scheduler or target"
        )
    offering: contract.SlurmOffering[Any] = registry.load(offerings[spec.slurm.run_by])()
    return spec.slurm, offering

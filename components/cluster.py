"""The composition root: a target's foundation, and the schedulers on it."""

import dataclasses
from typing import Any

import pulumi

from blueprints import catalog
from blueprints.spec import ClusterSpec

from . import contract, errors, registry
from .schedulers import keys, slurm


class Cluster(pulumi.ComponentResource):
    """A cluster from its resolved spec.

    Args:
        name: the resource's name.
        spec: what to provision.
        stack: Pulumi's stack name.
    """

    endpoint: contract.Endpoint | None = None
    """Where users log in; None: the cluster has no login nodes."""
    inventory: dict[str, pulumi.Output[list[dict[str, Any]]]]
    """Group → its hosts, as finishing sees them."""
    checks: pulumi.Output[list[dict[str, Any]]]
    """The verdicts of acceptance."""
    hardware: pulumi.Output[dict[str, Any]] | None = None
    """Hostname → what a host says of its processors and memory, where the spec need not."""
    user_keys: dict[str, pulumi.Output[str]]
    """Private keys made for users who brought none, secret."""
    api: contract.KubernetesAccess | None = None
    """How the API server of Kubernetes is reached."""

    def __init__(self, name: str, spec: ClusterSpec, *, stack: str, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:index:Cluster", name, {}, opts)
        beneath = pulumi.ResourceOptions(parent=self)
        offerings = _offerings(spec)
        target: contract.Target = registry.load(registry.TARGETS[spec.target].foundation)(spec, stack=stack, opts=beneath)
        foundation = target.foundation()
        people = keys.of_people(spec.users, opts=beneath)
        self.inventory, checks = {}, []
        if spec.slurm and offerings.slurm:
            of_slurm = slurm.Scheduler(spec, spec.slurm, offering=offerings.slurm, foundation=foundation, people=people, opts=beneath)
            self.endpoint, self.hardware = of_slurm.endpoint, of_slurm.hardware
            self.inventory |= of_slurm.inventory
            checks.append(of_slurm.checks)
        if spec.kubernetes and offerings.kubernetes:
            from .schedulers import kubernetes  # a program without it need not load its libraries

            of_kubernetes = kubernetes.Scheduler(spec, spec.kubernetes, offering=offerings.kubernetes, foundation=foundation, people=people, opts=beneath)
            self.api = of_kubernetes.access
            self.inventory |= of_kubernetes.inventory
            checks.append(of_kubernetes.checks)
        self.checks = checks[0] if len(checks) == 1 else pulumi.Output.all(*checks).apply(lambda found: [check for one in found for check in one or ()])
        self.user_keys = {user: key.private for user, key in people.users.items()}
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class _Offerings:
    """What provisions the schedulers of a cluster on its target."""

    slurm: contract.SlurmOffering[Any] | None
    kubernetes: contract.KubernetesOffering[Any] | None


def _offerings(spec: ClusterSpec) -> _Offerings:
    """Give what provisions the cluster's schedulers on its target.

    Raises:
        pulumi.RunError: the SDK of the target is missing, or this version doesn't provision the cluster's schedulers there.
    """
    try:
        registry.require_sdk(spec.target)
    except errors.SdkMissing as missing:
        raise pulumi.RunError(missing.page().removeprefix("error: ")) from None
    of_slurm = registry.TARGETS[spec.target].slurm if spec.target in registry.TARGETS else {}
    of_kubernetes = registry.TARGETS[spec.target].kubernetes if spec.target in registry.TARGETS else {}
    wanted = [(one.run_by, offerings) for one, offerings in ((spec.slurm, of_slurm), (spec.kubernetes, of_kubernetes)) if one]
    if any(name not in offerings for name, offerings in wanted):
        asked = " and ".join(catalog.offering(name).label for name, _ in wanted)
        built = " and ".join(catalog.offering(name).label for name in (*of_slurm, *of_kubernetes)) or "nothing"
        raise pulumi.RunError(
            f"this version can't provision {asked} on {spec.target}\n  why: it provisions {built} there\n  do:  choose another scheduler or target"
        )
    return _Offerings(
        slurm=registry.load(of_slurm[spec.slurm.run_by])() if spec.slurm else None,
        kubernetes=registry.load(of_kubernetes[spec.kubernetes.run_by])() if spec.kubernetes else None,
    )

"""A host of the cluster with what the blueprint says about it and what it said itself."""

import dataclasses
from collections.abc import Iterator, Mapping

from ... import spec
from .answers import Answer, Facts


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    host: spec.SiteHost
    group: spec.HostGroup
    node_set: spec.NodeSet | None
    """None: no compute node."""
    answer: Answer

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def facts(self) -> Facts:
        """Give what the host said.

        Raises:
            ValueError: it said nothing.
        """
        if self.answer.facts is None:
            raise ValueError(f"{self.name} gave no facts")
        return self.answer.facts

    @property
    def gpus(self) -> int:
        """Count the GPUs that the blueprint declares and the host has to have."""
        declared = self.group.machine.gpus
        return declared.count if declared and not declared.simulated else 0


def subjects(cluster: spec.ClusterSpec, answers: Mapping[str, Answer]) -> Iterator[Subject]:
    """Give each host that was asked."""
    site = cluster.site
    if site is None:
        return
    hosts = site.by_name
    node_sets = {node_set.hosts.name: node_set for node_set in cluster.node_sets}
    for group in cluster.host_groups:
        for name in group.hostnames:
            if name in answers and name in hosts:
                yield Subject(hosts[name], group, node_sets.get(group.name), answers[name])

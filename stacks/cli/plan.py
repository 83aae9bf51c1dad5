"""`clusterwright plan`: what a blueprint will be on its target, without an engine and without credentials."""

import argparse
import json
from collections.abc import Iterator

from blueprints.spec import ClusterSpec, HostGroup, as_record

from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    parser.add_argument("--json", action="store_true", help="print the resolved spec as JSON")


def run(given: argparse.Namespace) -> int:
    spec = options.spec(given)
    print(json.dumps(as_record(spec), indent=2) if given.json else "\n".join(lines(spec)))
    return 0


def lines(spec: ClusterSpec) -> Iterator[str]:
    """Write the plan line by line."""
    yield f"{spec.name} on {spec.target}: {spec.description}"
    yield f"  software   {spec.software.profile} (Slurm {spec.software.slurm}); has run on: {spec.software.tested_on or 'nothing, untested'}"
    yield f"  network    {spec.network.cidr}, load balancer {spec.network.balancer_address}"
    for group in spec.host_groups:
        yield f"  {group.role:10} {_group(group)}"
    for one in spec.storage:
        yield f"  storage    {one.name} ({one.kind}) at {one.mount}{', protected' if one.protect else ''}"
    yield f"  accounting {spec.database.placement} database{', protected' if spec.database.protect else ''}"
    for account in spec.accounts:
        yield f"  account    {account.name}: {', '.join(account.users) or 'no users'}"
    for sentence in spec.simulated:
        yield f"  simulated  {sentence}"


def _group(group: HostGroup) -> str:
    machine = group.machine
    gpus = f", {machine.gpus.count} × {machine.gpus.type}{' (simulated)' if machine.gpus.simulated else ''}" if machine.gpus else ""
    return f"{group.hostlist}: {group.count} × {machine.name}, {machine.cpus} CPUs, {machine.memory_mib} MiB{gpus}; from {group.first_address}"

"""The scheduler layer: what was configured, compared with what Slurm's daemons answer. Pure.

Configured is the slurm.conf that the roles wrote (the controller's host keeps a copy), and the blueprint's accounts, users and QOS.
"""

import datetime as dt
from collections.abc import Iterator, Mapping

from blueprints import spec
from blueprints.finding import Finding
from blueprints.finding.subject import Daemon

from ..finding import Unchecked
from ..layer import Layer
from . import accounting, daemons, nodes, parameters, parse, partitions, reservations, topology

CONF = "/etc/slurm/slurm.conf"
TOPOLOGY_CONF = "/etc/slurm/topology.conf"
OF_ACCOUNTING = ("associations", "accounts", "users", "qos")
"""Questions that slurmdbd answers."""


def findings(answers: Mapping[str, Mapping[str, str]], configuration: Mapping[str, str], cluster: spec.ClusterSpec) -> tuple[list[Finding], list[Unchecked]]:
    """Compare what was configured with what the daemons answered.

    Args:
        answers: as `program.scheduler.facts` gives them: question → `text`, or `error`.
        configuration: path → text of what the roles wrote.
    """
    if reason := daemons.silence(answers):
        unchecked = [Unchecked(Layer.SCHEDULER, "configuration, nodes, partitions, accounts", "slurmctld does not answer")]
        return [daemons.silent(Daemon("slurmctld"), reason)], unchecked
    found: list[Finding] = [*daemons.standby(answers["ping"]["text"])]
    unchecked = []
    if CONF in configuration:
        conf = parse.parse_conf(configuration[CONF])
        live = parse.parse_records(answers["nodes"].get("text", ""), "NodeName")
        found += parameters.findings(conf, parse.parse_config(answers["config"].get("text", "")))
        found += nodes.findings(conf, live, cluster.target)
        found += nodes.brakes(cluster, live)
        unchecked += nodes.kept_out(live)
        found += partitions.findings(conf, parse.parse_records(answers["partitions"].get("text", ""), "PartitionName"))
    else:
        why = "the controller's host has no record of the slurm.conf that was written"
        unchecked.append(Unchecked(Layer.SCHEDULER, "configuration, nodes, partitions", why))
    found += topology.findings(configuration.get(TOPOLOGY_CONF, ""), answers.get("topology", {}).get("text", ""))
    reserved = parse.parse_records(answers["reservations"].get("text", ""), "ReservationName")
    found += reservations.findings(reserved)
    if "text" in answers["reservations"]:
        found += reservations.leases(cluster, reserved)
    errors = [answers[name]["error"] for name in OF_ACCOUNTING if "error" in answers[name]]
    if errors:
        found.append(daemons.silent(Daemon("slurmdbd"), errors[0]))
        unchecked.append(Unchecked(Layer.SCHEDULER, "accounts, users and QOS", "slurmdbd does not answer"))
    else:
        found += accounting.findings(answers, cluster.people)
    return found, unchecked


def windows(answers: Mapping[str, Mapping[str, str]], cluster: spec.ClusterSpec, moment: dt.datetime) -> Iterator[Finding]:
    """Compare the maintenance windows with the reservations that Slurm has; without an answer, nothing is concluded.

    Args:
        moment: when Slurm was asked, in UTC.
    """
    if "text" in answers.get("reservations", {}):
        yield from reservations.windows(cluster, parse.parse_records(answers["reservations"]["text"], "ReservationName"), moment)

"""The command line: slurmctld calls `resume` and `suspend`, a timer calls `sync`, operators call `status` and `release`."""

import argparse
import json
import logging
import logging.handlers
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprints import hostlist

from . import act, decide, names, report, slurm
from . import table as fleet_table
from .decide import holds, topology
from .fleets import fleet
from .memory import Busy, Store, make_folder, replace
from .memory import Unreadable as MemoryUnreadable
from .model import Fault, Life

TABLE = Path("/etc/clusterwright/fleet.json")
TABLE_VARIABLE = "CLUSTERWRIGHT_FLEET"
RESUME_VARIABLE = "SLURM_RESUME_FILE"
SYSLOG = Path("/dev/log")
STANDARD_ERROR = 2
LOCK_WITHIN_S = 600
"""A launch of hundreds of nodes takes minutes; Slurm kills its programs after ResumeTimeout."""
SYNC_LOCK_WITHIN_S = 20
"""Short, since the next `sync` follows soon."""

log = logging.getLogger("clusterwright-elastic")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 success, 1 failure, 2 usage."""
    options = _parser().parse_args(argv)
    _log_to_journal()
    # slurmctld's file for this call disappears when slurmctld ends.
    request = _request(options.nodes) if options.command == "resume" else None
    try:
        return _run(options, request)
    except (fleet_table.Unreadable, MemoryUnreadable, slurm.Unanswered, act.Unreachable, Busy, OSError) as error:
        log.error("%s: %s", options.command, error)  # noqa: TRY400 - a user error is one line, without a trace
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="clusterwright-elastic", description="Start and stop the nodes of elastic pools.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, does in (("resume", "start nodes (slurmctld's ResumeProgram)"), ("suspend", "stop nodes (slurmctld's SuspendProgram)")):
        commands.add_parser(name, help=does).add_argument("nodes", help="host list, as Slurm writes it")
    sync = commands.add_parser("sync", help="compare Slurm with the cloud and correct the differences")
    sync.add_argument("nodes", nargs="?", help="ignored: slurmctld passes the nodes that did not boot")
    status = commands.add_parser("status", help="show node sets, holds, and what the next sync would do")
    status.add_argument("--json", action="store_true", help="as a JSON document")
    commands.add_parser("release", help="end the hold of a node set").add_argument("node_set")
    faulty = commands.add_parser("report-host", help="report the host of a drained node as faulty to the cloud")
    faulty.add_argument("node")
    faulty.add_argument("fault", choices=[fault.value for fault in Fault])
    faulty.add_argument("--because", required=True, help="what was seen, for the cloud's engineers")
    commands.add_parser("names", help="write the table of hosts, if this program keeps it")
    commands.add_parser("topology", help="give every node a switch in topology.conf, if this program keeps it")
    return parser


def _run(options: argparse.Namespace, request: decide.Request | None) -> int:
    table = fleet_table.read(_read_table())
    if options.command == "names":
        return _names(table)
    if options.command == "topology":
        return _topology(table)
    commands = slurm.Commands()
    store = Store(Path(commands.state_folder()))
    if options.command == "status":
        return _status(table, commands, store, as_json=options.json)
    if options.command == "report-host":
        return _report(table, commands, options)
    with store.lock(within_s=SYNC_LOCK_WITHIN_S if options.command == "sync" else LOCK_WITHIN_S):
        if options.command == "release":
            return _release(table, store, options.node_set)
        instances = fleet(table, store.folder)
        actor = act.Actor(table, slurm=commands, fleet=instances, store=store)
        match options.command:
            case "resume" if request:
                actor.resume(request)
            case "suspend":
                actor.suspend(hostlist.expand(options.nodes))
            case "sync":
                actor.sync()
        if table.names and options.command != "suspend":
            launched = [instance for launch in store.read().launches for instance in launch.instances.values()]
            names.keep(table, instances, launched)
    return 1 if actor.complaints else 0


def _read_table() -> dict[str, object]:
    path = Path(os.environ.get(TABLE_VARIABLE) or TABLE)
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise fleet_table.Unreadable(f"the fleet table can't be read: {error}; `clusterwright up` writes it") from error
    if not isinstance(record, dict):
        raise fleet_table.Unreadable(f"{path} is not a JSON object")
    return record


def _request(nodes: str) -> decide.Request:
    """Read which nodes Slurm resumes for which job; without a file, each node is a request of its own."""
    groups: list[decide.Wanted] = []
    path, wanted = os.environ.get(RESUME_VARIABLE), hostlist.expand(nodes)
    if path:
        try:
            document = json.loads(Path(path).read_text())
            groups = [_group(job, frozenset(wanted)) for job in document["jobs"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s=%s can't be read (%s): nodes are started one by one", RESUME_VARIABLE, path, error)
    named = {node for group in groups for node in group.nodes}
    others = tuple(node for node in wanted if node not in named)
    return decide.Request((*groups, *([decide.Wanted(others, None)] if others else [])))


def _group(job: Mapping[str, Any], wanted: frozenset[str]) -> decide.Wanted:
    """Read a job's nodes: `nodes_resume`, or in older versions `nodes` (seen with 22.05)."""
    listed = job["nodes_resume"] if "nodes_resume" in job else job["nodes"]
    return decide.Wanted(tuple(node for node in hostlist.expand(listed) if node in wanted), int(job["job_id"]))


def _status(table: fleet_table.Table, commands: slurm.Commands, store: Store, *, as_json: bool) -> int:
    document = report.status(table, slurm=commands.view(), cloud=fleet(table, store.folder, keeps=False).view(), memory=store.read(), now=time.time())
    print(json.dumps(document, indent=1) if as_json else report.text(document))
    return 0


def _release(table: fleet_table.Table, store: Store, name: str) -> int:
    if table.by_name(name) is None:
        log.error("no node set %s; the node sets are %s", name, ", ".join(node_set.name for node_set in table.node_sets))
        return 2
    store.write(holds.released(store.read(), name))
    log.info("released %s; the next sync returns its nodes to the scheduler", name)
    return 0


def _report(table: fleet_table.Table, commands: slurm.Commands, options: argparse.Namespace) -> int:
    """Report the host of a node that no job uses: the cloud may stop the instance at once."""
    node, instances = commands.view().nodes.get(options.node), fleet(table)
    living = [one for one in instances.view(is_brief=True).instances if one.node == options.node and one.life is Life.LIVE]
    if node is None or not living:
        log.error("the node %s has no instance", options.node)
        return 1
    if node.has_jobs or not node.is_drained:
        log.error("drain %s first, and wait until its jobs are over: `scontrol update nodename=%s state=drain reason=…`", options.node, options.node)
        return 1
    log.info("reporting the host of %s (%s), which may take some minutes; leave the node running", options.node, living[0].id)
    instances.report(living[0].id, Fault(options.fault), options.because)
    log.info("reported the host of %s (%s): %s", options.node, living[0].id, options.fault)
    return 0


def _names(table: fleet_table.Table) -> int:
    """Write the table of hosts, and print its path if it changed."""
    if table.names and names.keep(table, fleet(table)):
        print(table.names)
    return 0


def _topology(table: fleet_table.Table) -> int:
    """Write the switches of nodes that are nowhere yet, unless each node has a switch, and print the file's path if it changed. Slurm refuses jobs for nodes without one, and does not start without a file."""
    path = Path(table.topology)
    if table.topology and not (path.exists() and topology.names_all(path.read_text(), table)):
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        make_folder(path.parent)
        replace(path, topology.unplaced(table))
        print(path)
    return 0


def _log_to_journal() -> None:
    """Log to standard error when a terminal or the journal reads it, else to syslog; slurmctld discards its programs' output."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    is_read = sys.stderr is not None and (sys.stderr.isatty() or _is_journal(STANDARD_ERROR))
    if not is_read and SYSLOG.exists():
        handler = logging.handlers.SysLogHandler(str(SYSLOG))
        handler.ident = "clusterwright-elastic: "
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.handlers = [handler]
    log.setLevel(logging.INFO)


def _is_journal(descriptor: int) -> bool:
    """Return whether the stream is the journal's (systemd.exec(5), JOURNAL_STREAM); the variable alone proves nothing, since programs inherit it without the stream."""
    about = os.fstat(descriptor)
    return os.environ.get("JOURNAL_STREAM") == f"{about.st_dev}:{about.st_ino}"

"""The commands as slurmctld, the timer and a person run them: with programs in Slurm's place that answer, and a service in the hosts' place."""

import json
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from components.elastic import cli, slurm
from components.elastic.memory import Memory, Store, encode
from tests.elastic.values import NOW

SCONTROL = """\
#!/bin/sh
echo "scontrol $*" >> {folder}/asked
case "$*" in
    "show config") echo "StateSaveLocation       = {folder}" ;;
    "--oneliner show nodes") cat {folder}/nodes ;;
    "--oneliner show reservations") echo "No reservations in the system" ;;
esac
"""
OFF, STARTING = "IDLE+CLOUD+POWERED_DOWN", "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP"


class Site:
    """A controller: its files, and what its Slurm and its hosts' service say."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.instances: list[dict[str, Any]] = []
        self.questions: list[dict[str, Any]] = []
        self.answer: dict[str, Any] = {}
        for name, text in (("scontrol", SCONTROL), ("squeue", "#!/bin/sh\n")):
            (folder / name).write_text(text.format(folder=folder))
            (folder / name).chmod(0o755)
        self.table(minimum=0)
        self.nodes(OFF, OFF)

    def table(self, *, minimum: int) -> None:
        node_set = {
            "name": "train",
            "pool": "train",
            "prefix": "train",
            "count": 2,
            "minimum": minimum,
            "partition": "train",
            "machine": "local",
            "launch_template_version": "t1",
            "capacity": {"kind": "owned"},
            "boot_timeout_s": 300,
        }
        record = {"version": 1, "target": "local", "cluster": "c", "stack": "s", "service": {"socket": str(self.folder / "socket")}, "node_sets": [node_set]}
        (self.folder / "fleet.json").write_text(json.dumps(record))

    def nodes(self, *states: str) -> None:
        lines = (f"NodeName=train-{number} NodeAddr=train-{number} State={state} Partitions=train" for number, state in enumerate(states))
        (self.folder / "nodes").write_text("\n".join(lines))

    @property
    def updates(self) -> list[str]:
        asked = (self.folder / "asked").read_text().splitlines() if (self.folder / "asked").exists() else []
        return [line.removeprefix("scontrol update ") for line in asked if line.startswith("scontrol update")]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    here = Site(tmp_path)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            question = json.loads(self.rfile.readline())
            here.questions.append(question)
            answer = {"instances": here.instances, **here.answer} if question["do"] != "terminate" else {}
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    monkeypatch.setattr(cli, "SYSLOG", tmp_path / "no-syslog")
    monkeypatch.setattr(slurm, "PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv(cli.TABLE_VARIABLE, str(tmp_path / "fleet.json"))
    monkeypatch.delenv(cli.RESUME_VARIABLE, raising=False)
    with socketserver.ThreadingUnixStreamServer(str(tmp_path / "socket"), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield here
        server.shutdown()


def instance(node: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"i-{node}",
        "node": node,
        "node_set": "train",
        "life": "live",
        "launched_at": NOW,
        "launch": "t",
        "template": "t1",
        "address": "10.0.0.1",
        **more,
    }


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"jobs": [{"job_id": 7, "nodes_resume": "train-[0-1]"}], "all_nodes_resume": "train-[0-1]"}, id="24.11"),
        pytest.param({"jobs": [{"job_id": 7, "nodes": "train-[0-2]"}], "all_nodes": "train-[0-1]"}, id="22.05"),
    ],
)
def test_resume_asks_for_the_nodes_of_each_job_together(site: Site, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]) -> None:
    site.nodes(STARTING, STARTING)
    request = site.folder / "resume"
    request.write_text(json.dumps(document))
    monkeypatch.setenv(cli.RESUME_VARIABLE, str(request))
    site.answer = {"instances": []}
    assert cli.main(["resume", "train-[0-1]"]) == 0
    [launch] = [question for question in site.questions if question["do"] == "launch"]
    assert (launch["nodes"], launch["whole"]) == (["train-0", "train-1"], True)
    assert any(update.startswith("nodename=train-[0-1] state=DOWN reason=clusterwright: train is held") for update in site.updates), (
        "nothing came, so all is given back"
    )


@pytest.mark.parametrize("text", [None, "", "{", '{"jobs": [{}]}'])
def test_a_request_that_cannot_be_read_is_nodes_for_themselves(site: Site, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    site.nodes(STARTING, STARTING)
    if text is not None:
        (site.folder / "resume").write_text(text)
    monkeypatch.setenv(cli.RESUME_VARIABLE, str(site.folder / "resume"))
    site.answer = {"instances": []}
    assert cli.main(["resume", "train-[0-1]"]) == 0
    [launch] = [question for question in site.questions if question["do"] == "launch"]
    assert (launch["nodes"], launch["whole"]) == (["train-0", "train-1"], False)


def test_status_tells_why_a_node_did_not_boot_in_the_node_s_own_words(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.nodes("DOWN+CLOUD+NOT_RESPONDING+POWERING_UP Reason=clusterwright: start guard: 7 of 8 GPUs [root@2026-11-22T13:28:45]")
    assert cli.main(["sync"]) == 0
    assert "nodename=train-0 state=DOWN reason=clusterwright: 7 of 8 GPUs" in site.updates
    assert cli.main(["status"]) == 0
    assert "train: 1 nodes in a row did not boot; the last one, train-0: 7 of 8 GPUs" in capsys.readouterr().out.splitlines()


def test_suspend_ends_the_instances_of_stopping_nodes(site: Site) -> None:
    site.nodes("IDLE+CLOUD+POWERING_DOWN", "MIXED+CLOUD")
    site.instances = [instance("train-0"), instance("train-1")]
    assert cli.main(["suspend", "train-[0-1]"]) == 0
    assert [question["instances"] for question in site.questions if question["do"] == "terminate"] == [["i-train-0"]]


def no_room_for(file: Path) -> None:
    """Let nothing be written in the place of a file: its next form can't be made."""
    (file.parent / f".{file.name}.{os.getpid()}").mkdir(parents=True)


@pytest.mark.parametrize(("spared", "ended"), [("", []), ("DRAIN,MAINTENANCE", []), ("DOWN,DRAIN,MAINTENANCE", [["i-train-0"]])])
def test_suspend_leaves_what_somebody_keeps_where_slurm_does_not(site: Site, spared: str, ended: list[list[str]]) -> None:
    site.nodes("DOWN+CLOUD+POWERING_DOWN Reason=ada looks at the fans [ada@1795298981]", OFF)
    site.instances = [instance("train-0")]
    scontrol = site.folder / "scontrol"
    scontrol.write_text(scontrol.read_text().replace('"show config") echo', f'"show config") echo "SuspendExcStates        = {spared or "(null)"}"; echo'))
    assert cli.main(["suspend", "train-0"]) == 0
    assert [question["instances"] for question in site.questions if question["do"] == "terminate"] == ended


@pytest.mark.parametrize("command", ["suspend", "sync"])
def test_what_is_to_end_ends_though_nothing_can_be_remembered(site: Site, command: str) -> None:
    site.nodes("IDLE+CLOUD+POWERING_DOWN" if command == "suspend" else OFF, "MIXED+CLOUD")
    site.instances = [instance("train-0"), instance("train-1")]
    no_room_for(Store(site.folder).file)
    assert cli.main([command, *(["train-0"] if command == "suspend" else [])]) == 1
    assert [question["instances"] for question in site.questions if question["do"] == "terminate"] == [["i-train-0"]]


def test_what_cannot_be_remembered_does_not_begin(site: Site) -> None:
    site.nodes(STARTING, OFF)
    no_room_for(Store(site.folder).file)
    assert cli.main(["resume", "train-0"]) == 1
    site.nodes(OFF, OFF)
    site.table(minimum=1)
    memory = Memory(missing={"train-1": NOW})  # so that there is something to be written
    file = Store(site.folder).file
    file.write_text(json.dumps(encode(memory)))
    assert cli.main(["sync"]) == 1
    assert [question for question in site.questions if question["do"] == "launch"] == []
    assert site.updates == []


def test_sync_switches_on_what_always_runs_and_remembers_nothing_new(site: Site) -> None:
    site.table(minimum=1)
    assert cli.main(["sync"]) == 0
    assert site.updates == ["nodename=train-0 state=POWER_UP"]
    assert Store(site.folder).read() == Memory()


def test_status_says_what_is_and_what_would_be_done(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.table(minimum=1)
    assert cli.main(["status"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split() == ["NODE", "SET", "MACHINE", "UP", "STARTING", "STOPPING", "OFF", "DOWN", "KEPT", "INSTANCES"]
    assert "switch on train-0: 1 of 2 always run" in text
    assert site.updates == [], "looking changes nothing"
    assert cli.main(["status", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["node_sets"][0]["off"], document["next"]) == (1, 2, ["switch on train-0: 1 of 2 always run"])


def test_status_says_when_a_pool_has_all_the_nodes_it_may_have(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    table = json.loads((site.folder / "fleet.json").read_text())
    table["node_sets"][0]["pool_most"] = 1
    (site.folder / "fleet.json").write_text(json.dumps(table))
    assert cli.main(["status"]) == 0
    assert "full:" not in capsys.readouterr().out
    site.nodes("MIXED+CLOUD", OFF)
    assert cli.main(["status"]) == 0
    text = capsys.readouterr().out
    assert "full: clusterwright: pool train has its 1 nodes already" in text
    assert "down train-1: pool train has its 1 nodes already" in text


def test_release_ends_a_hold_and_knows_its_node_sets(site: Site) -> None:
    site.nodes(STARTING, OFF)
    site.answer = {"instances": [], "refusal": "capacity", "detail": "none left"}
    assert cli.main(["resume", "train-0"]) == 0
    assert set(Store(site.folder).read().holds) == {"train"}
    assert cli.main(["release", "other"]) == 2
    assert cli.main(["release", "train"]) == 0
    assert Store(site.folder).read().holds == {}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("table", "the fleet table can't be read"),
        ("version", "version 9"),
        ("target", "whose nodes this program can't start"),
        ("memory", "can't be read"),
        ("slurm", "`scontrol` can't be started"),
        ("service", "does not answer"),
        ("refusal", "not a controller"),
    ],
)
def test_trouble_is_one_line_and_changes_nothing(site: Site, capsys: pytest.CaptureFixture[str], broken: str, said: str) -> None:
    site.table(minimum=1)
    table = json.loads((site.folder / "fleet.json").read_text())
    match broken:
        case "table":
            (site.folder / "fleet.json").unlink()
        case "version":
            (site.folder / "fleet.json").write_text(json.dumps({**table, "version": 9}))
        case "target":
            (site.folder / "fleet.json").write_text(json.dumps({**table, "target": "moon"}))
        case "memory":
            store = Store(site.folder)
            store.write(Memory())
            store.file.write_text("{")
        case "slurm":
            (site.folder / "scontrol").unlink()
        case "service":
            (site.folder / "socket").unlink()
        case "refusal":
            site.answer = {"error": "process 1 of user 0 is not a controller"}
    assert cli.main(["sync"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("sync: ")
    assert said in line
    assert site.updates == []


CLOSED = """
import sys
from components.elastic.cli import main
sys.exit(6 + main(["resume", "train-0"]))
"""


def test_slurm_may_start_it_with_closed_streams() -> None:
    """As slurmctld 22.05 does: then Python has no standard error at all."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(project_root()), cli.TABLE_VARIABLE: "/nowhere"}
    ended = subprocess.run(["/bin/sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, CLOSED], check=False, env=environment, cwd="/")
    assert ended.returncode == 6 + 1, "a user error, and no crash"


def test_usage_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("state", "instances", "said"),
    [
        ("IDLE+CLOUD", [instance("train-0")], "drain train-0 first"),
        ("MIXED+CLOUD+DRAIN", [instance("train-0")], "drain train-0 first"),
        ("IDLE+CLOUD+DRAIN", [instance("train-0", life="ended")], "the node train-0 has no instance"),
        ("IDLE+CLOUD+DRAIN", [instance("train-0")], "this machine takes no reports of faulty hosts"),
    ],
)
def test_only_the_host_of_a_drained_node_without_jobs_is_reported(
    site: Site, caplog: pytest.LogCaptureFixture, state: str, instances: list[dict[str, Any]], said: str
) -> None:
    site.nodes(state, OFF)
    site.instances = instances
    assert cli.main(["report-host", "train-0", "performance", "--because", "slow"]) == 1
    assert said in caplog.text

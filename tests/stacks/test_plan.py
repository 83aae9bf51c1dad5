"""What `clusterwright plan` says: to people, to programs, and of a cluster that stands."""

import contextlib
import dataclasses
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints import load, spec
from blueprints.facts import Facts
from blueprints.plan import changes, estimate
from blueprints.project import project_root
from stacks.cli import main, plan
from stacks.render import change_table, cost, formatting, plan_json, plan_nodes, plan_view, tables
from tests.blueprints import hand_made
from tests.blueprints.hand_made import changed

ESCAPE = "\x1b"
STARTER_LINES = 45
"""One screen."""


def text(cluster: spec.ClusterSpec) -> str:
    return tables.text(plan_view.view(cluster).sections)


def section(cluster: spec.ClusterSpec, title: str) -> list[str]:
    """The lines below a title."""
    lines = text(cluster).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(title)) + 1
    end = next((number for number in range(start, len(lines)) if not lines[number].startswith("  ")), len(lines))
    return [line[2:] for line in lines[start:end]]


def rows(cluster: spec.ClusterSpec, title: str) -> dict[str, list[str]]:
    """The lines of a section by their first words; words are two blanks apart."""
    return {words[0]: words[1:] for words in (re.split(r" {2,}", line) for line in section(cluster, title))}


AWS, LOCAL = hand_made.aws(), hand_made.local()


# For people


def test_a_plan_names_every_group_of_hosts_with_what_each_has_and_costs() -> None:
    found = rows(AWS, "Hosts")
    costs = estimate.estimate(AWS)
    train = costs.part("compute", "train")
    assert train is not None
    assert found["train-[0-15]"] == ["4–16", "p5.48xlarge", "192", "2 TiB", "8 × h100 80 GB", f"{train.hourly_min:,.2f} to {train.hourly_max:,.2f}"]
    assert found["login-[0-1]"][:3] == ["2", "m7i.large", "2"]
    assert rows(LOCAL, "Hosts")["train-[0-1]"] == ["2", "local", "2", "2 GiB", "8 × h100 (simulated)"]


def test_a_plan_says_how_nodes_are_bought_placed_and_chosen() -> None:
    found = rows(AWS, "Pools")
    assert found["train"] == ["up to 1-00:00:00, default", "on-demand", "packed", "27.65 TiB at /scratch"]
    assert found["sweep"] == ["up to 1-00:00:00", "spot"]
    assert found["train, sweep"] == ["highest fabric rate with 8 h100"]


def test_a_plan_shows_interfaces_fabric_and_what_it_must_deliver() -> None:
    line, origin, formula = [line for line in section(AWS, "Interfaces and fabric") if line.startswith(("train", "formula"))]
    for part in (
        "1 × ena + 32 × efa-only",
        "EFA, required",
        "400",
        "all-reduce of 8 GiB, 16 nodes: 480 GB/s (provisional, extrapolated from 2 nodes)",
        "430 GB/s",
        "380 GB/s",
    ):
        assert part in line
    assert "extrapolated from a measurement on 2 nodes" in origin
    assert "(1 + m·s) / (1 + n·s)" in formula
    measured = changed(AWS, "slurm.node_sets.0.fabric.expected.measured_nodes", 16)
    assert "extrapolated" not in text(measured)
    certain = changed(AWS, "slurm.node_sets.0.fabric.expected.provisional", False)
    assert "provisional" not in text(certain)
    assert "Interfaces" not in text(LOCAL), "there is none on this machine"


def test_a_plan_shows_subnets_and_whether_addresses_suffice() -> None:
    assert rows(AWS, "Network")["cluster"] == ["cluster", "10.80.0.0/22", "us-east-1a", "23", "1,019"]
    assert rows(AWS, "Network")["public-a"][2] == "known later"
    assert rows(LOCAL, "Network")["first addresses"] == ["control 10.81.0.10, login 10.81.0.20, train 10.81.1.0, dev 10.81.1.2"]


@pytest.mark.parametrize(
    ("target", "network", "label", "words"),
    [
        ("metal", {"cidr": "10.20.0.0/22"}, "10.20.0.0/22", "the site's own network, names in metal-h100.internal"),
        ("metal", {"cidr": None}, "hosts", "in the site's own network, names in metal-h100.internal"),
        ("aws", {"cidr": "10.20.0.0/16"}, "10.20.0.0/16", "created by the stack, out through address translation, names in llm-pretraining.internal"),
    ],
)
def test_a_plan_says_whose_network_it_is(target: str, network: dict[str, Any], label: str, words: str) -> None:
    name = "metal-h100" if target == "metal" else "llm-pretraining"
    facts = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
    loaded = load.examine(name, target=target, stack="test", facts=facts, overrides={f"network.{key}": value for key, value in network.items()})
    assert rows(loaded.spec, "Network")[label] == [words]


def test_a_plan_names_the_scheduler_of_each_pool_where_there_are_several() -> None:
    facts = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
    both = load.examine("train-and-serve", target="aws", stack="test", facts=facts).spec
    found = rows(both, "Pools")
    assert found["pool"][:2] == ["scheduler", "jobs"]
    assert found["train"][:2] == ["Slurm", "up to 7-00:00:00, default"]
    assert found["develop, serve, system"] == ["Kubernetes", "on-demand"]
    only = load.examine("llm-pretraining-kubernetes", target="aws", stack="test", facts=facts).spec
    assert rows(only, "Pools")["pool"][:2] == ["scheduler", "bought"], "no longest job, and no empty column for it"
    assert "scheduler" not in section(AWS, "Pools")[0]


def test_a_plan_says_what_becomes_of_files() -> None:
    def ends(**more: Any) -> str:
        one = dataclasses.replace(AWS.storage[0], **more)
        return rows(dataclasses.replace(AWS, storage=(one,)), "Storage")["scratch"][4]

    assert ends() == "refused: protected"
    assert [ends(protect=False, on_delete=how) for how in ("keep", "snapshot", "delete")] == ["files stay", "a snapshot stays", "files are deleted"]
    assert ends(source="fs-0123456789abcdef0") == "stays: not the stack's"
    assert rows(LOCAL, "Storage")["home"] == ["/home", "nfs", "files are deleted"], "on this machine the folder goes with the stack"


def test_a_plan_says_when_a_profile_has_never_run() -> None:
    assert "untested" in text(AWS)
    assert "untested" not in text(LOCAL)


def test_a_plan_names_what_is_simulated_and_what_is_known_later() -> None:
    assert section(LOCAL, "Simulated") == list(LOCAL.simulated)
    assert section(AWS, "Known later") == ["the zone of the load balancer", "the newest image of profile ubuntu-24.04-aws"]
    assert "Known later" not in text(LOCAL)


def test_a_plan_shows_quotas_and_what_new_accounts_have() -> None:
    found = rows(AWS, "Quotas needed")
    assert found["Running On-Demand P instances"] == ["L-417A185B", "3,072 vcpus", "0", "train 16 × p5.48xlarge"]
    unknown = changed(AWS, "slurm.node_sets.1.hosts.machine.name", "p6-b200.48xlarge")
    assert "no known quota counts p6-b200.48xlarge (spot)" in text(unknown)


def test_costs_are_dated_and_unknown_is_said() -> None:
    first, last = estimate.estimate(AWS).dates or ("", "")
    assert f"Cost in USD, prices of {first} to {last}" in text(AWS)
    known = dataclasses.replace(AWS, storage=AWS.storage[:1])
    costs = estimate.estimate(known)
    assert rows(known, "Cost in USD")["together"] == [f"~{formatting.money(low, high)}" for low, high in (_sums(costs, 1), _sums(costs, 730))]
    together = rows(AWS, "Cost in USD")["together"]
    assert together[0] == f"unknown (known parts: ~{formatting.money(*_sums(costs, 1))})", (
        "EFS has no size, so no price, and the rest would look like the whole"
    )
    assert rows(AWS, "Cost in USD")["storage"][0].startswith("unknown (known parts: ")
    assert section(LOCAL, "Cost") == ["owned  no hourly cost: the machines exist already"]


def _sums(costs: estimate.Estimate, hours: int) -> tuple[float, float]:
    return costs.hourly_min * hours, costs.hourly_max * hours


def test_all_parts_without_a_price_are_named_and_services_only_make_a_sum_the_least() -> None:
    found = estimate.Estimate(owned=False, region="r", parts=(*(_part(f"s{number}", "service", None) for number in range(6)), _part("c", "compute", 2.0)))
    assert cost.total(found) == "at least 2.00"
    assert dict(cost.remarks(found))["unknown"] == tables.Cell("s0, s1, s2, s3, s4, s5: ", "care")
    assert cost.total(found, kind="service") == "unknown"
    assert cost.total(dataclasses.replace(found, parts=(*found.parts, _part("d", "storage", None)))) == "unknown (known parts: 2.00)"
    assert cost.total(found, hours=730) == "at least 1,460.00"


def _part(name: str, kind: str, usd: float | None, *, confidence: str = "high", method: str = "listed") -> estimate.Part:
    return estimate.Part(name, kind, name, 1, 1, usd, "2026", "project", method, "" if usd is None else confidence, "")


@pytest.mark.parametrize(
    ("part", "shown", "remark"),
    [
        (_part("train", "compute", 2.0), "2.00", None),
        (_part("train", "compute", 2.0, confidence="medium", method="8 GPUs at 8.055"), "~2.00", "medium confidence: train (from 8 GPUs at 8.055)"),
        (_part("home", "storage", 2.0, confidence="low", method="10 GiB at 1 USD"), "~2.00", "low confidence: home"),
    ],
)
def test_a_doubtful_price_is_marked_wherever_it_stands(part: estimate.Part, shown: str, remark: str | None) -> None:
    found = estimate.Estimate(owned=False, region="r", parts=(part,))
    assert (cost.price(part), cost.total(found), cost.total(found, kind=part.kind)) == (shown, shown, shown)
    remarks = {label: said.text for label, said in cost.remarks(found) if isinstance(said, tables.Cell)}
    assert remarks.get("~") == remark


def test_a_plan_says_in_its_head_what_this_version_stands_up_and_in_no_finding() -> None:
    status, out, err = run("gb200-nvl72", "--target", "aws")
    assert status == 0
    assert out.splitlines()[1].strip() == "planned only: this version provisions software profiles `debian-13-aws` and `ubuntu-24.04-aws` on AWS"
    assert not {"CW622", "CW602"} & set(re.findall(r"CW\d+", err)), "the head and the table of quotas say it"
    assert {"CW622", "CW602"} <= {found["code"] for found in document("gb200-nvl72", "--target", "aws")["findings"]}
    assert "planned only" not in run("gb200-nvl72", "--target", "gcp")[1]
    assert "planned only" not in run("starter")[1] + run("llm-pretraining", "--target", "aws")[1] + run("llm-pretraining", "--target", "gcp")[1]
    assert "planned only" not in run("starter-kubernetes")[1]
    assert "planned only" not in run("starter-kubernetes", "--set", "control.highly_available=true")[1]


def test_one_of_something_is_no_plural() -> None:
    assert [formatting.counted(number, "gpus") for number in (0, 1, 2)] == ["0 gpus", "1 gpu", "2 gpus"]
    assert formatting.counted(1, "GiB") == "1 GiB"
    one = changed(AWS, "slurm.node_sets.0.fabric.nics", 1)
    assert ", 1 interface " in " ".join(section(one, "Interfaces and fabric"))


def test_a_plan_s_length_grows_with_pools_and_not_with_nodes() -> None:
    assert len(text(LOCAL).splitlines()) <= STARTER_LINES
    many = changed(AWS, "slurm.node_sets.0.hosts.count", 7500)
    assert len(text(many).splitlines()) == len(text(AWS).splitlines())
    machine = hand_made.P5
    sixteen = hand_made.aws(node_sets=tuple(hand_made.pool(f"pool-{n}", 500, machine=machine, fabric=hand_made.EFA, chosen="alike") for n in range(16)))
    assert len(text(sixteen).splitlines()) <= len(text(AWS).splitlines()) + 16, "one line more for each pool"


@pytest.mark.parametrize(
    ("gib", "shown"),
    [(0.5, "512 MiB"), (1.5, "1.5 GiB"), (1024, "1 TiB"), (1152, "1.12 TiB"), (14745.6, "14.4 TiB"), (28312.21, "27.65 TiB"), (5 * 1024**2, "5 PiB")],
)
def test_sizes(gib: float, shown: str) -> None:
    assert formatting.size(gib) == shown


def test_many_names_are_cut_and_counted() -> None:
    assert formatting.named("abcd") == "a, b, c, d"
    assert formatting.named("abcde") == "a, b, c and 2 more"


def test_money_is_a_range_only_where_it_differs() -> None:
    assert [formatting.money(1234.5, 1234.5), formatting.money(0.001, 0.002), formatting.money(1, 2), formatting.money(None, 2)] == [
        "1,234.50",
        "0.00",
        "1.00 to 2.00",
        "unknown",
    ]
    assert [formatting.unit_price(usd) for usd in (0.00123, 0.5, 1, 1234.567)] == ["0.0012", "0.5000", "1.00", "1,234.57"]


# On a terminal and elsewhere


def on_terminal(*sections: tables.Section, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a terminal of that width is sent."""
    reader, writer = pty.openpty()
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        tables.show(sections, stream=stream)
    sent = b""
    with contextlib.suppress(OSError):  # how Linux says that nobody writes to this terminal any more
        while piece := os.read(reader, 65536):
            sent += piece
    os.close(reader)
    return sent.decode()


TABLE = tables.Section(
    "Title", (tables.Table((tables.Column("name"), tables.Column("empty"), tables.Column("why")), (("[red]x", "", tables.Cell("word " * 40, "bad")),)),)
)


def test_a_terminal_gets_colours_and_no_line_is_wider_than_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    found = on_terminal(TABLE, columns=60, monkeypatch=monkeypatch)
    assert ESCAPE in found
    plain = re.sub(r"\x1b\[[0-9;]*m", "", found)
    assert max(len(line.rstrip("\r")) for line in plain.split("\n")) <= 60
    assert plain.count("word") == 40


def test_no_color_is_honoured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in on_terminal(TABLE, columns=60, monkeypatch=monkeypatch)


@pytest.mark.parametrize("forced", ["COLUMNS", "FORCE_COLOR"])
def test_elsewhere_there_is_no_colour_and_nothing_is_cut(forced: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(forced, "20")
    written = io.StringIO()
    tables.show([TABLE], stream=written)
    title, header, row = written.getvalue().splitlines()
    assert ESCAPE not in written.getvalue()
    assert (title, header.split(), row.split()) == ("Title", ["name", "why"], ["[red]x", *["word"] * 40]), "markup is text, and empty columns are left out"
    assert row == row.rstrip()


def test_what_would_steer_a_terminal_is_not_passed_on() -> None:
    assert ESCAPE not in tables.text([tables.Section("a\x1b[2J", (tables.Facts((("b\x1b[2J", "c\x1b[2J"),)),))])


def test_a_section_without_content_is_left_out() -> None:
    assert tables.text([tables.Section("Empty", (tables.Facts(()), tables.Table((tables.Column("a"),), ())))]) == ""


# For programs


@contextlib.contextmanager
def said() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def run(*words: str) -> tuple[int, str, str]:
    with said() as (out, err):
        status = main.main(["plan", *words])
    return status, out.getvalue(), err.getvalue()


def document(*words: str) -> dict[str, Any]:
    status, out, err = run("--json", *words)
    assert (status, err) == (0, ""), "findings are in the document"
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_document_has_the_keys_that_are_documented() -> None:
    found = document()
    described = (project_root() / "docs" / "json.md").read_text()
    assert found["format"] == plan_json.FORMAT
    assert list(found) == ["format", "spec", "estimate", "quotas", "late", "sections", "findings"]
    with_changes = plan.document(_Loaded(AWS), plan.Compared("x", None, changes.compare(spec.as_record(AWS), changed(AWS, "users", ()))))  # type: ignore[arg-type]
    keys = {*with_changes, *with_changes["estimate"], *with_changes["estimate"]["parts"][0], *with_changes["quotas"], *with_changes["quotas"]["needed"][0], *with_changes["changes"][0], *with_changes["against"]}  # fmt: skip
    assert sorted(key for key in keys if f"`{key}`" not in described) == []


@pytest.mark.parametrize("target", ["local", "aws", "gcp", "metal"])
def test_the_document_says_of_storage_what_the_text_says(target: str) -> None:
    (storage,) = [one for one in document("starter", "--target", target)["sections"] if one["title"] == "Storage"]
    (table,) = storage["tables"]
    assert all(row[table["columns"].index("when removed")] == "files are deleted" for row in table["rows"]), "as `down` does with the starter's"
    _, text, _ = run("starter", "--target", target)
    assert text.count("files are deleted") == len(table["rows"])


@dataclasses.dataclass(frozen=True)
class _Loaded:
    spec: spec.ClusterSpec
    findings: tuple[()] = ()


def test_the_document_holds_what_the_page_is_made_of() -> None:
    found = document()
    assert found["spec"]["name"] == "starter"
    assert found["spec"]["version"] == spec.SPEC_VERSION
    assert (found["estimate"]["owned"], found["quotas"]) == (True, {"needed": [], "unknown": []})


# Against what stands


def test_a_plan_against_its_own_document_changes_nothing(tmp_path: Path) -> None:
    for content in (document(), document()["spec"]):
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(content))
        status, out, _ = run("--against", str(file))
        assert status == 0
        assert "no field differs" in out
        assert document("--against", str(file))["changes"] == []


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A document of the starter as it was: one node less, and a file system mounted elsewhere."""
    standing = document()
    standing["spec"]["slurm"]["node_sets"][0]["hosts"]["count"] = 1
    standing["spec"]["storage"][1]["mount"] = "/common"
    file = tmp_path / "before.json"
    file.write_text(json.dumps(standing))
    return file


def test_changes_are_shown_with_what_they_cost(before: Path) -> None:
    status, out, _ = run("--against", str(before))
    assert status == 0
    found = {words[1]: words for words in (re.split(r" {2,}", line.strip()) for line in out.splitlines()) if len(words) == 5}
    assert found["pools.train.nodes"][:4] == ["in-place", "pools.train.nodes", "1", "2"]
    assert found["storage.shared.mount"][:4] == ["rolling", "storage.shared.mount", "/common", "/shared"]
    assert "2 changes; the most expensive: rolling" in out
    assert [(change["path"], change["key"]) for change in document("--against", str(before))["changes"]] == [
        ("storage.shared.mount", "storage.shared.mount"),
        ("slurm.node_sets.train.hosts.count", "pools.train.nodes"),
    ]


def test_a_plan_is_compared_with_another_blueprint_and_says_what_becomes_of_the_price() -> None:
    words = ["research-shared", "--target", "aws", "--set", "pools.gpu.nodes.max=4", "--against", "research-shared"]
    _, out, _ = run(*words)
    before, after = (document("research-shared", "--target", "aws", *more)["estimate"]["hourly_max"] for more in ((), ("--set", "pools.gpu.nodes.max=4")))
    assert f"cost: from {before:,.2f} to {after:,.2f} USD an hour at most" in out
    (row,) = [line for line in out.splitlines() if line.startswith("  replaces-nodes")]
    assert row.split()[1:4] == ["pools.gpu.nodes.max", "8", "4"]
    assert "network.subnets" not in out, "how many addresses are needed follows from the number of nodes"
    found = document(*words)
    assert found["against"]["estimate"]["hourly_max"] == before
    assert {change["path"] for change in found["changes"] if change["derived"]} >= {"network.subnets.cluster.needed"}
    assert "no field differs" in run("starter", "--against", "starter")[1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ((7.75,), (9.9,), "cost: from 7.75 to 9.90 USD an hour at most"),
        ((7.75,), (7.751,), "cost: stays at 7.75 USD an hour at most"),
        ((7.75, None), (9.9,), "cost of the parts with a known price (not p1): from 7.75 to 9.90 USD an hour at most"),
        ((), (9.9,), "cost: from nothing to 9.90 USD an hour at most"),
        ((), (), ""),
    ],
)
def test_what_becomes_of_the_price(old: tuple[float | None, ...], new: tuple[float | None, ...], said: str) -> None:
    before, after = (
        estimate.Estimate(owned=not prices, region="r", parts=tuple(_part(f"p{number}", "compute", usd) for number, usd in enumerate(prices)))
        for prices in (old, new)
    )
    assert cost.difference(before, after) == said


@pytest.mark.parametrize(("effect", "status"), [("none", 1), ("in-place", 1), ("rolling", 1), ("replaces-nodes", 0), ("destroys-data", 0)])
def test_a_status_for_changes_that_are_too_dear(effect: str, status: int, before: Path) -> None:
    assert run("--against", str(before), "--fail-on", effect)[0] == status


def test_a_record_of_another_form_is_compared_and_said(before: Path) -> None:
    standing = json.loads(before.read_text())
    standing["spec"]["version"] = 1
    before.write_text(json.dumps(standing))
    assert "form 1" in run("--against", str(before))[1]
    assert "form 1" in document("--against", str(before))["against"]["note"]


def test_a_plan_says_that_this_version_provisions_no_service_of_a_cloud_that_runs_slurm() -> None:
    service = dataclasses.replace(hand_made.slurm(AWS), run_by="pcs", product="AWS PCS", control=None)
    found = (plan_view.planned_only(AWS), plan_view.planned_only(dataclasses.replace(AWS, slurm=service)))
    assert found == ("", "planned only: this version provisions Slurm (on hosts of the stack) on AWS")


def test_refused_changes_are_marked() -> None:
    found = changes.compare(spec.as_record(AWS), changed(AWS, "storage.0.kind", "nfs"))
    shown = tables.text(change_table.sections(found, title="t", note=None))
    assert "`up` refuses 1 of them" in shown
    assert "refused: storage.scratch is protected" in shown


def test_long_values_of_changes_are_cut() -> None:
    keys = tuple(f"ssh-ed25519 {letter * 68} someone@example.org" for letter in "ABC")
    shown = tables.text(change_table.sections(changes.compare(spec.as_record(AWS), changed(AWS, "users.0.ssh_keys", keys)), title="t", note=None))
    (row,) = [line for line in shown.splitlines() if "ssh_keys" in line]
    (cut,) = [cell for cell in re.split(r" {2,}", row) if cell.startswith("ssh-ed25519")]
    assert len(cut) <= change_table.LONGEST
    assert cut.endswith("…")


def test_a_stack_that_was_never_up_has_nothing_to_compare_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "pulumi"
    engine.touch(mode=0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PULUMI_BACKEND_URL", tmp_path.as_uri())
    status, out, err = run("--diff")
    assert (status, out) == (1, "")
    assert "stack local has nothing to compare with" in err


@pytest.mark.engine
def test_a_plan_is_compared_with_what_the_stack_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record lies where the engine keeps it, and the engine itself reads it."""
    recorded = document("--stack", "recorded")["spec"]
    recorded["users"] = []
    stack = {"urn": "urn:pulumi:recorded::clusterwright::pulumi:pulumi:Stack::clusterwright-recorded", "custom": False, "type": "pulumi:pulumi:Stack"}
    manifest = {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""}
    latest = {"manifest": manifest, "resources": [{**stack, "outputs": {"spec": recorded}}]}
    state = tmp_path / ".pulumi" / "stacks" / "clusterwright" / "recorded.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"version": 3, "checkpoint": {"stack": "organization/clusterwright/recorded", "latest": latest}}))
    (tmp_path / ".pulumi" / "meta.yaml").write_text("version: 1\n")
    monkeypatch.setenv("PULUMI_BACKEND_URL", tmp_path.as_uri())
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PULUMI_SKIP_UPDATE_CHECK", "true")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse battery staple")
    found = document("--stack", "recorded", "--diff")
    assert (found["against"]["what"], found["against"]["note"], found["against"]["estimate"]["owned"]) == ("stack recorded", None, True)
    assert [(change["path"], change["effect"]) for change in found["changes"]] == [("users.ada", "in-place")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "why: No such file"),
        (b"\xff\xfe", "it is not JSON: 'utf-8' codec can't decode"),
        (b"{", "it is not JSON: Expecting"),
        (b"[]", "no JSON object"),
        (b'{"spec": 1}', "no JSON object"),
        (b"{}", "no name, target and network"),
        (b'{"name": "a", "target": "local", "network": {}, "version": 3, "storage": 7}', "storage is not of the form"),
        (b"[" * 100_000, "recursion"),
    ],
    ids=["missing", "binary", "cut off", "a list", "no spec", "empty", "another shape", "deep"],
)
def test_what_can_t_be_compared_is_one_page(content: bytes | None, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    if content is not None:
        file.write_bytes(content)
    status, out, err = run("--against", str(file))
    assert (status, out) == (2, "")
    assert err.rpartition("error: ")[2].count("\n  ") == 2
    assert reason in err


def test_fail_on_without_a_comparison_is_refused() -> None:
    status, _, err = run("--fail-on", "rolling")
    assert status == 2
    assert "--diff" in err


# The process


def test_a_plan_loads_no_engine_no_playbooks_and_no_cloud() -> None:
    words = "import sys; from stacks.cli.main import main; main(['plan']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, cwd=project_root(), check=True)
    modules = done.stderr.splitlines()[-1].split()
    loaded = {name.partition(".")[0] for name in modules}
    assert {"blueprints", "stacks"} <= loaded
    assert not {"pulumi", "ansible", "ansible_runner", "boto3", "botocore", "google", "kubernetes", "grpc"} & loaded
    of_running_clusters = {"components.adoption", "components.discovery", "components.rebuild", "components.removal", "blueprints.plan.changes"}
    assert not of_running_clusters & set(modules)
    assert ESCAPE not in done.stdout
    assert "starter" in done.stdout


def test_only_versions_that_differ_are_shown() -> None:
    before = changed(AWS, "software.versions", (("slurm", "24.11.5"), ("kernel", "6.8.0-1"), ("munge", "0.5.16")))
    after = changed(AWS, "software.versions", (("slurm", "24.11.5"), ("kernel", "6.8.0-2")))
    (change,) = changes.compare(spec.as_record(before), after)
    assert change_table.values(change) == ("kernel 6.8.0-1, munge 0.5.16", "kernel 6.8.0-2")


def test_why_a_machine_was_chosen_is_said_where_there_was_a_choice() -> None:
    reasons = {name: dict(plan_nodes.chosen(made)) for name, made in (("local", with_reason(hand_made.local())), ("aws", with_reason(hand_made.aws())))}
    assert reasons["local"] == {}
    assert list(reasons["aws"].values()) == [tables.Cell("the cheapest", "soft")]


def with_reason(cluster: spec.ClusterSpec) -> spec.ClusterSpec:
    assert cluster.slurm is not None
    node_sets = tuple(dataclasses.replace(one, chosen="the cheapest") for one in cluster.slurm.node_sets)
    return dataclasses.replace(cluster, slurm=dataclasses.replace(cluster.slurm, node_sets=node_sets))

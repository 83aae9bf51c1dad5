"""The page a user sees, as a whole."""

import pathlib

import pytest

from blueprints import finding, load, message_text
from blueprints.facts import Facts
from blueprints.finding import page as page_of_findings

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


def page(text: str, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, *, colour: bool = False, target: str = "local") -> str:
    monkeypatch.chdir(folder)
    pathlib.Path("mine.yaml").write_text(text)
    with pytest.raises(finding.Invalid) as invalid:
        load.load("mine.yaml", target=target, stack="test", facts=FACTS)
    assert str(invalid.value) == finding.render(invalid.value.findings)
    return finding.render(invalid.value.findings, colour=colour)


def test_everything_that_is_wrong_is_on_one_page_in_the_order_of_the_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """\
name: mine
storage:
  home: {kind: nfs, mount: /home, protect: no}
pools:
  train:
    acelerator: h100
    gpus_per_node: 8
    nodes: 0
  dev: {nodes: 1, accelerator: h10, gpus_per_node: 8}
accounts:
  research: {}
users:
  ada: {uid: 2001, account: reserch}
  bob: {uid: 2001, account: research}
"""
    assert (
        page(text, tmp_path, monkeypatch)
        == """\
mine.yaml:3:44: error: storage.home.protect must be true or false, and this is the text `no` [CW203]
    3 |   home: {kind: nfs, mount: /home, protect: no}
      |                                            ^^
  why: protect means: refuse changes that would delete or replace it
  do:  write `false`; yes, no, on and off are text

mine.yaml:6:5: error: pools.train has no key `acelerator` [CW201]
    6 |     acelerator: h100
      |     ^^^^^^^^^^
  why: an unknown key would have no effect
  do:  did you mean `accelerator`? allowed here: accelerator, busbw_percent, capacity, cpus_per_node, fabric, gpus_per_node, health, hosts, image, labels, machine, machines, memory, mig, nodes, partition, placement, rolling, scheduler, scratch, taints

mine.yaml:8:12: error: pools.train.nodes can't be `0` [CW205]
    8 |     nodes: 0
      |            ^
  why: nodes means: number of nodes, or `{min, max}` for an elastic pool. Required, unless `hosts` names them
  do:  write a number from 1 to 50000

mine.yaml:9:32: error: the catalogue has no accelerator `h10` [CW305]
    9 |   dev: {nodes: 1, accelerator: h10, gpus_per_node: 8}
      |                                ^^^
  why: the catalogue lists all accelerators (blueprints/catalog/accelerators.yaml)
  do:  did you mean `h100`? accelerators: a100, a10g, b200, b300, gb200, gb300, h100, h200, l4, l40s, rtx-pro-4500, rtx-pro-6000

mine.yaml:13:29: error: there is no account `reserch` [CW401]
   13 |   ada: {uid: 2001, account: reserch}
      |                             ^^^^^^^
  why: Slurm charges the jobs of ada to it
  do:  did you mean `research`? accounts: research; or add it under `accounts`: `reserch: {}`

mine.yaml:14:14: error: ada and bob have the same UID, 2001 [CW402]
   14 |   bob: {uid: 2001, account: research}
      |              ^^^^
  why: the operating system would treat them as one user, with the same files and processes
  do:  write another UID for one of them

6 errors
"""
    )


def test_a_fault_of_yaml_is_explained_without_yamls_own_words(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        page("name: mine\npools:\n\ttrain: {nodes: 1}\n", tmp_path, monkeypatch)
        == """\
mine.yaml:3:1: error: a tab where YAML wants spaces [CW111]
    3 |  train: {nodes: 1}
      | ^
  why: YAML indents with spaces only
  do:  replace the tab with spaces

1 error
"""
    )


def test_what_no_file_says_is_shown_as_the_setting_it_is(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        page("name: mine\npools: {a: {nodes: 1}}\n", tmp_path, monkeypatch, target="gpc")
        == """\
stack setting clusterwright:target: error: the target `gpc` does not exist [CW301]
      | clusterwright:target: gpc
  why: the target is where a stack's cluster runs; the stack setting clusterwright:target names it
  do:  did you mean `gcp`? targets: aws, gcp, local, metal

1 error
"""
    )


def test_colours_are_there_when_asked_for(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "nam: mine\nname: mine\npools: {a: {nodes: 1}}\n"
    assert "\x1b" not in page(text, tmp_path, monkeypatch)
    painted = page(text, tmp_path, monkeypatch, colour=True)
    assert painted.startswith("\x1b[1mmine.yaml:1:1\x1b[0m: \x1b[31;1merror:\x1b[0m ")
    assert "\x1b[31;1m^^^\x1b[0m" in painted


def test_a_private_key_is_shown_nowhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "b3BlbnNzaC1rZXktdjEAAAAA"
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----{secret}"
    for where in (f"ssh_keys: ['{key}']", f"ssh_keys: '{key}'", f"shell: '{key}'", f"account: '{key}'"):
        text = f"name: mine\npools: {{a: {{nodes: 1}}}}\nusers:\n  ada: {{uid: 20, {where}, '{key}': 1}}\n"
        assert secret not in page(text, tmp_path, monkeypatch)


def test_text_from_a_file_cannot_steer_the_terminal(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = page('name: "\\e[2J\u202e"\n"\\a": 1\npools: {a: {nodes: 1}}\n', tmp_path, monkeypatch)
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize(
    ("text", "column", "width", "shown", "marker"),
    [
        ("name: Bad", 7, 3, "name: Bad", "      ^^^"),
        ("name: Bad", 7, 30, "name: Bad", "      ^^^"),
        ("name:", 6, 1, "name:", "     ^"),
        ("a\tb: c", 6, 1, "a b: c", "     ^"),
        ("名: x", 4, 1, "名: x", "    ^"),
        ("x" * 100 + "here" + "y" * 200, 101, 4, "…" + "x" * 70 + "here" + "y" * 66 + "…", " " * 71 + "^^^^"),
    ],
)
def test_the_caret_stands_below_the_place(text: str, column: int, width: int, shown: str, marker: str) -> None:
    assert message_text.underlined(text, column, width) == (shown, marker)


def test_findings_are_plain_records_for_programs() -> None:
    where = finding.Position("mine.yaml", 3, 5, "  a: b", 1)
    one = finding.Finding(finding.Level.WARNING, "CW999", where, "what", "why", "remedy")
    assert finding.as_record(one) == {
        "level": "warning",
        "code": "CW999",
        "where": {"file": "mine.yaml", "line": 3, "column": 5, "path": None},
        "what": "what",
        "why": "why",
        "remedy": "remedy",
    }
    assert finding.render([]) == "no findings\n"
    assert finding.render([one, one]).endswith("\n2 warnings\n")
    assert finding.in_order([one, one]) == (one,)


def finding_at(level: finding.Level, line: int, file: str = "mine.yaml") -> finding.Finding:
    return finding.Finding(level, "CW999", finding.Position(file, line, 1) if line else None, f"what {line}", "why", "remedy")


ERROR, WARNING = finding.Level.ERROR, finding.Level.WARNING


@pytest.mark.parametrize(
    ("found", "last_line"),
    [
        ([finding_at(ERROR, 12)], "1 error"),
        ([finding_at(WARNING, 3), finding_at(ERROR, 12)], "1 error (line 12), 1 warning"),
        ([finding_at(ERROR, 3), finding_at(WARNING, 4), finding_at(ERROR, 12), finding_at(ERROR, 12)], "3 errors (lines 3 and 12), 1 warning"),
        ([finding_at(ERROR, 3), finding_at(WARNING, 4), finding_at(ERROR, 5, "other.yaml")], "2 errors (mine.yaml:3 and other.yaml:5), 1 warning"),
        ([finding_at(ERROR, 0), finding_at(WARNING, 4)], "1 error, 1 warning"),
        (
            [*(finding_at(ERROR, line) for line in range(1, 13)), finding_at(WARNING, 14)],
            "12 errors (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more), 1 warning",
        ),
    ],
)
def test_the_last_line_says_where_the_errors_are_among_others(found: list[finding.Finding], last_line: str) -> None:
    assert finding.render(found).splitlines()[-1] == last_line


def test_a_page_that_is_too_long_shows_its_errors() -> None:
    warnings = [finding_at(WARNING, line) for line in range(1, page_of_findings.SHOWN_AT_MOST + 50)]
    page = finding.render([*warnings, finding_at(ERROR, 900)])
    assert "what 900" in page
    assert "what 99 " in page.replace("\n", " ")
    assert "what 100 " not in page.replace("\n", " ")
    assert page.endswith("1 error (line 900), 149 warnings; the first 100 are shown, errors before others\n")

"""The drawing as SVG and with characters: well-formed, harmless whatever a blueprint says, and the same for the same cluster."""

import unicodedata
import xml.etree.ElementTree as ET

import pytest

from blueprints import load
from blueprints.facts import Facts
from blueprints.project import project_root
from stacks.render.picture import render
from tests.stacks.render import clusters

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "title", "desc", "style", "g", "rect", "path", "text"}


@pytest.mark.parametrize("name", clusters.CLUSTERS)
def test_a_picture_is_plain_svg_that_asks_for_nothing(name: str) -> None:
    drawn = render.as_svg(clusters.CLUSTERS[name]())
    root = ET.fromstring(drawn)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == DRAWN
    attributes = {attribute for element in root.iter() for attribute in element.attrib}
    assert attributes <= {"aria-labelledby", "class", "d", "height", "id", "role", "rx", "viewBox", "width", "x", "y"}
    style = root.find(f"{SVG}style")
    assert style is not None
    assert style.text is not None
    assert not any(word in style.text for word in ("url(", "@import", "@font-face"))
    assert drawn == render.as_svg(clusters.CLUSTERS[name]())


def test_a_picture_tells_those_who_cannot_see_it_what_it_shows() -> None:
    root = ET.fromstring(render.as_svg(clusters.pretrain()))
    named = [root.find(f"{SVG}{tag}") for tag in ("title", "desc")]
    assert root.get("aria-labelledby") == " ".join(element.get("id", "") for element in named if element is not None)
    assert [element.text for element in named if element is not None] == [
        "pretrain on AWS",
        "At most 44 nodes, 160 GPUs, Slurm 25.11. Pools: train: 16 nodes of p5.48xlarge, develop: at most 8 nodes of g6.12xlarge, prepare: at most 20 nodes of m7i.8xlarge. "
        "Shared storage: /home, /fsx, /data.",
    ]


def test_words_of_a_blueprint_are_text_in_a_picture_and_nothing_else() -> None:
    root = ET.fromstring(render.as_svg(clusters.crowd()))
    shown = [element.text for element in root.iter(f"{SVG}text")]
    assert "<script>alert(1)</script>&\"'�[2J�" in shown


def test_the_picture_of_the_readme_is_what_the_command_draws() -> None:
    spec = load.load("starter", target="local", stack="local", facts=Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000))
    assert render.as_svg(spec) == (project_root() / "docs/starter.svg").read_text(), "renew it: clusterwright graph --output docs/starter.svg"


STARTER = """\
starter on this machine
2 nodes, 16 GPUs, Slurm 24.11

    ┌────────────────────┐
    │ OUTSIDE            │
    │ 2 users            │
    │ SSH from the       │
    │ cluster's own      │
    │ network only       │
    └────────────────────┘
       ╷
       │
┌──────┼───────────────────────────────────────────────────────────────────────┐
│      │ This machine                                                          │
│      │ network 10.81.0.0/20                                                  │
│      │                                                                       │
│ ┌────▼──┬────────────────────────┬────────────────────────┐                  │
│ │ ┌─────┴──────────────┐   ┌─────┴──────────────┐   ┌─────┴──────────────┐   │
│ │ │ WAY IN             │╶─▶│ LOGIN              │╶─▶│ SCHEDULER          │   │
│ │ │ Load balancer      │   │ login-0            │   │ control-0          │   │
│ │ │ 10.81.0.2          │   │ 1 × local, 2 CPUs, │   │ 1 × local, 2 CPUs, │   │
│ │ │                    │   │ 2 GiB              │   │ 2 GiB              │   │
│ │ │                    │   │ 10.81.0.20         │   │ slurmctld,         │   │
│ │ │                    │   │                    │   │ slurmdbd           │   │
│ │ │                    │   │                    │   │ MariaDB for job    │   │
│ │ │                    │   │                    │   │ accounting         │   │
│ │ │                    │   │                    │   │ 10.81.0.10         │   │
│ │ └────────────────────┘   └────────────────────┘   └────────────────────┘   │
"""


def test_a_terminal_shows_boxes_joined_by_lines() -> None:
    drawn = render.as_text(clusters.starter(), columns=80, ascii_only=False)
    assert "[■■■■■■■■] × 2" in drawn
    assert "(simulated)" in drawn
    assert "▶" in drawn
    assert "▼" in drawn
    assert "Simulated\nThe GPUs (16 h100) are device nodes" in drawn
    assert drawn.startswith(STARTER), drawn


@pytest.mark.parametrize("name", clusters.CLUSTERS)
@pytest.mark.parametrize("columns", [40, 80, 132])
def test_no_line_is_wider_than_the_terminal_and_none_steers_it(name: str, columns: int) -> None:
    for ascii_only in (False, True):
        lines = render.as_text(clusters.CLUSTERS[name](), columns=columns, ascii_only=ascii_only).splitlines()
        assert max(map(width, lines)) <= columns
        assert all(line.isprintable() for line in lines)
        assert not ascii_only or all(line.isascii() for line in lines)


def width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)


def test_where_only_ascii_is_shown_borders_rails_and_arrows_still_are() -> None:
    drawn = render.as_text(clusters.pretrain(), columns=110, ascii_only=True)
    assert "[########] x 16" in drawn
    assert "#====" in drawn
    assert "-->| SCHEDULER" in drawn
    assert "........" in drawn


def test_wide_letters_take_two_cells() -> None:
    spec = clusters.cluster("wide", target="local", node_sets=(clusters.pool("p", 1, clusters.machine("名名名")),))
    (line,) = [line for line in render.as_text(spec, columns=80, ascii_only=False).splitlines() if "名名名" in line]
    assert width(line) == 80

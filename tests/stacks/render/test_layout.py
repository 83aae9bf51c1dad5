"""Where things stand: nothing on top of another, nothing outside of what encloses it, whatever the cluster and the width."""

import dataclasses
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stacks.render.picture import layout
from stacks.render.picture.parts import Domain, Item, Place, Rails, Role, Topology
from stacks.render.picture.shapes import Box, Drawing, Kind, Line
from stacks.render.picture.text_metrics import PICTURE, TERMINAL, Metrics, Style, ems, wrap
from stacks.render.picture.topology import topology
from tests.stacks.render import clusters

SIZES = [(PICTURE, 328), (PICTURE, 720), (PICTURE, 1040), (TERMINAL, 40), (TERMINAL, 80), (TERMINAL, 120)]


def faults(drawing: Drawing, metrics: Metrics) -> list[str]:
    """Find everything that stands where it shouldn't."""
    page = Box(0, 0, drawing.width, drawing.height)
    found = []
    boxes = [card.box for card in drawing.cards]
    found += [f"cards {one} and {other} overlap" for one, other in itertools.combinations(boxes, 2) if one.overlaps(other)]
    for card in drawing.cards:
        inside = [entry.box for entry in card.texts] + ([card.badge.box] if card.badge else []) + ([card.chips.frame] if card.chips else [])
        found += [f"{card.key}: {box} leaves the card {card.box}" for box in inside if not card.box.encloses(box)]
        found += [f"{card.key}: {one} and {other} overlap" for one, other in itertools.combinations(inside, 2) if one.overlaps(other)]
        if card.chips:
            found += [f"{card.key}: a GPU leaves its frame" for cell in card.chips.cells if not card.chips.frame.encloses(cell)]
            found += [f"{card.key}: GPUs overlap" for one, other in itertools.combinations(card.chips.cells[:40], 2) if one.overlaps(other)]
    site, *inner = [frame.box for frame in drawing.frames]
    found += [f"zone {box} leaves the site {site}" for box in inner if not site.encloses(box)]
    found += [f"{card.key} lies across a border" for card in drawing.cards for box in (site, *inner) if card.box.overlaps(box) and not box.encloses(card.box)]
    free = [*drawing.texts, *(sample.text for sample in drawing.samples), *(entry for frame in drawing.frames for entry in frame.texts)]
    found += [f"{one.content!r} over {other.content!r}" for one, other in itertools.combinations(free, 2) if one.box.overlaps(other.box)]
    found += [f"{entry.content!r} over card {box}" for entry in free for box in boxes if entry.box.overlaps(box)]
    found += [f"{entry.content!r} leaves the page" for entry in free if not page.encloses(entry.box)]
    for line in drawing.lines:
        found += [f"{line} runs through {card.key}" for card in drawing.cards if crosses(line, card.box)]
        if line.kind in (Kind.ROUTE, Kind.SPINE, Kind.RAIL):
            found += [f"{line} runs through {entry.content!r}" for entry in free if crosses(line, entry.box)]
    return found


def crosses(line: Line, box: Box) -> bool:
    """Say whether a line is inside of a box, and not only at its border."""
    return line.x1 < box.right - 1 and line.x2 > box.x and line.y1 < box.bottom - 1 and line.y2 > box.y


@pytest.mark.parametrize("name", clusters.CLUSTERS)
@pytest.mark.parametrize(("metrics", "width"), SIZES)
def test_nothing_overlaps_and_everything_is_inside_of_what_encloses_it(name: str, metrics: Metrics, width: int) -> None:
    drawing = layout.place(topology(clusters.CLUSTERS[name]()), width=width, metrics=metrics)
    assert faults(drawing, metrics) == []
    assert drawing.width == width


def test_a_fault_is_noticed() -> None:
    drawing = layout.place(topology(clusters.pretrain()), width=720, metrics=PICTURE)
    squeezed = [Box(card.box.x, card.box.y, card.box.width / 2, card.box.height) for card in drawing.cards]
    cards = tuple(dataclasses.replace(card, box=box) for card, box in zip(drawing.cards, squeezed, strict=True))
    assert any("leaves the card" in fault for fault in faults(dataclasses.replace(drawing, cards=cards), PICTURE))
    moved = tuple(dataclasses.replace(card, box=drawing.cards[0].box) for card in drawing.cards)
    assert any("overlap" in fault for fault in faults(dataclasses.replace(drawing, cards=moved), PICTURE))
    through = Line(Kind.ROUTE, 0, drawing.cards[0].box.y + 20, drawing.width, drawing.cards[0].box.y + 20)
    assert any("runs through" in fault for fault in faults(dataclasses.replace(drawing, lines=(through,)), PICTURE))


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=60)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    def items(role: Role, most: int) -> tuple[Item, ...]:
        found = []
        for number in range(draw(st.integers(0, most))):
            pool = role is Role.COMPUTE
            domain = draw(st.none() | st.builds(Domain, st.integers(1, 18), st.integers(1, 16), st.just("0 to 7,500"), st.booleans())) if pool else None
            rails = draw(st.sampled_from([None, "one", "two"])) if pool else None
            lines, marks = tuple(draw(st.lists(NAMES, max_size=3))), (draw(st.booleans()), draw(st.booleans()))
            found.append(Item(f"{role}-{number}", role, draw(NAMES), draw(NAMES), lines, *marks, domain=domain, rails=rails))
        return tuple(sorted(found, key=lambda one: (one.rails is None, one.rails or "")))

    people, hosts = Item("people", Role.OUTSIDE, "Outside", draw(NAMES)), items(Role.CONTROL, 3)
    lanes = draw(st.integers(1, 8))
    return Topology(
        title=draw(NAMES),
        subtitle="",
        description="",
        site=Place("Site", draw(NAMES)),
        zone=draw(st.none() | st.just(Place("Zone", "subnet"))),
        outside=(people,),
        edge=items(Role.SERVICE, 4),
        hosts=hosts,
        pools=items(Role.COMPUTE, 16),
        storage=items(Role.STORAGE, 8),
        rails=(Rails("one", "One", lanes, ("fast",)), Rails("two", "Two", 1, ())),
        routes=tuple(itertools.pairwise(["people", *(host.key for host in hosts)])),
        notes=(draw(NAMES),),
    )


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(topologies(), st.sampled_from(SIZES))
def test_no_cluster_of_any_shape_overlaps(shown: Topology, size: tuple[Metrics, int]) -> None:
    metrics, width = size
    assert faults(layout.place(shown, width=width, metrics=metrics), metrics) == []


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize(("metrics", "width"), SIZES)
def test_rails_below_several_rows_leave_cards_their_least_width(number: int, metrics: Metrics, width: int) -> None:
    racks = [
        Item(f"{key}-{one}", Role.COMPUTE, "", "", (), domain=Domain(18, 1, "0 to 7,500", False), rails=key) for key in ("one", "two") for one in range(number)
    ]
    shown = Topology(
        title="",
        subtitle="",
        description="",
        site=Place("Site", ""),
        zone=Place("Zone", ""),
        outside=(),
        edge=(),
        hosts=(),
        pools=tuple(racks),
        storage=(),
        rails=(Rails("one", "One", 8, ()), Rails("two", "Two", 8, ())),
        routes=(),
        notes=(),
    )
    drawing = layout.place(shown, width=width, metrics=metrics)
    assert min(card.box.width for card in drawing.cards) >= metrics.least_card
    assert faults(drawing, metrics) == []


def test_a_picture_grows_with_pools_and_not_with_nodes() -> None:
    small = layout.place(topology(clusters.cluster("a", target="aws", node_sets=(clusters.pool("p", 1, clusters.machine("m")),))), width=960, metrics=PICTURE)
    large = layout.place(
        topology(clusters.cluster("a", target="aws", node_sets=(clusters.pool("p", 7500, clusters.machine("m")),))), width=960, metrics=PICTURE
    )
    assert (large.height, len(large.lines)) == (small.height, len(small.lines))
    assert layout.place(topology(clusters.crowd()), width=960, metrics=PICTURE).height < 2500


def test_rails_of_several_rows_meet_in_one_spine() -> None:
    drawing = layout.place(topology(clusters.seven_thousand()), width=1040, metrics=PICTURE)
    (spine,) = [line for line in drawing.lines if line.kind is Kind.SPINE]
    lanes = [line for line in drawing.lines if line.kind is Kind.RAIL and line.y1 == line.y2]
    assert len(lanes) == 3 * 8
    assert all(line.x2 == spine.x1 and spine.y1 <= line.y1 <= spine.y2 for line in lanes)
    one_row = layout.place(topology(clusters.pretrain()), width=1040, metrics=PICTURE)
    assert not any(line.kind is Kind.SPINE for line in one_row.lines)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 100, ["one two three"]),
        ("1 × m7i.large, 8 CPUs, 32 GiB", 26, ["1 × m7i.large, 8 CPUs,", "32 GiB"]),
        ("a-name-that-is-too-long", 12, ["a-name-that-", "is-too-long"]),
        ("aaaaaaaa bb", 3, ["aaa", "aaa", "aa", "bb"]),
        ("", 10, []),
        ("名名名", 4, ["名名", "名"]),
    ],
)
def test_text_breaks_between_words_and_a_number_stays_with_its_unit(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width, lambda line: TERMINAL.width(line, Style.LINE)) == lines


def test_bold_and_capitals_take_more_room() -> None:
    line, title, kind = (PICTURE.faces[style] for style in (Style.LINE, Style.TITLE, Style.KIND))
    assert ems("train", title) / title.size > ems("train", line) / line.size
    assert ems("train", kind) / kind.size > ems("train", title) / title.size

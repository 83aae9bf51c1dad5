"""Report and picture in a real browser: readable on a phone, a tablet and a desk, by day and by night, with nothing fetched and nothing complained about."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints import load
from blueprints.facts import Facts
from blueprints.finding import Finding, Level, Position
from stacks.render import plan_html
from stacks.render.picture import render as picture
from stacks.render.picture import svg
from stacks.render.picture.text_metrics import PICTURE, Face, Style, ems
from tests import browser
from tests.stacks.render import clusters
from tests.stacks.render.test_plan_html import page as written

pytestmark = pytest.mark.browser

INSPECT = (Path(__file__).parent / "inspect.js").read_text()
WIDTHS = (360, 800, 1280)
FACTS = Facts(sockets=1, cores_per_socket=4, threads_per_core=2, memory_mib=64_000)
FINDINGS = tuple(
    Finding(level, "CW520", Position("mine.yaml", 12, 3), f"pool {'n' * 40} has a {level}", "nodes far apart lose bandwidth", "write `placement: packed`")
    for level in Level
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Page]:
    with browser.running(tmp_path_factory.mktemp("browser")) as running:
        yield running.page()


def problems(page: browser.Page, text: str, folder: Path, *, name: str = "page.html") -> list[str]:
    """Open a page and look at it in every size and by day and by night."""
    (folder / name).write_text(text)
    page.look(width=WIDTHS[0])
    page.open(folder / name)
    found = []
    for dark in (False, True):
        for width in WIDTHS:
            page.look(width=width, dark=dark)
            found += [f"{width} px{', dark' if dark else ''}: {problem}" for problem in page.evaluate(INSPECT)]
    return found + [f"asked for {url}" for url in page.requests()] + [f"console: {complaint}" for complaint in page.complaints()]


@pytest.mark.parametrize("name", clusters.CLUSTERS)
def test_a_report_can_be_read_everywhere(name: str, page: browser.Page, tmp_path: Path) -> None:
    spec = clusters.CLUSTERS[name]()
    assert problems(page, written(spec, audience="Teams that train", findings=FINDINGS), tmp_path) == []


@pytest.mark.parametrize(("blueprint", "target"), [("starter", "local"), ("llm-pretraining", "gcp"), ("scale-7500", "aws")])
def test_reports_of_the_library_can_be_read_everywhere(blueprint: str, target: str, page: browser.Page, tmp_path: Path) -> None:
    loaded = load.examine(blueprint, target=target, stack="test", facts=FACTS)
    assert problems(page, plan_html.of_blueprint(loaded), tmp_path) == []


def test_only_one_of_the_pictures_is_shown_and_its_text_is_as_large_as_it_should_be(page: browser.Page, tmp_path: Path) -> None:
    spec = clusters.pretrain()
    (tmp_path / "page.html").write_text(written(spec))
    page.look(width=WIDTHS[0])
    page.open(tmp_path / "page.html")
    for width, name in zip(WIDTHS, ("narrow", "medium", "wide"), strict=True):
        page.look(width=width)
        shown = page.evaluate("[...document.querySelectorAll('svg')].filter((one) => one.getBoundingClientRect().width).map((one) => one.classList[1])")
        assert shown == [name]
        shrunk = page.evaluate(f"document.querySelector('svg.{name}').getBoundingClientRect().width") / plan_html.PICTURE_WIDTHS[name]
        assert shrunk >= 0.99


def test_every_link_and_scrolling_part_is_reached_by_the_keyboard(page: browser.Page, tmp_path: Path) -> None:
    spec = clusters.pretrain()
    (tmp_path / "page.html").write_text(written(spec))
    page.look(width=1280)
    page.open(tmp_path / "page.html")
    number = page.evaluate("document.querySelectorAll('a[href], [tabindex=\"0\"]').length")
    assert number > 10
    reached = set()
    for _ in range(number):
        page.press_tab()
        reached.add(page.evaluate("(document.activeElement.getAttribute('href') || '') + document.activeElement.getAttribute('aria-label')"))
    assert len(reached) == number


def test_a_picture_of_its_own_can_be_read(page: browser.Page, tmp_path: Path) -> None:
    for name, made in clusters.CLUSTERS.items():
        drawn = picture.as_svg(made())
        (tmp_path / f"{name}.svg").write_text(drawn)
        page.look(width=1280)
        page.open(tmp_path / f"{name}.svg")
        assert page.evaluate("document.documentElement.tagName") == "svg"
        assert (page.requests(), page.complaints()) == ([], [])
        around = f"<!doctype html><html lang=en><title>x</title><body style='margin:0;width:960px;overflow:hidden'>{drawn}</body>"
        (tmp_path / "around.html").write_text(around)
        page.open(tmp_path / "around.html")
        for dark in (False, True):
            page.look(width=1280, dark=dark)
            assert page.evaluate(INSPECT) == []


def test_words_of_a_blueprint_do_nothing_in_a_browser(page: browser.Page, tmp_path: Path) -> None:
    spec = clusters.crowd()
    (tmp_path / "page.html").write_text(written(spec, audience="<img src=x onerror=alert(1)>"))
    page.open(tmp_path / "page.html")
    assert page.evaluate("document.querySelectorAll('script, img').length") == 0
    assert (page.requests(), page.complaints()) == ([], [])


@pytest.mark.parametrize("style", [Style.LINE, Style.TITLE, Style.KIND])
def test_text_is_never_wider_than_it_was_measured(style: Style, page: browser.Page, tmp_path: Path) -> None:
    face: Face = PICTURE.faces[style]
    texts = [
        *map(chr, range(33, 127)),
        "16 × p5.48xlarge",
        "all_gather over 16 nodes: 338 GB/s typical",
        "illicit jill fjord",
        "MAXIMUM WWW @@@",
        "名前",
        "→ … · ≥",
    ]
    lines = "".join(f'<text class="{style.value}" y="20">{svg.text(text.upper() if face.capitals else text)}</text>' for text in texts)
    (tmp_path / "text.html").write_text(f'<!doctype html><style>{svg.STYLE}</style><svg class="picture">{lines}</svg>')
    page.open(tmp_path / "text.html")
    widths = page.evaluate("[...document.querySelectorAll('text')].map((one) => one.getComputedTextLength())")
    assert [text for text, width in zip(texts, widths, strict=True) if width > ems(text, face) + 0.1] == []


BROKEN = {
    "the page is 2": '<div style="width:2000px">wide</div>',
    "outside of the window": '<p style="position:absolute;left:-30px;top:300px">gone to the left</p>',
    "cut off": '<div style="width:50px;overflow:hidden;white-space:nowrap">a line that is much longer than its box</div>',
    "over ": '<p style="position:absolute;left:0;top:200px">one text</p><p style="position:absolute;left:5px;top:203px">another text</p>',
    "contrast 1.": '<p style="color:#eee;background:#fff">pale</p>',
    "leaves its card": '<svg width="300" height="50"><title>t</title><desc>d</desc><g><rect class="card" width="40" height="40" fill="#fff"/><text y="20">much longer</text></g></svg>',
    "an id is there twice": '<b id="x">x</b><b id="x">y</b>',
    "leads nowhere": '<a href="#nothing">there</a>',
    "a header of nothing": "<table><caption>c</caption><tr><th>a</th></tr></table>",
    "a table without a caption": '<table><tr><th scope="col">a</th></tr></table>',
    "a picture without title or description": '<svg width="10" height="10"></svg>',
    "skips a level": "<h3>third</h3>",
    "asked for http://127.0.0.1:9": '<img src="http://127.0.0.1:9/x.png" alt="">',
    "console: ": "<script>throw new Error('broken')</script>",
}


@pytest.mark.parametrize("expected", BROKEN)
def test_what_can_not_be_read_is_noticed(expected: str, page: browser.Page, tmp_path: Path) -> None:
    text = f'<!doctype html><html lang="en"><title>t</title><body style="background:#fff;color:#000"><h1>A page</h1>{BROKEN[expected]}</body></html>'
    found = problems(page, text, tmp_path)
    assert any(expected in problem for problem in found), found


def test_a_page_without_faults_has_none(page: browser.Page, tmp_path: Path) -> None:
    text = '<!doctype html><html lang="en"><title>t</title><body style="background:#fff;color:#000"><h1>A page</h1><p>with text</p></body></html>'
    assert problems(page, text, tmp_path) == []


def test_words_that_only_dark_mode_hides_are_noticed(page: browser.Page, tmp_path: Path) -> None:
    style = "@media (prefers-color-scheme: dark) { p { color: #222; background: #111; } }"
    text = f'<!doctype html><html lang="en"><title>t</title><style>{style}</style><body style="background:#fff;color:#000"><h1>A page</h1><p>night</p></body></html>'
    found = problems(page, text, tmp_path)
    assert found
    assert all("dark" in problem for problem in found)

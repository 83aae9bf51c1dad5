"""The plan as a page: what it says beyond the terminal's tables, and that the page is harmless and complete in itself."""

import base64
import dataclasses
import hashlib
import re
from html.parser import HTMLParser

import pytest

from blueprints.finding import Finding, Level, Position
from blueprints.plan import estimate, quotas
from blueprints.spec import ClusterSpec, Exchange, Site
from stacks.render import cost, plan_html, plan_view, tables
from tests.stacks.render import clusters

FINDING = Finding(
    Level.WARNING, "CW520", Position("mine.yaml", 12, 3), "pool train has no placement", "nodes far apart lose bandwidth", "write `placement: packed`"
)


def page(spec: ClusterSpec, *, audience: str = "", findings: tuple[Finding, ...] = (), accepted: tuple[Finding, ...] = ()) -> str:
    return plan_html.page(plan_view.view(spec), audience=audience, findings=findings, accepted=accepted)


def shown(section: tables.Section, caption: str = "") -> list[dict[str, str]]:
    """The rows of a section's table, by the titles of its columns."""
    (table,) = [part for part in section.shown(detailed=True) if isinstance(part, tables.Table) and part.caption == caption]
    return [{column.title: tables.plain(cell) for column, cell in zip(table.columns, row, strict=True)} for row in table.rows]


def text(page: str) -> str:
    """What a reader sees of a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("</style>")[2]).split())


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and whether each is closed where it should be."""

    VOID = ("meta", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", clusters.CLUSTERS)
def test_a_page_carries_everything_and_runs_nothing(name: str) -> None:
    text = page(clusters.CLUSTERS[name](), audience="<b>all</b>", findings=(FINDING,))
    tags = Tags(text)
    assert tags.open == []
    assert not {"script", "img", "iframe", "object", "form", "base"} & {tag for tag, _ in tags.found}
    for _, attributes in tags.found:
        assert not any(attribute.startswith("on") or attribute in ("style", "src", "srcset") for attribute in attributes)
        assert (attributes.get("href") or "#").startswith(("#", "data:"))
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [attributes["content"] for tag, attributes in tags.found if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    assert not any(word in style for word in ("url(", "@import", "@font-face"))


def test_words_of_a_blueprint_are_text_in_a_page_and_nothing_else() -> None:
    nasty = "<script>alert(1)</script>&\"'"
    text = page(dataclasses.replace(clusters.pretrain(), description=nasty, name="<i>"), audience=nasty, findings=(dataclasses.replace(FINDING, what=nasty),))
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#34;&#39;") == 3
    assert "<script" not in text
    assert "<i>" not in text


def part(name: str, usd: float | None, *, least: int = 1, most: int = 1, as_of: str = "2026-07") -> estimate.Part:
    known = usd is not None
    return estimate.Part(name, "compute", "p5.48xlarge", least, most, usd, as_of if known else "", "ec2-instance-types" if known else "", "listed", "high", "")


def service(name: str, usd: float | None) -> estimate.Part:
    return dataclasses.replace(part(name, usd), kind="service")


@pytest.mark.parametrize(
    ("parts", "value", "label", "total"),
    [
        ([part("train", 2.5, most=2, least=2)], "$5.00", "per hour", "5.00"),
        ([part("train", 2.5, least=0, most=2)], "$0.00 to $5.00", "per hour", "0.00 to 5.00"),
        ([part("train", 98.32, least=16, most=16), service("home", None)], "$1,573.12", "per hour, at least", "at least 1,573.12"),
        ([part("train", 98.32, least=16, most=16), part("home", None)], "unknown", "per hour", "unknown (known parts: 1,573.12)"),
        ([part("train", 1, least=0, most=2), part("home", None), service("nat", None)], "unknown", "per hour", "unknown (known parts: 0.00 to 2.00)"),
    ],
)
def test_cost_is_a_sum_a_range_at_least_what_is_known_or_unknown(parts: list[estimate.Part], value: str, label: str, total: str) -> None:
    found = estimate.Estimate(owned=False, region="us-east-2", parts=tuple(parts))
    figure = cost.figure(found)
    assert figure is not None
    assert figure[:2] == (value, label)
    missing = [one.name for one in parts if one.unit_usd_per_hour is None]
    assert figure[2].endswith(f"without {', '.join(missing)}" if missing else "per month"), "all that is missing is named"
    section = tables.Section("Cost", (cost.sums(found), cost.parts(found)))
    assert shown(section)[-1]["an hour"] == total
    assert [row["each, an hour"] for row in shown(section, "Cost by part")] == [
        "unknown" if one.unit_usd_per_hour is None else f"{one.unit_usd_per_hour:.2f}" for one in parts
    ]


def test_what_is_owned_costs_nothing_by_the_hour() -> None:
    view = plan_view.view(clusters.starter())
    assert "no hourly cost" in text(page(clusters.starter()))
    assert "per hour" not in [one.label for one in view.figures]


def test_the_numbers_at_the_top_are_those_of_the_cluster() -> None:
    view = plan_view.view(clusters.pretrain())
    assert [(one.value, one.label) for one in view.figures[:2]] == [("44", "nodes"), ("160", "GPUs")]
    assert (view.figures[3].value, view.figures[3].note) == ("16.41 TiB", "3 file systems")
    assert view.place == "AWS in us-east-2"
    assert "For: Teams that train" in text(page(clusters.pretrain(), audience="Teams that train"))


def test_storage_says_on_the_page_what_the_plan_says() -> None:
    view = plan_view.view(clusters.pretrain())
    assert {row["mount"]: (row["backups"], row["encrypted"], row["when removed"]) for row in shown(view.storage)} == {
        "/home": ("35 daily", "yes", "refused: protected"),
        "/fsx": ("7 daily", "yes", "refused: protected"),
        "/data": ("", "yes", "files stay"),
    }
    (table,) = view.storage.shown(detailed=False)
    assert isinstance(table, tables.Table)
    assert "encrypted" not in [column.title for column in table.columns], "the terminal has no room for it"


def test_a_rehearsals_files_are_neither_encrypted_nor_kept() -> None:
    row, *_ = shown(plan_view.view(clusters.starter()).storage)
    assert (row["encrypted"], row["when removed"]) == ("no: simulated", "files are deleted")


def test_nothing_is_claimed_of_files_that_only_a_cloud_would_have() -> None:
    starter = clusters.starter()
    asked = dataclasses.replace(starter.storage[0], backup_days=14, exchange=Exchange("s3://results", import_files=True, export_files=True))
    row, *_ = shown(plan_view.view(dataclasses.replace(starter, storage=(asked,))).storage)
    assert (row["backups"], row["what"]) == ("none: simulated", "nfs, without the files of s3://results")


def test_what_lies_on_the_site_s_disks_is_encrypted_as_they_are() -> None:
    starter = clusters.starter()
    exported = dataclasses.replace(starter.storage[0], simulated=False, product="an NFS export of the controller", storage_class="controller-export")
    row, *_ = shown(plan_view.view(dataclasses.replace(starter, target="metal", storage=(exported,))).storage)
    assert row["encrypted"] == "as the site's disks are"


def test_expected_bandwidth_has_its_floor_and_doubts() -> None:
    row, *_ = shown(plan_view.view(clusters.nine_networks()).fabric)
    assert row["expected busbw"] == "all-gather of 8 GiB, 2 nodes: 188.7 GB/s (provisional)"
    assert row["fails below"] == "170 GB/s"
    lowered = clusters.nine_networks().with_node_sets(
        lambda one: (
            dataclasses.replace(
                one, fabric=dataclasses.replace(one.fabric, expected=dataclasses.replace(one.fabric.expected, floor_gbs=136, lowered_from_gbs=170))
            )
            if one.fabric and one.fabric.expected
            else one
        )
    )
    assert shown(plan_view.view(lowered).fabric)[0]["fails below"] == "136 GB/s (lowered by the blueprint from 170)"
    assert shown(plan_view.view(clusters.rack()).fabric)[0]["expected busbw"] == "no figure is known"


def test_findings_have_reason_remedy_and_place_and_accepted_ones_come_last() -> None:
    seen = text(page(clusters.pretrain(), findings=(FINDING,), accepted=(dataclasses.replace(FINDING, code="CW999"),)))
    for words in (
        FINDING.what,
        FINDING.why,
        FINDING.remedy,
        "CW520, mine.yaml:12:3",
        "Accepted in the blueprint for a time: pool train has no placement (CW999).",
    ):
        assert words in seen
    assert "The checks found nothing." in text(page(clusters.pretrain()))


def test_quotas_say_what_to_ask_for() -> None:
    need = quotas.QuotaNeed("P instances", "L-417A185B", 3072, "vcpus", 0, ("train 16 × p5.48xlarge", "debug 1 × p5.48xlarge"))
    (row,) = shown(tables.Section("", (plan_view.quota_table([need]),)))
    assert (row["needed"], row["new accounts have"], row["to ask for"]) == ("3,072 vcpus", "0", "yes")
    assert 'id="quotas-needed"' not in page(clusters.starter())


def test_accounts_are_listed_with_their_limits() -> None:
    (row,) = shown(plan_view.view(clusters.pretrain()).people, "Accounts")
    assert (row["account"], row["purpose"], row["users"]) == ("research", "Everyone", "ada, grace")


def test_every_link_of_the_page_leads_to_a_section() -> None:
    made = page(clusters.pretrain())
    ids = re.findall(r' id="([^"]+)"', made)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', made)) <= set(ids)


@pytest.mark.parametrize("site", [None, Site("ubuntu", 22, ())])
def test_a_plan_of_servers_says_that_rolls_wait_for_a_maintenance_window(site: Site | None) -> None:
    shown_text = text(page(dataclasses.replace(clusters.pretrain(), site=site)))
    assert "first tuesday from 02:00 UTC for 4 h" in shown_text
    assert ("rolls of kernel and drivers wait for a window" in shown_text) is (site is not None)

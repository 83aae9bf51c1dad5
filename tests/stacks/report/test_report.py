"""The report: what it says of a cluster, and that the page is harmless and complete in itself."""

import base64
import dataclasses
import hashlib
import re
from html.parser import HTMLParser

import pytest

from blueprints import estimate, quotas
from blueprints.finding import Finding, Level, Position
from blueprints.spec import ClusterSpec
from stacks.render.report import html, make, sections
from stacks.render.report.contents import Report, Section
from tests.stacks.report import clusters

FINDING = Finding(
    Level.WARNING, "CW520", Position("mine.yaml", 12, 3), "pool train has no placement", "nodes far apart lose bandwidth", "write `placement: packed`"
)


def report(spec: ClusterSpec, *, audience: str = "", findings: tuple[Finding, ...] = (), accepted: tuple[Finding, ...] = ()) -> Report:
    return sections.report(
        spec,
        audience=audience,
        findings=findings,
        accepted=accepted,
        estimate=estimate.estimate(spec),
        quotas=quotas.needed(spec),
        uncounted=quotas.unknown(spec),
    )


def page(spec: ClusterSpec, *, audience: str = "", findings: tuple[Finding, ...] = ()) -> str:
    return html.page(report(spec, audience=audience, findings=findings), make.pictures(spec))


def section(told: Report, key: str) -> Section:
    (found,) = [one for one in told.sections if one.key == key]
    return found


@pytest.mark.parametrize(("name", "way_out"), [("rack", "the site's own"), ("pretrain", "through address translation")])
def test_the_way_out_of_a_sites_network_is_the_sites(name: str, way_out: str) -> None:
    assert dict(section(report(clusters.CLUSTERS[name]()), "network").terms)["Way out"] == way_out


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
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;") == 3
    assert "<script" not in text
    assert "<i>" not in text


def test_the_numbers_at_the_top_are_those_of_the_cluster() -> None:
    told = report(clusters.pretrain(), audience="Teams that train")
    assert [(one.value, one.label) for one in told.figures[:2]] == [("44", "nodes"), ("160", "GPUs")]
    assert (told.figures[3].value, told.figures[3].note) == ("16.41 TiB", "3 file systems")
    assert (told.subtitle, told.audience) == ("AWS, us-east-2", "Teams that train")


def part(name: str, usd: float | None, *, least: int = 1, most: int = 1, as_of: str = "2026-07") -> estimate.Part:
    known = usd is not None
    return estimate.Part(name, "compute", "p5.48xlarge", least, most, usd, as_of if known else "", "ec2-instance-types" if known else "", "listed", "high", "")


def service(name: str, usd: float | None) -> estimate.Part:
    return dataclasses.replace(part(name, usd), kind="service")


@pytest.mark.parametrize(
    ("parts", "value", "label", "total"),
    [
        ([part("train", 2.5, most=2, least=2)], "$5.00", "per hour", "$5.00"),
        ([part("train", 2.5, least=0, most=2)], "$0.00 to $5.00", "per hour", "$0.00 to $5.00"),
        ([part("train", 98.32, least=16, most=16), service("home", None)], "$1,573.12", "per hour, at least", "at least $1,573.12"),
        ([part("train", 98.32, least=16, most=16), part("home", None)], "unknown", "per hour", "unknown (known parts: $1,573.12)"),
        ([part("train", 1, least=0, most=2), part("home", None), service("nat", None)], "unknown", "per hour", "unknown (known parts: $0.00 to $2.00)"),
    ],
)
def test_cost_is_a_sum_a_range_at_least_what_is_known_or_unknown(parts: list[estimate.Part], value: str, label: str, total: str) -> None:
    found = estimate.Estimate(owned=False, region="us-east-2", parts=tuple(parts))
    spec = clusters.pretrain()
    told = sections.report(spec, audience="", findings=(), accepted=(), estimate=found, quotas=(), uncounted=())
    figure = told.figures[2]
    assert (figure.value, figure.label) == (value, label)
    missing = [one.name for one in parts if one.unit_usd_per_hour is None]
    assert figure.note.endswith(f"without {', '.join(missing)}" if missing else "per month"), "all that is missing is named"
    cost = section(told, "cost")
    assert cost.tables[0].totals[0][4] == total
    assert cost.tables[0].rows[-1][3] == ("unknown" if not found.complete else "$2.50")
    assert cost.tables[0].totals[0][7] == (f"no price is known of {', '.join(missing)}" if missing else "")
    assert "2026-07" in cost.paragraphs[0]


def test_what_is_owned_costs_nothing_by_the_hour() -> None:
    told = report(clusters.starter())
    assert section(told, "cost").paragraphs == ("Nothing here is paid for by the hour: the machines are there already.",)
    assert "per hour" not in [one.label for one in told.figures]


def test_storage_says_what_protects_it_and_what_happens_in_the_end() -> None:
    (stored,) = section(report(clusters.pretrain()), "storage").tables
    assert {row[0]: row[4:] for row in stored.rows} == {
        "/home": ("deleting it is refused, 35 daily backups, encrypted", "it stays, protected"),
        "/fsx": ("deleting it is refused, 7 daily backups, encrypted", "it stays, protected"),
        "/data": ("no backups, encrypted", "the data stays"),
    }


def test_expected_bandwidth_stands_with_its_floor_and_doubts() -> None:
    (expected,) = section(report(clusters.nine_networks()), "bandwidth").tables
    assert expected.rows == (("train", "GPUDirect-TCPXO", "200 Gb/s", "all-gather", "2", "8 GiB", "188.7 GB/s", "170 GB/s (provisional)"),)
    assert section(report(clusters.rack()), "bandwidth").tables[0].rows[0][3] == "nothing is known"
    assert not any(one.key == "bandwidth" for one in report(clusters.starter()).sections)


def test_findings_stand_with_reason_remedy_and_place_and_accepted_ones_apart() -> None:
    told = section(report(clusters.pretrain(), findings=(FINDING,), accepted=(dataclasses.replace(FINDING, code="CW999"),)), "findings")
    (notice,) = told.notices
    assert (notice.what, notice.why, notice.remedy, notice.place) == (FINDING.what, FINDING.why, FINDING.remedy, "CW520, mine.yaml:12:3")
    assert told.points == ("Accepted in the blueprint for a time: pool train has no placement (CW999).",)
    assert section(report(clusters.pretrain()), "findings").paragraphs == ("The checks found nothing to say.",)


def test_what_is_simulated_untested_provisional_or_not_known_yet_is_said() -> None:
    simulated = section(report(clusters.starter()), "reality").points
    assert simulated[:3] == clusters.starter().simulated
    assert "simulated hosts only" in simulated[3]
    assert any("bandwidth of train is provisional" in point for point in section(report(clusters.nine_networks()), "reality").points)
    late = section(report(clusters.kubernetes()), "reality").points
    assert "Not known yet: the newest image of profile ubuntu-24.04-aws." in late
    assert any("has never run" in point for point in late)
    real = dataclasses.replace(clusters.pretrain(), software=dataclasses.replace(clusters.pretrain().software, tested_on="p5.48xlarge"))
    assert section(report(real), "reality").paragraphs == ("Nothing is simulated, and nothing is left open.",)


def test_quotas_say_what_to_ask_for() -> None:
    need = quotas.QuotaNeed("P instances", "L-417A185B", 3072, "vcpus", 0, ("train 16 × p5.48xlarge", "debug 1 × p5.48xlarge"))
    spec = clusters.pretrain()
    found = estimate.estimate(spec)
    told = sections.report(spec, audience="", findings=(), accepted=(), estimate=found, quotas=(need,), uncounted=("m9.large (spot)",))
    asked = section(told, "quotas")
    assert asked.tables[0].rows == (("P instances", "L-417A185B", "3,072 vcpus", "0", "yes", "train 16 × p5.48xlarge, debug 1 × p5.48xlarge"),)
    assert "m9.large (spot)" in asked.paragraphs[1]
    assert not any(one.key == "quotas" for one in report(clusters.starter()).sections)


def test_access_names_the_way_in_people_and_windows() -> None:
    terms = dict(section(report(clusters.pretrain()), "access").terms)
    assert terms["Way in"] == "2 login nodes behind a load balancer"
    assert terms["Allowed from"] == "203.0.113.0/24, 198.51.100.0/24"
    assert terms["Users"] == "2 users in the blueprint; more come from ldaps://ldap.example.org"
    assert terms["Administrators"] == "ada"
    assert terms["Maintenance"] == "the first tuesday from 02:00 UTC for 4 hours"
    assert dict(section(report(clusters.kubernetes()), "access").terms)["Way in"] == "no login nodes; the API of EKS"

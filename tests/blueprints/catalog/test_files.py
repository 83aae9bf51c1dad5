import csv
import pathlib

import pytest

from blueprints import catalog, read
from blueprints.catalog import files

YAML = sorted(files.FOLDER.rglob("*.yaml"))
CSV = sorted(files.FOLDER.rglob("*.csv"))


def name(path: pathlib.Path) -> str:
    return str(path.relative_to(files.FOLDER).with_suffix(""))


@pytest.mark.parametrize("path", YAML, ids=name)
def test_the_fast_reader_reads_what_the_strict_one_does(path: pathlib.Path) -> None:
    assert files.mapping(name(path)) == read.read(path).values


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2026-11-21", "2026-11-21"),
        ("no", "no"),
        ("on", "on"),
        ("22:05", "22:05"),
        ("0123", "0123"),
        ("12_000", "12_000"),
        ("nvlink", "nvlink"),
        ("truely", "truely"),
        ("true", True),
        ("null", None),
        ("12", 12),
        ("-0.5", -0.5),
    ],
)
def test_the_fast_reader_takes_only_plain_numbers_and_truth_for_what_they_are(
    written: str, value: object, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    (tmp_path / "made-up.yaml").write_text(f"key: {written}\n{written}: key\n")
    files.mapping.cache_clear()
    try:
        read_back = files.mapping("made-up")
    finally:
        files.mapping.cache_clear()
    assert read_back == {"key": value, value: "key"}


@pytest.mark.parametrize("path", CSV, ids=name)
def test_every_row_of_a_table_has_every_cell_without_spaces_around_it(path: pathlib.Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, strict=True)
    assert len(head) == len(set(head))
    assert rows
    for row in rows:
        assert len(row) == len(head)
        assert row == [cell.strip() for cell in row]


@pytest.mark.parametrize("path", CSV, ids=name)
def test_every_row_of_a_table_names_a_known_source_and_a_date(path: pathlib.Path) -> None:
    for row in files.table(name(path)):
        assert row["source"] in catalog.sources()
        assert row["as_of"].startswith("20")


def test_every_source_says_what_it_is_and_where() -> None:
    for source in catalog.sources().values():
        assert source.title
        assert source.where
        assert source.date.startswith("20")
        assert "://" not in source.where


def test_an_unknown_source_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        catalog.source("hearsay")

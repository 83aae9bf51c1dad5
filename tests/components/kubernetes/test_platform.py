"""The order in which add-ons are installed."""

from components.kubernetes import platform


def test_an_add_on_comes_after_those_that_it_uses() -> None:
    assert platform.after_needs([("trainer", "v2.1.0"), ("kueue", "v0.12.3"), ("jobset", "v0.10.1")]) == [
        ("kueue", "v0.12.3"),
        ("jobset", "v0.10.1"),
        ("trainer", "v2.1.0"),
    ]

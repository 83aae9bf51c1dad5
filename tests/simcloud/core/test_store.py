"""The journal brings a killed server's things back."""

from pathlib import Path

from tests.simcloud.core.store import Interface, Store, Thing


def test_a_journal_brings_back_all_that_there_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal")
    name = store.new_hex()
    host = Thing("ec2.Instance", "i-1", "us-east-1", {"api": {"a": [1, None]}}, "api", 5.0, (Interface("subnet-1", "10.0.0.4", ("sg-1",), "eni-1"),))
    store.put(host)
    gone = store.put(Thing("ec2.Vpc", "vpc-1", "us-east-1", {}, "hand", 6.0))
    store.remove(gone)
    store.set_clock(60)
    store.set_setting("capacity", {"p5.48xlarge": 1})
    store.close()
    with (tmp_path / "journal").open("a") as journal:
        journal.write('{"put": {"kind"')  # killed in the middle of a line

    again = Store(tmp_path / "journal")
    assert list(again.everything()) == [host]
    assert again.taken("subnet-1") == {"10.0.0.4"}
    assert again.clock.offset_s == 60
    assert again.settings == {"capacity": {"p5.48xlarge": 1}}
    assert again.new_hex() != name
    again.put(gone)
    again.close()

    again = Store(tmp_path / "journal")
    assert list(again.everything()) == [host, gone]
    again.reset()
    assert list(again.everything()) == []
    assert again.taken("subnet-1") == set()
    again.close()

"""What `down` and `up` hand to the resources that release hosts."""

import argparse

import pytest

from components import release_choices
from components.release_choices import Choices
from stacks.cli import options, variables


def test_what_was_decided_reaches_the_resources() -> None:
    assert release_choices.received() == Choices()
    with variables.set_for(release_choices.environment(abandon="gpu-[003-004],head-1", delete_data=True)):
        assert release_choices.received() == Choices(frozenset({"gpu-003", "gpu-004", "head-1"}), deletes_data=True)
    assert release_choices.received() == Choices()


def test_a_list_of_hosts_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    options.abandon(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--abandon", "gpu-[003"])
    assert "its brackets don't match" in capsys.readouterr().err

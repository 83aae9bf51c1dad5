"""The facts in `data/` are those of the packages that this project uses."""

import json
import re

from blueprints.project import project_root
from tests.simcloud.aws import facts


def test_the_arguments_are_those_of_the_pinned_sdk() -> None:
    """When this fails: `python -m tests.simcloud.aws.extract`, where the pinned pulumi-aws and cfn-lint are installed."""
    (pinned,) = re.findall(r"^pulumi-aws==(\S+)", (project_root() / "constraints-aws.txt").read_text(), re.MULTILINE)
    assert facts.sdk()["package"] == f"pulumi-aws {pinned}"


def test_every_kind_that_a_program_can_declare_has_its_arguments() -> None:
    assert [name for name, kind in facts.kinds().items() if not kind.token] == []
    named = json.loads((facts.DATA / "cloudformation.json").read_text())
    assert named["package"].startswith("cfn-lint ")

"""What discovery tells of instances and attachments, as findings. Pure."""

from blueprints.finding import Level
from components.discovery import Attachment, Attachments, Deviation, Instances, Stray
from stacks.drift import attached, unrecorded
from stacks.drift.report import texts
from tests.drift.examples import told


def test_a_stray_is_a_warning_and_a_deviation_names_what_differs() -> None:
    seen = Instances((Stray("i-1", "it is no node", "p5"),), (Deviation("i-2", "train-0", "security groups", "sg-hosts", "sg-open"),), (("i-3", "it starts"),))
    found, unchecked = unrecorded.findings(seen)
    assert told(found) == [("CW706", "instance i-1"), ("CW707", "instance i-2 (train-0): security groups")]
    assert found[0].level is Level.WARNING
    assert (texts(found[1]).desired, texts(found[1]).actual) == ("sg-hosts", "sg-open")
    assert [(one.where, one.why) for one in unchecked] == [("instance i-3", "it starts")]


def test_an_unrecorded_attachment_is_a_finding() -> None:
    seen = Attachments((Attachment("network vpc", "peering pcx-1", "another network reaches the hosts through it", "active"),))
    assert told(attached.findings(seen)) == [("CW708", "network vpc: peering pcx-1")]


def test_a_question_that_the_account_refused_is_named() -> None:
    [one] = attached.unchecked(Attachments(refused={"listener": "AccessDenied"}))
    assert (one.where, one.why) == ("unrecorded listener", "it could not be listed: AccessDenied")

"""What to do about a check that could not be made."""

import pytest

from stacks.drift import hints

SAID = [
    ("validating provider credentials: api error ExpiredToken: The security token included in the request is expired", "log in"),
    ("An error occurred (RequestExpired) when calling the DescribeInstances operation", "log in"),
    ("error: decrypting secure value: incorrect passphrase", "passphrase"),
    ("error: no stack named 'nosuch' found", "stack ls"),
    ("Unable to locate credentials", "no credentials"),
    (
        'error: read ".pulumi/meta.yaml": operation error S3: GetObject, get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found',
        "no credentials",
    ),
    ("api error AccessDenied: User is not authorized to perform: ec2:DescribeVpcs", "ReadOnlyAccess"),
]


@pytest.mark.parametrize(("said", "does"), SAID)
def test_what_is_known_to_help_is_said_on_a_line_of_its_own(said: str, does: str) -> None:
    first, _, second = hints.with_advice(said).partition("\n")
    assert first == said
    assert does in second


def test_of_what_is_unknown_nothing_is_said() -> None:
    assert hints.with_advice("the moon fell down") == "the moon fell down"

"""Signatures are checked as the service does it, with botocore on the other side."""

import datetime as dt

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from tests.simcloud.aws.api import signature
from tests.simcloud.aws.keys import ACCESS_KEY, SECRET_KEY
from tests.simcloud.core.failure import Refused
from tests.simcloud.core.listening import Request

KEYS = {ACCESS_KEY: SECRET_KEY}
BODY = b"Action=DescribeVpcs&Version=2016-11-15"


def signed(*, secret: str = SECRET_KEY) -> Request:
    asked = botocore.awsrequest.AWSRequest("POST", "http://127.0.0.1:1234/", headers={"Host": "127.0.0.1:1234"}, data=BODY)
    botocore.auth.SigV4Auth(botocore.credentials.Credentials(ACCESS_KEY, secret), "ec2", "us-east-1").add_auth(asked)
    return Request("POST", "/", {name.lower(): value for name, value in asked.headers.items()}, BODY)


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def test_a_good_signature_is_taken() -> None:
    assert signature.scope(signed()) == ("us-east-1", "ec2")
    signature.check(signed(), KEYS, now=now())


@pytest.mark.parametrize(
    ("request_of", "moment", "keys", "code"),
    [
        (lambda: signed(secret="another"), now, KEYS, "SignatureDoesNotMatch"),
        (signed, lambda: now() + dt.timedelta(minutes=16), KEYS, "RequestExpired"),
        (signed, now, {}, "AuthFailure"),
    ],
)
def test_a_bad_signature_is_refused(request_of: object, moment: object, keys: dict[str, str], code: str) -> None:
    assert callable(request_of)
    assert callable(moment)
    with pytest.raises(Refused) as refused:
        signature.check(request_of(), keys, now=moment())
    assert refused.value.code == code


def test_a_changed_body_is_refused_and_so_is_none() -> None:
    asked = signed()
    with pytest.raises(Refused) as refused:
        signature.check(Request("POST", "/", asked.headers, BODY + b"&DryRun=true"), KEYS, now=now())
    assert refused.value.code == "SignatureDoesNotMatch"
    with pytest.raises(Refused) as refused:
        signature.scope(Request("POST", "/", {}, BODY))
    assert refused.value.code == "MissingAuthenticationToken"

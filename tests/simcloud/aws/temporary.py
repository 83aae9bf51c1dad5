"""Temporary credentials of an instance's role: given by the metadata service, known to the API's door. Nothing is kept of them: they follow from a seed that the store keeps."""

import base64
import dataclasses
import datetime as dt
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from ..core.store import Thing
from . import facts
from .cloud import Cloud

PREFIX = "ASIA"
"""What temporary access keys begin with (IAM user guide, "IAM identifiers")."""
SEED = "seed of temporary keys"
LAST_S = 6 * 3600  # IAM user guide, "Using an IAM role to grant permissions to applications running on Amazon EC2"
KEY_LETTERS = 16


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """Who signs with such keys."""

    key: str
    role: str
    instance: str
    secret: str
    token: str

    @property
    def arn(self) -> str:
        return f"arn:aws:sts::{facts.ACCOUNT}:assumed-role/{self.role}/{self.instance}"


def seed(cloud: Cloud) -> bytes:
    """Give the cloud's seed, made when it is first asked for."""
    if SEED not in cloud.store.settings:
        cloud.store.set_setting(SEED, secrets.token_hex(16))
    return str(cloud.store.settings[SEED]).encode()


def role_of(cloud: Cloud, thing: Thing) -> Thing | None:
    """Give the role that an instance has by its profile."""
    profile = thing["api"].get("IamInstanceProfile")
    found = cloud.find("iam.InstanceProfile", profile["Arn"]) or cloud.find("iam.InstanceProfile", profile["Arn"].rpartition("/")[2]) if profile else None
    return cloud.find("iam.Role", str(found.get("role"))) if found else None


def credentials(cloud: Cloud, thing: Thing, role: Thing) -> Mapping[str, Any]:
    """Give what the metadata service gives."""
    now = dt.datetime.now(dt.UTC)
    caller = _caller(cloud, thing, role)
    return {
        "Code": "Success", "LastUpdated": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "Type": "AWS-HMAC", "AccessKeyId": caller.key, "SecretAccessKey": caller.secret,
        "Token": caller.token, "Expiration": (now + dt.timedelta(seconds=LAST_S)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }  # fmt: skip


def caller(cloud: Cloud, key: str) -> Caller | None:
    """Say whose access key it is: a living instance's, with the role that it has now."""
    if not key.startswith(PREFIX):
        return None
    for thing in cloud.store.all("ec2.Instance"):
        if not thing.get("ended") and _key(cloud, thing) == key and (role := role_of(cloud, thing)):
            return _caller(cloud, thing, role)
    return None


def _key(cloud: Cloud, thing: Thing) -> str:
    return PREFIX + base64.b32encode(_derived(cloud, "key", thing.id)).decode()[:KEY_LETTERS]


def _caller(cloud: Cloud, thing: Thing, role: Thing) -> Caller:
    name = str(role["name"])
    secret, token = (base64.b64encode(_derived(cloud, what, f"{thing.id} {name}")).decode() for what in ("secret", "session"))
    return Caller(_key(cloud, thing), name, thing.id, secret, token)


def _derived(cloud: Cloud, what: str, text: str) -> bytes:
    return hmac.new(seed(cloud), f"{what} {text}".encode(), hashlib.sha256).digest()

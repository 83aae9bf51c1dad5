"""Secrets Manager: the value of a secret.

Source: Secrets Manager API reference, GetSecretValue.
"""

from collections.abc import Mapping
from typing import Any

from ...core.failure import Refused
from ..cloud import Cloud

CURRENT = "AWSCURRENT"


def get_secret_value(cloud: Cloud, asked: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    secret = cloud.find("secretsmanager.Secret", asked["SecretId"], region=region)
    stage = asked.get("VersionStage", CURRENT)
    versions = [one for one in cloud.store.all("secretsmanager.SecretVersion") if secret and one["secretId"] == secret.id]
    if secret is None or not versions or stage != CURRENT:
        what = "the specified secret." if secret is None else f"the specified secret value for staging label: {stage}"
        raise Refused("ResourceNotFoundException", f"Secrets Manager can't find {what}")
    newest = versions[-1]
    value = {"SecretString": newest["secretString"]} if newest.get("secretString") is not None else {"SecretBinary": newest["secretBinary"]}
    return {
        "ARN": secret.id,
        "Name": secret["name"],
        "VersionId": newest.id.rpartition("|")[2].ljust(32, "0"),
        "VersionStages": [CURRENT],
        **value,
        "CreatedDate": newest.made_s,
    }


OPERATIONS = {"secretsmanager.GetSecretValue": get_secret_value}

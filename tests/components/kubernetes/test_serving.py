"""Certificates that an add-on's webhooks have before its controller starts."""

import base64
import datetime as dt
import subprocess
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from blueprints import catalog
from components.kubernetes import serving
from components.kubernetes.api import Key

SERVICE = "queue-webhooks.queue-system.svc"
SECRET: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "served", "namespace": "queue-system"}}
WEBHOOKS = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "queues"},
    "webhooks": [{"name": "a", "clientConfig": {"service": {"name": "queue-webhooks", "namespace": "queue-system", "path": path}}} for path in ("/a", "/b")],
}


def entries() -> dict[str, bytes]:
    return {name: base64.b64decode(text) for name, text in serving.content("queue-ca", [SERVICE])["data"].items()}


def is_trusted(found: dict[str, bytes], name: str, folder: Path, *, at: dt.datetime) -> bool:
    for entry, text in found.items():
        (folder / entry).write_bytes(text)
    words: list[str | Path] = [
        "-CAfile",
        folder / "ca.crt",
        "-purpose",
        "sslserver",
        "-verify_hostname",
        name,
        "-attime",
        str(int(at.timestamp())),
        folder / "tls.crt",
    ]
    return subprocess.run(["openssl", "verify", *words], capture_output=True, check=False).returncode == 0


def test_an_empty_secret_is_for_the_names_of_the_webhooks() -> None:
    assert serving.secrets([WEBHOOKS, SECRET, {**SECRET, "data": {"a": ""}}]) == [Key("v1", "Secret", "queue-system", "served")]
    assert serving.names([WEBHOOKS, SECRET]) == [SERVICE]


def test_a_client_that_knows_the_authority_trusts_the_server_until_its_controller_has_renewed_it(tmp_path: Path) -> None:
    found = entries()
    lookahead = dt.datetime.now(dt.UTC) + dt.timedelta(days=90)
    assert is_trusted(found, SERVICE, tmp_path, at=lookahead)
    assert not is_trusted(found, "other.queue-system.svc", tmp_path, at=lookahead)
    assert not is_trusted(found, SERVICE, tmp_path, at=lookahead + dt.timedelta(days=serving.SERVER_DAYS))


def test_the_controller_can_sign_with_the_key_of_the_authority() -> None:
    found = entries()
    assert found["ca.key"].startswith(b"-----BEGIN RSA PRIVATE KEY-----")
    key = serialization.load_pem_private_key(found["ca.key"], password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    assert key.public_key() == x509.load_pem_x509_certificate(found["ca.crt"]).public_key()


def test_each_authority_is_that_of_an_add_on() -> None:
    assert serving.AUTHORITIES.keys() <= catalog.addons().keys()

"""Certificates with which controllers of add-ons serve their webhooks, there before their pods start.

A controller that finds its Secret empty makes a certificate, and then waits until the kubelet shows it the new content: a minute or more, looked for at growing intervals. One that finds a valid certificate serves at once.
It renews the certificate itself, 90 days before the end, with the key of the authority.

Source: open-policy-agent/cert-controller v0.14, pkg/rotator (names of the entries, `ValidCert`, RSA keys in PKCS #1).
"""

import base64
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from .api import Key, Object, key_of

AUTHORITIES: Mapping[str, str] = {"kueue": "kueue-ca", "jobset": "jobset-ca", "trainer": "kubeflow-trainer-ca", "metallb": "cert"}
"""Add-on → the name that its controller requires of the authority. Source: pkg/util/cert of each, and MetalLB's internal/k8s; with another name it would make an authority of its own."""
AUTHORITY_DAYS, SERVER_DAYS = 3650, 365
KEY_BITS = 2048
CLOCK_SKEW = dt.timedelta(hours=1)


def secrets(wanted: Sequence[Object]) -> list[Key]:
    """Name the Secrets of an add-on that its controller fills. Pure."""
    return [key_of(one) for one in wanted if one["kind"] == "Secret" and not one.get("data") and not one.get("stringData")]


def names(wanted: Sequence[Object]) -> list[str]:
    """Give the names under which the API server reaches an add-on's webhooks. Pure."""
    webhooks = [hook for one in wanted if one["kind"].endswith("WebhookConfiguration") for hook in one.get("webhooks", ())]
    services = [hook["clientConfig"]["service"] for hook in webhooks]
    return sorted({f"{one['name']}.{one['namespace']}.svc" for one in services})


def content(authority: str, server_names: Sequence[str]) -> dict[str, Any]:
    """Make an authority and a certificate of it; give the fields of the Secret.

    Args:
        authority: the name of the authority.
        server_names: whom the certificate is for.
    """
    issuer, owner = (rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS) for _ in range(2))
    top, name = _name(authority), _name(server_names[0])
    its_own = _certificate(top, top, issuer, issuer, [authority], days=AUTHORITY_DAYS, is_authority=True)
    server = _certificate(name, top, owner, issuer, server_names, days=SERVER_DAYS, is_authority=False)
    entries = {"ca.crt": _pem(its_own), "ca.key": _private(issuer), "tls.crt": _pem(server), "tls.key": _private(owner)}
    return {"data": {entry: base64.b64encode(text).decode() for entry, text in entries.items()}}


def _certificate(
    subject: x509.Name, by: x509.Name, key: rsa.RSAPrivateKey, signed_with: rsa.RSAPrivateKey, for_names: Sequence[str], *, days: int, is_authority: bool
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    usage = x509.KeyUsage(
        digital_signature=True, key_encipherment=True, key_cert_sign=is_authority, content_commitment=False, data_encipherment=False, key_agreement=False,
        crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    found = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in for_names]), critical=False)
    )
    if not is_authority:
        found = found.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return found.sign(signed_with, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())

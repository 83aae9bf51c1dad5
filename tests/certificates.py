"""Certificates as they are after their time."""

import datetime as dt

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def ending(certificate: str, when: dt.datetime, *, authority_key: str) -> str:
    """Sign a certificate again that ends at another time, a year after it began."""
    was = x509.load_pem_x509_certificate(certificate.encode())
    key = serialization.load_pem_private_key(authority_key.encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    builder = x509.CertificateBuilder(was.issuer, was.subject, was.public_key(), was.serial_number, when - dt.timedelta(days=365), when, list(was.extensions))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

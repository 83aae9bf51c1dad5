"""Certificate authorities, client certificates and signing keys, all PEM. Keys are ECDSA P-256: made in milliseconds, and as strong as RSA with 3072 bits (NIST SP 800-57, table 2)."""

import dataclasses
import datetime as dt

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS = 3650  # as kubeadm's own authorities
CLOCK_SKEW = dt.timedelta(minutes=10)
"""A certificate is valid a little earlier than it was made: hosts' clocks differ."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A private key, and what of it everyone may know: its certificate or its public key."""

    public: str
    key: str


def authority(common_name: str) -> Pair:
    """Make a certificate authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + dt.timedelta(days=AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(common_name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(_pem(certificate), _private(key))


def client(user: str, *, groups: tuple[str, ...], days: int, issuer: Pair) -> Pair:
    """Make a certificate that Kubernetes takes for `user`, a member of `groups` (Kubernetes, "X.509 client certificates").

    Args:
        issuer: the authority that signs it.
    """
    signing = serialization.load_pem_private_key(issuer.key.encode(), password=None)
    if not isinstance(signing, ec.EllipticCurvePrivateKey):
        raise TypeError("the key of the authority is not an elliptic curve's")
    signer = x509.load_pem_x509_certificate(issuer.public.encode())
    key = ec.generate_private_key(ec.SECP256R1())
    names = [*(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups), x509.NameAttribute(NameOID.COMMON_NAME, user)]
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(names))
        .issuer_name(signer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
        .sign(signing, hashes.SHA256())
    )
    return Pair(_pem(certificate), _private(key))


def signing_key() -> Pair:
    """Make a key pair that signs tokens of service accounts."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Pair(public.decode(), _private(key))


def expires(certificate: str) -> dt.datetime:
    """Say when a certificate ends."""
    return x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=signs_certificates, crl_sign=signs_certificates, key_encipherment=not signs_certificates,
        content_commitment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _private(key: ec.EllipticCurvePrivateKey) -> str:
    # SEC1 ("EC PRIVATE KEY"), which kubeadm and client-go read.
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()).decode()

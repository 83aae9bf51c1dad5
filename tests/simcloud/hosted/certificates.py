"""The authority of one simulated cloud, and the certificate with which it answers in place of AWS's services. Both stay in the cloud's folder, so that hosts trust a server that was started again."""

import datetime as dt
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

LASTS = dt.timedelta(days=30)


def made(folder: Path, *, region: str) -> tuple[str, ssl.SSLContext]:
    """Give the authority's certificate in PEM, and what a server needs to answer with."""
    authority, chain = folder / "authority.pem", folder / "services.pem"
    if not chain.exists():
        _make(authority, chain, names=(f"*.{region}.amazonaws.com", f"*.{region}.api.aws", "*.amazonaws.com"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return authority.read_text(), context


def _make(authority: Path, chain: Path, *, names: tuple[str, ...]) -> None:
    own, served = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    signer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Authority of a simulated cloud")])
    root = (
        _form(signer, signer, own.public_key(), signs=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(own, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Simulated services")])
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    leaf = (
        _form(subject, signer, served.public_key(), signs=False)
        .add_extension(alternatives, critical=False)
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own.public_key()), critical=False)
        .sign(own, hashes.SHA256())
    )
    key = served.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    authority.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    new = chain.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_bytes(key + leaf.public_bytes(serialization.Encoding.PEM))
    new.replace(chain)  # whole or not there: it is what says that both exist


def _form(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, signs: bool) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    uses = dict.fromkeys(("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign", "encipher_only", "decipher_only"), False)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + LASTS)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.KeyUsage(digital_signature=not signs, key_cert_sign=signs, **uses), critical=True)
    )

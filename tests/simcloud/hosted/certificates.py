"""The authorities of one simulated cloud: one that vouches for what answers in place of the cloud's services, and, as AWS has it, another one for databases.

They stay in the cloud's folder, so that hosts trust a server that was started again.
"""

import datetime as dt
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from components.files import atomic_files
from components.local.machine import record

LASTS = dt.timedelta(days=30)
TRUSTSTORE = "truststore.pki.rds.amazonaws.com"
"""Where the authorities of databases are published (RDS user guide, "Certificate bundles by AWS Region")."""


def names_of_aws(region: str) -> tuple[str, ...]:
    return (f"*.{region}.amazonaws.com", f"*.{region}.api.aws", "*.amazonaws.com", TRUSTSTORE)


def made(folder: Path, *, names: tuple[str, ...]) -> tuple[str, ssl.SSLContext]:
    """Give the certificate, in PEM, of the authority that vouches for services of these names, and what a server needs to answer with."""
    authority, chain = folder / "authority.pem", folder / "services.pem"
    if not chain.exists():
        _make(authority, chain, names=names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return authority.read_text(), context


def bundle_of_databases(folder: Path) -> bytes:
    """Give the certificate, in PEM, of who vouches for databases; made when it is first asked for."""
    return _authority_of_databases(folder)[0].public_bytes(serialization.Encoding.PEM)


def of_database(folder: Path, name: str) -> bytes:
    """Give a new key and certificate, in PEM, of a database that is reached by a name."""
    root, own = _authority_of_databases(folder)
    return _vouched_for(own, root.subject, "Simulated database", (name,))


def _authority_of_databases(folder: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    file = folder / "databases.pem"
    with record.lock(folder / "databases.lock"):
        if not file.exists():
            own = ec.generate_private_key(ec.SECP256R1())
            root = _root(own, "Authority of a simulated cloud's databases")
            atomic_files.write_bytes(file, _private(own) + root.public_bytes(serialization.Encoding.PEM), mode=0o600)
    content = file.read_bytes()
    key = serialization.load_pem_private_key(content, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{file} holds another kind of key")
    return x509.load_pem_x509_certificate(content), key


def _make(authority: Path, chain: Path, *, names: tuple[str, ...]) -> None:
    own = ec.generate_private_key(ec.SECP256R1())
    root = _root(own, "Authority of a simulated cloud")
    authority.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    # Whole or not there: it is what says that both exist.
    atomic_files.write_bytes(chain, _vouched_for(own, root.subject, "Simulated services", names), mode=0o600)


def _root(own: ec.EllipticCurvePrivateKey, name: str) -> x509.Certificate:
    signer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    return (
        _form(signer, signer, own.public_key(), signs=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(own, hashes.SHA256())
    )


def _vouched_for(own: ec.EllipticCurvePrivateKey, signer: x509.Name, shown: str, names: tuple[str, ...]) -> bytes:
    served = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, shown)])
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    leaf = (
        _form(subject, signer, served.public_key(), signs=False)
        .add_extension(alternatives, critical=False)
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own.public_key()), critical=False)
        .sign(own, hashes.SHA256())
    )
    return _private(served) + leaf.public_bytes(serialization.Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


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

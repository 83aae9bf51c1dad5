"""Authorities and client certificates of a Kubernetes cluster: who signed them, whom they name, and when they are renewed."""

import datetime as dt
import threading

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from components.provider.kind import UNKNOWN, Refused, Values, Work
from components.secret import certificates
from components.secret.client_certificate import ClientCertificate, ClientCertificateInputs
from components.secret.secret import AUTHORITIES, Secret, SecretInputs

ISSUER = certificates.authority("kubernetes")


def work() -> Work:
    return Work(show=lambda _text, _kept: None, stopping=threading.Event(), timeout_s=0)


def inputs(*, days: int = 365) -> ClientCertificateInputs:
    return ClientCertificateInputs(ISSUER.public, ISSUER.key, "ada", ("research", "teaching"), days=days)


@pytest.mark.parametrize("kind", AUTHORITIES)
def test_an_authority_signs_certificates_for_ten_years_with_the_key_that_is_kept(kind: str) -> None:
    made = Secret().create(SecretInputs(kind), work())
    certificate = x509.load_pem_x509_certificate(made["public"].encode())
    key = serialization.load_pem_private_key(made["value"].encode(), password=None)
    assert certificate.subject.rfc4514_string() == f"CN={AUTHORITIES[kind]}"
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    assert certificate.public_key() == key.public_key()
    certificate.verify_directly_issued_by(certificate)
    assert certificate.not_valid_after_utc - dt.datetime.now(dt.UTC) > dt.timedelta(days=3649)


@pytest.mark.parametrize("kind", ["munge", "password", "ssh", "signing", "encryption", *AUTHORITIES])
def test_a_secret_has_a_public_half_where_it_says_so_before_it_is_made(kind: str) -> None:
    made = Secret().create(SecretInputs(kind), work())
    assert made["value"]
    assert bool(made["public"]) == (Secret().expected(SecretInputs(kind))["public"] == UNKNOWN)
    assert made["value"] not in made["public"]


def test_an_unknown_kind_of_secret_is_refused_with_the_kinds_that_are_known() -> None:
    with pytest.raises(Refused, match=r"unknown kind of secret vault; the kinds are .*cluster-authority.*encryption.*munge"):
        Secret().create(SecretInputs("vault"), work())


def test_a_client_certificate_names_user_and_groups_and_is_good_for_clients_alone() -> None:
    made = ClientCertificate().create(inputs(), work())
    certificate = x509.load_pem_x509_certificate(made["certificate"].encode())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(ISSUER.public.encode()))
    assert [one.value for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["ada"]
    assert [one.value for one in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["research", "teaching"]
    assert [*certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value] == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert dt.datetime.fromisoformat(made["expires"]) == certificate.not_valid_after_utc


def test_a_certificate_of_another_authority_is_not_this_ones() -> None:
    made = ClientCertificate().create(inputs(), work())
    other = x509.load_pem_x509_certificate(certificates.authority("kubernetes").public.encode())
    with pytest.raises(InvalidSignature):
        x509.load_pem_x509_certificate(made["certificate"].encode()).verify_directly_issued_by(other)


def differing(read: Values | None, wanted: Values) -> set[str]:
    return {name for name, value in wanted.items() if value != UNKNOWN and read is not None and read.get(name) != value}


def test_a_certificate_is_renewed_in_the_last_third_of_its_life_and_not_before() -> None:
    kind = ClientCertificate()
    fresh = kind.create(inputs(), work())
    assert not differing({**fresh, **(kind.read(inputs(), fresh) or {})}, kind.expected(inputs()))
    # Made for 100 days, of a certificate that shall last 365: 265 days of its life are over.
    old = kind.create(inputs(days=100), work())
    assert differing({**old, **(kind.read(inputs(), old) or {})}, kind.expected(inputs())) == {"is_fresh"}
    assert kind.read(inputs(), kind.update(inputs(), old, work())) == {"is_fresh": True}


def test_a_certificate_that_the_state_lost_is_made_again() -> None:
    assert ClientCertificate().read(inputs(), {}) is None

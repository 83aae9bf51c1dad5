"""Client certificates of a cluster's own authority: who a person or program is to the API server. Each is renewed by an `up` before it expires."""

import dataclasses
import datetime as dt
from typing import ClassVar

from ..provider.kind import UNKNOWN, Kind, Values, Work
from . import certificates

RENEWED_AT = 3
"""A certificate is renewed when less than one part in this many of its life is left: as the kubelet does, which renews its own in the last 10 to 30 %."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientCertificateInputs:
    authority: str
    """Certificate of the authority, PEM."""
    authority_key: str
    """Secret."""
    user: str
    groups: tuple[str, ...]
    days: int = 365
    rotation: int = 0
    """Another number makes a new certificate; the old one stays valid until it expires, as Kubernetes has no revocation."""


class ClientCertificate(Kind[ClientCertificateInputs]):
    token = "clusterwright:secret:ClientCertificate"
    inputs = ClientCertificateInputs
    secret_outputs: ClassVar[frozenset[str]] = frozenset({"key"})

    def identity(self, inputs: ClientCertificateInputs) -> str:
        return inputs.user

    def expected(self, inputs: ClientCertificateInputs) -> Values:
        return {"certificate": UNKNOWN, "key": UNKNOWN, "expires": UNKNOWN, "is_fresh": True}

    def read(self, inputs: ClientCertificateInputs, outputs: Values) -> Values | None:
        """Say whether the certificate, which exists in the state alone, has long enough to go."""
        if not outputs.get("key"):
            return None
        left = certificates.expires(outputs["certificate"]) - dt.datetime.now(dt.UTC)
        return {"is_fresh": left > dt.timedelta(days=inputs.days) / RENEWED_AT}

    def create(self, inputs: ClientCertificateInputs, work: Work) -> Values:
        issuer = certificates.Pair(inputs.authority, inputs.authority_key)
        made = certificates.client(inputs.user, groups=inputs.groups, days=inputs.days, issuer=issuer)
        ends = certificates.expires(made.public).isoformat(timespec="seconds")
        return {"certificate": made.public, "key": made.key, "expires": ends, "is_fresh": True}

    def delete(self, inputs: ClientCertificateInputs, outputs: Values, work: Work) -> None:
        """Do nothing: the certificate is deleted with the state, and ends by itself."""

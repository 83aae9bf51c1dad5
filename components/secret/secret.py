"""Keys and passwords of a stack, generated once, stored encrypted in its state, and rotated only on request."""

import base64
import dataclasses
import secrets
import shutil
import subprocess
import uuid
from typing import ClassVar

from ..files import memory_folders
from ..provider.kind import UNKNOWN, Kind, Refused, Values, Work
from . import certificates

MUNGE_KEY_BYTES = 1024  # munged(8): 32 to 1024 bytes
PASSWORD_BYTES = 32
ENCRYPTION_KEY_BYTES = 32
"""Of the API server's provider `secretbox` (Kubernetes, "Encrypting Confidential Data at Rest")."""
AUTHORITIES = {"cluster-authority": "kubernetes", "etcd-authority": "etcd-ca", "front-proxy-authority": "front-proxy-ca"}
"""Kinds that are certificate authorities → their common name, as kubeadm gives it."""
WITH_PUBLIC_HALF = frozenset({"ssh", "signing", *AUTHORITIES})


@dataclasses.dataclass(frozen=True, slots=True)
class SecretInputs:
    kind: str
    """`munge` (Base64 of random bytes), `password`, `ssh` (an Ed25519 key pair), `signing` (a key pair for tokens), `encryption` (Base64 of random bytes), or one of `AUTHORITIES`."""
    rotation: int = 0
    """Another number generates a new secret."""


class Secret(Kind[SecretInputs]):
    token = "clusterwright:secret:Secret"
    inputs = SecretInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"kind", "rotation"})
    secret_outputs: ClassVar[frozenset[str]] = frozenset({"value"})

    def identity(self, inputs: SecretInputs) -> str:
        return f"{inputs.kind}-{uuid.uuid4().hex[:8]}"

    def expected(self, inputs: SecretInputs) -> Values:
        return {"value": UNKNOWN, "public": UNKNOWN if inputs.kind in WITH_PUBLIC_HALF else ""}

    def read(self, inputs: SecretInputs, outputs: Values) -> Values | None:
        """A secret exists in the state alone."""
        return {} if outputs.get("value") else None

    def create(self, inputs: SecretInputs, work: Work) -> Values:
        match inputs.kind:
            case "munge":
                return {"value": base64.b64encode(secrets.token_bytes(MUNGE_KEY_BYTES)).decode(), "public": ""}
            case "password":
                return {"value": secrets.token_urlsafe(PASSWORD_BYTES), "public": ""}
            case "ssh":
                return _ssh_key_pair()
            case "signing":
                return _pair(certificates.signing_key())
            case "encryption":
                return {"value": base64.b64encode(secrets.token_bytes(ENCRYPTION_KEY_BYTES)).decode(), "public": ""}
            case kind if kind in AUTHORITIES:
                return _pair(certificates.authority(AUTHORITIES[kind]))
        raise Refused(f"unknown kind of secret {inputs.kind}; the kinds are {', '.join(sorted({'munge', 'password', 'encryption', *WITH_PUBLIC_HALF}))}")

    def delete(self, inputs: SecretInputs, outputs: Values, work: Work) -> None:
        """Do nothing: the secret is deleted with the state."""


def _pair(made: certificates.Pair) -> dict[str, str]:
    return {"value": made.key, "public": made.public}


def _ssh_key_pair() -> dict[str, str]:
    folder = memory_folders.make_folder()
    try:
        path = folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "clusterwright", "-f", str(path)], check=True, capture_output=True)
        return {"value": path.read_text(), "public": " ".join(path.with_suffix(".pub").read_text().split()[:2])}
    finally:
        shutil.rmtree(folder)

"""A user's own access to the API server: a client certificate that the cluster signs on demand, and that ends by itself.

The administrator of the stack asks for it and approves it; the private key is made here and is sent nowhere. What a user may do, the cluster's RBAC says by the name in the certificate.

Source: Kubernetes, "Certificates and Certificate Signing Requests" (signer kubernetes.io/kube-apiserver-client).
"""

import base64
import json
import time
from collections.abc import Mapping
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from .. import errors
from . import api

SIGNER = "kubernetes.io/kube-apiserver-client"
DAYS = 30
SHORTEST_S = 600
"""The API server refuses a shorter life."""
SIGNED_WITHIN_S, ASKED_EVERY_S = 30, 0.1
_REQUESTS, _KIND = "certificates.k8s.io/v1", "CertificateSigningRequest"


class NotSigned(errors.Refusal):
    """The cluster signed no certificate."""


def kubeconfig(administrator: str, user: str, *, life_s: int) -> str:
    """Give a user's kubeconfig, as text.

    Args:
        administrator: the kubeconfig of the stack's administrator.
        life_s: how long the certificate shall be valid.
    Raises:
        NotSigned: the control plane signs nothing.
        api.ApiError: the API server refuses the request.
        api.Unreachable: no answer.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed(api.Api(administrator), user, key, life_s=max(SHORTEST_S, life_s))
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return json.dumps(of_user(yaml.safe_load(administrator), user, certificate=certificate, key=base64.b64encode(private).decode()), indent=1)


def of_user(administrator: Mapping[str, Any], user: str, *, certificate: str, key: str) -> dict[str, Any]:
    """Write the kubeconfig of a user for the cluster of the administrator's. Pure.

    Args:
        certificate: PEM in Base64, as `key`.
    """
    cluster = administrator["clusters"][0]
    context = f"{user}@{cluster['name']}"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": user, "user": {"client-certificate-data": certificate, "client-key-data": key}}],
        "contexts": [{"name": context, "context": {"cluster": cluster["name"], "user": user}}],
        "current-context": context,
    }


def _signed(cluster: api.Api, user: str, key: ec.EllipticCurvePrivateKey, *, life_s: int) -> str:
    """Have the cluster sign a certificate for a user; give it as PEM in Base64."""
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user)])).sign(key, hashes.SHA256())
    asked = cluster.create(
        {
            "apiVersion": _REQUESTS,
            "kind": _KIND,
            "metadata": {"generateName": f"clusterwright-{user}-"},
            "spec": {
                "request": base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
                "signerName": SIGNER,
                "expirationSeconds": life_s,
                "usages": ["client auth"],
            },
        }
    )
    place = api.Key(_REQUESTS, _KIND, "", asked["metadata"]["name"])
    try:
        approval = {"type": "Approved", "status": "True", "reason": "Asked", "message": "asked for by the administrator of the stack"}
        cluster.merge(place, {"status": {"conditions": [approval]}}, subresource="approval")
        deadline = time.monotonic() + SIGNED_WITHIN_S
        while time.monotonic() < deadline:
            found = cluster.get(place) or {}
            if certificate := (found.get("status") or {}).get("certificate"):
                return str(certificate)
            time.sleep(ASKED_EVERY_S)
    finally:
        cluster.delete(place)
    raise NotSigned(
        f"the cluster signed no certificate for {user}",
        why=f"the request was approved, and kube-controller-manager did not sign it within {SIGNED_WITHIN_S} s",
        remedy="look at the control plane: `clusterwright kubectl -- get pods --namespace kube-system`",
    )

"""Keys and passwords of a stack: resources that keep them encrypted in its state."""

import dataclasses
from collections.abc import Iterable, Mapping

import pulumi

from blueprints.spec import User

from .. import contract
from ..provider.resource import OwnResource

CLIENT_CERTIFICATE_DAYS = 365


@dataclasses.dataclass(frozen=True, slots=True)
class People:
    """Keys of those who log in. All schedulers share them."""

    admin: contract.SshKey
    users: Mapping[str, contract.SshKey]
    """Users who brought no key of their own, and whose keys no cloud knows."""


def of_people(users: Iterable[User], *, opts: pulumi.ResourceOptions) -> People:
    """Make the administrator's key and those of users who brought none."""
    return People(
        admin=ssh_key("admin-key", opts=opts),
        users={user.name: ssh_key(f"user-{user.name}-key", opts=opts) for user in users if not user.ssh_keys and not user.cloud_identity},
    )


def ssh_key(name: str, *, opts: pulumi.ResourceOptions) -> contract.SshKey:
    """Make an SSH key pair."""
    made = _secret(name, "ssh", opts)
    return contract.SshKey(public=made.output("public"), private=made.output("value"))


def of_kubernetes(admin: contract.SshKey, *, opts: pulumi.ResourceOptions) -> contract.KubernetesKeys:
    """Make the authorities and keys of a Kubernetes cluster."""
    return contract.KubernetesKeys(
        authority=_pair("cluster-authority", opts),
        etcd=_pair("etcd-authority", opts),
        front_proxy=_pair("front-proxy-authority", opts),
        service_accounts=_pair("service-account-key", opts, kind="signing"),
        encryption=_secret("encryption-key", "encryption", opts).output("value"),
        admin=admin,
    )


def client_certificate(name: str, user: str, *, groups: Iterable[str], authority: contract.KeyPair, opts: pulumi.ResourceOptions) -> contract.KeyPair:
    """Make the certificate by which the API server knows a user."""
    inputs = {
        "authority": authority.public,
        "authority_key": authority.private,
        "user": user,
        "groups": [*groups],
        "days": CLIENT_CERTIFICATE_DAYS,
        "rotation": 0,
    }
    made = OwnResource("clusterwright:secret:ClientCertificate", name, inputs=inputs, outputs=("certificate", "key", "expires", "is_fresh"), opts=opts)
    return contract.KeyPair(public=made.output("certificate"), private=made.output("key"))


def munge_key(name: str, *, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    """Make a key of MUNGE, Base64."""
    return _secret(name, "munge", opts).output("value")


def password(name: str, *, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    """Make a password."""
    return _secret(name, "password", opts).output("value")


def _pair(name: str, opts: pulumi.ResourceOptions, *, kind: str = "") -> contract.KeyPair:
    made = _secret(name, kind or name, opts)
    return contract.KeyPair(public=made.output("public"), private=made.output("value"))


def _secret(name: str, kind: str, opts: pulumi.ResourceOptions) -> OwnResource:
    return OwnResource("clusterwright:secret:Secret", name, inputs={"kind": kind, "rotation": 0}, outputs=("value", "public"), opts=opts)

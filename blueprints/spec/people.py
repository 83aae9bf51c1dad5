"""Users, their accounts, and where they log in."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    name: str
    description: str
    users: tuple[str, ...]
    parent: str | None = None
    share: int = 1
    most_gpus: int | None = None
    most_nodes: int | None = None
    most_jobs: int | None = None
    qos: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: int
    """Also the number of the user's own group."""
    default_account: str
    ssh_keys: tuple[str, ...]
    """OpenSSH public keys. Empty: the stack makes a key pair for this user."""
    accounts: tuple[str, ...] = ()
    """Further ones that jobs may name."""
    admin: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Login:
    """Who may log in, and how."""

    load_balancer: bool = True
    allowed_cidrs: tuple[str, ...] = ()
    ldap_uri: str | None = None
    ldap_base: str | None = None

"""Read a kubeconfig: which API server it names, and what proves the caller to it."""

import base64
import binascii
import contextlib
import dataclasses
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import Mapping
from typing import Any
from urllib import parse

import yaml

from ..files import memory_folders

EXEC_TIMEOUT_S = 60


class KubeconfigInvalid(ValueError):
    """A kubeconfig can't be used; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """How one API server is reached. Holds credentials."""

    server: str
    authority: str = ""
    """Certificates that the server's own must come from, PEM; empty: those that the system trusts."""
    certificate: str = dataclasses.field(default="", repr=False)
    key: str = dataclasses.field(default="", repr=False)
    token: str = dataclasses.field(default="", repr=False)
    command: tuple[str, ...] = ()
    """The program that prints a token (`users[].user.exec`)."""
    environment: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    server_name: str = ""
    """The name in the server's certificate, where it isn't the host of `server`."""

    @property
    def address(self) -> tuple[str, int]:
        """Give host and port."""
        split = parse.urlsplit(self.server)
        return split.hostname or "", split.port or (443 if split.scheme == "https" else 80)


def read(text: str) -> Access:
    """Read the current context of a kubeconfig.

    Raises:
        KubeconfigInvalid: it is no kubeconfig, or it lacks what the current context names.
    """
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise KubeconfigInvalid(f"the kubeconfig is no YAML: {error}") from None
    if not isinstance(found, Mapping):
        raise KubeconfigInvalid("the kubeconfig is no YAML mapping")
    context = _named(found, "contexts", "context", str(found.get("current-context") or ""))
    cluster = _named(found, "clusters", "cluster", str(context.get("cluster") or ""))
    user = _named(found, "users", "user", str(context.get("user") or ""))
    server = str(cluster.get("server") or "")
    if not server.startswith(("https://", "http://")):
        raise KubeconfigInvalid(f"the kubeconfig names no API server (cluster {context.get('cluster')})")
    program = user.get("exec") or {}
    return Access(
        server=server.rstrip("/"),
        authority=_pem(cluster, "certificate-authority"),
        certificate=_pem(user, "client-certificate"),
        key=_pem(user, "client-key"),
        token=str(user.get("token") or ""),
        command=(str(program["command"]), *map(str, program.get("args") or ())) if program.get("command") else (),
        environment=tuple((str(one["name"]), str(one["value"])) for one in program.get("env") or ()),
        server_name=str(cluster.get("tls-server-name") or ""),
    )


def tls(access: Access) -> ssl.SSLContext | None:
    """Make the context of connections to the server; None: it speaks plain HTTP."""
    if not access.server.startswith("https://"):
        return None
    try:
        context = ssl.create_default_context(cadata=access.authority or None)
        if access.certificate:
            folder = memory_folders.make_folder()  # Python reads certificates from files alone
            try:
                (folder / "pair").write_text(f"{access.certificate}\n{access.key}")
                context.load_cert_chain(folder / "pair")
            finally:
                shutil.rmtree(folder)
    except (ssl.SSLError, ValueError) as error:
        raise KubeconfigInvalid(f"a certificate of the kubeconfig can't be read: {error}") from None
    return context


def bearer(access: Access) -> str:
    """Give the token that requests carry; empty: a certificate proves the caller.

    Raises:
        KubeconfigInvalid: the program that prints a token failed.
    """
    if not access.command:
        return access.token
    try:
        answer = subprocess.run(access.command, env={**os.environ, **dict(access.environment)}, capture_output=True, text=True, timeout=EXEC_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KubeconfigInvalid(f"the kubeconfig's program {access.command[0]} can't be run: {error}") from None
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(json.loads(answer.stdout)["status"]["token"])
    raise KubeconfigInvalid(f"the kubeconfig's program {access.command[0]} printed no token: {(answer.stderr or answer.stdout).strip()[:300]}")


def _named(found: Mapping[str, Any], plural: str, singular: str, name: str) -> Mapping[str, Any]:
    for one in found.get(plural) or ():
        if isinstance(one, Mapping) and one.get("name") == name and isinstance(one.get(singular), Mapping):
            inside: Mapping[str, Any] = one[singular]
            return inside
    raise KubeconfigInvalid(f"the kubeconfig has no {singular} `{name}`")


def _pem(section: Mapping[str, Any], name: str) -> str:
    if section.get(f"{name}-data"):
        try:
            return base64.b64decode(str(section[f"{name}-data"]), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise KubeconfigInvalid(f"{name}-data of the kubeconfig is not Base64") from None
    if section.get(name):
        raise KubeconfigInvalid(f"the kubeconfig names a file for {name}; write its content in {name}-data, so that the kubeconfig works everywhere")
    return ""

"""Access: allowed networks, login nodes and the LDAP directory."""

import ipaddress
import re
from collections.abc import Iterator

from .. import addresses, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING = finding.Level.WARNING
OPEN_PREFIX = 8
"""Networks shorter than this hold more than 16 million addresses of the Internet."""
_LDAP = re.compile(r"(ldap|ldaps|ldapi)://[A-Za-z0-9._\[\]:%/-]+")
_LDAP_PORT = re.compile(r"ldaps?://(?:\[[^\]]*\]|[^:/]*):([0-9]+)(?:/.*)?")
_HIGHEST_PORT = 65_535
_TYPE = r"([A-Za-z][A-Za-z0-9-]*|[0-9]+(\.[0-9]+)+)"
_VALUE = r"(\\([0-9A-Fa-f]{2}|[ \"#+,;<=>\\])|[^\\,+\"<>;])+"
_BASE = re.compile(rf"{_TYPE} ?= ?{_VALUE}([,+] ?{_TYPE} ?= ?{_VALUE})*")
"""RFC 4514, "String Representation of Distinguished Names": a backslash escapes a comma or another special character."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find login nodes that are open to everyone or to no one, and invalid or unencrypted LDAP directories."""
    access = blueprint.access
    if blueprint.scheduler == "training":
        return  # nobody logs in anywhere
    public = [(number, ipaddress.IPv4Network(written)) for number, written in enumerate(access.allowed_cidrs)]
    for number, network in public:
        if network.prefixlen < OPEN_PREFIX and not network.is_private:
            what = f"login nodes accept SSH from {network}, which is {_share(network)} of the Internet"
            why = "bots try passwords and keys on every open SSH port within minutes"
            where = source.where("access", "allowed_cidrs", number)
            yield finding.Finding(_WARNING, Code.ACCESS_OPEN, where, what, why, "write the networks of your office or VPN")
    if (
        cluster.controllers
        and lookup.is_bought(cluster)
        and cluster.network.existing is None
        and not (access.login_nodes and (access.allowed_cidrs or cluster.login.tunnel))
    ):
        yield _unreachable(access, source)
    elif access.login_nodes and not access.allowed_cidrs and not cluster.login.tunnel and lookup.is_bought(cluster):
        what = "login nodes accept SSH from the cluster's own network only"
        why = "`access.allowed_cidrs` names no network"
        where = source.where_key("access")
        remedy = "write the networks of your office or VPN, or connect a VPN to the cluster's network"
        yield finding.Finding(finding.Level.NOTE, Code.ACCESS_CLOSED, where, what, why, remedy)
    if access.login_nodes == 0 and cluster.slurm_node_sets:
        what = "the cluster has Slurm nodes and no login node"
        why = "users submit jobs from login nodes; they must not log in to the controllers"
        where = source.where("access", "login_nodes")
        yield finding.Finding(_WARNING, Code.ACCESS_NONE, where, what, why, "write `login_nodes: 1` or more")
    for number, network in public if cluster.login.tunnel else ():
        if not addresses.is_private(network):
            what = f"{network} can't reach the login nodes: `access.tunnel` leaves them without a public address"
            why = "people reach them through the tunnel, by their rights and not by their address"
            where = source.where("access", "allowed_cidrs", number)
            yield finding.Finding(finding.Level.ERROR, Code.ACCESS_BESIDE_TUNNEL, where, what, why, "remove it, or remove `tunnel`")
    if access.ldap:
        yield from _directory(access.ldap, source)


def _unreachable(access: language.Access, source: Document) -> finding.Finding:
    what = "no network may reach the login nodes" if access.login_nodes else "no host is reachable from outside the cluster's network"
    lacks = "`access.allowed_cidrs` names no network" if access.login_nodes else "without login nodes SSH can't reach the controllers"
    why = f"the cluster creates its own network, and {lacks}; clusterwright configures the hosts over SSH and needs this access, too"
    networks = ", with your own address or the networks of your office or VPN"
    missing = ["login_nodes: 1"] * (not access.login_nodes) + ["allowed_cidrs: [203.0.113.7/32]"] * (not access.allowed_cidrs)
    remedy = f"write {message_text.listed(f'`{one}`' for one in missing)} under `access`{networks if not access.allowed_cidrs else ''}"
    return finding.Finding(finding.Level.NOTE, Code.ACCESS_UNREACHABLE, source.where_key("access"), what, why, remedy)


def _share(network: ipaddress.IPv4Network) -> str:
    return "all" if network.prefixlen == 0 else f"1/{2**network.prefixlen}"


def _directory(ldap: language.Ldap, source: Document) -> Iterator[finding.Finding]:
    where = source.where("access", "ldap", "uri")
    if not _LDAP.fullmatch(ldap.uri):
        what = f"{message_text.quoted(ldap.uri)} is not an LDAP URI"
        why = "an LDAP URI is `ldaps://` and the host name of the directory"
        yield finding.Finding(finding.Level.ERROR, Code.LDAP_FORM, where, what, why, "write it like `ldaps://ldap.example.org`")
    elif (port := _LDAP_PORT.fullmatch(ldap.uri)) and int(port[1]) > _HIGHEST_PORT:
        what, why = f"the directory's port is {port[1]}", f"the highest port is {_HIGHEST_PORT}"
        remedy = f"write `{ldap.uri.replace(f':{port[1]}', '', 1)}`, with which hosts ask at the usual port, or the directory's own port"
        yield finding.Finding(finding.Level.ERROR, Code.LDAP_FORM, where, what, why, remedy)
    elif ldap.uri.startswith("ldap://"):
        what = f"hosts query the directory without encryption: {ldap.uri}"
        why = "users' passwords would cross the network unencrypted"
        yield finding.Finding(_WARNING, Code.LDAP_PLAIN, where, what, why, f"write `{ldap.uri.replace('ldap://', 'ldaps://', 1)}`")
    if not _BASE.fullmatch(ldap.base):
        what = f"{message_text.quoted(ldap.base)} is not a distinguished name"
        why = "a distinguished name lists its parts from the innermost to the outermost"
        position = source.where("access", "ldap", "base")
        yield finding.Finding(finding.Level.ERROR, Code.LDAP_FORM, position, what, why, "write it like `dc=example,dc=org`")

"""Logging in: from where, where to, and who is known."""

import ipaddress
import re
from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING = finding.Level.WARNING
OPEN_PREFIX = 8
"""Networks shorter than this hold more than 16 million addresses of the Internet."""
_LDAP = re.compile(r"(ldap|ldaps|ldapi)://[A-Za-z0-9._\[\]:%/-]+")
_TYPE = r"([A-Za-z][A-Za-z0-9-]*|[0-9]+(\.[0-9]+)+)"
_VALUE = r"(\\([0-9A-Fa-f]{2}|[ \"#+,;<=>\\])|[^\\,+\"<>;])+"
_BASE = re.compile(rf"{_TYPE} ?= ?{_VALUE}([,+] ?{_TYPE} ?= ?{_VALUE})*")
"""RFC 4514, "String Representation of Distinguished Names": a backslash takes what a comma or another mark means away."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find logging in that is open to all, or to nobody, and directories named in a wrong or unsafe way."""
    access = blueprint.access
    public = [(number, ipaddress.IPv4Network(written)) for number, written in enumerate(access.allowed_cidrs)]
    for number, network in public:
        if network.prefixlen < OPEN_PREFIX and not network.is_private:
            what = f"logging in is allowed from {network}, which is {_share(network)} of the Internet"
            why = "machines all over the world try passwords and keys at every open SSH port, from the first minute on"
            where = source.where("access", "allowed_cidrs", number)
            yield finding.Finding(_WARNING, Code.ACCESS_OPEN, where, what, why, "write the networks of your office or VPN")
    if cluster.controllers and lookup.is_bought(cluster) and cluster.network.existing is None and not (access.login_nodes and access.allowed_cidrs):
        yield _unreachable(access, source)
    elif access.login_nodes and not access.allowed_cidrs and lookup.is_bought(cluster):
        what = "logging in is possible from the cluster's own network only"
        why = "`access.allowed_cidrs` names no network"
        where = source.where_key("access")
        remedy = "write the networks of your office or VPN, or reach the network by a VPN of its own"
        yield finding.Finding(finding.Level.NOTE, Code.ACCESS_CLOSED, where, what, why, remedy)
    if access.login_nodes == 0 and cluster.slurm_node_sets:
        what = "there is no login node, and Slurm has nodes"
        why = "people submit jobs where they log in, and controllers are no place for them"
        where = source.where("access", "login_nodes")
        yield finding.Finding(_WARNING, Code.ACCESS_NONE, where, what, why, "write `login_nodes: 1` or more")
    if access.ldap:
        yield from _directory(access.ldap, source)


def _unreachable(access: language.Access, source: Document) -> finding.Finding:
    what = "nobody reaches the hosts from outside of their network, and nobody is inside"
    lacks = "`access.allowed_cidrs` names no network" if access.login_nodes else "without login nodes there is no way to the controllers"
    why = f"the network is made with the cluster, and {lacks}; whoever provisions it configures its hosts over SSH, too"
    remedy = "write `access: {login_nodes: 1, allowed_cidrs: [203.0.113.7/32]}`, with your own address or the networks of your office or VPN"
    return finding.Finding(finding.Level.NOTE, Code.ACCESS_UNREACHABLE, source.where_key("access"), what, why, remedy)


def _share(network: ipaddress.IPv4Network) -> str:
    return "all" if network.prefixlen == 0 else f"1/{2**network.prefixlen}"


def _directory(ldap: language.Ldap, source: Document) -> Iterator[finding.Finding]:
    where = source.where("access", "ldap", "uri")
    if not _LDAP.fullmatch(ldap.uri):
        what = f"{message_text.quoted(ldap.uri)} is not the address of a directory"
        why = "a directory answers at `ldaps://` and the name of its host"
        yield finding.Finding(finding.Level.ERROR, Code.LDAP_FORM, where, what, why, "write it like `ldaps://ldap.example.org`")
    elif ldap.uri.startswith("ldap://"):
        what = f"the directory is asked in plain text: {ldap.uri}"
        why = "passwords of people would cross the network unencrypted"
        yield finding.Finding(_WARNING, Code.LDAP_PLAIN, where, what, why, f"write `{ldap.uri.replace('ldap://', 'ldaps://', 1)}`")
    if not _BASE.fullmatch(ldap.base):
        what = f"{message_text.quoted(ldap.base)} is not a place in a directory"
        why = "a place is named by its parts, from the innermost to the outermost"
        position = source.where("access", "ldap", "base")
        yield finding.Finding(finding.Level.ERROR, Code.LDAP_FORM, position, what, why, "write it like `dc=example,dc=org`")

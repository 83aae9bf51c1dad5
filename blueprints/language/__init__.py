"""The language: what a blueprint may say. Each key is written once, in the sections; schema, reference and messages derive from them."""

from .cluster import (
    Acceptance,
    Access,
    Accounting,
    Blueprint,
    Control,
    Kubernetes,
    Ldap,
    Maintenance,
    Monitoring,
    Network,
    Suppression,
    TargetName,
)
from .error_recovery import Scope
from .inventory import Bmcs, Host, HostRange, Interface, InterfaceRange, Inventory, Roce, Route
from .parse import NAMED, Parsed, Refused, parse, parse_most
from .people import Account, Limits, Qos, User
from .pools import Capacity, Health, NodeRange, Partition, Pool, Scratch, Taint
from .section import Section
from .storage import Exchange, Quotas, Storage

__all__ = [
    "NAMED",
    "Acceptance",
    "Access",
    "Account",
    "Accounting",
    "Blueprint",
    "Bmcs",
    "Capacity",
    "Control",
    "Exchange",
    "Health",
    "Host",
    "HostRange",
    "Interface",
    "InterfaceRange",
    "Inventory",
    "Kubernetes",
    "Ldap",
    "Limits",
    "Maintenance",
    "Monitoring",
    "Network",
    "NodeRange",
    "Parsed",
    "Partition",
    "Pool",
    "Qos",
    "Quotas",
    "Refused",
    "Roce",
    "Route",
    "Scope",
    "Scratch",
    "Section",
    "Storage",
    "Suppression",
    "Taint",
    "TargetName",
    "User",
    "parse",
    "parse_most",
]

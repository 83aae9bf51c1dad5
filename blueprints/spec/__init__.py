"""What will exist: the resolved cluster, concrete and frozen. Every step after `resolve` reads only this.

Values are plain (str, words of an enumeration, int, float, bool, None, tuples, nested dataclasses), so that `as_record` gives JSON that is the same in every run and holds no secret.
"""

from ..capacity_kind import CapacityKind
from ..errors import Unreadable
from .cluster import ClusterSpec, Monitoring, People, Service, Window
from .codec import as_record, from_record, people_from_view
from .hosts import Gpus, Hardware, HostGroup, Machine, MigSlices, Nic
from .network import Network, Subnet
from .nodes import IN_DOMAINS, Capacity, Expectation, Fabric, NodeSet, Partition, Taint
from .people import Account, Login, User, accounts_of_jobs
from .schedulers import METALLB, POLICY_ENFORCER, Addon, Database, Kubernetes, KwokNodes, Qos, SecondaryNetwork, Slurm, Training
from .site import Site, SiteBmc, SiteHost, SiteInterface, SiteRoce, SiteRoute, port_address
from .software import Software
from .storage import HOMES, Exchange, FileSystem
from .upgrade import SPEC_VERSION, upgrade
from .values import Late
from .views import acceptance_view, kubernetes_view, login_view, nvlink_domains, slurm_view, upgrade_view

__all__ = [
    "HOMES",
    "IN_DOMAINS",
    "METALLB",
    "POLICY_ENFORCER",
    "SPEC_VERSION",
    "Account",
    "Addon",
    "Capacity",
    "CapacityKind",
    "ClusterSpec",
    "Database",
    "Exchange",
    "Expectation",
    "Fabric",
    "FileSystem",
    "Gpus",
    "Hardware",
    "HostGroup",
    "Kubernetes",
    "KwokNodes",
    "Late",
    "Login",
    "Machine",
    "MigSlices",
    "Monitoring",
    "Network",
    "Nic",
    "NodeSet",
    "Partition",
    "People",
    "Qos",
    "SecondaryNetwork",
    "Service",
    "Site",
    "SiteBmc",
    "SiteHost",
    "SiteInterface",
    "SiteRoce",
    "SiteRoute",
    "Slurm",
    "Software",
    "Subnet",
    "Taint",
    "Training",
    "Unreadable",
    "User",
    "Window",
    "acceptance_view",
    "accounts_of_jobs",
    "as_record",
    "from_record",
    "kubernetes_view",
    "login_view",
    "nvlink_domains",
    "people_from_view",
    "port_address",
    "slurm_view",
    "upgrade",
    "upgrade_view",
]

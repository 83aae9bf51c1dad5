"""What is known of hardware and versions: data files, each entry with its source and date, read into frozen values."""

from .accelerators import Accelerator, MigProfile, accelerators, is_other_gpu
from .addons import Addon, InstalledBy, When, addons
from .change_costs import ChangeCost, OtherCost, change_costs
from .fabrics import Expectation, Extrapolation, Fabric, expected_busbw, extrapolation, fabrics, is_known_for_fewer
from .folders import taken_folders
from .identifiers import IdentifierForm, identifier_forms, identifier_parts, partition_of, partitions
from .kubernetes import (
    KubernetesVersion,
    Ranges,
    Skew,
    containerd,
    kubernetes_ranges,
    kubernetes_skew,
    kubernetes_version,
    kubernetes_versions,
    minor_version,
)
from .layouts import Interface, Layout, expand, interface_titles, layout, layouts
from .limits import Limit, PolicySize, limit, policy_size, unpacked_by
from .machines import MachineType, machine, machines
from .matrix import Condition, Fault, Rule, SlurmFeature, faults, rules, slurm_features, slurm_has
from .offerings import Offering, asks_for_service, offering, offering_names
from .prices import Price, StoragePrice, price, prices, service_price, storage_price
from .quotas import Quota, quotas, quotas_for, storage_quota_for
from .repairs import wanted_repairs
from .software import VENDOR_ARCHIVES, Profile, profile, profile_names, software, software_names
from .sources import Source, source, sources
from .storage import Addresses, Peered, Rate, Run, StorageClass, Tier, storage_class, storage_classes
from .targets import Built, ControlSize, Managed, Networks, Target, machine_target, target, target_names

__all__ = [
    "VENDOR_ARCHIVES",
    "Accelerator",
    "Addon",
    "Addresses",
    "Built",
    "ChangeCost",
    "Condition",
    "ControlSize",
    "Expectation",
    "Extrapolation",
    "Fabric",
    "Fault",
    "IdentifierForm",
    "InstalledBy",
    "Interface",
    "KubernetesVersion",
    "Layout",
    "Limit",
    "MachineType",
    "Managed",
    "MigProfile",
    "Networks",
    "Offering",
    "OtherCost",
    "Peered",
    "PolicySize",
    "Price",
    "Profile",
    "Quota",
    "Ranges",
    "Rate",
    "Rule",
    "Run",
    "Skew",
    "SlurmFeature",
    "Source",
    "StorageClass",
    "StoragePrice",
    "Target",
    "Tier",
    "When",
    "accelerators",
    "addons",
    "asks_for_service",
    "change_costs",
    "containerd",
    "expand",
    "expected_busbw",
    "extrapolation",
    "fabrics",
    "faults",
    "identifier_forms",
    "identifier_parts",
    "interface_titles",
    "is_known_for_fewer",
    "is_other_gpu",
    "kubernetes_ranges",
    "kubernetes_skew",
    "kubernetes_version",
    "kubernetes_versions",
    "layout",
    "layouts",
    "limit",
    "machine",
    "machine_target",
    "machines",
    "minor_version",
    "offering",
    "offering_names",
    "partition_of",
    "partitions",
    "policy_size",
    "price",
    "prices",
    "profile",
    "profile_names",
    "quotas",
    "quotas_for",
    "rules",
    "service_price",
    "slurm_features",
    "slurm_has",
    "software",
    "software_names",
    "source",
    "sources",
    "storage_class",
    "storage_classes",
    "storage_price",
    "storage_quota_for",
    "taken_folders",
    "target",
    "target_names",
    "unpacked_by",
    "wanted_repairs",
]

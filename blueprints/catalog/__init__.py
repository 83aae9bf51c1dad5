"""What is known of hardware and versions: data files, each entry with its source and date, read into frozen values."""

from .accelerators import Accelerator, MigProfile, accelerators, is_other_gpu
from .change_costs import ChangeCost, OtherCost, change_costs
from .fabrics import Expectation, Fabric, expected_busbw, fabrics, is_known_for_fewer
from .identifiers import IdentifierForm, identifier_forms, identifier_parts, partition_of, partitions
from .layouts import Interface, Layout, expand, interface_titles, layout, layouts
from .limits import Limit, PolicySize, can_be_packed, limit, packing_source, policy_size
from .machines import Machine, machine, machines
from .matrix import Condition, Fault, Rule, SlurmFeature, faults, rules, slurm_features, slurm_has
from .offerings import Offering, offering, offering_names
from .prices import Price, StoragePrice, price, prices, service_price, storage_price
from .quotas import Quota, quotas, quotas_for, storage_quota_for
from .software import Profile, profile, profile_names, software, software_names
from .sources import Source, source, sources
from .storage import Addresses, Rate, Run, StorageClass, Tier, storage_class, storage_classes
from .targets import Built, ControlSize, Managed, Networks, Target, machine_target, target, target_names

__all__ = [
    "Accelerator",
    "Addresses",
    "Built",
    "ChangeCost",
    "Condition",
    "ControlSize",
    "Expectation",
    "Fabric",
    "Fault",
    "IdentifierForm",
    "Interface",
    "Layout",
    "Limit",
    "Machine",
    "Managed",
    "MigProfile",
    "Networks",
    "Offering",
    "OtherCost",
    "PolicySize",
    "Price",
    "Profile",
    "Quota",
    "Rate",
    "Rule",
    "Run",
    "SlurmFeature",
    "Source",
    "StorageClass",
    "StoragePrice",
    "Target",
    "Tier",
    "accelerators",
    "can_be_packed",
    "change_costs",
    "expand",
    "expected_busbw",
    "fabrics",
    "faults",
    "identifier_forms",
    "identifier_parts",
    "interface_titles",
    "is_known_for_fewer",
    "is_other_gpu",
    "layout",
    "layouts",
    "limit",
    "machine",
    "machine_target",
    "machines",
    "offering",
    "offering_names",
    "packing_source",
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
    "target",
    "target_names",
]

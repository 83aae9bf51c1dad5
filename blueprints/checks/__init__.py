"""Checks of a resolved cluster that compare its parts with each other. Each module checks one concern with a pure function."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from .. import document, finding, language, spec
from . import (
    acceptance,
    access,
    accounts,
    bmcs,
    capacity,
    control,
    data_protection,
    duplicates,
    fabric,
    features,
    host_project,
    hosts,
    identifiers,
    inventory,
    kubernetes,
    load_balancers,
    maintenance,
    mig,
    mounts,
    names,
    namespaces,
    network,
    os_login,
    partitions,
    permissions,
    placement,
    pools,
    purchases,
    qos,
    quotas,
    rails,
    references,
    scale,
    schedulers,
    secondary_networks,
    shared_address,
    site_network,
    software,
    storage,
    training,
    usability,
    users,
    whole_nodes,
)

Check: TypeAlias = Callable[[spec.ClusterSpec, language.Blueprint, document.Document], Iterator[finding.Finding]]

_CHECKS: tuple[Check, ...] = (
    *(hosts.check, inventory.check, rails.check, names.check, duplicates.check, bmcs.check),
    *(references.check, users.check, accounts.check, qos.check, partitions.check, usability.check, whole_nodes.check),
    *(schedulers.check, kubernetes.check, load_balancers.check, secondary_networks.check, namespaces.check, maintenance.check),
    *(pools.check, capacity.check, purchases.check, placement.check, fabric.check, software.check, mig.check, acceptance.check),
    *(
        identifiers.check,
        network.check,
        host_project.check,
        access.check,
        os_login.check,
        shared_address.check,
        site_network.check,
        mounts.check,
        storage.check,
        data_protection.check,
    ),
    *(training.check, control.check, scale.check, quotas.check, permissions.check, features.check),
)


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: document.Document) -> tuple[finding.Finding, ...]:
    """Check the parts of a cluster against each other and against the catalogue.

    Args:
        cluster: the resolved cluster; placeholders replace parts that resolve refused.
        blueprint: the blueprint that it was resolved from.
        source: the blueprint as written; findings point into it.
    """
    return tuple(found for one in _CHECKS for found in one(cluster, blueprint, source))

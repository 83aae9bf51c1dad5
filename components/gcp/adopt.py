"""Find resources that a killed run created in the project.

Names are deterministic on Google Cloud, or chosen before the creation began (a database's), so the identity of every resource follows from what was asked for. Whether it exists, and
whether it is this stack's, its service tells: by the stack's mark in its labels, or in its description where it can have no labels. Versions of secrets are created again, which
changes nothing.
"""

import dataclasses
import urllib.parse
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .. import errors
from ..adoption import ABSENT, AGAIN, Certainty, Creation, NotAsked, Trace
from . import credentials, rest
from .names import OWNER_LABEL


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """Where a kind's resources are.

    Args:
        path: below the project, with names of inputs.
        identity: the provider's id, where it is not the full path.
        of_project: False: the service has one name space for all projects, and the path is the whole one.
    """

    path: str
    service: str = "compute"
    version: str = rest.VERSION
    identity: str = ""
    of_project: bool = True


COMPUTE: Mapping[str, str] = {
    "gcp:compute/address:Address": "regions/{region}/addresses/{name}",
    "gcp:compute/disk:Disk": "zones/{zone}/disks/{name}",
    "gcp:compute/firewall:Firewall": "global/firewalls/{name}",
    "gcp:compute/globalAddress:GlobalAddress": "global/addresses/{name}",
    "gcp:compute/forwardingRule:ForwardingRule": "regions/{region}/forwardingRules/{name}",
    "gcp:compute/instance:Instance": "zones/{zone}/instances/{name}",
    "gcp:compute/instanceGroup:InstanceGroup": "zones/{zone}/instanceGroups/{name}",
    "gcp:compute/instanceTemplate:InstanceTemplate": "global/instanceTemplates/{name}",
    "gcp:compute/network:Network": "global/networks/{name}",
    "gcp:compute/regionBackendService:RegionBackendService": "regions/{region}/backendServices/{name}",
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager": "regions/{region}/instanceGroupManagers/{name}",
    "gcp:compute/regionHealthCheck:RegionHealthCheck": "regions/{region}/healthChecks/{name}",
    "gcp:compute/resourcePolicy:ResourcePolicy": "regions/{region}/resourcePolicies/{name}",
    "gcp:compute/router:Router": "regions/{region}/routers/{name}",
    "gcp:compute/subnetwork:Subnetwork": "regions/{region}/subnetworks/{name}",
}
FORMS: Mapping[str, Form] = {
    **{kind: Form(path) for kind, path in COMPUTE.items()},
    "gcp:filestore/instance:Instance": Form("locations/{location}/instances/{name}", service="file", version="v1/"),
    "gcp:lustre/instance:Instance": Form("locations/{location}/instances/{instanceId}", service="lustre", version="v1/"),
    "gcp:projects/iAMCustomRole:IAMCustomRole": Form("roles/{roleId}", service="iam", version="v1/"),
    "gcp:storage/bucket:Bucket": Form("b/{name}", service="storage", version="storage/v1/", identity="{name}", of_project=False),
    "gcp:secretmanager/secret:Secret": Form("secrets/{secretId}", service="secretmanager", version="v1/"),
    "gcp:sql/databaseInstance:DatabaseInstance": Form("instances/{name}", service="sqladmin", version="v1/", identity="{name}"),
    "gcp:serviceaccount/account:Account": Form("serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com", service="iam", version="v1/"),
}
"""Ids as the provider's documentation has them under "Import"; paths as in Google's discovery documents."""
PARTS: Mapping[str, str] = {
    "gcp:compute/instanceIAMBinding:InstanceIAMBinding": "projects/{project}/zones/{zone}/instances/{instanceName}/{role}",
    "gcp:compute/routerNat:RouterNat": "{project}/{region}/{router}/{name}",
    "gcp:projects/iAMMember:IAMMember": "{project}/{role}/{member}",
    "gcp:secretmanager/secretIamMember:SecretIamMember": "{secretId}/{role}/{member}",
    "gcp:serviceaccount/iAMBinding:IAMBinding": "{serviceAccountId}/{role}",
    "gcp:serviceaccount/iAMMember:IAMMember": "{serviceAccountId}/{role}/{member}",
    "gcp:servicenetworking/connection:Connection": "{escaped_network}:{service}",
    "gcp:sql/database:Database": "projects/{project}/instances/{instance}/databases/{name}",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "b/{bucket}/{role}/{member}",
    "gcp:sql/user:User": "{name}/{host}/{instance}",
}
"""A property of a recorded resource: the refresh that follows finds out whether it exists. A member of a policy that nobody recorded would outlive the stack."""
REPEATED = frozenset({"gcp:secretmanager/secretVersion:SecretVersion"})
"""Created again with the same result; hosts read the latest version of a secret, and all versions go with it."""
KINDS = frozenset({*FORMS, *PARTS, *REPEATED})
"""Every kind for which this module can find out whether it was created."""


class Account:
    """The project as Google's services describe it.

    Args:
        region: of the stack.
    """

    def __init__(self, region: str):
        self._region = region

    def trace(self, creation: Creation, *, recorded: Collection[str]) -> Trace:
        if creation.kind in REPEATED:
            return AGAIN
        network = urllib.parse.quote(str(creation.inputs.get("network", "")), safe="")
        asked = {"region": self._region, **creation.inputs, "project": _project(creation), "escaped_network": network}
        try:
            if creation.kind in PARTS:
                return Trace(Certainty.LIKELY, (PARTS[creation.kind].format_map(asked),))
            form = FORMS[creation.kind]
            path = form.path.format_map(asked)
            found = rest.Compute(asked["project"] if form.of_project else "", send=rest.Sender(form.service, form.version)).find(path)
        except KeyError as error:
            raise NotAsked(f"{creation.shown}: this version doesn't know how to look for it ({error})") from error
        except errors.TargetUnanswered as error:
            raise NotAsked(f"{creation.shown}: {error}") from error
        identity = form.identity.format_map(asked) or f"projects/{asked['project']}/{path}"
        is_ours = found is not None and _mark(found) == _mark(creation.inputs) != ""
        return Trace(Certainty.FOUND, (identity,)) if is_ours and identity not in recorded else ABSENT

    def keep(self, names: Sequence[str]) -> None:
        """Do nothing: what stays carries the mark of its stack, which no later stack has."""


def _mark(resource: Mapping[str, Any]) -> str:
    """Give the stack's mark on a resource; empty: it carries none. Cloud SQL has labels among its settings."""
    labels = resource.get("labels") or (resource.get("settings") or {}).get("userLabels") or {}
    return str(labels.get(OWNER_LABEL) or str(resource.get("description") or "").partition(f"{OWNER_LABEL}=")[2])


def _project(creation: Creation) -> str:
    found = creation.inputs.get("project") or credentials.project()
    if not found:
        raise NotAsked(f"{creation.shown}: no project is set; set GOOGLE_PROJECT as for `up`")
    return str(found)

"""The table of targets: where the code of each target is, as dotted names that Python imports when somebody needs them.

A target's name appears in code only here and in the target's own folder (tests/tools/test_target_names.py). A new target is a folder, a line in `TARGETS` and data of the catalogue.
"""

import contextlib
import dataclasses
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from blueprints.project import project_root

from . import errors, lasting_imports

if TYPE_CHECKING:  # commands that only plan don't import what works on a cluster
    from .adoption import Account
    from .cloud import account as of_account
    from .discovery import Discovery
    from .live import Live
    from .rebuild import Rebuild
    from .removal import Removal

DEFAULT = "local"
"""The target of a stack that chooses none. It needs no account, and rehearses every other target."""


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """Where the code of one target is. Each name is `module` or `module:attribute`; empty: the target has no such thing."""

    foundation: str
    """The class that creates what all schedulers share (`contract.Target`)."""
    slurm: Mapping[str, str]
    """Offering (`run_by` of the spec) → the class that provisions Slurm with it (`contract.SlurmOffering`)."""
    discovery: str
    """The class that lists what runs (`discovery.Discovery`)."""
    kinds: tuple[str, ...]
    """The target's own kinds of resources (`provider.kind.Kind`)."""
    removal: str
    """The class that knows which stacks `down` can't remove and what the engine leaves (`removal.Removal`)."""
    rebuild: str
    """The class that makes the engine create a host again (`rebuild.Rebuild`)."""
    kubernetes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Offering (`run_by` of the spec) → the class that provisions Kubernetes with it (`contract.KubernetesOffering`)."""
    drift: str = ""
    """The file, below the project's root, with what a refresh shows of the target's resources (its form is stacks/drift/rules.yaml's)."""
    package: str = ""
    """The cloud's package of Pulumi. Resources of this package are in an account."""
    live: str = ""
    """The function that asks the place of a cluster whether it has what the cluster needs (`live.Live`); empty: nobody can be asked."""
    account: str = ""
    """The package that answers questions about an account, with the modules of `account.MODULES`."""
    adopt: str = ""
    """The class that finds resources that an interrupted run left unrecorded (`adoption.Account`)."""

    @property
    def sdk(self) -> str:
        """Name the Python package of the cloud's SDK for Pulumi. The extra that installs it has the target's name."""
        return f"pulumi_{self.package}" if self.package else ""


TARGETS: Mapping[str, Target] = {
    "aws": Target(
        foundation="components.aws.target:Aws",
        slurm={"slurm_hosts": "components.aws.offerings.slurm_hosts:SlurmHosts"},
        discovery="components.aws.discovery:Discovery",
        removal="components.aws.removal:Removal",
        rebuild="components.aws.rebuild:Rebuild",
        kinds=("components.aws.site:Site", "components.aws.machine_image:MachineImage", "components.aws.nodes:Nodes"),
        drift="components/aws/drift.yaml",
        package="aws",
        live="components.aws.account.live:check",
        account="components.aws.account",
        adopt="components.aws.adopt:Account",
    ),
    "gcp": Target(
        foundation="components.gcp.target:Gcp",
        slurm={"slurm_hosts": "components.gcp.offerings.slurm_hosts:SlurmHosts"},
        discovery="components.gcp.discovery:Discovery",
        removal="components.gcp.removal:Removal",
        rebuild="components.gcp.rebuild:Rebuild",
        kinds=(
            "components.gcp.site:Site",
            "components.gcp.machine_image:MachineImage",
            "components.gcp.nodes:Nodes",
            "components.gcp.group_members:GroupMembers",
        ),
        drift="components/gcp/drift.yaml",
        package="gcp",
        live="components.gcp.account.live:check",
        account="components.gcp.account",
        adopt="components.gcp.adopt:Account",
    ),
    "metal": Target(
        foundation="components.metal.target:Metal",
        slurm={"slurm_hosts": "components.metal.offerings.slurm_hosts:SlurmHosts"},
        kubernetes={"kubernetes_hosts": "components.metal.offerings.kubernetes_hosts:KubernetesHosts"},
        discovery="components.metal.discovery:Discovery",
        removal="components.metal.removal:Removal",
        rebuild="components.metal.rebuild:Rebuild",
        kinds=("components.metal.site:Site", "components.metal.hosts:Hosts"),
        drift="components/metal/drift.yaml",
        live="components.metal.live:check",
    ),
    "local": Target(
        foundation="components.local.target:Local",
        slurm={"slurm_hosts": "components.local.offerings.slurm_hosts:SlurmHosts"},
        kubernetes={"kubernetes_hosts": "components.local.offerings.kubernetes_hosts:KubernetesHosts"},
        discovery="components.local.discovery:Discovery",
        removal="components.local.removal:Removal",
        rebuild="components.local.rebuild:Rebuild",
        drift="components/local/drift.yaml",
        kinds=(
            "components.local.site:Site",
            "components.local.network:Network",
            "components.local.folder:Folder",
            "components.local.image:Image",
            "components.local.pool:HostPool",
            "components.local.elastic.pool:ElasticPool",
            "components.local.balancer:Balancer",
        ),
    ),
}


def load(place: str) -> Any:
    """Import `module` or `module:attribute`.

    Raises:
        ImportError: a package that the module imports is not installed.
    """
    module, _, attribute = place.partition(":")
    # With a cloud's SDK, hundreds of modules. One that another thread is importing now is waited for.
    with contextlib.nullcontext() if module in sys.modules else lasting_imports.without_search_for_garbage():
        imported = importlib.import_module(module)
    return getattr(imported, attribute) if attribute else imported


def declares_by_count(stack: str) -> bool:
    """Say whether hosts of a stack on this machine declare their memory by their number, as an earlier version created them."""
    found: bool = load("components.local.machine.declared:by_count")(stack)
    return found


def require_sdk(target: str) -> None:
    """Return where everything that a target's components import is installed.

    Raises:
        SdkMissing: a package is missing.
    """
    sdk = TARGETS[target].sdk if target in TARGETS else ""
    if sdk and importlib.util.find_spec(sdk) is None:
        raise errors.SdkMissing(
            f"the target {target} needs Pulumi's SDK for it, which is not installed",
            why=f"there is no Python package {sdk}: `make setup` installs the SDK of a cloud only when you ask for it",
            remedy=f"run `{setup_command(target)}`, then the same command again",
        )


def setup_command(target: str) -> str:
    """Give the command that installs what a target needs."""
    return f"make setup EXTRAS={target}" if target in TARGETS and TARGETS[target].package else "make setup"


def discovery(target: str) -> "Discovery | None":
    """Give what lists a target's hosts and instances; None: this version can't list any there."""
    return cast("Discovery", load(TARGETS[target].discovery)()) if target in TARGETS else None


def removals() -> "tuple[Removal, ...]":
    """Give what every target knows of removing a stack."""
    return tuple(cast("Removal", load(target.removal)()) for target in TARGETS.values())


def drift_files() -> tuple[Path, ...]:
    """Give every target's file of rules about differences of its resources."""
    return tuple(project_root() / target.drift for target in TARGETS.values() if target.drift)


def rebuild(target: str) -> "Rebuild | None":
    """Give what rebuilds a target's hosts; None: this version provisions none there."""
    return cast("Rebuild", load(TARGETS[target].rebuild)()) if target in TARGETS else None


def adopter(target: str, region: str) -> "Account":
    """Give what finds unrecorded resources in a region of a target's account.

    Raises:
        SdkMissing: the cloud's SDK is not installed.
    """
    try:
        found: Account = load(TARGETS[target].adopt)(region)
    except ImportError as error:
        raise errors.SdkMissing(
            "the account of the stack can't be queried",
            why=f"there is no Python package {error.name}: `make setup` installs the SDK of a cloud only when you ask for it",
            remedy=f"run `{setup_command(target)}`, then the same command again",
        ) from error
    return found


def live(target: str) -> "Live | None":
    """Give what asks the place of a cluster on a target; None: nobody can be asked there."""
    return cast("Live", load(TARGETS[target].live)) if target in TARGETS and TARGETS[target].live else None


def live_targets() -> tuple[str, ...]:
    """Name the targets whose places can be asked."""
    return tuple(name for name, target in TARGETS.items() if target.live)


@overload
def account(target: str, module: Literal["session"]) -> "of_account.Sessions": ...
@overload
def account(target: str, module: Literal["lookup"]) -> "of_account.Lookup": ...
@overload
def account(target: str, module: Literal["caller"]) -> "of_account.Caller": ...
@overload
def account(target: str, module: Literal["pipeline"]) -> "of_account.Pipeline": ...
def account(target: str, module: str) -> Any:
    """Give a module of what answers questions about a target's account."""
    return load(f"{TARGETS[target].account}.{module}")


def has_account(target: str) -> bool:
    """Say whether a target has an account that can be asked."""
    return target in TARGETS and bool(TARGETS[target].account)


def target_of(kind: str) -> str | None:
    """Name the target whose account holds resources of a type (`aws:ec2/vpc:Vpc`); None: the type belongs to no cloud."""
    package = kind.partition(":")[0]
    return next((name for name, target in TARGETS.items() if target.package and target.package == package), None)

"""What two controllers share: Slurm's saved state, and the tables that all hosts read. Each is on a Filestore instance, since one disk belongs to one instance."""

import dataclasses

import pulumi

from blueprints import catalog, spec

from .. import contract, host_folders
from . import storage

STATE = f"{host_folders.STATE}/slurmctld"


@dataclasses.dataclass(frozen=True, slots=True)
class SharedState:
    """File systems of two controllers."""

    state: contract.Mount
    """Only controllers mount it."""
    tables: contract.Mount
    """As controllers mount it, which write it."""

    @property
    def read(self) -> contract.Mount:
        """The tables as other hosts mount them; while no server answers, reading fails after seconds instead of waiting."""
        return dataclasses.replace(self.tables, options=("nfsvers=3", "ro", "soft", "timeo=50", "retrans=2", "_netdev", "nofail"))


def provision(place: storage.Place, *, protect: bool, opts: pulumi.ResourceOptions) -> SharedState:
    """Create the file systems.

    Args:
        protect: refuse to delete the one with Slurm's state.
    """
    # No file system of a blueprint can have these names.
    state, tables = _file_system("_state", STATE, protect=protect), _file_system("_tables", host_folders.CLUSTER, protect=False)
    return SharedState(
        state=storage.Filestore(state.name, storage.FilestoreArgs(place, state, part="control"), opts=opts).mount,
        tables=storage.Filestore(tables.name, storage.FilestoreArgs(place, tables, part="control"), opts=opts).mount,
    )


def _file_system(name: str, mount: str, *, protect: bool) -> spec.FileSystem:
    """Describe the smallest file system of the class that the catalogue names."""
    known = catalog.storage_class("gcp", catalog.target("gcp").pair_storage)
    return spec.FileSystem(
        name=name, kind="nfs", mount=mount, protect=protect, simulated=False, storage_class=known.name, size_gib=known.sizes[0].first, on_delete="delete"
    )

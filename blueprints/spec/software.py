"""The versions of what hosts run."""

import dataclasses
from typing import Annotated

from . import cost

OTHER_IMAGE = cost.replaces_nodes("hosts start from the image of the other versions; an older Slurm refuses the state of a newer one")


@dataclasses.dataclass(frozen=True, slots=True)
class Software:
    """One tested set of versions (blueprints/catalog/software)."""

    profile: Annotated[str, OTHER_IMAGE]
    os: Annotated[str, OTHER_IMAGE]
    """`debian-13`, `debian-12`, …"""
    suite: Annotated[str, OTHER_IMAGE]
    """The distribution's archive name (`trixie`)."""
    slurm: Annotated[str, OTHER_IMAGE]
    """`24.11`, `22.05`: major version, the key of the Slurm templates."""
    tested_on: Annotated[str, cost.none("what is known of the same versions")]
    """Where this set has run: `simulated` (hosts without GPUs) or a machine's name; empty when it never ran."""
    arch: Annotated[str, OTHER_IMAGE] = "x86_64"
    kubernetes: Annotated[str, OTHER_IMAGE] = ""
    versions: Annotated[tuple[tuple[str, str], ...], OTHER_IMAGE] = ()
    """Kernel, driver, CUDA, NCCL and so on, by name; what no source tells is left out."""
    origins: Annotated[tuple[tuple[str, str], ...], OTHER_IMAGE] = ()
    """What proves parts that come from outside of the distribution's archive (checksums, keys' fingerprints), and where they are, by the names of the roles' variables."""

"""The versions of what hosts run."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Software:
    """One tested set of versions (blueprints/catalog/software)."""

    profile: str
    os: str
    """`debian-13`, `debian-12`, …"""
    suite: str
    """The distribution's archive name (`trixie`)."""
    slurm: str
    """`24.11`, `22.05`: major version, the key of the Slurm templates."""
    tested_on: str
    """Where this set has run: `simulated` (hosts without GPUs) or a machine's name; empty when it never ran."""
    arch: str = "x86_64"
    kubernetes: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    """Kernel, driver, CUDA, NCCL and so on, by name; what no source tells is left out."""
    origins: tuple[tuple[str, str], ...] = ()
    """What proves parts that come from outside of the distribution's archive (checksums, a key's fingerprint), and where they are, by the names of the roles' variables."""

"""Where the packages of a distribution come from: its archive, as this machine knows it, and the keys that vouch for it."""

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path

from . import command

APT_HELPER = "/usr/lib/apt/apt-helper"
FETCH_WITHIN_S = 120
SUITES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "debian": {"Debian": ("{}", "{}-updates"), "Debian-Security": ("{}-security",)},
    "ubuntu": {"Ubuntu": ("{}", "{}-updates", "{}-security")},
}
"""Distribution → label of an archive, the main one first (`Label` in its Release files) → the suites that it serves of a release."""
COMPONENTS: Mapping[str, tuple[str, ...]] = {"debian": ("main",), "ubuntu": ("main", "universe", "restricted", "multiverse")}
"""Distribution → what its hosts use of the archive; Ubuntu has Slurm in universe and GPU drivers in restricted."""


@dataclasses.dataclass(frozen=True, slots=True)
class KeyPackage:
    """A package of Debian that holds the keys of another distribution."""

    name: str
    pool: str
    """Path below the address of Debian's archive, which has the packages of all its releases."""
    sha256: str
    keyring: str
    """Path of the keys on a host, on the distribution's own hosts too."""


KEY_PACKAGES: Mapping[str, KeyPackage] = {
    # Source: Debian 13 (trixie), Packages index of main, as of 2026-11. Debian 12 has no package of these keys.
    "ubuntu": KeyPackage(
        name="ubuntu-keyring_2023.11.28.1-0.2",
        pool="pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1-0.2_all.deb",
        sha256="b2e7ed48431bf9e7978ae810bbdaf253093570d6e3f864e575b7c13554b81174",
        keyring="/usr/share/keyrings/ubuntu-archive-keyring.gpg",
    ),
}
"""Distribution → where its keys are. Of a distribution that is not here, mmdebstrap finds the keys of the package that this machine has."""

Archives = Mapping[str, tuple[str, str]]
"""Label → address, and the file of its keys where one is named."""


def known() -> Archives:
    """Give the archives that this machine's apt reads; of those with one label the first."""
    listed = command.run("apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)|$(SIGNED_BY)", "Created-By: Packages")
    found: dict[str, tuple[str, str]] = {}
    for line in listed.splitlines():
        label, uri, signed_by = line.split("|")
        found.setdefault(label, (uri, signed_by))
    return found


def lines(archives: Archives, distribution: str, suite: str) -> list[str]:
    """The sources to build `suite` from: the machine's own archives where they serve the distribution, or none, which leaves the choice to mmdebstrap. Pure.

    Each line is in the form of sources.list(5).
    """
    found = []
    for label, forms in SUITES[distribution].items():
        if label in archives:
            uri, signed_by = archives[label]
            option = f"[signed-by={shlex.quote(signed_by)}] " if signed_by.startswith("/") else ""
            found += [f"deb {option}{uri} {form.format(suite)} {' '.join(COMPONENTS[distribution])}" for form in forms]
    return found if next(iter(SUITES[distribution])) in archives else []


def fetch_keyring(archives: Archives, package: KeyPackage, folder: Path) -> Path:
    """Fetch a package of keys from the machine's Debian archive, check and unpack it in `folder`, and give the file of the keys.

    Raises:
        CommandFailed: no Debian archive is known here, the package is not there, or it is not the one whose checksum is known.
    """
    if "Debian" not in archives:
        raise command.CommandFailed(
            f"{package.keyring} is missing, and this machine's package sources have no Debian archive: install the package that contains the file"
        )
    fetched, address = folder / "keys.deb", f"{archives['Debian'][0].rstrip('/')}/{package.pool}"
    command.run(APT_HELPER, "-qq", "download-file", address, str(fetched), f"SHA256:{package.sha256}", within_s=FETCH_WITHIN_S)
    command.run("dpkg-deb", "--extract", str(fetched), str(folder))
    fetched.unlink()
    return folder / package.keyring.lstrip("/")

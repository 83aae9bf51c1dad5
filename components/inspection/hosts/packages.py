"""Packages that differ from the host's record. Pure."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile, Package
from blueprints.finding.values import PackageState

from ..codes import Code
from ..finding import digest, drift


def findings(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare packages, their holds, and the files of held ones."""
    for one in facts["packages"]:
        recorded, actual = _state(one["recorded"]), _state(one["actual"])
        code, what, remedy = _difference(shlex.quote(one["name"]), recorded, actual)
        yield drift(code, Package(host, one["name"]), what, remedy=remedy, desired=recorded, recorded=recorded, actual=actual)
    for path in facts["package_files"]:
        yield drift(
            Code.PACKAGE_FILE,
            HostFile(host, path),
            "the file is not the one of its package",
            remedy=f"`dpkg --search {shlex.quote(path)}` on {host} names the package; `apt-get install --reinstall` restores the file, or `clusterwright rebuild {host}`",
            desired="as in the package",
            actual="another content, or gone",
            digest=digest(facts["contents"].get(path)),
        )


def _difference(name: str, recorded: PackageState | None, actual: PackageState | None) -> tuple[Code, str, str]:
    if recorded is None:
        return Code.PACKAGE_ADDED, "the package was added by hand", "`clusterwright drift fix` removes it; to keep it, put it into a role"
    back = f"`clusterwright up`, or `apt-get install {name}={recorded.version}`"
    if actual is None:
        return Code.PACKAGE_GONE, "the package was removed", back
    if recorded.version != actual.version:
        return Code.PACKAGE_VERSION, "the package has another version", back
    if recorded.is_held:
        return Code.PACKAGE_HOLD, "the package lost its hold: the next upgrade may change it", f"`apt-mark hold {name}`"
    return Code.PACKAGE_HOLD, "the package is held, so that upgrades skip it", f"`apt-mark unhold {name}`"


def _state(package: Mapping[str, Any] | None) -> PackageState | None:
    return None if package is None else PackageState(str(package["version"]), bool(package["held"]))

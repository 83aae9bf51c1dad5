"""Packages: the recorded version and hold come back through apt, and what somebody installed is removed. Pure."""

from blueprints.finding import Finding
from blueprints.finding.subject import Package
from blueprints.finding.values import PackageState, Values
from components.inspection.codes import Code

from . import files, names
from .step import Command, Order, Step

INSTALL = """set -eu
put() { apt-get install --yes --quiet --option=Acquire::Retries=0 --no-install-recommends --allow-downgrades --allow-change-held-packages --option=Dpkg::Options::=--force-confold -- "$1=$2"; }
put "$1" "$2" || { apt-get update --quiet --option=Acquire::Retries=0 --error-on=any && put "$1" "$2"; }
[ "$3" = unhold ] || apt-mark hold -- "$1"
"""
"""package, version, `hold` or `unhold`"""


def steps(finding: Finding, subject: Package, values: Values) -> tuple[Step, ...]:
    """Give the step that ends a finding about a package; none where no step restores it."""
    name = subject.name
    if not names.PACKAGE.fullmatch(name):
        return ()
    match finding.code, values.recorded:
        case Code.PACKAGE_HOLD, PackageState(is_held=is_held):
            command = Command(("apt-mark", _hold(is_held), "--", name))
            return (Step(subject.host, command, Order.RUNNING, (finding,), is_quiet=True),)  # after the installations, which need the package as it is
        case ((Code.PACKAGE_GONE | Code.PACKAGE_VERSION), PackageState(version=version, is_held=is_held)) if names.VERSION.fullmatch(version):
            command = Command(
                files.script(INSTALL, name, version, _hold(is_held)), shown=f"install {name} in the version {version}{', held' if is_held else ''}"
            )
            return (Step(subject.host, command, Order.PACKAGES, (finding,)),)
        case Code.PACKAGE_ADDED, None:
            # Refused while another package depends on it, unlike apt-get, which would remove that one, too.
            return (Step(subject.host, Command(("dpkg", "--remove", "--", name)), Order.PACKAGES, (finding,)),)
        case _:
            return ()


def _hold(is_held: bool) -> str:
    return "hold" if is_held else "unhold"

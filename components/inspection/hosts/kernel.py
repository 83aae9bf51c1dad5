"""Settings and modules of the kernel. Pure."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints.finding import Finding
from blueprints.finding.subject import KernelModule, Sysctl
from blueprints.finding.values import Setting

from ..codes import Code
from ..finding import drift


def findings(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare the kernel with the files of sysctl.d(5) and modules-load.d(5)."""
    for name, one in sorted(facts["sysctls"].items()):
        if one["declared"] != one["actual"]:
            declared = Setting(one["declared"])
            yield drift(
                Code.SYSCTL,
                Sysctl(host, name),
                "the kernel has another value than its file",
                remedy=f"`sysctl --system` on {host} reads the files again",
                desired=declared,
                recorded=declared,
                actual=one["actual"] or None,
            )
    for name, is_loaded in sorted(facts["kernel_modules"].items()):
        if not is_loaded:
            what = "the module should be loaded at boot and is not"
            remedy = f"`modprobe {shlex.quote(name)}` on {host}"
            yield drift(Code.KERNEL_MODULE, KernelModule(host, name), what, remedy=remedy, desired="loaded", recorded="loaded")

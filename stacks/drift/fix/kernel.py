"""Settings and modules of the kernel. Pure."""

from blueprints.finding import Finding
from blueprints.finding.subject import KernelModule, Sysctl
from blueprints.finding.values import Setting, Values

from . import names
from .step import Command, Order, Step


def steps(finding: Finding, subject: Sysctl | KernelModule, values: Values) -> tuple[Step, ...]:
    """Give the command that ends a finding about the kernel."""
    match subject, values.recorded:
        case Sysctl(name=name), Setting(value) if names.SYSCTL.fullmatch(name) and names.SYSCTL_VALUE.fullmatch(value):
            return (Step(subject.host, Command(("sysctl", "-w", "--", f"{name}={value}")), Order.RUNNING, (finding,)),)
        case KernelModule(name=name), _ if names.MODULE.fullmatch(name):
            return (Step(subject.host, Command(("modprobe", "--", name)), Order.RUNNING, (finding,)),)
        case _:
            return ()

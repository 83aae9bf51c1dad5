"""Settings and modules of the kernel, its clock, and settings that hosts share. Pure."""

from blueprints.finding import Finding
from blueprints.finding.subject import HostPart, KernelModule, Sysctl
from blueprints.finding.values import Setting, Values
from components.inspection.common_settings import AUTHORITIES, MTU, NOTHING, SYSCTL, TIME_ZONE

from . import files, names
from .step import Command, Order, Step

CLOCK = """set -eu
unit=
for one in chrony chronyd ntpsec ntp systemd-timesyncd; do
    if systemctl is-active --quiet "$one.service"; then unit=$one; break; fi
    [ -n "$unit" ] || ! systemctl is-enabled --quiet "$one.service" 2>/dev/null || unit=$one
done
[ -n "$unit" ] || { echo "the host has no time service: install chrony" >&2; exit 1; }
systemctl restart "$unit.service"
case $unit in
chrony*) chronyc waitsync 30 1 0 2 ;;
ntp*) ntpwait -n 30 -s 2 ;;
*) for _ in $(seq 30); do ! timedatectl timesync-status | grep -q 'Offset:' || exit 0; sleep 2; done
   echo "no time server answered $unit" >&2; exit 1 ;;
esac
"""
"""Time services set a clock at once after a start (chrony.conf(5), `makestep 1 3` of Debian and Ubuntu; systemd-timesyncd.service(8)); waits a minute for it. Servers have their owner's service."""
SET_TIME_ZONE = """set -eu
[ -f "/usr/share/zoneinfo/$1" ] || { echo "there is no /usr/share/zoneinfo/$1" >&2; exit 1; }
ln -sfn -- "/usr/share/zoneinfo/$1" /etc/localtime
[ ! -e /etc/timezone ] || printf '%s\\n' "$1" > /etc/timezone
"""


def common(finding: Finding, part: HostPart, values: Values) -> tuple[Step, ...]:
    """Give the step that sets a setting as on the other hosts; none where a person has to find out what is foreign."""
    usual = values.recorded
    if not isinstance(usual, str) or usual == NOTHING:
        return ()
    if part.part.startswith(MTU) and usual.isdecimal() and names.INTERFACE.fullmatch(interface := part.part.removeprefix(MTU)):
        command = Command(("ip", "link", "set", "dev", interface, "mtu", usual))
    elif part.part.startswith(SYSCTL) and names.SYSCTL.fullmatch(name := part.part.removeprefix(SYSCTL)) and names.SYSCTL_VALUE.fullmatch(usual):
        command = Command(("sysctl", "-w", "--", f"{name}={usual}"))
    elif part.part == TIME_ZONE and names.TIME_ZONE.fullmatch(usual):
        command = Command(files.script(SET_TIME_ZONE, usual), shown=f"set the time zone {usual}")
    elif part.part == AUTHORITIES:
        command = Command(("update-ca-certificates",))
    else:
        return ()
    return (Step(part.host, command, Order.RUNNING, (finding,)),)


def steps(finding: Finding, subject: Sysctl | KernelModule, values: Values) -> tuple[Step, ...]:
    """Give the command that ends a finding about the kernel."""
    match subject, values.recorded:
        case Sysctl(name=name), Setting(value) if names.SYSCTL.fullmatch(name) and names.SYSCTL_VALUE.fullmatch(value):
            return (Step(subject.host, Command(("sysctl", "-w", "--", f"{name}={value}")), Order.RUNNING, (finding,)),)
        case KernelModule(name=name), _ if names.MODULE.fullmatch(name):
            return (Step(subject.host, Command(("modprobe", "--", name)), Order.RUNNING, (finding,)),)
        case _:
            return ()


def of_clock(finding: Finding, host: str) -> tuple[Step, ...]:
    """Give the command that sets a clock: the time service does it when it starts."""
    command = Command(files.script(CLOCK), shown="restart the time service, and wait until the clock is right")
    return (Step(host, command, Order.RUNNING, (finding,)),)

"""The network service of this host's distribution: netplan, systemd-networkd or ifupdown."""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import files, live
from .wanted import Rail

SETTLES_WITHIN_S = 20
CONFIGURATION = ("/etc/netplan", "/lib/netplan", "/run/netplan")
GENERATORS = ("/usr/libexec/netplan/generate", "/usr/lib/netplan/generate", "/lib/netplan/generate")
GENERATED = Path("/run/systemd/network")
OWN_NETWORK_FILE = re.compile(r"/05-clusterwright-[^/]+\.network$")
OF_NETPLAN = re.compile(r"/10-netplan-([^/]+)\.network$")
UNSUPPORTED = (
    "This host's network is set up by neither netplan, systemd-networkd nor ifupdown (NetworkManager and others are not supported). "
    "Leave `address`, `mtu` and `routes` of its interfaces out of the inventory, or enable systemd-networkd."
)


def name() -> str:
    """Name the service that sets up this host's network: `netplan`, `networkd` or `ifupdown`.

    Raises:
        Failed: none of them does.
    """
    is_networkd = _is_active("systemd-networkd.service")
    if is_networkd and not Path("/run/dbus/system_bus_socket").exists():
        raise live.Failed("systemd-networkd takes orders over D-Bus, which doesn't run on this host: `apt-get install dbus` provides it.")
    if is_networkd and shutil.which("netplan") and any(Path("/etc/netplan").glob("*.yaml")):
        return "netplan"
    if is_networkd:
        return "networkd"
    if shutil.which("ifup") and Path("/etc/network/interfaces").exists():
        return "ifupdown"
    raise live.Failed(UNSUPPORTED)


def render(service: str, rails: "Sequence[tuple[Rail, live.Interface]]") -> "dict[str, files.File]":
    """Give the files that set up the rails at each boot.

    Raises:
        Failed: the host doesn't read the place where they would be.
    """
    own = files.sysctl([interface for _, interface in rails])
    if service == "netplan":
        defined = _netplan_definitions()
        owners = {rail.name: files.Definition(netplan_id=_netplan_id(interface, defined)) for rail, interface in rails}
        return {**own, **files.netplan(rails, owners)}
    if service == "networkd":
        owners = {rail.name: files.Definition(network_file=_owners_file(interface.name)) for rail, interface in rails}
        return {**own, **files.networkd(rails, owners)}
    if rails and not re.search(r"^\s*source(-directory)?\s+(/etc/network/)?interfaces\.d\b", Path("/etc/network/interfaces").read_text(), re.MULTILINE):
        raise live.Failed("/etc/network/interfaces doesn't read /etc/network/interfaces.d. Add the line `source /etc/network/interfaces.d/*` to it.")
    return {**own, **files.ifupdown(rails)}


def reload(service: str, interfaces: "Sequence[str]") -> bool:
    """Have the service read its files again, and say whether it did.

    systemd-networkd configures every interface again whose file was written since it read it. Where that would be another one than these, nothing is read before the next boot, and the caller sets up
    the interfaces itself: an interface that carries SSH may lose its address for a while.
    """
    if service == "ifupdown":
        return False
    if service == "netplan":
        _generate()
    if _newer_files(interfaces):
        return False
    live.run("networkctl", "reload")
    for interface in interfaces:
        live.run("networkctl", "reconfigure", interface)
    return True


def _newer_files(but: "Sequence[str]") -> "list[str]":
    """List the files of other interfaces that were written since systemd-networkd started; `systemctl daemon-reload` has netplan write all of its own again."""
    started = live.run("systemctl", "show", "--timestamp=unix", "--property=ActiveEnterTimestamp", "--value", "systemd-networkd.service").strip().lstrip("@")
    others = {_network_file(one.name) for one in live.state().interfaces if one.name not in but}
    return sorted(path for path in others if path and Path(path).exists() and Path(path).stat().st_mtime > float(started or 0) + 1)


def prepare_boot(service: str) -> None:
    """Bring what netplan generated at the begin of this boot to the state of its files, before anything reads it."""
    if service == "netplan":
        _generate()


def _generate() -> None:
    """Renew what netplan generates for systemd-networkd, and only files that differ: `networkctl reload` configures every interface again whose file was written, the one that carries SSH, too."""
    with tempfile.TemporaryDirectory() as folder:
        _copy_configuration(folder)
        live.run(*_generator(), "--root-dir", folder, within_s=60)
        made = {path.name: path for path in Path(f"{folder}/run/systemd/network").glob("10-netplan-*")}
        GENERATED.mkdir(parents=True, exist_ok=True)
        for name, source in made.items():
            target = GENERATED / name
            if target.exists() and target.read_bytes() == source.read_bytes():
                continue
            temporary = target.with_name(f".{name}.new")
            shutil.copy(source, temporary)
            shutil.chown(temporary, source.stat().st_uid, source.stat().st_gid)
            temporary.replace(target)
        for path in GENERATED.glob("10-netplan-*"):
            if path.name not in made:
                path.unlink()


def _generator() -> "tuple[str, ...]":
    """Give netplan's generator. The command `netplan generate` has systemd load everything again, which writes the files of all interfaces."""
    return next(((path,) for path in GENERATORS if Path(path).exists()), ("netplan", "generate"))


def _copy_configuration(folder: str, *, but: str = "") -> None:
    """Copy netplan's files below another root."""
    for source in CONFIGURATION:
        for path in sorted(Path(source).glob("*.yaml")):
            if str(path) != but:
                copy = Path(folder + str(path))
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)


def apply_directly(rail: Rail, interface: live.Interface) -> None:
    """Set up a rail as ifupdown would at the next boot."""
    mtu = ["mtu", str(rail.mtu)] if rail.mtu else []
    live.run("ip", "link", "set", "dev", interface.name, "up", *mtu)
    if rail.address and rail.address not in interface.addresses:
        live.run("ip", "-4", "address", "add", rail.address, "dev", interface.name)
    for words in files.commands(rail, interface.name):
        if words[1] != "rule" or (rail.table, rail.own_address, rail.table) not in live.state().rules:
            live.run("ip", *words)


def _is_active(unit: str) -> bool:
    try:
        live.run("systemctl", "is-active", "--quiet", unit)
    except live.Failed:
        return False
    return True


def _network_file(interface: str) -> str:
    """Give the file that systemd-networkd uses for an interface; empty: none."""
    found = re.search(r"^\s*Network File: (/.+)$", live.run("networkctl", "--no-pager", "--lines=0", "status", interface), re.MULTILINE)
    return found.group(1).strip() if found else ""


def _owners_file(interface: str) -> str:
    path = _network_file(interface)
    return "" if OWN_NETWORK_FILE.search(path) else path


def _netplan_definitions() -> "frozenset[str]":
    """Name the interfaces that the owner's files define."""
    with tempfile.TemporaryDirectory() as folder:
        _copy_configuration(folder, but=files.NETPLAN)
        shown = live.run("netplan", "get", "--root-dir", folder, "ethernets", within_s=60)
    return frozenset(re.findall(r'^"?([^\s":]+)"?:', shown, re.MULTILINE))


def _netplan_id(interface: live.Interface, defined: "frozenset[str]") -> str:
    """Give the owner's name for an interface; empty: the owner defines none."""
    if interface.name in defined:
        return interface.name
    found = OF_NETPLAN.search(_network_file(interface.name))
    return found.group(1) if found and found.group(1) in defined else ""


def write(wanted: "Mapping[str, files.File]", stale: "Sequence[str]") -> None:
    """Write files, and remove those that no rail needs any longer."""
    for path, file in wanted.items():
        store(path, file.content, file.mode)
    for path in stale:
        Path(path).unlink(missing_ok=True)
        folder = Path(path).parent
        if folder.name.endswith(".network.d") and not any(folder.iterdir()):
            folder.rmdir()


def store(path: str, content: str, mode: int) -> None:
    """Write a file so that a reader sees the old text or the new one."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.new")
    temporary.write_text(content)
    temporary.chmod(mode)
    temporary.replace(target)

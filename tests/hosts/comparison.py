"""What is on a server, so that two moments can be compared: every file, package, mark, unit, mount, firewall rule, kernel setting, interface, address, route and routing rule."""

import fnmatch
import json
from collections.abc import Mapping

from tests.hosts.plain import PlainHosts

Described = Mapping[str, str]
"""What it is → how it is."""
MAY_DIFFER = {
    "/var/log/*": "logs go on",
    "/var/backups/*": "copies that the distribution's timers make at midnight",
    "/var/cache/apt/*": "indexes and archives of the package manager, which it makes when they are missing",
    "/var/lib/apt/lists*": "package lists, which finishing brought up to date",
    "/var/cache/debconf/*-old": "copies of the package manager's own files",
    "/var/lib/dpkg/*-old": "copies of the package manager's own files",
    "/var/lib/ucf/*.[0-9]": "copies of the package manager's own files",
    "/var/cache/ldconfig/aux-cache": "times of libraries that ldconfig has seen",
    "/var/lib/systemd/random-seed": "written at each boot",
    "/var/lib/systemd/timesync/clock": "the time that was last known",
    "/var/lib/clusterwright": "what the release keeps, and says that it keeps",
    "/var/lib/clusterwright/kept*": "what the release keeps, and says that it keeps",
    "running ldconfig.service": "it runs at a system's first boot alone",
    "running systemd-journal-catalog-update.service": "it runs at a system's first boot alone",
    "running systemd-sysusers.service": "it runs at a system's first boot alone",
    "running systemd-update-done.service": "it runs at a system's first boot alone",
    "setting fs.*-state": "counters of the kernel",
    "setting fs.*-nr": "counters of the kernel",
    "setting fs.quota.syncs": "a counter of the kernel",
    "setting net.netfilter.nf_conntrack_count": "a counter of the kernel",
    "setting net.ipv4.tcp_fastopen_key": "random numbers that the kernel makes when a program first listens",
    "setting kernel.ns_last_pid": "a counter of the kernel",
    "setting kernel.pty.nr": "a counter of the kernel",
    "setting kernel.random.*": "random numbers of the kernel",
}
"""Pattern → why it may differ after a release."""
PROGRAM = r"""
import hashlib, json, os, stat, subprocess
found = {}
def walk(folder):
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        status = entry.stat(follow_symlinks=False)
        owner = f"{stat.S_IMODE(status.st_mode):o} {status.st_uid}:{status.st_gid}"
        if entry.is_symlink():
            found[entry.path] = "link " + os.readlink(entry.path)
        elif entry.is_dir():
            if not os.path.ismount(entry.path) and entry.path not in ("/tmp", "/var/tmp", "/run"):
                found[entry.path] = "folder " + owner
                walk(entry.path)
        elif entry.is_file():
            found[entry.path] = f"file {owner} " + hashlib.sha256(open(entry.path, "rb").read()).hexdigest()[:12]
        else:
            found[entry.path] = "special " + owner
walk("/")
def said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()
for line in said("dpkg-query", "--show", "--showformat=${Package}:${Architecture} ${Version} ${db:Status-Abbrev}\n"):
    found["package " + line.split()[0]] = line.split(None, 1)[1]
for mark in ("auto", "hold"):
    for name in said("apt-mark", "show" + mark):
        found[f"{mark} {name}"] = "yes"
for line in said("systemctl", "list-unit-files", "--no-legend", "--plain"):
    found["unit " + line.split()[0]] = line.split()[1]
for line in said("systemctl", "list-units", "--state=active", "--type=service,socket,timer,path,mount,swap", "--no-legend", "--plain"):
    if not line.startswith(("user", "session", "run-user")):
        found["running " + line.split()[0]] = "yes"
table = ""
for line in said("nft", "--stateless", "list", "ruleset"):
    table = line if line.startswith("table") else table
    found[f"rules {table}"] = found.get(f"rules {table}", "") + line + "\n"
for line in said("sysctl", "--all"):
    name, _, value = line.partition(" = ")
    found["setting " + name] = value
for line in open("/proc/self/mounts"):
    source, target, kind = line.split()[:3]
    if not target.startswith(("/run/user", "/proc", "/sys", "/dev")):
        found[f"mount {target}"] = found.get(f"mount {target}", "") + f"{kind} {source}\n"
def asked(*argv):
    return json.loads("".join(said("ip", "-json", *argv)) or "[]")
for link in asked("address"):
    of = "interface " + link["ifname"]
    found[of] = json.dumps({key: link.get(key) for key in ("flags", "mtu", "operstate", "address", "master")})
    for one in link["addr_info"]:
        found[f"{of} address {one['local']}/{one['prefixlen']}"] = f"{one['scope']} {one.get('label', '')}"
for family in ("-4", "-6"):
    for route in asked(family, "route", "show", "table", "all"):
        found[f"route {family} " + json.dumps({key: value for key, value in route.items() if key not in ("expires", "flags")})] = "yes"
    for rule in asked(family, "rule"):
        found[f"rule {family} " + json.dumps(rule)] = "yes"
print(json.dumps(found))
"""


def described(servers: PlainHosts, name: str) -> Described:
    """Describe a server as it is now."""
    found: dict[str, str] = json.loads(servers.inside(name, "python3", "-", stdin=PROGRAM))
    return found


def differences(before: Described, after: Described) -> dict[str, tuple[str, str]]:
    """Give what differs and may not: what → (before, after); absent is empty."""
    return {
        what: (before.get(what, ""), after.get(what, ""))
        for what in sorted({*before, *after})
        if before.get(what) != after.get(what) and not any(fnmatch.fnmatchcase(what, pattern) for pattern in MAY_DIFFER)
    }


def changed(servers: PlainHosts, before: Mapping[str, Described]) -> dict[str, dict[str, tuple[str, str]]]:
    """Compare servers with what they were: server → what differs; servers that are as they were are left out."""
    found = {name: differences(was, described(servers, name)) for name, was in before.items()}
    return {name: what for name, what in found.items() if what}

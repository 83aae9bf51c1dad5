"""Names: what each may be, from every place where it ends up (DNS, Linux, Slurm, its accounting database, Ansible)."""

import re
from collections.abc import Iterable

from .. import hostlist, message_text
from ..codes import Code
from ..finding import Unfit

CLUSTER_LENGTH = 40
"""MariaDB table names hold 64 characters, and slurmdbd's longest suffix is 24 (`_assoc_usage_month_table`)."""
POOL_LENGTH = 32
"""A host is `<pool>-<n>`: DNS labels hold 63 characters (RFC 1035), and clouds put the cluster's name before it."""
LINUX_NAME_LENGTH = 32
"""useradd(8): user and group names have at most 32 characters."""
ACCOUNT_LENGTH = 32
STORAGE_LENGTH = 32
MOST_HOSTS = 50_000
"""More hosts than any list or inventory has; a short text can name more than memory holds."""
FIRST_UID, LAST_UID = 1000, 59999
"""Debian policy 9.2.2: below are system users, from 60000 on dynamic ones and nobody."""

LABEL_LENGTH = 63
"""Kubernetes' label values and the part of a key after the slash, and Google Cloud's labels."""
LABEL_PREFIX_LENGTH = 253
"""RFC 1123: the name of a domain, such as the part before the slash in a label's key."""

# How names look, for the functions here and for the schema that editors read.
FORM = re.compile("[a-z]([a-z0-9-]*[a-z0-9])?")
USER = re.compile("[a-z]([a-z0-9_-]*[a-z0-9])?")
"""A user's name may have underscores: directories make names from addresses (`ada_example_org`)."""
LABEL_VALUE = re.compile("[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
LABEL_PREFIX = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
TAG = re.compile("[a-z][a-z0-9_-]{0,62}")

HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
"""RFC 1123, section 2.1: a label of a host's name. Slurm and the table of hosts know hosts by their short names."""
HOST_LIST = re.compile(r"[A-Za-z0-9\[\], -]+")
INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")
"""IFNAMSIZ of Linux: 15 characters and the end."""
LOOPBACK = "lo"
LINUX_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")

CLOUD_IDENTITY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
"""An e-mail address, as policies of a cloud name a person."""

RESERVED_POOLS = {
    **dict.fromkeys(("control", "login", "access", "balancer", "gateway"), "hosts of the cluster itself have this name"),
    **dict.fromkeys(("compute", "all", "ungrouped", "localhost"), "the inventory that configures the hosts has a group or host of this name"),
    "default": "Slurm reads a partition of this name as the defaults of all others",
}
RESERVED_HOSTS = {
    **dict.fromkeys(("control", "access", "compute", "all", "ungrouped"), "the inventory that configures the hosts has a group of this name"),
    "localhost": "every host calls itself so",
}
RESERVED_TAGS = "clusterwright"
"""Tags that begin like this are the project's own."""
RESERVED_LABELS = ("kubernetes.io", "k8s.io")
RESERVED_QOS = {"normal": "Slurm makes a quality of service of this name itself"}
RESERVED_ACCOUNTS = {"root": "it is Slurm's own account at the top of the tree"}
# Users and groups of Debian's base-passwd, of Ubuntu's server image, and of the packages on the cluster's hosts. A user has a group of the same name.
RESERVED_USERS = frozenset(
    (
        *("adm", "audio", "backup", "bin", "cdrom", "clock", "cluster-admin", "crontab", "daemon", "dialout", "dip", "disk", "fax", "floppy", "games"),
        *("haproxy", "input", "irc", "keepalived", "kmem", "kvm", "list", "lp", "mail", "man", "messagebus", "munge", "mysql", "netdev"),
        *("news", "nobody", "nogroup", "operator", "plugdev", "polkitd", "prometheus", "proxy", "render", "root", "sasl", "sgx", "shadow"),
        *("slurm", "slurmrestd", "src", "sshd", "ssl-cert", "staff", "sudo", "sync", "sys", "systemd-coredump", "systemd-journal"),
        *("systemd-network", "systemd-resolve", "systemd-timesync", "tape", "tss", "tty", "users", "utmp", "uucp", "uuidd", "video"),
        *("voice", "www-data"),
        # Packages of the hosts: isc-dhcp's successor dhcpcd, nfs-common, rdma-core, docker-registry, apt-cacher-ng, sssd, nvidia-persistenced (as of 2026-11).
        *("dhcpcd", "statd", "rdma", "docker-registry", "apt-cacher-ng", "sssd", "nvidia-persistenced"),
        # Ubuntu 24.04's server image (as of 2026-11).
        *("fwupd-refresh", "landscape", "lxd", "pollinate", "syslog", "tcpdump", "usbmux"),
    )
)


def cluster(name: str) -> str:
    return _fit(name, "cluster", CLUSTER_LENGTH, why="the accounting database's table names begin with it")


def pool(name: str) -> str:
    fit = _fit(name, "pool", POOL_LENGTH, why="hosts are named after their pool")
    return _free(fit, "pool", RESERVED_POOLS.get(name))


def account(name: str) -> str:
    fit = _fit(name, "account", ACCOUNT_LENGTH, why="longer ones are cut off in Slurm's reports")
    return _free(fit, "account", RESERVED_ACCOUNTS.get(name))


def qos(name: str) -> str:
    fit = _fit(name, "QOS", ACCOUNT_LENGTH, why="longer ones are cut off in Slurm's reports")
    return _free(fit, "QOS", RESERVED_QOS.get(name))


def label(key: str) -> str:
    """Check a label's key (`team`, `example.org/team`), from Kubernetes' rules."""
    prefix, slash, name = key.rpartition("/")
    fits = LABEL_VALUE.fullmatch(name) and len(name) <= LABEL_LENGTH and (not slash or (LABEL_PREFIX.fullmatch(prefix) and len(prefix) <= LABEL_PREFIX_LENGTH))
    if not fits:
        why = "a key has letters, digits, `-`, `_` and `.`, 63 at most, begins and ends with a letter or digit, and may have a domain and a slash before it"
        raise Unfit(Code.LABEL_FORM, f"{message_text.quoted(key)} can't be a label's key", why=why, remedy="write it like `team` or `example.org/team`")
    owner = next((domain for domain in RESERVED_LABELS if prefix == domain or prefix.endswith(f".{domain}")), None)
    return _free(key, "label", f"labels under {owner} belong to Kubernetes itself" if owner else None)


def label_value(value: str) -> str:
    if value and (not LABEL_VALUE.fullmatch(value) or len(value) > LABEL_LENGTH):
        why = "a value has letters, digits, `-`, `_` and `.`, 63 at most, and begins and ends with a letter or digit"
        raise Unfit(Code.LABEL_FORM, f"{message_text.quoted(value)} can't be a label's value", why=why, remedy="shorten it to such characters")
    return value


def tag(key: str) -> str:
    """Check a tag's key, which is a label on Google Cloud and a tag on AWS: the stricter rules of both."""
    if not TAG.fullmatch(key):
        why = "Google Cloud's labels have lower-case letters, digits, `_` and `-`, 63 at most, and begin with a letter"
        raise Unfit(Code.LABEL_FORM, f"{message_text.quoted(key)} can't be a tag's key", why=why, remedy="write it in lower case, like `cost-center`")
    return _free(key, "tag", "the project marks what it makes with it" if key.startswith(RESERVED_TAGS) else None)


def host(name: str) -> str:
    """Check the own name of a host that exists already."""
    if HOST.fullmatch(name):
        return _free(name, "host", RESERVED_HOSTS.get(name))
    what = f"{message_text.quoted(name)} is not a host name"
    why = "a host name has letters, digits and hyphens, at most 63, and begins and ends with a letter or digit (RFC 1123)"
    short = name.partition(".")[0]
    remedy = (
        f"write {message_text.quoted(short)}, the name without its domain"
        if short != name and HOST.fullmatch(short)
        else "write it as `hostname --short` prints it"
    )
    raise Unfit(Code.HOST_NAME_FORM, what, why=why, remedy=remedy, meant=short if short != name and HOST.fullmatch(short) else None)


def host_list(text: str) -> str:
    """Check names of hosts in Slurm's form (`gpu-[001-016],login-1`)."""
    try:
        count = hostlist.count(text)
        found = hostlist.expand(text) if count <= MOST_HOSTS else None
    except ValueError:
        found = ()
    if found is None:
        raise _too_many(f"{message_text.quoted(text)} names {_number(count)}")
    if not found:
        why = "names of hosts are written as Slurm does: separated by commas, numbers as ranges in brackets"
        raise Unfit(Code.HOST_NAME_FORM, f"{message_text.quoted(text)} is not a list of hosts", why=why, remedy="write it like `gpu-[001-016]`")
    for name in found:
        host(name)
    return text


def host_lists(texts: Iterable[str]) -> None:
    """Check how many hosts several lists name together."""
    count = sum(hostlist.count(text) for text in texts)
    if count > MOST_HOSTS:
        raise _too_many(f"the ranges name {_number(count)} together")


def interface(name: str) -> str:
    """Check the name of a network interface."""
    if INTERFACE.fullmatch(name) and name not in (".", ".."):
        return _free(name, "interface", "it is the loopback interface of every host" if name == LOOPBACK else None)
    why = "Linux allows letters, digits, `-`, `_` and `.`, at most 15"
    raise Unfit(Code.NAME_FORM, f"{message_text.quoted(name)} can't be the name of an interface", why=why, remedy="write the name that `ip link` shows")


def linux_user(name: str) -> str:
    """Check the name of a user that a host has already."""
    if LINUX_USER.fullmatch(name):
        return name
    why = "a user name has lower-case letters, digits, `-` and `_`, at most 32 (useradd(8))"
    raise Unfit(Code.NAME_FORM, f"{message_text.quoted(name)} is not a user name", why=why, remedy="write the user that you log in as, such as `ubuntu`")


def storage(name: str) -> str:
    return _fit(name, "file system", STORAGE_LENGTH, why="clouds put the cluster's name before it")


def user(name: str) -> str:
    fit = _fit(name, "user", LINUX_NAME_LENGTH, why="Linux allows no longer ones", form=USER, characters="digits, hyphens and underscores")
    return _free(fit, "user", "the operating system has a user or group of this name" if name in RESERVED_USERS else None)


def cloud_identity(address: str) -> str:
    """Check the address by which a cloud knows a person."""
    if CLOUD_IDENTITY.fullmatch(address):
        return address
    what = f"{message_text.quoted(address)} is not the address of a person"
    bare = address.partition(":")[2]
    remedy = f"write {message_text.quoted(bare)}" if CLOUD_IDENTITY.fullmatch(bare) else "write it like `ada@example.org`"
    raise Unfit(Code.NAME_FORM, what, why="the cloud's policies name a person by an e-mail address", remedy=remedy)


def uid(number: int) -> int:
    """Check a user number, which is the number of the user's group too."""
    if FIRST_UID <= number <= LAST_UID:
        return number
    raise Unfit(
        Code.UID_RESERVED,
        f"the user number {number} is not one for people",
        why=f"numbers below {FIRST_UID} belong to system users, those above {LAST_UID} to nobody and to users made at run time",
        remedy=f"choose one from {FIRST_UID} to {LAST_UID}",
    )


def _too_many(what: str) -> Unfit:
    why = f"lists of hosts have {MOST_HOSTS} names at most"
    return Unfit(Code.TOO_MANY, what, why=why, remedy="check the numbers in the brackets, or divide the hosts among several clusters")


def _number(count: int) -> str:
    return f"{count} hosts" if count < 10**12 else "more than a million million hosts"


def _fit(name: str, kind: str, length: int, *, why: str, form: re.Pattern[str] = FORM, characters: str = "digits and hyphens") -> str:
    if len(name) > length:
        what = f"the {kind} name {message_text.quoted(name)} has {len(name)} characters"
        raise Unfit(Code.NAME_LENGTH, what, why=f"{why}, so it may have {length} at most", remedy="choose a shorter one")
    if not form.fullmatch(name):
        mended = re.sub("[^a-z0-9]+", "-", name.lower()).lstrip("-0123456789").rstrip("-")
        remedy = f"write {message_text.quoted(mended)}" if mended else "begin it with a letter"
        article = "an" if kind[0] in "aeiou" else "a"
        why = f"the name of {article} {kind} has lower-case letters, {characters}, begins with a letter and ends with a letter or digit, so that it is a name everywhere"
        raise Unfit(Code.NAME_FORM, f"{message_text.quoted(name)} can't be the name of {article} {kind}", why=why, remedy=remedy)
    return name


def _free(name: str, kind: str, reason: str | None) -> str:
    if reason is None:
        return name
    raise Unfit(Code.NAME_RESERVED, f"the {kind} name {message_text.quoted(name)} is taken", why=reason, remedy="choose another name")

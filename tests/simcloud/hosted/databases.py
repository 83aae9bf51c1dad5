"""Databases: a MariaDB server of its own for each RDS instance, at its address, with TLS, the rights that RDS leaves its users, and closed to whom no security group lets in.

Sources: RDS user guide, "Master user account privileges" (MariaDB), "Requiring SSL/TLS for all connections to a MariaDB DB instance", "Using SSL/TLS to encrypt a connection to a DB instance or
cluster", "Binary logging overview".
"""

import dataclasses
import hashlib
import ipaddress
import json
from collections.abc import Mapping
from pathlib import Path

from components.bootstrap.files import File
from components.files import atomic_files
from components.local.machine import command, disk
from components.local.machine import host as hosts
from components.local.machine.names import HostNames, StackNames

from ..aws.cloud import Cloud
from ..core.store import Thing
from . import certificates, shares, wanted
from . import hosts as bodies
from .place import Place

PREFIX = "db-"
NAMES = ".rds.amazonaws.com"
PORT = 3306
ENGINE = "mariadb"
DATA, SETTINGS = "/var/lib/database", "/etc/database"
RIGHTS = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, PROCESS, REFERENCES, INDEX, ALTER, SHOW DATABASES, CREATE TEMPORARY TABLES, LOCK TABLES, EXECUTE, REPLICATION CLIENT, CREATE VIEW, "
    "SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, CREATE USER, EVENT, TRIGGER"
)
"""Of the first user: no SUPER, no FILE, no SHUTDOWN."""
PROGRAM = f"""\
set -e
mkdir -p /run/mysqld
chown mysql:mysql /run/mysqld {DATA}
install -o mysql -g mysql -m 0400 {SETTINGS}/server.pem {SETTINGS}/first.sql /run/mysqld
[ -d {DATA}/mysql ] || mariadb-install-db --no-defaults --user=mysql --datadir={DATA} --skip-test-db --auth-root-authentication-method=socket >/dev/null
exec mariadbd --defaults-file={SETTINGS}/server.cnf --user=mysql
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Database:
    """An RDS instance that should have a server."""

    id: str
    name: str
    """By which it is reached, and which its certificate holds."""
    address: str
    cidr: str
    """Of its VPC."""
    user: str
    password: str
    schema: str
    parameters: tuple[tuple[str, str], ...]
    """Of its parameter group."""
    has_log: bool
    """It is backed up, and so writes a binary log: who may not administer it can't do everything then."""
    callers: tuple[str, ...]
    """Addresses of the instances that its security groups let in."""


def wanted_now(cloud: Cloud) -> dict[str, Database]:
    """Read the store; called with its lock held."""
    return {thing.id: _database(cloud, thing) for thing in cloud.store.all("rds.Instance") if thing["engine"] == ENGINE}


def _database(cloud: Cloud, thing: Thing) -> Database:
    (interface,) = thing.interfaces
    group = cloud.store.get("rds.ParameterGroup", str(thing.get("parameterGroupName")))
    parameters = sorted((str(one["name"]), str(one["value"])) for one in (group.get("parameters") or () if group else ()))
    living = [one for one in cloud.store.all("ec2.Instance") if not one.get("ended") and one.interfaces]
    return Database(
        id=thing.id,
        name=str(thing["address"]),
        address=str(interface.address),
        cidr=str(cloud.need("ec2.Vpc", cloud.need("ec2.Subnet", interface.subnet)["vpcId"])["cidrBlock"]),
        user=str(thing["username"]),
        password=str(thing.get("password") or ""),
        schema=str(thing.get("dbName") or ""),
        parameters=tuple(parameters),
        has_log=int(thing["backupRetentionPeriod"]) > 0,
        callers=tuple(sorted(wanted.address(cloud, one) for one in living if shares.lets_in(cloud, one, interface.groups, PORT))),
    )


def address_of(cloud: Cloud, name: str) -> str:
    """Give the address that a database's name has; empty when it has none. Called with the store's lock held."""
    found = (thing.interfaces[0].address for thing in cloud.store.all("rds.Instance") if thing["address"] == name)
    return str(next(found, ""))


def host_of(names: StackNames, database: str) -> HostNames:
    """Name the host of a database by a part of its own name's hash: an identifier has up to 63 letters, and so has a host's name with what stands before it."""
    return names.host(PREFIX + hashlib.sha256(database.encode()).hexdigest()[:8])


def mark(one: Database) -> str:
    """Give a hash of what a server was started with; who may connect changes while it runs."""
    told = {**dataclasses.asdict(one), "callers": (), "password": hashlib.sha256(one.password.encode()).hexdigest()}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def serve(place: Place, one: Database, *, lowers: tuple[str, ...], folder: Path) -> None:
    """Start a database's server, on the tables that it had.

    Args:
        lowers: layers of an image that has MariaDB in it, topmost first.
        folder: where the cloud's authorities lie.
    """
    host = host_of(place.names, one.id)
    bodies.remove(host)
    hosts.make_disk(host, image=bodies.IMAGE)
    # The image's own is a link into a folder that databases don't have, and MariaDB's installer wants to find its host there.
    hosts.write_seeds(host, [File("/etc/hosts", f"127.0.0.1 localhost\n{one.address} {host.hostname}\n".encode())])
    settings = host.state / "settings"
    atomic_files.write_text(settings / "server.cnf", configuration(one))
    atomic_files.write_text(settings / "first.sql", first_words(one), mode=0o600)
    atomic_files.write_bytes(settings / "server.pem", certificates.of_database(folder, one.name), mode=0o600)
    tables(place.names, one.id).mkdir(parents=True, exist_ok=True)
    boot = hosts.Boot(
        address=one.address,
        prefix=ipaddress.ip_network(place.cidr).prefixlen,
        gateway=place.gateway,
        bridge=place.names.bridge,
        lowers=lowers,
        binds=(hosts.Bind(str(settings), SETTINGS, read_only=True), hosts.Bind(str(tables(place.names, one.id)), DATA)),
        program=("/bin/sh", "-c", PROGRAM),
    )
    hosts.start(host, boot, fingerprint=mark(one))
    let_in(place, one)


def let_in(place: Place, one: Database) -> None:
    """Close the server to all but those whom the security groups let in."""
    rules = [f"-A INPUT -p tcp --dport {PORT} -s {caller} -j ACCEPT" for caller in one.callers]
    table = "\n".join(["*filter", ":INPUT ACCEPT [0:0]", *rules, f"-A INPUT -p tcp --dport {PORT} -j DROP", "COMMIT", ""])
    command.run("ip", "netns", "exec", host_of(place.names, one.id).namespace, "iptables-restore", stdin=table)


def configuration(one: Database) -> str:
    """Write the server's settings. Pure."""
    given = {
        "datadir": DATA,
        "socket": "/run/mysqld/mysqld.sock",
        "bind-address": one.address,
        "port": PORT,
        "skip-name-resolve": "ON",
        "ssl-cert": "/run/mysqld/server.pem",
        "ssl-key": "/run/mysqld/server.pem",
        "init-file": "/run/mysqld/first.sql",
        "performance-schema": "OFF",
        **({"log-bin": "changelog"} if one.has_log else {}),
        **dict(one.parameters),
    }
    return "[mariadbd]\n" + "".join(f"{name} = {value}\n" for name, value in given.items())


def first_words(one: Database) -> str:
    """Write what a server is told at every start: its user, with the password that it has now. Pure."""
    user, password = (text.replace("\\", "\\\\").replace("'", "''") for text in (one.user, one.password))
    schema = [f"CREATE DATABASE IF NOT EXISTS `{one.schema}`;"] if one.schema else []
    lines = [
        *schema,
        f"CREATE USER IF NOT EXISTS '{user}'@'%';",
        f"ALTER USER '{user}'@'%' IDENTIFIED BY '{password}';",
        f"GRANT {RIGHTS} ON *.* TO '{user}'@'%' WITH GRANT OPTION;",
    ]
    return "\n".join(lines) + "\n"


def tables(names: StackNames, database: str) -> Path:
    return names.folders / host_of(names, database).hostname


def clear(names: StackNames, there: Mapping[str, Database]) -> None:
    """Remove the tables of databases that are no more."""
    kept = {host_of(names, database).hostname for database in there}
    for path in names.folders.glob(f"{PREFIX}*"):
        host = names.host(path.name)
        if path.name not in kept and not host.state.exists() and not host.run.exists():
            disk.remove_tree(path)

"""The accounting database as a managed service (Cloud SQL), which hosts reach over an endpoint in their own subnet (Private Service Connect).

Not over a peering of networks: Google keeps a peering with private services access for days after the database is deleted, and the network can't be deleted before
(terraform-provider-google, issues 16275 and 18834). Cloud SQL's own default for new projects is the endpoint, too (Cloud SQL documentation, "Private Service Connect overview").
"""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_gcp import compute, sql

from ..resource_options import beneath
from .names import Names
from .network import Wire

DATABASE, USER = "slurm_acct_db", "slurm"
_VERSION, _EDITION = "MYSQL_8_4", "ENTERPRISE"
"""A long-term release, and Cloud SQL's default version. Without an edition it would come in the dearer one (Cloud SQL documentation, "About instance settings")."""
_TIER = "db-custom-2-8192"
"""Two processors, 8 GiB: the accounting of thousands of nodes fits into its memory."""
_DISK, _SIZE_GIB, _LARGEST_GIB = "PD_SSD", 100, 1000
_BACKUPS, _LOG_DAYS = 14, 7
"""Daily backups that are kept; days of transaction logs, the most of this edition (Cloud SQL documentation, "Point-in-time recovery")."""
_FINAL_BACKUP_DAYS = 365
"""How long the last backup of a protected database stays when somebody deletes it all the same."""
_FLAGS = {"innodb_lock_wait_timeout": "900"}
"""What Slurm recommends (accounting.html, "MySQL Configuration"); slurmdbd complains when it has less than half of it."""


@dataclasses.dataclass(frozen=True, slots=True)
class DatabaseArgs:
    names: Names
    region: str
    project: pulumi.Input[str]
    """Whose endpoints may connect."""
    hosts: Wire
    """Network and subnet of the hosts, in which the endpoint has its address."""
    kept_out: Sequence[pulumi.Input[str]]
    """Addresses of the service accounts whose hosts have no business with the database."""
    password: pulumi.Input[str]
    protect: bool
    has_standby: bool
    """Whether another zone takes over when the database's own fails."""


class Database(pulumi.ComponentResource):
    """A MySQL server with an address in the hosts' subnet, and the name and authority of its certificate."""

    address: pulumi.Output[str]
    name: pulumi.Output[str]
    """In its certificate. Nothing resolves it: the hosts' table of names does. Known when a controller can log in."""
    authority: pulumi.Output[str]
    """PEM. It signs the certificate of this server alone, so that who verifies it knows the server."""

    def __init__(self, name: str, args: DatabaseArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Database", name, {}, opts)
        server = self._server(args)
        tables = sql.Database("accounting-tables", name=DATABASE, instance=server.name, opts=beneath(self, protect=args.protect))
        user = sql.User("accounting-user", name=USER, host="%", instance=server.name, password=args.password, opts=beneath(self))
        address = self._address(args)
        endpoint = self._endpoint(args, server, address)
        self._keep_out(args, address)
        self.address = address.address
        self.name = pulumi.Output.all(server.dns_name, tables.id, user.id, endpoint.id).apply(lambda known: str(known[0]).rstrip("."))
        self.authority = server.server_ca_certs.apply(lambda found: str(found[0].cert))
        self.register_outputs({})

    def _server(self, args: DatabaseArgs) -> sql.DatabaseInstance:
        backups = sql.DatabaseInstanceSettingsBackupConfigurationArgs(
            enabled=True,
            binary_log_enabled=True,
            transaction_log_retention_days=_LOG_DAYS,
            backup_retention_settings=sql.DatabaseInstanceSettingsBackupConfigurationBackupRetentionSettingsArgs(retained_backups=_BACKUPS),
        )
        endpoints = sql.DatabaseInstanceSettingsIpConfigurationPscConfigArgs(psc_enabled=True, allowed_consumer_projects=[args.project])
        access = sql.DatabaseInstanceSettingsIpConfigurationArgs(
            ipv4_enabled=False,
            psc_configs=[endpoints],
            # No host sends a password that others could read, however it is configured.
            ssl_mode="ENCRYPTED_ONLY",
            server_ca_mode="GOOGLE_MANAGED_INTERNAL_CA",
        )
        settings = sql.DatabaseInstanceSettingsArgs(
            tier=_TIER,
            edition=_EDITION,
            availability_type="REGIONAL" if args.has_standby else "ZONAL",
            disk_type=_DISK,
            disk_size=_SIZE_GIB,
            disk_autoresize=True,
            disk_autoresize_limit=_LARGEST_GIB,
            backup_configuration=backups,
            ip_configuration=access,
            database_flags=[sql.DatabaseInstanceSettingsDatabaseFlagArgs(name=flag, value=value) for flag, value in _FLAGS.items()],
            deletion_protection_enabled=args.protect,
            # A protected database leaves its backups when somebody removes the protection and deletes it.
            retain_backups_on_delete=args.protect,
            final_backup_config=sql.DatabaseInstanceSettingsFinalBackupConfigArgs(enabled=True, retention_days=_FINAL_BACKUP_DAYS) if args.protect else None,
            user_labels=args.names.labels("control"),
        )
        return sql.DatabaseInstance(
            # The provider puts random digits behind this name. Its documentation says that a used one is taken for up to a week (pulumi-gcp, sql.DatabaseInstance.name);
            # Google's says that it can be used at once (Cloud SQL documentation, "Delete instances").
            args.names.name("accounting", kind="database"),
            database_version=_VERSION,
            region=args.region,
            settings=settings,
            deletion_protection=args.protect,
            # The disk grows by itself.
            opts=beneath(self, protect=args.protect, ignore=("settings.diskSize",)),
        )

    def _address(self, args: DatabaseArgs) -> compute.Address:
        return compute.Address(
            "accounting-address",
            name=args.names.name("accounting"),
            description=args.names.description("Address of the accounting database"),
            address_type="INTERNAL",
            subnetwork=args.hosts.subnet,
            region=args.region,
            labels=args.names.labels("control"),
            opts=beneath(self, replace_first=True),
        )

    def _endpoint(self, args: DatabaseArgs, server: sql.DatabaseInstance, address: compute.Address) -> compute.ForwardingRule:
        return compute.ForwardingRule(
            "accounting-endpoint",
            name=args.names.name("accounting"),
            description=args.names.description("Endpoint of the accounting database"),
            region=args.region,
            target=server.psc_service_attachment_link,
            network=args.hosts.network,
            ip_address=address.self_link,
            load_balancing_scheme="",  # an endpoint balances nothing
            labels=args.names.labels("control"),
            opts=beneath(self, replace_first=True),
        )

    def _keep_out(self, args: DatabaseArgs, address: compute.Address) -> None:
        """Let only controllers connect, by rules for what leaves a host, as Google says (Cloud SQL documentation, "Connect to an instance using Private Service Connect")."""
        compute.Firewall(
            "accounting-firewall",
            name=args.names.name("deny", "accounting"),
            description=args.names.description("The accounting database: controllers only"),
            network=args.hosts.network,
            direction="EGRESS",
            denies=[compute.FirewallDenyArgs(protocol="all")],
            destination_ranges=[pulumi.Output.concat(address.address, "/32")],
            target_service_accounts=[*args.kept_out],
            opts=beneath(self, replace_first=True),
        )

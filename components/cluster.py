"""The composition root: site → network → storage → control → compute → access → finish → accept."""

from typing import Any

import pulumi

from blueprints.spec import ClusterSpec, login_view, slurm_view

from . import contract, errors, registry
from .finish import content
from .provider.resource import OwnResource


class Cluster(pulumi.ComponentResource):
    """A cluster from its resolved spec.

    Args:
        name: the resource's name.
        spec: what will exist.
        stack: Pulumi's stack name.
    """

    endpoint: contract.Endpoint
    inventory: dict[str, pulumi.Output[list[dict[str, Any]]]]
    """Group → its hosts, as finishing sees them."""
    checks: pulumi.Output[list[dict[str, Any]]]
    """What acceptance found."""
    user_keys: dict[str, pulumi.Output[str]]
    """Private keys made for users who brought none, secret."""

    def __init__(self, name: str, spec: ClusterSpec, *, stack: str, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:index:Cluster", name, {}, opts)
        self._options = pulumi.ResourceOptions(parent=self)
        munge, admin, login_host = self._secret("munge-key", "munge"), self._secret("admin-key", "ssh"), self._secret("login-host-key", "ssh")
        password = self._secret("database-password", "password")
        user_keys = {user.name: self._secret(f"user-{user.name}-key", "ssh") for user in spec.users if not user.ssh_keys}
        keys = contract.Keys(
            munge=munge.output("value"),
            admin_public=admin.output("public"),
            admin_private=admin.output("value"),
            login_host=login_host.output("value"),
            login_host_public=login_host.output("public"),
            database=password.output("value"),
        )
        slurm, controllers = contract.slurm_on_hosts(spec)
        target = _target(spec.target)(spec, stack=stack, keys=keys, opts=self._options)
        target.network()
        mounts = target.storage(spec.storage)
        control = target.control(controllers, mounts=mounts)
        pools = [target.compute(node_set, mounts=mounts, control=control) for node_set in slurm.node_sets]
        access, self.endpoint = target.access(spec.access, mounts=mounts)
        self.inventory = {hosts.group.name: hosts.described for hosts in (*_own_hosts(control), access, *pools)}
        self._finish_and_accept(spec, control, access, pools, keys, password, user_keys, provided=_provided(control, target.fleet()))
        self.user_keys = {user: key.output("value") for user, key in user_keys.items()}
        self.register_outputs({})

    def _finish_and_accept(
        self,
        spec: ClusterSpec,
        control: contract.Control,
        access: contract.Hosts,
        pools: list[contract.Hosts],
        keys: contract.Keys,
        password: OwnResource,
        user_keys: dict[str, OwnResource],
        *,
        provided: dict[str, pulumi.Output[Any]],
    ) -> None:
        if not isinstance(control, contract.SlurmHosts):
            raise TypeError(f"finishing knows Slurm on hosts of its own only, not {type(control).__name__}")
        views = {control.hosts.group.name: slurm_view(spec), access.group.name: login_view(spec)}
        secrets = {
            "munge_key": keys.munge,
            "database_password": password.output("value"),
            "user_keys": {user: key.output("public") for user, key in user_keys.items()},
        }
        groups = [
            OwnResource(
                "clusterwright:finish:Group",
                f"finish-{hosts.group.name}",
                inputs={
                    "group": hosts.group.name,
                    "hosts": hosts.described,
                    "spec": views[hosts.group.name],
                    "content": content.fingerprint("site.yml"),
                    "secrets": pulumi.Output.secret(secrets),
                    "private_key": keys.admin_private,
                    **({"provided": provided} if provided else {}),
                },
                outputs=("finished",),
                opts=self._options,
            )
            for hosts in (control.hosts, access)
        ]
        boots = pulumi.Output.all(*(hosts.boots for hosts in (control.hosts, access, *pools)))
        acceptance = OwnResource(
            "clusterwright:accept:Acceptance",
            "acceptance",
            inputs={
                "hosts": access.described,
                "control": control.hosts.described,
                "spec": slurm_view(spec),
                "content": content.fingerprint("accept.yml"),
                "secrets": pulumi.Output.secret(secrets),
                "private_key": keys.admin_private,
                "proves": {"boots": boots, "finished": [group.output("finished") for group in groups]},
            },
            outputs=("ok", "checks", "seconds"),
            opts=pulumi.ResourceOptions.merge(self._options, pulumi.ResourceOptions(depends_on=[*groups, *(pool.resource for pool in pools)])),
        )
        self.checks = acceptance.output("checks")

    def _secret(self, name: str, kind: str) -> OwnResource:
        inputs = {"kind": kind, "rotation": 0}
        return OwnResource("clusterwright:secret:Secret", name, inputs=inputs, outputs=("value", "public"), opts=self._options)


def _own_hosts(control: contract.Control) -> tuple[contract.Hosts, ...]:
    return (control.hosts,) if isinstance(control, contract.SlurmHosts) else ()


def _provided(control: contract.Control, fleet: pulumi.Output[dict[str, Any]] | None) -> dict[str, pulumi.Output[Any]]:
    """Gather what only the target knows and the playbooks need beside the spec. Nothing in it is secret."""
    known: dict[str, pulumi.Output[Any] | None] = {"fleet": fleet}
    if isinstance(control, contract.SlurmHosts):
        known |= {"database": control.database, "addresses": control.addresses}
    return {name: value for name, value in known.items() if value is not None}


def _target(name: str) -> type[contract.Target]:
    try:
        registry.require_sdk(name)
    except errors.SdkMissing as missing:
        raise pulumi.RunError(missing.page().removeprefix("error: ")) from None
    found: type[contract.Target] = registry.load(registry.TARGETS[name].cluster)
    return found

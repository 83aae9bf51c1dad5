"""What `pulumi up` does: settings → spec → cluster → outputs."""

import pulumi
from pulumi.runtime.config import get_config_env

from blueprints.finding import Invalid, render
from blueprints.load import load
from blueprints.spec import as_record
from components import debug_messages, engine_watch, this_machine
from components.cluster import Cluster
from components.provider import packed

from . import settings


def deploy() -> None:
    """Register the stack's resources.

    Raises:
        pulumi.RunError: the blueprint or a setting is not usable; the text is the whole page.
    """
    engine_watch.end_with_engine()
    debug_messages.leave_out()
    stack = pulumi.get_stack()
    try:
        chosen = settings.parse(get_config_env(), stack=stack)
        spec = load(chosen.blueprint, target=chosen.target, stack=stack, facts=this_machine.facts(stack), overrides=chosen.overrides)
    except Invalid as invalid:
        raise pulumi.RunError(render(invalid.findings).removeprefix("error: ")) from None  # the engine puts its own in front
    cluster = Cluster(spec.name, spec, stack=stack)
    pulumi.export("spec", packed.pack(as_record(spec)))
    if cluster.endpoint is not None:
        carried = {} if cluster.endpoint.command is None else {"command": cluster.endpoint.command}
        pulumi.export("login", {"address": cluster.endpoint.address, "port": cluster.endpoint.port, "host_key": cluster.endpoint.host_key, **carried})
    pulumi.export("inventory", pulumi.Output.from_input(cluster.inventory).apply(packed.pack))
    if cluster.hardware is not None:
        pulumi.export("hardware", cluster.hardware.apply(packed.pack))
    if cluster.api is not None:
        pulumi.export("kubeconfig", pulumi.Output.secret(cluster.api.kubeconfig))
        pulumi.export("kubernetes", {"server": cluster.api.server, "version": cluster.api.version, "release": cluster.api.release})
    pulumi.export("user_keys", pulumi.Output.secret(cluster.user_keys))
    pulumi.export("acceptance", pulumi.Output.from_input(cluster.checks).apply(packed.pack))

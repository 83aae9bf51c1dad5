"""What the credentials must be allowed beside creating the cluster."""

from collections.abc import Iterator

from .. import catalog, finding, spec
from ..codes import Code
from ..document import Document
from .account import Answers


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find credentials that the tunnel to the login nodes doesn't let in: `up` would create everything and then reach no host."""
    tunnel = catalog.target(cluster.target).tunnel
    if not cluster.login.tunnel or tunnel is None or not answers.knows("permissions") or answers.permissions[tunnel.permission]:
        return
    what = f"{answers.who} may not use {tunnel.service}, through which `up` reaches the hosts"
    why = f"{answers.account} doesn't grant it {tunnel.permission}"
    remedy = f"grant the role {tunnel.role} to whoever runs `up` and whoever logs in, or remove `tunnel`"
    yield finding.Finding(finding.Level.ERROR, Code.TUNNEL_FORBIDDEN, source.where_key("access", "tunnel"), what, why, remedy)

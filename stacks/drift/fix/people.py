"""Users, administrators and keys: the roles write them on the controller, root's keys and the key of MUNGE come from the stack. Pure."""

from blueprints.finding import Finding
from blueprints.finding.subject import HostPart, RootKey
from components.finish import restorable_findings
from components.inspection.codes import Code

from . import files
from .step import Cluster, Command, Order, Step

ROOT_KEYS = "/root/.ssh/authorized_keys"
MUNGE = """set -eu
/usr/lib/clusterwright/boot
chown munge:munge /etc/munge/munge.key
chmod 0400 /etc/munge/munge.key
systemctl restart munge.service
"""
"""The boot program copies the key that the target wrote for it; daemons that require munge.service restart with it, and jobs outlive that (slurmd.service, KillMode=process)."""


def steps(finding: Finding, cluster: Cluster) -> tuple[Step, ...]:
    """Give the steps that end a finding about users or keys."""
    if restorable_findings.is_restored_on_the_controller(finding):
        return tuple(Step(host, finish, Order.FINISH, (finding,)) for host in cluster.control if (finish := cluster.finish(host)))
    match finding.subject:
        case RootKey(host=host) if keys := cluster.root_keys.get(host):
            others = " and those that the server had before" if len(keys.splitlines()) > 1 else " alone"
            shown = f"write {ROOT_KEYS} with the stack's key{others}"
            command = files.write(ROOT_KEYS, keys, owner="root:root", mode="0600", aside=cluster.aside, shown=shown)
            return (Step(host, command, Order.CONTENT, (finding,), is_quiet=True),)
        case HostPart(host=host) if finding.code == Code.MUNGE_KEY:
            return (Step(host, Command(files.script(MUNGE), shown="copy the key of MUNGE again, and restart munge.service"), Order.RUNNING, (finding,)),)
        case _:
            return ()

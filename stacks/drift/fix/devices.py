"""Device nodes of GPUs, and mounts. Pure."""

from blueprints.finding import Finding
from blueprints.finding.subject import Gpu, Mount
from blueprints.finding.values import Values
from components.inspection.codes import Code

from . import files, names
from .step import Command, Order, Step

BOOT = "/usr/lib/clusterwright/boot"
"""Creates device nodes of simulated GPUs (role boot); it changes nothing on a host that has all it should have."""
MODE = "0666"
REMOVE_NODE = '[ ! -c "$1" ] || rm -- "$1"'
DIVIDE = """/usr/lib/clusterwright/health
state=$(SLURM_CONF=/run/clusterwright/guard-slurm.conf scontrol --oneliner show node "$(hostname --short)") || exit 1
state=${state#* State=}
state=${state%% *}
case $state in
*COMPLETING* | *ALLOC* | *MIXED*)
    echo "jobs run here ($state): its own check drains the node, and divides the GPUs when they have ended; or repair again then" >&2
    exit 1
    ;;
*DRAIN* | *DOWN*) ;;
*)
    echo "the node takes jobs ($state), and nothing is divided while one may begin: what its check said is above; drain it and repair again" >&2
    exit 1
    ;;
esac
systemctl restart clusterwright-mig.service && /usr/lib/clusterwright/health"""
"""The check between jobs (role guard) drains a node whose layout differs, and returns it to service when it is as it should be. It drains none where too many are drained already."""
READ_WRITE = "rw"
MOUNT = 'mountpoint --quiet -- "$1" || mount -- "$1" || systemctl reload-or-restart clusterwright-mounts.service'
"""By fstab(5), else by the unit that mounts what servers of a site have no line of fstab for (role `site_mounts`)."""
REMOUNT = 'mount -o remount,rw,bind -- "$1" || mount -o remount,rw -- "$1"'


def of_gpu(finding: Finding, gpu: Gpu) -> tuple[Step, ...]:
    """Give the step that restores the device node of a GPU; a real one needs its driver or another host."""
    path = f"/dev/nvidia{gpu.number}"
    match finding.code:
        case Code.GPU_MISSING:
            command = Command((BOOT,))
        case Code.GPU_DEVICE:
            command = Command(("chmod", "--", MODE, path))
        case Code.GPU_ADDED:
            command = Command(files.script(REMOVE_NODE, path), shown=f"remove the device node {path}")
        case _:
            return ()
    return (Step(gpu.host, command, Order.RUNNING, (finding,)),)


def of_layout(finding: Finding, host: str) -> tuple[Step, ...]:
    """Give the step that divides the GPUs of a node again (MIG), which a job must not use meanwhile."""
    return (Step(host, Command(files.script(DIVIDE), shown="drain the node and divide its GPUs again"), Order.RUNNING, (finding,)),)


def of_mount(finding: Finding, mount: Mount, values: Values) -> tuple[Step, ...]:
    """Give the step that mounts a file system again as the host's own tables say; what somebody mounted over it is left alone, since data may be in it."""
    if not names.is_path(mount.path):
        return ()
    if finding.code == Code.MOUNT_MISSING and values.actual is None:
        return (Step(mount.host, Command(files.script(MOUNT, mount.path), shown=f"mount {mount.path}"), Order.RUNNING, (finding,)),)
    if finding.code == Code.MOUNT_CHANGED and values.recorded == READ_WRITE:
        return (Step(mount.host, Command(files.script(REMOUNT, mount.path), shown=f"mount {mount.path} for writing again"), Order.RUNNING, (finding,)),)
    return ()

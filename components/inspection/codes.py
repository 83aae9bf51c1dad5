"""Every code that a finding of drift can carry. A code is stable: it never gets a second meaning.

CW70x: the cloud (or whatever provides the hosts); CW710 to CW747: the hosts; CW748 to CW769: the scheduler; CW77x: versions; CW78x: capability; CW79x: the check's own files;
CW86x: hosts, as their management controllers (BMCs) see them; CW950 to CW958: servers that their owner installed; CW970 to CW980: what runs in Kubernetes;
CW968 and CW969: the hosts again; CW985 and CW986: the scheduler again.
"""

from blueprints.finding import Level
from blueprints.finding.code import FindingCode

from .layer import Layer

ERROR, WARNING, NOTE = Level
_FIRST_NUMBERS = (
    (970, Layer.SCHEDULER),
    (950, Layer.HOSTS),
    (860, Layer.HOSTS),
    (790, Layer.CHECK),
    (780, Layer.CAPABILITY),
    (770, Layer.VERSIONS),
    (748, Layer.SCHEDULER),
    (710, Layer.HOSTS),
    (700, Layer.CLOUD),
)
"""Codes of a layer begin here."""


class Code(FindingCode):
    """The codes of drift. A rule can give one finding another level than its code's."""

    # fmt: off
    RESOURCE_GONE = "CW701", ERROR, "a resource of the stack no longer exists", "run `clusterwright up`, which creates it again"
    PROPERTY_CHANGED = "CW702", WARNING, "a property of a resource is not as recorded", "run `clusterwright up`, which restores it; to keep the change, put it into the blueprint"
    CODE_CHANGED = "CW703", NOTE, "the program or the blueprint asks for something else than is recorded: `up` has not run since", "run `clusterwright up` if the change is wanted"
    HALF_MADE = "CW704", ERROR, "an update was interrupted: what it was creating is neither there nor gone", "run `clusterwright up`, which adopts what exists"
    RIGHTS_ADDED = "CW705", ERROR, "a role of the stack has a policy that the stack didn't give it", "detach the policy, and find out who attached it"
    INSTANCE_UNKNOWN = "CW706", WARNING, "an instance carries the stack's name and belongs to no record or pool: perhaps it is left over, and you pay for it", "terminate the instance if nobody needs it"
    INSTANCE_CHANGED = "CW707", ERROR, "a compute node's instance has other security groups or another role than what it was started from", "restore the instance, or drain its node, which replaces it"
    ATTACHED = "CW708", ERROR, "something is attached to a resource of the stack, and the stack didn't attach it", "detach it, and find out who attached it"

    PRIVILEGED = "CW710", ERROR, "a file has setuid, setgid or capabilities, and neither a package nor a role gave them to it", "find out who put the file there, remove it, and rebuild the host"
    WORLD_WRITABLE = "CW711", ERROR, "everybody may write to a file or folder of the system", "close it with `chmod o-w`, and find out what was written"
    UNOWNED = "CW712", WARNING, "no package owns a program or a configuration of the system", "`clusterwright drift fix` moves it aside; to keep it, put it below /usr/local by a role"
    TRANSIENT = "CW713", WARNING, "a unit or a setting exists until the next boot only, and no role created it", "`clusterwright drift fix` stops the unit or moves the file aside"
    FIREWALL = "CW714", ERROR, "the packet filter of a host has other rules than on the other hosts", "remove what is foreign, or `clusterwright rebuild` the host"
    ROUTE = "CW715", ERROR, "a host has other routes or routing rules than the other hosts", "remove what is foreign, or `clusterwright rebuild` the host"
    UNLIKE = "CW716", WARNING, "a setting of a host differs from the other hosts'", "set it as on the other hosts, or `clusterwright rebuild` the host"
    HOSTNAME = "CW717", ERROR, "a host goes by another name", "run `clusterwright up`, which sets it"
    LISTENING = "CW718", ERROR, "a program listens to the network and belongs to no unit", "end the program, or give it a unit by a role"
    MOUNT_COVERING = "CW719", ERROR, "something is mounted over a folder of the system", "unmount it"

    UNREACHABLE = "CW720", ERROR, "a host does not answer", "look at the host's console; `clusterwright up` starts a host that is gone; `clusterwright rebuild` replaces one that still does not answer"
    FILE_CHANGED = "CW721", WARNING, "a file has another content", "run `clusterwright up`, which restores it; to keep the change, put it into a role"
    FILE_GONE = "CW722", WARNING, "a file, folder or link is gone", "run `clusterwright up`, which restores it"
    FILE_ADDED = "CW723", NOTE, "a file, folder or link was added by hand", "`clusterwright drift fix` moves it aside; to keep it, put it into a role"
    FILE_ATTRIBUTES = "CW724", WARNING, "a file or folder has another mode, owner or group", "run `clusterwright up`, which restores them"
    FILE_KIND = "CW725", WARNING, "a link leads elsewhere, or something else is in its place", "run `clusterwright up`, which restores it"
    PACKAGE_GONE = "CW726", ERROR, "a package was removed", "run `clusterwright up`, which installs the recorded version; `clusterwright rebuild` the host where no archive has it any more"
    PACKAGE_ADDED = "CW727", NOTE, "a package was added by hand", "`clusterwright drift fix` removes it; to keep it, put it into a role"
    PACKAGE_VERSION = "CW728", ERROR, "a package has another version", "run `clusterwright up`, which installs the recorded version; `clusterwright rebuild` the host where no archive has it any more"
    PACKAGE_HOLD = "CW729", WARNING, "a package lost its hold, or got one", "run `clusterwright up`, which restores it"
    PACKAGE_FILE = "CW730", ERROR, "a file of a held package is not the package's", "run `clusterwright up`, which installs the package again; or `clusterwright rebuild` the host"
    UNIT_STOPPED = "CW731", ERROR, "a unit that should run doesn't", "run `clusterwright up`, which starts it"
    UNIT_FAILED = "CW732", ERROR, "a unit has failed", "read its journal; `clusterwright up` restarts it"
    UNIT_ENABLEMENT = "CW733", WARNING, "a unit was enabled, disabled, masked or unmasked", "run `clusterwright up`, which restores it"
    SYSCTL = "CW735", WARNING, "a kernel setting is not as its file says", "run `clusterwright up`, which restores it"
    KERNEL_MODULE = "CW736", WARNING, "a kernel module that should be loaded isn't", "run `clusterwright up`, which loads it"
    USER_MISSING = "CW737", ERROR, "a user of the cluster is unknown on a host", "run `clusterwright up`"
    USER_ADDED = "CW738", ERROR, "a host knows a user of the cluster that the blueprint doesn't", "add the user to the blueprint, or run `clusterwright up`"
    USER_CHANGED = "CW739", ERROR, "a user has another number, group, home or shell", "run `clusterwright up`"
    ROOT_KEY = "CW740", ERROR, "somebody else's key may log in as root, or the stack's may not", "run `clusterwright up`, which leaves the stack's key alone; find out who wrote the other one"
    MUNGE_KEY = "CW741", ERROR, "a host's MUNGE key is not the cluster's", "run `clusterwright up`, which restores the key and restarts munge.service"
    CLOCK = "CW742", ERROR, "a host's clock is off", "`clusterwright drift fix --kind settings` restarts the time service; `chronyc tracking` on the host names its source"
    PENDING = "CW743", WARNING, "a written configuration waits for being taken over", "run `clusterwright up`"
    USER_KEY = "CW744", WARNING, "a user's key that the stack put there is gone, or another one is in its place", "run `clusterwright up`, or add the key to the blueprint"
    ADMINS = "CW745", ERROR, "a user may become root who may not by the blueprint, or the other way round", "run `clusterwright up`, or change the blueprint"

    ROOT_START = "CW746", ERROR, "a file that counts when root logs in is not as the system installs it", "restore or remove the file, and find out who wrote it"
    SYSTEM_KEY = "CW747", ERROR, "somebody may log in by key as a user of the system", "remove the key, and find out who wrote it"
    PROGRAM_GONE = "CW734", ERROR, "a process of the system runs a program that is not on any disk", "end the process, and find out who started it"

    LEASE_UNRESERVED = "CW748", ERROR, "jobs may outlive capacity that was bought for a time: no reservation says when it ends", "read the journal of clusterwright-elastic on the controller"
    TOPOLOGY = "CW749", ERROR, "the scheduler has another picture of the network than was configured", "run `clusterwright up`, which lets the controller read its configuration again"
    SCHEDULER_SILENT = "CW750", ERROR, "a daemon of the scheduler does not answer", "read the daemon's journal; `clusterwright up` starts it"
    CONFIG_VALUE = "CW751", ERROR, "the controller runs with another value than was configured", "run `clusterwright up`, which lets the controller read its configuration again"
    NODE_MISSING = "CW752", ERROR, "the scheduler doesn't know a node", "run `clusterwright up`, which lets the controller read its configuration again"
    NODE_ADDED = "CW753", WARNING, "the scheduler knows a node that the blueprint doesn't", "`clusterwright drift fix` deletes it; to keep it, add it to the blueprint"
    NODE_CHANGED = "CW754", WARNING, "a node has other processors, memory, GPUs or features than configured", "run `clusterwright up`, which lets the controller read its configuration again"
    NODE_DRAINED = "CW755", WARNING, "a node takes no jobs because somebody, or a check, drained it", "when the reason is gone: `clusterwright drift fix --kind drains`"
    NODE_DOWN = "CW756", ERROR, "a node is down", "read slurmd's journal on the node; `clusterwright up` rebuilds a host that is gone"
    PARTITION_MISSING = "CW757", ERROR, "a partition is gone", "run `clusterwright up`, which lets the controller read its configuration again"
    PARTITION_ADDED = "CW758", WARNING, "a partition was added by hand", "`clusterwright drift fix` deletes it; to keep it, add a pool to the blueprint"
    PARTITION_CHANGED = "CW759", WARNING, "a partition has other limits, nodes or another state", "run `clusterwright up`, which restores it"
    ACCOUNT_MISSING = "CW760", ERROR, "an account is gone", "run `clusterwright up`"
    ACCOUNT_ADDED = "CW761", NOTE, "an account was added by hand", "`clusterwright drift fix` deletes it; to keep it, add it to the blueprint"
    ACCOUNT_CHANGED = "CW762", ERROR, "an account or a user in it has other limits or another description", "run `clusterwright up`, which restores it"
    MEMBER_MISSING = "CW763", ERROR, "a user has lost an account", "run `clusterwright up`"
    MEMBER_ADDED = "CW764", WARNING, "a user was given an account by hand", "`clusterwright drift fix` removes it; to keep it, add the user to the account in the blueprint"
    QOS_MISSING = "CW765", ERROR, "a QOS is gone", "run `clusterwright up`"
    QOS_ADDED = "CW766", NOTE, "a QOS was added by hand", "`clusterwright drift fix` deletes it; to keep it, add it to the blueprint"
    QOS_CHANGED = "CW767", ERROR, "a QOS has another priority or other limits", "run `clusterwright up`, which restores it"
    ADMIN_LEVEL = "CW768", ERROR, "a user has more or fewer rights in accounting than the blueprint gives", "run `clusterwright up`, which restores it"
    RESERVATION = "CW769", NOTE, "a reservation keeps nodes from ordinary jobs", "when it is over: `clusterwright drift fix --kind reservations`"

    VERSION = "CW770", ERROR, "a version is not the software profile's", "`clusterwright rebuild` the host, or change the software profile"
    SKEW = "CW771", WARNING, "hosts of one group have different versions", "`clusterwright rebuild` the hosts that differ"
    OLDER_IMAGE = "CW772", NOTE, "a host keeps the image that it was created from, and new hosts start from another one", "`clusterwright rebuild` the host"

    GPU_MISSING = "CW780", ERROR, "a node has fewer GPUs than it should", "read the kernel's log; `clusterwright rebuild` the host"
    GPU_ADDED = "CW781", NOTE, "a node has more GPUs than it should", "correct the pool's accelerator in the blueprint"
    GPU_DEVICE = "CW782", ERROR, "a GPU's device node is not a usable one", "read the kernel's log; `clusterwright rebuild` the host"
    MOUNT_MISSING = "CW783", ERROR, "a file system is not mounted", "run `clusterwright up`, which mounts it; or `clusterwright rebuild` the host"
    MOUNT_CHANGED = "CW784", WARNING, "a file system is mounted from elsewhere or otherwise", "run `clusterwright up`, which mounts it as recorded; or `clusterwright rebuild` the host"
    SPACE = "CW785", WARNING, "a file system is nearly full", "free space, or enlarge the file system"
    NIC = "CW786", ERROR, "an interface of the fabric is missing, down or slow", "read the port's state; `clusterwright rebuild` the host"
    HARDWARE = "CW787", ERROR, "a host has fewer processors or less memory than slurm.conf declares", "look for a failed part, or correct the catalogue's row"
    ACCEPTANCE = "CW788", ERROR, "the last acceptance did not reach what is expected", "run acceptance again with `clusterwright up`"
    MIG_LAYOUT = "CW789", ERROR, "a node's GPUs are divided otherwise than the blueprint says (MIG)", "`clusterwright drift fix` divides them again when no job runs on the node"

    POWER_OFF = "CW860", ERROR, "a host is switched off", "`clusterwright power on` switches it on"
    BMC_SILENT = "CW861", WARNING, "a host's management controller (BMC) does not answer, or refuses", "correct what the finding names; `clusterwright power status` asks again"
    BMC_SERIAL = "CW862", ERROR, "a server has another serial number: its board was replaced, or the inventory names another server's BMC", "correct the inventory, or record the new one with `clusterwright power status --record`"
    BMC_FIRMWARE = "CW863", WARNING, "a server has other firmware than recorded, or than the others of its group", "flash it, or record what is there with `clusterwright power status --record`"
    BMC_HEALTH = "CW864", ERROR, "a server reports a failed part", "read the BMC's log with `clusterwright power status`; drain the node before the repair"
    NEXT_BOOT = "CW865", WARNING, "a server boots from elsewhere next time: from the network it could install itself again", "remove the override in the BMC, or let whoever set it boot the server"

    MARK_GONE = "CW950", ERROR, "a server has lost the stack's mark", "run `clusterwright up`, which adopts the server again and configures it"
    SERVER_TAKEN = "CW951", ERROR, "a server has the mark of another stack", "find out who took the server, and take it out of one of the two inventories"
    SERVER_REINSTALLED = "CW952", ERROR, "the system of a server was installed again", "run `clusterwright up`, which configures the server again"
    SERVER_OTHER = "CW953", WARNING, "a server is another machine, or has another board, than before", "find out who exchanged it; `clusterwright up` records the machine as it is now"
    INTERFACE_MISSING = "CW954", ERROR, "a network interface of the inventory is missing", "look for a failed or exchanged network adapter, or correct the inventory"
    INTERFACE_CHANGED = "CW955", ERROR, "a network interface has another address, MTU, route, rule or RoCE setting than the inventory says", "run `clusterwright up`, which sets it; or correct the inventory"
    FIRMWARE = "CW956", WARNING, "servers of one group have different firmware", "bring the servers to one version"
    NEXT_KERNEL = "CW957", WARNING, "the next start of a server takes another kernel", "run `clusterwright up`, which installs the profile's kernel; or remove the other kernel"
    NEXT_MODULES = "CW958", ERROR, "the next start of a server takes a kernel without modules that it needs", "run `clusterwright up`, which installs the profile's kernel; or install the modules"
    NOT_INSPECTED = "CW968", ERROR, "a host answers and can't be inspected", "correct what the message names; `clusterwright rebuild` the host"
    RECORD_GONE = "CW969", ERROR, "a host has lost the record of its files and packages", "`clusterwright rebuild` the host: without the record nobody can tell what was changed"

    API_SILENT = "CW970", ERROR, "the API server of Kubernetes does not answer", "`clusterwright up` renews certificates that have ended; look at the journals of kubelet and containerd on the hosts of the control plane; `clusterwright up` starts a host that is gone"
    OBJECT_GONE = "CW971", ERROR, "an object of an add-on or of the blueprint is gone from the cluster", "run `clusterwright up`, which creates it again"
    OBJECT_CHANGED = "CW972", WARNING, "an object of an add-on or of the blueprint is not as applying its manifest would make it", "run `clusterwright up`, which restores it"
    QUEUE_ADDED = "CW973", NOTE, "a queue, flavor or priority was added by hand", "delete it with `clusterwright kubectl`; to keep it, add an account, a pool or a QOS to the blueprint"
    KUBE_NODE_MISSING = "CW974", ERROR, "a node has not joined the cluster, or was deleted from it", "run `clusterwright up`, which lets it join"
    KUBE_NODE_ADDED = "CW975", WARNING, "the cluster has a node that the blueprint doesn't have", "delete it with `clusterwright kubectl -- delete node NAME`, and find out who let it join"
    KUBE_NODE_UNREADY = "CW976", ERROR, "a node is not ready, so that it runs no new pods", "read the journal of kubelet on the node; `clusterwright up` starts a host that is gone"
    KUBE_NODE_CORDONED = "CW977", WARNING, "a node takes no pods because somebody, or a check, cordoned it", "when the reason is gone: `clusterwright kubectl -- uncordon NAME`"
    KUBE_NODE_CHANGED = "CW978", WARNING, "a node has another version, other GPUs, labels or taints than the blueprint says", "run `clusterwright up`, which restores them"
    KUBE_NODE_UNHEALTHY = "CW980", ERROR, "a node says that it lacks GPUs, devices or file systems; it gets no new pods", "repair or replace the host; it takes pods again a minute later"
    CERTIFICATE = "CW979", WARNING, "a certificate of the cluster expires soon", "run `clusterwright up`, which renews it"

    WINDOW_UNRESERVED = "CW985", ERROR, "jobs may run into a maintenance window: Slurm has no reservation for it", "read the journal of clusterwright-maintenance on the controller"

    BRAKE_REACHED = "CW986", WARNING, "so many nodes of a partition are drained by their checks that no further one is", "read the reasons with `sinfo -R`; find out what the nodes have in common"

    IGNORE_EXPIRED = "CW790", WARNING, "an entry of the ignore file has expired", "fix what the entry covers, or give the entry a later date"
    # fmt: on

    @property
    def layer(self) -> Layer:
        """The layer that finds it."""
        number = int(self.removeprefix("CW"))
        return next(layer for first, layer in _FIRST_NUMBERS if number >= first)


_CODES = {str(code): code for code in Code}


def code_of(text: str) -> Code:
    """Give the code of a text.

    Raises:
        KeyError: drift has no such code.
    """
    return _CODES[text]

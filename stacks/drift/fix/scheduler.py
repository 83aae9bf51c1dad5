"""Objects of the scheduler: nodes, partitions, topology, accounts, QOS. Pure."""

from blueprints.finding import Finding
from blueprints.finding.subject import Daemon, Membership, ObjectKind, Parameter, SchedulerObject
from blueprints.finding.values import Setting, Values
from components.finish import restorable_findings
from components.inspection.codes import Code
from components.inspection.slurm import accounting

from . import names
from .step import Argv, Cluster, Command, Order, Step

RECONFIGURE = ("scontrol", "reconfigure")
NODE_FIELDS = {"Feature": "availablefeatures", "Weight": "weight"}
"""What scontrol calls a field of slurm.conf that it can change."""
READ_AGAIN = frozenset({Code.TOPOLOGY, Code.CONFIG_VALUE, Code.NODE_MISSING, Code.PARTITION_MISSING})
"""What the controller corrects when it reads its configuration again."""


def steps(finding: Finding, subject: SchedulerObject | Membership | Parameter | Daemon, values: Values, cluster: Cluster) -> tuple[Step, ...]:
    """Give the steps that end a finding about the scheduler; none where a person decides."""
    if restorable_findings.is_restored_on_the_controller(finding) or isinstance(subject, Daemon):
        return tuple(Step(host, finish, Order.FINISH, (finding,)) for host in cluster.control if (finish := cluster.finish(host)))
    argv = _argv(finding, subject, values, cluster)
    return (Step(cluster.controller, Command(argv), Order.SCHEDULER, (finding,), is_quiet=True),) if argv and cluster.controller else ()


def _argv(finding: Finding, subject: SchedulerObject | Membership | Parameter | Daemon, values: Values, cluster: Cluster) -> Argv | None:
    if finding.code in READ_AGAIN:
        return RECONFIGURE
    match subject:
        case Membership(account=account, user=user, field="coordinator") if _are_names(account, user):
            return ("sacctmgr", "--immediate", "delete", "coordinator", f"account={account}", f"names={user}")
        case Membership(account=account, user=user, field=field) if _are_names(account, user):
            where = (f"name={user}", f"account={account}", f"cluster={cluster.name}")
            return ("sacctmgr", "--immediate", "delete", "user", "where", *where) if finding.code == Code.MEMBER_ADDED else _set("user", where, field, values)
        case SchedulerObject(kind=kind, name=name, field=field) if _are_names(name):
            return _of_object(finding, kind, name, field, values, cluster)
        case _:
            return None


def _of_object(finding: Finding, kind: ObjectKind, name: str, field: str, values: Values, cluster: Cluster) -> Argv | None:
    match kind, finding.code:
        case ObjectKind.NODE, Code.NODE_ADDED:
            return ("scontrol", "delete", f"nodename={name}")
        case ObjectKind.NODE, Code.NODE_DRAINED:
            return ("scontrol", "update", f"nodename={name}", "state=resume")
        case ObjectKind.NODE, Code.NODE_CHANGED:
            return _update("nodename", name, NODE_FIELDS.get(field, ""), values) or RECONFIGURE
        case ObjectKind.PARTITION, Code.PARTITION_ADDED:
            return ("scontrol", "delete", f"partition={name}")
        case ObjectKind.PARTITION, Code.PARTITION_CHANGED:
            return _update("partitionname", name, field, values)
        case ObjectKind.RESERVATION, Code.RESERVATION:
            return ("scontrol", "delete", f"reservation={name}")
        case ObjectKind.ACCOUNT, Code.ACCOUNT_ADDED:
            return ("sacctmgr", "--immediate", "delete", "account", "where", f"name={name}", f"cluster={cluster.name}")
        case ObjectKind.ACCOUNT, Code.ACCOUNT_CHANGED:
            return _set("account", (f"name={name}", f"cluster={cluster.name}"), field, values)
        case ObjectKind.QOS, Code.QOS_ADDED:
            return ("sacctmgr", "--immediate", "delete", "qos", "where", f"name={name}")
        case ObjectKind.QOS, Code.QOS_CHANGED:
            return _set("qos", (f"name={name}",), field, values)
        case ObjectKind.USER, Code.ADMIN_LEVEL:
            return _set("user", (f"name={name}",), "adminlevel", values)
        case ObjectKind.USER, Code.ACCOUNT_CHANGED:
            return _set("user", (f"name={name}", f"cluster={cluster.name}"), "defaultaccount", values)
        case _:
            return None


def _update(key: str, name: str, field: str, values: Values) -> Argv | None:
    match values.recorded:
        case Setting(value) if names.FIELD.fullmatch(field) and names.FIELD_VALUE.fullmatch(value):
            return ("scontrol", "update", f"{key}={name}", f"{field}={value}")
        case _:
            return None


def _set(entity: str, where: tuple[str, ...], field: str, values: Values) -> Argv | None:
    """Give the command of sacctmgr that sets a field; what is there now decides how a limit is taken back."""
    match values.recorded, values.actual:
        case Setting(desired), Setting(actual) if names.FIELD.fullmatch(field) and all(map(names.SYSCTL_VALUE.fullmatch, (desired, actual))):
            return ("sacctmgr", "--immediate", "modify", entity, "where", *where, "set", accounting.assignment(field, desired, actual))
        case _:
            return None


def _are_names(*texts: str) -> bool:
    return all(names.OBJECT.fullmatch(text) for text in texts)

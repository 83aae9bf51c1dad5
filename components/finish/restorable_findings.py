"""What finishing a group again restores: the findings of an inspection that roles of `site.yml` own. Pure."""

import fnmatch
from collections.abc import Sequence

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile, SchedulerObject

from ..inspection.codes import Code

FILES_OF_ROLES = (
    "/etc/slurm/*", "/etc/mysql/clusterwright-init.sql", "/etc/clusterwright/fleet.json", "/etc/clusterwright/hosts", "/etc/motd", "/usr/sbin/clusterwright-elastic",
    "/usr/lib/clusterwright/resume*", "/usr/lib/clusterwright/suspend", "/etc/systemd/system/clusterwright-elastic.*", "/usr/lib/clusterwright/elastic/*",
    "/etc/clusterwright/maintenance.json", "/etc/systemd/system/clusterwright-maintenance.*", "/usr/lib/clusterwright/maintenance/*",
)  # fmt: skip
"""Files that finishing writes, and of whose change it tells the daemons that read them."""
OF_PACKAGES = ("/etc/slurm/plugstack.conf*",)
"""What packages install in the same folders, and no role writes."""
FILE_CODES = frozenset({Code.FILE_CHANGED, Code.FILE_GONE, Code.FILE_ATTRIBUTES, Code.FILE_KIND})
OF_USERS = frozenset({Code.USER_MISSING, Code.USER_ADDED, Code.USER_CHANGED, Code.USER_KEY, Code.ADMINS})
OF_ACCOUNTING = frozenset({Code.ACCOUNT_MISSING, Code.MEMBER_MISSING, Code.QOS_MISSING})
"""What the controllers' group restores, whichever host shows it."""


def is_file_of_roles(path: str) -> bool:
    """Say whether finishing writes a file, where its host is of a group that is finished."""
    return _is_of(FILES_OF_ROLES, path) and not _is_of(OF_PACKAGES, path)


def _is_of(patterns: Sequence[str], path: str) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def is_restored_on_its_host(finding: Finding) -> bool:
    """Say whether finishing the finding's own host ends it."""
    if finding.code == Code.PENDING:
        return True
    return finding.code in FILE_CODES and isinstance(finding.subject, HostFile) and is_file_of_roles(finding.subject.path)


def is_restored_on_the_controller(finding: Finding) -> bool:
    """Say whether finishing the controllers ends a finding, whichever host shows it."""
    return finding.code in OF_USERS | OF_ACCOUNTING or (
        finding.code == Code.ACCOUNT_CHANGED and isinstance(finding.subject, SchedulerObject) and finding.subject.field in ("description", "default account")
    )

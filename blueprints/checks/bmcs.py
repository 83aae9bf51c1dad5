"""Management controllers (BMCs) of hosts that exist already: how they are asked, and which certificates count."""

from collections.abc import Iterator

from .. import finding, hostlist, language, spec
from ..codes import Code
from ..document import Document

BMC = ("inventory", "bmc")


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find BMCs without a user or with no single source of the password, and BMCs without a pinned or signed certificate."""
    given = blueprint.inventory.bmc
    sources = [name for name in ("password_file", "secret") if getattr(given, name)]
    if not given.user:
        if given.model_fields_set:
            yield _access(source, (), "`inventory.bmc` has no `user`", "BMCs are asked as one user", "write `user: …`, or remove `inventory.bmc`")
        return
    if len(sources) != 1:
        what = "`inventory.bmc` has both `password_file` and `secret`" if sources else "`inventory.bmc` has no password"
        remedy = "write `password_file: ~/.bmc-password` (a file that only you may read), or `secret: bmc:password`; not both"
        yield _access(source, (), what, "the password of the user has one source", remedy)
    for name in ("password_file", "authority"):
        path = getattr(given, name)
        if path and not path.startswith(("/", "~/")):
            what = f"`inventory.bmc.{name}` is not an absolute path"
            why = "drift checks read it too, from any folder"
            yield _access(source, (name,), what, why, f"write a path that begins with `/` or `~/`, such as `~/{path.rpartition('/')[2]}`")
    yield from _unpinned(cluster, given, source)


def _access(source: Document, key: tuple[str, ...], what: str, why: str, remedy: str) -> finding.Finding:
    where = source.where(*BMC, *key) if key else source.where_key(*BMC)
    return finding.Finding(finding.Level.ERROR, Code.BMC_ACCESS, where, what, why, remedy)


def _unpinned(cluster: spec.ClusterSpec, given: language.Bmcs, source: Document) -> Iterator[finding.Finding]:
    if cluster.site is None or given.authority or given.protocol == "ipmi":
        return
    names = [host.name for host in cluster.site.hosts if host.bmc and not host.bmc_certificate]
    if names:
        what = f"the inventory has no certificate of the BMCs of {hostlist.compress(names)}"
        why = "the password would go to whoever answers at their addresses, so that they are not asked"
        remedy = "`clusterwright lookup bmcs FILE` reads the fingerprints; compare them with each BMC's own page, and write them as `bmc_certificate`"
        yield finding.Finding(finding.Level.WARNING, Code.BMC_UNPINNED, source.where_key(*BMC), what, why, remedy)

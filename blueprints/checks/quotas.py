"""Quotas that the account needs before the cluster can run in full."""

from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from ..plan import quotas
from . import lookup

_GPUS = "gpus"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find quotas that are, or may be, too small in a new account. `check --live` compares with the quotas of the actual account."""
    if not lookup.is_bought(cluster):
        return
    # Clouds seldom publish the default quota of GPUs; it is always small.
    needs = [need for need in quotas.needed(cluster) if need.to_raise or (need.default is None and need.unit == _GPUS)]
    if not needs:
        return
    what = f"the account needs a quota of {message_text.listed(_words(need) for need in needs)}"
    why = "new accounts have small or zero quotas for these, and the cloud refuses each node beyond the quota"
    remedy = "look up your account's quotas, and request an increase early: approval can take days"
    yield finding.Finding(finding.Level.NOTE, Code.QUOTA_NEEDED, source.where_key("pools"), what, why, remedy)


def _words(need: quotas.QuotaNeed) -> str:
    has = "" if need.default is None else f"; new accounts have {need.default}"
    return f"{need.needed} {need.unit} of {need.name} ({need.code}{has})"

"""Quotas: what an account must be allowed to have before the cluster can stand in full."""

from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from ..plan import quotas
from . import lookup

_GPUS = "gpus"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find quotas that a new account has, or may have, too little of; how much this account has, only the cloud can tell."""
    if not lookup.is_bought(cluster):
        return
    # How much a new account has of GPUs is seldom published, and always little.
    needs = [need for need in quotas.needed(cluster) if need.to_raise or (need.default is None and need.unit == _GPUS)]
    if not needs:
        return
    what = f"the account must be allowed to have {message_text.listed(_words(need) for need in needs)}"
    why = "new accounts have little or nothing of this, and nodes beyond an account's quota are refused one by one"
    remedy = "look up what your account has, and ask for more in time: an answer can take days"
    yield finding.Finding(finding.Level.NOTE, Code.QUOTA_NEEDED, source.where_key("pools"), what, why, remedy)


def _words(need: quotas.QuotaNeed) -> str:
    has = "" if need.default is None else f", where new ones have {need.default}"
    return f"{need.needed} {need.unit} of {need.name} ({need.code}{has})"

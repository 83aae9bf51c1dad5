"""APIs of the cloud that an account enables one by one."""

from collections.abc import Iterator

from .. import catalog, finding, message_text, spec
from ..codes import Code
from ..document import Document
from .account import Answers


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find APIs that the cluster needs and the account has not enabled."""
    missing = sorted(name for name, is_on in answers.apis.items() if not is_on) if answers.knows("APIs") else []
    if missing:
        command = catalog.target(cluster.target).enable_apis
        remedy = f"run `{command.format(apis=' '.join(missing), account=answers.account)}`" if command else "enable it in the account's settings"
        what = f"{answers.account} has not enabled {message_text.listed(missing)}"
        why = "the cloud refuses every call of an API that is not enabled"
        yield finding.Finding(finding.Level.ERROR, Code.API_OFF, source.where_key("name"), what, why, remedy)

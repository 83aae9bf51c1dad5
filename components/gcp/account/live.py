"""Compare a cluster with the Google Cloud project, for `check --live` and `up`."""

from blueprints import document, live, spec
from blueprints.codes import Code

from ... import live as contract
from . import ask
from .session import Session


def check(
    cluster: spec.ClusterSpec,
    source: document.Document,
    *,
    stack: str,
    recorded: spec.ClusterSpec | None,  # noqa: ARG001 - the project is asked everything each time
) -> contract.Asked:
    """Ask the project all questions about a cluster: also those of a running one, as quotas and reservations change.

    Raises:
        AccountUnavailable: google-auth isn't installed, there are no valid credentials, or nobody answers.
    """
    region = cluster.network.region
    answers = ask.answers(live.questions(cluster, stack=stack), session=Session(region))
    has_all = all(limit is not None for limit in answers.quotas.values())
    return contract.Asked(
        whom=f"project {answers.account} in {region} asked as {answers.who or 'nobody: Compute Engine is off'}",
        findings=live.check(cluster, source, answers),
        record={"account": {"account": answers.account, "who": answers.who, "region": region, "asked": answers.asked}},
        # Where the project said what it may have, a guess about new projects says nothing more.
        settled=(Code.QUOTA_NEEDED,) if answers.region_state == "enabled" and has_all else (),
    )

"""Compare a cluster with the AWS account, for `check --live` and `up`."""

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
    recorded: spec.ClusterSpec | None,  # noqa: ARG001 - the account is asked everything each time
) -> contract.Asked:
    """Ask the account all questions about a cluster: also those of a running one, as quotas and reservations change.

    Raises:
        AccountUnavailable: the SDK isn't installed, there are no valid credentials, or nobody answers.
    """
    region = cluster.network.region
    answers = ask.answers(live.questions(cluster, stack=stack), session=Session(region))
    return contract.Asked(
        whom=f"account {answers.account} in {region} asked as {answers.who}",
        findings=live.check(cluster, source, answers),
        record={"account": {"account": answers.account, "who": answers.who, "region": region, "asked": answers.asked}},
        # Where the account said what it may have, a guess about new accounts says nothing more.
        settled=(Code.QUOTA_NEEDED,) if answers.knows("quotas") else (),
    )

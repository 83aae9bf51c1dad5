"""SSH to login nodes through Identity-Aware Proxy, which lets in who has the role, from anywhere."""

import shutil

import pulumi

PROGRAM = "gcloud"
RANGE = "35.235.240.0/20"
"""Where connections through the proxy come from (Identity-Aware Proxy documentation, "Using IAP for TCP forwarding", firewall rule)."""
ROLE = "roles/iap.tunnelResourceAccessor"


def command(instance: pulumi.Input[str], *, zone: pulumi.Input[str], project: pulumi.Input[str]) -> pulumi.Output[str]:
    """Write the command that carries SSH to an instance over its standard input and output.

    Source: what `gcloud compute ssh --tunnel-through-iap --dry-run` prints as ProxyCommand.
    """
    return pulumi.Output.concat(
        f"{PROGRAM} compute start-iap-tunnel ", instance, " 22 --listen-on-stdin --verbosity=warning --zone ", zone, " --project ", project
    )


def require_cli() -> None:
    """Require the Google Cloud CLI.

    Raises:
        pulumi.RunError: it is not there.
    """
    if shutil.which(PROGRAM) is None:
        raise pulumi.RunError(
            f"`access.tunnel` needs the Google Cloud CLI, and there is no program {PROGRAM}\n"
            "  why: it carries SSH through Identity-Aware Proxy, for `up`, for drift checks and for whoever logs in\n"
            f"  do:  install it (docs.cloud.google.com/sdk/docs/install), log in with `gcloud auth login`, and have the role {ROLE}; or remove `access.tunnel`"
        )

"""Settings with which a CI pipeline reads the account."""

GITHUB_STEPS = (
    {
        "name": "Log in to AWS",
        "uses": "aws-actions/configure-aws-credentials@v4",
        "with": {"role-to-assume": "${{ vars.CLUSTERWRIGHT_DRIFT_ROLE }}", "aws-region": "${{ vars.CLUSTERWRIGHT_DRIFT_REGION }}"},
    },
)
GITHUB_PERMISSIONS = {"id-token": "write"}
"""OpenID Connect, so that no key is stored (GitHub documentation, "Configuring OpenID Connect in Amazon Web Services")."""
GITHUB_COMMENT = (
    "# The variables CLUSTERWRIGHT_DRIFT_ROLE and CLUSTERWRIGHT_DRIFT_REGION: a role with ReadOnlyAccess that trusts this repository, and the stack's region.\n"
)

"""Settings with which a CI pipeline reads the project."""

GITHUB_STEPS = (
    {
        "name": "Log in to Google Cloud",
        "uses": "google-github-actions/auth@v3",
        "with": {
            "project_id": "${{ vars.CLUSTERWRIGHT_DRIFT_PROJECT }}",
            "workload_identity_provider": "${{ vars.CLUSTERWRIGHT_DRIFT_PROVIDER }}",
            "service_account": "${{ vars.CLUSTERWRIGHT_DRIFT_ACCOUNT }}",
        },
    },
)
"""The step exports the project and the file of credentials (google-github-actions/auth, README, "Workload Identity Federation through a Service Account")."""
GITHUB_PERMISSIONS = {"id-token": "write"}
"""OpenID Connect, so that no key is stored."""
GITHUB_COMMENT = (
    "# The variables CLUSTERWRIGHT_DRIFT_PROJECT, CLUSTERWRIGHT_DRIFT_PROVIDER and CLUSTERWRIGHT_DRIFT_ACCOUNT: the project, a workload identity provider that\n"
    "# trusts this repository, and a service account that may only read.\n"
)

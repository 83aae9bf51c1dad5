"""SDKs that only one target's users need: each is an extra of the installation, since the engine wants the plugin of every SDK that is installed, used or not."""

import importlib.util

NEEDED = {"aws": "pulumi_aws", "gcp": "pulumi_gcp"}
"""Target → what its components import."""


class Missing(Exception):
    """The SDK of a target is not installed; the parts of the page that says so."""

    def __init__(self, target: str):
        self.what = f"the target {target} needs Pulumi's SDK for it, which is not installed"
        self.why = f"there is no Python package {NEEDED[target]}: SDKs of clouds are installed only where they are used"
        self.remedy = f"run `make setup EXTRAS={target}`, then the same command again"
        super().__init__(f"{self.what}\n  why: {self.why}\n  do:  {self.remedy}")


def require(target: str) -> None:
    """Return where all that a target's components import is installed.

    Raises:
        Missing: it isn't.
    """
    if target in NEEDED and importlib.util.find_spec(NEEDED[target]) is None:
        raise Missing(target)

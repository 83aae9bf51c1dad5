"""Values that are not known yet."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Late:
    """A value that only the account or the running cluster can tell, and that was not looked up."""

    what: str
    """What it is, for `plan` (`the newest image of profile ubuntu-24.04-aws`)."""

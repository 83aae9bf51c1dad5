"""A stack of the AWS target on the simulated cloud as the cloud layer needs it: its program exports what the project's own program does; there are no hosts to look at."""

from tests.components.aws import standing

PROGRAM = f"""{standing.PROGRAM}
from blueprints.spec import as_record
pulumi.export("spec", as_record(spec))
pulumi.export("inventory", {{}})
"""

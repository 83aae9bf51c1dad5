"""The Pulumi program: `pulumi up` runs this file."""

from stacks.program import deploy

deploy()

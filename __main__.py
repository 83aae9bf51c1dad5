"""The Pulumi program: `pulumi up` runs this file."""

from components import lasting_imports

with lasting_imports.without_search_for_garbage():
    from stacks.program import deploy

deploy()

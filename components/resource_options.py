"""Resource options that several modules use."""

import pulumi


def beneath(
    parent: pulumi.Resource, *, protect: bool = False, keep: bool = False, replace_first: bool = False, ignore: tuple[str, ...] = ()
) -> pulumi.ResourceOptions:
    """Return the options of a component's child.

    Args:
        protect: refuse to delete or replace it.
        keep: leave it in the account when it is removed from the stack.
        replace_first: delete it before its replacement is created, since both would have the same name or place.
        ignore: inputs whose later changes are ignored.
    """
    return pulumi.ResourceOptions(
        parent=parent,
        protect=protect or None,
        retain_on_delete=keep or None,
        delete_before_replace=replace_first or None,
        ignore_changes=list(ignore) or None,
    )

"""Resource options that several parts need."""

import pulumi


def beneath(
    parent: pulumi.Resource, *, protect: bool = False, keep: bool = False, replace_first: bool = False, ignore: tuple[str, ...] = ()
) -> pulumi.ResourceOptions:
    """Give the options of a component's child.

    Args:
        protect: refuse to delete or replace it.
        keep: leave it in the account when the stack forgets it.
        replace_first: delete it before its successor is made, since both would have one name or one place.
        ignore: inputs whose later change is no change.
    """
    return pulumi.ResourceOptions(
        parent=parent,
        protect=protect or None,
        retain_on_delete=keep or None,
        delete_before_replace=replace_first or None,
        ignore_changes=list(ignore) or None,
    )

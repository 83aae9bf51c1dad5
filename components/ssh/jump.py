"""The way to a host that is reached through another one."""

import shlex
from collections.abc import Sequence


def through(options: Sequence[str], jump: str, jump_command: str) -> tuple[str, ...]:
    """Give ssh's options for the way through a jump host; none where a host is reached directly. Pure.

    Args:
        options: of the connection to the jump host.
        jump: the jump host; empty: there is none.
        jump_command: what carries the connection to the jump host (ssh_config(5), ProxyCommand); empty: the network.
    """
    if not jump:
        return ()
    carried = ("-o", f"ProxyCommand={jump_command}") if jump_command else ()
    return ("-o", f"ProxyCommand={shlex.join(('ssh', *options, *carried, '-W', '[%h]:%p', f'root@{jump}'))}")

"""Where an SSH server answers, as known_hosts(5) and ssh(1) write it."""

SSH_PORT = 22
SHARED_ADDRESS_PORTS = (2221, 2222)
"""Of login hosts that share an address: the balancer, and the SSH server behind it (playbooks/roles/access_address)."""


def known_place(address: str, port: int) -> str:
    """Name a server as known_hosts(5) does."""
    return address if port == SSH_PORT else f"[{address}]:{port}"


def port_option(port: int) -> tuple[str, ...]:
    """Give the words with which ssh(1) asks another port than its own."""
    return () if port == SSH_PORT else ("-p", str(port))

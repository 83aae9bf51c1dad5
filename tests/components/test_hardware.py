"""Node sets that the blueprint does not describe have the hardware of their hosts."""

from components.schedulers import hardware

SMALL = {"sockets": 1, "cores_per_socket": 4, "threads_per_core": 1, "memory_mib": 8_000}
LARGE = {"sockets": 2, "cores_per_socket": 4, "threads_per_core": 2, "memory_mib": 64_000}


def test_the_host_with_the_fewest_processors_speaks_for_its_set() -> None:
    assert hardware.least([LARGE, SMALL]) == SMALL


def test_a_set_of_unknown_hosts_has_one_processor() -> None:
    assert hardware.least([])["cores_per_socket"] == 1

"""Fabrics and what they must deliver, against what others measured and demand."""

import pytest

from blueprints import catalog

MIB, GIB = 1 << 20, 1 << 30
EXPECTATIONS = [entry for fabric in catalog.fabrics().values() for entry in fabric.expected]
MACHINES = [(target, name) for target in ("aws", "gcp", "metal") for name in catalog.machines(target)]


def test_every_fabric_is_complete() -> None:
    for name, fabric in catalog.fabrics().items():
        assert fabric.title
        assert catalog.source(fabric.source).where
        assert fabric.as_of.startswith("20")
        assert all(isinstance(value, str) for value in fabric.environment.values()), name
        if fabric.log_line:
            assert fabric.bad_log_lines == ("NET/Socket", "Using network Socket")


def test_machines_and_fabrics_know_each_other() -> None:
    machines = {name: catalog.machine(target, name) for target, name in MACHINES}
    assert {machine.fabric for machine in machines.values()} - {None} <= set(catalog.fabrics())
    for entry in EXPECTATIONS:
        for name in entry.machines:
            machine = machines[name]
            carries = {"nvlink": machine.gpus > 1, "nvlink-domain": machine.domain_nodes is not None}.get(entry.fabric, machine.fabric == entry.fabric)
            assert carries, (entry.fabric, name)
    for fabric in catalog.fabrics().values():
        assert set(fabric.machine_environment) <= {name for name, machine in machines.items() if machine.fabric == fabric.name}


@pytest.mark.parametrize(
    "entry", EXPECTATIONS, ids=lambda entry: f"{entry.fabric}-{entry.machines[0]}-{entry.nodes_min}-{entry.collective}-{entry.size_bytes // MIB}M"
)
def test_thresholds_are_shares_of_what_was_measured(entry: catalog.Expectation) -> None:
    assert catalog.source(entry.source).where
    assert entry.collective in ("all_reduce", "all_gather", "alltoall")
    if entry.typical_gbs is None:
        assert entry.provisional
        assert entry.warn_gbs is None
        assert entry.measured_nodes is None
        return
    assert entry.measured_nodes is not None
    assert any(entry.fits(name, entry.measured_nodes) for name in entry.machines)
    assert entry.warn_gbs is not None
    assert entry.floor_gbs < entry.warn_gbs < entry.typical_gbs
    assert entry.warn_gbs / entry.typical_gbs == pytest.approx(0.95, abs=0.02)
    # One floor is what Google itself demands of a3-high (60 of 71).
    assert entry.floor_gbs / entry.typical_gbs == pytest.approx(0.90, abs=0.055)


@pytest.mark.parametrize(
    ("target", "machine", "nodes", "measured"),
    [
        ("aws", "p5.48xlarge", 16, 2),
        ("aws", "p5en.48xlarge", 3, 16),
        ("aws", "p5en.48xlarge", 32, 16),
        ("aws", "p6-b200.48xlarge", 16, 4),
        ("gcp", "a3-megagpu-8g", 12, 2),
        ("metal", "dgx-h100", 16, 8),
        ("metal", "dgx-h100", 1, 1),
        # Demanded by others, or a share of the NICs.
        ("gcp", "a4-highgpu-8g", 8, None),
        ("aws", "p6-b300.48xlarge", 4, None),
    ],
)
def test_on_how_many_nodes_it_was_measured(target: str, machine: str, nodes: int, measured: int | None) -> None:
    found = catalog.expected_busbw(target, machine, nodes)
    assert found is not None
    assert found.measured_nodes == measured


def test_no_floor_is_more_than_the_network_can_carry() -> None:
    """All_reduce on exactly two nodes and NVLink pass the rate of the NICs; nothing else does."""
    for target, name in MACHINES:
        machine = catalog.machine(target, name)
        for nodes in (2, 3, 17, 64):
            entry = catalog.expected_busbw(target, name, nodes)
            if entry is None or entry.fabric == "nvlink-domain" or (entry.collective == "all_reduce" and entry.nodes_max == 2):
                continue
            assert entry.floor_gbs <= machine.fabric_nics * machine.fabric_nic_gbps / 8, (name, nodes)


MEASURED = [
    # target, machine, nodes, collective, message, typical, warn, floor
    ("aws", "p4d.24xlarge", 1, "all_reduce", 8 * GIB, 231, 220, 208),
    ("metal", "dgx-a100", 1, "all_reduce", 8 * GIB, 231, 220, 208),
    ("gcp", "a3-megagpu-8g", 1, "all_reduce", 8 * GIB, 479, 455, 430),
    ("metal", "dgx-h200", 1, "all_reduce", 8 * GIB, 479, 455, 430),
    ("aws", "p6-b200.48xlarge", 1, "all_reduce", 8 * GIB, 830, 790, 745),
    ("aws", "p6-b300.48xlarge", 1, "all_reduce", 8 * GIB, None, None, 800),
    ("aws", "p4d.24xlarge", 2, "all_reduce", 2 * GIB, 77.9, 74, 70),
    ("aws", "p4de.24xlarge", 2, "all_reduce", 2 * GIB, 77.9, 74, 70),
    ("aws", "p5.48xlarge", 2, "all_reduce", 16 * GIB, 487, 463, 438),
    ("aws", "p5e.48xlarge", 2, "all_gather", 16 * GIB, 338, 321, 304),
    ("aws", "p5.48xlarge", 2, "all_gather", 16 * GIB, 338, 321, 304),
    ("aws", "p5en.48xlarge", 16, None, 16 * GIB, 370, 351, 333),
    ("aws", "p6-b200.48xlarge", 4, None, 16 * GIB, 377, 358, 339),
    ("aws", "p6-b300.48xlarge", 2, None, 16 * GIB, 654, 621, 588),
    ("aws", "p6e-gb200.36xlarge", 4, None, 16 * GIB, 609.3, 578, 548),
    ("gcp", "a3-megagpu-8g", 2, "all_reduce", 16 * GIB, 337, 320, 303),
    ("gcp", "a3-megagpu-8g", 2, "all_gather", 8 * GIB, 188.7, 179, 170),
    ("gcp", "a3-ultragpu-8g", 2, None, 8 * GIB, 326, 310, 293),
    ("gcp", "a4-highgpu-8g", 2, None, 8 * GIB, None, None, 250),
    ("gcp", "a4x-highgpu-4g", 2, None, 16 * GIB, 680, 646, 612),
    ("metal", "dgx-h100", 2, None, 8 * GIB, 467, 444, 420),
    ("metal", "dgx-h100", 8, None, 8 * GIB, 387, 367, 348),
    ("metal", "dgx-a100", 2, None, 8 * GIB, 186, 178, 168),
]


@pytest.mark.parametrize(("target", "machine", "nodes", "collective", "size", "typical", "warn", "floor"), MEASURED)
def test_what_was_measured(
    target: str, machine: str, nodes: int, collective: str | None, size: int, typical: float | None, warn: float | None, floor: float
) -> None:
    entry = catalog.expected_busbw(target, machine, nodes, collective=collective)
    assert entry is not None
    assert (entry.size_bytes, entry.typical_gbs, entry.warn_gbs, entry.floor_gbs) == (size, typical, warn, floor)


@pytest.mark.parametrize(
    ("target", "machine", "nodes", "typical", "warn", "floor"),
    [
        # By hand: a step of 28 us at 338 GB/s over 16 GiB is 5.509e-4 of the message, so that 16 GPUs of the measurement and 128 give 1.00881 / 1.07052 = 0.942.
        ("aws", "p5.48xlarge", 3, 336.5, 319.6, 302.7),
        ("aws", "p5.48xlarge", 16, 318.5, 302.5, 286.5),
        ("aws", "p5.48xlarge", 18, 315.9, 300.0, 284.1),
        # Measured on 16 nodes: as it is for fewer.
        ("aws", "p5en.48xlarge", 3, 370, 351, 333),
        ("aws", "p5en.48xlarge", 16, 370, 351, 333),
        ("aws", "p5en.48xlarge", 32, 345.3, 327.5, 310.7),
        ("metal", "dgx-h100", 3, 387, 367, 348),
        ("gcp", "a4x-highgpu-4g", 18, 635.3, 603.6, 571.8),
        # What others demand of two nodes has no typical rate.
        ("gcp", "a4-highgpu-8g", 8, None, None, 240.7),
    ],
)
def test_a_figure_over_more_nodes_than_it_was_measured_on_follows_the_ring(
    target: str, machine: str, nodes: int, typical: float | None, warn: float | None, floor: float
) -> None:
    entry = catalog.expected_busbw(target, machine, nodes)
    assert entry is not None
    assert (entry.typical_gbs, entry.warn_gbs, entry.floor_gbs) == (typical, warn, floor)


@pytest.mark.parametrize(
    ("target", "machine", "last"),
    [("aws", "p5.48xlarge", 27), ("aws", "p5en.48xlarge", 40), ("aws", "p6-b200.48xlarge", 27), ("metal", "dgx-h100", 19)],
)
def test_beyond_a_tenth_that_the_model_takes_the_rate_is_unknown(target: str, machine: str, last: int) -> None:
    assert catalog.expected_busbw(target, machine, last) is not None
    assert not catalog.is_known_for_fewer(target, machine, last)
    for nodes in (last + 1, 500, 50_000):
        assert catalog.expected_busbw(target, machine, nodes) is None
        assert catalog.is_known_for_fewer(target, machine, nodes)


def test_more_nodes_never_promise_more() -> None:
    for target, name in MACHINES:
        floors = [
            entry.floor_gbs for nodes in range(3, 80) if (entry := catalog.expected_busbw(target, name, nodes)) is not None and entry.fabric != "nvlink-domain"
        ]
        assert floors == sorted(floors, reverse=True), name


def test_nothing_is_too_large_where_nothing_is_known_at_all() -> None:
    assert not catalog.is_known_for_fewer("gcp", "a2-highgpu-8g", 500)
    assert not catalog.is_known_for_fewer("local", "local", 500)
    assert not catalog.is_known_for_fewer("aws", "p5.48xlarge", 1)


def test_the_step_is_the_largest_that_the_sweep_gives() -> None:
    """The sweep of two p5 (16 GPUs) by message in GiB, as its source has it."""
    sweep = {1: 437, 2: 442, 4: 465, 8: 479}
    steps = [(487 / rate - 1) * size * GIB / (16 * 487e9) * 1e6 for size, rate in sweep.items()]
    rule = catalog.files.mapping("fabrics")["extrapolation"]
    assert max(steps) == pytest.approx(rule["step_us"], abs=0.5)
    assert rule["source"] in catalog.sources()


def test_every_expectation_of_the_table_is_one_that_was_measured() -> None:
    """p5 at 8 GiB is behind p5 at 16 GiB; everything else is asked for above."""
    asked_for = {catalog.expected_busbw(row[0], row[1], row[2], collective=row[3]) for row in MEASURED}
    (left,) = [entry for entry in EXPECTATIONS if entry not in asked_for]
    assert (left.machines[0], left.size_bytes, left.typical_gbs, left.warn_gbs, left.floor_gbs) == ("p5.48xlarge", 8 * GIB, 479, 455, 430)
    assert (left.nodes_min, left.nodes_max) == (2, 2)


@pytest.mark.parametrize(
    ("target", "machine", "nodes", "gate"),
    [
        # What others demand, and a healthy pair of nodes delivers: the catalogue's floor is no looser.
        ("gcp", "a3-ultragpu-8g", 2, 250),
        ("gcp", "a3-megagpu-8g", 2, 150),
        ("aws", "p4d.24xlarge", 2, 26),
        ("aws", "p5.48xlarge", 2, 250),
        ("aws", "p4d.24xlarge", 1, 185),
    ],
)
def test_floors_are_no_looser_than_what_others_demand(target: str, machine: str, nodes: int, gate: float) -> None:
    entry = catalog.expected_busbw(target, machine, nodes)
    assert entry is not None
    assert entry.floor_gbs >= gate


@pytest.mark.parametrize(
    ("target", "machine", "nodes", "floor"),
    [
        ("aws", "p5en.48xlarge", 2, 0.80 * 16 * 200 / 8),
        ("aws", "p4d.24xlarge", 3, 0.80 * 4 * 100 / 8),
        ("metal", "dgx-b200", 2, 0.80 * 8 * 400 / 8),
        # Wider than an NVLink domain: what two nodes owe, extrapolated.
        ("gcp", "a4x-highgpu-4g", 19, 154.5),
        ("metal", "gb200-nvl72-tray", 2, 0.80 * 4 * 400 / 8),
    ],
)
def test_unmeasured_fabrics_owe_a_share_of_their_nics(target: str, machine: str, nodes: int, floor: float) -> None:
    entry = catalog.expected_busbw(target, machine, nodes)
    assert entry is not None
    assert entry.floor_gbs == pytest.approx(floor)
    assert (entry.collective, entry.size_bytes, entry.typical_gbs, entry.provisional) == ("all_gather", 8 * GIB, None, True)


def test_no_measured_rate_is_below_the_share_that_is_expected_without_one() -> None:
    rule = catalog.files.mapping("fabrics")["fallback"]
    for target, name in (("gcp", "a3-megagpu-8g"), ("gcp", "a3-ultragpu-8g"), ("aws", "p5.48xlarge")):
        machine, entry = catalog.machine(target, name), catalog.expected_busbw(target, name, 2, collective="all_gather")
        assert entry is not None
        assert entry.typical_gbs is not None
        assert rule["floor_share"] * machine.fabric_nics * machine.fabric_nic_gbps / 8 < entry.typical_gbs


def test_nothing_is_expected_where_nothing_is_known() -> None:
    assert catalog.expected_busbw("gcp", "a2-highgpu-8g", 2) is None
    assert catalog.expected_busbw("aws", "hpc7a.96xlarge", 2) is None
    assert catalog.expected_busbw("aws", "g5.48xlarge", 1) is None
    assert catalog.expected_busbw("aws", "p5en.48xlarge", 2, collective="all_reduce") is None
    with pytest.raises(KeyError):
        catalog.expected_busbw("aws", "p7.48xlarge", 2)


def test_what_jobs_are_told_and_the_log_must_say() -> None:
    fabrics = catalog.fabrics()
    assert {name: fabric.log_line for name, fabric in fabrics.items() if fabric.log_line} == {
        "efa": "Selected provider is efa",
        "gcp-tcpxo": "NET/FasTrak",
        "gcp-gib": "NET/gIB",
        "ib-hdr": "NET/IB",
        "ib-ndr": "NET/IB",
        "ib-xdr": "NET/IB",
        "roce": "NET/IB",
    }
    assert fabrics["gcp-gib"].environment_for("a3-ultragpu-8g") == {
        "NCCL_NET": "gIB",
        "LD_LIBRARY_PATH": "/usr/local/gib/lib64",
        "NCCL_SOCKET_IFNAME": "enp0s19,enp192s20",
    }
    assert fabrics["gcp-gib"].environment_for("a4x-highgpu-4g")["NCCL_SOCKET_IFNAME"] == "enp0s3,enp192s2"
    assert "NCCL_SOCKET_IFNAME" not in fabrics["gcp-gib"].environment_for("a4-highgpu-8g")
    assert fabrics["nvlink-domain"].environment == {"NCCL_MNNVL_ENABLE": "1", "NCCL_NVLS_ENABLE": "1"}
    assert [name for name, fabric in fabrics.items() if fabric.environment_script] == ["gcp-tcpxo", "gcp-gib"]


@pytest.mark.parametrize("machine", ["a3-megagpu-8g", "a3-highgpu-8g"])
def test_every_nic_of_google_cloud_has_its_own_interface(machine: str) -> None:
    """As many data interfaces are named as the machine has NICs for its GPUs, and the control interface is none of them."""
    environment = catalog.fabrics()["gcp-tcpxo"].environment_for(machine)
    interfaces = environment["NCCL_FASTRAK_IFNAME"].split(",")
    assert len(set(interfaces)) == catalog.machine("gcp", machine).fabric_nics
    assert environment["NCCL_SOCKET_IFNAME"] not in interfaces


def test_the_daemon_is_told_of_as_many_nics_as_its_source_says() -> None:
    arguments = catalog.fabrics()["gcp-tcpxo"].daemon_arguments_for
    assert arguments("a3-megagpu-8g").split() == [
        "--num_hops=2",
        f"--num_nics={catalog.machine('gcp', 'a3-megagpu-8g').fabric_nics}",
        "--uid=",
        "--alsologtostderr",
    ]
    assert arguments("a3-highgpu-8g").split() == ["--num_hops=2"]


def test_variables_for_efa_are_few() -> None:
    """The cheat sheet warns of most others: they slow NCCL down, or did something for older installers only."""
    assert catalog.fabrics()["efa"].environment == {"FI_EFA_USE_HUGE_PAGE": "0", "NCCL_SOCKET_IFNAME": "^docker,lo,veth"}


def test_expectations_hold_for_the_numbers_of_nodes_that_were_measured() -> None:
    nodes = {(entry.fabric, entry.machines[0], entry.collective, entry.size_bytes // MIB): (entry.nodes_min, entry.nodes_max) for entry in EXPECTATIONS}
    beyond_two = {key: span for key, span in nodes.items() if span not in ((1, 1), (2, 2), (2, None))}
    assert beyond_two == {
        ("nvlink-domain", "p6e-gb200.36xlarge", "all_gather", 16384): (2, 18),
        ("nvlink-domain", "a4x-highgpu-4g", "all_gather", 16384): (2, 18),
        ("efa", "p5en.48xlarge", "all_reduce", 16384): (3, None),
        ("efa", "p6-b200.48xlarge", "all_reduce", 16384): (3, None),
        ("ib-ndr", "dgx-h100", "all_reduce", 8192): (3, None),
    }
    for entry in EXPECTATIONS:
        assert (entry.nodes_min, entry.nodes_max) == (1, 1) or entry.fabric != "nvlink"
        if entry.collective == "all_reduce" and entry.nodes_min == 2:
            assert entry.nodes_max == 2
    for key, span in nodes.items():
        if key[0] == "nvlink-domain":
            target = "aws" if key[1].startswith("p6e") else "gcp"
            assert span[1] == catalog.machine(target, key[1]).domain_nodes


def test_what_is_expected_of_a3_high_is_provisional() -> None:
    entry = catalog.expected_busbw("gcp", "a3-highgpu-8g", 2)
    assert entry is not None
    assert (entry.floor_gbs, entry.provisional) == (80, True), "four NICs of 200 Gb/s, and nobody has published a rate"

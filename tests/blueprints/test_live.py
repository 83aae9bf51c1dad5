"""A cluster against what an account says: each fault of the account is found with its code, level and place, and a good account with nothing."""

import dataclasses
from collections.abc import Callable

import pytest

from blueprints import catalog, finding, live, load, read, spec
from blueprints.codes import Code
from blueprints.facts import Facts
from blueprints.live import account

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
ERROR, WARNING, NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
KEY = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001"
BLUEPRINT = f"""\
name: tiny
access: {{login_nodes: 1, allowed_cidrs: [192.0.2.0/24]}}
network:
  region: us-east-1
  zones: [us-east-1b]
  existing: vpc-0123456789abcdef0
  subnets:
    - subnet-0aaaaaaaaaaaaaaaa
pools:
  train:
    machine: p5.48xlarge
    nodes: {{min: 2, max: 4}}
    image: ami-0123456789abcdef0
    capacity: {{kind: reserved, id: cr-0123456789abcdef0}}
storage:
  home:
    kind: nfs
    mount: /home
    key: {KEY}
  old:
    kind: existing
    mount: /old
    source: fs-0123456789abcdef0
  sets:
    kind: lustre
    size: 1200 GiB
    mount: /sets
    exchange:
      bucket: s3://sets-of-ours/2026
"""
NEW = "name: tiny\naccess: {login_nodes: 1, allowed_cidrs: [192.0.2.0/24]}\npools:\n  train: {machine: p5.48xlarge, nodes: 2}\nnetwork:\n  region: us-east-1\n"
"""In a network that the stack makes, in a zone that nobody named."""
SUBNET = account.Subnet("subnet-0aaaaaaaaaaaaaaaa", "vpc-0123456789abcdef0", "us-east-1b", "10.0.0.0/24", 251, "nat")
RESERVATION = account.Reservation("cr-0123456789abcdef0", "p5.48xlarge", "us-east-1b", spec.CapacityKind.RESERVED, "active", 4, 4)
FILES = account.FileSystem("fs-0123456789abcdef0", True, "available", "vpc-0123456789abcdef0", ("us-east-1b",))
EVERYWHERE = frozenset({"us-east-1a", "us-east-1b"})
GOOD = account.Answers(
    account="123456789012",
    who="arn:aws:iam::123456789012:user/ada",
    asked="2026-11-21T12:00:00+00:00",
    region_state="enabled",
    zones=tuple(account.Zone(name, "dfw" in name, "dfw" not in name, "available") for name in ("us-east-1a", "us-east-1b", "us-east-1-dfw-2a")),
    offered=dict.fromkeys(("p5.48xlarge", "m7i.xlarge", "m7i.large"), EVERYWHERE),
    machines={
        one.name: account.OfferedMachine(one.name, (one.arch,), one.vcpus, one.memory_gib, one.gpus, one.cards, one.fabric_nics)
        for one in (catalog.machines("aws")[name] for name in ("p5.48xlarge", "m7i.xlarge", "m7i.large"))
    },
    quotas={"L-417A185B": 10_000.0, "L-1216C47A": 10_000.0},
    rooms=(account.Room("networks", "L-F678F1CE", 5, 1), account.Room("public addresses", "L-0263D0A3", 5, 0)),
    buckets={"sets-of-ours": True},
    network=account.Network("vpc-0123456789abcdef0", ("10.0.0.0/16",), True),
    subnets={SUBNET.id: SUBNET},
    reservations={RESERVATION.id: RESERVATION},
    keys={KEY: account.Key(KEY, True, True)},
    file_systems={FILES.id: FILES},
    images={"ami-0123456789abcdef0": account.Image("ami-0123456789abcdef0", "x86_64", True)},
    bases={("ubuntu-24.04", "x86_64"): account.Image("ami-1", "x86_64", True)},
)
Change = Callable[[account.Answers], account.Answers]


def loaded(text: str) -> load.Loaded:
    return load.from_document(read.from_bytes(text.encode(), file="t.yaml"), target="aws", stack="t", facts=FACTS)


def found(answers: account.Answers, *, text: str = BLUEPRINT) -> set[tuple[str, finding.Level, int]]:
    one = loaded(text)
    return {(str(each.code), each.level, each.where.line if each.where else 0) for each in live.check(one.spec, one.document, answers)}


def line(words: str, *, text: str = BLUEPRINT) -> int:
    return next(number for number, written in enumerate(text.splitlines(), start=1) if words in written)


def with_(**changed: object) -> Change:
    return lambda answers: dataclasses.replace(answers, **changed)  # type: ignore[arg-type]  # names of fields


def subnet(**changed: object) -> Change:
    return with_(subnets={SUBNET.id: dataclasses.replace(SUBNET, **changed)})  # type: ignore[arg-type]


def reservation(**changed: object) -> Change:
    return with_(reservations={RESERVATION.id: dataclasses.replace(RESERVATION, **changed)})  # type: ignore[arg-type]


def files(**changed: object) -> Change:
    return with_(file_systems={FILES.id: dataclasses.replace(FILES, **changed)})  # type: ignore[arg-type]


def machine(**changed: object) -> Change:
    p5 = dataclasses.replace(GOOD.machines["p5.48xlarge"], **changed)  # type: ignore[arg-type]
    return with_(machines={**GOOD.machines, p5.name: p5})


def test_an_account_that_has_everything_is_no_reason_to_say_anything() -> None:
    assert found(GOOD) == set()
    assert found(GOOD, text=NEW) == set()


FAULTS: tuple[tuple[str, Change, Code, finding.Level, str], ...] = (
    ("region disabled", with_(region_state="disabled"), Code.REGION_UNUSABLE, ERROR, "region:"),
    ("region unknown", with_(region_state="unknown"), Code.REGION_UNUSABLE, ERROR, "region:"),
    ("zone unknown", with_(zones=GOOD.zones[:1]), Code.ZONE_UNUSABLE, ERROR, "zones:"),
    ("zone down", with_(zones=(account.Zone("us-east-1b", False, False, "impaired"),)), Code.ZONE_UNUSABLE, ERROR, "zones:"),
    ("not offered in the zone", with_(offered={**GOOD.offered, "p5.48xlarge": frozenset({"us-east-1a"})}), Code.MACHINE_NOT_OFFERED, ERROR, "  train:"),
    ("controller not offered", with_(offered={**GOOD.offered, "m7i.large": frozenset()}), Code.MACHINE_NOT_OFFERED, ERROR, "access:"),
    ("fewer interfaces than the catalogue says", machine(fabric_nics=16), Code.MACHINE_DIFFERS, ERROR, "  train:"),
    ("another number of cards", machine(cards=17), Code.MACHINE_DIFFERS, ERROR, "  train:"),
    ("less memory", machine(memory_gib=1024.0), Code.MACHINE_DIFFERS, ERROR, "  train:"),
    ("fewer GPUs", machine(gpus=4), Code.MACHINE_DIFFERS, ERROR, "  train:"),
    ("fewer processors", machine(vcpus=96), Code.MACHINE_DIFFERS, ERROR, "  train:"),
    ("other processors", machine(arch=("arm64",)), Code.MACHINE_DIFFERS, ERROR, "  train:"),
    ("quota too small for all", with_(quotas={"L-417A185B": 500.0}), Code.QUOTA_TOO_SMALL, WARNING, "pools:"),
    ("quota too small to stand", with_(quotas={"L-417A185B": 300.0}), Code.QUOTA_TOO_SMALL, ERROR, "pools:"),
    ("no such reservation", with_(reservations={RESERVATION.id: None}), Code.RESERVATION_UNKNOWN, ERROR, "id: cr-"),
    ("reservation for another machine", reservation(machine="p5en.48xlarge"), Code.RESERVATION_UNFIT, ERROR, "id: cr-"),
    ("reservation elsewhere", reservation(zone="us-east-1a"), Code.RESERVATION_UNFIT, ERROR, "id: cr-"),
    ("a block for a reservation", reservation(kind=spec.CapacityKind.BLOCK), Code.RESERVATION_UNFIT, ERROR, "id: cr-"),
    ("reservation whose blocks are to be named", reservation(needs_block=True), Code.RESERVATION_UNFIT, ERROR, "id: cr-"),
    ("reservation over", reservation(state="expired"), Code.RESERVATION_UNFIT, ERROR, "id: cr-"),
    ("reservation to come", reservation(state="scheduled", starts="2026-12-01T00:00+00:00"), Code.RESERVATION_UNFIT, WARNING, "id: cr-"),
    ("reservation too small", reservation(total=3, free=3), Code.RESERVATION_UNFIT, ERROR, "id: cr-"),
    ("reservation in use", reservation(free=1), Code.RESERVATION_UNFIT, WARNING, "id: cr-"),
    ("reservation that ends", reservation(ends="2026-12-01T00:00+00:00"), Code.RESERVATION_UNFIT, NOTE, "id: cr-"),
    ("a machine of others", with_(neighbours=("theirs in us-east-1b",)), Code.SUBNET_SHARED, WARNING, "- subnet-0aaaaaaaaaaaaaaaa"),
    ("no such network", with_(network=None), Code.NETWORK_UNFIT, ERROR, "existing: vpc"),
    ("names don't resolve", with_(network=account.Network("vpc-0123456789abcdef0", ("10.0.0.0/16",), False)), Code.NETWORK_UNFIT, ERROR, "existing: vpc"),
    ("no such subnet", with_(subnets={SUBNET.id: None}), Code.SUBNET_UNFIT, ERROR, "- subnet-"),
    ("subnet of another network", subnet(network="vpc-0fedcba9876543210"), Code.SUBNET_UNFIT, ERROR, "- subnet-"),
    ("subnet too small", subnet(cidr="10.0.0.0/29", free=3), Code.SUBNET_UNFIT, ERROR, "- subnet-"),
    ("subnet nearly full", subnet(free=2), Code.SUBNET_UNFIT, WARNING, "- subnet-"),
    ("subnet without a way out", subnet(way_out="none"), Code.SUBNET_UNFIT, ERROR, "- subnet-"),
    ("subnet for public addresses", subnet(way_out="internet"), Code.SUBNET_UNFIT, ERROR, "- subnet-"),
    ("no such key", with_(keys={KEY: None}), Code.KEY_UNFIT, ERROR, "key:"),
    ("key switched off", with_(keys={KEY: account.Key(KEY, False, True)}), Code.KEY_UNFIT, ERROR, "key:"),
    ("key for signatures", with_(keys={KEY: account.Key(KEY, True, False)}), Code.KEY_UNFIT, ERROR, "key:"),
    ("no such file system", with_(file_systems={FILES.id: None}), Code.FILE_SYSTEM_UNFIT, ERROR, "source:"),
    ("file system on its way out", files(is_available=False, state="deleting"), Code.FILE_SYSTEM_UNFIT, ERROR, "source:"),
    ("file system without a mount target", files(zones=("us-east-1a",)), Code.FILE_SYSTEM_UNFIT, ERROR, "source:"),
    ("file system of another network", files(network="vpc-0fedcba9876543210"), Code.FILE_SYSTEM_UNFIT, WARNING, "source:"),
    ("no such image", with_(images={"ami-0123456789abcdef0": None}), Code.IMAGE_UNFIT, ERROR, "image:"),
    (
        "image for other processors",
        with_(images={"ami-0123456789abcdef0": account.Image("ami-0123456789abcdef0", "arm64", True)}),
        Code.IMAGE_UNFIT,
        ERROR,
        "image:",
    ),
    ("bucket that is not there", with_(buckets={"sets-of-ours": False}), Code.BUCKET_MISSING, ERROR, "bucket:"),
    ("an API that is off", with_(apis={"machines.example.org": False, "files.example.org": True}), Code.API_OFF, ERROR, "name:"),
    ("reservation of others", reservation(is_shared=False), Code.RESERVATION_UNFIT, ERROR, "id: cr-"),
    ("nothing to build on", with_(bases={("ubuntu-24.04", "x86_64"): None}), Code.IMAGE_UNFIT, ERROR, "name:"),
)


@pytest.mark.parametrize(("change", "code", "level", "place"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_each_fault_is_found_alone_with_its_place(change: Change, code: Code, level: finding.Level, place: str) -> None:
    assert found(change(GOOD)) == {(str(code), level, line(place))}


def test_a_subnet_in_another_zone_than_the_blueprint_names_is_found_with_what_hangs_on_it() -> None:
    said = found(subnet(zone="us-east-1a")(GOOD))
    assert (str(Code.SUBNET_UNFIT), ERROR, line("- subnet-")) in said
    assert (str(Code.RESERVATION_UNFIT), ERROR, line("id: cr-")) in said  # the hosts would stand where it isn't


def test_two_reservations_in_different_zones_never_serve_one_cluster() -> None:
    text = NEW.replace(
        "nodes: 2}",
        "nodes: 2, capacity: {kind: reserved, id: cr-0000000000000000a}}\n  more: {machine: p5.48xlarge, nodes: 2, capacity: {kind: reserved, id: cr-0000000000000000b}}",
    )
    first, second = (
        dataclasses.replace(RESERVATION, id=name, zone=zone) for name, zone in (("cr-0000000000000000a", "us-east-1a"), ("cr-0000000000000000b", "us-east-1b"))
    )
    answers = dataclasses.replace(GOOD, reservations={"cr-0000000000000000a": first, "cr-0000000000000000b": second})
    code = str(Code.RESERVATION_UNFIT)
    assert found(answers, text=text) == {(code, WARNING, line("cr-0000000000000000a", text=text)), (code, ERROR, line("cr-0000000000000000b", text=text))}


def test_machines_that_no_zone_has_together_are_found() -> None:
    answers = dataclasses.replace(GOOD, offered={**GOOD.offered, "p5.48xlarge": frozenset({"us-east-1a"}), "m7i.large": frozenset({"us-east-1b"})})
    assert found(answers, text=NEW) == {(str(Code.MACHINE_NOT_OFFERED), ERROR, line("region:", text=NEW))}


@pytest.mark.parametrize("room", [account.Room("networks", "L-F678F1CE", 5, 5), account.Room("public addresses", "L-0263D0A3", 5, 5)])
def test_a_full_region_is_found_for_a_network_that_is_made_and_for_no_other(room: account.Room) -> None:
    answers = dataclasses.replace(GOOD, rooms=(room,))
    assert found(answers, text=NEW) == {(str(Code.QUOTA_TOO_SMALL), ERROR, line("network:", text=NEW))}
    assert found(answers) == set()


def test_a_range_outside_of_its_network_is_found() -> None:
    text = NEW + "  existing: vpc-0123456789abcdef0\n  cidr: 10.99.0.0/24\n"
    assert found(GOOD, text=text) == {(str(Code.NETWORK_UNFIT), ERROR, line("cidr: 10.99", text=text))}


def test_a_group_of_reservations_is_said_to_be_unseen() -> None:
    text = NEW.replace("nodes: 2}", 'nodes: 2, capacity: {kind: reserved, id: "arn:aws:resource-groups:us-east-1:123456789012:group/mine"}}')
    assert found(GOOD, text=text) == {(str(Code.RESERVATION_UNFIT), WARNING, line("arn:", text=text))}


QUESTIONS = (
    "zones",
    "offers",
    "machines",
    "quotas",
    "rooms",
    "network",
    "subnets",
    "reservations",
    "keys",
    "file systems",
    "images",
    "buckets",
    "base images",
    "APIs",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_without_an_answer_is_an_error_and_nothing_is_said_of_what_it_was_about(question: str) -> None:
    silent = account.Answers(account="1", who="ada", asked="", region_state="enabled", unanswered=dict.fromkeys(QUESTIONS, "not allowed"))
    assert found(silent) == found(silent, text=NEW) == {(str(Code.ACCOUNT_SILENT), ERROR, 0)}
    assert found(dataclasses.replace(GOOD, unanswered={question: "not allowed"})) == {(str(Code.ACCOUNT_SILENT), ERROR, 0)}


def test_what_is_asked_follows_from_the_cluster() -> None:
    asked = live.questions(loaded(BLUEPRINT).spec, stack="t")
    assert asked == account.Questions(
        target="aws",
        region="us-east-1",
        cluster="tiny",
        stack="t",
        machines=("m7i.large", "m7i.xlarge", "p5.48xlarge"),
        quotas=("L-1216C47A", "L-417A185B"),
        network="vpc-0123456789abcdef0",
        subnets=("subnet-0aaaaaaaaaaaaaaaa",),
        reservations=("cr-0123456789abcdef0",),
        keys=(KEY,),
        file_systems=("fs-0123456789abcdef0",),
        images=("ami-0123456789abcdef0",),
        buckets=("sets-of-ours",),
        systems=(("ubuntu-24.04", "x86_64"),),
    )


OF_ONE_CLOUD = {Code.FABRIC_ELSEWHERE, Code.STORAGE_ELSEWHERE, Code.TUNNEL_FORBIDDEN}
"""tests/components/gcp/test_account.py has their cases: no network of AWS belongs to a zone, and no service of storage is in some zones alone."""


def test_every_code_of_accounts_has_its_case() -> None:
    tested = {code for _, _, code, _, _ in FAULTS}
    assert {code for code in Code if "CW800" <= str(code) < "CW820"} - tested == {Code.ACCOUNT_SILENT, *OF_ONE_CLOUD}


def test_levels_told_are_those_that_are_found() -> None:
    seen: dict[Code, set[finding.Level]] = {}
    for _, _, code, level, _ in FAULTS:
        seen.setdefault(code, set()).add(level)
    assert {code: {*code.levels} for code in seen} == seen


SHARED = NEW.replace("  train: {machine: p5.48xlarge, nodes: 2}\n", "") + "  zones: [us-east-1b]\n"


def shared(one: str, other: str) -> str:
    bought = f"machine: p5.48xlarge, capacity: {{kind: reserved, id: {RESERVATION.id}}}"
    return SHARED.replace("pools:\n", f"pools:\n  one: {{{bought}, nodes: {one}}}\n  two: {{{bought}, nodes: {other}}}\n")


@pytest.mark.parametrize(
    ("one", "other", "level"),
    [("2", "2", None), ("2", "3", ERROR), ("{min: 0, max: 3}", "{min: 2, max: 3}", WARNING), ("{min: 1, max: 2}", "2", None)],
)
def test_pools_that_share_a_reservation_must_fit_into_it_together(one: str, other: str, level: finding.Level | None) -> None:
    text = shared(one, other)
    levels_found = {each for code, each, where in found(GOOD, text=text) if code == Code.RESERVATION_UNFIT and where == line("two:", text=text)}
    assert levels_found == ({level} if level else set())


@pytest.mark.parametrize(
    ("limit", "starts", "is_found"),
    [
        ("1-00:00:00", "", False),
        ("2-00:00:00", "", False),
        ("2-00:01:00", "", True),
        # It begins a day later: less of it is left.
        ("1-00:01:00", "2026-11-22T12:00:00+00:00", True),
        ("1-00:00:00", "2026-11-22T12:00:00+00:00", False),
    ],
)
def test_jobs_must_end_before_their_nodes(limit: str, starts: str, is_found: bool) -> None:
    text = BLUEPRINT.replace("nodes: {min: 2, max: 4}", f"nodes: {{min: 2, max: 4}}\n    partition: {{max_time: {limit}}}")
    answers = reservation(starts=starts, ends="2026-11-23T12:00:00+00:00")(GOOD)
    warned = (str(Code.RESERVATION_UNFIT), WARNING, line("max_time", text=text))
    assert (warned in found(answers, text=text)) is is_found


@pytest.mark.parametrize(("owner", "level"), [("123456789012", WARNING), ("210987654321", ERROR)])
def test_a_group_of_reservations_belongs_to_the_account(owner: str, level: finding.Level) -> None:
    text = BLUEPRINT.replace("cr-0123456789abcdef0", f"'arn:aws:resource-groups:us-east-1:{owner}:group/h100'")
    assert (str(Code.RESERVATION_UNFIT), level, line("id: 'arn", text=text)) in found(GOOD, text=text)

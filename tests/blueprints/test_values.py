"""Texts that stand for values, and names: both sides of each limit."""

import base64
import pathlib
import re
from collections.abc import Callable

import pytest

from blueprints.codes import Code
from blueprints.finding import Unfit
from blueprints.language import names, values

PLAYBOOKS = pathlib.Path(__file__).parents[2] / "playbooks"


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("1", "00:01:00"),
        ("60", "01:00:00"),
        ("1440", "1-00:00:00"),
        ("90:30", "01:30:30"),
        ("2:30:00", "02:30:00"),
        ("48:00:00", "2-00:00:00"),
        ("1-0", "1-00:00:00"),
        ("1-12:30", "1-12:30:00"),
        ("1-00:00:00", "1-00:00:00"),
        ("366-00:00:00", "366-00:00:00"),
        ("unlimited", "UNLIMITED"),
        ("INFINITE", "UNLIMITED"),
    ],
)
def test_time_limits_are_written_as_slurm_writes_them(text: str, normal: str) -> None:
    assert values.time_limit(text) == normal
    assert values.time_limit(normal) == normal


@pytest.mark.parametrize("text", ["", "0", "0:59", "366-00:01:00", "1:2:3:4", "1-", "-1", "a", "1 day", "1:00:00 ", "١", "1-1-1", "9" * 20])
def test_what_slurm_would_not_read_is_no_time_limit(text: str) -> None:
    with pytest.raises(Unfit):
        values.time_limit(text)


@pytest.mark.parametrize(("text", "size_mib"), [("256 MiB", 256), ("64 GiB", 65_536), ("64GiB", 65_536), ("1.5 TiB", 1_572_864), ("64 TiB", 67_108_864)])
def test_sizes_are_powers_of_1024(text: str, size_mib: int) -> None:
    assert values.memory_mib(text) == size_mib


@pytest.mark.parametrize("text", ["", "64", "64 GB", "64 gib", "-1 GiB", "255 MiB", "65 TiB", "1e3 GiB", "64  GiB", "64 GiB ", "٣ GiB", "9" * 99 + " TiB"])
def test_other_texts_are_no_sizes(text: str) -> None:
    with pytest.raises(Unfit):
        values.memory_mib(text)


@pytest.mark.parametrize("path", ["/home", "/shared", "/mnt/data", "/opt/apps", "/srv/a.b-c_d", "/varied", "/homes/run"])
def test_usable_mount_points(path: str) -> None:
    assert values.mount_point(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "home",
        "/home/",
        "//home",
        "/a/./b",
        "/a/../b",
        "/a b",
        "/a\n",
        "/var",
        "/var/lib",
        "/usr",
        "/etc/x",
        "/run/x",
        "/opt",
        "/mnt",
        "/tmp",
        "/" + "a" * 200,
    ],
)
def test_unusable_mount_points(path: str) -> None:
    with pytest.raises(Unfit):
        values.mount_point(path)


@pytest.mark.parametrize(("text", "normal"), [("10.80.0.0/20", "10.80.0.0/20"), ("192.168.0.0/255.255.255.0", "192.168.0.0/24")])
def test_networks(text: str, normal: str) -> None:
    assert values.network(text) == normal


@pytest.mark.parametrize("text", ["", "/", "10.80.0.0", "10.80.0.1/20", "10.80/16", "10.80.0.0/33", "010.80.0.0/20", "::/64", "a/b", "10.80.0.0/20 "])
def test_other_texts_are_no_networks(text: str) -> None:
    with pytest.raises(Unfit):
        values.network(text)


def key_line(kind: str = "ssh-ed25519", *, inside: str | None = None, size: int = 32) -> str:
    name = (inside or kind).encode()
    return f"{kind} {base64.b64encode(len(name).to_bytes(4) + name + size.to_bytes(4) + bytes(size)).decode()}"


@pytest.mark.parametrize("line", [key_line(), key_line() + " ada@laptop", key_line() + " a comment of words", key_line("ssh-rsa", size=256)])
def test_public_keys(line: str) -> None:
    assert values.public_key(line) == line


@pytest.mark.parametrize(
    "line",
    ["", "ssh-ed25519", "ssh-ed25519 ", "ssh-ed25519 !!!", key_line(inside="ssh-rsa"), key_line("ssh-dss"), key_line(size=4), key_line() + "\n" + key_line()],
)
def test_other_lines_are_no_public_keys(line: str) -> None:
    with pytest.raises(Unfit):
        values.public_key(line)


@pytest.mark.parametrize(
    ("check", "length"),
    [(names.cluster, 40), (names.pool, 32), (names.account, 32), (names.storage, 32), (names.user, 32)],
)
def test_names_have_a_form_and_a_length_everywhere(check: Callable[[str], str], length: int) -> None:
    for good in ("a", "a1", "a-1", "a" * length, "h100-80gb"):
        assert check(good) == good
    underscored = ("a_b",) if check is not names.user else ("_a", "a_")
    for bad in ("", "1a", "-a", "a-", "A", *underscored, "a.b", "a b", "ä", "a\n", "a" * (length + 1)):
        with pytest.raises(Unfit):
            check(bad)


def test_users_have_the_names_that_directories_make_of_addresses() -> None:
    assert names.user("ada_example_org") == "ada_example_org"


@pytest.mark.parametrize("address", ["ada@example.org", "Ada.L+x@mail.example.org", "a-1@b-2.example"])
def test_a_person_is_named_by_an_address(address: str) -> None:
    assert names.cloud_identity(address) == address


@pytest.mark.parametrize("address", ["", "ada", "ada@", "@example.org", "ada@example", "ada @example.org", "user:ada@example.org", "a@b.org\n"])
def test_other_texts_are_no_addresses(address: str) -> None:
    with pytest.raises(Unfit):
        names.cloud_identity(address)


def test_every_host_of_every_allowed_name_is_a_dns_label() -> None:
    longest_host = len("p" * names.POOL_LENGTH + "-49999")
    assert longest_host <= 63
    assert longest_host + len("." + "c" * names.CLUSTER_LENGTH + ".internal") <= 253


@pytest.mark.parametrize("pool", ["control", "login", "access", "balancer", "gateway", "compute", "all", "ungrouped", "localhost", "default"])
def test_reserved_pools(pool: str) -> None:
    with pytest.raises(Unfit):
        names.pool(pool)


@pytest.mark.parametrize("user", ["root", "slurm", "munge", "mysql", "nobody", "sudo", "users", "www-data", "systemd-network"])
def test_reserved_users(user: str) -> None:
    with pytest.raises(Unfit):
        names.user(user)


def test_the_mended_name_is_offered_and_fits() -> None:
    for written, mended in (("My_Pool", "my-pool"), ("8 GPUs", "gpus"), ("-train-", "train"), ("Größe", "gr-e")):
        with pytest.raises(Unfit) as unfit:
            names.pool(written)
        assert unfit.value.remedy == f"write `{mended}`"
        assert names.pool(mended) == mended


@pytest.mark.parametrize(("uid", "fits"), [(999, False), (1000, True), (59999, True), (60000, False), (-1, False), (2**40, False)])
def test_user_numbers(uid: int, fits: bool) -> None:
    if fits:
        assert names.uid(uid) == uid
        return
    with pytest.raises(Unfit):
        names.uid(uid)


def test_nothing_is_mounted_over_what_roles_and_images_put_there() -> None:
    """Every absolute path that roles name outside of homes and mounts."""
    written = "\n".join(path.read_text() for path in sorted(PLAYBOOKS.rglob("*.yml")) + sorted(PLAYBOOKS.rglob("*.j2")))
    named = sorted(set(re.findall(r"(?<![\w./}$-])/(?:opt|snap|srv|etc|usr|var|run|root|boot|lib)/[a-zA-Z0-9_.-]+", written)))
    assert len(named) > 30
    for path in named:
        if values.MOUNT.fullmatch(path) and path != "/run/.":
            with pytest.raises(Unfit) as refused:
                values.mount_point(path)
            assert refused.value.code == Code.MOUNT_RESERVED, path

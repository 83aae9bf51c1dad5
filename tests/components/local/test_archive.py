"""Where packages come from: the machine's own archives, and keys that are checked before they are believed."""

import hashlib
from pathlib import Path

import pytest

from components.local.machine import archive, command

DEBIAN = {"Debian": ("http://debian.example/debian/", "/usr/share/keyrings/debian.gpg"), "Debian-Security": ("http://security.example/", "$(SIGNED_BY)")}
UBUNTU = {"Ubuntu": ("http://ubuntu.example/ubuntu/", "$(SIGNED_BY)")}
KEYRING = "/usr/share/keyrings/some.gpg"

needs_apt = pytest.mark.skipif(not Path(archive.APT_HELPER).exists(), reason="there is no apt here")


@pytest.mark.parametrize(
    ("archives", "distribution", "suite", "expected"),
    [
        (DEBIAN, "debian", "trixie", [
            "deb [signed-by=/usr/share/keyrings/debian.gpg] http://debian.example/debian/ trixie main",
            "deb [signed-by=/usr/share/keyrings/debian.gpg] http://debian.example/debian/ trixie-updates main",
            "deb http://security.example/ trixie-security main",
        ]),
        (UBUNTU, "ubuntu", "noble", [
            f"deb http://ubuntu.example/ubuntu/ {one} main universe restricted multiverse" for one in ("noble", "noble-updates", "noble-security")
        ]),
        (DEBIAN, "ubuntu", "noble", []),
        (UBUNTU, "debian", "trixie", []),
    ],
    ids=["Debian on Debian", "Ubuntu on Ubuntu", "Ubuntu on Debian: mmdebstrap's choice", "Debian on Ubuntu: mmdebstrap's choice"],
)  # fmt: skip
def test_a_distribution_is_built_from_the_machine_s_archive_of_it(archives: archive.Archives, distribution: str, suite: str, expected: list[str]) -> None:
    assert archive.lines(archives, distribution, suite) == expected


@pytest.fixture
def pool(tmp_path: Path) -> tuple[archive.Archives, archive.KeyPackage]:
    """An archive in a folder that has one package, of keys."""
    tree, deb = tmp_path / "tree", tmp_path / "archive" / "keys.deb"
    for path, text in (("DEBIAN/control", "Package: keys\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: keys\n"), (KEYRING, "keys")):
        file = tree / path.lstrip("/")
        file.parent.mkdir(parents=True)
        file.write_text(text)
    deb.parent.mkdir()
    command.run("dpkg-deb", "--build", str(tree), str(deb))
    (tmp_path / "unpacked").mkdir()
    return {"Debian": (f"file://{deb.parent}/", "")}, archive.KeyPackage("keys", "keys.deb", hashlib.sha256(deb.read_bytes()).hexdigest(), KEYRING)


@needs_apt
def test_keys_are_taken_out_of_their_package(pool: tuple[archive.Archives, archive.KeyPackage], tmp_path: Path) -> None:
    assert archive.fetch_keyring(*pool, tmp_path / "unpacked").read_text() == "keys"


@needs_apt
def test_keys_whose_checksum_is_another_are_refused(pool: tuple[archive.Archives, archive.KeyPackage], tmp_path: Path) -> None:
    archives, package = pool
    other = archive.KeyPackage(package.name, package.pool, "0" * 64, package.keyring)
    with pytest.raises(command.CommandFailed, match="download-file"):
        archive.fetch_keyring(archives, other, tmp_path / "unpacked")
    assert not (tmp_path / "unpacked" / KEYRING.lstrip("/")).exists()


@needs_apt
def test_without_keys_and_without_an_archive_that_has_them_the_missing_file_is_named(pool: tuple[archive.Archives, archive.KeyPackage], tmp_path: Path) -> None:
    with pytest.raises(command.CommandFailed, match=KEYRING):
        archive.fetch_keyring(UBUNTU, pool[1], tmp_path / "unpacked")

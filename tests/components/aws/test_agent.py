"""The agent of Systems Manager on an image builder: installed when AWS signed it, and not otherwise; and what is said without AWS's key."""

import base64
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pulumi
import pytest

from components.aws import agent

STAND_INS = ("dpkg", "systemctl")
"""Programs of the builder that tell what they were asked to do."""


def gpg(home: Path, *argv: str) -> bytes:
    return subprocess.run(["gpg", "--homedir", home, "--batch", "--quiet", "--passphrase", "", *argv], capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Give the keys of two signers, by name."""
    made = {}
    for name in ("aws", "another"):
        made[name] = tmp_path_factory.mktemp(name[0])  # the path of gpg-agent's socket is short
        made[name].chmod(0o700)
        gpg(made[name], "--quick-generate-key", name, "ed25519", "sign", "never")
    yield made
    for home in made.values():
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=True)


@pytest.fixture
def key(homes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    (tmp_path / "key.asc").write_bytes(gpg(homes["aws"], "--armor", "--export"))
    monkeypatch.setenv(agent.KEY_VARIABLE, str(tmp_path / "key.asc"))
    return agent.key()


@pytest.mark.parametrize(("signer", "is_altered", "is_installed"), [("aws", False, True), ("another", False, False), ("aws", True, False), ("", False, False)])
def test_only_what_aws_signed_is_installed(signer: str, is_altered: bool, is_installed: bool, homes: dict[str, Path], key: bytes, tmp_path: Path) -> None:
    package = tmp_path / "amazon-ssm-agent.deb"
    package.write_bytes(b"a package")
    if signer:
        package.with_suffix(".deb.sig").write_bytes(gpg(homes[signer], "--detach-sign", "--output", "-", str(package)))
    if is_altered:
        package.write_bytes(b"another package")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in STAND_INS:
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (programs / name).chmod(0o755)
    program = base64.b64decode(agent.user_data(package.as_uri(), key))
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    done = subprocess.run(["sh"], input=program, env=environment, capture_output=True, check=False)
    assert done.stdout.decode().split("\n")[:2] == (["dpkg --install agent.deb", "systemctl enable --now amazon-ssm-agent"] if is_installed else [""]), done
    assert (done.returncode == 0) == is_installed, done.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("a key\n", "it holds no public key in ASCII armor"),
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n", "its public key is empty"),
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nm?E\n-----END PGP PUBLIC KEY BLOCK-----\n", "its public key can't be decoded"),
    ],
)
def test_without_a_key_the_user_is_told_where_to_put_it(text: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key.asc"
    if text is not None:
        file.write_text(text)
    monkeypatch.setenv(agent.KEY_VARIABLE, str(file))
    with pytest.raises(pulumi.RunError, match=why) as refused:
        agent.key()
    assert agent.KEY in str(refused.value)
    assert "a profile of Ubuntu" in str(refused.value)

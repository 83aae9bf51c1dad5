"""Commands of the Google Cloud CLI that pages and documents name: each is one that the CLI's reference has, with its own flags and as many names as it wants.

Source: docs.cloud.google.com/sdk/gcloud/reference, page of each command, as of 2026-11; `--listen-on-stdin` is what `gcloud compute ssh --tunnel-through-iap --dry-run` prints. Nobody ran them here.
"""

import re
import shlex

import pytest

from blueprints.project import project_root

EVERYWHERE = {"--project"}
"""Flags of all commands (gcloud reference, "Global flags")."""
COMMANDS: dict[str, tuple[int, set[str], set[str]]] = {
    # command → the fewest names after it, its flags, those without which it asks or fails
    "auth application-default login": (0, set(), set()),
    "auth login": (0, set(), set()),
    "compute addresses delete": (1, {"--global", "--region"}, {"--global"}),
    "compute disks delete": (1, {"--zone", "--region"}, {"--zone"}),
    "compute networks delete": (1, set(), set()),
    "compute os-login ssh-keys add": (0, {"--key", "--key-file", "--ttl"}, {"--key-file"}),
    "compute ssh": (0, {"--tunnel-through-iap", "--dry-run", "--zone"}, set()),
    "compute start-iap-tunnel": (2, {"--local-host-port", "--zone", "--listen-on-stdin", "--verbosity"}, {"--zone"}),
    "filestore instances delete": (1, {"--location", "--zone", "--region", "--force", "--async"}, {"--location"}),
    "kms keys add-iam-policy-binding": (1, {"--keyring", "--location", "--member", "--role", "--condition"}, {"--keyring", "--location", "--member", "--role"}),
    "lustre instances delete": (1, {"--location", "--async"}, {"--location"}),
    "projects describe": (1, set(), set()),
    "projects list": (0, {"--filter", "--limit"}, set()),
    "resource-manager org-policies disable-enforce": (1, {"--folder", "--organization"}, set()),
    "services enable": (1, {"--async"}, set()),
    "services vpc-peerings delete": (0, {"--network", "--service", "--async"}, {"--network", "--service"}),
    "storage rm": (1, {"--recursive", "-r", "--all-versions"}, set()),
}
NAMED_ALONE = ("lustre instances import-data", "lustre instances export-data", "export-data")
"""Commands that a text names to be looked up, without their arguments."""
PLACES = (
    "docs/google-cloud.md",
    "README.md",
    "blueprints/catalog/targets.yaml",
    "blueprints/checks/os_login.py",
    *(f"components/gcp/{name}" for name in ("machine_image.py", "tunnel.py", "account/session.py")),
)


def said() -> list[str]:
    """List the commands: in backquotes, or after a prompt."""
    found: list[str] = []
    for place in PLACES:
        text = (project_root() / place).read_text().replace("\\\n", " ")
        found += re.findall(r"`gcloud ([^`]+)`", text) + re.findall(r"^# gcloud (.+)$", text, re.MULTILINE) + re.findall(r'"gcloud ([^"]+)"', text)
    return [" ".join(one.split()) for one in found]


@pytest.mark.parametrize("command", sorted({*said()}))
def test_a_command_is_one_of_the_reference(command: str) -> None:
    if command in NAMED_ALONE:
        return
    name = max((one for one in COMMANDS if f"{command} ".startswith(f"{one} ")), key=len, default="")
    assert name, "the reference was not looked up"
    fewest, flags, needed = COMMANDS[name]
    words = shlex.split(command.removeprefix(name))
    given = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert given <= flags | EVERYWHERE
    assert needed <= given
    values = [word for place, word in enumerate(words) if not word.startswith("-") and not (place and _takes_value(words[place - 1]))]
    assert len(values) >= fewest, "names are missing"


def _takes_value(word: str) -> bool:
    return word.startswith("-") and "=" not in word and word not in ("--global", "--recursive", "--listen-on-stdin", "-r", "--tunnel-through-iap", "--dry-run")


def test_commands_are_found_in_every_place_that_names_them() -> None:
    names = {max((one for one in COMMANDS if f"{command} ".startswith(f"{one} ")), key=len, default=command) for command in said()}
    assert names - {*NAMED_ALONE} == {*COMMANDS}

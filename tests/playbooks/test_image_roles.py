"""Roles of images: names that follow from the profile, addresses that a mirror replaces, and the key that counts."""

import dataclasses
import importlib
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprints import catalog, spec
from tests.playbooks import templates

PROFILE, ON_GOOGLE = catalog.software("ubuntu-24.04-aws"), catalog.software("ubuntu-24.04-gcp")


def record(profile: spec.Software = PROFILE, /, **origins: str) -> dict[str, Any]:
    """Give a profile as the roles are told it, with these origins beside its own."""
    return {
        **dataclasses.asdict(profile),
        "versions": [list(pair) for pair in profile.versions],
        "origins": [list(pair) for pair in {**dict(profile.origins), **origins}.items()],
    }


def test_the_driver_s_packages_are_those_of_its_branch_and_of_the_kernel() -> None:
    parts = templates.value("gpu_driver_parts", role="gpu_driver", software=record())
    assert templates.value("gpu_driver_modules", role="gpu_driver", software=record()) == "linux-modules-nvidia-580-server-open-6.8.0-1063-aws"
    assert all("-580" in name for name in parts)


def test_a_base_image_s_driver_is_found_by_its_packages() -> None:
    on_google = record(ON_GOOGLE)
    assert templates.value("gpu_driver_of_base_image", role="gpu_driver", software=on_google) is True
    assert templates.value("gpu_driver_of_base_image", role="gpu_driver", software=record()) is False
    there = {"stdout_lines": ["installed libnvidia-compute-580-server", "not-installed nvidia-driver", "installed linux-image-6.14.0-1021-gcp"]}
    names = templates.value("gpu_driver_there_names", role="gpu_driver", software=on_google, gpu_driver_there=there)
    assert names == ["libnvidia-compute-580-server", "linux-image-6.14.0-1021-gcp"]


def assertion(role: str, file: str, name: str) -> str:
    """Give the condition of a task that asserts."""
    tasks = yaml.safe_load((templates.PLAYBOOKS / "roles" / role / "tasks" / f"{file}.yml").read_text())
    (found,) = [task["ansible.builtin.assert"]["that"] for task in tasks if task["name"] == name]
    return f"{{{{ {found} }}}}"


@pytest.mark.parametrize(
    ("packages", "fits"),
    [
        (["libnvidia-compute-580-server"], True),
        (["libnvidia-compute-580"], True),
        (["libnvidia-compute-570-server"], False),
        (["libnvidia-compute-5801"], False),
        ([], False),
    ],
)
def test_a_base_image_has_a_driver_of_the_profile_s_branch_or_no_image_comes_of_it(packages: list[str], fits: bool) -> None:
    condition = assertion("gpu_driver", "base_image", "The base image has a driver of the profile's branch")
    assert templates.evaluate(condition, gpu_driver_there_names=packages, gpu_driver_branch="580") is fits


@pytest.mark.parametrize(
    ("joins", "packages", "fits"),
    [(True, ["nvidia-imex-580"], True), (True, ["nvidia-imex"], True), (True, ["nvidia-utils-580-server"], False), (False, [], True)],
)
def test_a_base_image_of_machines_that_nvlink_joins_has_their_daemon(joins: bool, packages: list[str], fits: bool) -> None:
    condition = assertion("gpu_driver", "base_image", "The base image has the daemon of IMEX")
    assert templates.evaluate(condition, gpu_driver_there_names=packages, gpu_driver_joins_machines=joins) is fits


ADDRESSES = [
    # role, its variable, where that is without a mirror
    ("efa", "efa_installer_address", "https://efa-installer.amazonaws.com"),
    ("mountpoint", "mountpoint_address", "https://s3.amazonaws.com/mountpoint-s3-release"),
    ("lustre_client", "lustre_client_address", "https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu"),
    ("lustre_client", "lustre_client_key_address", "https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc"),
]


@pytest.mark.parametrize(("role", "name", "usual"), ADDRESSES)
def test_a_mirror_s_address_takes_the_place_of_the_usual_one(role: str, name: str, usual: str) -> None:
    assert templates.value(name, role=role, software=record()) == usual
    assert templates.value(name, role=role, software=record(**{name: "https://mirror.example/x"})) == "https://mirror.example/x"


@pytest.mark.parametrize(
    ("role", "name", "origin", "usual"),
    [
        ("gib", "gib_archive", "gib_archive_address", "https://packages.cloud.google.com/apt"),
        ("gcsfuse", "gcsfuse_archive", "gcsfuse_archive_address", "https://packages.cloud.google.com/apt"),
        ("tcpxo", "tcpxo_archive", "tcpxo_archive_address", "https://us-apt.pkg.dev/projects/gce-ai-infra"),
        (
            *("managed_lustre_client", "managed_lustre_client_archive", "lustre_client_archive_address"),
            "https://us-apt.pkg.dev/projects/lustre-client-binaries",
        ),
        ("tcpxo", "tcpxo_registry", "tcpxo_registry", "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo"),
    ],
)
def test_a_mirror_takes_the_place_of_google_s_archives_and_has_its_key_beside_it(role: str, name: str, origin: str, usual: str) -> None:
    assert templates.value(name, role=role, software=record(ON_GOOGLE)) == usual
    mirrored = record(ON_GOOGLE, **{origin: "https://mirror.example/x"})
    assert templates.value(name, role=role, software=mirrored) == "https://mirror.example/x"
    if origin.endswith("_archive_address"):
        assert templates.value(f"{name}_key_address", role=role, software=record(ON_GOOGLE)) == "https://us-apt.pkg.dev/doc/repo-signing-key.gpg"
        assert templates.value(f"{name}_key_address", role=role, software=mirrored) == "https://mirror.example/x/key.asc"
        assert templates.value(f"{name}_key", role=role, software=mirrored) == dict(ON_GOOGLE.origins)["google_archive_key"]


def test_google_s_client_is_that_of_the_kernel_and_of_the_profile() -> None:
    on_google = record(ON_GOOGLE)
    assert templates.value("managed_lustre_client_suite", role="managed_lustre_client", software=on_google) == "lustre-client-ubuntu-noble"
    version = templates.value("managed_lustre_client_version", role="managed_lustre_client", software=on_google)
    tasks = yaml.safe_load((templates.PLAYBOOKS / "roles/managed_lustre_client/tasks/main.yml").read_text())
    (block,) = [task["block"] for task in tasks if "block" in task]
    names = {"managed_lustre_client_kernel": {"stdout": "6.14.0-1021-gcp"}, "managed_lustre_client_version": version}
    wanted = [templates.evaluate(name, **names) for name in block[0]["server_software"]["names"]]
    assert wanted == ["lustre-client-modules-6.14.0-1021-gcp=2.14*", "lustre-client-utils=2.14*"]
    held = [templates.evaluate(name, **names) if "{{" in name else name for name in block[0]["server_software"]["hold"]]
    assert held == [name.partition("=")[0] for name in wanted]


@pytest.mark.parametrize(
    ("profile", "role"),
    [(PROFILE, "lustre_client"), (ON_GOOGLE, "managed_lustre_client"), (catalog.software("debian-13-gcp"), None)],
    ids=lambda one: str(one)[:30],
)
def test_each_cloud_s_image_gets_its_own_lustre_client(profile: spec.Software, role: str | None) -> None:
    tasks = yaml.safe_load((templates.PLAYBOOKS / "tasks/install.yml").read_text())
    wanted = {task["ansible.builtin.include_role"]["name"]: task["when"] for task in tasks if "lustre_client" in str(task.get("when", ""))}
    parts = dict(profile.versions)
    chosen = [name for name, when in wanted.items() if templates.evaluate(f"{{{{ {when} }}}}", image_parts=parts, software=record(profile))]
    assert chosen == ([role] if role else [])


NVIDIA, CONTAINER = {"nvidia_archive_key": "A" * 40}, {"nvidia_container_archive_key": "A" * 40}


@pytest.mark.parametrize(
    ("parts", "origins", "is_there"),
    [
        (dict(PROFILE.versions), dict(PROFILE.origins), True),
        (dict(ON_GOOGLE.versions), dict(ON_GOOGLE.origins), True),
        ({"cuda": "13.0.2"}, NVIDIA, True),
        ({"cuda": "13.0.2", "nccl": "2.30.4"}, CONTAINER, False),  # jobs bring it
        ({"container_toolkit": "1.18.2"}, CONTAINER, True),
        ({"container_toolkit": "1.18.2"}, NVIDIA, False),
        ({}, {**NVIDIA, **CONTAINER}, False),  # hosts that come from no image
    ],
)
def test_an_image_has_the_software_of_gpus_where_the_profile_names_its_archive(parts: dict[str, str], origins: dict[str, str], is_there: bool) -> None:
    assert chosen("gpu_software", parts, origins) is is_there


def chosen(role: str, parts: dict[str, str], origins: dict[str, str]) -> bool:
    """Say whether an image of these parts gets a role."""
    tasks = yaml.safe_load((templates.PLAYBOOKS / "tasks/install.yml").read_text())
    (when,) = [task["when"] for task in tasks if task.get("ansible.builtin.include_role", {}).get("name") == role]
    found: bool = templates.evaluate(f"{{{{ {when} }}}}", image_parts=parts, software={"origins": [list(pair) for pair in origins.items()]})
    return found


@pytest.mark.parametrize(
    ("parts", "origins", "is_there"),
    [
        (dict(PROFILE.versions), dict(PROFILE.origins), True),
        (dict(ON_GOOGLE.versions), dict(ON_GOOGLE.origins), True),
        (dict(PROFILE.versions), {**dict(PROFILE.origins), "nvidia_archive_simulated": "yes"}, False),
        ({}, dict(PROFILE.origins), False),  # hosts that come from no image
    ],
)
def test_an_image_has_what_acceptance_measures_with_where_a_compiler_is(parts: dict[str, str], origins: dict[str, str], is_there: bool) -> None:
    assert chosen("nccl_tests", parts, origins) is is_there
    software = {"versions": [["nccl_tests", "2.17.6"]], "origins": [list(pair) for pair in origins.items()]}
    checked = templates.value("image_check_versions", role="image_check", software=software)
    assert ("nccl_tests" in checked) is (is_there or not parts), "the check at the end of a bake looks for what was built"


def test_acceptance_looks_where_the_image_has_its_programs() -> None:
    collectives = importlib.import_module("acceptance.collectives")
    assert collectives.PROGRAMS[0] == templates.value("nccl_tests_folder", role="nccl_tests", software=record())


def test_the_image_of_aws_has_cuda_and_nccl_and_takes_them_from_a_mirror_where_one_is_named() -> None:
    software = record(nvidia_archive_address="https://mirror.example/cuda")
    names = templates.value("gpu_software_names", role="gpu_software", software=software)
    assert names == ["cuda-libraries-13-0", "cuda-minimal-build-13-0", "libnccl2", "libnccl-dev"]
    (archive,) = [templates.value("gpu_software_archives", role="gpu_software", software=software)["nvidia"]]
    assert (archive["address"], archive["key"]) == ("https://mirror.example/cuda", "https://mirror.example/cuda/key.asc")


@pytest.mark.parametrize(("profile", "nccl"), [(PROFILE, "2.30.4-1+cuda13.*"), (ON_GOOGLE, "2.27.5-1+cuda12.9")], ids=["AWS", "Google Cloud"])
def test_nccl_may_be_built_with_an_older_cuda_than_the_profile_s(profile: spec.Software, nccl: str) -> None:
    wanted = templates.value("gpu_software_wanted", role="gpu_software", software=record(profile))
    assert {f"libnccl2={nccl}", f"libnccl-dev={nccl}", "cuda-minimal-build-13-0=13.0.2-*"} <= {*wanted}
    assert templates.value("nccl_tests_cuda", role="nccl_tests", software=record(profile)) == "/usr/local/cuda-13.0"


@pytest.mark.parametrize(("given", "suites"), [({}, "Suites: /"), ({"suite": "gpudirect-gib-apt", "component": "main"}, "Suites: gpudirect-gib-apt")])
def test_an_archive_is_flat_or_has_a_suite_with_a_component(given: dict[str, str], suites: str) -> None:
    tasks = yaml.safe_load((templates.PLAYBOOKS / "roles/vendor_archive/tasks/main.yml").read_text())
    (_, source) = next(task["files"]["entries"] for task in tasks if "files" in task)
    names = {"vendor_archive_address": "https://a.example", "vendor_archive_suite": "/", "vendor_archive_component": "", "vendor_archive_keyring": "/k"}
    written = templates.evaluate(source["content"], **{**names, **{f"vendor_archive_{name}": value for name, value in given.items()}})
    assert suites in written.splitlines()
    assert ("Components: main" in written.splitlines()) == bool(given)


MIRROR = "https://mirror.example/cuda"
NAMED = "Hash: SHA512\n\nOrigin: NVIDIA\nLabel: NVIDIA CUDA\nArchitecture: x86_64\n"


@pytest.mark.parametrize(
    ("content", "status", "here", "pin"),
    [
        (NAMED, 200, [], "release o=NVIDIA,l=NVIDIA CUDA"),
        (NAMED, 200, [MIRROR, 'origin "mirror.example"'], "release o=NVIDIA,l=NVIDIA CUDA"),
        ("Suite: stable\n", 200, [], 'origin "mirror.example"'),
        ("Origin: a\nLabel: b, c\n", 200, [], 'origin "mirror.example"'),
        ("", -1, [MIRROR, "release o=NVIDIA,l=NVIDIA CUDA"], "release o=NVIDIA,l=NVIDIA CUDA"),
        ("", -1, ["https://old.example/cuda", 'origin "old.example"'], 'origin "mirror.example"'),
        ("", -1, ["release o=NVIDIA,l=NVIDIA CUDA", "release o=NVIDIA,l=NVIDIA CUDA"], 'origin "mirror.example"'),
        ("", -1, [MIRROR], 'origin "mirror.example"'),
        ("", -1, [], 'origin "mirror.example"'),
    ],
    ids=[
        "named",
        "named by its host before",
        "without names",
        "a comma",
        "not to be read",
        "not to be read, of another address",
        "a rule alone",
        "an address alone",
        "never read",
    ],
)
def test_the_rule_for_an_archive_spares_others_of_the_same_host(content: str, status: int, here: list[str], pin: str) -> None:
    known = {"vendor_archive_index": {"content": content, "status": status}, "vendor_archive_ruled": {"stdout_lines": here}}
    assert templates.value("vendor_archive_pin", role="vendor_archive", vendor_archive_address=MIRROR, **known) == pin


def test_the_address_and_the_rules_that_are_here_are_read_from_what_was_written(tmp_path: Path) -> None:
    tasks = yaml.safe_load((templates.PLAYBOOKS / "roles/vendor_archive/tasks/main.yml").read_text())
    (read,) = [task["ansible.builtin.command"]["argv"] for task in tasks if task.get("register") == "vendor_archive_ruled"]
    defaults = {"suite": "/", "component": "", "keyring": "/k", "name": "nvidia", "address": MIRROR, "pin": 'origin "mirror.example"', "packages": ["a", "b"]}
    names = {f"vendor_archive_{name}": value for name, value in defaults.items()}
    for one in next(task["files"]["entries"] for task in tasks if "files" in task):
        path = tmp_path / templates.evaluate(one["path"], **names).lstrip("/")
        path.parent.mkdir(parents=True)
        path.write_text(templates.evaluate(one["content"], **names))
    argv = [templates.evaluate(one, **names) for one in read]
    found = subprocess.run([f"{tmp_path}{one}" if one.startswith("/") else one for one in argv], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [MIRROR, names["vendor_archive_pin"], names["vendor_archive_pin"]]


def test_every_proof_comes_from_the_profile() -> None:
    origins = dict(PROFILE.origins)
    for role, name, origin in (
        ("efa", "efa_installer_sha256", "efa_installer_sha256"),
        ("mountpoint", "mountpoint_sha256", "mountpoint_sha256"),
        ("lustre_client", "lustre_client_key", "lustre_client_key"),
    ):
        assert templates.value(name, role=role, software=record()) == origins[origin]


def keys(home: Path, *names: str) -> str:
    """Make keys, each with a subkey (of curves, which take no time to make), and give how gpg lists a file that holds them all."""
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
    file = home / "keys.asc"
    file.touch()
    for name in names:
        subprocess.run([*gpg, "--quick-generate-key", name, "future-default", "default", "never"], check=True, capture_output=True)
    if names:
        subprocess.run([*gpg, "--yes", "--armor", "--output", str(file), "--export"], check=True, capture_output=True)
    shown = subprocess.run([*gpg, "--with-colons", "--show-keys", str(file)], capture_output=True, text=True, check=False).stdout
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=True)
    return shown


def fingerprints(shown: str) -> list[str]:
    found: list[str] = templates.value("lustre_client_fingerprints", role="lustre_client", lustre_client_shown={"stdout": shown})
    return found


def test_a_key_counts_by_its_own_fingerprint_and_not_by_that_of_its_subkey(tmp_path: Path) -> None:
    shown = keys(tmp_path / "one", "one")
    assert shown.count("\nfpr:") == 2, "the key's and the subkey's"
    (found,) = fingerprints(shown)
    assert shown.splitlines()[1].split(":")[9] == found


def test_a_second_key_in_the_file_and_a_file_without_any_are_not_the_one_key(tmp_path: Path) -> None:
    assert len(fingerprints(keys(tmp_path / "two", "one", "two"))) == 2
    assert fingerprints(keys(tmp_path / "none")) == []
    assert fingerprints("gpg: no valid OpenPGP data found.\n") == []

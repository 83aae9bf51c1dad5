"""A release of Kubernetes in the cache: what it consists of, and what a killed, doubled or refused run leaves."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests import processes
from tests.tools import installer, release


@pytest.fixture
def small(tmp_path: Path) -> release.Release:
    return release.copied(tmp_path)


def blob(folder: Path, digest: str) -> Path:
    plain = digest.removeprefix("sha256:")
    return folder / "registry/docker/registry/v2/blobs/sha256" / plain[:2] / plain / "data"


def read_json(file: Path) -> Any:
    return json.loads(file.read_text())


def test_a_release_has_programs_images_and_manifests(small: release.Release) -> None:
    answer = small.run()
    assert answer.returncode == 0, answer.stderr
    folder = Path(answer.stdout.strip())
    assert folder.parent == small.cache / "kubernetes"
    assert sorted(path.name for path in (folder / "bin").iterdir()) == ["alpha", "beta"]
    assert (folder / "manifests/beta/objects.yaml").read_text() == "kind: beta\n"
    images = read_json(folder / "images.json")
    assert sorted(images) == ["registry.example.com/group/alpha:v1.2.3", "registry.example.com/group/beta:v1.2.3"]
    assert images["registry.example.com/group/alpha:v1.2.3"]["kind"] == "built"
    assert images["registry.example.com/group/alpha:v1.2.3"]["from"] == "example.com/alpha v1.2.3"
    assert small.run("--where").stdout == small.run("--cached").stdout == answer.stdout


def test_an_image_is_stored_as_a_registry_keeps_it(small: release.Release) -> None:
    folder = Path(small.run().stdout.strip())
    entry = read_json(folder / "images.json")["registry.example.com/group/alpha:v1.2.3"]
    manifest = read_json(blob(folder, entry["digest"]))
    config = read_json(blob(folder, manifest["config"]["digest"]))
    repository = folder / "registry/docker/registry/v2/repositories/group/alpha"
    assert (repository / "_manifests/tags/v1.2.3/current/link").read_text() == entry["digest"]
    assert {path.name for path in (repository / "_layers/sha256").iterdir()} == {
        one["digest"].removeprefix("sha256:") for one in (manifest["config"], *manifest["layers"])
    }
    assert config["config"]["Entrypoint"] == ["/usr/bin/alpha"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]
    listed = subprocess.run(["tar", "-tvf", blob(folder, manifest["layers"][0]["digest"])], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == ["usr/", "usr/bin/", "usr/bin/alpha"]
    # A layer of another form of archive, with times or owners, would have another digest on each machine.
    assert manifest["layers"][0]["digest"] == "sha256:eda74a7a681ba1c1bcfd3be6f7355756b4e1a1b028d051a889230ea0a98491a9"


def test_nothing_is_made_twice(small: release.Release) -> None:
    first = small.run()
    second = small.run()
    assert first.stdout == second.stdout
    assert small.builds() == 2
    assert second.stderr == ""


def test_new_pins_of_one_part_build_this_part_alone(small: release.Release) -> None:
    first = small.run()
    (small.part("beta") / "go.sum").write_text("changed\n")
    second = small.run()
    assert first.stdout != second.stdout
    assert small.builds() == 3
    assert Path(first.stdout.strip()).is_dir()


def test_a_part_is_built_with_the_go_version_of_its_pins(small: release.Release) -> None:
    small.run(GOTOOLCHAIN="local")
    assert (small.state / "builds").read_text().splitlines() == ["go1.24.6", "go1.24.6"]


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_finished_parts_and_no_process(small: release.Release, by: signal.Signals) -> None:
    (small.state / "hold-beta").touch()
    process = small.start()
    processes.wait_until(lambda: small.builds() == 2, awaiting="the second build")
    process.send_signal(by)
    process.communicate(timeout=processes.WITHIN_S)  # ends when all that has its output has ended
    assert process.returncode != 0
    (small.state / "hold-beta").unlink()
    answer = small.run()
    assert answer.returncode == 0, answer.stderr
    assert "building alpha" not in answer.stderr
    assert small.leftovers() == []


def test_two_runs_at_once_build_once(small: release.Release) -> None:
    runs = [small.start() for _ in range(3)]
    answers = {run.communicate()[0] for run in runs}
    assert len(answers) == 1
    assert small.builds() == 2


@pytest.mark.parametrize("broken", ["images.json", "bin/alpha", "manifests/beta/objects.yaml", "layer"])
def test_a_broken_entry_of_the_cache_is_noticed_and_made_whole(small: release.Release, broken: str) -> None:
    folder = Path(small.run().stdout.strip())
    if broken == "layer":
        layers = (folder / "registry").rglob("data")
        os.truncate(max(layers, key=lambda file: file.stat().st_size), 10)
    else:
        (folder / broken).unlink()
    absent = small.run("--cached")
    assert absent.returncode == 1
    assert "is not in the cache" in absent.stderr
    assert small.run().stdout.strip() == str(folder)
    assert small.run("--cached").returncode == 0


def test_a_build_that_fails_is_one_page_and_keeps_what_was_made(small: release.Release) -> None:
    small.run()
    (small.part("beta") / "go.sum").write_text("changed\n")
    (small.state / "refuse").touch()
    answer = small.run()
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert "`go build` of beta failed" in answer.stderr
    assert "cannot be had" in answer.stderr
    assert "remedy:" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert small.leftovers() == []


def test_without_go_the_way_is_said(small: release.Release) -> None:
    (small.folder / "programs/go").unlink()
    answer = small.run()
    assert answer.returncode == 1
    assert "no `go` on PATH" in answer.stderr
    assert "https://go.dev/dl" in answer.stderr


@pytest.mark.parametrize(("words", "why"), [(["--version", "1.0.0"], "choose one of 1.2.3"), (["--with", "cilium"], "no optional part 'cilium'")])
def test_what_nothing_pins_is_refused(small: release.Release, words: list[str], why: str) -> None:
    answer = small.run(*words)
    assert answer.returncode == 1
    assert why in answer.stderr
    assert small.builds() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="a full disk is made with a small file system, which needs root")
def test_a_full_disk_is_one_page_and_leaves_nothing(small: release.Release) -> None:
    small.cache.mkdir(parents=True)
    script = f"mount -t tmpfs -o size=64k tmpfs {small.cache} && {sys.executable} {small.install}; echo rc=$?; ls -A {small.cache}/kubernetes"
    answer = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=small.environment(), capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["rc=1", ".lock"]
    assert "GiB free" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_scripts_of_a_module_are_in_its_image_and_not_among_the_programs(small: release.Release) -> None:
    script = small.state / "module/script/install.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\necho installed\n")
    pins = small.part("alpha") / "part.toml"
    text = pins.read_text().replace('files = { "usr/bin/alpha" = "alpha" }', 'files = { "install.sh" = "install.sh", "usr/bin/alpha" = "alpha" }')
    pins.write_text(f'{text}\n[copied]\nmodule = "example.com/alpha"\nfiles = ["script/install.sh"]\n')
    answer = small.run()
    assert answer.returncode == 0, answer.stderr
    folder = Path(answer.stdout.strip())
    layers = [file.read_bytes() for file in (folder / "registry").rglob("data")]
    assert any(b"echo installed" in one for one in layers)
    assert "install.sh" not in {one.name for one in (folder / "bin").iterdir()}


def offer(small: release.Release, *, checksum_of: bytes) -> None:
    """Let the part `alpha` be downloadable."""
    checksum = hashlib.sha256(checksum_of).hexdigest()
    with (small.part("alpha") / "part.toml").open("a") as pins:
        pins.write(f'\n[downloads]\nurl = "https://example.com/v1/{{program}}"\n[downloads.sha256.{os.uname().machine}]\nalpha = "{checksum}"\n')


def test_a_program_with_a_pinned_checksum_is_downloaded_and_the_rest_is_built(small: release.Release) -> None:
    offer(small, checksum_of=b"published")
    with installer.release_server(b"published") as (url, asked):
        answer = small.run(CLUSTERWRIGHT_KUBERNETES_DOWNLOADS=url)
    folder = Path(answer.stdout.strip())
    assert asked == ["/v1/alpha"]
    assert (folder / "bin/alpha").read_bytes() == b"published"
    assert os.access(folder / "bin/alpha", os.X_OK)
    assert small.builds() == 1


def test_a_program_with_another_checksum_is_refused_and_not_built_instead(small: release.Release) -> None:
    offer(small, checksum_of=b"published")
    with installer.release_server(b"changed on the way") as (url, _):
        answer = small.run(CLUSTERWRIGHT_KUBERNETES_DOWNLOADS=url)
    assert answer.returncode == 1
    assert "is not the pinned alpha, so it was deleted" in answer.stderr
    assert "CLUSTERWRIGHT_KUBERNETES=build" in answer.stderr
    assert small.builds() == 0
    assert small.leftovers() == []


def test_what_cannot_be_downloaded_is_built(small: release.Release) -> None:
    offer(small, checksum_of=b"published")
    with installer.release_server(None) as (url, asked):
        answer = small.run(CLUSTERWRIGHT_KUBERNETES_DOWNLOADS=url)
    assert answer.returncode == 0, answer.stderr
    assert asked == ["/v1/alpha"]
    assert small.builds() == 2


def test_a_user_can_have_all_built(small: release.Release) -> None:
    offer(small, checksum_of=b"published")
    with installer.release_server(b"published") as (url, asked):
        assert small.run(CLUSTERWRIGHT_KUBERNETES_DOWNLOADS=url, CLUSTERWRIGHT_KUBERNETES="build").returncode == 0
    assert asked == []
    assert small.builds() == 2


MAIN = """package main

import (
	_ "example.com/backend/plain"
	_ "example.com/backend/strange"
)

func main() {}
"""


@pytest.mark.parametrize(
    ("without", "why"), [("example.com/backend/strange", ""), ("example.com/backend/other", "does not import each of example.com/backend/other")]
)
def test_a_main_package_is_built_without_imports_that_cannot_be_had(small: release.Release, without: str, why: str) -> None:
    small.module("main.go", MAIN)
    pins = small.part("alpha") / "part.toml"
    own = pins.read_text().replace('alpha = "example.com/alpha"', 'alpha = "."')
    pins.write_text(f'{own}\n[derived]\nmodule = "example.com/alpha"\nfile = "main.go"\nwithout = ["{without}"]\n')
    answer = small.run()
    if why:
        assert answer.returncode == 1
        assert why in answer.stderr
    else:
        assert (Path(answer.stdout.strip()) / "bin/alpha").read_text() == MAIN.replace('\t_ "example.com/backend/strange"\n', "")


@pytest.mark.parametrize("named", ["staging.example.com/alpha:main", "registry.example.com/alpha:v2"])
def test_a_manifest_names_the_image_of_the_release(small: release.Release, named: str) -> None:
    small.module("deploy/install.yaml", f"image: {named}\n")
    with (small.part("alpha") / "part.toml").open("a") as pins:
        pins.write('\n[[manifests]]\naddon = "alpha"\nmodule = "example.com/alpha"\nfile = "deploy/install.yaml"\n')
        pins.write('images = { "staging.example.com/alpha:main" = "registry.example.com/group/alpha:v1.2.3" }\n')
    answer = small.run()
    if named.startswith("staging"):
        assert (Path(answer.stdout.strip()) / "manifests/alpha/install.yaml").read_text() == "image: registry.example.com/group/alpha:v1.2.3\n"
    else:
        assert answer.returncode == 1
        assert "names no image staging.example.com/alpha:main" in answer.stderr


def listed(archive: Path) -> dict[str, str]:
    """Path in a layer → where it links to, or its text."""
    with tarfile.open(archive) as layer:
        return {member.name: member.linkname if member.issym() else (layer.extractfile(member) or io.BytesIO()).read().decode() for member in layer}


def test_a_root_file_system_of_packages_lies_below_images(small: release.Release) -> None:
    root = small.state / "root"
    for path in ("usr/bin/tool", "usr/share/doc/tool/copyright", "etc/apt/sources.list"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    subprocess.run(["tar", "-C", root, "-cf", small.state / "root.tar", "."], check=True)
    installer.write_program(small.folder / "programs/mmdebstrap", f'[ "$3" = --include=one,two ] && [ "$4" = trixie ] && cp {small.state}/root.tar "$5"')
    small.part("base").mkdir()
    (small.part("base") / "part.toml").write_text(
        'source = "packages"\ncpu_s = 1\n[packages]\nsuite = "trixie"\ninclude = ["one", "two"]\n[packages.links]\n"bin" = "usr/bin"\n'
    )
    (small.folder / "tools/kubernetes/releases.toml").write_text('optional = []\n[releases]\n"1.2.3" = ["base", "alpha"]\n')
    pins = small.part("alpha") / "part.toml"
    pins.write_text(pins.read_text().replace('tag = "v1.2.3"\n', 'tag = "v1.2.3"\nbase = "base"\nenvironment = { MODE = "test" }\n'))
    answer = small.run()
    assert answer.returncode == 0, answer.stderr
    folder = Path(answer.stdout.strip())
    manifest = read_json(blob(folder, read_json(folder / "images.json")["registry.example.com/group/alpha:v1.2.3"]["digest"]))
    below, above = (listed(blob(folder, layer["digest"])) for layer in manifest["layers"])
    assert {path: content for path, content in below.items() if content} == {"usr/bin/tool": "usr/bin/tool", "bin": "usr/bin"}
    assert "usr/bin/alpha" in above
    assert "MODE=test" in read_json(blob(folder, manifest["config"]["digest"]))["config"]["Env"]


def test_packages_that_cannot_be_had_are_a_page(small: release.Release) -> None:
    installer.write_program(small.folder / "programs/mmdebstrap", "echo no such suite >&2; exit 1")
    (small.part("alpha") / "part.toml").write_text('source = "packages"\ncpu_s = 1\n[packages]\nsuite = "trixie"\ninclude = ["one"]\nlinks = {}\n')
    answer = small.run()
    assert answer.returncode == 1
    assert "no such suite" in answer.stderr
    assert "remedy:" in answer.stderr

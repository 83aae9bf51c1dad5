"""A site's own registry: what a release exports for it, and what `up` asks of it before anything starts."""

import hashlib
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.kubernetes import mirror
from components.kubernetes.mirror import Mirror, MirrorInputs
from components.provider.kind import Refused
from tests.apiserver.cluster import free_port
from tests.apiserver.works import Notes

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools/kubernetes"))
import images

ALPHA, OWN = "registry.example.com/group/alpha:v1.2.3", "clusterwright.invalid/beta:v1"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Make a release of two images, as tools/kubernetes stores them."""
    folder = tmp_path / "release"
    storage, stored = images.Storage(folder / "registry"), {}
    for name in (ALPHA, OWN):
        program = tmp_path / "program"
        program.write_text(name)
        repository, _, tag = mirror.repository_of(name).rpartition(":")
        layer = storage.add_layer({"bin/program": program})
        made = storage.add_image(repository, tag, layers=[layer], process=images.Process(["/bin/program"], "", {}))
        stored[name] = {"digest": made.digest, "size": made.size}
    (folder / "images.json").write_text(json.dumps(stored))
    return folder


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve folders that skopeo would copy from, as the registry serves them that it copied to."""
    served = tmp_path / "served"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            _, version, *repository, _, tag = self.path.split("/")
            file = served / f"{'/'.join(repository)}:{tag}" / "manifest.json"
            self.send_response(200 if version == "v2" and file.exists() else 404)
            if file.exists():
                self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", served
        server.shutdown()


def pages(registry: str, release: Path) -> list[str]:
    return [reason for _, reason in Mirror().check(MirrorInputs(registry, str(release)))]


def test_what_is_exported_is_what_the_registry_must_have(release: Path, registry: tuple[str, Path]) -> None:
    address, served = registry
    assert set(mirror.export(release, served)) == {ALPHA, OWN}
    assert pages(address, release) == []
    assert Mirror().create(MirrorInputs(address, str(release)), Notes().work()) == {}
    for folder in (served / "group/alpha:v1.2.3", served / "beta:v1"):
        manifest = json.loads((folder / "manifest.json").read_text())
        for blob in (manifest["config"], *manifest["layers"]):
            content = (folder / blob["digest"].removeprefix("sha256:")).read_bytes()
            assert (f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)) == (blob["digest"], blob["size"])


def test_an_image_that_is_not_there_or_another_one_is_named_before_anything_starts(release: Path, registry: tuple[str, Path]) -> None:
    address, served = registry
    mirror.export(release, served)
    (served / "beta:v1/manifest.json").write_text("{}")
    (served / "group/alpha:v1.2.3/manifest.json").unlink()
    [page] = pages(address, release)
    assert f"{ALPHA} is not there" in page
    assert f"{OWN} is another image there" in page
    with pytest.raises(Refused, match="lacks 2 of the 2 images"):
        Mirror().create(MirrorInputs(address, str(release)), Notes().work())


def test_images_of_publishers_are_asked_for_by_their_own_digests(release: Path, registry: tuple[str, Path]) -> None:
    address, served = registry
    mirror.export(release, served)
    folder = served / "vendor/plugin:v1"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    right, name = f"sha256:{hashlib.sha256(b'{}').hexdigest()}", "nvcr.example.com/vendor/plugin:v1"
    assert [*Mirror().check(MirrorInputs(address, str(release), {name: right}))] == []
    [(_, page)] = Mirror().check(MirrorInputs(address, str(release), {name: f"sha256:{'0' * 64}"}))
    assert f"{name} is another image there" in page


def test_a_long_list_is_cut(release: Path, registry: tuple[str, Path]) -> None:
    stored = json.loads((release / "images.json").read_text())
    many = {f"registry.example.com/a{number}:v1": entry for number in range(20) for entry in [stored[ALPHA]]}
    page = mirror.lacking_page(registry[0], many)
    assert len([line for line in page.splitlines() if "is not there" in line]) == mirror.NAMED_AT_MOST
    assert "and 10 more" in page


def test_a_registry_that_does_not_answer_is_one_page(release: Path) -> None:
    [page] = pages(f"127.0.0.1:{free_port()}", release)
    assert "can't be asked" in page
    assert "hosts of the control plane then serve the images" in page


def test_a_release_that_this_run_makes_is_asked_for_later(tmp_path: Path) -> None:
    assert pages("127.0.0.1:9", tmp_path) == []


def test_nothing_is_written_into_a_folder_that_holds_something(release: Path, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        mirror.export(release, tmp_path)

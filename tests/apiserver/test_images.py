"""The images of the release that this machine has, as they leave for a site's own registry."""

import argparse
from pathlib import Path

import pytest

from blueprints.plan import images as plan_images
from components.kubernetes import mirror
from stacks.cli import images
from tests.apiserver import release
from tests.blueprints import test_library

pytestmark = pytest.mark.engine


def test_every_image_of_a_blueprint_is_exported_under_the_name_that_hosts_ask_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release.folder()
    parser = argparse.ArgumentParser()
    images.arguments(parser)
    target = tmp_path / "images"
    images.run(parser.parse_args(["--blueprint", "starter-kubernetes", "--target", "local", "--export", str(target)]))
    assert f"{target} registry.example.org:5000" in capsys.readouterr().out
    named = {mirror.repository_of(one.name) for one in plan_images.images(test_library.resolved("starter-kubernetes", "local"))}
    assert {file.parent.relative_to(target).as_posix() for file in target.rglob("manifest.json")} >= named

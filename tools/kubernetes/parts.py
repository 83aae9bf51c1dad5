"""Makes one part of a release: programs, the images that hold them, and the manifests that name these images."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import builds
import downloads
import host_packages
import images
import recipe

LAYER_FILE = "layer.json"
"""In the folder of a part with a root file system: the layer that other parts' images share."""
SCRIPTS = "scripts"
"""In the folder of a part: what its module ships for its image. Hosts need none of it."""


def make(part: recipe.Part, folder: Path, work: Path, made: Mapping[str, Path]) -> None:
    """Make a part in `folder`; `made` has the folders of the parts before it."""
    (folder / "bin").mkdir()
    storage = images.Storage(folder / "registry")
    if part.packages is not None:
        host_packages.unpack(part.packages, work / "root.tar")
        layer = storage.add_root(work / "root.tar", part.packages.links)
        (folder / LAYER_FILE).write_text(json.dumps({"digest": layer.digest, "size": layer.size}))
    downloaded = downloads.fetch(part, folder / "bin")
    if missing := {program: package for program, package in part.programs.items() if program not in downloaded}:
        builds.build(part, missing, work, folder / "bin")
    if part.copied is not None:
        module = builds.module_folder(builds.find_go(), part, work, part.copied.module)
        (folder / SCRIPTS).mkdir()
        for file in part.copied.files:
            shutil.copyfile(module / file, folder / SCRIPTS / Path(file).name)
    stored = {image.reference: _entry(part, _add(image, part, folder, storage, made)) for image in part.images}
    (folder / "images.json").write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n")
    for manifest in part.manifests:
        _write_manifest(manifest, part, folder, work, made)


def _add(image: recipe.Image, part: recipe.Part, folder: Path, storage: images.Storage, made: Mapping[str, Path]) -> images.Stored:
    layers = []
    if image.base:
        base = folder if image.base == part.name else made[image.base]
        layer = images.Blob(**json.loads((base / LAYER_FILE).read_text()))
        storage.link_layer(images.Storage(base / "registry"), layer)
        layers.append(layer)
    if image.files:
        scripts = {Path(file).name for file in part.copied.files} if part.copied else set()
        layers.append(storage.add_layer({path: folder / (SCRIPTS if name in scripts else "bin") / name for path, name in image.files.items()}))
    return storage.add_image(
        images.repository_of(image.name), image.tag, layers=layers, process=images.Process(image.entrypoint, image.user, image.environment)
    )


def _entry(part: recipe.Part, stored: images.Stored) -> Mapping[str, object]:
    return {"digest": stored.digest, "size": stored.size, "kind": "built" if part.programs else "assembled", "from": part.source}


def _write_manifest(manifest: recipe.Manifest, part: recipe.Part, folder: Path, work: Path, made: Mapping[str, Path]) -> None:
    source = (builds.module_folder(builds.find_go(), part, work, manifest.module) if manifest.module else part.folder) / manifest.file
    if manifest.without:
        source = _left_out(source, manifest, work)
    text = _kustomized(source, made) if source.is_dir() else source.read_text()
    for name, other in manifest.images.items():
        if name not in text:
            raise recipe.RefusedError(f"{manifest.file} of {part.source} names no image {name}")
        text = text.replace(name, other)
    target = manifest_file(folder, manifest)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def manifest_file(folder: Path, manifest: recipe.Manifest) -> Path:
    return folder / "manifests" / manifest.addon / f"{Path(manifest.file).stem}.yaml"


def _left_out(source: Path, manifest: recipe.Manifest, work: Path) -> Path:
    """Copy a kustomization with all that it refers to, and take resources out of it."""
    above = manifest.file.count("/")
    copy = work / "kustomization"
    shutil.copytree(source.parents[above - 1], copy)
    subprocess.run(["chmod", "--recursive", "u+w", copy], check=True)  # a module's files are read-only
    folder = copy / Path(*Path(manifest.file).parts[1:])
    file = folder / "kustomization.yaml"
    lines = file.read_text().splitlines()
    kept = [line for line in lines if line.partition("#")[0].strip() not in {f"- {resource}" for resource in manifest.without}]
    if len(lines) - len(kept) != len(manifest.without):
        raise recipe.RefusedError(f"{manifest.file} does not name each of {', '.join(manifest.without)}")
    file.write_text("\n".join(kept) + "\n")
    return folder


def _kustomized(source: Path, made: Mapping[str, Path]) -> str:
    kubectl = next(folder / "bin/kubectl" for folder in made.values() if (folder / "bin/kubectl").exists())
    done = subprocess.run([kubectl, "kustomize", source], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise recipe.RefusedError(f"`kubectl kustomize {source}` failed: {done.stderr.strip()}")
    return done.stdout

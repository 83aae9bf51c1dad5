"""An add-on of a Kubernetes cluster: the manifests of one version, as its own project ships them."""

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from blueprints import catalog

from ..provider.kind import Refused
from . import group, manifests, serving
from .api import Key, Object

IMAGES = "images.json"


@dataclasses.dataclass(frozen=True, slots=True)
class AddonInputs:
    addon: str
    """Its name in the catalogue."""
    version: str
    release: str
    """The folder of the release: `manifests/<addon>/*.yaml` and `images.json`."""
    kubeconfig: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What differs from the project's manifests (`manifests.adapt`)."""


class Addon(group.Group[AddonInputs]):
    token = "clusterwright:kubernetes:Addon"
    inputs = AddonInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"addon"})

    def identity(self, inputs: AddonInputs) -> str:
        return inputs.addon

    def title(self, inputs: AddonInputs) -> str:
        return f"{inputs.addon} {inputs.version}"

    def wanted(self, inputs: AddonInputs) -> list[dict[str, Any]] | None:
        release = Path(inputs.release)
        if not (release / IMAGES).exists():
            return None  # installed by the same run
        try:
            published = {name: {"digest": digest} for name, digest in catalog.addons()[inputs.addon].published.items()}
            images = {**json.loads((release / IMAGES).read_text()), **published}
            found = manifests.read(release / "manifests" / inputs.addon)
            return manifests.adapt(found, group=inputs.addon, images=images, settings=inputs.settings)
        except FileNotFoundError as error:
            raise Refused(
                f"the release of Kubernetes in {release} has no add-on {inputs.addon}\n  why: {error}\n  do:  run `tools/kubernetes/install`, which completes it"
            ) from None
        except manifests.ImageMissing as missing:
            raise Refused(
                "\n".join(
                    [
                        f"the registry of the stack has no image for {inputs.addon}",
                        *(f"  {name}" for name in missing.names),
                        "  why: hosts pull from the registry of the stack alone, so that closed sites work the same way",
                        "  do:  choose a version of the add-on whose images the release has (`images.json` lists them)",
                    ]
                )
            ) from None
        except KeyError as error:
            raise Refused(f"{inputs.addon} can't be adapted: {error.args[0]}") from None

    def first(self, inputs: AddonInputs, wanted: Sequence[Object]) -> Mapping[Key, Callable[[], Object]]:
        authority, names = serving.AUTHORITIES.get(inputs.addon), serving.names(wanted)
        return {key: functools.partial(serving.content, authority, names) for key in serving.secrets(wanted)} if authority and names else {}

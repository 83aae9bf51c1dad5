"""The image of a software profile on this machine: a base root file system and, over it, the layer that the profile's roles make. Both stay in the cache when the stack goes."""

import dataclasses
import hashlib
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

from .. import bake
from ..finish import content, playbook
from ..provider.kind import Kind, Refused, Values, Work, step
from .machine import command, rootfs, unused_layers

CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
BASE_ESTIMATE = "the base root file system takes about a minute"
LAYER_ESTIMATE = "baking the software profile takes about two minutes"


@dataclasses.dataclass(frozen=True, slots=True)
class ImageInputs:
    profile: str
    suite: str
    content: str
    """Fingerprint of the playbook that bakes, with its roles."""
    software: dict[str, Any]
    """The profile's record, as the roles read it."""
    cloud: str = ""
    """The cloud whose instances the hosts stand for; empty: they are hosts of this machine."""
    playbook: str = bake.PLAYBOOK
    """What bakes it. Hosts of another scheduler start from another image."""


class Image(Kind[ImageInputs]):
    token = "clusterwright:local:Image"
    inputs = ImageInputs
    timeout_s = 1800

    def identity(self, inputs: ImageInputs) -> str:
        return "image"  # another profile is another layer of the same resource: nothing that stands on the old one is torn down first

    def expected(self, inputs: ImageInputs) -> Values:
        return {"name": layer_key(inputs), "lowers": list(rootfs.lowers(base_of(inputs), layer_key(inputs)))}

    def read(self, inputs: ImageInputs, outputs: Values) -> Values | None:
        if not (rootfs.is_whole(rootfs.layer_path(layer_key(inputs))) and rootfs.is_whole(base_of(inputs).path)):
            return None
        try:
            unused_layers.mark_used(layer_key(inputs))
        except FileNotFoundError:
            return None
        return self.expected(inputs)

    def create(self, inputs: ImageInputs, work: Work) -> Values:
        base = base_of(inputs)
        if not rootfs.is_whole(rootfs.layer_path(layer_key(inputs))):
            for removed in unused_layers.make_room(keep=layer_key(inputs)):
                work.say(f"little space is free: {removed}, which no stack uses, is removed from the cache")
        if not rootfs.is_whole(base.path):
            work.say(f"building {base.key}: {BASE_ESTIMATE}")
            with step(f"base root file system {inputs.suite}"):
                rootfs.build_base(base, check=work.check)
        with rootfs.building_layer(layer_key(inputs), base=base.path) as root:
            if root is not None:
                work.say(f"baking {layer_key(inputs)}: {LAYER_ESTIMATE}")
                _bake(inputs, root, work)
        unused_layers.mark_used(layer_key(inputs))
        return self.expected(inputs)

    def delete(self, inputs: ImageInputs, outputs: Values, work: Work) -> None:
        """Leave the image in the cache, where other stacks and the next `up` find it."""


def base_of(inputs: ImageInputs) -> rootfs.Base:
    return rootfs.Base(inputs.software["os"].partition("-")[0], inputs.suite)


def layer_key(inputs: ImageInputs) -> str:
    """Name the layer by everything that makes it: base, playbook and roles, versions."""
    versions = hashlib.sha256((json.dumps(inputs.software, sort_keys=True) + inputs.cloud).encode()).hexdigest()
    scheduler = inputs.playbook.removesuffix(bake.PLAYBOOK).replace("_", "-")
    return f"{scheduler}{inputs.profile}-{base_of(inputs).key.rpartition('-')[2][:6]}{versions[:6]}{inputs.content}"


def _bake(inputs: ImageInputs, root: Path, work: Work) -> None:
    """Run the image playbook in `root`, which is entered by an SSH server on standard input: no network, no running system, the same roles and connection as everywhere."""
    # From a copy of the declared files: a file that a role reads without declaring it is missing here.
    scratch, sources = root.parent, root.parent / "sources"
    for name in ("client", "server"):
        command.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bake", "-f", str(scratch / name))
    enter = scratch / "enter"
    enter.write_text(_enter_script(root, scratch))
    enter.chmod(0o700)
    try:
        outcome = playbook.run(
            playbook.Run(
                playbook=inputs.playbook,
                inventory={"image": {"hosts": {"layer": {"ansible_user": "root", "ansible_ssh_common_args": f"-o ProxyCommand={shlex.quote(str(enter))}"}}}},
                variables=bake.variables(inputs.software, cloud=inputs.cloud),
                playbooks=str(content.copy(inputs.playbook, sources)),
                secrets={},
                private_key=(scratch / "client").read_text(),
                known_hosts=[f"layer {(scratch / 'server.pub').read_text().strip()}"],
                of_image=True,
            ),
            work,
            on_progress=lambda task: work.say(f"baking {inputs.profile}: {task}"),
        )
    finally:
        for name in ("client", "client.pub", "server", "server.pub", "enter", "authorized_keys"):
            (scratch / name).unlink(missing_ok=True)
        shutil.rmtree(sources, ignore_errors=True)
    if not outcome.ok:
        raise Refused("\n".join([f"the image of {inputs.profile} could not be baked", *map(str, outcome.failures), outcome.error]).strip())


def _enter_script(root: Path, scratch: Path) -> str:
    (scratch / "authorized_keys").write_text((scratch / "client.pub").read_text())
    server = (
        "mkdir -p /run/sshd && exec /usr/sbin/sshd -i -f /dev/null -h /run/bake/server -o AuthorizedKeysFile=/run/bake/authorized_keys "
        "-o StrictModes=no -o PermitRootLogin=prohibit-password -o Subsystem='sftp internal-sftp' -o UsePAM=no"
    )
    options = ["--quiet", f"--directory={root}", "--register=no", "--keep-unit", "--console=pipe", "--as-pid2"]
    options += ["--resolv-conf=replace-host", "--timezone=off", "--link-journal=no"]
    options += [f"--bind-ro={scratch / name}:/run/bake/{name}" for name in ("server", "authorized_keys")]
    if CA_BUNDLE.exists():
        options.append(f"--bind-ro={CA_BUNDLE}")
    return f"#!/bin/sh\nSYSTEMD_NSPAWN_LOCK=0 exec systemd-nspawn --machine=cw-image-$$ {shlex.join(options)} /bin/sh -c {shlex.quote(server)}\n"

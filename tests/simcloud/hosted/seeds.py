"""What a host of this machine is given before its first boot so that it looks like an instance of a cloud: nothing that the project makes is among it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from components.bootstrap.files import File
from components.local.machine import command
from components.local.recipe import SIMULATED_GPU_MAJOR

FILES = Path(__file__).parent / "guest"
BUNDLE = "etc/ssl/certs/ca-certificates.crt"
MOUNTS = ("mount.nfs", "mount.nfs4", "mount.lustre")
DIVERSIONS = "var/lib/dpkg/diversions"
NETWORK_STAGE = ("cloud-init-network", "cloud-init")
"""Units of cloud-init that ask the metadata service: of later versions, and of earlier ones and Ubuntu 24.04's."""
PROCESSES = ("cloud-init-main", "cloud-init-local", "cloud-init")
"""Units that run cloud-init's process: of later versions the first alone."""
EARLY = "/etc/systemd/system/systemd-tmpfiles-setup.service.d"
"""Of a unit that every host runs before anything that could look for hardware."""


@dataclasses.dataclass(frozen=True, slots=True)
class Platform:
    """What differs from cloud to cloud: files of the folder `guest`."""

    cloud_init: str
    """cloud-init's configuration: where its user data come from."""
    network_stage: str
    """What its network stage finds made: what tells that it is on this cloud, and whom to ask for names."""
    process: str = ""
    """What its process is started with."""
    modules: str = ""
    """A module that its process loads first."""


EC2 = Platform("cloud.cfg", "platform.conf")
COMPUTE_ENGINE = Platform("google/cloud.cfg", "google/platform.conf", "google/process.conf", "google/sitecustomize.py")


def seeds(*, hostname: str, gateway: str, authority: str, lowers: Sequence[str], gpus: int, efa: int, platform: Platform = EC2) -> tuple[File, ...]:
    """Give the files.

    Args:
        authority: the certificate, in PEM, of who signs what answers in place of the cloud's services.
        lowers: the image's layers, topmost first.
        gpus, efa: how many GPUs and EFA devices the host is to see.
    """
    bundle = next((path.read_text() for lower in lowers if (path := Path(lower) / BUNDLE).is_file()), "")
    programs = [File(f"/usr/sbin/{name}", _file("mount-nfs", gateway), mode=0o755) for name in MOUNTS]
    # As dpkg-divert(1) records it: who compares programs with their packages knows that these are another's.
    diverted = next((path.read_text() for lower in lowers if (path := Path(lower) / DIVERSIONS).is_file()), "")
    diverted += "".join(f"/usr/sbin/{name}\n/usr/sbin/{name}.packaged\n:\n" for name in MOUNTS)
    hardware = _file("hardware.conf", gateway).replace(b"GPUS EFA MAJOR", f"{gpus} {efa} {SIMULATED_GPU_MAJOR}".encode())
    return (
        *programs,
        File(f"/{DIVERSIONS}", diverted.encode()),
        File("/usr/sbin/simulated-hardware", _file("hardware", gateway), mode=0o755),
        File(f"{EARLY}/simulated-hardware.conf", hardware),
        File("/etc/systemd/system/clusterwright-guard.service.d/simulated.conf", _file("guard.conf", gateway)),
        *([File("/usr/lib/clusterwright/health", _file("health", gateway), mode=0o755)] if gpus or efa else []),
        File("/usr/sbin/mount.awaited-xfs", _file("mount-disk", gateway), mode=0o755),
        File("/etc/systemd/system-generators/simulated-disks", _file("disk-generator", gateway), mode=0o755),
        *(File(f"/etc/systemd/system/{unit}.service.d/simulated.conf", _file(platform.network_stage, gateway)) for unit in NETWORK_STAGE),
        *(File(f"/etc/systemd/system/{unit}.service.d/process.conf", _file(platform.process, gateway)) for unit in PROCESSES if platform.process),
        *([File("/usr/lib/simulated-smbios/sitecustomize.py", _file(platform.modules, gateway))] if platform.modules else []),
        File("/etc/cloud/cloud.cfg.d/95_simulated.cfg", _file(platform.cloud_init, gateway)),
        File("/etc/systemd/system/run-rpc_pipefs.mount", b""),  # the kernel has no NFS; an empty unit is one that never starts
        File("/etc/systemd/system/nfs-server.service", _file("nfs-server.service", gateway)),
        File("/etc/hostname", f"{hostname}\n".encode()),
        File(f"/{BUNDLE}", f"{bundle}{authority}".encode()),
        # Programs that use OpenSSL's own way look up one file, named by a hash.
        File(f"/etc/ssl/certs/{_hash(authority)}.0", authority.encode()),
    )


def _file(name: str, gateway: str) -> bytes:
    return (FILES / name).read_text().replace("GATEWAY", gateway).encode()


def _hash(certificate: str) -> str:
    return command.run("openssl", "x509", "-noout", "-subject_hash", stdin=certificate).strip()

"""What a host of this machine is given before its first boot so that it looks like an instance of EC2: nothing that the project makes is among it."""

from collections.abc import Sequence
from pathlib import Path

from components.bootstrap.files import File
from components.local.machine import command
from components.local.recipe import SIMULATED_GPU_MAJOR

FILES = Path(__file__).parent / "guest"
BUNDLE = "etc/ssl/certs/ca-certificates.crt"
MOUNTS = ("mount.nfs", "mount.nfs4", "mount.lustre")
NETWORK_STAGE = ("cloud-init-network", "cloud-init")
"""Units of cloud-init that ask the metadata service: of later versions, and of earlier ones and Ubuntu 24.04's."""
EARLY = "/etc/systemd/system/systemd-tmpfiles-setup.service.d"
"""Of a unit that every host runs before anything that could look for hardware."""


def seeds(*, hostname: str, gateway: str, authority: str, lowers: Sequence[str], gpus: int, efa: int) -> tuple[File, ...]:
    """Give the files.

    Args:
        authority: the certificate, in PEM, of who signs what answers in place of AWS's services.
        lowers: the image's layers, topmost first.
        gpus, efa: how many GPUs and EFA devices the host is to see.
    """
    bundle = next((path.read_text() for lower in lowers if (path := Path(lower) / BUNDLE).is_file()), "")
    programs = [File(f"/usr/sbin/{name}", _file("mount-nfs", gateway), mode=0o755) for name in MOUNTS]
    hardware = _file("hardware.conf", gateway).replace(b"GPUS EFA MAJOR", f"{gpus} {efa} {SIMULATED_GPU_MAJOR}".encode())
    return (
        *programs,
        File("/usr/sbin/simulated-hardware", _file("hardware", gateway), mode=0o755),
        File(f"{EARLY}/simulated-hardware.conf", hardware),
        File("/etc/systemd/system/clusterwright-guard.service.d/simulated.conf", _file("guard.conf", gateway)),
        *([File("/usr/lib/clusterwright/health", _file("health", gateway), mode=0o755)] if gpus or efa else []),
        File("/usr/sbin/mount.awaited-xfs", _file("mount-disk", gateway), mode=0o755),
        File("/etc/systemd/system-generators/simulated-disks", _file("disk-generator", gateway), mode=0o755),
        *(File(f"/etc/systemd/system/{unit}.service.d/simulated.conf", _file("platform.conf", gateway)) for unit in NETWORK_STAGE),
        File("/etc/cloud/cloud.cfg.d/95_simulated.cfg", _file("cloud.cfg", gateway)),
        File("/etc/systemd/system/run-rpc_pipefs.mount", b""),  # the kernel has no NFS; an empty unit is one that never starts
        File("/etc/hostname", f"{hostname}\n".encode()),
        File(f"/{BUNDLE}", f"{bundle}{authority}".encode()),
        # Programs that use OpenSSL's own way look up one file, named by a hash.
        File(f"/etc/ssl/certs/{_hash(authority)}.0", authority.encode()),
    )


def _file(name: str, gateway: str) -> bytes:
    return (FILES / name).read_text().replace("GATEWAY", gateway).encode()


def _hash(certificate: str) -> str:
    return command.run("openssl", "x509", "-noout", "-subject_hash", stdin=certificate).strip()

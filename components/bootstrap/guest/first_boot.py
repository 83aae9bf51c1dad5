"""What the first program of a host does alike in every cloud. `components/bootstrap/first_program.py` puts these functions behind a cloud's own part."""

import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable
from pathlib import Path

# In the program, the values of the cloud's part stand in place of these.
WAIT_S = 300
"""How long it tries what can come later than the instance."""
DISKS = ""
"""The instance's own disks: a pattern of names in /dev/disk/by-id."""


def make_scratch(folder: str) -> None:
    disks = sorted({str(path.resolve()) for path in Path("/dev/disk/by-id").glob(DISKS)})
    if not disks or Path(folder).is_mount():
        return
    device = disks[0]
    if len(disks) > 1:
        subprocess.run(["mdadm", "--stop", "--scan"], capture_output=True)  # the array of the last boot: its files are given up by contract
        device = "/dev/md/scratch"
        run("mdadm", "--create", device, "--run", "--force", "--level=0", "--raid-devices=" + str(len(disks)), *disks)
    run("mkfs.xfs", "-f", "-K", device)
    Path(folder).mkdir(parents=True, exist_ok=True)
    run("mount", "-o", "noatime", device, folder)
    Path(folder).chmod(0o1777)  # everyone's, as /tmp is


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def write(path: str, content: str | bytes, mode: int) -> None:
    """Write a file at once: nobody sees half of it, and nobody reads it before its mode is right."""
    new = Path(path + ".new")
    new.touch(mode=0o600)
    new.chmod(mode)
    new.write_bytes(content.encode() if isinstance(content, str) else content)
    new.replace(path)


def patiently(what: str, attempt: Callable[[], str]) -> str:
    """Try again for some minutes, and say on the console what is awaited, and why, whenever that is another reason."""
    deadline, said = time.monotonic() + WAIT_S, ""
    while True:
        try:
            return attempt()
        except OSError as error:
            why = str(error) + (" " + error.read(1000).decode(errors="replace") if isinstance(error, urllib.error.HTTPError) else "")
            if time.monotonic() > deadline:
                sys.exit("clusterwright: waited " + str(WAIT_S) + " s for " + what + ": " + why)
            if why != said:
                print("clusterwright: waiting for " + what + ": " + why, flush=True)
                said = why
        time.sleep(2)

"""A simulated BMC that serves IPMI: OpenIPMI's `ipmi_sim`, which is independent of the program that asks it."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("ipmi_sim", "ipmitool")
MISSING = [program for program in PROGRAMS if not shutil.which(program)]
USER, PASSWORD = "operator", "correct-horse"
GREETS_WITHIN_S = 10.0
BOOT_OVERRIDE_NONE = "boot:none"
CONFIGURATION = """
name "simulated"
set_working_mc 0x20
startlan 1
  addr 127.0.0.1 {port}
  priv_limit admin
  allowed_auths_callback md5
  allowed_auths_user md5
  allowed_auths_operator md5
  allowed_auths_admin md5
  guid a123456789abcdefa123456789abcdef
  lan_config_program "/bin/true"
endlan
chassis_control "{folder}/chassis"
user 1 false "" "test" user 10 none md5
user 2 true "{user}" "{password}" admin 10 md5
"""
CHASSIS = """#!/bin/sh
# What the simulated BMC runs to learn and to set the power: `get power boot`, `set power 0`.
op=$1
shift
case $op in
    get) for one; do case $one in power) echo "power:$(cat {folder}/power)" ;; *) echo "$one:none" ;; esac; done ;;
    set) while [ $# -gt 1 ]; do
        echo "$1 $2" >>{folder}/orders
        [ "$1" != power ] || echo "$2" >{folder}/power
        {switch}
        shift 2
    done ;;
esac
"""
COMMANDS = """
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_add_fru_data 0x20 0 {size} data {fru}
mc_enable 0x20
"""


class Simulated:
    """A running simulated BMC."""

    def __init__(self, folder: Path, port: int):
        self._folder = folder
        self.address = f"127.0.0.1:{port}"

    @property
    def is_on(self) -> bool:
        return (self._folder / "power").read_text().strip() == "1"

    @property
    def orders(self) -> list[str]:
        """Give what it was asked to set: `power 0`."""
        file = self._folder / "orders"
        return file.read_text().splitlines() if file.exists() else []


@contextlib.contextmanager
def serving(folder: Path, *, switch: str = ":") -> Iterator[Simulated]:
    """Run a simulated BMC whose server is on.

    Args:
        switch: shell command that switches something real; it has `$1` (`power`) and `$2` (`0` or `1`).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "state").mkdir()
    (folder / "power").write_text("1\n")
    (folder / "chassis").write_text(CHASSIS.format(folder=folder, switch=switch))
    (folder / "chassis").chmod(0o755)
    (folder / "lan.conf").write_text(CONFIGURATION.format(folder=folder, port=port, user=USER, password=PASSWORD))
    fru = _fru(manufacturer="Simulated", product="HGX H100", serial="SN-0002")
    (folder / "commands").write_text(COMMANDS.format(size=len(fru), fru=" ".join(f"0x{byte:02x}" for byte in fru)))
    words = ["ipmi_sim", "-n", "-c", str(folder / "lan.conf"), "-f", str(folder / "commands"), "-s", str(folder / "state")]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
    try:
        _await_greeting(port)
        yield Simulated(folder, port)
    finally:
        process.terminate()
        process.wait()


def _await_greeting(port: int) -> None:
    """Wait until it answers a ping of RMCP (ASF 2.0, presence ping)."""
    ping = bytes.fromhex("0600ff06000011be80000000")
    deadline = time.monotonic() + GREETS_WITHIN_S
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(0.2)
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                asking.sendto(ping, ("127.0.0.1", port))
                if asking.recv(100):
                    return
    raise AssertionError("the simulated BMC did not greet")


def _fru(*, manufacturer: str, product: str, serial: str) -> bytes:
    """Write an inventory with a product area (IPMI Platform Management FRU Information Storage Definition v1.0, section 12)."""
    fields = (manufacturer, product, "part", "1", serial, "")
    area = b"\x01\x00\x19" + b"".join(bytes([0xC0 | len(field)]) + field.encode() for field in fields) + b"\xc1"
    units = -(-(len(area) + 1) // 8)
    padded = bytearray(area.ljust(units * 8 - 1, b"\x00"))
    padded[1] = units
    header = b"\x01\x00\x00\x00\x01\x00\x00"
    return _summed(header) + _summed(bytes(padded))


def _summed(content: bytes) -> bytes:
    return content + bytes([-sum(content) % 256])

"""One BMC by IPMI 2.0, through ipmitool: one session for all facts, and the password in memory alone.

Source: ipmitool(1); IPMI Specification v2.0 for the length of passwords (section 22.30).
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence

from .model import IPMI_PORT, Access, Action, Board, Cause, Facts, Power, Protocol, Unanswered

PROGRAM = "ipmitool"
LONGEST_PASSWORD = 20
QUESTIONS = ("chassis status", "mc info", "fru print 0", "chassis bootparam get 5", "sel list last 5")
ACTIONS: Mapping[Action, str] = {
    Action.ON: "chassis power on",
    Action.OFF: "chassis power soft",
    Action.HARD_OFF: "chassis power off",
    Action.CYCLE: "chassis power cycle",
}
ANSWER_WITHIN_S = 1
"""After so long ipmitool sends a message again: UDP loses some."""
SENT_AT_MOST = 3
SHOWN = 200
"""Characters of its complaints that a message shows."""


def facts(board: Board, access: Access, *, within_s: float) -> Facts:
    """Read the facts that IPMI knows: no firmware but the BMC's own.

    Raises:
        Unanswered: the BMC does not answer, or refuses.
    """
    return parse(_run(board, access, QUESTIONS, within_s=within_s))


def parse(said: str) -> Facts:
    """Read what ipmitool prints. Pure.

    Raises:
        Unanswered: the power state is not among it.
    """
    values: dict[str, str] = {}
    for line in said.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            # Lines of the inventory (FRU) begin with a space; the BMC's own description has some of the same names.
            values.setdefault(name.rstrip(), value.strip())
    power = {"on": Power.ON, "off": Power.OFF}.get(values.get("System Power", ""))
    if power is None:
        raise Unanswered(Cause.UNUSABLE, "IPMI says nothing of the power")
    faults = ("Main Power Fault", "Power Control Fault", "Drive Fault", "Cooling/Fan Fault")
    return Facts(
        protocol=Protocol.IPMI,
        power=power,
        manufacturer=values.get(" Product Manufacturer", "") or values.get(" Board Mfg", ""),
        model=values.get(" Product Name", "") or values.get(" Board Product", ""),
        serial=values.get(" Product Serial", "") or values.get(" Chassis Serial", ""),
        health="Critical" if any(values.get(fault) == "true" for fault in faults) else "",
        boot=values.get("   - Boot Device Selector", "") if "- Boot Flag Valid" in said else "",
        firmware={"BMC": values["Firmware Revision"]} if "Firmware Revision" in values else {},
        events=tuple(_events(said)),
    )


def _events(said: str) -> Iterator[str]:
    """Give the entries of the system event log in ipmitool's long form."""
    for entry in said.split("SEL Record ID")[1:]:
        fields = {name.strip(): value.strip() for name, colon, value in (line.partition(":") for line in entry.splitlines()) if colon}
        yield " ".join(filter(None, (fields.get("Timestamp"), fields.get("Sensor Type"), fields.get("Description"))))


def power(board: Board, access: Access, *, within_s: float) -> Power:
    """Read the power state."""
    said = _run(board, access, ("chassis power status",), within_s=within_s)
    return Power.ON if "is on" in said else Power.OFF if "is off" in said else Power.UNKNOWN


def act(board: Board, access: Access, action: Action, *, within_s: float) -> None:
    """Carry out an action; a server that is off is switched on where a power cycle is asked for.

    Raises:
        Unanswered: the BMC does not answer, or refuses.
    """
    if action is Action.CYCLE and power(board, access, within_s=within_s) is Power.OFF:
        action = Action.ON
    _run(board, access, (ACTIONS[action],), within_s=within_s)


def _run(board: Board, access: Access, commands: Sequence[str], *, within_s: float) -> str:
    """Run commands of ipmitool in one session.

    Raises:
        Unanswered: ipmitool is missing or fails.
    """
    if len(access.password.encode()) > LONGEST_PASSWORD:
        raise Unanswered(Cause.REFUSED, f"IPMI knows no passwords of more than {LONGEST_PASSWORD} bytes")
    with _in_memory("password", access.password) as password, _in_memory("commands", "".join(f"{one}\n" for one in commands)) as script:
        argv = [PROGRAM, "-I", "lanplus", "-H", board.name, "-p", str(board.port or IPMI_PORT), "-U", access.user]
        argv += ["-v", "-f", f"/dev/fd/{password}", "-N", str(ANSWER_WITHIN_S), "-R", str(SENT_AT_MOST), "exec", f"/dev/fd/{script}"]
        plain = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": "/nonexistent"}
        try:
            done = subprocess.run(
                argv,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                pass_fds=(password, script),
                env=plain,
                timeout=within_s,
                check=False,
            )
        except FileNotFoundError as error:
            raise Unanswered(Cause.ABSENT, f"this machine has no {PROGRAM}: install it with `apt-get install {PROGRAM}`") from error
        except subprocess.TimeoutExpired as error:
            raise Unanswered(Cause.SILENT, f"{board.address} did not answer by IPMI within {within_s:g} s") from error
    said = " ".join(done.stderr.split())
    if "RAKP" in said:  # the messages by which both sides prove that they know the password
        raise Unanswered(Cause.PASSWORD, f"{board.address} refuses the user or the password by IPMI")
    if "Unable to establish" in said:
        raise Unanswered(Cause.UNREACHABLE, f"{board.address} opens no IPMI session")
    if done.returncode and not done.stdout.strip():
        raise Unanswered(Cause.REFUSED, f"{board.address} refuses by IPMI: {said[-SHOWN:]}")
    return done.stdout


@contextlib.contextmanager
def _in_memory(name: str, text: str) -> Iterator[int]:
    """Give the descriptor of a private file in memory."""
    descriptor = os.memfd_create(name, 0)
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, text.encode())
        yield descriptor
    finally:
        os.close(descriptor)

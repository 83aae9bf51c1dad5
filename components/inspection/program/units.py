"""Units of systemd with their state."""

from . import asking

PROPERTIES = ("Id", "LoadState", "ActiveState", "SubState", "UnitFileState", "ConditionResult", "ConditionTimestampMonotonic", "Type", "Result")
KINDS = (".service", ".timer", ".socket", ".mount", ".automount")


def states() -> dict[str, dict[str, str]]:
    """Give the state of units that are enabled or failed."""
    listed = [line.split() for line in asking.program(["systemctl", "list-units", "--all", "--plain", "--no-legend"]).splitlines()]
    # A pattern given to `show` would leave out units that do not run, which are those in question.
    names = [words[0] for words in listed if len(words) > 1 and words[1] == "loaded" and words[0].endswith(KINDS)]
    shown = asking.program(["systemctl", "show", f"--property={','.join(PROPERTIES)}", "--", *names])
    units = {}
    for block in shown.split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        name = unit.get("Id", "")
        if name and (unit["UnitFileState"].startswith("enabled") or unit["ActiveState"] == "failed"):
            units[name] = unit
    return units

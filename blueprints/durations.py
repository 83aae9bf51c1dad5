"""Time limits of jobs in Slurm's notation, as seconds."""


def seconds(limit: str) -> int | None:
    """Read a time limit as the language writes it; None for `UNLIMITED`."""
    return None if limit == "UNLIMITED" else clock_s(limit)


def clock_s(text: str) -> int:
    """Read one of Slurm's time formats, which the caller has matched.

    Source: sbatch(1), `--time`.
    """
    days, _, clock = text.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    if days:
        hours, minutes, seconds = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, [*parts, 0][:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds

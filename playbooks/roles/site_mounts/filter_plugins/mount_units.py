"""Units of systemd that mount the file systems of a host. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

FOLDER = "/etc/systemd/system"
HEADING = "# Written by clusterwright: a file system of the cluster."
PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:_")


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"mount_rows": mount_rows, "mount_entries": mount_entries}


def mount_rows(mounts: Sequence[Row], *, host: str, groups: Sequence[str], programs: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what a host mounts, in the form of its program's table.

    Args:
        mounts: the file systems of the cluster, as the target describes them.
        host: the host's name; it mounts the folders that it exports itself directly.
        groups: the host's groups; some file systems are for one group.
        programs: kind of file system → program that mounts it, where the distribution's archive doesn't have it.
    """
    return [_row(one, host, programs) for one in mounts if not one.get("group") or one["group"] in groups]


def mount_entries(rows: Sequence[Row], present: Sequence[str]) -> list[dict[str, Any]]:
    """Return the units of file systems as entries of the module `files`; those that are present and no longer wanted are removed.

    Args:
        rows: what `mount_rows` returned.
        present: paths of the units on the host.
    """
    wanted = {f"{FOLDER}/{row['unit']}": mount_unit(row) for row in rows if row["kind"] != "present"}
    return [*({"path": path, "content": text} for path, text in wanted.items()), *({"path": path, "absent": True} for path in present if path not in wanted)]


def mount_unit(row: Row) -> str:
    """Return the unit of a file system, for one row of `mount_rows`."""
    options = ["bind"] if row["kind"] == "bind" else ["_netdev", *row["options"]]
    after = [f"RequiresMountsFor={row['source']}"] if row["kind"] == "bind" else ["Wants=network-online.target", "After=network-online.target"]
    kind = [] if row["kind"] == "bind" else [f"Type={row['kind']}"]
    return "\n".join(
        [
            HEADING,
            "[Unit]",
            f"Description=clusterwright: {row['name']}",
            *after,
            "",
            "[Mount]",
            f"What={_escaped(row['source'])}",
            f"Where={_escaped(row['target'])}",
            *kind,
            f"Options={_escaped(','.join(options))}",
            "TimeoutSec=90",
            "",
        ]
    )


def unit_name(path: str) -> str:
    """Return the name of the unit that mounts a path (systemd-escape(1), `--path`)."""
    name = path.strip("/")
    parts = [_letter(letter, is_first=place == 0) for place, letter in enumerate(name)]
    return f"{''.join(parts)}.mount" if name else "-.mount"


def _row(one: Row, host: str, programs: Mapping[str, str]) -> dict[str, Any]:
    exports = one.get("exporter") == host
    kind = "bind" if exports else one["kind"]
    row = {
        "name": one["name"],
        "target": one["target"],
        "source": one["folder"] if exports else one["source"],
        "kind": kind,
        "options": list(one.get("options", ())),
        "unit": unit_name(one["target"]),
    }
    if kind in programs:
        row["program"] = programs[kind]
    if kind == "bind":
        row |= {"create": bool(one.get("create")) or exports, "within": one.get("within", "")}
    return row


def _letter(letter: str, *, is_first: bool) -> str:
    if letter == "/":
        return "-"
    if letter in PLAIN or (letter == "." and not is_first):
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode())


def _escaped(text: str) -> str:
    return text.replace("%", "%%")

"""Draw a resolved cluster as SVG: who comes in where, which hosts there are, and what they share. Pure."""

import dataclasses
from collections.abc import Iterator
from xml.sax.saxutils import escape

from blueprints.spec import ClusterSpec, HostGroup, NodeSet

WIDTH = 920
MARGIN = 24
ROW_GAP = 34
BOX_HEIGHT = 74
GPU = 12
SHOWN_HOSTS = 4
"""Of a larger group the first ones and the last are drawn."""
GREY, LINE, INK, SOFT = "#f6f7f9", "#8a94a6", "#1c2430", "#5a6475"
COLOURS = {"access": "#dbe9ff", "control": "#ffe9c9", "compute": "#dff3e1", "storage": "#ece3fb"}


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def draw(spec: ClusterSpec) -> str:
    """Give the picture as one SVG document, the same for the same spec."""
    inner = WIDTH - 2 * MARGIN
    top = MARGIN + 46
    balancer = Box(MARGIN + inner * 0.04, top, inner * 0.24, BOX_HEIGHT)
    login = Box(MARGIN + inner * 0.38, top, inner * 0.24, BOX_HEIGHT)
    control = Box(MARGIN + inner * 0.72, top, inner * 0.24, BOX_HEIGHT)
    parts = [
        _box(balancer, "access", "Load balancer", ["HAProxy, SSH", spec.network.balancer_address]),
        _box(login, "access", spec.access.hostlist, [f"{spec.access.count} × login", spec.access.first_address]),
        _box(control, "control", spec.control.hostlist, ["slurmctld, slurmdbd, MariaDB", spec.control.first_address]),
        _arrow(balancer, login),
        _arrow(login, control),
    ]
    y: float = top + BOX_HEIGHT + ROW_GAP
    bus = y - ROW_GAP / 2
    for node_set in spec.node_sets:
        row = Box(MARGIN + inner * 0.04, y, inner * 0.92, BOX_HEIGHT + 46)
        parts += _nodes(row, node_set)
        y += row.height + ROW_GAP * 0.6
    storage = Box(MARGIN + inner * 0.04, y, inner * 0.92, 40)
    mounts = ", ".join(f"{one.mount} ({one.kind})" for one in spec.storage)
    parts.append(_box(storage, "storage", f"Shared on every host: {mounts}", []))
    height = storage.y + storage.height + MARGIN + 40
    parts.insert(0, f'<line x1="{balancer.x}" y1="{bus}" x2="{control.x + control.width}" y2="{bus}" stroke="{LINE}" stroke-width="2"/>')
    parts[1:1] = [f'<line x1="{box.middle}" y1="{box.y + box.height}" x2="{box.middle}" y2="{bus}" stroke="{LINE}"/>' for box in (balancer, login, control)]
    return "\n".join([*_frame(spec, height), *parts, "</svg>"]) + "\n"


def _frame(spec: ClusterSpec, height: float) -> Iterator[str]:
    title = f"{spec.name} on {spec.target}"
    software = f"{spec.software.profile}, Slurm {spec.software.slurm}, network {spec.network.cidr}"
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" font-family="system-ui, sans-serif" role="img">'
    yield f"<title>{escape(title)}</title>"
    yield f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2:g}" rx="12" fill="{GREY}" stroke="{LINE}"/>'
    yield _text(MARGIN + 8, MARGIN + 14, title, size=18, weight="600")
    yield _text(WIDTH - MARGIN - 8, MARGIN + 14, software, size=12, colour=SOFT, anchor="end")
    if simulated := _simulated(spec):
        yield _text(MARGIN + 8, height - 22, f"Simulated: {', '.join(simulated)}.", size=12, colour=SOFT)


def _simulated(spec: ClusterSpec) -> list[str]:
    gpus = any(node_set.hosts.machine.gpus and node_set.hosts.machine.gpus.simulated for node_set in spec.node_sets)
    storage = any(one.simulated for one in spec.storage)
    return ["GPUs (device nodes without hardware)"] * gpus + ["shared storage (a folder of one machine)"] * storage


def _nodes(row: Box, node_set: NodeSet) -> Iterator[str]:
    hosts, machine = node_set.hosts, node_set.hosts.machine
    gpus = f", {machine.gpus.count} × {machine.gpus.type}{' (simulated)' if machine.gpus.simulated else ''} each" if machine.gpus else ""
    yield f'<rect x="{row.x:g}" y="{row.y:g}" width="{row.width:g}" height="{row.height:g}" rx="8" fill="none" stroke="{LINE}" stroke-dasharray="4 3"/>'
    yield _text(
        row.x + 12, row.y + 20, f"Partition {node_set.partition.name}: {hosts.count} node{'' if hosts.count == 1 else 's'}{gpus}", size=13, weight="600"
    )
    shown = _shown(hosts)
    width = (row.width - 24 - 12 * (len(shown) - 1)) / max(len(shown), 1)
    for place, hostname in enumerate(shown):
        box = Box(row.x + 12 + place * (width + 12), row.y + 32, width, BOX_HEIGHT)
        yield _box(box, "compute", hostname, [f"{machine.cpus} CPUs, {machine.memory_mib} MiB"] if hostname != "…" else [])
        if machine.gpus and hostname != "…":
            for number in range(machine.gpus.count):
                yield f'<rect x="{box.x + 12 + number * (GPU + 4):g}" y="{box.y + BOX_HEIGHT - 20:g}" width="{GPU}" height="{GPU}" rx="2" fill="#5aa469"/>'


def _shown(hosts: HostGroup) -> list[str]:
    if hosts.count <= SHOWN_HOSTS:
        return list(hosts.hostnames)
    return [hosts.hostname(0), hosts.hostname(1), "…", hosts.hostname(hosts.count - 1)]


def _box(box: Box, role: str, title: str, lines: list[str]) -> str:
    rectangle = f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="8" fill="{COLOURS[role]}" stroke="{LINE}"/>'
    texts = [_text(box.x + 12, box.y + 24, title, size=14, weight="600")]
    texts += [_text(box.x + 12, box.y + 43 + 17 * number, line, size=12, colour=SOFT) for number, line in enumerate(lines)]
    return "\n".join([rectangle, *texts])


def _arrow(start: Box, end: Box) -> str:
    x1, x2, y = start.x + start.width, end.x, start.y + start.height / 2
    return f'<path d="M {x1:g} {y:g} H {x2 - 8:g} m -6 -5 l 8 5 l -8 5" fill="none" stroke="{INK}" stroke-width="1.5"/>'


def _text(x: float, y: float, content: str, *, size: int, weight: str = "400", colour: str = INK, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}">{escape(content)}</text>'

"""What a program of nccl-tests printed: the ranks, the rate of each message size, and what NCCL's log says of each host (pure).

The form is that of nccl-tests 2.13 to 2.17 (common.cu, `PRINT` of the header, of each row and of the footer), the log's that of NCCL 2.18 to 2.28 with NCCL_DEBUG=INFO.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence

RANK = re.compile(r"#\s+Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+(\d+)\s+\[([^\]]+)\]\s+(.*)")
BOUNDS = re.compile(r"#\s+Out of bounds values\s*:\s*(\d+)\s+(\w+)")
LOGGED = re.compile(r"^(?:\[[^\]]*\]\s*)?([A-Za-z0-9][\w.-]*):\d+:\d+ \[(\d+)\] (.*)$")
"""`host:pid:tid [device] text`, with a time in brackets before it where NCCL_DEBUG_TIMESTAMP_FORMAT asks for one."""
FOUND_NICS = re.compile(r"Selected provider is .*\(found (\d+) nics?\)")
USED_NICS = re.compile(r"NET/IB : Using (.*?)(?:;|$)")
NETWORK = re.compile(r"Using network (.+?)\s*$")
CHANNEL = re.compile(r" via NET/([^/\s]+(?: [^/\s]+)*)/(\d+)(/GDRDMA)?")
AFFINITY = re.compile(r"Affinity for GPU (\d+) is (.+?)\. \(GPU affinity = (.*?) ; CPU affinity = .*\)|Setting affinity for GPU (\d+) to (\S+)")
"""The processors on which the threads of a GPU run: those near the GPU that Slurm gave to its process (NCCL, src/graph/topo.cc, ncclTopoGetCpuAffinity). Older versions log only those that they set."""
TELLING = re.compile(r"NET/|Using network|NVLS|WARN|Selected provider|Plugin")
"""Lines that are kept; all ranks of a job log thousands of others."""
BY_ENVIRONMENT = re.compile(r"(NCCL_\w+) set by environment to (\S+?)\.?$")
MASK_WORD = 8
"""Digits of a word of a mask (NCCL, src/misc/utils.cc, ncclCpusetToStr)."""
SIMULATED = "simulated"
"""A word in the header of the program that stands in for nccl-tests where GPUs are simulated."""
COLUMNS = 13
"""Of a row: size, count, type, operation, root, then time, algbw, busbw and wrong values, out of place and in place."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rank:
    host: str
    device: int
    model: str


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One message size. Rates are GB/s of bus bandwidth."""

    size_bytes: int
    busbw_gbs: float
    """Out of place, which published figures are."""
    wrong: int | None
    """Wrong values of both runs; None: the program was told not to check any."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostLog:
    """What NCCL logged on one host."""

    lines: tuple[str, ...] = ()
    """Those that tell of the network, each once; connections only by what carries them."""
    networks: tuple[str, ...] = ()
    """After `Using network`."""
    nics: int | None = None
    """How many NICs the network found; None: the log doesn't say."""
    channels: int = 0
    """Connections over the network."""
    direct: int = 0
    """Those of them that GPUDirect RDMA carries."""
    nvls: bool | None = None
    """Whether NVLink SHARP is available; None: the log doesn't say."""
    set_by_environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    near_cpus: Mapping[str, int | None] = dataclasses.field(default_factory=dict)
    """GPU → how many processors near it its process may use; None: the host doesn't say which are near. GPUs that the log leaves out have none."""
    distinct_cpus: int = 0
    """How many processors those are together; a processor of several processes counts once."""

    def has(self, words: str) -> bool:
        return any(words in line for line in self.lines)


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    ranks: tuple[Rank, ...]
    rows: tuple[Row, ...]
    out_of_bounds: int | None
    """Wrong values over all sizes; None: the program did not come to its end."""
    log: Mapping[str, HostLog]
    """Host → its log; empty where NCCL logged nothing."""
    simulated: bool

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))

    def row(self, size_bytes: int) -> Row | None:
        """Give the row of a message size; programs round sizes down to a multiple of their ranks."""
        near = [row for row in self.rows if abs(row.size_bytes - size_bytes) <= size_bytes // 100]
        return near[-1] if near else None


def parse(text: str) -> Output:
    """Read what one run printed, NCCL's log included. What is no line of either is left out."""
    ranks, rows, bounds, simulated = [], [], None, False
    logged: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := LOGGED.match(line):
            logged.setdefault(_short(match.group(1)), []).append(match.group(3))
        elif line.startswith("#"):
            if match := RANK.match(line):
                ranks.append(Rank(_short(match.group(2)), int(match.group(3)), match.group(5).strip()))
            elif match := BOUNDS.match(line):
                bounds = int(match.group(1))
            elif SIMULATED in line:
                simulated = True
        elif row := _row(line.split()):
            rows.append(row)
    return Output(tuple(ranks), tuple(rows), bounds, {host: read_log(lines) for host, lines in logged.items()}, simulated)


def read_log(lines: Sequence[str]) -> HostLog:
    """Read the lines that NCCL logged on one host, without their prefix."""
    networks, nics, by_environment, nvls = [], None, {}, None
    kept: list[str] = []
    channels = direct = 0
    near: dict[str, int | None] = {}
    together: set[int] = set()
    for line in lines:
        if match := NETWORK.search(line):
            networks.append(match.group(1))
        if match := FOUND_NICS.search(line):
            nics = int(match.group(1))
        elif match := USED_NICS.search(line):
            nics = len(re.findall(r"\[\d+\]", match.group(1)))
        if match := CHANNEL.search(line):
            channels, direct = channels + 1, direct + bool(match.group(3))
            kept.append(f"via NET/{match.group(1)}")
        elif TELLING.search(line):
            kept.append(line)
        if match := BY_ENVIRONMENT.search(line):
            by_environment[match.group(1)] = match.group(2)
        if "NVLS multicast support is" in line:
            nvls = "not available" not in line
        if match := AFFINITY.search(line):
            gpu, used, of_gpu, old_gpu, set_to = match.groups()
            cpus = read_cpus(used) if gpu else read_cpus(set_to, may_be_mask=True)
            near[gpu or old_gpu] = None if gpu and not of_gpu else len(cpus)
            together |= cpus
    return HostLog(tuple(dict.fromkeys(kept)), tuple(dict.fromkeys(networks)), nics, channels, direct, nvls, by_environment, near, len(together))


def read_cpus(text: str, *, may_be_mask: bool = False) -> frozenset[int]:
    """Read processors as NCCL logs them: a list (`0-3,8`) or `empty, ignoring`; in older versions a mask of hexadecimal words (`ff,00000000`)."""
    first, *others = text.split(",")
    if not re.fullmatch(r"[0-9a-f-]+", first):
        return frozenset()
    is_mask = may_be_mask and "-" not in text and all(len(word) == MASK_WORD for word in others)
    if is_mask:
        mask = int(text.replace(",", ""), 16)
        return frozenset(number for number in range(mask.bit_length()) if mask >> number & 1)
    ends = [[int(end) for end in part.split("-")] for part in (first, *others)]
    return frozenset(number for end in ends for number in range(end[0], end[-1] + 1))


def _row(words: Sequence[str]) -> Row | None:
    if len(words) != COLUMNS or not words[0].isdigit():
        return None
    try:
        wrong = [int(float(one)) for one in (words[8], words[12]) if one != "N/A"]
        return Row(int(words[0]), float(words[7]), sum(wrong) if wrong else None)
    except ValueError:
        return None


def _short(host: str) -> str:
    return host.partition(".")[0]

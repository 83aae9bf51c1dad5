"""nvidia-smi, simulated: the part of its command line that divides GPUs (MIG), with the driver's output form and refusals.

Its state is a file, `gpus.json` beside the program: what the driver would hold. `write` makes a host's folder with the program, the driver's files below /proc and /dev, and that state.

Sources: NVIDIA MIG User Guide, "Getting Started with MIG" and "Device Nodes and Capabilities" (profiles, placements and texts of A100-SXM4-40GB; minors in /proc/driver/nvidia-caps/mig-minors);
NVIDIA/DCGM#95 ("In use by another client" of an instance); NVIDIA/go-nvml#146 (tables of newer drivers). Read 2026-11-27. Which placement the driver takes, and so the numbers of instances, differs
between drivers: here it is the last that is free.
"""

import json
import sys
from pathlib import Path
from typing import Any

PROFILES: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "1g.5gb": (19, 1, (0, 1, 2, 3, 4, 5, 6)),
    "1g.10gb": (15, 2, (0, 2, 4, 6)),
    "2g.10gb": (14, 2, (0, 2, 4)),
    "3g.20gb": (9, 4, (0, 4)),
    "4g.20gb": (5, 4, (0,)),
    "7g.40gb": (0, 8, (0,)),
}
"""Name → number, memory slices, places where one may begin (`nvidia-smi mig -lgipp`)."""
COMPUTE_SLICES = 7
NUMBERS = {8: range(1), 4: range(1, 3), 2: range(3, 7), 1: range(7, 15)}
"""Numbers of GPU instances by their memory slices, as the guide's examples show them."""
IN_USE = "In use by another client"
COMPUTE_NUMBERS = {"1g": 0, "2g": 1, "3g": 2, "4g": 3, "7g": 4}
BUSES = ("00000000:36:00.0", "00000000:3B:00.0")
CAPABILITIES = "proc/driver/nvidia/capabilities"


def write(root: Path, *, minors: tuple[int, ...] = (0, 1), **changes: Any) -> Path:
    """Make a host with as many GPUs as it has minors; give the file of its state."""
    for name in ("usr/bin", "dev", "proc/driver/nvidia/gpus", CAPABILITIES):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "proc/devices").write_text("Character devices:\n195 nvidia\n237 nvidia-caps\n")
    for bus, minor in zip(BUSES, minors, strict=False):
        folder = root / "proc/driver/nvidia/gpus" / bus[4:].lower()
        folder.mkdir()
        (folder / "information").write_text(f"Model: \t\t NVIDIA A100-SXM4-40GB\nBus Location: \t {bus[4:].lower()}\nDevice Minor: \t {minor}\n")
        (root / f"dev/nvidia{minor}").touch()
    program = root / "usr/bin/nvidia-smi"
    program.write_text(f"#!{sys.executable} -IS\n{Path(__file__).read_text()}\nsys.exit(main(sys.argv[1:]))\n")
    program.chmod(0o755)
    state = root / "gpus.json"
    one = {"mode": "Disabled", "pending": "Disabled", "instances": {}, "clients": False, "can_reset": True, "used": [], **changes}
    state.write_text(json.dumps({"root": str(root), "gpus": [{**one, "minor": minor} for minor in minors[: len(BUSES)]], "calls": []}))
    return state


def main(words: list[str]) -> int:
    place = Path(__file__).resolve().parents[2] / "gpus.json"
    state = json.loads(place.read_text())
    state["calls"].append(words)
    status = answered(state, words)
    place.write_text(json.dumps(state))
    return status


def answered(state: dict[str, Any], words: list[str]) -> int:
    gpus = state["gpus"]
    if words == ["--query-gpu=index,pci.bus_id,mig.mode.current", "--format=csv,noheader"]:
        for number, gpu in enumerate(gpus):
            print(f"{number}, {BUSES[number]}, {gpu['mode']}")
        return 0
    match words:
        case ["-i", index, "-mig", ("0" | "1") as mode] if index.isdigit() and int(index) < len(gpus):
            return set_mode(gpus[int(index)], int(index), "Enabled" if mode == "1" else "Disabled")
        case ["mig", "-i", index, *rest] if index.isdigit() and int(index) < len(gpus):
            gpu = gpus[int(index)]
            if gpu["mode"] != "Enabled":
                print("No MIG-enabled devices found.")
                return 6
            match rest:
                case ["-lgi"]:
                    return list_instances(gpu, int(index))
                case ["-lci"]:
                    return list_computes(gpu, int(index))
                case ["-cgi", names, "-C"]:
                    return create(state, gpu, int(index), names.split(","))
                case ["-dci"]:
                    return destroy_computes(state, gpu, int(index))
                case ["-dgi"]:
                    return destroy(state, gpu, int(index))
    print(f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n{words}", file=sys.stderr)
    return 2


def set_mode(gpu: dict[str, Any], index: int, mode: str) -> int:
    word = "enable" if mode == "Enabled" else "disable"
    gpu["pending"] = mode
    if gpu["clients"]:
        print(f"Warning: MIG mode is in pending {word} state for GPU {BUSES[index]}:{IN_USE}")
        print(
            f"{BUSES[index]} is currently being used by one or more other processes (e.g. CUDA application or a monitoring application such as another instance of"
        )
        print("nvidia-smi). Please first kill all processes using the device and retry the command or reboot the system to make MIG mode effective.")
    elif not gpu["can_reset"]:
        print(f"Warning: MIG mode is in pending {word} state for GPU {BUSES[index]}:Not Supported")
        print(f"Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU {BUSES[index]}")
    else:
        if mode == "Disabled" and gpu["instances"]:
            raise AssertionError("MIG mode is turned off only when no instance is left")
        gpu["mode"] = mode
        print(f"{mode} MIG Mode for GPU {BUSES[index]}")
    print("All done.")
    return 0


def taken(gpu: dict[str, Any]) -> set[int]:
    return {place for one in gpu["instances"].values() for place in range(one["start"], one["start"] + PROFILES[one["profile"]][1])}


def create(state: dict[str, Any], gpu: dict[str, Any], index: int, names: list[str]) -> int:
    for name in names:
        if name not in PROFILES:
            print(f"Option \"--create-gpu-instance\" has invalid profile '{name}'.")
            return 2
    for name in names:
        number, size, places = PROFILES[name]
        free = [start for start in places if not taken(gpu) & set(range(start, start + size))]
        computed = sum(int(one["profile"][0]) for one in gpu["instances"].values())
        if not free or computed + int(name[0]) > COMPUTE_SLICES:
            print(f"Unable to create a GPU instance on GPU {index:2} using profile {number}: Insufficient Resources")
            print("Failed to create GPU instances: Insufficient Resources")
            return 19
        instance = next(one for one in NUMBERS[size] if str(one) not in gpu["instances"])
        gpu["instances"][str(instance)] = {"profile": name, "start": free[-1], "computes": [0]}
        capability(state, gpu, instance, "", 0)
        capability(state, gpu, instance, "ci0/", 1)
        print(f"Successfully created GPU instance ID {instance:2} on GPU {index:2} using profile MIG {name} (ID {number:2})")
        compute = COMPUTE_NUMBERS[name[:2]]
        print(f"Successfully created compute instance ID  0 on GPU {index:2} GPU instance ID {instance:2} using profile MIG {name} (ID {compute:2})")
    return 0


def capability(state: dict[str, Any], gpu: dict[str, Any], instance: int, inner: str, more: int) -> None:
    """Do what the driver does below /proc and /dev when there is an instance."""
    minor = 3 + 135 * gpu["minor"] + 9 * instance + more
    place = Path(state["root"]) / CAPABILITIES / f"gpu{gpu['minor']}/mig/gi{instance}/{inner}access"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
    device = Path(state["root"]) / f"dev/nvidia-caps/nvidia-cap{minor}"
    device.parent.mkdir(exist_ok=True)
    device.touch()


def forget(state: dict[str, Any], gpu: dict[str, Any], path: str) -> None:
    folder = Path(state["root"]) / CAPABILITIES / f"gpu{gpu['minor']}/mig" / path
    (folder / "access").unlink()
    folder.rmdir()


def destroy_computes(state: dict[str, Any], gpu: dict[str, Any], index: int) -> int:
    if not any(one["computes"] for one in gpu["instances"].values()):
        print("No compute instances found: Not Found")
        return 6
    for instance, one in gpu["instances"].items():
        for compute in list(one["computes"]):
            if int(instance) in gpu["used"]:
                print(f"Unable to destroy compute instance ID {compute:2} from GPU {index:2} GPU instance ID {int(instance):2}: {IN_USE}")
                print(f"Failed to destroy compute instances: {IN_USE}")
                return 19
            one["computes"].remove(compute)
            forget(state, gpu, f"gi{instance}/ci{compute}")
            print(f"Successfully destroyed compute instance ID {compute:2} from GPU {index:2} GPU instance ID {int(instance):2}")
    return 0


def destroy(state: dict[str, Any], gpu: dict[str, Any], index: int) -> int:
    if not gpu["instances"]:
        print("No GPU instances found: Not Found")
        return 6
    for instance in list(gpu["instances"]):
        if gpu["instances"][instance]["computes"]:
            print(f"Unable to destroy GPU instance ID {int(instance):2} from GPU {index:2}: {IN_USE}")
            print(f"Failed to destroy GPU instances: {IN_USE}")
            return 19
        del gpu["instances"][instance]
        forget(state, gpu, f"gi{instance}")
        print(f"Successfully destroyed GPU instance ID {int(instance):2} from GPU {index:2}")
    return 0


def list_instances(gpu: dict[str, Any], index: int) -> int:
    if not gpu["instances"]:
        print("No GPU instances found: Not Found")
        return 6
    line = f"+{'-' * 55}+"
    print(line)
    print("| GPU instances:                                        |")
    print("| GPU   Name             Profile  Instance   Placement  |")
    print("|                          ID       ID       Start:Size |")
    print(f"|{'=' * 55}|")
    for instance, one in sorted(gpu["instances"].items(), key=lambda row: PROFILES[row[1]["profile"]][0], reverse=True):
        number, size, _ = PROFILES[one["profile"]]
        print(f"|{index:4}  MIG {one['profile']:<15}{number:4}{int(instance):9}{one['start']:11}:{size}     |\n{line}")
    return 0


def list_computes(gpu: dict[str, Any], index: int) -> int:
    found = [(int(instance), one["profile"], compute) for instance, one in gpu["instances"].items() for compute in one["computes"]]
    if not found:
        print("No compute instances found: Not Found")
        return 6
    line = f"+{'-' * 68}+"
    print(line)
    print("| Compute instances:                                                 |")
    print("| GPU     GPU       Name             Profile   Instance   Placement  |")
    print("|       Instance                       ID        ID       Start:Size |")
    print("|         ID                                                         |")
    print(f"|{'=' * 68}|")
    for instance, profile, compute in found:
        size = int(profile[0])
        print(f"|{index:4}{instance:7}       MIG {profile:<15}{COMPUTE_NUMBERS[profile[:2]]:5}{compute:10}{0:11}:{size}     |\n{line}")
    return 0

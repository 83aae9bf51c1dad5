"""What an image holds for its kernel is one set, or no image: each way in which it may not be."""

import copy
import importlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog
from tests.playbooks import templates

KERNEL = "6.8.0-1063-aws"
VERSIONS = {
    "kernel": KERNEL,
    "driver": "580.178.04",
    "cuda": "13.0.2",
    "nccl": "2.30.4",
    "efa_installer": "1.50.0",
    "lustre_client": "2.15.6-1fsx34",
    "mountpoint": "1.24.0",
}
GOOD: dict[str, Any] = {
    "kernels": [KERNEL],
    "images": [KERNEL],
    "modules": {
        "nvidia": {"version": "580.178.04", "release": KERNEL},
        "nvidia_uvm": {"version": "", "release": KERNEL},
        "efa": {"version": "", "release": KERNEL},
        "lustre": {"version": "2.15.6", "release": KERNEL},
        "lnet": {"version": "0.7.0", "release": KERNEL},
    },
    "driver_library": "580.178.04",
    "fabric_manager": "580.178.04",
    "efa_installer": "1.50.0",
    "fi_info": True,
    "nccl_library": "2.30.4",
    "nccl_plugin_fails": "",
    "nccl_scripts": [],
    "mount_lustre": True,
    "mountpoint": "1.24.0",
}
ON_GOOGLE = {
    "kernel": "6.14.0-1021-gcp",
    "driver": "580",
    "gib": "1.1.0",
    "tcpxo": "1.0.17",
    "rxdm": "1.0.23",
    "dmabuf_import_helper": "1.1",
    "gcsfuse": "3.11.1",
    "nccl_tests": "2.17.6",
}
OTHER = "7.0.0-1018-aws"
BROKEN: list[tuple[dict[str, Any], str]] = [
    # what is different, the one sentence that says so
    ({"kernels": [OTHER], "images": [OTHER]}, f"the kernel {KERNEL} is not installed; there is {OTHER}"),
    ({"images": []}, f"the kernel {KERNEL} is not installed; there is {KERNEL}"),
    ({"kernels": [KERNEL, OTHER]}, f"beside the kernel {KERNEL} there is {OTHER}, and a host would start the newest"),
    ({"images": [KERNEL, OTHER]}, f"beside the kernel {KERNEL} there is {OTHER}, and a host would start the newest"),
    (
        {"modules.nvidia": {"version": "580.178.04", "release": OTHER}},
        f"the module nvidia was built for the kernel {OTHER}, and would not be loaded by {KERNEL}",
    ),
    ({"modules.nvidia_uvm": None}, f"the kernel {KERNEL} has no module nvidia_uvm"),
    ({"driver_library": "580.159.03"}, "the driver's library (libcuda.so) is of version 580.159.03, and the module of 580.178.04"),
    ({"driver_library": ""}, "the driver's library (libcuda.so) is of version none, and the module of 580.178.04"),
    (
        {"fabric_manager": "580.173.02"},
        "fabric manager is of version 580.173.02, and the driver of 580.178.04; NVLink between GPUs of one machine would not come up",
    ),
    ({"fabric_manager": ""}, "fabric manager is of version none, and the driver of 580.178.04; NVLink between GPUs of one machine would not come up"),
    ({"modules.efa": None}, f"the kernel {KERNEL} has no module efa"),
    ({"efa_installer": "1.49.0"}, "the EFA installer that ran is 1.49.0, and the profile's is 1.50.0"),
    ({"fi_info": False}, "libfabric does not run: /opt/amazon/efa/bin/fi_info gives no version"),
    (
        {"nccl_plugin_fails": "OSError: libhwloc.so.15: cannot open shared object file"},
        "NCCL's plugin libnccl-net.so can't be loaded (OSError: libhwloc.so.15: cannot open shared object file); NCCL would use TCP and say nothing",
    ),
    ({"nccl_library": "2.27.5"}, "the NCCL that programs load (libnccl.so.2) is of version 2.27.5, and the profile's is 2.30.4"),
    ({"nccl_library": ""}, "the NCCL that programs load (libnccl.so.2) is of version none, and the profile's is 2.30.4"),
    ({"modules.lustre": None}, f"the kernel {KERNEL} has no module lustre"),
    ({"modules.lnet": {"version": "", "release": OTHER}}, f"the module lnet was built for the kernel {OTHER}, and would not be loaded by {KERNEL}"),
    ({"modules.lustre": {"version": "2.12.8", "release": KERNEL}}, "the module lustre is of version 2.12.8, and the profile's client is 2.15.6-1fsx34"),
    ({"mount_lustre": False}, "/usr/sbin/mount.lustre is missing: nothing could mount a Lustre file system"),
    ({"mountpoint": ""}, "Mountpoint for S3 says that it is nothing, and the profile's is 1.24.0"),
]


@pytest.fixture(scope="module", autouse=True)
def module_utils() -> None:
    """Let modules import the project's module_utils as they do on hosts."""
    import ansible.module_utils

    if str(templates.PLAYBOOKS / "module_utils") not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(str(templates.PLAYBOOKS / "module_utils"))


def problems(versions: dict[str, str], *, has_base: bool = False, **changes: Any) -> list[str]:
    found = copy.deepcopy(GOOD)
    for name, value in changes.items():
        part, _, key = name.partition(".")
        if key:
            found[part][key] = value
        else:
            found[part] = value
    said: list[str] = importlib.import_module("fitting_set").problems(versions, found, has_base=has_base)
    return said


def test_a_set_that_fits_has_no_problem() -> None:
    assert problems(VERSIONS) == []
    assert problems({**VERSIONS, "driver": "580"}) == [], "a branch is what any driver of it is"


@pytest.mark.parametrize(("changes", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_what_does_not_fit_is_said_once(changes: dict[str, Any], said: str) -> None:
    assert problems(VERSIONS, **changes) == [said]


def test_another_driver_is_told_from_libraries_that_are_not_its_own() -> None:
    module: dict[str, Any] = {"modules.nvidia": {"version": "580.159.03", "release": KERNEL}}
    assert problems(VERSIONS, **module, driver_library="580.159.03", fabric_manager="580.159.03") == [
        "the module nvidia is of version 580.159.03, and the profile's driver is 580.178.04"
    ]
    assert len(problems({**VERSIONS, "driver": "580"}, **module)) == 2, "of one branch and yet not of one version"


def test_a_base_image_without_switches_has_no_fabric_manager_and_one_that_has_it_has_it_of_the_driver() -> None:
    versions = {"kernel": KERNEL, "driver": "580"}
    assert problems(versions, has_base=True, fabric_manager="") == []
    assert len(problems(versions, has_base=True, fabric_manager="580.173.02")) == 1
    assert len(problems(versions, has_base=True, driver_library="")) == 1
    assert len(problems(versions, fabric_manager="")) == 1, "the roles install it"


def test_what_carries_gpu_traffic_on_google_cloud_is_of_the_base_image_s_kernel() -> None:
    kernel = ON_GOOGLE["kernel"]
    module = {"version": "580.105.08", "release": kernel}
    there = {name: {"version": "", "release": kernel} for name in ("nvidia_uvm", "mlx5_ib", "import_helper")}
    good: dict[str, Any] = {
        "kernels": [kernel],
        "images": [kernel],
        "modules": {"nvidia": module, **there},
        "nccl_scripts": ["gib", "tcpxo"],
        "driver_library": "580.105.08",
        "fabric_manager": "",
        "gcsfuse": "3.11.1",
        "nccl_tests_miss": {"gib": [], "tcpxo": []},
    }
    assert problems(ON_GOOGLE, has_base=True, **good) == []
    broken: list[tuple[dict[str, Any], str]] = [
        ({"nccl_scripts": ["tcpxo"]}, "/usr/local/gib/scripts/set_nccl_env.sh is missing: jobs would run without NCCL's plugin, and say nothing"),
        ({"nccl_scripts": ["gib"]}, "/var/lib/tcpxo/lib64/nccl-env-profile.sh is missing: jobs would run without NCCL's plugin, and say nothing"),
        ({"modules": {**good["modules"], "import_helper": None}}, f"the kernel {kernel} has no module import_helper"),
        ({"gcsfuse": ""}, "Cloud Storage FUSE says that it is nothing, and the profile's is 3.11.1"),
        ({"gcsfuse": "3.1.0"}, "Cloud Storage FUSE says that it is 3.1.0, and the profile's is 3.11.1"),
        (
            {"nccl_tests_miss": {"gib": [], "tcpxo": ["ncclCommWindowRegister"]}},
            "nccl-tests does not load with the libraries in /var/lib/tcpxo/lib64, which jobs use: ncclCommWindowRegister is missing there",
        ),
        ({"nccl_tests_miss": {"gib": None, "tcpxo": []}}, "there is no program /usr/lib/clusterwright/nccl-tests/*_perf"),
        ({"modules": {**good["modules"], "mlx5_ib": None}}, f"the kernel {kernel} has no module mlx5_ib"),
    ]
    for change, said in broken:
        assert problems(ON_GOOGLE, has_base=True, **{**good, **change}) == [said]


def test_the_parts_of_google_s_profile_are_those_that_are_tested_here() -> None:
    asked = dict(catalog.software("ubuntu-24.04-gcp").versions)
    assert {name: version for name, version in ON_GOOGLE.items() if name != "kernel"}.items() <= asked.items()


@pytest.mark.parametrize(("code", "version"), [(23004, "2.30.4"), (22907, "2.29.7"), (21805, "2.18.5"), (None, "")])
def test_nccl_says_itself_which_one_programs_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None, version: str) -> None:
    if code is not None:
        source = f"int ncclGetVersion(int *version) {{ *version = {code}; return 0; }}"
        words = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(tmp_path / "libnccl.so.2")]
        subprocess.run(words, input=source, text=True, check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert importlib.import_module("ansible.module_utils.kernel_set").nccl_library() == version


def test_programs_that_were_built_with_a_newer_nccl_than_a_plugin_brings_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def library(folder: str, code: str) -> str:
        (tmp_path / folder).mkdir()
        words = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-Wl,-soname,libnccl.so.2", "-o", str(tmp_path / folder / "libnccl.so.2")]
        subprocess.run(words, input=code, text=True, check=True)
        return str(tmp_path / folder)

    older = library("older", "void ncclAllReduce(void) {}")
    newer = library("newer", "void ncclAllReduce(void) {} void ncclCommWindowRegister(void) {}")
    kernel_set = importlib.import_module("ansible.module_utils.kernel_set")
    monkeypatch.setattr(kernel_set, "NCCL_TESTS", f"{tmp_path}/*_perf")
    assert kernel_set.nccl_tests_miss(newer) is None
    code = "void ncclAllReduce(void); void ncclCommWindowRegister(void); int main(void) { ncclAllReduce(); ncclCommWindowRegister(); }"
    words = ["gcc", "-x", "c", "-", "-o", str(tmp_path / "all_reduce_perf"), f"-L{newer}", "-l:libnccl.so.2"]
    subprocess.run(words, input=code, text=True, check=True)
    assert kernel_set.nccl_tests_miss(newer) == []
    assert kernel_set.nccl_tests_miss(older) == ["ncclCommWindowRegister"]
    assert "libnccl.so.2" in kernel_set.nccl_tests_miss(str(tmp_path / "nothing"))


def test_programs_are_tried_with_the_libraries_that_the_fabric_s_jobs_load() -> None:
    folders = importlib.import_module("ansible.module_utils.kernel_set").NCCL_LIBRARIES
    assert folders == {part: dict(catalog.fabrics()[f"gcp-{part}"].environment)["LD_LIBRARY_PATH"] for part in ("gib", "tcpxo")}


@pytest.mark.parametrize("part", ["driver", "efa_installer", "nccl", "lustre_client", "mountpoint"])
def test_what_the_profile_does_not_name_is_not_looked_for(part: str) -> None:
    versions = {name: version for name, version in VERSIONS.items() if name != part}
    modules = importlib.import_module("fitting_set").MODULES
    gone: dict[str, Any] = {f"modules.{name}": None for name in modules.get(part, ())}
    missing: dict[str, dict[str, Any]] = {
        "driver": {"driver_library": "", "fabric_manager": ""},
        "efa_installer": {"efa_installer": "", "fi_info": False, "nccl_plugin_fails": "gone"},
        "nccl": {"nccl_library": ""},
        "lustre_client": {"mount_lustre": False},
        "mountpoint": {"mountpoint": ""},
    }
    assert problems(versions, **gone, **missing[part]) == []


def test_the_set_of_the_profile_is_the_one_that_is_tested_here() -> None:
    asked = dict(catalog.software("ubuntu-24.04-aws").versions)
    assert VERSIONS.items() <= asked.items()


DEVICES = {
    # name of a machine → devices (vendor, class), and what is done there
    "no GPU": ([("0x1d0f", "0x020000")], []),
    "another maker's": ([("0x1002", "0x030000")], []),
    "one GPU": ([("0x10de", "0x030200")], ["modprobe nvidia", "modprobe nvidia-uvm", "systemctl start nvidia-persistenced.service"]),
    "GPUs and switches": (
        [("0x10de", "0x030200"), ("0x10de", "0x068000")],
        ["modprobe nvidia", "modprobe nvidia-uvm", "systemctl start nvidia-persistenced.service", "systemctl start nvidia-fabricmanager.service"],
    ),
}


def gpu_start(folder: Path, devices: list[tuple[str, str]], *, failing: str = "") -> tuple[int, list[str]]:
    """Run the program on a machine with these devices; give its status and what it called."""
    for number, (vendor, kind) in enumerate(devices):
        device = folder / "devices" / f"0000:00:{number:02x}.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    (folder / "bin").mkdir()
    for name in ("modprobe", "systemctl"):
        (folder / "bin" / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{folder}/calls\ncase "$*" in "{failing or "-"}") exit 1 ;; esac\n')
        (folder / "bin" / name).chmod(0o755)
    program = templates.PLAYBOOKS / "roles" / "gpu_driver" / "files" / "gpu-start.sh"
    settings = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PCI_DEVICES": str(folder / "devices")}
    ended = subprocess.run(["sh", str(program)], env=settings, check=False, timeout=30)
    calls = folder / "calls"
    return ended.returncode, calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.parametrize("machine", DEVICES)
def test_gpus_are_brought_up_where_there_are_some(tmp_path: Path, machine: str) -> None:
    devices, done = DEVICES[machine]
    assert gpu_start(tmp_path, devices) == (0, done)


def test_gpus_that_do_not_come_up_fail_the_start(tmp_path: Path) -> None:
    devices, _ = DEVICES["GPUs and switches"]
    status, calls = gpu_start(tmp_path, devices, failing="start nvidia-fabricmanager.service")
    assert status != 0
    assert calls[-1] == "systemctl start nvidia-fabricmanager.service"
    (tmp_path / "second").mkdir()
    status, calls = gpu_start(tmp_path / "second", devices, failing="nvidia")
    assert (status, calls) == (1, ["modprobe nvidia"])

"""Say what of a software profile is missing in an image, of another version, or built for another kernel."""

from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils import kernel_set
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: fitting_set
short_description: Say whether kernel, driver, fabric and file systems of an image are one set
description:
  - A driver of another version than its libraries, a fabric manager of another version than the driver, or a file system's client that was built for another
    kernel shows only on the first node with GPUs, hours later. All of that stands in the files of the image, and is compared here before it is one.
options:
  versions:
    description: What the software profile asks for, by name; parts that it doesn't name are not looked for.
    type: dict
    required: true
  base_image:
    description: Whether the image that the bake began with brought the kernel and the driver. The kernel is then the one that the machine runs.
    type: bool
    default: false
  libraries:
    description: Whether the image brings NCCL from NVIDIA's archive; otherwise jobs or a plugin bring it, and it is not looked for.
    type: bool
    default: false
"""
RETURN = r"""
problems:
  description: What doesn't fit, a sentence each without a full stop.
  returned: always
  type: list
  elements: str
"""

MODULES = {
    "driver": ("nvidia", "nvidia_uvm"),
    "efa_installer": ("efa",),
    "gib": ("mlx5_ib",),
    "dmabuf_import_helper": ("import_helper",),
    "lustre_client": ("lustre", "lnet"),
}
"""Part of a profile → modules that the kernel must have for it."""


def main() -> None:
    flag = {"type": "bool", "default": False}
    spec = {"versions": {"type": "dict", "required": True}, "base_image": flag, "libraries": flag}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    has_base = module.params["base_image"]
    versions = {**module.params["versions"], **({"kernel": kernel_set.release()} if has_base else {})}
    if not module.params["libraries"]:
        versions.pop("nccl", None)
    names = tuple(name for part in MODULES if part in versions for name in MODULES[part])
    found = kernel_set.read(versions["kernel"], names, tuple(versions)) if "kernel" in versions else {}
    module.exit_json(changed=False, problems=problems(versions, found, has_base=has_base), found=found)


def problems(versions: Mapping[str, str], found: Mapping[str, Any], *, has_base: bool = False) -> list[str]:
    """Compare what an image holds (`kernel_set.read`) with what the profile asks for. Pure.

    Args:
        has_base: a base image brought the driver; it has fabric manager only where its machines need it.
    """
    if "kernel" not in versions:
        return []
    return [
        *_kernel(versions, found),
        *_driver(versions, found, has_base=has_base),
        *_efa(versions, found),
        *_nccl(versions, found),
        *_google(versions, found),
        *_lustre(versions, found),
        *_mountpoint(versions, found),
        *_gcsfuse(versions, found),
    ]


def fits(actual: str, asked: str) -> bool:
    """Say whether a version is the one asked for, or of the branch asked for (`580` for `580.178.04`)."""
    return actual == asked or actual.startswith(f"{asked}.")


def _kernel(versions: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    kernel = versions["kernel"]
    if kernel not in found["kernels"] or kernel not in found["images"]:
        yield f"the kernel {kernel} is not installed; there is {_listed({*found['kernels'], *found['images']})}"
    elif others := {*found["kernels"], *found["images"]} - {kernel}:
        yield f"beside the kernel {kernel} there is {_listed(others)}, and a host would start the newest"


def _driver(versions: Mapping[str, str], found: Mapping[str, Any], *, has_base: bool) -> Iterator[str]:
    if "driver" not in versions:
        return
    driver = versions["driver"]
    yield from _modules("driver", versions, found)
    module = found["modules"]["nvidia"]
    if module and not fits(module["version"], driver):
        yield f"the module nvidia is of version {module['version'] or 'unknown'}, and the profile's driver is {driver}"
    # All three speak to each other in their own version alone.
    exact = module["version"] if module else driver
    if not fits(found["driver_library"], exact):
        yield f"the driver's library (libcuda.so) is of version {found['driver_library'] or 'none'}, and the module of {exact}"
    if not (has_base and not found["fabric_manager"]) and not fits(found["fabric_manager"], exact):
        yield f"fabric manager is of version {found['fabric_manager'] or 'none'}, and the driver of {exact}; NVLink between GPUs of one machine would not come up"


def _efa(versions: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    if "efa_installer" not in versions:
        return
    yield from _modules("efa_installer", versions, found)
    if not fits(found["efa_installer"], versions["efa_installer"]):
        yield f"the EFA installer that ran is {found['efa_installer'] or 'none'}, and the profile's is {versions['efa_installer']}"
    if not found["fi_info"]:
        yield f"libfabric does not run: {kernel_set.FI_INFO} gives no version"
    if found["nccl_plugin_fails"]:
        yield f"NCCL's plugin {kernel_set.NCCL_PLUGIN} can't be loaded ({found['nccl_plugin_fails']}); NCCL would use TCP and say nothing"


def _nccl(versions: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    if "nccl" in versions and not fits(found["nccl_library"], versions["nccl"]):
        yield f"the NCCL that programs load (libnccl.so.2) is of version {found['nccl_library'] or 'none'}, and the profile's is {versions['nccl']}"


def _google(versions: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    """Look at what carries GPU traffic on Google Cloud."""
    for part in ("gib", "dmabuf_import_helper"):
        if part in versions:
            yield from _modules(part, versions, found)
    for part, script in kernel_set.NCCL_SCRIPTS.items():
        if part in versions and part not in found["nccl_scripts"]:
            yield f"{script} is missing: jobs would run without NCCL's plugin, and say nothing"
    for part, missed in found["nccl_tests_miss"].items() if "nccl_tests" in versions else ():
        if missed is None:
            yield f"there is no program {kernel_set.NCCL_TESTS}"
        elif missed:
            yield f"nccl-tests does not load with the libraries in {kernel_set.NCCL_LIBRARIES[part]}, which jobs use: {', '.join(missed)} is missing there"


def _lustre(versions: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    if "lustre_client" not in versions:
        return
    yield from _modules("lustre_client", versions, found)
    module, upstream = found["modules"]["lustre"], versions["lustre_client"].split("-")[0]
    if module and not fits(module["version"], upstream):
        yield f"the module lustre is of version {module['version'] or 'unknown'}, and the profile's client is {versions['lustre_client']}"
    if not found["mount_lustre"]:
        yield f"{kernel_set.MOUNT_LUSTRE} is missing: nothing could mount a Lustre file system"


def _mountpoint(versions: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    if "mountpoint" in versions and not fits(found["mountpoint"], versions["mountpoint"]):
        yield f"Mountpoint for S3 says that it is {found['mountpoint'] or 'nothing'}, and the profile's is {versions['mountpoint']}"


def _gcsfuse(versions: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    if "gcsfuse" in versions and not fits(found["gcsfuse"], versions["gcsfuse"]):
        yield f"Cloud Storage FUSE says that it is {found['gcsfuse'] or 'nothing'}, and the profile's is {versions['gcsfuse']}"


def _modules(part: str, versions: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    kernel = versions["kernel"]
    for name in MODULES[part]:
        module = found["modules"][name]
        if module is None:
            yield f"the kernel {kernel} has no module {name}"
        elif module["release"] != kernel:
            yield f"the module {name} was built for the kernel {module['release']}, and would not be loaded by {kernel}"


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


if __name__ == "__main__":
    main()

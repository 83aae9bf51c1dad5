"""Which hosts an upgrade of Kubernetes changes, which it refuses, and that its programs have no known fault."""

import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.playbooks import templates

ROLE = templates.PLAYBOOKS / "roles" / "kube_upgrade"
WANTED = "1.35.4"


def decided(**found: Any) -> dict[str, Any]:
    """Decide by the role's own expressions what becomes of a host."""
    seen = {"member": True, "begun": "", "kubelet": WANTED, "api": "", "cluster": "", **found}
    known: dict[str, Any] = {"spec": {"kubernetes": {"version": WANTED}}, "kube_upgrade_found": {"stdout": yaml.safe_dump(seen)}}
    for task in yaml.safe_load((ROLE / "tasks" / "main.yml").read_text(encoding="utf-8")):
        of_task: dict[str, Any] = {"inventory_hostname": "kubernetes-0"}
        for name, text in task.get("vars", {}).items():
            of_task[name] = templates.evaluate(text, **known, **of_task)
        for name, text in task.get("ansible.builtin.set_fact", {}).items():
            known[name] = templates.evaluate(text, **known, **of_task)
        if demanded := task.get("ansible.builtin.assert"):
            met = templates.evaluate("{{ " + demanded["that"] + " }}", **known, **of_task)
            known |= {"is_allowed": met or not known["kube_upgrade_is_due"], "page": templates.evaluate(demanded["fail_msg"], **known, **of_task)}
    return known


@pytest.mark.parametrize(
    ("found", "is_due", "before"),
    [
        ({"member": False, "kubelet": ""}, False, WANTED),
        ({"member": False, "kubelet": "1.34.4"}, False, "1.34.4"),  # it joins with the wanted version
        ({}, False, WANTED),
        ({"kubelet": "1.34.4"}, True, "1.34.4"),
        ({"kubelet": "1.32.9"}, True, "1.32.9"),  # a node may be three minor versions behind
        ({"begun": "1.34.4"}, True, WANTED),  # killed between its program and its end
        ({"api": "1.34.4", "cluster": "1.34.4", "kubelet": "1.34.4"}, True, "1.34.4"),
        ({"api": WANTED, "cluster": WANTED, "kubelet": "1.34.4"}, True, "1.34.4"),
        ({"api": WANTED, "cluster": "1.34.4"}, True, "1.34.4"),  # restored from a snapshot before the upgrade
        ({"api": WANTED, "cluster": ""}, False, WANTED),  # its API server does not answer
        ({"api": WANTED, "cluster": WANTED}, False, WANTED),
    ],
)
def test_what_differs_from_the_wanted_version_is_upgraded(found: dict[str, Any], is_due: bool, before: str) -> None:
    seen = decided(**found)
    assert seen["kube_upgrade_is_due"] is is_due
    assert seen["kube_upgrade_from"] == before
    assert seen["is_allowed"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"api": "1.36.3", "cluster": "1.36.3", "kubelet": "1.35.4"}, "Write 1.36.3 as"),
        ({"api": WANTED, "cluster": "1.36.3"}, "Write 1.36.3 as"),
        ({"kubelet": "1.36.3"}, "Write 1.36.3 as"),
        ({"api": "1.35.9", "cluster": "1.35.9", "kubelet": "1.35.9"}, "Write 1.35.9 as"),
        ({"api": "1.33.1", "cluster": "1.33.1", "kubelet": "1.33.1"}, "Write 1.34 as"),
    ],
)
def test_no_host_goes_back_and_no_control_plane_skips_a_minor_version(found: dict[str, Any], words: str) -> None:
    seen = decided(**found)
    assert not seen["is_allowed"]
    assert words in seen["page"]
    assert "Nothing was changed" in seen["page"]


@pytest.mark.parametrize("group", ["kubernetes", "compute"])
@pytest.mark.parametrize("template", sorted(path.name for path in (ROLE / "templates").glob("*.sh.j2")))
def test_its_programs_have_no_known_fault(template: str, group: str) -> None:
    known = {"spec": {"kubernetes": {"version": WANTED}}, "provided": {"releases": "/releases", "release": "one", "rehearsal": True}}
    of_host = {"inventory_hostname": "host-0", "group_names": [group], "kube_upgrade_from": "1.34.4", "kubeadm_control_seed": "host-0"}
    check(templates.render(template, role="kube_upgrade", **known, **of_host))


def test_the_program_that_looks_has_no_known_fault() -> None:
    check((ROLE / "files" / "found.sh").read_text(encoding="utf-8"))


def check(text: str) -> None:
    program = pathlib.Path(sys.executable).with_name("shellcheck")
    ended = subprocess.run([str(program), "--shell=sh", "-"], input=text, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout

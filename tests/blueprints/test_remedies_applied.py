"""What a finding advises, done to the letter: the finding is gone, and no error is there instead."""

import pathlib

import pytest

from blueprints import finding, load
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
BLUEPRINTS = {
    "aws": """name: trial
access: {ACCESS}
network: {region: us-east-1, zones: [us-east-1a], CIDR}
storage:
  home: {HOME, mount: /home}
  data: {kind: lustre, mount: /data, size: 2400 GiB, protect: false, DATA}
pools:
  train: {MACHINE, nodes: 4, partition: {default: true, max_time: 1-00:00:00}}
""",
    "gcp": """name: trial
access: {ACCESS}
network: {NETWORK}
storage:
  home: {kind: nfs, mount: /home, size: 1 TiB}
pools:
  train: {MACHINE, nodes: 4, partition: {default: true, max_time: 1-00:00:00}}
""",
    "metal": """name: trial
scheduler: kubernetes
software: ubuntu-24.04-metal
storage: {STORAGE}
kubernetes: {addons: {ADDONS}}
pools: {train: {nodes: 1}}
accounts: {research: {}}
users: {ada: {uid: 2001, account: research}}
""",
    "local": "name: trial\ndescription: TEXT\npools: {train: {nodes: 1}}\n",
}
"""Each has places in capitals."""
USUAL = {
    "STORAGE": "",
    "ADDONS": "",
    "CIDR": "cidr: 10.80.0.0/16",
    "HOME": "kind: nfs",
    "ACCESS": "login_nodes: 2, allowed_cidrs: [203.0.113.7/32]",
    "DATA": "durability: persistent",
    "MACHINE": "accelerator: h100, gpus_per_node: 8",
    "NETWORK": "region: us-central1, zones: [us-central1-a]",
    "TEXT": "one",
}


def findings(path: pathlib.Path, target: str, **places: str) -> tuple[finding.Finding, ...]:
    text = BLUEPRINTS[target]
    for place, written in {**USUAL, **places}.items():
        text = text.replace(place, written)
    path.write_text(text)
    try:
        return load.examine(str(path), target=target, stack="t", facts=FACTS).findings
    except finding.Invalid as invalid:
        return invalid.findings


ONE, CIDRS = "login_nodes: 1", "allowed_cidrs: [203.0.113.7/32]"
CASES = [
    ("aws", "ACCESS", "login_nodes: 2", Code.ACCESS_UNREACHABLE, f"write `{CIDRS}` under", f"login_nodes: 2, {CIDRS}"),
    ("aws", "ACCESS", "login_nodes: 0", Code.ACCESS_UNREACHABLE, f"write `{ONE}` and `{CIDRS}` under", f"{ONE}, {CIDRS}"),
    ("aws", "ACCESS", f"login_nodes: 0, {CIDRS}", Code.ACCESS_UNREACHABLE, f"write `{ONE}` under `access`", f"{ONE}, {CIDRS}"),
    ("aws", "CIDR", "cidr: 10.9.0.0/28", Code.CIDR_TOO_SMALL, "write `10.9.0.0/26` or a larger network", "cidr: 10.9.0.0/26"),
    ("aws", "HOME", "kind: nfs, quotas: {user: 1 TiB}", Code.QUOTAS_NOT_ENFORCED, "write `kind: lustre` or", "kind: lustre, quotas: {user: 1 TiB}"),
    ("aws", "HOME", "kind: nfs, quotas: {user: 1 TiB}", Code.QUOTAS_NOT_ENFORCED, "or `kind: block`", "kind: block, size: 2 TiB, quotas: {user: 1 TiB}"),
    ("aws", "HOME", "kind: nfs, size: 0 GiB", Code.SIZE_FORM, "write `1 GiB` or more", "kind: nfs, size: 1 GiB"),
    ("aws", "DATA", "durability: scratch, on_delete: snapshot", Code.BACKUP_IMPOSSIBLE, "or remove `on_delete: snapshot`", "durability: scratch"),
    ("aws", "DATA", "durability: scratch, on_delete: snapshot", Code.BACKUP_IMPOSSIBLE, "write `durability: persistent`", "on_delete: snapshot"),
    ("aws", "DATA", "durability: scratch, backup_days: 7", Code.BACKUP_IMPOSSIBLE, "or remove `backup_days: 7`", "durability: scratch"),
    (
        *("aws", "DATA", "durability: scratch, backup_days: 7, on_delete: snapshot", Code.BACKUP_IMPOSSIBLE),
        *("or remove `backup_days: 7` and `on_delete: snapshot`", "durability: scratch"),
    ),
    (
        *("aws", "MACHINE", "accelerator: b200, gpus_per_node: 8", Code.SOFTWARE_CONFLICT),
        *("write `machine: p5en.48xlarge` instead of `accelerator` and `gpus_per_node`", "machine: p5en.48xlarge"),
    ),
    ("aws", "MACHINE", "machine: p6-b200.48xlarge", Code.SOFTWARE_CONFLICT, "write `machine: p5en.48xlarge` instead of `machine`", "machine: p5en.48xlarge"),
    (
        *("gcp", "NETWORK", "region: us-central1, zones: [us-central1-a, us-east4-a]", Code.ZONE_UNKNOWN),
        *("remove it, or write a zone of us-central1 in its place", "region: us-central1, zones: [us-central1-a]"),
    ),
    ("gcp", "NETWORK", "region: us-central1, zones: [us-east4-a]", Code.ZONE_UNKNOWN, "write `region: us-east4`", "region: us-east4, zones: [us-east4-a]"),
    ("metal", "STORAGE", "home: {kind: nfs, mount: /home}", Code.STORAGE_KIND_MISSING, "remove home: this version mounts no storage", ""),
    (
        *("metal", "ADDONS", "nvidia-gpu-operator: true", Code.ADDON_NOT_BUILT),
        *("remove `nvidia-gpu-operator`, write `nvidia-device-plugin: false`, and", "nvidia-device-plugin: false"),
    ),
    ("local", "TEXT", ">\n  one", Code.TEXT_FORM, "write it on the line of its key, without `>`", "one"),
    ("local", "TEXT", '"on\\u202Ee"', Code.TEXT_FORM, "take it out: it is character 3 of the text", '"one"'),
]


@pytest.mark.parametrize(("target", "place", "wrong", "code", "remedy", "right"), CASES)
def test_a_remedy_done_to_the_letter_is_accepted(target: str, place: str, wrong: str, code: Code, remedy: str, right: str, tmp_path: pathlib.Path) -> None:
    [advised] = [one for one in findings(tmp_path / "wrong.yaml", target, **{place: wrong}) if one.code is code]
    assert remedy in advised.remedy
    left = findings(tmp_path / "right.yaml", target, **{place: right})
    assert [one for one in left if one.code is code or one.level is finding.Level.ERROR] == []


def test_login_nodes_are_advised_the_machine_that_the_target_has_for_the_architecture(tmp_path: pathlib.Path) -> None:
    arm = "accelerator: gb200, gpus_per_node: 4, capacity: {kind: reserved, id: projects/our-project/zones/us-central1-a/reservations/gb}"
    here = {"MACHINE": arm, "NETWORK": "region: us-central1, zones: [us-central1-a]"}
    wrong = findings(tmp_path / "wrong.yaml", "gcp", ACCESS="machine: n2-standard-8, allowed_cidrs: [203.0.113.7/32]", **here)
    [advised] = [one for one in wrong if one.code is Code.LOGIN_ARCHITECTURE]
    assert advised.remedy.startswith("write `machine: c4a-standard-4` under `access`")
    right = findings(tmp_path / "right.yaml", "gcp", ACCESS="machine: c4a-standard-4, allowed_cidrs: [203.0.113.7/32]", **here)
    assert not [one for one in right if one.code is Code.LOGIN_ARCHITECTURE or one.level is finding.Level.ERROR]
    assert not [one for one in right if one.code is Code.SOFTWARE_NOT_BUILT]

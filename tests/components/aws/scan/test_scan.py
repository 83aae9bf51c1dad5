"""A scanner from outside finds nothing in what is registered on AWS but what is accepted, with its reason beside the code."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from tests.components.aws import programs
from tests.components.aws.scan import accepted, scanner, terraform
from tests.components.registered import Registered

COMPONENTS = project_root() / "components/aws"
KEY = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001"
LUSTRE = {"kind": "lustre", "size": "4800 GiB", "throughput": "250 MB/s/TiB"}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    # The library has neither buckets, nor disks of the controller, nor backups, nor keys of one's own.
    "stores": {
        "storage__sets": {"kind": "object", "mount": "/sets", "on_delete": "snapshot"},
        "storage__disk": {"kind": "block", "mount": "/disk", "size": "1 TiB"},
        "storage__data": {**LUSTRE, "mount": "/data", "exchange": {"bucket": "s3://sets/imagenet"}},
        "storage__home__backup_days": 14,
    },
    "keys": {
        "storage__sets": {"kind": "object", "mount": "/sets", "key": KEY},
        "storage__disk": {"kind": "block", "mount": "/disk", "size": "1 TiB", "key": KEY, "backup_days": 7},
        "storage__data": {**LUSTRE, "mount": "/data", "key": KEY},
        "storage__home": {"key": KEY, "backup_days": 14},
    },
    "public": {"access__allowed_cidrs": ["198.51.100.0/24"], "access__load_balancer": False},
    "endpoints": {"network__private_endpoints": True, "control__highly_available": True, "access__allowed_cidrs": ["198.51.100.0/24"]},
}
"""What the library leaves out, put over the starter."""

OTHER_ORDER = "-other-order"
"""Marks a plan whose security groups have their rules in the other order."""
PLANTED = "planted"

Inputs = dict[str, Any]


def _opened(inputs: Inputs) -> Inputs:
    rule = {"protocol": "tcp", "fromPort": 22, "toPort": 22, "cidrBlocks": ["0.0.0.0/0"], "description": "SSH"}
    return {**inputs, "ingress": [rule]}


def _all_allowed(inputs: Inputs) -> Inputs:
    return {**inputs, "policy": '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'}


def _metadata_without_tokens(inputs: Inputs) -> Inputs:
    return {**inputs, "metadataOptions": {**inputs["metadataOptions"], "httpTokens": "optional"}}


def _in_the_clear(inputs: Inputs) -> Inputs:
    return {**inputs, "encrypted": False}


def _policy_for_all(inputs: Inputs) -> Inputs:
    return {**inputs, "blockPublicPolicy": False}


def _public_addresses(inputs: Inputs) -> Inputs:
    return {**inputs, "mapPublicIpOnLaunch": True}


def _disk_in_the_clear(inputs: Inputs) -> Inputs:
    return {**inputs, "rootBlockDevice": {**inputs["rootBlockDevice"], "encrypted": False}}


FAULTS: tuple[tuple[str, Callable[[Inputs], Inputs], str, str], ...] = (
    ("aws_security_group.login-security-group", _opened, "CKV_AWS_24", "aws_security_group.login-security-group"),
    ("aws_ebs_volume.state-volume", _in_the_clear, "CKV_AWS_3", "aws_ebs_volume.state-volume"),
    ("aws_efs_file_system.home-file-system", _in_the_clear, "CKV_AWS_42", "aws_efs_file_system.home-file-system"),
    ("aws_instance.login-0", _disk_in_the_clear, "CKV_AWS_8", "aws_instance.login-0"),
    ("aws_instance.control-0", _metadata_without_tokens, "CKV_AWS_79", "aws_instance.control-0"),
    ("aws_launch_template.train-template", _metadata_without_tokens, "CKV_AWS_79", "aws_launch_template.train-template"),
    ("aws_iam_role_policy.control-policy", _all_allowed, "CKV_AWS_355", "aws_iam_role_policy.control-policy"),
    ("aws_s3_bucket_public_access_block.image-bucket", _policy_for_all, "CKV_AWS_54", "aws_s3_bucket_public_access_block.image-bucket"),
    ("aws_subnet.cluster-subnet", _public_addresses, "CKV_AWS_130", "aws_subnet.cluster-subnet"),
    # Of these two the scanner knows that they belong together.
    ("aws_default_security_group.default-security-group", _opened, "CKV2_AWS_12", "aws_vpc.vpc"),
)
"""A resource of the starter, what is done to it, and the finding that must come of it, with the resource that has it then."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scanned:
    resources: Mapping[str, Mapping[str, Registered]]
    """Plan → address → resource."""
    scan: scanner.Scan

    def of(self, plan: str) -> set[tuple[str, str]]:
        return {(one.code, one.address) for one in self.scan.found if one.plan == plan}


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Scanned:
    """Scan everything at once: most of the scanner's time is its own start."""
    installed = scanner.folder()
    if installed is None:
        missing = "the scanner is not installed: tools/setup scanner (needs a package index)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    registered = {blueprint: programs.library(blueprint).resources for blueprint in programs.BLUEPRINTS}
    registered |= {name: programs.program("starter", **overrides).resources for name, overrides in VARIANTS.items()}
    everything = {plan: [one for one in resources if one.type.startswith("aws:")] for plan, resources in registered.items()}
    everything[PLANTED] = [_planted(one) for one in programs.aws(programs.library("starter"))]
    plans = {plan: terraform.plan(resources) for plan, resources in everything.items()}
    turned = {plan: everything[plan] for plan in ("starter", *VARIANTS)}
    plans |= {f"{plan}{OTHER_ORDER}": terraform.plan(resources, own_rules_last=True) for plan, resources in turned.items()}
    everything |= {f"{plan}{OTHER_ORDER}": resources for plan, resources in turned.items()}
    addressed = {plan: {terraform.address(one): one for one in resources} for plan, resources in everything.items()}
    return Scanned(addressed, scanner.run(plans, installed=installed, work=tmp_path_factory.mktemp("scan")))


def _planted(one: Registered) -> Registered:
    for address, spoil, _, _ in FAULTS:
        if terraform.address(one) == address:
            return dataclasses.replace(one, inputs=spoil(dict(one.inputs)))
    return one


def made(scanned: Scanned, one: scanner.Found) -> dict[str, Any]:
    """Tell which call made the resource of a finding, and its name."""
    resource = scanned.resources[one.plan][one.address]
    file, line = accepted.call(resource.source)
    return {"file": file, "call": line, "code": one.code, "name": resource.name}


def test_nothing_is_found_that_is_not_accepted_beside_the_code(scanned: Scanned) -> None:
    known = accepted.of(COMPONENTS)
    open_ones = {
        f"{one.code} of {one.address} ({of['file']}:{of['call']}): {one.title}"
        for one in scanned.scan.found
        if not one.plan.startswith(PLANTED)
        for of in [made(scanned, one)]
        if not any(each.covers(**of) for each in known)
    }
    assert not open_ones, "\n".join(sorted(open_ones))


def test_nothing_is_accepted_that_is_not_found(scanned: Scanned) -> None:
    found = [made(scanned, one) for one in scanned.scan.found if not one.plan.startswith(PLANTED)]
    stale = {f"{one.file}:{one.call}: {one.code} {one.name}" for one in accepted.of(COMPONENTS) if not any(one.covers(**of) for of in found)}
    assert not stale, "\n".join(sorted(stale))


def test_an_open_rule_beside_one_for_the_group_itself_is_found(scanned: Scanned) -> None:
    """The scanner passes a group at its first rule that allows the group itself; the other order of the same rules shows what it left out."""
    finding = ("CKV_AWS_382", "aws_security_group.hosts-security-group")
    assert finding not in scanned.of("starter")
    assert finding in scanned.of(f"starter{OTHER_ORDER}")


@pytest.mark.parametrize(("spoiled", "code", "found"), [(spoiled, code, found) for spoiled, _, code, found in FAULTS])
def test_a_planted_fault_is_found_where_it_is(scanned: Scanned, spoiled: str, code: str, found: str) -> None:
    assert spoiled in scanned.resources[PLANTED]
    assert (code, found) in scanned.of(PLANTED)
    assert (code, found) not in scanned.of("starter")


def test_a_key_of_ones_own_reaches_everything_that_it_is_named_for(scanned: Scanned) -> None:
    stores = {
        ("CKV_AWS_145", "aws_s3_bucket.sets-bucket"),
        ("CKV_AWS_184", "aws_efs_file_system.home-file-system"),
        ("CKV_AWS_189", "aws_ebs_volume.disk-volume"),
        ("CKV_AWS_190", "aws_fsx_lustre_file_system.data-file-system"),
        ("CKV_AWS_166", "aws_backup_vault.backups"),
    }
    assert stores <= scanned.of("stores")
    assert not stores & scanned.of("keys")


def test_every_kind_of_resource_was_looked_at(scanned: Scanned) -> None:
    seen = {one.type for plan in scanned.resources.values() for one in plan.values()}
    assert seen == terraform.KINDS.keys()


def test_a_kind_that_nobody_translated_is_refused() -> None:
    (one, *_) = programs.aws(programs.library("starter"))
    with pytest.raises(KeyError, match="aws:new/thing:Thing"):
        terraform.plan([dataclasses.replace(one, type="aws:new/thing:Thing")])


def test_who_takes_its_value_from_whom_is_in_the_plan() -> None:
    plan = terraform.plan(programs.library("starter").resources)
    said = {one["address"]: one["expressions"] for one in plan["configuration"]["root_module"]["resources"]}
    assert said["aws_subnet.cluster-subnet"]["vpc_id"] == {"references": ["aws_vpc.vpc.id", "aws_vpc.vpc"]}
    assert said["aws_iam_role_policy.control-policy"]["role"] == {"references": ["aws_iam_role.control-role.id", "aws_iam_role.control-role"]}
    assert {"references": ["aws_s3_bucket.image-bucket.id", "aws_s3_bucket.image-bucket"]} in said["aws_s3_bucket_public_access_block.image-bucket"].values()


@pytest.mark.parametrize("written", ["# accepted: no code", "# accepted CKV_AWS_1 no reason", "# accepted CKV_AWS_1:"])
def test_an_acceptance_without_code_or_reason_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "module.py").write_text(f"made = make(\n    'name',\n    {written}\n)\n")
    with pytest.raises(ValueError, match=r"module.py:3"):
        accepted.of(tmp_path)


def test_an_acceptance_belongs_to_the_innermost_call_around_it(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("outer(\n    inner(\n        # accepted CKV_AWS_1, CKV2_AWS_2: so\n        1,\n    ),\n)\n")
    assert {(one.call, one.code, one.why) for one in accepted.of(tmp_path)} == {(2, "CKV_AWS_1", "so"), (2, "CKV2_AWS_2", "so")}


def test_an_acceptance_of_one_resource_covers_no_other(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("make(\n    name,\n    # accepted CKV_AWS_1 of hosts-group: so\n)\n")
    (one,) = accepted.of(tmp_path)
    assert one.covers(file=one.file, call=1, code="CKV_AWS_1", name="hosts-group")
    assert not one.covers(file=one.file, call=1, code="CKV_AWS_1", name="login-group")


def test_an_acceptance_outside_of_any_call_is_refused(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("# accepted CKV_AWS_1: why\n")
    with pytest.raises(ValueError, match=r"module.py:1"):
        accepted.of(tmp_path)


def test_a_scanner_that_ends_early_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    (tmp_path / "bin/python").chmod(0o755)
    (tmp_path / "work").mkdir()
    with pytest.raises(ValueError, match="broken"):
        scanner.run({"empty": terraform.plan([])}, installed=tmp_path, work=tmp_path / "work")

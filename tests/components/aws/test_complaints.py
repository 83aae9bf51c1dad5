"""What users of other provisioners on AWS ran into, and the test that shows that it doesn't happen here.

Numbers are those of issues of aws/aws-parallelcluster unless another project is named. What is about nodes coming and going, or about what runs on hosts, has its tests elsewhere.
"""

from pathlib import Path

import pytest

from tests.components.aws import programs

COMPLAINTS = {
    "4651: another subnet or security group replaced the file system with its data": "../../contract/test_conformance::test_each_kind_of_file_system_is_protected_as_the_blueprint_says",
    "7203: a new queue touches every node": "test_growth::test_a_pool_more_is_its_template_and_nothing_else_changes_but_the_table",
    "7172: login nodes can't be taken away": "test_hosts::test_a_login_node_less_takes_its_target_with_it_and_nothing_else",
    "6339: an update starts a second head node on an interface in use": "test_hosts::test_a_controllers_address_outlives_it",
    "5175: the head node's machine can't change": "test_hosts::test_another_machine_changes_the_instance_and_nothing_that_it_keeps",
    "2442: one head node only": "test_hosts::test_two_controllers_share_their_state_and_each_has_its_own_address",
    "1412: a policy attached by hand keeps the stack from going": "test_complaints::test_roles_go_with_what_others_attached",
    "6870: a reservation that has ended breaks every update": "test_complaints::test_nobody_is_asked_about_reservations",
    "7143: the interfaces of a new machine need new code": "test_compute::test_every_machine_with_efa_uses_all_of_its_interfaces",
    "2095, 5746: the kernel changes under the Lustre client": "test_growth::test_hosts_start_from_the_image_of_the_profile",
    "5797, 6020: sockets and cores that the machine hasn't": "test_compute::test_processors_are_said_where_they_are_not_the_usual_ones",
    "6904: no way to another version but a new cluster": "test_growth::test_an_image_is_named_by_what_it_is_made_of",
    "4061, eksctl 7949, terraform-aws-eks 3730: a placement group hides the reservation": (
        "test_compute::test_a_placement_group_never_stands_in_the_way_of_capacity_that_was_bought"
    ),
    "awsome-distributed 96, 243, 680: locked package lists at boot": "test_complaints::test_the_builder_waits_for_the_lock_of_the_packages",
    "SkyPilot 8391: one of four EFA interfaces in use": "test_compute::test_interfaces_are_the_catalogues_card_by_card",
    "7462, 6652, 7346: login nodes' balancer in the hosts' subnet": "test_hosts::test_the_balancer_answers_on_the_internet_for_networks_of_the_internet",
    "validators pass groups without 1018-1023": "test_network::test_lustre_is_reached_over_all_its_ports_in_both_directions",
    "nodes that fail shut down and take the evidence along": "test_identity::test_a_host_that_fails_stays_for_those_who_look_for_the_reason",
    "cluster-toolkit 4373: names of making and cleaning up differ": "../../contract/test_conformance::test_everything_that_can_carry_it_has_the_stacks_mark",
}


@pytest.mark.parametrize("complaint", COMPLAINTS)
def test_every_complaint_has_its_test(complaint: str) -> None:
    module, _, name = COMPLAINTS[complaint].partition("::")
    text = (Path(__file__).parent / f"{module}.py").read_text()
    assert f"def {name}(" in text


def test_roles_go_with_what_others_attached() -> None:
    for blueprint in programs.BLUEPRINTS:
        assert all(one.inputs["forceDetachPolicies"] is True for one in programs.of(programs.library(blueprint), "Role"))


def test_nobody_is_asked_about_reservations() -> None:
    account = programs.Account()
    programs.program(
        "llm-pretraining", account=account, pools__train__capacity={"kind": "block", "id": "cr-0123456789abcdef0"}, network__zones=["us-east-1d", "us-east-1b"]
    )
    assert account.asked == []


def test_the_builder_waits_for_the_lock_of_the_packages() -> None:
    (component,) = programs.of(programs.library("starter"), "Component")
    commands = [line for line in component.inputs["data"].splitlines() if "apt-get" in line]
    assert commands
    assert all("DPkg::Lock::Timeout" in command for command in commands)

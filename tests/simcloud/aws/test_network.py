"""What hangs together in a network: who needs whom, who takes which address, what works only on paper."""

from tests.simcloud.aws import audit
from tests.simcloud.aws.landscape import Account

INTERFACES = [{"networkCardIndex": 0, "deviceIndex": 0, "subnetId": "{a}", "securityGroups": ["{group}"]}] + [
    {"networkCardIndex": card, "deviceIndex": 1, "interfaceType": "efa-only", "subnetId": "{a}", "securityGroups": ["{group}"]} for card in range(32)
]


def test_nothing_goes_before_what_needs_it(account: Account) -> None:
    find = account.cloud.need
    route = account.make("ec2.Route", routeTableId="{table}", destinationCidrBlock="0.0.0.0/0", gatewayId="{gateway}")
    association = account.make("ec2.RouteTableAssociation", routeTableId="{table}", subnetId="{a}")
    nat = account.make("ec2.NatGateway", subnetId="{a}", allocationId="{address}")
    host = account.make("ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{b}", vpcSecurityGroupIds=["{group}"])
    names = account.names
    refused = {
        "DependencyViolation": [find("ec2.Vpc", names["vpc"]), find("ec2.Subnet", names["a"]), find("ec2.Subnet", names["b"]), find("ec2.RouteTable", names["table"]),
                                find("ec2.SecurityGroup", names["group"]), find("ec2.InternetGateway", names["gateway"])],
        "InvalidIPAddress.InUse": [find("ec2.Eip", names["address"])],
        "DeleteConflict": [find("iam.Role", names["role"])],
    }  # fmt: skip
    for code, things in refused.items():
        for thing in things:
            assert account.delete_refusal(thing).code == code, thing.id
    for thing in (host, nat, association, route):
        account.cloud.delete(thing)
    for kind, name in (
        ("Subnet", "a"),
        ("Subnet", "b"),
        ("Subnet", "second-a"),
        ("InternetGateway", "gateway"),
        ("SecurityGroup", "group"),
        ("RouteTable", "table"),
        ("Vpc", "vpc"),
    ):
        account.cloud.delete(find(f"ec2.{kind}", names[name]))
    assert {thing.get("vpcId") for thing in account.cloud.store.everything() if not thing.get("ended")} <= {None, names["other-vpc"]}


def test_a_subnet_runs_out_of_addresses_and_gives_back_what_was_used(account: Account) -> None:
    account.named("small", "ec2.Subnet", vpcId="{vpc}", cidrBlock="10.0.9.0/28", availabilityZone="us-east-1a")
    made = [account.make("ec2.NetworkInterface", subnetId="{small}") for _ in range(16 - 5)]
    assert [one.interfaces[0].address for one in made] == [f"10.0.9.{number}" for number in range(4, 15)]
    assert account.refusal("ec2.NetworkInterface", subnetId="{small}").code == "InsufficientFreeAddressesInSubnet"
    account.cloud.delete(made[3])
    assert account.make("ec2.NetworkInterface", subnetId="{small}").interfaces[0].address == "10.0.9.7"
    taken = account.refusal("ec2.NetworkInterface", subnetId="{small}", privateIps=["10.0.9.7"])
    assert taken.code == "InvalidIPAddress.InUse"


def test_quotas_hold(account: Account) -> None:
    for number in range(3):
        account.make("ec2.Vpc", cidrBlock=f"10.{number + 20}.0.0/16")
    assert account.refusal("ec2.Vpc", cidrBlock="10.30.0.0/16").code == "VpcLimitExceeded"
    account.cloud.store.set_setting("quotas", {"L-F678F1CE": 6})
    account.make("ec2.Vpc", cidrBlock="10.30.0.0/16")


def test_a_good_network_has_no_findings_and_each_mistake_has_one(account: Account) -> None:
    cloud = account.cloud
    route = account.make("ec2.Route", routeTableId="{table}", destinationCidrBlock="0.0.0.0/0", gatewayId="{gateway}")
    account.make("ec2.RouteTableAssociation", routeTableId="{table}", subnetId="{a}")
    nat = account.make("ec2.NatGateway", subnetId="{a}", allocationId="{address}")
    own = [
        account.make(f"vpc.SecurityGroup{way}Rule", securityGroupId="{group}", referencedSecurityGroupId="{group}", ipProtocol="-1") for way in ("Ingress", "Egress")
    ]  # fmt: skip
    template = account.make("ec2.LaunchTemplate", name="train", imageId="{image}", instanceType="p5.48xlarge", networkInterfaces=INTERFACES)
    account.make("fsx.LustreFileSystem", subnetIds="{a}", deploymentType="SCRATCH_2", storageCapacity=1200, securityGroupIds=["{group}"])
    assert audit.findings(cloud) == []

    cloud.delete(route)
    assert audit.findings(cloud) == [f"{nat.id} reaches nothing: its subnet {account.names['a']} has no route to an internet gateway"]
    account.make("ec2.Route", routeTableId="{table}", destinationCidrBlock="0.0.0.0/0", gatewayId="{gateway}")

    cloud.delete(own[0])
    found = audit.findings(cloud)
    assert [one.partition(":")[0] for one in found[:2]] == [found[0].partition(":")[0]] * 2
    assert "988" in found[0]
    assert "1018-1023" in found[1]
    assert found[2:] == [f"{template.id}: EFA moves nothing on card 0: no group of it allows all traffic of its own (ingress)"]
    account.make("vpc.SecurityGroupIngressRule", securityGroupId="{group}", cidrIpv4="0.0.0.0/0", ipProtocol="tcp", fromPort=0, toPort=65535)
    assert f"{account.names['group']} (nodes) lets the whole world in at port 22" in audit.findings(cloud)

    second = account.make("ec2.LaunchTemplate", name="wrong", imageId="ami-0", instanceType="p5.48xlarge", networkInterfaces=INTERFACES[:1])
    assert f"{second.id} (wrong) can't be launched: InvalidAMIID.NotFound: The image id '[ami-0]' does not exist" in audit.findings(cloud)
    account.make("lb.LoadBalancer", name="login", loadBalancerType="network", subnets=["{b}"])
    assert f"login can't be reached from the internet: its subnet {account.names['b']} has no route to an internet gateway" in audit.findings(cloud)


def test_data_is_protected_as_the_service_does(account: Account) -> None:
    balancer = account.make("lb.LoadBalancer", name="login", loadBalancerType="network", subnets=["{a}"], enableDeletionProtection=True)
    assert account.delete_refusal(balancer).code == "OperationNotPermitted"
    account.make("rds.SubnetGroup", name="databases", subnetIds=["{a}", "{b}"])
    database = {
        "engine": "mariadb",
        "instanceClass": "db.t4g.small",
        "allocatedStorage": 20,
        "username": "slurm",
        "manageMasterUserPassword": True,
        "dbSubnetGroupName": "databases",
    }
    kept = account.make("rds.Instance", identifier="kept", deletionProtection=True, skipFinalSnapshot=True, **database)
    unsaved = account.make("rds.Instance", identifier="unsaved", **database)
    assert account.delete_refusal(kept).code == account.delete_refusal(unsaved).code == "InvalidParameterCombination"
    last = {"identifier": "last", "finalSnapshotIdentifier": "last-one", **database}
    account.cloud.delete(account.make("rds.Instance", **last))
    assert account.delete_refusal(account.make("rds.Instance", **last)).code == "DBSnapshotAlreadyExists"
    assert [one["dbInstanceIdentifier"] for one in account.cloud.store.all("rds.Snapshot")] == ["last"]
    host = account.make("ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{a}", disableApiTermination=True)
    assert account.delete_refusal(host).code == "OperationNotPermitted"
    account.cloud.delete(
        account.cloud.update(
            host, {**account.filled({"ami": "{image}", "subnetId": "{a}"}), "instanceType": "m5.large", "disableApiTermination": True, "forceDestroy": True}
        )
    )


def test_a_spread_group_holds_seven_running_instances_of_a_zone(account: Account) -> None:
    account.named("apart", "ec2.PlacementGroup", name="apart", strategy="spread")
    host = {"ami": "{image}", "instanceType": "m5.large", "placementGroup": "{apart}"}
    made = [account.make("ec2.Instance", subnetId="{a}", **host) for _ in range(7)]
    assert account.refusal("ec2.Instance", subnetId="{a}", **host).code == "InsufficientInstanceCapacity"
    account.make("ec2.Instance", subnetId="{b}", **host)
    account.cloud.delete(made[0])
    account.make("ec2.Instance", subnetId="{a}", **host)


def test_what_only_a_new_object_can_have_is_not_changed(account: Account) -> None:
    system = account.make("fsx.LustreFileSystem", subnetIds="{a}", deploymentType="SCRATCH_2", storageCapacity=1200)
    inputs = {"subnetIds": account.names["a"], "deploymentType": "SCRATCH_2"}
    changes = account.cloud.difference("fsx.LustreFileSystem", olds=system.properties, news={**inputs, "storageCapacity": 2400}, old_inputs={}, default_tags={})
    assert changes == {"storageCapacity": False}
    changes = account.cloud.difference(
        "fsx.LustreFileSystem", olds={**system.properties, "storageCapacity": 4800}, news={**inputs, "storageCapacity": 2400}, old_inputs={}, default_tags={}
    )
    assert changes == {"storageCapacity": True}
    moved = account.cloud.difference(
        "fsx.LustreFileSystem",
        olds=system.properties,
        news={**inputs, "subnetIds": account.names["b"], "storageCapacity": 1200},
        old_inputs={},
        default_tags={},
    )
    assert moved == {"subnetIds": True}

"""Requests for each kind: one that is right, and what makes it wrong, with the code that it is refused with.

`{name}` stands for the id of a thing of `landscape.with_network`, or for one that `NEEDS` makes first.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .landscape import TRUST, policy

Change = tuple[Mapping[str, Any], str]
SSH = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGqmDLDE2W6JOBYSbdcVbo0Yexample user@host"
RULE = {"fromPort": 22, "toPort": 22, "protocol": "tcp", "cidrBlocks": ["10.0.0.0/8"]}
ALL_OWN = {"fromPort": 0, "toPort": 0, "protocol": "-1", "self": True}
LUSTRE = [{"fromPort": first, "toPort": last, "protocol": "tcp", "self": True} for first, last in ((988, 988), (1018, 1023))]
FROM_CLIENTS = [{"fromPort": first, "toPort": last, "protocol": "tcp", "securityGroups": ["{group}"]} for first, last in ((988, 988), (1018, 1023))]
FORWARD = [{"type": "forward", "targetGroupArn": "{targets}"}]
LONG = "x" * 300

# What a case needs beyond the network: name → kind, inputs.
NEEDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nat": ("ec2.NatGateway", {"subnetId": "{a}", "allocationId": "{address}"}),
    "balancer": ("lb.LoadBalancer", {"name": "login", "loadBalancerType": "network", "subnets": ["{a}"]}),
    "targets": ("lb.TargetGroup", {"name": "login", "port": 22, "protocol": "TCP", "vpcId": "{vpc}"}),
    "http-targets": ("lb.TargetGroup", {"name": "web", "port": 80, "protocol": "HTTP", "vpcId": "{vpc}"}),
    "host": ("ec2.Instance", {"ami": "{image}", "instanceType": "m5.large", "subnetId": "{a}"}),
    "files": ("efs.FileSystem", {"encrypted": True}),
    "fabric-group": ("ec2.SecurityGroup", {"name": "fabric", "vpcId": "{vpc}", "ingress": [ALL_OWN], "egress": [ALL_OWN]}),
    "lustre-group": ("ec2.SecurityGroup", {"name": "lustre", "vpcId": "{vpc}", "ingress": LUSTRE, "egress": LUSTRE}),
    "one-way-group": ("ec2.SecurityGroup", {"name": "one-way", "vpcId": "{vpc}", "ingress": LUSTRE}),
    "clients-group": ("ec2.SecurityGroup", {"name": "clients", "vpcId": "{vpc}", "ingress": FROM_CLIENTS, "egress": FROM_CLIENTS}),
    "scratch": ("fsx.LustreFileSystem", {"subnetIds": "{a}", "deploymentType": "SCRATCH_2", "storageCapacity": 1200}),
    "first-scratch": ("fsx.LustreFileSystem", {"subnetIds": "{a}", "deploymentType": "SCRATCH_1", "storageCapacity": 1200}),
    "saved": (
        "fsx.LustreFileSystem",
        {"subnetIds": "{a}", "deploymentType": "PERSISTENT_2", "storageCapacity": 1200, "perUnitStorageThroughput": 250, "automaticBackupRetentionDays": 7},
    ),
    "subnets": ("rds.SubnetGroup", {"name": "databases", "subnetIds": ["{a}", "{b}"]}),
    "cluster": (
        "rds.Cluster",
        {
            "clusterIdentifier": "accounting",
            "engine": "aurora-mysql",
            "masterUsername": "slurm",
            "manageMasterUserPassword": True,
            "dbSubnetGroupName": "databases",
        },
    ),
    "volume": ("ebs.Volume", {"availabilityZone": "us-east-1a", "size": 10, "encrypted": True}),
    "far-volume": ("ebs.Volume", {"availabilityZone": "us-east-1b", "size": 10, "encrypted": True}),
    "zone": ("route53.Zone", {"name": "cluster.internal", "vpcs": [{"vpcId": "{vpc}"}]}),
    "component": ("imagebuilder.Component", {"name": "base", "platform": "Linux", "version": "1.0.0", "data": "schemaVersion: 1.0"}),
    "recipe": ("imagebuilder.ImageRecipe", {"name": "base", "version": "1.0.0", "parentImage": "{image}", "components": [{"componentArn": "{component}"}]}),
    "builder": ("imagebuilder.InfrastructureConfiguration", {"name": "base", "instanceProfileName": "node"}),
    "template": ("ec2.LaunchTemplate", {"name": "nodes", "imageId": "{image}", "instanceType": "m5.large"}),
    "rule": ("cloudwatch.EventRule", {"name": "events", "scheduleExpression": "rate(5 minutes)"}),
    "topic": ("sns.Topic", {"name": "alarms"}),
    "queue": ("sqs.Queue", {"name": "events"}),
    "secret": ("secretsmanager.Secret", {"name": "munge"}),
    "taken": ("ec2.SecurityGroup", {"name": "taken", "vpcId": "{vpc}"}),
    "vault": ("backup.Vault", {"name": "nightly"}),
    "plan": ("backup.Plan", {"name": "nightly", "rules": [{"ruleName": "nightly", "targetVaultName": "nightly"}]}),
    "managed": ("iam.Policy", {"name": "managed", "policy": policy("ec2:DescribeInstances")}),
}

# kind, what it needs, right inputs, what makes them wrong.
CASES: Sequence[tuple[str, Sequence[str], Mapping[str, Any], Sequence[Change]]] = (
    ("ec2.Vpc", (), {"cidrBlock": "10.1.0.0/16"}, (
        ({"cidrBlock": "10.0.0.0/8"}, "InvalidVpc.Range"), ({"cidrBlock": "10.0.0.1/16"}, "InvalidParameterValue"), ({"cidrBlock": 5}, "InvalidParameterValue"),
        ({"cidr": "10.0.0.0/16"}, "InvalidParameterValue"), ({"instanceTenancy": "sometimes"}, "InvalidParameterValue"), ({"tags": {"aws:x": "y"}}, "InvalidParameterValue"),
        ({"tags": {"Name": LONG}}, "InvalidParameterValue"), ({"enableDnsHostnames": True, "enableDnsSupport": False}, "InvalidParameterCombination"),
        ({"tags": {str(number): "" for number in range(51)}}, "InvalidParameterValue"),
    )),
    ("ec2.Subnet", (), {"vpcId": "{vpc}", "cidrBlock": "10.0.64.0/20", "availabilityZone": "us-east-1a"}, (
        ({"vpcId": "vpc-0"}, "InvalidVpcID.NotFound"), ({"cidrBlock": "10.9.0.0/24"}, "InvalidSubnet.Range"), ({"cidrBlock": "10.0.0.0/25"}, "InvalidSubnet.Conflict"),
        ({"cidrBlock": "10.0.64.0/29"}, "InvalidSubnet.Range"), ({"availabilityZone": "us-east-1z"}, "InvalidParameterValue"), ({"vpcId": None}, "InvalidParameterValue"),
        ({"availabilityZoneId": "use1-az1"}, "InvalidParameterValue"),
    )),
    ("ec2.InternetGateway", (), {"vpcId": "{other-vpc}"}, (({"vpcId": "{vpc}"}, "Resource.AlreadyAssociated"), ({"vpcId": "vpc-0"}, "InvalidVpcID.NotFound"))),
    ("ec2.Eip", (), {"domain": "vpc"}, (({"domain": "standard"}, "InvalidParameterValue"), ({"vpc": True}, "InvalidParameterValue"))),
    ("ec2.NatGateway", (), {"subnetId": "{a}", "allocationId": "{address}"}, (
        ({"allocationId": None}, "MissingParameter"), ({"allocationId": "eipalloc-0"}, "InvalidAllocationID.NotFound"), ({"subnetId": "{other}"}, "Gateway.NotAttached"),
        ({"connectivityType": "private"}, "InvalidParameter"), ({"connectivityType": "secret"}, "InvalidParameterValue"), ({"privateIp": "10.0.0.2"}, "InvalidParameterValue"),
    )),
    ("ec2.RouteTable", ("nat",), {"vpcId": "{vpc}", "routes": [{"cidrBlock": "0.0.0.0/0", "natGatewayId": "{nat}"}]}, (
        ({"routes": [{"cidrBlock": "0.0.0.0/0"}]}, "InvalidParameterCombination"), ({"vpcId": "{other-vpc}"}, "InvalidParameterValue"),
        ({"routes": [{"cidrBlock": "0.0.0.0/0", "natGatewayId": "nat-0"}]}, "NatGatewayNotFound"), ({"routes": [{"cidrBlock": "anywhere", "natGatewayId": "{nat}"}]}, "InvalidParameterValue"),
    )),
    ("ec2.Route", (), {"routeTableId": "{table}", "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "{gateway}"}, (
        ({"gatewayId": "igw-0"}, "InvalidInternetGatewayID.NotFound"), ({"gatewayId": None}, "InvalidParameterCombination"), ({"destinationCidrBlock": "10.0.0.0/16"}, "RouteAlreadyExists"),
        ({"routeTableId": "rtb-0"}, "InvalidRouteTableID.NotFound"),
    )),
    ("ec2.RouteTableAssociation", (), {"routeTableId": "{table}", "subnetId": "{a}"}, (({"subnetId": "{other}"}, "InvalidParameterValue"), ({"subnetId": "subnet-0"}, "InvalidSubnetID.NotFound"))),
    ("ec2.SecurityGroup", ("taken",), {"name": "login", "vpcId": "{vpc}", "ingress": [RULE]}, (
        ({"name": "taken"}, "InvalidGroup.Duplicate"), ({"name": "sg-login"}, "InvalidParameterValue"), ({"name": LONG}, "InvalidParameterValue"),
        ({"description": "don't"}, "InvalidParameterValue"), ({"vpcId": None}, "VPCIdNotSpecified"), ({"ingress": [{**RULE, "toPort": 21}]}, "InvalidParameterValue"),
        ({"ingress": [{**RULE, "protocol": "tpc"}]}, "InvalidPermission.Malformed"), ({"ingress": [{**RULE, "cidrBlocks": ["10.0.0.1/8"]}]}, "InvalidParameterValue"),
        ({"ingress": [{**RULE, "cidrBlocks": []}]}, "InvalidParameterValue"), ({"ingress": [{**RULE, "protocol": "-1"}]}, "InvalidParameterValue"),
        ({"ingress": [{**RULE, "securityGroups": ["{other-group}"]}]}, "InvalidGroup.NotFound"),
        ({"ingress": [{**RULE, "cidrBlocks": [f"10.{number}.0.0/16" for number in range(61)]}]}, "RulesPerSecurityGroupLimitExceeded"),
    )),
    ("vpc.SecurityGroupIngressRule", (), {"securityGroupId": "{group}", "referencedSecurityGroupId": "{group}", "ipProtocol": "-1"}, (
        ({"referencedSecurityGroupId": "{other-group}"}, "InvalidGroup.NotFound"), ({"cidrIpv4": "10.0.0.0/8"}, "InvalidParameterValue"),
        ({"ipProtocol": "tcp"}, "InvalidParameterValue"), ({"referencedSecurityGroupId": None}, "InvalidParameterValue"), ({"ipProtocol": None}, "InvalidParameterValue"),
        ({"securityGroupId": "sg-0"}, "InvalidGroup.NotFound"), ({"referencedSecurityGroupId": None, "cidrIpv4": "10.0.0.1/8"}, "InvalidParameterValue"),
    )),
    ("vpc.SecurityGroupEgressRule", (), {"securityGroupId": "{group}", "cidrIpv4": "0.0.0.0/0", "ipProtocol": "tcp", "fromPort": 443, "toPort": 443}, (
        ({"toPort": 70000}, "InvalidParameterValue"), ({"description": "é"}, "InvalidParameterValue"),
    )),
    ("ec2.VpcEndpoint", (), {"vpcId": "{vpc}", "serviceName": "com.amazonaws.us-east-1.s3", "routeTableIds": ["{table}"]}, (
        ({"serviceName": "com.amazonaws.us-west-2.s3"}, "InvalidServiceName"), ({"serviceName": "com.amazonaws.us-east-1.ssm"}, "InvalidParameter"),
        ({"subnetIds": ["{a}"]}, "InvalidParameter"), ({"vpcId": "{other-vpc}"}, "InvalidRouteTableId.NotFound"), ({"vpcEndpointType": "Door"}, "InvalidParameterValue"),
        ({"policy": "{}"}, "InvalidParameterValue"),
    )),
    ("ec2.VpcEndpoint", (), {
        "vpcId": "{vpc}", "serviceName": "com.amazonaws.us-east-1.ssm", "vpcEndpointType": "Interface", "subnetIds": ["{a}", "{b}"], "securityGroupIds": ["{group}"], "privateDnsEnabled": True,
    }, (
        ({"subnetIds": ["{a}", "{second-a}"]}, "DuplicateSubnetsInSameZone"), ({"subnetIds": ["{other}"]}, "InvalidSubnetID.NotFound"), ({"securityGroupIds": ["{other-group}"]}, "InvalidParameter"),
        ({"vpcId": "{other-vpc}", "subnetIds": ["{other}"], "securityGroupIds": []}, "InvalidParameter"),
    )),
    ("ec2.FlowLog", (), {"vpcId": "{vpc}", "trafficType": "ALL", "logDestination": "{log}", "iamRoleArn": "{role-arn}"}, (
        ({"iamRoleArn": None}, "InvalidParameter"), ({"iamRoleArn": "{role}"}, "InvalidParameterValue"), ({"subnetId": "{a}"}, "InvalidParameter"), ({"trafficType": "SOME"}, "InvalidParameterValue"), ({"vpcId": None}, "InvalidParameter"),
        ({"logDestination": "/nowhere"}, "ResourceNotFoundException"),
    )),
    ("ec2.NetworkInterface", (), {"subnetId": "{a}", "securityGroups": ["{group}"], "privateIps": ["10.0.0.77"]}, (
        ({"privateIps": ["10.0.9.9"]}, "InvalidParameterValue"), ({"securityGroups": ["{other-group}"]}, "InvalidParameter"),
    )),
    ("ec2.KeyPair", (), {"keyName": "me", "publicKey": SSH}, (({"publicKey": "-----BEGIN PUBLIC KEY-----"}, "InvalidKey.Format"), ({"keyName": LONG}, "InvalidParameterValue"))),
    ("ec2.LaunchTemplate", ("template",), {"name": "train", "imageId": "{image}", "instanceType": "p5.48xlarge", "metadataOptions": {"httpTokens": "required"}}, (
        ({"name": "nodes"}, "InvalidLaunchTemplateName.AlreadyExistsException"), ({"name": "a"}, "InvalidLaunchTemplateName.MalformedException"),
        ({"instanceType": "p5.49xlarge"}, "InvalidParameterValue"), ({"metadataOptions": {"httpTokens": "always"}}, "InvalidParameterValue"),
        ({"metadataOptions": {"tokens": "required"}}, "InvalidParameterValue"), ({"userData": "#!/bin/sh"}, "InvalidUserData.Malformed"),
        ({"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeType": "gp4"}}]}, "InvalidParameterValue"),
        ({"networkInterfaces": [{"deviceIndex": 0, "interfaceType": 7}]}, "InvalidParameterValue"),
        ({"tagSpecifications": [{"resourceType": "human", "tags": {"a": "b"}}]}, "InvalidParameterValue"), ({"instanceMarketOptions": {"marketType": "barter"}}, "InvalidParameterValue"),
    )),
    ("ec2.Instance", ("volume",), {
        "ami": "{image}", "instanceType": "m5.large", "subnetId": "{a}", "vpcSecurityGroupIds": ["{group}"], "iamInstanceProfile": "{profile}",
        "rootBlockDevice": {"volumeSize": 30, "volumeType": "gp3", "encrypted": True}, "metadataOptions": {"httpTokens": "required"},
    }, (
        ({"ami": "ami-0"}, "InvalidAMIID.NotFound"), ({"instanceType": "m5.huge"}, "InvalidParameterValue"), ({"instanceType": "m6g.large"}, "InvalidParameterValue"),
        ({"subnetId": "subnet-0"}, "InvalidSubnetID.NotFound"), ({"subnetId": None}, "MissingInput"), ({"vpcSecurityGroupIds": ["{other-group}"]}, "InvalidParameter"),
        ({"vpcSecurityGroupIds": ["sg-0"]}, "InvalidGroup.NotFound"), ({"iamInstanceProfile": "nobody"}, "InvalidParameterValue"), ({"keyName": "nobody"}, "InvalidKeyPair.NotFound"),
        ({"placementGroup": "nowhere"}, "InvalidPlacementGroup.Unknown"), ({"rootBlockDevice": {"volumeSize": 2}}, "InvalidBlockDeviceMapping"),
        ({"rootBlockDevice": {"volumeType": "gp3", "throughput": 9000}}, "InvalidParameterValue"), ({"rootBlockDevice": {"volumeType": "gp2", "iops": 4000}}, "InvalidParameterCombination"),
        ({"ebsBlockDevices": [{"deviceName": "/dev/sdf"}]}, "MissingParameter"), ({"cpuOptions": {"coreCount": 3}}, "InvalidParameterValue"), ({"privateIp": "10.0.0.3"}, "InvalidParameterValue"),
        ({"userData": "x" * 16385}, "InvalidParameterValue"), ({"availabilityZone": "us-east-1b"}, "InvalidParameterValue"), ({"hostId": "h-1"}, "NotSimulated"),
        ({"instanceType": "p5.48xlarge", "subnetId": "{b}", "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": "cr-0"}}},
         "InvalidCapacityReservationId.NotFound"),
    )),
    ("ec2.PlacementGroup", (), {"name": "train", "strategy": "cluster"}, (({"strategy": "clustre"}, "InvalidParameterValue"), ({"partitionCount": 2}, "InvalidParameterValue"))),
    ("ec2.CapacityReservation", (), {"instanceType": "p5.48xlarge", "instanceCount": 2, "availabilityZone": "us-east-1a", "instancePlatform": "Linux/UNIX"}, (
        ({"availabilityZone": "us-west-2a"}, "Unsupported"), ({"endDateType": "limited"}, "MissingParameter"), ({"instanceMatchCriteria": "loose"}, "InvalidParameterValue"),
    )),
    ("ebs.Volume", (), {"availabilityZone": "us-east-1a", "size": 100, "type": "gp3", "encrypted": True, "kmsKeyId": "{key-arn}"}, (
        ({"availabilityZone": "us-east-9a"}, "InvalidZone.NotFound"), ({"size": None}, "InvalidParameterValue"), ({"type": "gp4"}, "InvalidParameterValue"), ({"encrypted": False}, "InvalidParameterDependency"),
        ({"kmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000"}, "NotFoundException"),
        ({"kmsKeyId": "{key}"}, "InvalidParameterValue"), ({"kmsKeyId": "alias/data"}, "InvalidParameterValue"), ({"iops": 100}, "InvalidParameterValue"), ({"type": "io2"}, "MissingParameter"),
    )),
    ("ec2.VolumeAttachment", ("host", "volume", "far-volume"), {"deviceName": "/dev/sdf", "instanceId": "{host}", "volumeId": "{volume}"}, (
        ({"volumeId": "{far-volume}"}, "InvalidVolume.ZoneMismatch"), ({"deviceName": "sdf"}, "InvalidParameterValue"), ({"instanceId": "i-0"}, "InvalidInstanceID.NotFound"),
    )),
    ("autoscaling.Group", ("template",), {"name": "login", "minSize": 1, "maxSize": 2, "vpcZoneIdentifiers": ["{a}"], "launchTemplate": {"id": "{template}", "version": "$Latest"}}, (
        ({"desiredCapacity": 3}, "ValidationError"), ({"launchTemplate": {"id": "lt-0", "version": "1"}}, "InvalidLaunchTemplateId.NotFound"), ({"launchTemplate": None}, "ValidationError"),
        ({"launchTemplate": {"id": "{template}", "version": "7"}}, "InvalidLaunchTemplateId.VersionNotFound"),
    )),
    ("iam.Role", (), {"name": "head", "assumeRolePolicy": json.dumps(TRUST)}, (
        ({"name": "node"}, "EntityAlreadyExists"), ({"name": "x" * 65}, "ValidationError"), ({"name": "a b"}, "ValidationError"), ({"assumeRolePolicy": "{"}, "ValidationError"),
        ({"assumeRolePolicy": policy("sts:AssumeRole")}, "ValidationError"), ({"maxSessionDuration": 60}, "ValidationError"), ({"managedPolicyArns": ["arn:aws:iam::123456789012:policy/none"]}, "NoSuchEntity"),
    )),
    ("iam.RolePolicy", (), {"role": "{role}", "name": "fleet", "policy": policy("ec2:CreateFleet", "ec2:Describe*", "s3:ListBucket")}, (
        ({"role": "nobody"}, "NoSuchEntity"), ({"policy": policy("ec2:CreateFlet")}, "ValidationError"), ({"policy": policy("ec3:CreateFleet")}, "ValidationError"),
        ({"policy": policy("CreateFleet")}, "ValidationError"), ({"policy": policy("ec2:*", Effect="Permit")}, "ValidationError"), ({"policy": policy("ec2:*", Resource="bucket")}, "ValidationError"),
        ({"policy": policy("ec2:*", Resourse="*")}, "ValidationError"), ({"policy": policy("ec2:*", Condition={"Equals": {"a": "b"}})}, "ValidationError"),
        ({"policy": policy("ec2:*").replace("2012-10-17", "2012-10-18")}, "ValidationError"), ({"policy": policy("ec2:*", Resource=["*"] * 6000)}, "LimitExceeded"),
    )),
    ("iam.RolePolicyAttachment", ("managed",), {"role": "{role}", "policyArn": "{managed}"}, (
        ({"policyArn": "arn:aws:iam::123456789012:policy/none"}, "NoSuchEntity"), ({"role": "nobody"}, "NoSuchEntity"),
    )),
    ("iam.InstanceProfile", (), {"name": "head", "role": "{role}"}, (({"role": "nobody"}, "NoSuchEntity"), ({"name": "node"}, "EntityAlreadyExists"))),
    ("lb.LoadBalancer", (), {"name": "login", "loadBalancerType": "network", "subnets": ["{a}", "{b}"], "securityGroups": ["{group}"]}, (
        ({"name": "internal-login"}, "ValidationError"), ({"name": "x" * 33}, "ValidationError"), ({"name": "a_b"}, "ValidationError"), ({"loadBalancerType": "netwrk"}, "ValidationError"),
        ({"subnets": ["{a}", "{second-a}"]}, "InvalidConfigurationRequest"), ({"subnets": ["{a}", "{other}"]}, "InvalidSubnet"), ({"subnets": ["{other}"], "securityGroups": []}, "InvalidSubnet"),
        ({"subnets": []}, "ValidationError"), ({"securityGroups": ["{other-group}"]}, "InvalidConfigurationRequest"), ({"loadBalancerType": "application", "subnets": ["{a}"]}, "ValidationError"),
    )),
    ("lb.TargetGroup", ("targets",), {"name": "web", "port": 22, "protocol": "TCP", "vpcId": "{vpc}", "healthCheck": {"interval": 10, "protocol": "TCP"}}, (
        ({"name": "login"}, "DuplicateTargetGroupName"), ({"protocol": "SSH"}, "ValidationError"), ({"port": 70000}, "ValidationError"), ({"vpcId": None}, "ValidationError"),
        ({"healthCheck": {"interval": 1}}, "ValidationError"), ({"healthCheck": {"protocol": "TCP", "path": "/"}}, "ValidationError"),
    )),
    ("lb.Listener", ("balancer", "targets", "http-targets"), {"loadBalancerArn": "{balancer}", "port": 22, "protocol": "TCP", "defaultActions": FORWARD}, (
        ({"protocol": "HTTP"}, "ValidationError"), ({"protocol": "TLS"}, "CertificateNotFound"), ({"port": None}, "ValidationError"), ({"defaultActions": [{"type": "forward"}]}, "ValidationError"),
        ({"defaultActions": [{"type": "forward", "targetGroupArn": "{http-targets}"}]}, "InvalidConfigurationRequest"), ({"loadBalancerArn": "arn:none"}, "LoadBalancerNotFound"),
    )),
    ("lb.TargetGroupAttachment", ("targets", "host"), {"targetGroupArn": "{targets}", "targetId": "{host}"}, (
        ({"targetId": "i-0"}, "InvalidTarget"), ({"port": 0}, "ValidationError"), ({"targetGroupArn": "arn:none"}, "TargetGroupNotFound"),
    )),
    ("route53.Zone", ("zone",), {"name": "other.internal", "vpcs": [{"vpcId": "{vpc}"}]}, (
        ({"name": "cluster.internal"}, "ConflictingDomainExists"), ({"vpcs": [{"vpcId": "vpc-0"}]}, "InvalidVpcID.NotFound"),
    )),
    ("route53.Record", ("zone",), {"zoneId": "{zone}", "name": "head.cluster.internal", "type": "A", "ttl": 60, "records": ["10.0.0.9"]}, (
        ({"name": "head.example.com"}, "InvalidChangeBatch"), ({"type": "AA"}, "InvalidChangeBatch"), ({"ttl": None}, "InvalidInput"), ({"zoneId": "Z0"}, "NoSuchHostedZone"), ({"records": []}, "InvalidChangeBatch"),
    )),
    ("efs.FileSystem", (), {"encrypted": True, "kmsKeyId": "{key-arn}", "throughputMode": "elastic", "lifecyclePolicies": [{"transitionToIa": "AFTER_30_DAYS"}]}, (
        ({"encrypted": False}, "BadRequest"), ({"throughputMode": "fast"}, "BadRequest"), ({"throughputMode": "provisioned"}, "BadRequest"), ({"performanceMode": "maxIO"}, "BadRequest"),
        ({"lifecyclePolicies": [{"transitionToIa": "AFTER_31_DAYS"}]}, "BadRequest"), ({"kmsKeyId": "{key}"}, "BadRequest"), ({"kmsKeyId": "alias/data"}, "BadRequest"),
    )),
    ("efs.MountTarget", ("files",), {"fileSystemId": "{files}", "subnetId": "{a}", "securityGroups": ["{group}"]}, (
        ({"securityGroups": ["{other-group}"]}, "SecurityGroupNotFound"), ({"fileSystemId": "fs-01234567"}, "FileSystemNotFound"), ({"ipAddress": "10.0.0.1"}, "InvalidParameterValue"),
    )),
    ("efs.AccessPoint", ("files",), {"fileSystemId": "{files}", "posixUser": {"uid": 0, "gid": 0}, "rootDirectory": {"path": "/home"}}, (
        ({"posixUser": {"uid": 0}}, "BadRequest"), ({"fileSystemId": "fs-01234567"}, "FileSystemNotFound"),
    )),
    ("fsx.LustreFileSystem", ("fabric-group", "lustre-group"), {
        "subnetIds": "{a}", "securityGroupIds": ["{fabric-group}"], "deploymentType": "PERSISTENT_2", "storageType": "SSD", "storageCapacity": 19200, "perUnitStorageThroughput": 250, "efaEnabled": True,
        "metadataConfiguration": {"mode": "USER_PROVISIONED", "iops": 12000}, "kmsKeyId": "{key-arn}",
    }, (
        ({"storageCapacity": 19000}, "BadRequest"), ({"storageCapacity": 9600}, "BadRequest"), ({"perUnitStorageThroughput": 200}, "BadRequest"), ({"deploymentType": "PERSISTENT_3"}, "BadRequest"),
        ({"deploymentType": "SCRATCH_2", "perUnitStorageThroughput": None}, "BadRequest"), ({"storageType": "HDD"}, "BadRequest"), ({"metadataConfiguration": None}, "BadRequest"),
        ({"metadataConfiguration": {"mode": "USER_PROVISIONED", "iops": 13000}}, "BadRequest"), ({"metadataConfiguration": {"mode": "AUTOMATIC", "iops": 12000}}, "BadRequest"),
        ({"securityGroupIds": ["{other-group}"]}, "InvalidNetworkSettings"), ({"securityGroupIds": []}, "InvalidNetworkSettings"), ({"subnetIds": "subnet-0"}, "InvalidSubnetID.NotFound"),
        ({"securityGroupIds": ["{lustre-group}"]}, "InvalidNetworkSettings"),
        ({"driveCacheType": "READ"}, "BadRequest"), ({"weeklyMaintenanceStartTime": "monday"}, "BadRequest"), ({"automaticBackupRetentionDays": 91}, "BadRequest"),
        ({"kmsKeyId": "alias/data"}, "BadRequest"),
    )),
    ("fsx.LustreFileSystem", ("lustre-group", "one-way-group", "clients-group"), {"subnetIds": "{a}", "securityGroupIds": ["{lustre-group}"], "deploymentType": "SCRATCH_1", "storageCapacity": 3600}, (
        ({"securityGroupIds": ["{group}"]}, "InvalidNetworkSettings"), ({"securityGroupIds": ["{one-way-group}"]}, "InvalidNetworkSettings"),
        ({"securityGroupIds": ["{clients-group}"]}, "InvalidNetworkSettings"),
        ({"storageCapacity": 4800}, "BadRequest"), ({"automaticBackupRetentionDays": 7}, "BadRequest"), ({"kmsKeyId": "{key-arn}"}, "BadRequest"), ({"perUnitStorageThroughput": 50}, "BadRequest"),
    )),
    ("fsx.LustreFileSystem", (), {
        "subnetIds": "{a}", "deploymentType": "PERSISTENT_1", "storageType": "HDD", "storageCapacity": 6000, "perUnitStorageThroughput": 12, "driveCacheType": "READ",
    }, (({"storageCapacity": 4800}, "BadRequest"), ({"driveCacheType": None}, "BadRequest"), ({"perUnitStorageThroughput": 40}, "BadRequest"))),
    ("fsx.DataRepositoryAssociation", ("scratch", "first-scratch", "saved"), {
        "fileSystemId": "{scratch}", "dataRepositoryPath": "s3://a-bucket/data", "fileSystemPath": "/data", "s3": {"autoImportPolicy": {"events": ["NEW", "CHANGED"]}},
    }, (
        ({"fileSystemId": "{first-scratch}"}, "BadRequest"), ({"fileSystemId": "{saved}"}, "BadRequest"), ({"dataRepositoryPath": "s3://nobody/data"}, "InvalidDataRepositoryType"), ({"dataRepositoryPath": "a-bucket/data"}, "BadRequest"),
        ({"s3": {"autoImportPolicy": {"events": ["MOVED"]}}}, "BadRequest"), ({"fileSystemPath": "data"}, "BadRequest"),
    )),
    ("s3.Bucket", (), {"bucket": "data-of-mine", "forceDestroy": True}, (
        ({"bucket": "Data"}, "InvalidRequest"), ({"bucket": "a..b"}, "InvalidBucketName"), ({"bucket": "10.0.0.1"}, "InvalidBucketName"), ({"bucket": "a-bucket"}, "BucketAlreadyOwnedByYou"),
    )),
    ("s3.Bucket", (), {"bucketPrefix": "data-"}, (({"bucketPrefix": "Data-"}, "InvalidBucketName"), ({"bucketPrefix": "x" * 40}, "InvalidBucketName"))),
    ("s3.BucketObjectv2", (), {"bucket": "{bucket}", "key": "roles.tar.gz", "content": "x"}, (
        ({"bucket": "nobody"}, "NoSuchBucket"), ({"source": "roles.tar.gz"}, "InvalidParameterValue"), ({"serverSideEncryption": "rot13"}, "InvalidParameterValue"),
    )),
    ("ec2.DefaultSecurityGroup", (), {"vpcId": "{vpc}"}, (({"vpcId": "vpc-0"}, "InvalidVpcID.NotFound"), ({"ingress": [{**RULE, "protocol": "tpc"}]}, "InvalidPermission.Malformed"))),
    ("rds.ParameterGroup", (), {"name": "slurm", "family": "mariadb11.4", "parameters": [{"name": "innodb_lock_wait_timeout", "value": "900"}]}, (
        ({"family": None}, "InvalidParameterValue"), ({"parameters": [{"name": "x"}]}, "InvalidParameterValue"),
    )),
    ("s3.BucketPublicAccessBlock", (), {"bucket": "{bucket}", "blockPublicAcls": True}, (({"bucket": "nobody"}, "NoSuchBucket"), ({"blockPublic": True}, "InvalidParameterValue"))),
    ("s3.BucketServerSideEncryptionConfiguration", (), {"bucket": "{bucket}", "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms"}}]}, (
        ({"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "rot13"}}]}, "InvalidParameterValue"), ({"rules": None}, "InvalidParameterValue"),
    )),
    ("s3.BucketVersioning", (), {"bucket": "{bucket}", "versioningConfiguration": {"status": "Enabled"}}, (({"versioningConfiguration": {"status": "On"}}, "InvalidParameterValue"),)),
    ("s3.BucketPolicy", (), {"bucket": "{bucket}", "policy": policy("s3:GetObject", Principal="*")}, (({"policy": policy("s3:GetObject")}, "InvalidParameterValue"),)),
    ("rds.SubnetGroup", (), {"name": "databases", "subnetIds": ["{a}", "{b}"]}, (
        ({"subnetIds": ["{a}", "{second-a}"]}, "DBSubnetGroupDoesNotCoverEnoughAZs"), ({"subnetIds": ["{b}", "{other}"]}, "InvalidSubnet"), ({"name": "Databases"}, "InvalidParameterValue"),
    )),
    ("rds.Cluster", ("subnets",), {
        "clusterIdentifier": "accounting", "engine": "aurora-mysql", "masterUsername": "slurm", "manageMasterUserPassword": True, "dbSubnetGroupName": "{subnets}", "storageEncrypted": True,
        "vpcSecurityGroupIds": ["{group}"], "serverlessv2ScalingConfiguration": {"minCapacity": 0.5, "maxCapacity": 4}, "skipFinalSnapshot": True,
    }, (
        ({"clusterIdentifier": "Accounting"}, "InvalidParameterValue"), ({"clusterIdentifier": "a--b"}, "InvalidParameterValue"), ({"masterPassword": "long-enough"}, "InvalidParameterCombination"),
        ({"manageMasterUserPassword": None, "masterPassword": "short"}, "InvalidParameterValue"), ({"dbSubnetGroupName": "none"}, "DBSubnetGroupNotFoundFault"), ({"masterUsername": None}, "MissingParameter"),
        ({"vpcSecurityGroupIds": ["{other-group}"]}, "InvalidParameterCombination"), ({"dbSubnetGroupName": None}, "InvalidVPCNetworkStateFault"), ({"backupRetentionPeriod": 0}, "InvalidParameterValue"),
    )),
    ("rds.ClusterInstance", ("subnets", "cluster"), {"identifier": "accounting-0", "clusterIdentifier": "{cluster}", "engine": "aurora-mysql", "instanceClass": "db.serverless"}, (
        ({"engine": "aurora-postgresql"}, "InvalidParameterCombination"), ({"clusterIdentifier": "none"}, "DBClusterNotFoundFault"), ({"identifier": "0"}, "InvalidParameterValue"),
    )),
    ("rds.Instance", ("subnets",), {
        "identifier": "accounting", "engine": "mariadb", "instanceClass": "db.t4g.small", "allocatedStorage": 20, "username": "slurm", "manageMasterUserPassword": True,
        "dbSubnetGroupName": "{subnets}", "skipFinalSnapshot": True,
    }, (({"allocatedStorage": None}, "MissingParameter"), ({"password": "0123456789"}, "InvalidParameterCombination"), ({"engine": None}, "MissingParameter"))),
    ("kms.Key", (), {"description": "data", "enableKeyRotation": True, "deletionWindowInDays": 7}, (
        ({"deletionWindowInDays": 3}, "ValidationException"), ({"policy": policy("kms:*")}, "ValidationException"), ({"keyUsage": "ALL"}, "ValidationException"),
    )),
    ("kms.Alias", (), {"name": "alias/data", "targetKeyId": "{key}"}, (({"name": "data"}, "InvalidParameterValue"), ({"name": "alias/aws/data"}, "InvalidAliasName"), ({"targetKeyId": "none"}, "NotFoundException"))),
    ("cloudwatch.LogGroup", (), {"name": "/cluster", "retentionInDays": 30}, (({"retentionInDays": 31}, "InvalidParameterValue"), ({"name": "/flow"}, "ResourceAlreadyExistsException"))),
    ("sns.Topic", (), {"name": "alarms"}, (({"name": 4}, "InvalidParameterValue"), ({"policy": policy("sns:Publish")}, "InvalidParameterValue"))),
    ("sqs.Queue", (), {"name": "events"}, (({"messageRetentionSeconds": "long"}, "InvalidParameterValue"),)),
    ("sqs.QueuePolicy", ("queue",), {"queueUrl": "{queue}", "policy": policy("sqs:SendMessage", Principal={"Service": "events.amazonaws.com"})}, (({"policy": policy("sqs:SendMessage")}, "InvalidParameterValue"),)),
    ("cloudwatch.EventTarget", ("rule", "topic"), {"rule": "{rule}", "arn": "{topic}"}, (({"rule": "none"}, "NotFound"),)),
    ("secretsmanager.Secret", ("secret",), {"name": "jwt"}, (({"name": "munge"}, "ResourceExistsException"), ({"kmsKeyId": "none"}, "NotFoundException"))),
    ("secretsmanager.SecretVersion", ("secret",), {"secretId": "{secret}", "secretString": "x"}, (({"secretId": "none"}, "ResourceNotFoundException"),)),
    ("ssm.Parameter", (), {"name": "/cluster/image", "type": "String", "value": "ami-0"}, (({"type": "Text"}, "ValidationException"), ({"type": None}, "ValidationException"))),
    ("imagebuilder.Component", ("component",), {"name": "driver", "platform": "Linux", "version": "1.0.0", "data": "x"}, (
        ({"version": "1"}, "InvalidParameterValueException"), ({"platform": "BeOS"}, "InvalidParameterValueException"), ({"data": None}, "InvalidParameterCombinationException"),
        ({"name": "base"}, "ResourceAlreadyExistsException"),
    )),
    ("imagebuilder.Image", ("component", "recipe", "builder"), {"imageRecipeArn": "{recipe}", "infrastructureConfigurationArn": "{builder}"}, (({"imageRecipeArn": "none"}, "InvalidParameterValueException"),)),
    ("backup.Selection", ("vault", "plan"), {"name": "files", "planId": "{plan}", "iamRoleArn": "{role-arn}"}, (({"planId": "none"}, "NotFound"), ({"iamRoleArn": "none"}, "NoSuchEntity"))),
)  # fmt: skip

"""The network: a VPC with the hosts' subnet in the zone of their capacity, and public subnets for the way out and for load balancers. There is no other way in."""

import dataclasses

import pulumi
from pulumi_aws import cloudwatch, ec2, iam

from blueprints import spec

from ..resource_options import beneath
from . import policies, zones
from .logs import retention
from .names import Names

_PRIVATE_SERVICES = ("ec2", "secretsmanager")
"""Services that hosts call without a way to the Internet: the controller starts nodes, every host fetches its keys at boot. S3 has a gateway of its own."""


@dataclasses.dataclass(frozen=True, slots=True)
class NetworkArgs:
    names: Names
    network: spec.Network
    zones: zones.Zones
    keeps: bool
    """A file system in it outlives the stack, so the network must too."""
    log_days: int


class Network(pulumi.ComponentResource):
    """The cluster's network, created or existing."""

    vpc_id: pulumi.Output[str]
    cluster_subnet: pulumi.Output[str]
    cluster_zone: pulumi.Output[str] | None
    """None: the subnet exists already, and only its owner knows the zone."""
    service_subnets: list[pulumi.Output[str]]
    """In at least two zones where the blueprint needs them; the hosts' zone first."""
    public_subnets: list[pulumi.Output[str]]
    gateway: ec2.InternetGateway | None
    """None: the network exists already, with its own."""
    s3_prefix_list: pulumi.Output[str] | None
    ready: list[pulumi.Resource]
    """Resources that must exist before a host reaches anything."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Network", name, {}, opts)
        self._args = args
        self.ready = []
        self.gateway = None
        self.s3_prefix_list = None
        network = args.network
        if network.existing is None:
            self._vpc()
        else:
            self.vpc_id = pulumi.Output.from_input(network.existing)
        if zones.are_given(network):
            self._take(network.subnets)
        else:
            self._divide(network.subnets)
        if network.existing is None:
            self._routes()
            self._flow_logs()
        self.register_outputs({})

    def endpoints(self, security_group: pulumi.Input[str]) -> None:
        """Create private endpoints of the cloud's services in the network."""
        for service in _PRIVATE_SERVICES:
            endpoint = ec2.VpcEndpoint(
                f"{service}-endpoint",
                vpc_id=self.vpc_id,
                service_name=f"com.amazonaws.{self._args.network.region}.{service}",
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=[self.cluster_subnet],
                security_group_ids=[security_group],
                tags=self._tags(service),
                opts=beneath(self),
            )
            self.ready.append(endpoint)

    def _vpc(self) -> None:
        args = self._args
        vpc = ec2.Vpc(
            "vpc",
            cidr_block=args.network.cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,  # names of file systems and of private endpoints resolve to addresses inside only with it
            tags=self._tags("network"),
            opts=beneath(self, keep=args.keeps),
        )
        self.vpc_id = vpc.id
        # Instances without a security group get this one: without rules, it opens nothing by accident.
        ec2.DefaultSecurityGroup("default-security-group", vpc_id=vpc.id, ingress=[], egress=[], tags=self._tags("default"), opts=beneath(self))

    def _take(self, subnets: tuple[spec.Subnet, ...]) -> None:
        if not subnets or not subnets[0].name.startswith("subnet-"):
            raise pulumi.RunError(
                f"the blueprint names no subnets of {self._args.network.existing}\n"
                "  why: only the owner of the network knows which of its addresses are free\n"
                "  do:  write `targets.aws.network.subnets: [subnet-…]`, the hosts' first, or a free range as `targets.aws.network.cidr`"
            )
        by_role = {role: [pulumi.Output.from_input(subnet.name) for subnet in subnets if subnet.role == role] for role in ("cluster", "public")}
        self.cluster_subnet, self.cluster_zone = by_role["cluster"][0], None
        self.service_subnets, self.public_subnets = by_role["cluster"], by_role["public"]

    def _divide(self, subnets: tuple[spec.Subnet, ...]) -> None:
        made: dict[str, list[ec2.Subnet]] = {"cluster": [], "public": []}
        first: ec2.Subnet | None = None
        for subnet in subnets:
            resource = ec2.Subnet(
                f"{subnet.name}-subnet",
                vpc_id=self.vpc_id,
                cidr_block=str(subnet.cidr),  # known: the network's own subnets
                availability_zone=self._zone(subnet, first),
                map_public_ip_on_launch=False,  # hosts with a public address request it explicitly
                tags=self._tags(subnet.name),
                opts=beneath(self, keep=self._args.keeps and first is None, ignore=("availabilityZone",) if zones.is_open(subnet) else ()),
            )
            first = first or resource
            made[subnet.role].append(resource)
        self._cluster, self._public = made["cluster"], made["public"]
        self.cluster_subnet, self.cluster_zone = self._cluster[0].id, self._cluster[0].availability_zone
        self.service_subnets, self.public_subnets = [one.id for one in self._cluster], [one.id for one in self._public]

    def _zone(self, subnet: spec.Subnet, first: ec2.Subnet | None) -> pulumi.Input[str] | None:
        if isinstance(subnet.zone, str):
            return subnet.zone
        chosen = self._args.zones
        if first is None:
            return chosen.best
        taken: pulumi.Output[str] = first.availability_zone
        if zones.number(subnet) == 0:
            return taken
        return taken.apply(lambda zone: chosen.other(zone) or zone) if chosen.available else None

    def _routes(self) -> None:
        self.gateway = gateway = ec2.InternetGateway("internet-gateway", vpc_id=self.vpc_id, tags=self._tags("internet"), opts=beneath(self))
        public = ec2.RouteTable(
            "public-routes", vpc_id=self.vpc_id, routes=[{"cidr_block": "0.0.0.0/0", "gateway_id": gateway.id}], tags=self._tags("public"), opts=beneath(self)
        )
        for number, subnet in enumerate(self._public, start=1):
            self.ready.append(ec2.RouteTableAssociation(f"public-{number}-routes", route_table_id=public.id, subnet_id=subnet.id, opts=beneath(self)))
        routes: list[ec2.RouteTableRouteArgs] = []
        if self._args.network.egress == "nat":
            address = ec2.Eip("nat-address", domain="vpc", tags=self._tags("nat"), opts=beneath(self))
            nat = ec2.NatGateway(
                "nat-gateway",
                allocation_id=address.id,
                subnet_id=self._public[0].id,
                tags=self._tags("nat"),
                opts=pulumi.ResourceOptions.merge(beneath(self), pulumi.ResourceOptions(depends_on=[gateway])),
            )
            routes.append(ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", nat_gateway_id=nat.id))
        private = ec2.RouteTable("cluster-routes", vpc_id=self.vpc_id, routes=routes, tags=self._tags("cluster"), opts=beneath(self))
        for number, subnet in enumerate(self._cluster, start=1):
            self.ready.append(ec2.RouteTableAssociation(f"cluster-{number}-routes", route_table_id=private.id, subnet_id=subnet.id, opts=beneath(self)))
        # Data sets and images then bypass the NAT gateway, which AWS bills by the byte.
        s3 = ec2.VpcEndpoint(
            "s3-gateway",
            vpc_id=self.vpc_id,
            service_name=f"com.amazonaws.{self._args.network.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[private.id],
            tags=self._tags("s3"),
            opts=beneath(self),
        )
        self.ready.append(s3)
        self.s3_prefix_list = s3.prefix_list_id

    def _flow_logs(self) -> None:
        """Record flow logs: the only evidence of connections after an incident."""
        names, region = self._args.names, self._args.network.region
        group = cloudwatch.LogGroup(
            "flow-logs",
            # accepted CKV_AWS_158: CloudWatch encrypts it with its own key; it contains addresses and ports only
            # accepted CKV_AWS_338: `monitoring.retention_days` sets the retention
            name=names.name("log_group", "flows"),
            retention_in_days=retention(self._args.log_days),
            tags=self._tags("flows"),
            opts=beneath(self, replace_first=True),
        )
        role = iam.Role(
            "flow-logs",
            name=names.name("iam_role", "flow-logs"),
            force_detach_policies=True,
            assume_role_policy=policies.as_json(
                policies.trust("vpc-flow-logs.amazonaws.com", source=f"arn:{policies.partition(region)}:ec2:{region}:*:vpc-flow-log/*")
            ),
            tags=self._tags("flows"),
            opts=beneath(self, replace_first=True),
        )
        policy = iam.RolePolicy("flow-logs", role=role.id, policy=group.arn.apply(lambda arn: policies.as_json(policies.flow_logs(arn))), opts=beneath(self))
        ec2.FlowLog(
            "flow-log",
            vpc_id=self.vpc_id,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            tags=self._tags("flows"),
            opts=pulumi.ResourceOptions.merge(beneath(self), pulumi.ResourceOptions(depends_on=[policy])),
        )

    def _tags(self, shown: str) -> dict[str, pulumi.Input[str]]:
        return self._args.names.tags("network", shown)

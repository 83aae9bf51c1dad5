"""What is asked of other services: who am I, which quotas, which parameters."""

from collections.abc import Mapping
from typing import Any

from ...core.failure import Refused
from .. import facts, images, quotas
from ..cloud import Cloud

Values = Mapping[str, Any]


def get_caller_identity(cloud: Cloud, asked: Values, region: str) -> Values:
    return {"UserId": "AIDASIMULATED", "Account": facts.ACCOUNT, "Arn": f"arn:aws:iam::{facts.ACCOUNT}:user/simulated"}


def get_quota(cloud: Cloud, asked: Values, region: str) -> Values:
    quota = quotas.BY_CODE.get(asked["QuotaCode"])
    if quota is None or quota.service != asked["ServiceCode"]:
        raise Refused("NoSuchResourceException", f"The request failed because the specified quota does not exist: {asked['QuotaCode']}")
    return {"Quota": _quota(cloud, quota, region)}


def list_quotas(cloud: Cloud, asked: Values, region: str) -> Values:
    found = [quota for quota in quotas.QUOTAS if quota.service == asked["ServiceCode"]]
    if not found:
        raise Refused("NoSuchResourceException", f"There is no service {asked['ServiceCode']}")
    return {"Quotas": [_quota(cloud, quota, region) for quota in found]}


def get_parameter(cloud: Cloud, asked: Values, region: str) -> Values:
    name = asked["Name"]
    for image in images.public(region):
        if image["Parameter"] == name:
            return {
                "Parameter": {
                    "Name": name,
                    "Type": "String",
                    "Value": image["ImageId"],
                    "Version": 1,
                    "DataType": "aws:ec2:image",
                    "ARN": f"arn:aws:ssm:{region}::parameter{name}",
                }
            }
    thing = cloud.store.get("ssm.Parameter", name)
    if thing is None or thing.region != region:
        raise Refused("ParameterNotFound", f"there is no parameter {name}")
    value = thing.get("value") or thing.get("insecureValue")
    if thing["type"] == "SecureString" and not asked.get("WithDecryption"):
        value = "simulated ciphertext"
    return {"Parameter": {"Name": name, "Type": thing["type"], "Value": value, "Version": thing["version"], "ARN": thing["arn"], "DataType": "text"}}


def put_parameter(cloud: Cloud, asked: Values, region: str) -> Values:
    inputs = {"name": asked["Name"], "type": asked.get("Type", "String"), "value": asked["Value"]}
    known = cloud.store.get("ssm.Parameter", asked["Name"])
    if known is None:
        cloud.create("ssm.Parameter", inputs, region=region, door="api")
        return {"Version": 1, "Tier": "Standard"}
    if not asked.get("Overwrite"):
        raise Refused("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
    return {"Version": cloud.note(known, value=asked["Value"], version=known["version"] + 1)["version"], "Tier": "Standard"}


def delete_parameter(cloud: Cloud, asked: Values, region: str) -> Values:
    thing = cloud.store.get("ssm.Parameter", asked["Name"])
    if thing is None:
        raise Refused("ParameterNotFound", f"there is no parameter {asked['Name']}")
    cloud.delete(thing)
    return {}


def describe_listeners(cloud: Cloud, asked: Values, region: str) -> Values:
    if asked.get("ListenerArns") or not asked.get("LoadBalancerArn"):
        raise Refused("ValidationError", "the simulated cloud lists the listeners of one load balancer alone")
    balancer = cloud.need("lb.LoadBalancer", asked["LoadBalancerArn"], region=region)
    own = [thing for thing in cloud.store.all("lb.Listener") if thing["loadBalancerArn"] == balancer.id]
    return {"Listeners": [{"ListenerArn": one.id, "LoadBalancerArn": balancer.id, "Port": one.get("port"), "Protocol": one.get("protocol")} for one in own]}


def describe_target_health(cloud: Cloud, asked: Values, region: str) -> Values:
    group = cloud.need("lb.TargetGroup", asked["TargetGroupArn"])
    own = [thing for thing in cloud.store.all("lb.TargetGroupAttachment") if thing["targetGroupArn"] == group.id]
    healthy = {"State": "healthy"}
    shown = [{"Target": {"Id": thing["targetId"], "Port": thing.get("port", group.get("port"))}, "TargetHealth": healthy} for thing in own]
    return {"TargetHealthDescriptions": shown}


def _quota(cloud: Cloud, quota: quotas.Quota, region: str) -> Values:
    return {
        "ServiceCode": quota.service, "QuotaCode": quota.code, "QuotaName": quota.name, "Value": quotas.value(cloud, quota.code), "Adjustable": True, "GlobalQuota": False, "Unit": "None",
        "QuotaArn": f"arn:aws:servicequotas:{region}:{facts.ACCOUNT}:{quota.service}/{quota.code}",
    }  # fmt: skip


OPERATIONS = {
    "sts.GetCallerIdentity": get_caller_identity, "service-quotas.GetServiceQuota": get_quota, "service-quotas.GetAWSDefaultServiceQuota": get_quota,
    "service-quotas.ListServiceQuotas": list_quotas, "ssm.GetParameter": get_parameter, "ssm.PutParameter": put_parameter, "ssm.DeleteParameter": delete_parameter,
    "elbv2.DescribeListeners": describe_listeners,
    "elbv2.DescribeTargetHealth": describe_target_health,
}  # fmt: skip

"""The AWS API's door: who asks, for which service and operation; then the operation."""

import datetime as dt
import hashlib
import json
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import NotSimulated, Refused, refuse_all
from ...core.listening import Answer, Request
from .. import attempts, disks, facts, instances, shapes, temporary
from ..cloud import Cloud
from ..keys import ACCESS_KEY, SECRET_KEY
from . import ec2, finding, fleet, looking, others, secrets, signature
from .protocol import read, write, write_failure

if TYPE_CHECKING:
    from ..world import World

Operation = Callable[[Cloud, Mapping[str, Any], str], Mapping[str, Any]]
# The names that requests are signed for → folders of botocore's models.
SERVICES = {
    "ec2": "ec2", "sts": "sts", "ssm": "ssm", "servicequotas": "service-quotas", "iam": "iam", "elasticloadbalancing": "elbv2", "fsx": "fsx", "secretsmanager": "secretsmanager",
    "tagging": "resourcegroupstaggingapi", "elasticfilesystem": "efs", "backup": "backup", "kms": "kms", "s3": "s3",
}  # fmt: skip
OPERATIONS: Mapping[str, Operation] = {
    **ec2.OPERATIONS,
    **fleet.OPERATIONS,
    **others.OPERATIONS,
    **secrets.OPERATIONS,
    **finding.OPERATIONS,
    **looking.OPERATIONS,
}


def answer(world: "World", request: Request) -> Answer:
    """Answer one request of the AWS API: the account's own, which may do everything, or that of an instance's role."""
    protocol = "json" if "x-amz-target" in request.headers else "ec2"
    try:
        region, signed_for = signature.scope(request)
        if signed_for not in SERVICES:
            raise NotSimulated(f"the service {signed_for}")
        service = facts.service(SERVICES[signed_for])
        protocol = service.resolved_protocol
        with world.store.lock:
            caller = temporary.caller(world.cloud, signature.key(request))
        signature.check(request, {caller.key: caller.secret} if caller else {ACCESS_KEY: SECRET_KEY}, now=dt.datetime.now(dt.UTC))
        if caller and request.headers.get("x-amz-security-token") != caller.token:
            raise Refused("InvalidClientTokenId", "The security token included in the request is invalid", status=403)
        if world.store.settings.get("credentials_expired"):
            raise Refused("RequestExpired" if protocol == "ec2" else "ExpiredToken", "The security token included in the request is expired", status=403)
        operation, parameters = read(service, request)
        name = f"{service.service_name}.{operation.name}"
        result, _ = world.call(name, parameters, lambda: _carry_out(world.cloud, name, operation.input_shape, parameters, region, caller))
        return write(service, operation, result)
    except Refused as refused:
        return write_failure(protocol, refused)
    except Exception as error:
        traceback.print_exc()
        return write_failure(protocol, Refused("InternalFailure", f"the simulated cloud itself failed: {error!r}", status=500))


def _carry_out(cloud: Cloud, name: str, shape: Any, parameters: Mapping[str, Any], region: str, caller: temporary.Caller | None) -> Mapping[str, Any]:
    if name not in OPERATIONS:
        raise NotSimulated(f"the operation {name}")
    if shape:
        refuse_all(shapes.problems(shape, parameters, name.partition(".")[2]), code="InvalidParameterValue")
    if caller:
        attempts.refuse_unallowed(cloud, cloud.need("iam.Role", caller.role), caller.arn, call=name, asked=parameters, region=region)
        result = _done(cloud, name, parameters, region)
        if name in fleet.OPERATIONS:
            disks.end_unreadable(cloud, cloud.need("iam.Role", caller.role), result)
        return result
    return _done(cloud, name, parameters, region)


def _done(cloud: Cloud, name: str, parameters: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    """Do what is allowed: with one token, once."""
    if parameters.get("DryRun"):
        raise Refused("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", status=412)
    instances.by_time(cloud)
    token = parameters.get("ClientToken")
    if not token:
        return OPERATIONS[name](cloud, parameters, region)
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()
    known = cloud.store.settings.get(f"token {name} {token}")
    if known is None:
        known = [digest, OPERATIONS[name](cloud, parameters, region)]
        cloud.store.set_setting(f"token {name} {token}", known)
    if known[0] != digest:
        raise Refused("IdempotentParameterMismatch", f"The client token {token} was used with other parameters")
    result: Mapping[str, Any] = known[1]
    return result

"""An elastic pool as a resource: a description that the service reads, and the service itself. Which hosts run is the controller's business, and never drift."""

from collections.abc import Iterator
from typing import ClassVar

from ...provider.kind import Kind, Values, Work
from ..machine import claim, power, record
from ..machine.names import SERVICE_SOCKET, StackNames
from ..recipe import HostPoolInputs
from . import daemon, description, fleet
from .description import Description

SERVE_WITHIN_S = 20


class ElasticPool(Kind[HostPoolInputs]):
    """`count` is the most hosts that the controller can have."""

    token = "clusterwright:local:ElasticPool"
    inputs = HostPoolInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"prefix", "group"})

    def identity(self, inputs: HostPoolInputs) -> str:
        return f"{inputs.stack}/{inputs.prefix}"

    def check(self, inputs: HostPoolInputs) -> Iterator[tuple[str, str]]:
        if not power.has_own_uptimes():
            yield (
                "",
                "elastic pools need hosts with an uptime of their own, and this kernel has no time namespaces (Linux 5.6, CONFIG_TIME_NS). Write a fixed number of nodes.",
            )

    def expected(self, inputs: HostPoolInputs) -> Values:
        return {"template": description.template(inputs), "serving": True, "described": True}

    def read(self, inputs: HostPoolInputs, outputs: Values) -> Values | None:
        names = StackNames(inputs.stack)
        return {"template": description.template(inputs), "serving": daemon.is_serving(names), "described": description.is_written(inputs)}

    def create(self, inputs: HostPoolInputs, work: Work) -> Values:
        names = StackNames(inputs.stack)
        claim.require(names, inputs.site)
        with record.lock(names.elastic / ".lock"):
            description.write(inputs)
            daemon.ensure(names)
        work.wait_until((names.door / SERVICE_SOCKET).exists, awaiting="the service of elastic pools", within_s=SERVE_WITHIN_S)
        return self.expected(inputs)

    def delete(self, inputs: HostPoolInputs, outputs: Values, work: Work) -> None:
        names = StackNames(inputs.stack)
        claim.require(names, inputs.site, deleting=True)
        if not names.elastic.exists():
            return
        with record.lock(names.elastic / ".lock"):
            description.remove(inputs)
            if not any(description.read(names)):
                daemon.end(names)
            fleet.ended(fleet.present_of(Description(inputs, "")))

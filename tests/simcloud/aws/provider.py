"""The plugin's process: it answers the engine as pulumi-aws does. `plugin/pulumi-resource-aws` starts it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc
from pulumi.runtime.proto import provider_pb2

from components.provider import codec

from ..core import provider

SDK = Path(__file__).parent / "data" / "sdk.json"


class Servicer(provider.Servicer):
    """The protocol with AWS's own settings."""

    def DiffConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        olds, news = codec.decode(request.olds), codec.decode(request.news)
        moved = olds.get("region") != news.get("region")
        changes = provider_pb2.DiffResponse.DIFF_SOME if olds != news else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes, replaces=["region"] if moved else [])

    def configured(self, values: Mapping[str, Any]) -> dict[str, Any]:
        access, secret = values.get("accessKey"), values.get("secretKey")
        context = {
            "region": values.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
            "defaultTags": (values.get("defaultTags") or {}).get("tags") or {},
            "credentials": {"accessKey": access or os.environ.get("AWS_ACCESS_KEY_ID"), "secretKey": secret or os.environ.get("AWS_SECRET_ACCESS_KEY")},
        }
        if not context["region"]:
            raise provider.Failed("Missing region: set aws:region")
        if values.get("skipCredentialsValidation") is not True:
            try:
                self._line.ask({**context, "operation": "configure"})
            except provider.Failed as failed:
                raise provider.Failed(f"validating provider credentials: {failed}") from failed
        return context


def _version() -> str:
    """Give the version of the SDK whose arguments the cloud knows."""
    package: str = json.loads(SDK.read_text())["package"]
    return package.rpartition(" ")[2]


if __name__ == "__main__":
    provider.serve(lambda line: Servicer(line, version=_version()))

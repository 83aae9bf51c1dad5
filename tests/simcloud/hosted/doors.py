"""What guests find in their network: the metadata service, AWS's services behind TLS, names, and whoever puts file systems in place. All of it answers at the gateway."""

import json
import socketserver
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from components.local.machine import command

from ..aws.api import door as api_door
from ..core import listening
from ..core.listening import Answer, Request
from . import certificates, databases, hosts, metadata, resolver, shares, wanted
from .place import Place

if TYPE_CHECKING:
    from ..aws.world import World

HTTP, HTTPS = 80, 443
OURS = (".amazonaws.com", ".api.aws")
BUNDLES = ("/global/global-bundle.pem", "/us-east-1/us-east-1-bundle.pem")
"""Of authorities of databases: of all regions, and of the one that has hosts."""


class Doors:
    """The listeners of one place, open from the start of its network on."""

    def __init__(self, world: "World", place: Place, *, context: ssl.SSLContext, folder: Path):
        self._world, self._place, self._folder = world, place, folder
        self._servers: list[socketserver.BaseServer] = [
            listening.listen((place.gateway, HTTP), self._metadata),
            listening.listen((place.gateway, HTTPS), self._service, context=context),
            listening.listen((place.gateway, shares.NFS_PORT), self._mount),
            resolver.serve(place.gateway, self._lookup),
        ]

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _metadata(self, request: Request, source: str) -> Answer:
        with self._world.store.lock:
            return metadata.answer(self._world.cloud, request, source)

    def _service(self, request: Request, source: str) -> Answer:
        if request.headers.get("host", "").partition(":")[0] == certificates.TRUSTSTORE:
            return self._authorities(request)
        return api_door.answer(self._world, request)

    def _authorities(self, request: Request) -> Answer:
        known = request.path in BUNDLES
        return Answer(
            200 if known else 403, certificates.bundle_of_databases(self._folder) if known else b"AccessDenied", {"Content-Type": "binary/octet-stream"}
        )

    def _mount(self, request: Request, source: str) -> Answer:
        asked = json.loads(request.body)
        try:
            with self._world.store.lock:
                thing = wanted.guest_at(self._world.cloud, source)
                if thing is None:
                    raise shares.Unreachable("no instance has this address")
                exported = shares.export(self._world.cloud, thing, asked["source"])
            hosts.mount(self._place, thing.id, exported, asked["target"], read_only="ro" in asked["options"])
        except (shares.Unreachable, command.CommandFailed) as refused:
            return Answer(403, str(refused).encode(), {})
        return Answer(200, f"{asked['source']} is a folder of this machine at {asked['target']}".encode(), {})

    def _lookup(self, name: str, source: str) -> str | None:
        if found := resolver.address_of_instance(name):
            return found
        if not name.endswith(OURS):
            return None
        if ".efs." in name:
            with self._world.store.lock:
                thing = wanted.guest_at(self._world.cloud, source)
                return shares.mount_target_address(self._world.cloud, thing, name.partition(".")[0]) if thing else ""
        if name.endswith(databases.NAMES) and name != certificates.TRUSTSTORE:
            with self._world.store.lock:
                return databases.address_of(self._world.cloud, name)
        return self._place.gateway

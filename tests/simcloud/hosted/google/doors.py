"""What guests find in their network: the metadata server, Google's services behind TLS, names, and whoever puts file systems in place. All of it answers at the gateway."""

import json
import re
import socketserver
import ssl

from components.local.machine import command

from ...core import listening
from ...core.listening import Answer, Request
from ...google import rest_door
from ...google.cloud import Cloud
from .. import hosts, resolver
from ..doors import HTTP, HTTPS
from ..place import METADATA, Place
from ..shares import NFS_PORT, Unreachable
from . import metadata, shares, wanted

SERVICES = ".googleapis.com"
METADATA_NAMES = ("metadata.google.internal", "metadata")
INSTANCE = re.compile(r"([a-z0-9-]+)(?:\.[a-z0-9-]+)?\.c\.[a-z0-9-]+\.internal")
"""Zonal and global names (Compute Engine documentation, "Internal DNS names")."""


class Doors:
    """The listeners of one place, open from the start of its network on."""

    def __init__(self, cloud: Cloud, place: Place, *, context: ssl.SSLContext):
        self._cloud, self._place = cloud, place
        self._servers: list[socketserver.BaseServer] = [
            listening.listen((place.gateway, HTTP), self._metadata),
            listening.listen((place.gateway, HTTPS), self._service, context=context),
            listening.listen((place.gateway, NFS_PORT), self._mount),
            resolver.serve(place.gateway, self._lookup),
        ]

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _metadata(self, request: Request, source: str) -> Answer:
        with self._cloud.store.lock:
            return metadata.answer(self._cloud, request, source)

    def _service(self, request: Request, source: str) -> Answer:
        return rest_door.answer(self._cloud, request, owner=False)

    def _mount(self, request: Request, source: str) -> Answer:
        asked = json.loads(request.body)
        try:
            with self._cloud.store.lock:
                thing = wanted.guest_at(self._cloud, source)
                if thing is None:
                    raise Unreachable("no instance has this address")
                exported = shares.export(self._cloud, thing, asked["source"])
            if exported.host and (why := hosts.exported_to(self._place.names.host(exported.host), exported.path, source)):
                raise Unreachable(f"{asked['source']}: {why}")
            hosts.mount(self._place, wanted.name_of(thing), exported, asked["target"], read_only="ro" in asked["options"])
        except (Unreachable, command.CommandFailed) as refused:
            return Answer(403, str(refused).encode(), {})
        return Answer(200, f"{asked['source']} is a folder of this machine at {asked['target']}".encode(), {})

    def _lookup(self, name: str, source: str) -> str | None:
        if name in METADATA_NAMES:
            return METADATA
        if name.endswith(SERVICES):
            return self._place.gateway
        if found := INSTANCE.fullmatch(name):
            with self._cloud.store.lock:
                return next((wanted.address(one) for one in self._cloud.store.all(wanted.INSTANCES) if wanted.name_of(one) == found[1]), "")
        return None

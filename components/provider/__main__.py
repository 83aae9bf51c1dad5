"""The plugin's process: which kinds it serves, and to whom."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from .. import engine_watch, lasting_imports

with lasting_imports.without_search_for_garbage():
    import grpc
    from pulumi.runtime.proto import engine_pb2_grpc, provider_pb2_grpc

    from . import kinds
    from .servicer import Servicer

VERSION = "0.1.0"
WORKERS = 64  # operations block their thread; the engine asks for many at once
MESSAGE_LIMIT_BYTES = 400 * 1024 * 1024  # the engine's own limit


def main() -> None:
    # Whoever may read what is said by each file that is private; hosts and their users have to read all others, whatever the user's umask.
    os.umask(0o022)
    engine_watch.end_with(int(os.environ["CLUSTERWRIGHT_ENGINE_PID"]))
    address = next(argument for argument in sys.argv[1:] if not argument.startswith("-"))
    limits = [("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES), ("grpc.max_send_message_length", MESSAGE_LIMIT_BYTES)]
    engine = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address, options=limits))
    server = grpc.server(ThreadPoolExecutor(max_workers=WORKERS), options=limits)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(kinds.named, engine=engine, version=VERSION), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()

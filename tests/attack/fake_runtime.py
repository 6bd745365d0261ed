"""A container runtime that knows of nothing: each call is answered with its own bytes after eight of its own; Silence never,
Endless with messages until the caller goes.

usage: fake_runtime.py SOCKET
"""
import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))

from cri import client  # noqa: E402

grpc = client.grpc


async def answer(data, _):
    return b"\x0a\x06answer" + data


async def nothing(_, __):
    return b""


async def silence(_, __):
    await asyncio.Event().wait()


async def endless(_, __):
    while True:
        yield b"x" * 60000


class Any(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method.endswith("Silence"):
            return grpc.unary_unary_rpc_method_handler(silence)
        if details.method.endswith("Endless"):
            return grpc.unary_stream_rpc_method_handler(endless)
        if details.method.endswith(("ListPodSandbox", "ListContainers")):
            return grpc.unary_unary_rpc_method_handler(nothing)
        return grpc.unary_unary_rpc_method_handler(answer)


async def main():
    from grpc import aio  # pylint: disable=import-outside-toplevel: not before the client has found gRPC
    server = aio.server()
    server.add_generic_rpc_handlers((Any(),))
    server.add_insecure_port("unix://" + sys.argv[1])
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main())

"""A docker daemon that makes what it is asked for and keeps nothing: /events and an attached connection never end, /silence is
never answered, /seen says how often each path was asked for.

usage: fake_docker.py SOCKET
"""
import asyncio
import collections
import hashlib
import json
import sys

CHUNK = b"ea60\r\n" + b"x" * 60000 + b"\r\n"
SEEN = collections.Counter()


async def body(reader, fields):
    if fields.get("transfer-encoding") == "chunked":
        while size := int((await reader.readline()).split(b";")[0], 16):
            await reader.readexactly(size + 2)
        while (await reader.readline()).strip():
            pass
        return
    left = int(fields.get("content-length", 0))
    while left:
        left -= len(await reader.readexactly(min(left, 1 << 16)))


def answer(path):
    if path.endswith("/info"):
        return 200, {"CgroupDriver": "cgroupfs"}
    if path.endswith("/create"):
        return 201, {"Id": hashlib.sha256(str(SEEN.total()).encode()).hexdigest(), "Warnings": []}
    if path.endswith("/json"):
        return (200, []) if path.endswith("/containers/json") else (404, {"message": "No such container"})
    return 200, dict(SEEN) if path == "/seen" else {}


async def one(reader, writer):
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1].partition("?")[0]
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        SEEN[path] += 1
        await body(reader, fields)
        if path == "/silence":
            await reader.read()
            return
        if path == "/events":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                writer.write(CHUNK)
                await writer.drain()
        if path.endswith("/attach"):
            writer.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nattached")
            await writer.drain()
            await reader.read()
            return
        status, said = answer(path)
        text = json.dumps(said).encode()
        writer.write(f"HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        await writer.drain()


async def serve(reader, writer):
    try:
        await one(reader, writer)
    except (OSError, ValueError, IndexError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_unix_server(serve, sys.argv[1], limit=1 << 20, backlog=1000)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

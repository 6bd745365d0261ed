"""gRPC on unix sockets, by neighbours who may connect: silence, halves, floods, lies, and back ends and hook servers that do
not answer. The kubelet's own connection waits for none of it (the prober's calls, attack.py)."""
import concurrent.futures
import json
import os
import socket
import threading
import time

import h2
from ground import CEILING, VERSION, expect, rss_mib

KEPT_MIB = 64  # that one socket's neighbours may leave behind
SILENCE, ENDLESS = "/test.Runtime/Silence", "/test.Runtime/Endless"


def held(port, count, *pieces, between=0.0):
    """As many connections as are let in, each told the pieces."""
    connections = []
    for _ in range(count):
        try:
            connections.append(port.connect(timeout=5))
        except OSError:
            break
    for number, piece in enumerate(pieces):
        time.sleep(between if number else 0)
        for connection in connections:
            try:
                connection.sendall(piece)
            except OSError:
                pass  # let go, for somebody else
    return connections


def close(connections):
    for connection in connections:
        connection.close()


def grpc_silent(ground, short):
    """Connections that say nothing, and such that say a part of a word."""
    for port in ground.sockets:
        for first in (b"", h2.PREFACE[:7], h2.opening(), h2.opening() + h2.call(VERSION)[:20]):
            connections = held(port, 300, first)
            time.sleep(0.3 if short else 5)
            expect(port.well(), f"nobody else is answered at {port.name}")
            close(connections)


def grpc_slow(ground, short):
    """A call that comes byte by byte, over many connections."""
    for port in ground.sockets:
        said = h2.opening() + h2.call(port.method)
        said = said[:12 if short else 60]
        close(held(port, 60, *(said[i:i + 1] for i in range(len(said))), between=0.05))


def grpc_half_closed(ground, short):
    """Whoever says no more, but listens."""
    for port in ground.sockets:
        connections = held(port, 50, h2.opening() + h2.call(SILENCE, end=False))
        for connection in connections:
            connection.shutdown(socket.SHUT_WR)
        time.sleep(0.3 if short else 3)
        close(connections)


def words():
    """(name, bytes) of what is no call, or not quite."""
    open_ = h2.opening()
    head = h2.request_fields(VERSION)
    yield "http1", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    yield "tls", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500)
    yield "noise", os.urandom(100000)
    yield "frame-of-16-MiB", open_ + h2.frame(h2.DATA, 0, 1, b"x" * 65536, length=(1 << 24) - 1)
    yield "message-of-4-GiB", open_ + h2.frame(h2.HEADERS, h2.END_HEADERS, 1, head) + h2.frame(h2.DATA, 0, 1, b"\x00\xff\xff\xff\xff" + b"x" * 10000)
    yield "message-of-17-MiB", open_ + h2.frame(h2.HEADERS, h2.END_HEADERS, 1, head) + h2.frame(h2.DATA, 0, 1, b"\x00\x01\x10\x00\x00" + b"x" * 10000)
    yield "compressed", open_ + h2.frame(h2.HEADERS, h2.END_HEADERS, 1, head) + h2.frame(h2.DATA, 1, 1, b"\x01\x00\x00\x00\x04gzip")
    yield "data-without-a-call", open_ + h2.frame(h2.DATA, 1, 7, b"x" * 100)
    yield "even-stream", open_ + h2.frame(h2.HEADERS, 5, 2, head)
    yield "headers-on-stream-0", open_ + h2.frame(h2.HEADERS, 5, 0, head)
    yield "promise", open_ + h2.frame(h2.PUSH_PROMISE, 4, 1, b"\x00\x00\x00\x02" + head)
    yield "padding-longer-than-the-frame", open_ + h2.frame(h2.HEADERS, h2.END_HEADERS | h2.PADDED, 1, b"\xff" + head[:20])
    yield "hpack-beyond-its-table", open_ + h2.frame(h2.HEADERS, h2.END_HEADERS, 1, b"\xff\xff\xff\xff\x0f" + head)
    yield "hpack-without-end", open_ + h2.frame(h2.HEADERS, h2.END_HEADERS, 1, b"\x00\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff")
    yield "table-of-4-GiB", open_ + h2.frame(h2.SETTINGS, 0, 0, b"\x00\x01\xff\xff\xff\xff") + h2.call(VERSION)
    yield "window-of-nothing", open_ + h2.frame(h2.SETTINGS, 0, 0, b"\x00\x04\x00\x00\x00\x00") + h2.call(ENDLESS)
    yield "window-beyond-its-end", open_ + h2.frame(h2.WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 3
    yield "settings-of-an-odd-length", h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0, b"12345")
    yield "no-path", open_ + h2.frame(h2.HEADERS, 5, 1, h2.field(b":method", b"POST"))
    yield "odd-path", open_ + h2.call("/" + "a" * 60000)
    yield "timeout-beyond-words", open_ + h2.call(VERSION, fields=((b"grpc-timeout", b"99999999999999999999H"),))
    yield "binary-that-is-not", open_ + h2.call(VERSION, fields=((b"a-bin", b"!!!!"),))
    yield "value-with-controls", open_ + h2.call(VERSION, fields=((b"a", b"\x01\x7f\xff"),))
    yield "name-in-capitals", open_ + h2.call(VERSION, fields=((b"A\x00B", b"x"),))


def grpc_words(ground, short):
    """What is no call: it ends its own connection at most."""
    for port in ground.sockets:
        for name, said in words():
            with port.connect() as connection:
                try:
                    connection.sendall(said)
                    connection.settimeout(0.1 if short else 1)
                    while connection.recv(65536):
                        pass
                except OSError:
                    pass
            expect(port.well(), f"{port.name} does not answer any more after {name}")


def grpc_floods(ground, short):
    """Frames that cost their sender nothing: settings, pings, resets of streams that were just begun, headers without an end."""
    fields = h2.request_fields(VERSION)
    floods = [
        h2.frame(h2.SETTINGS, 0, 0, b"\x00\x03\x00\x00\x00\x64") * 1000, h2.frame(h2.PING, 0, 0, b"12345678") * 1000,
        b"".join(h2.frame(h2.HEADERS, 5, stream, fields) + h2.frame(h2.RST_STREAM, 0, stream, b"\x00\x00\x00\x08")
                 for stream in range(1, 2001, 2)),
        h2.frame(h2.HEADERS, 0, 1, fields) + h2.frame(h2.CONTINUATION, 0, 1, h2.field(b"x", b"y" * 100) * 100) * 100,
        h2.frame(h2.WINDOW_UPDATE, 0, 0, b"\x00\x00\x00\x01") * 1000]
    for port in ground.sockets:
        before = rss_mib(port.pid)
        for flood in floods:
            connections = held(port, 3 if short else 20, h2.opening())
            end = time.monotonic() + (0.3 if short else 3)
            for connection in connections:
                connection.settimeout(0.1 if short else 1)  # whose answers are not read is not read from, either
                try:
                    while time.monotonic() < end:
                        connection.sendall(flood)
                except OSError:
                    pass
            most = rss_mib(port.pid) - before
            close(connections)
            expect(most < 2 * KEPT_MIB, f"{port.name} takes {most:.0f} MiB of frames that cost nothing")


def grpc_streams(ground, short):
    """10,000 calls that wait, over ten connections; then all go at once."""
    for port in ground.sockets:
        before = rss_mib(port.pid)
        connections = []
        for _ in range(10):
            connection = port.connect()
            connection.sendall(h2.opening())
            connection.setblocking(True)
            threading.Thread(target=drain, args=(connection,), daemon=True).start()
            connections.append(connection)
        for first in range(1, 201 if short else 2001, 100):
            for connection in connections:
                try:
                    connection.sendall(b"".join(h2.call(SILENCE, stream) for stream in range(first, first + 100, 2)))
                except OSError:
                    pass
            expect(port.well(), f"nobody else is answered at {port.name}")
        for connection in connections:
            connection.shutdown(socket.SHUT_RDWR)
        close(connections)
        end = time.monotonic() + CEILING
        while rss_mib(port.pid) - before > KEPT_MIB and time.monotonic() < end:
            time.sleep(0.2)
        expect(rss_mib(port.pid) - before < KEPT_MIB, f"{port.name} keeps {rss_mib(port.pid) - before:.0f} MiB of calls that have gone")


def drain(connection):
    try:
        for kind, flags, _, _ in h2.frames(connection):
            if kind == h2.SETTINGS and not flags & h2.ACK:
                connection.sendall(h2.frame(h2.SETTINGS, h2.ACK))
    except OSError:
        pass


def grpc_unread(ground, short):
    """Answers without an end that nobody reads: the back end's words stay where they are."""
    port = next(port for port in ground.sockets if port.name == "proxy")
    before = rss_mib(port.pid)
    window = h2.frame(h2.SETTINGS, 0, 0, b"\x00\x04\x7f\xff\xff\xff") + h2.frame(h2.WINDOW_UPDATE, 0, 0, b"\x7f\x00\x00\x00")
    connections = held(port, 20, h2.PREFACE + window + b"".join(h2.call(ENDLESS, stream) for stream in range(1, 20, 2)))
    time.sleep(1 if short else 8)
    most = rss_mib(port.pid) - before
    close(connections)
    expect(most < 4 * KEPT_MIB, f"200 answers that nobody reads take {most:.0f} MiB")


class HookServer:
    """A socket that is a hook server's by its file, and does what it likes."""

    def __init__(self, ground, do):
        self.path, self.do, self.open, self.asked = os.path.join(ground.folder.name, "hooks.sock"), do, True, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()
        self.file = os.path.join(ground.hook_folder, "attack.json")
        with open(self.file + ".new", "w", encoding="utf-8") as file:
            json.dump({"remote-endpoint": self.path, "failure-policy": "Ignore",
                       "runtime-hooks": ["PreRunPodSandbox", "PreCreateContainer"]}, file)
        os.rename(self.file + ".new", self.file)

    def serve(self):
        while self.open:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.asked += 1
            threading.Thread(target=self.one, args=(connection,), daemon=True).start()

    def one(self, connection):
        with connection:
            try:
                self.do(connection)
            except OSError:
                pass

    def close(self):
        self.open = False
        self.listener.close()
        os.unlink(self.path)
        os.unlink(self.file)


def never(connection):
    while connection.recv(65536):
        pass


def garbage(connection):
    connection.sendall(os.urandom(100000))


def hang_up(connection):
    connection.recv(10)


def huge(connection):
    connection.sendall(h2.frame(h2.SETTINGS))
    ok = b"\x88" + h2.field(b"content-type", b"application/grpc")
    for kind, flags, stream, _ in h2.frames(connection):
        if kind == h2.SETTINGS and not flags & h2.ACK:
            connection.sendall(h2.frame(h2.SETTINGS, h2.ACK))
        if kind == h2.HEADERS:
            connection.sendall(h2.frame(h2.HEADERS, h2.END_HEADERS, stream, ok) + h2.frame(h2.DATA, 0, stream, b"\x00\x7f\xff\xff\xff"))
            for _ in range(3000):
                connection.sendall(h2.frame(h2.DATA, 0, stream, b"x" * 16000))


def no_message(connection):
    connection.sendall(h2.frame(h2.SETTINGS))
    ok = b"\x88" + h2.field(b"content-type", b"application/grpc")
    for kind, flags, stream, _ in h2.frames(connection):
        if kind == h2.SETTINGS and not flags & h2.ACK:
            connection.sendall(h2.frame(h2.SETTINGS, h2.ACK))
        if kind == h2.DATA and flags & h2.END_STREAM:
            connection.sendall(h2.frame(h2.HEADERS, h2.END_HEADERS, stream, ok) + h2.frame(h2.DATA, 0, stream, b"\x00\x00\x00\x00\x05\xff\xff\xff\xff\xff") +
                               h2.frame(h2.HEADERS, h2.END_HEADERS | h2.END_STREAM, stream, h2.field(b"grpc-status", b"0")))


def hook_servers(ground, short):
    """Hook servers that do not answer, or not in words: a call waits for its time-out, with Ignore it is made all the same,
    and nobody else waits."""
    port = next(port for port in ground.sockets if port.name == "proxy")
    for do in (never, garbage, hang_up, huge, no_message):
        server = HookServer(ground, do)
        try:
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                made = list(pool.map(lambda _: h2.answered(port.path, "/runtime.v1.RuntimeService/RunPodSandbox", CEILING),
                                     range(20 if short else 200)))
            expect(server.asked, f"the hook server with {do.__name__}() was never asked")
            expect(all(made), f"{made.count(False)} of {len(made)} sandboxes were not made beside a hook server with {do.__name__}()")
        finally:
            server.close()


ATTACKS = [grpc_silent, grpc_slow, grpc_half_closed, grpc_words, grpc_floods, grpc_streams, grpc_unread, hook_servers]

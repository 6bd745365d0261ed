"""API servers that lie, stall or never end, against the client: a scheduler that was given their address."""
import functools
import gzip
import os
import socket
import tempfile
import threading
import time

import prober
from ground import AIM, CEILING, Port, Program, expect, free_port, rss_mib

# What a client may take whatever it is told: of a scheduler, whose 25 informers are all told it at once, 357 to 477.
KEPT_MIB = 512
CHUNK = b"x" * 65536


def endless(connection, head, piece, closing):
    connection.sendall(head)
    while not closing.is_set():
        connection.sendall(piece)


def reply(status, body=b"", headers=""):
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def endless_header(connection, closing):
    endless(connection, b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"y" * 1000 + b"\r\n", closing)


def endless_header_line(connection, closing):
    endless(connection, b"HTTP/1.1 200 OK\r\nX: ", CHUNK, closing)


def endless_list(connection, closing):
    item = b'{"metadata":{"name":"' + b"n" * 60000 + b'"}},'
    first = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":['
    connection.sendall(CHUNKED + b"%x\r\n%s\r\n" % (len(first), first))
    endless(connection, b"", b"%x\r\n%s\r\n" % (len(item), item), closing)


def endless_list_alone(connection, closing, asked=b""):
    """Of a server that knows lists alone, so that all informers read one at once."""
    if b"watch=" in asked:
        connection.sendall(reply("422 Unprocessable Entity", b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}'))
    else:
        endless_list(connection, closing)


def endless_watch_line(connection, closing):
    endless(connection, CHUNKED + b'd\r\n{"type":"ADDE\r\n', b"10000\r\n" + CHUNK + b"\r\n", closing)


def chunk_line(connection, closing):
    endless(connection, CHUNKED, b"0" * 1000, closing)


@functools.cache
def bomb():
    """Made once: eight informers at a time must not wait for this machine to pack it."""
    return gzip.compress(b" " * (512 << 20), 1)


def gzip_bomb(connection, closing):
    connection.sendall(reply("200 OK", bomb(), "Content-Encoding: gzip\r\n"))


def retry_after(connection, closing):
    connection.sendall(reply("429 Too Many Requests", b"{}", "Retry-After: 99999999999999999999\r\n"))


def redirect(connection, closing):
    connection.sendall(reply("307 Temporary Redirect", b"", "Location: http://127.0.0.1:1/\r\n"))


def cut_chunk(connection, closing):
    connection.sendall(CHUNKED + b"ffff\r\n{")


def garbage(connection, closing):
    connection.sendall(os.urandom(10000))


def garbage_events(connection, closing):
    connection.sendall(CHUNKED)
    for line in (b"{}\n", b"[]\n", b"\xff\xfe\n", b'{"type":"ADDED"}\n', b'{"type":"ADDED","object":{"kind":"Pod"}}\n', b"[" * 100000 + b"\n",
                 b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"-1"}}}\n', b'{"type":"ERROR","object":7}\n'):
        connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
    connection.sendall(b"0\r\n\r\n")


def deep_list(connection, closing):
    connection.sendall(reply("200 OK", b'{"items":' + b"[" * 3_000_000))


def never(connection, closing):
    closing.wait()


def informational(connection, closing):
    endless(connection, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, closing)


MODES = [endless_header, endless_header_line, endless_list, endless_list_alone, endless_watch_line, chunk_line, gzip_bomb, retry_after, redirect, cut_chunk,
         garbage, garbage_events, deep_list, never, informational]


class HostileServer:
    """Answers every request in one way."""

    def __init__(self, mode):
        self.mode, self.closing = mode, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.closing.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        connection.settimeout(CEILING)
        with connection:
            try:
                if asked := connection.recv(65536):
                    more = (asked,) if self.mode is endless_list_alone else ()
                    self.mode(connection, self.closing, *more)
            except OSError:
                pass

    def close(self):
        self.closing.set()
        self.listener.close()


def against(mode, scheme, seconds):
    server, late = HostileServer(mode), prober.Lateness()
    with tempfile.TemporaryDirectory(prefix="koord-attack.") as folder:
        kubeconfig = os.path.join(folder, "kubeconfig")
        with open(kubeconfig, "w", encoding="utf-8") as file:
            file.write("apiVersion: v1\nkind: Config\ncurrent-context: x\nusers: []\n"
                       f"clusters: [{{name: x, cluster: {{server: '{scheme}://127.0.0.1:{server.port}'}}}}]\n"
                       "contexts: [{name: x, context: {cluster: x, user: ''}}]\n")
        plain = Port("role", free_port())
        role = Program("--role=scheduler", f"--kubeconfig={kubeconfig}", "--secure-port=0", f"--port={plain.number}",
                       "--address=127.0.0.1", "--leader-elect=false")
        try:
            end, longest, peak = time.monotonic() + seconds, 0.0, 0.0
            while time.monotonic() < end:
                expect(role.child.poll() is None, f"{mode.__name__}: it ended: {role.output()[-500:]}")
                began = time.monotonic()
                try:
                    plain.request("GET", "/healthz", timeout=CEILING)
                    ended = time.monotonic()
                    longest = max(longest, ended - began - late.during(began, ended))
                except OSError:
                    pass  # before its port is open
                peak = max(peak, rss_mib(role.child.pid))
                time.sleep(0.1)
            expect(longest < AIM, f"{mode.__name__}: /healthz took {longest:.2f} s")
            expect(peak < KEPT_MIB, f"{mode.__name__}: {peak:.0f} MiB")
            lines = role.output().count("\n")
            expect(lines < 200 * seconds, f"{mode.__name__}: {lines} lines of log in {seconds} s")
        finally:
            status = role.end(2 * CEILING)
            server.close()
            late.finish()
        expect(status is not None, f"{mode.__name__}: SIGTERM did not end it")
        expect(status >= 0, f"{mode.__name__}: it ended by signal {-status}")


def hostile_servers(ground, short):
    failures = []
    bomb()
    for mode in MODES:
        try:
            against(mode, "http", 2 if short else 8)
        except AssertionError as error:
            failures.append(str(error))
    expect(not failures, "; ".join(failures))


def stalling_tls(ground, short):
    against(never, "https", 2 if short else 12)


ATTACKS = [hostile_servers, stalling_tls]

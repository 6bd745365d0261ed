"""Many who ask, hold connections open or are slow, while somebody else wants an answer."""
import base64
import concurrent.futures
import json
import os
import socket
import time

from ground import Port, expect, read_all

MORE_THAN_A_PORT_TAKES = 400


def open_many(port, count, tls, first=b""):
    """As many connections as can be had; who refuses them is right to."""
    held = []

    def one(_):
        try:
            connection = port.connect(timeout=5, tls=tls)
            if first:
                connection.sendall(first)
            return connection
        except OSError:
            return None

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        held = [connection for connection in pool.map(one, range(count)) if connection]
    return held


def close_all(held):
    for connection in held:
        connection.close()


def silent(ground, short):
    """Connections that never say anything."""
    for port in ground.ports:
        held = open_many(port, MORE_THAN_A_PORT_TAKES, tls=False)
        time.sleep(1 if short else 12)
        close_all(held)


def idle(ground, short):
    """Connections that have shaken hands, asked once, and stay."""
    for port in ground.ports:
        ask = f"GET {port.probe} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        held = open_many(port, MORE_THAN_A_PORT_TAKES, tls=True, first=ask)
        time.sleep(1 if short else 5)
        close_all(held)


def slow_headers(ground, short):
    """A byte of header now and then, over many connections."""
    held = [(port, connection) for port in ground.ports for connection in open_many(port, 100, tls=True, first=b"GET /h")]
    for _ in range(3 if short else 24):
        time.sleep(0.5)
        for _, connection in held:
            try:
                connection.send(b"x")
            except OSError:
                pass
    if not short:
        alive = 0
        for port, connection in held[:30]:
            connection.settimeout(0.05)
            try:
                alive += connection.recv(1) != b""
            except TimeoutError:
                alive += 1
            except OSError:
                pass
        expect(alive == 0, f"{alive} of 30 connections without a request were still open after 12 s")
    close_all(connection for _, connection in held)


def slow_bodies(ground, short):
    """Bodies that were promised and come a byte at a time, of strangers and of the administrator."""
    held = []
    for port in ground.ports:
        first = b"POST /api/v1/namespaces HTTP/1.1\r\n" + port.headers(Content_Length=1 << 20, Content_Type="application/json") + b"\r\n{"
        held += open_many(port, 60, tls=True, first=first)
    for _ in range(3 if short else 20):
        time.sleep(0.5)
        for connection in held:
            try:
                connection.send(b" ")
            except OSError:
                pass
    close_all(held)


def stranger(port):
    """The port, for somebody without a token."""
    return Port(port.name, port.number, port.context, probe=port.probe)


def large_bodies_of_strangers(ground, short):
    """A port reads no body before it knows who sends it, and what for."""
    data = b"x" * (1 << 19)
    for port in map(stranger, ground.ports):
        def send(_, port=port):
            try:
                return port.request("POST", "/configz", data, timeout=5)[0]
            except OSError:
                return 0
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for status in pool.map(send, range(40 if short else 400)):
                expect(status == 0 or status >= 400, f"{port.name}: a body to /configz was answered with {status}")


def strangers(ground, short):
    """Tokens and paths that nobody knows, each for the first time: nothing of them is kept."""
    refused = tuple(f"HTTP/1.1 {status}".encode() for status in (401, 403, 404, 429, 503))
    for port in ground.ports:
        def ask(number, port=port):
            random = base64.urlsafe_b64encode(os.urandom(3000)).decode()
            try:
                connection = port.connect()
            except OSError:
                return
            with connection:
                for turn in range(20):
                    request = f"GET /{random[:1000]}{number}-{turn} HTTP/1.1\r\nHost: 127.0.0.1:{port.number}\r\nAuthorization: Bearer {turn}{random}\r\n\r\n"
                    try:
                        connection.sendall(request.encode())
                        data = connection.recv(65536)
                    except OSError:
                        return
                    if not data:
                        return
                    expect(data.startswith(refused), f"{port.name}: a stranger was answered {data[:20]!r}")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(20 if short else 200)))


def anonymous_paths(ground, short):
    """Whoever has no token gets to health alone, and to debugging never; a plain port is for reading."""
    tricks = ("//metrics", "/healthz/../metrics", "/%6detrics", "/readyz/..%2fmetrics")
    debugging = ("/debug/pprof/", "/debug/flags/v", "/debug/pprof/../../debug/flags/v")
    for port in map(stranger, ground.ports):
        inner = ("/metrics", "/configz", *tricks) if port.context else ()
        for path in (*inner, *debugging):
            status, _ = port.request("GET", path)
            expect(status in (400, 401, 403, 404, 405), f"{port.name}: {path}: {status} for nobody")
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            status, _ = port.request(method, "/metrics")
            expect(status >= 400, f"{port.name}: {method} /metrics: {status}")


def watchers_that_never_read(ground, short):
    """Watches whose reader stopped, while large objects change."""
    held = []
    for _ in range(10 if short else 40):
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", ground.api_port.number))
        connection = ground.api_port.context.wrap_socket(raw, server_hostname="127.0.0.1")
        connection.sendall(b"GET /api/v1/namespaces/default/configmaps?watch=true HTTP/1.1\r\n" + ground.api_port.headers() + b"\r\n")
        held.append(connection)
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"x": "y" * 200000}}
    ground.call("POST", "/api/v1/namespaces/default/configmaps", item)
    for turn in range(50 if short else 1000):
        item["data"]["turn"] = str(turn)
        status, body = ground.call("PUT", "/api/v1/namespaces/default/configmaps/large", item)
        expect(status == 200, f"an update beside silent watchers: {status} {body[:200]!r}")
    ground.call("DELETE", "/api/v1/namespaces/default/configmaps/large")
    close_all(held)


def probes_while_lists_run(ground, short):
    """Lists of everything, again and again, dropped in the middle."""
    for _ in range(20 if short else 300):
        connection = ground.api_port.connect()
        connection.sendall(b"GET /openapi/v2 HTTP/1.1\r\n" + ground.api_port.headers() + b"\r\n")
        connection.close()
    with ground.api_port.connect() as connection:
        connection.sendall(b"GET /version HTTP/1.1\r\n" + ground.api_port.headers(Connection="close") + b"\r\n")
        expect(json.loads(read_all(connection).partition(b"\r\n\r\n")[2]).get("major"), "no version afterwards")


ATTACKS = [silent, idle, slow_headers, slow_bodies, large_bodies_of_strangers, strangers, anonymous_paths,
           watchers_that_never_read, probes_while_lists_run]

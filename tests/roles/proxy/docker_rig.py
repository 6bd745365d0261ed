"""A docker daemon that a test plays, on a unix socket, and a caller of it."""
import hashlib
import http.client
import http.server
import json
import os
import socket
import socketserver
import threading

from rig import SECONDS

TYPE, SANDBOX_ID = "io.kubernetes.docker.type", "io.kubernetes.sandbox.id"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        with self.server.docker.lock:
            self.server.docker.open.add(self.connection)

    def finish(self):
        with self.server.docker.lock:
            self.server.docker.open.discard(self.connection)
        super().finish()

    def log_message(self, *_):
        pass

    def address_string(self):
        return "unix"

    def reply(self, status, body=b"", kind="application/json", **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode() + b"\n"
        self.send_response(status)
        self.send_header("Api-Version", "1.41")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if body or status not in (204, 304):
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunks(self, *pieces):
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.flush()

    def stream(self, kind="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def pieces(self):
        """The request's body as it comes."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            left = int(self.headers.get("Content-Length") or 0)
            while left:
                piece = self.rfile.read(min(left, 1 << 16))
                if not piece:
                    raise ConnectionError("a body that was cut")
                left -= len(piece)
                yield piece

    def any(self):
        docker, path = self.server.docker, self.path.partition("?")[0]
        parts = path.strip("/").split("/")
        if parts[0].startswith("v1."):
            parts = parts[1:]
        name = "/".join(part for part in parts if part not in docker.made and not part.startswith("k8s_"))
        if name in docker.answers:
            if name.startswith("containers"):
                b"".join(self.pieces())
            return docker.answers[name](self)
        if name == "build":
            digest = hashlib.sha256()
            for piece in self.pieces():
                digest.update(piece)
            return self.reply(200, {"sha": digest.hexdigest()})
        body = b"".join(self.pieces())
        with docker.lock:
            docker.seen.append((self.command, self.path, dict(self.headers.items()), body))
        return docker.answer(self, name, parts, body)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = any


class Docker:
    """It has what was made through it. `answers[name]`, where name is a path without version, ids and query, is called with
    the handler in place of what is done otherwise."""

    def __init__(self, path):
        self.path, self.made, self.seen, self.answers, self.lock, self.running = path, {}, [], {}, threading.Lock(), set()
        self.driver, self.server, self.count, self.open = "cgroupfs", None, 0, set()
        self.start()

    def start(self):
        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True
            request_queue_size = 100
            docker = self

            def handle_error(self, *_):
                pass

        self.server = Server(self.path, Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        os.unlink(self.path)
        with self.lock:
            for connection in self.open:
                connection.shutdown(socket.SHUT_RDWR)

    def calls(self, end):
        """The bodies of requests whose paths end so, queries aside."""
        with self.lock:
            return [body for _, path, _, body in self.seen if path.partition("?")[0].endswith(end)]

    def make(self, name, body):
        with self.lock:
            self.count += 1
            made = hashlib.sha256(str(self.count).encode()).hexdigest()
            self.made[made] = (name, body)
        return made

    def inspect(self, made):
        name, body = self.made[made]
        return {"Id": made, "Name": "/" + name, "Config": {"Labels": body.get("Labels"), "Env": (body.get("Env") or []) + ["PATH=/bin"]},
                "HostConfig": body.get("HostConfig") or {}}

    def find(self, reference):
        found = [made for made, (name, _) in self.made.items() if reference in (name, made) or made.startswith(reference)]
        return found[0] if len(found) == 1 else None

    def answer(self, handler, name, parts, body):
        if name == "_ping":
            return handler.reply(200, b"OK", "text/plain")
        if name == "info":
            return handler.reply(200, {"CgroupDriver": self.driver})
        if name == "containers/create":
            query = handler.path.partition("?")[2]
            made = self.make(query.partition("name=")[2], json.loads(body))
            return handler.reply(201, {"Id": made, "Warnings": []})
        if name == "containers/json" and len(parts) == 2:
            return handler.reply(200, [{"Id": made, "Names": ["/" + of], "Labels": config.get("Labels") or {}}
                                       for made, (of, config) in self.made.items() if TYPE in (config.get("Labels") or {})])
        if parts[0] != "containers" or len(parts) < 2:
            return handler.reply(200, {"path": handler.path, "body": body.decode("latin-1")})
        made = self.find(parts[1])
        if made is None:
            return handler.reply(404, {"message": f"No such container: {parts[1]}"})
        if handler.command == "DELETE":
            del self.made[made]
            return handler.reply(204)
        if parts[-1] == "json":
            return handler.reply(200, self.inspect(made))
        if parts[-1] == "start":
            again = made in self.running
            self.running.add(made)
            return handler.reply(304 if again else 204)
        if parts[-1] == "stop":
            again = made not in self.running
            self.running.discard(made)
            return handler.reply(304 if again else 204)
        return handler.reply(200, {"Warnings": []})


class Client(http.client.HTTPConnection):
    """One connection of a kubelet's."""

    def __init__(self, path):
        super().__init__("docker", timeout=SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None, **headers):
        """(status, body)"""
        if isinstance(body, (dict, list)):
            body, headers = json.dumps(body), {"Content-Type": "application/json", **headers}
        self.request(method, "/v1.40" + path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = self.getresponse()
        return response.status, response.read()

    def raw(self, text):
        """Sends bytes, returns the socket and the head of what is answered."""
        self.connect()
        self.sock.sendall(text)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = self.sock.recv(1)
            assert byte, head
            head += byte
        return self.sock, head


def received(peer, size):
    """That many bytes."""
    text = b""
    while len(text) < size:
        piece = peer.recv(size - len(text))
        assert piece, (text, size)
        text += piece
    return text

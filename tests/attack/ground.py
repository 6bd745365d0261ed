"""What the attacks stand on: koord's programs on loopback, raw connections to their ports, a well-behaved client that
asks meanwhile, and what became of memory."""
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402

PROBE_EVERY = 0.05  # seconds
CEILING = 10.0  # nobody else may wait longer
START_SECONDS = 30


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def rss_mib(pid):
    """Resident memory, 0 if the process is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            found = re.search(r"VmRSS:\s+(\d+) kB", file.read())
        return int(found.group(1)) / 1024 if found else 0.0
    except OSError:
        return 0.0


class Port:
    """One listening port of a process under attack."""

    def __init__(self, name, number, context=None, token="", probe="/healthz"):
        self.name, self.number, self.context, self.token, self.probe = name, number, context, token, probe

    def connect(self, timeout=CEILING, tls=True):
        raw = socket.create_connection(("127.0.0.1", self.number), timeout=timeout)
        if not (self.context and tls):
            return raw
        try:
            return self.context.wrap_socket(raw, server_hostname="127.0.0.1")
        except BaseException:
            raw.close()
            raise

    def headers(self, **more):
        lines = {"Host": f"127.0.0.1:{self.number}", **({"Authorization": f"Bearer {self.token}"} if self.token else {}), **more}
        return "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items()).encode()

    def request(self, method, path, body=b"", timeout=CEILING, **headers):
        """(status, body) over a connection of its own."""
        if body:
            headers.setdefault("Content_Length", len(body))
        with self.connect(timeout) as connection:
            # A server that refuses early closes while we still send: what it said comes first.
            try:
                connection.sendall(f"{method} {path} HTTP/1.1\r\n".encode() + self.headers(Connection="close", **headers) +
                                   b"\r\n" + body)
            except OSError:
                pass
            return parse_answer(read_all(connection))


def read_all(connection, limit=64 << 20):
    """All that comes until the other side closes, or nothing more comes within the socket's time."""
    data = bytearray()
    try:
        while len(data) < limit:
            piece = connection.recv(65536)
            if not piece:
                break
            data += piece
    except OSError:
        pass
    return bytes(data)


def parse_answer(data):
    match = re.match(rb"HTTP/1\.[01] (\d{3})", data)
    return (int(match.group(1)) if match else 0), data.partition(b"\r\n\r\n")[2]


class Program:
    """A koord process of our own; ended by its id, whatever state it is in."""

    def __init__(self, *words, **environment):
        self.folder = tempfile.mkdtemp(prefix="koord-attack.")
        self.log_path = os.path.join(self.folder, "log")
        with open(self.log_path, "wb") as log:
            self.child = subprocess.Popen([sandbox.KOORD, *words], stdout=log, stderr=subprocess.STDOUT,
                                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})

    def output(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_port(self, port):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.child.poll() is None:
            try:
                if port.request("GET", port.probe, timeout=2)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"{port.name} did not start: {self.output()[-2000:]}")

    def end(self, seconds=CEILING):
        """SIGTERM; the exit status, or None if it had to be killed."""
        self.child.terminate()
        try:
            status = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            status = None
        shutil.rmtree(self.folder, ignore_errors=True)
        return status


class Prober(threading.Thread):
    """A well-behaved client: asks every port in turn, over a new connection each time."""

    def __init__(self, ports):
        super().__init__(daemon=True)
        self.ports, self.longest, self.unanswered = ports, 0.0, []
        self.done = threading.Event()

    def ask(self, port):
        began = time.monotonic()
        while True:
            try:
                if port.request("GET", port.probe)[0] == 200:
                    break
            except OSError:
                pass
            if time.monotonic() - began > CEILING or self.done.is_set():
                self.unanswered.append(port.name)
                break
            time.sleep(PROBE_EVERY)
        self.longest = max(self.longest, time.monotonic() - began)

    def run(self):
        while not self.done.is_set():
            for port in self.ports:
                self.ask(port)
                self.done.wait(PROBE_EVERY)

    def finish(self):
        # Once more, all of them: the end of an attack is when a port may have stayed closed.
        self.done.set()
        self.join(3 * CEILING)
        self.done.clear()
        for port in self.ports:
            self.ask(port)


class Ground:
    """A sandbox and a scheduler beside it, with their ports."""

    def __init__(self):
        self.sandbox = sandbox.Sandbox("--nodes=5", "--roles=", "--summary=none")
        self.sandbox.__enter__()
        try:
            self.api = kube_api.Api(self.sandbox.kubeconfig)
            self.api_port = Port("sandbox", self.api.port, self.api.context, self.api.token, "/readyz")
            stranger = ssl.create_default_context()
            stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
            self.secure = Port("role-secure", free_port(), stranger)
            self.plain = Port("role-plain", free_port())
            self.role = Program("--role=scheduler", f"--kubeconfig={self.sandbox.kubeconfig}", "--leader-elect=false",
                                f"--secure-port={self.secure.number}", "--bind-address=127.0.0.1",
                                f"--port={self.plain.number}", "--address=127.0.0.1")
            self.ports = [self.api_port, self.secure, self.plain]
            self.role.wait_port(self.secure)
            self.role.wait_port(self.plain)
        except BaseException:
            self.close()
            raise

    def pids(self):
        return {"sandbox": self.sandbox.child.pid, "role": self.role.child.pid}

    def alive(self):
        return [name for name, child in (("sandbox", self.sandbox.child), ("role", self.role.child)) if child.poll() is not None]

    def close(self):
        if hasattr(self, "role"):
            self.role.end()
        self.sandbox.__exit__()

    def call(self, method, path, body=None, content_type="application/json"):
        """(status, body) at the sandbox, as its administrator."""
        import json
        data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode() if body is not None else b""
        more = {"Content_Type": content_type} if data else {}
        return self.api_port.request(method, path, data, timeout=3 * CEILING, **more)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)

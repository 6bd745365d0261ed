"""What the attacks stand on: koord's programs on loopback, raw connections to their ports, a well-behaved client that
asks meanwhile, and what became of memory."""
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import h2

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import fake_node  # noqa: E402
import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import free_port  # noqa: E402,F401

AIM = 1.0  # seconds that somebody else may wait at most, the machine's own lateness aside
CEILING = 10.0
START_SECONDS = 30


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

    def __init__(self, name, number, context=None, token="", probe="/healthz", post=None):
        self.name, self.number, self.context, self.token, self.probe, self.post = name, number, context, token, probe, post
        self.pid = 0  # of who listens

    def well(self, timeout=CEILING):
        """Whether a well-behaved client gets what it came for: `post` (path, body) is sent and must be allowed, else the
        probe answers."""
        if self.post is None:
            return self.request("GET", self.probe, timeout=timeout)[0] == 200
        status, body = self.request("POST", *self.post, timeout=timeout, Content_Type="application/json")
        return status == 200 and b'"allowed":true' in body

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


class Socket:
    """A unix socket of a process under attack, at which gRPC is spoken."""

    def __init__(self, name, path, method):
        self.name, self.path, self.method = name, path, method
        self.pid = 0  # of who listens

    def well(self, timeout=CEILING):
        """Whether a well-behaved client's call is answered."""
        return h2.answered(self.path, self.method, timeout)

    def connect(self, timeout=CEILING):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(timeout)
            connection.connect(self.path)
            return connection
        except BaseException:
            connection.close()
            raise


class DockerSocket(Port):
    """The unix socket of a proxy before Docker. A client of it is well if a call that is relayed is answered, and one that is read."""

    def __init__(self, name, path):
        super().__init__(name, path, probe="/_ping")

    def connect(self, timeout=CEILING, tls=False):
        return Socket("", self.number, "").connect(timeout)

    def headers(self, **more):
        return "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in {"Host": "docker", **more}.items()).encode()

    def well(self, timeout=CEILING):
        return super().well(timeout) and self.request("POST", "/containers/create?name=x", b"{}", timeout, Content_Type="application/json")[0] == 201


def open_files(pid):
    """How many descriptors a process has."""
    return len(os.listdir(f"/proc/{pid}/fd"))


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
                if port.well(timeout=2):
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


class Prober:
    """The well-behaved client (prober.py), from its start to what it found."""

    def __init__(self, ports):
        self.child = subprocess.Popen([sys.executable, os.path.join(TREE, "tests", "attack", "prober.py")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.say(json.dumps([port.__dict__ if isinstance(port, Socket) else
                             {"docker": port.number, "name": port.name, "pid": port.pid} if isinstance(port, DockerSocket) else
                             {"name": port.name, "number": port.number, "tls": bool(port.context), "token": port.token,
                              "probe": port.probe, "pid": port.pid, "post": port.post and (port.post[0], port.post[1].decode())} for port in ports]))

    def say(self, line):
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()

    def finish(self):
        """What it found: see prober.py."""
        self.say("")
        found = json.loads(self.child.stdout.readline())
        self.child.wait(CEILING)
        return found


def listening(pid):
    """The TCP ports and the paths of unix sockets at which a process listens."""
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
        if found:
            inodes.add(found.group(1))
    there = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:
            for row in (line.split() for line in list(file)[1:]):
                if row[3] == "0A" and row[9] in inodes:
                    there.add(int(row[1].rpartition(":")[2], 16))
    with open(f"/proc/{pid}/net/unix", encoding="utf-8", errors="replace") as file:
        for row in (line.split() for line in list(file)[1:]):
            if int(row[3], 16) & 0x10000 and row[6] in inodes:
                there.add(row[7] if len(row) > 7 else "")
    return there


def port_flags():
    """{role: its flags that open ports}, as the roles' tables say it: what is new there is missing here until it is attacked."""
    flags = {}
    for name in sorted(os.listdir(os.path.join(TREE, "roles"))):
        path = os.path.join(TREE, "roles", name, "role.cpp")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                table = re.search(r"runtime::PortFlag, \d+> kPorts = \{\{(.*?)\n?\}\}", file.read(), re.S)
            flags[name] = re.findall(r'\{\{?"([\w-]+)"|^"([\w-]+)"', table.group(1), re.M) if table else []
            flags[name] = [one or other for one, other in flags[name]]
    return flags


HOOK = "/runtime.v1alpha1.RuntimeHookService/PreCreateContainerHook"
VERSION = "/runtime.v1.RuntimeService/Version"
REVIEW = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
    "uid": "1", "operation": "CREATE", "namespace": "default", "name": "a", "resource": {"group": "", "version": "v1", "resource": "pods"},
    "object": {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}


class Ground:
    """A sandbox and every role beside it, with all their ports."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="koord-attack.")
        crds = os.path.join(TREE, "packaging", "crds")
        self.sandbox = sandbox.Sandbox("--nodes=5", "--roles=", "--summary=none", "--load",
                                       *(os.path.join(crds, name) for name in sorted(os.listdir(crds)) if name.endswith(".yaml")))
        self.sandbox.__enter__()
        self.roles, self.fakes = {}, []
        self.host = fake_node.FakeRoot(os.path.join(self.folder.name, "root"))
        try:
            self.api = kube_api.Api(self.sandbox.kubeconfig)
            self.api_port = Port("sandbox", self.api.port, self.api.context, self.api.token, "/readyz")
            self.api_port.pid = self.sandbox.child.pid
            stranger = ssl.create_default_context()
            stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
            self.secure = Port("role-secure", free_port(), stranger)
            self.plain = Port("role-plain", free_port())
            self.webhook = Port("webhook", free_port(), stranger,
                                post=("/validate-pod?timeout=10s", json.dumps(REVIEW).encode()))
            metrics, health = Port("manager-metrics", free_port(), probe="/metrics"), Port("manager-health", free_port())
            self.page = Port("manager-page", free_port(), probe="/ui/")
            agent = Port("koordlet", free_port())
            kubeconfig = f"--kubeconfig={self.sandbox.kubeconfig}"
            self.start("scheduler", [self.secure, self.plain], kubeconfig, "--leader-elect=false",
                       f"--secure-port={self.secure.number}", "--bind-address=127.0.0.1",
                       f"--port={self.plain.number}", "--address=127.0.0.1")
            self.start("manager", [self.webhook, metrics, health, self.page], kubeconfig, f"--ui={self.page.number}", f"--metrics-addr=127.0.0.1:{metrics.number}",
                       f"--health-probe-addr=127.0.0.1:{health.number}", f"--webhook-port={self.webhook.number}",
                       WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_DIR=os.path.join(self.folder.name, "certificates"))
            # The page again, as others reach it: over TLS, for who shows a token.
            self.page_tls = Port("manager-page-tls", free_port(), stranger, self.api.token, "/ui/")
            self.start("manager", [self.page_tls], kubeconfig, f"--ui=0.0.0.0:{self.page_tls.number}", "--metrics-addr=0", "--health-probe-addr=0",
                       "--webhook-port=0", "--enable-leader-election=false", "--controllers=none", name="manager-page-tls")
            ports = Port("descheduler-secure", free_port(), stranger), Port("descheduler-plain", free_port())
            self.start("descheduler", ports, kubeconfig, "--leader-elect=false", f"--secure-port={ports[0].number}", "--bind-address=127.0.0.1",
                       f"--port={ports[1].number}", "--address=127.0.0.1")
            hooks = Socket("koordlet-hooks", os.path.join(self.host.folder, "var/run/koordlet/koordlet.sock"), HOOK)
            self.start("koordlet", [agent, hooks], kubeconfig, f"--runtime-hooks-config-path={self.folder.name}/no-proxy", f"--addr=127.0.0.1:{agent.number}", "--run-queue-latency=false",
                       *self.host.flags(),
                       NODE_NAME="node-0000", agent_mode="hostMode")
            devices = Port("device-daemon", free_port())
            self.start("device_daemon", [devices], f"--addr=127.0.0.1:{devices.number}", f"--host-root={self.host.folder}",
                       f"--sys-root-dir={self.host.folder}/sys", f"--prints-output-file={self.folder.name}/devices/ic-device")
            self.start_proxy()
            self.start_docker_proxy()
            self.role = self.roles["scheduler"][0]
            everything = [port for _, ports in self.roles.values() for port in ports]
            self.ports = [self.api_port, *(port for port in everything if isinstance(port, Port) and port is not self.docker)]
            self.sockets = [port for port in everything if isinstance(port, Socket)]
        except BaseException:
            self.close()
            raise

    def start(self, role, ports, *words, name="", **environment):
        program = Program(f"--role={role.replace('_', '-')}", *words, **environment)
        self.roles[name or role] = program, ports
        given = {word.partition("=")[0].lstrip("-") for word in words}
        for flag in port_flags()[role]:
            expect(flag in given, f"--{flag} of {role} opens a port that nobody attacks: add it to Ground")
        for port in ports:
            port.pid = program.child.pid
            program.wait_port(port)

    def start_proxy(self):
        """Before a runtime that knows of nothing, with hook servers that an attack brings."""
        self.runtime = os.path.join(self.folder.name, "runtime.sock")
        self.hook_folder = os.path.join(self.folder.name, "hookserver.d")
        os.mkdir(self.hook_folder, 0o755)
        self.start_fake("fake_runtime.py", self.runtime)
        relay = Socket("proxy", os.path.join(self.folder.name, "proxy", "proxy.sock"), VERSION)
        health = Port("proxy-health", free_port())
        self.start("proxy", [relay, health], f"--koord-runtimeproxy-endpoint={relay.path}", f"--addr=127.0.0.1:{health.number}",
                   f"--remote-runtime-service-endpoint={self.runtime}", f"--hook-config-dir={self.hook_folder}")

    def start_docker_proxy(self):
        """Before a docker that keeps nothing."""
        folder = os.path.join(self.folder.name, "docker")
        os.mkdir(folder, 0o700)
        self.start_fake("fake_docker.py", os.path.join(folder, "docker.sock"))
        self.docker, health = DockerSocket("proxy-docker", os.path.join(folder, "proxy.sock")), Port("proxy-docker-health", free_port())
        self.start("proxy", [self.docker, health], f"--koord-runtimeproxy-endpoint={self.docker.number}", f"--addr=127.0.0.1:{health.number}",
                   "--backend-runtime-mode=Docker", f"--remote-runtime-service-endpoint={folder}/docker.sock",
                   f"--hook-config-dir={self.hook_folder}", name="proxy-docker")

    def start_fake(self, name, path):
        """A runtime that a test plays, at a socket."""
        fake = subprocess.Popen([sys.executable, os.path.join(TREE, "tests", "attack", name), path], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
        self.fakes.append(fake)
        expect(fake.stdout.readline() == "ready\n", f"{name} did not start")

    def unknown(self):
        """Ports that are open and that no attack knows."""
        known = {port.number for port in [*self.ports, self.docker]} | {port.path for port in self.sockets}
        missing = [f"the role {role}" for role in port_flags() if role not in self.roles]
        return missing + [f"{name}: {place}" for name, pid in self.pids().items() for place in listening(pid) - known]

    def pids(self):
        return {"sandbox": self.sandbox.child.pid, **{role: program.child.pid for role, (program, _) in self.roles.items()}}

    def alive(self):
        children = {"sandbox": self.sandbox.child, **{role: program.child for role, (program, _) in self.roles.items()}}
        return [name for name, child in children.items() if child.poll() is not None]

    def close(self):
        for program, _ in self.roles.values():
            program.end()
        for fake in self.fakes:
            fake.kill()
            fake.wait()
        self.host.close()
        self.sandbox.__exit__()
        self.folder.cleanup()

    def call(self, method, path, body=None, content_type="application/json"):
        """(status, body) at the sandbox, as its administrator."""
        data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode() if body is not None else b""
        more = {"Content_Type": content_type} if data else {}
        return self.api_port.request(method, path, data, timeout=3 * CEILING, **more)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)

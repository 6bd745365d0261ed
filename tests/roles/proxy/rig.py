"""What the tests of the proxy share: the wire's format by hand, a container runtime and a hook server that a test plays, a
caller, and the proxy between them."""
import concurrent.futures
import http.client
import json
import os
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

from cri.client import grpc  # noqa: E402
from sandbox import KOORD, free_port, wait_for  # noqa: E402,F401

CRI, HOOKS = "/runtime.v1.RuntimeService/", "/runtime.v1alpha1.RuntimeHookService/"
STAGES = ["PreRunPodSandbox", "PostStopPodSandbox", "PreCreateContainer", "PreStartContainer", "PostStartContainer", "PostStopContainer",
          "PreUpdateContainerResources"]
SECONDS = 60
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
           ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 100),
           ("grpc.min_reconnect_backoff_ms", 20000), ("grpc.max_reconnect_backoff_ms", 300)]


# --- the wire ---

def varint(value):
    out = b""
    value &= (1 << 64) - 1
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def f(number, value):
    """One field: a number, or bytes, a text, a message (a list of fields)."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, list):
        value = b"".join(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def m(number, **pairs):
    """A map, one field an entry."""
    return b"".join(f(number, [f(1, key), f(2, value)]) for key, value in pairs.items())


def fields(data):
    """[(number, value)] of a message of numbers and bytes."""
    out, at = [], 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            out.append((tag >> 3, number()))
        else:
            size = number()
            out.append((tag >> 3, data[at:at + size]))
            at += size
    return out


def get(data, *path):
    """The last value at a path of field numbers, or None."""
    for number in path:
        found = [value for this, value in fields(data) if this == number] if data is not None else []
        data = found[-1] if found else None
    return data


def pairs(data, number):
    """A map's entries, in their order."""
    return [(get(entry, 1).decode(), (get(entry, 2) or b"").decode("utf-8", "replace"))
            for this, entry in fields(data or b"") if this == number]


# --- who is played ---

class Server(grpc.GenericRpcHandler):
    """A gRPC server of bytes. `answers[method]` is called with (request, context) and returns bytes; whatever has none is
    answered with its own bytes, streams with each message. `seen` has every call."""

    def __init__(self, socket):
        self.socket, self.seen, self.answers, self.lock = socket, [], {}, threading.Lock()
        self.server = None
        self.start()

    def start(self):
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(32), handlers=(self,), options=OPTIONS)
        self.server.add_insecure_port("unix:" + self.socket)
        self.server.start()

    def stop(self):
        self.server.stop(0).wait(SECONDS)
        if os.path.exists(self.socket):
            os.unlink(self.socket)

    def service(self, details):
        method = details.method
        if method.startswith("/stream"):
            return grpc.stream_stream_rpc_method_handler(lambda messages, _: messages)

        def answer(request, context):
            with self.lock:
                self.seen.append((method, request, dict(context.invocation_metadata())))
            return self.answers.get(method, lambda request, context: request)(request, context)

        return grpc.unary_unary_rpc_method_handler(answer)

    def calls(self, method):
        with self.lock:
            return [request for this, request, _ in self.seen if this == method]


class Runtime(Server):
    """A container runtime that has what was made through it."""

    def __init__(self, socket):
        self.sandboxes, self.containers, self.secret, self.made = {}, {}, "", 0
        super().__init__(socket)
        self.answers.update({CRI + name: getattr(self, name) for name in (
            "Version", "RunPodSandbox", "CreateContainer", "PodSandboxStatus", "ContainerStatus", "ListPodSandbox", "ListContainers")})
        for name in ("StartContainer", "StopContainer", "UpdateContainerResources", "StopPodSandbox", "RemoveContainer", "RemovePodSandbox"):
            self.answers[CRI + name] = lambda request, context: b""

    def Version(self, request, context):
        return f(2, "played")

    def RunPodSandbox(self, request, context):
        self.made += 1
        name = f"sandbox-{self.made}"
        self.sandboxes[name] = request
        return f(1, name)

    def CreateContainer(self, request, context):
        self.made += 1
        name = f"container-{self.made}"
        self.containers[name] = request
        return f(1, name)

    def sandbox(self, name, fields_at):
        config = get(self.sandboxes[name], 1)
        labels, annotations = fields_at
        return [f(1, name), f(2, get(config, 1) or b""), *(f(labels, entry) for this, entry in fields(config) if this == 6),
                *(f(annotations, entry) for this, entry in fields(config) if this == 7)]

    def PodSandboxStatus(self, request, context):
        name = get(request, 1).decode()
        if name not in self.sandboxes:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such sandbox")
        parent = get(self.sandboxes[name], 1, 8, 1) or b""
        info = json.dumps({"config": {"linux": {"cgroup_parent": parent.decode()}}}) if get(request, 2) else "{}"
        return f(1, self.sandbox(name, (7, 8))) + m(2, info=info)

    def ContainerStatus(self, request, context):
        name = get(request, 1).decode()
        if name not in self.containers:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such container")
        config = get(self.containers[name], 2)
        environment = pairs(config, 6)
        info = {"sandboxID": get(self.containers[name], 1).decode(), "config": {"envs": [{"key": key} for key, _ in environment]},
                "runtimeSpec": {"process": {"env": ["PATH=/bin", *(f"{key}={value}" for key, value in environment)]}}}
        return f(1, [f(1, name), f(2, get(config, 1) or b""), *(f(13, entry) for this, entry in fields(config) if this == 10),
                     f(16, f(1, get(config, 15, 1) or b""))]) + m(2, info=json.dumps(info))

    def ListPodSandbox(self, request, context):
        return b"".join(f(1, self.sandbox(name, (5, 6))) for name in self.sandboxes)

    def ListContainers(self, request, context):
        return b"".join(f(1, [f(1, name), f(2, get(made, 1)), f(3, get(made, 2, 1) or b""),
                              *(f(9, entry) for this, entry in fields(get(made, 2)) if this == 10)])
                        for name, made in self.containers.items())


class Kubelet:
    """A caller of bytes."""

    def __init__(self, socket):
        self.channel = grpc.insecure_channel("unix:" + socket, options=OPTIONS)

    def call(self, method, request=b"", seconds=SECONDS, **metadata):
        return self.channel.unary_unary(method if method[0] == "/" else CRI + method)(
            request, timeout=seconds, metadata=tuple((key.replace("_", "-"), value) for key, value in metadata.items()) or None)

    def fails(self, method, request=b"", seconds=SECONDS):
        """The error, which there must be."""
        try:
            self.call(method, request, seconds)
        except grpc.RpcError as error:
            return error
        raise AssertionError(f"{method} did not fail")


class Proxy:
    """`koord --role=proxy` with all its files in `folder`."""

    def __init__(self, folder, *flags, timeout="30s"):
        self.folder, self.front, self.back = folder, os.path.join(folder, "front.sock"), os.path.join(folder, "back.sock")
        self.hooks = os.path.join(folder, "hookserver.d")
        self.store = os.path.join(folder, "store.json")
        self.log_path = os.path.join(folder, "log")
        self.flags = [f"--koord-runtimeproxy-endpoint={self.front}", f"--remote-runtime-service-endpoint=unix://{self.back}",
                      f"--hook-config-dir={self.hooks}", f"--hook-timeout={timeout}", *flags]
        self.child = None
        self.start()

    def start(self):
        self.port = free_port()
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen([KOORD, "--role=proxy", f"--addr=127.0.0.1:{self.port}", *self.flags], stdout=log,
                                          stderr=subprocess.STDOUT)
        wait_for("the proxy's socket", lambda: self.alive() and os.path.exists(self.front))

    def alive(self):
        assert self.child.poll() is None, f"the proxy ended: {self.output()[-3000:]}"
        return True

    def kill(self):
        self.child.kill()
        self.child.wait()
        os.unlink(self.front)  # so that its successor's is waited for

    def end(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
        assert self.child.wait(SECONDS) == 0, self.output()[-3000:]

    def output(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def metric(self, series):
        """A series' value, 0 where there is none."""
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(series + " "):
                return float(line.rsplit(" ", 1)[1])
        return 0

    def ready(self):
        return self.get("/readyz")[0] == 200

    def hook(self, file, socket, *stages, policy="Ignore"):
        """Puts a hook server's file into effect."""
        text = json.dumps({"remote-endpoint": socket, "failure-policy": policy, "runtime-hooks": stages})
        stages = sorted(stages, key=STAGES.index)
        told = f"{file}: {socket} is asked for {', '.join(stages)}, policy {policy}"
        before = self.output().count(told)
        path = os.path.join(self.hooks, file)
        with open(path + ".new", "w", encoding="utf-8") as out:
            out.write(text)
        os.rename(path + ".new", path)
        wait_for(f"{file} in effect", lambda: self.output().count(told) > before)

    def unhook(self, file):
        before = self.output().count(f"{file}: gone")
        os.unlink(os.path.join(self.hooks, file))
        wait_for(f"{file} gone", lambda: self.output().count(f"{file}: gone") > before)

"""A hook server of a test's own (runtime.v1alpha1.RuntimeHookService): it answers with what it was asked, or as it is told."""
import concurrent.futures
import contextlib
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading

from cri.client import grpc

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "proto")
SERVICE = "runtime.v1alpha1.RuntimeHookService"
POD_STAGES = ("PreRunPodSandbox", "PostStopPodSandbox")
CONTAINER_STAGES = ("PreCreateContainer", "PreStartContainer", "PostStartContainer", "PostStopContainer",
                    "PreUpdateContainerResources")
STAGES = POD_STAGES + CONTAINER_STAGES


@functools.lru_cache(maxsize=None)
def definition():
    with tempfile.TemporaryDirectory(prefix="koord-hooks.") as folder:
        subprocess.run(["protoc", "-I", PROTO, "--python_out", folder, "runtime_hooks.proto"], check=True)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("runtime_hooks_pb2")
        finally:
            sys.path.remove(folder)


def echo(stage, request):
    """All that a response can carry, as koordlet's own server answers."""
    if stage in POD_STAGES:
        answer = definition().PodSandboxHookResponse(labels=request.labels, annotations=request.annotations,
                                                     cgroup_parent=request.cgroup_parent)
        if request.HasField("resources"):
            answer.resources.CopyFrom(request.resources)
    else:
        answer = definition().ContainerResourceHookResponse(
            container_annotations=request.container_annotations, pod_cgroup_parent=request.pod_cgroup_parent,
            container_envs=request.container_envs)
        if request.HasField("container_resources"):
            answer.container_resources.CopyFrom(request.container_resources)
    return answer


class HookServer:
    """`answer(stage, request)`: the response, in a thread of the server's; what it raises is the call's failure."""

    def __init__(self, socket, answer=echo):
        self.socket, self.answer, self.counts, self.lock = socket, answer, dict.fromkeys(STAGES, 0), threading.Lock()
        self.server = None

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        handlers = {}
        for stage in STAGES:
            request = definition().PodSandboxHookRequest if stage in POD_STAGES else definition().ContainerResourceHookRequest
            handlers[stage + "Hook"] = grpc.unary_unary_rpc_method_handler(
                functools.partial(self.handle, stage), request_deserializer=request.FromString,
                response_serializer=lambda response: response.SerializeToString())
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        self.server.add_insecure_port("unix:" + self.socket)
        self.server.start()

    def handle(self, stage, request, _):
        with self.lock:
            self.counts[stage] += 1
        return self.answer(stage, request)

    def stop(self):
        self.server.stop(0).wait()

    def register(self, folder, policy="Fail", stages=STAGES, name="test.json"):
        """As a file of the hook servers' folder, with rename."""
        path = os.path.join(folder, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"remote-endpoint": self.socket, "failure-policy": policy, "runtime-hooks": list(stages)}, file)
        os.rename(path + ".new", path)

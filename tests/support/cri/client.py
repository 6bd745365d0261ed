"""A client of the CRI: `Cri(socket).ListContainers(filter={"id": name})`. Its messages come from the CRI's own definition, which
packaging/dev kube-assets has brought; nothing of koord's is in it."""
import functools
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import grpc
except ImportError:  # python3 may be another one of the same version than Debian's
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import grpc
    except ImportError:
        grpc = None

VERSION = "0.35.4"  # KUBE_STAGING_VERSION of packaging/dev.d/kube_assets.sh
CACHE = os.environ.get("KOORD_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "koord")
DEFINITION = os.path.join(CACHE, "cri-api", VERSION, "api.proto")
SERVICES = ("RuntimeService", "ImageService")
MOST_BYTES = 16 << 20
SECONDS = 60


def missing():
    if grpc is None:
        return "python3-grpcio is missing: run packaging/dev deps"
    if shutil.which("protoc") is None:
        return "protoc is missing: run packaging/dev deps"
    if not os.path.exists(DEFINITION):
        return f"{DEFINITION} is missing: run packaging/dev kube-assets"
    return None


@functools.lru_cache(maxsize=None)
def definition():
    """The CRI's messages, as a module."""
    with tempfile.TemporaryDirectory(prefix="koord-cri.") as folder:
        with open(DEFINITION, encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(folder, "cri_api.proto"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"\[debug_redact = true\]", "", text))  # Debian's protoc is older than that word
        subprocess.run(["protoc", "-I", folder, "--python_out", folder, "cri_api.proto"], check=True, cwd=folder)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("cri_api_pb2")
        finally:
            sys.path.remove(folder)


@functools.lru_cache(maxsize=None)
def methods():
    """By its name: path, request, response, whether the answer is a stream."""
    found = {}
    for service in SERVICES:
        for method in definition().DESCRIPTOR.services_by_name[service].methods:
            request, response = (getattr(definition(), kind.name) for kind in (method.input_type, method.output_type))
            found[method.name] = (f"/runtime.v1.{service}/{method.name}", request, response,
                                  method.name == "GetContainerEvents" or getattr(method, "server_streaming", False))
    return found


class Cri:
    """Each method of the CRI is a method here: fields by name, messages as dictionaries. What the runtime refuses is a
    grpc.RpcError. May be used by several threads."""

    def __init__(self, socket, seconds=SECONDS):
        self.socket, self.seconds = socket, seconds
        self.channel = grpc.insecure_channel("unix://" + socket, options=[
            ("grpc.max_receive_message_length", MOST_BYTES), ("grpc.max_send_message_length", MOST_BYTES),
            ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 20000), ("grpc.max_reconnect_backoff_ms", 500)])

    def close(self):
        self.channel.close()

    def wait_until_there(self):
        self.channel.unary_unary(methods()["Version"][0])(b"", timeout=self.seconds, wait_for_ready=True)

    def __getattr__(self, name):
        if name not in methods():
            raise AttributeError(name)
        path, request, response, stream = methods()[name]
        make = self.channel.unary_stream if stream else self.channel.unary_unary
        call = make(path, request_serializer=request.SerializeToString, response_deserializer=response.FromString)

        def ask(seconds=None, metadata=None, **fields):
            return call(request(**fields), timeout=seconds or self.seconds, metadata=metadata, wait_for_ready=False)

        def begin(seconds=None, metadata=None, **fields):
            return call.future(request(**fields), timeout=seconds or self.seconds, metadata=metadata)

        ask.begin = begin
        return ask

    def raw(self, path, data=b"", seconds=None, metadata=None):
        """Any method, of bytes: (bytes, the call with its code, headers and trailers)."""
        call = self.channel.unary_unary(path, request_serializer=None, response_deserializer=None)
        return call.with_call(data, timeout=seconds or self.seconds, metadata=metadata)


def refusal(call, **fields):
    """The code and text with which the runtime refuses, or None."""
    try:
        call(**fields)
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return None

"""A tap on a socket of the CRI: it passes every call on as bytes, and remembers what went through."""
import collections
import concurrent.futures
import contextlib
import os
import threading

from cri.client import MOST_BYTES, grpc

OPTIONS = [("grpc.max_receive_message_length", MOST_BYTES), ("grpc.max_send_message_length", MOST_BYTES),
           ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)]  # its target may go and come back
# What changes something on the node: each is one call of the kubelet's, never one more or one less.
CHANGING = ("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer",
            "UpdateContainerResources", "PullImage", "RemoveImage", "ReopenContainerLog", "UpdateRuntimeConfig")

Call = collections.namedtuple("Call", "method requests replies code details")


class Tap(grpc.GenericRpcHandler if grpc else object):
    """Serves `socket`, asks `target`."""

    def __init__(self, socket, target):
        self.socket, self.lock, self.calls, self.open = socket, threading.Lock(), [], 0
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)
        self.channel = grpc.insecure_channel("unix://" + target, options=[*OPTIONS, ("grpc.use_local_subchannel_pool", 1)])
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(64), options=OPTIONS)
        self.server.add_generic_rpc_handlers((self,))
        self.server.add_insecure_port("unix:" + socket)
        self.server.start()

    def stop(self):
        self.server.stop(0).wait()
        self.channel.close()

    def service(self, details):
        method, metadata = details.method, tuple(details.invocation_metadata)
        return grpc.stream_stream_rpc_method_handler(lambda requests, context: self.relay(method, metadata, requests, context))

    def relay(self, method, metadata, requests, context):
        asked, answered = [], []

        def remembering():
            for request in requests:
                asked.append(request)
                yield request

        with self.lock:
            self.open += 1
        ended = None
        try:
            call = self.channel.stream_stream(method)(remembering(), metadata=[pair for pair in metadata if pair[0] != "user-agent"],
                                                      timeout=context.time_remaining())
            context.add_callback(call.cancel)
            try:
                for reply in call:
                    answered.append(reply)
                    yield reply
                ended = (grpc.StatusCode.OK, "")
            except grpc.RpcError as error:
                ended = (error.code(), error.details())
                context.set_code(error.code())
                context.set_details(error.details())
        finally:
            with self.lock:
                self.open -= 1
                if ended:  # else its caller went: what the two saw of it is nobody's word
                    self.calls.append(Call(method, tuple(asked), tuple(answered), *ended))

    def quiet(self):
        with self.lock:
            return self.open == 0


def name_of(call):
    return call.method.rsplit("/", 1)[1]


def differences(before, behind):
    """Calls that the tap before the proxy has seen and the one behind it has not, or has seen otherwise; and of those that change
    something the other way round: the proxy asks the runtime of its own accord, but changes nothing."""
    front, back = collections.Counter(before.calls), collections.Counter(behind.calls)
    added = [call for call in (back - front).elements() if name_of(call) in CHANGING]
    return list((front - back).elements()) + added

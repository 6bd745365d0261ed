"""Rows: what a relay must carry and a runtime never thinks of: unknown calls, details, big messages, many at once."""
import concurrent.futures

from cri.client import Cri, grpc, methods
from cri.specs import spec


@spec("edges: a call that nobody has is Unimplemented")
def unknown_call(world):
    for path in ("/runtime.v1.RuntimeService/NotYetThought", "/runtime.v1.NoService/At", "/runtime.v1alpha2.RuntimeService/Version"):
        try:
            world.cri.raw(path)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED, (path, error)
            continue
        raise AssertionError(f"{path} is known")


@spec("edges: bytes that are no message are refused")
def no_message(world):
    for name in ("Version", "RunPodSandbox", "CreateContainer", "StopContainer"):
        try:
            world.cri.raw(methods()[name][0], b"\xff\xff\xff")
        except grpc.RpcError as error:
            # The runtime's own word is Internal; whoever has to ask about it first can only refuse it, too.
            assert error.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN), (name, error.code(), error.details())
            continue
        raise AssertionError(f"{name} took it")


@spec("edges: messages of 6 MiB pass in both ways", alone=True)
def big(world):
    big_text = "x" * (6 << 20)  # in a field that a hook server is not told
    pod = world.sandbox(windows={"security_context": {"run_as_username": big_text}})
    assert any(big_text in said for said in world.cri.PodSandboxStatus(pod_sandbox_id=pod.id, verbose=True).info.values())


@spec("edges: a message beyond 16 MiB is ResourceExhausted, and the connection lives")
def too_big(world):
    other = Cri(world.cri.socket)
    try:
        channel = grpc.insecure_channel("unix://" + world.cri.socket, options=[("grpc.max_send_message_length", -1),
                                                                              ("grpc.use_local_subchannel_pool", 1)])
        path, request, _, _ = methods()["Version"]
        call = channel.unary_unary(path, request_serializer=request.SerializeToString, response_deserializer=None)
        try:
            call(request(version="x" * (17 << 20)), timeout=60)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, error
        else:
            raise AssertionError("it was taken")
        call(request(version="1"), timeout=60)
        channel.close()
    finally:
        other.close()


@spec("edges: a hundred calls at once, of two connections")
def many(world):
    clients = [Cri(world.cri.socket) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(clients[number % 2].Version) for number in range(100)]
        assert {one.result().runtime_name for one in answers} == {"containerd"}
    for client in clients:
        client.close()


@spec("edges: exec in a container that is created only is refused with the runtime's words")
def exec_too_early(world):
    container = world.sandbox().create()
    try:
        world.cri.ExecSync(container_id=container, cmd=["true"], timeout=5)
    except grpc.RpcError as error:
        assert "state" in error.details(), error
        return
    raise AssertionError("it was taken")

"""Rows: exec, attach and port-forward, whose addresses lead to the runtime itself."""
from cri.specs import spec, wait_for
from cri.websocket import Stream

INPUT, OUTPUT, ERRORS, STATUS = 0, 1, 2, 3


def read(stream, until=None):
    """What comes on each channel, to the end or until the text was seen on the output."""
    seen = {}
    for channel, data in stream:
        seen[channel] = seen.get(channel, b"") + data
        if until is not None and until in seen.get(OUTPUT, b""):
            break
    return seen


@spec("Streaming: runtime should support exec with tty=false and stdin=false")
def exec_plain(world):
    container = world.sandbox().start()
    url = world.cri.Exec(container_id=container, cmd=["sh", "-c", "echo hello; echo sorry >&2; exit 3"], stdout=True,
                         stderr=True).url
    with Stream(url) as stream:
        seen = read(stream)
    assert (seen[OUTPUT], seen[ERRORS]) == (b"hello\n", b"sorry\n") and b"exit code 3" in seen[STATUS], seen


@spec("Streaming: runtime should support exec with tty=true and stdin=true")
def exec_terminal(world):
    container = world.sandbox().start()
    url = world.cri.Exec(container_id=container, cmd=["sh"], stdin=True, stdout=True, tty=True).url
    with Stream(url) as stream:
        stream.send(INPUT, b"echo hel''lo\n")
        assert b"hello" in read(stream, until=b"hello")[OUTPUT]


@spec("Streaming: runtime should support attach")
def attach(world):
    container = world.sandbox().start("sh", stdin=True)
    url = world.cri.Attach(container_id=container, stdin=True, stdout=True, stderr=True).url
    with Stream(url) as stream:
        stream.send(INPUT, b"echo hel''lo\n")
        assert b"hello" in read(stream, until=b"hello")[OUTPUT]


@spec("Streaming: runtime should support portforward")
def port_forward(world):
    pod = world.sandbox()
    server = pod.start("httpd", "-f", "-p", "8080", "-h", "/etc")
    wait_for("the server", lambda: world.cri.ExecSync(
        container_id=server, cmd=["wget", "-q", "-O", "-", "http://127.0.0.1:8080/passwd"], timeout=10).stdout)
    url = world.cri.PortForward(pod_sandbox_id=pod.id, port=[8080]).url
    with Stream(f"{url}?port=8080") as stream:
        stream.send(INPUT, b"GET /passwd HTTP/1.0\r\n\r\n")
        seen = b"".join(data for channel, data in stream if channel == INPUT)
    assert b"root" in seen, seen

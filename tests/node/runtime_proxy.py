"""The proxy between a kubelet and a runtime as a process of a test: koord's, or the original where KOORDINATOR_BIN has it."""
import os
import socket
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import originals  # noqa: E402
from agent import KOORD  # noqa: E402
from sandbox import free_port, wait_for  # noqa: E402

ORIGINAL = originals.program("koord-runtime-proxy")


class RuntimeProxy:
    """On a stage, before the runtime at `backend`."""
    name = "proxy"

    def __init__(self, stage, backend, folder="proxy"):
        self.stage, self.folder = stage, os.path.join(stage.dir, folder)
        self.hooks = os.path.join(self.folder, "hookserver.d")
        self.socket, self.port = os.path.join(self.folder, "run", "proxy.sock"), free_port()
        for path in (self.folder, self.hooks):
            os.makedirs(path, mode=0o755, exist_ok=True)
        self.command = [KOORD, "--role=proxy", f"--koord-runtimeproxy-endpoint={self.socket}",
                        f"--remote-runtime-service-endpoint={backend}", f"--hook-config-dir={self.hooks}",
                        f"--addr=127.0.0.1:{self.port}"]

    def start(self, *flags):
        self.stage.spawn(self.name, *self.command, *flags)
        wait_for("the proxy is ready", self.ready, 60)

    def ready(self):
        assert not self.ended(), "the proxy ended:\n" + self.stage.log_tail(self.name)
        try:
            return self.get("/readyz") is not None
        except OSError:
            return False

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            return response.read().decode()

    def metric(self, name):
        """The sum over its labels."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics").splitlines()
                   if line.partition("{")[0].split(" ")[0] == name)

    def kill(self):
        self.stage.kill(self.name)

    def ended(self):
        return self.stage.processes[self.name].poll() is not None

    @property
    def pid(self):
        return self.stage.processes[self.name].pid


class OriginalProxy(RuntimeProxy):
    """Its folder of hook servers has one name, and it serves no metrics: an /etc of the stage's own is mounted before it."""
    name = "original-proxy"

    def __init__(self, stage, backend):
        super().__init__(stage, backend, "original-proxy")
        copy = os.path.join(stage.dir, "etc")
        done = stage.run("sh", "-c", f"cp -a /etc {copy} && mkdir -p {copy}/runtime/hookserver.d && mount --bind {copy} /etc")
        assert done.returncode == 0, done.stderr
        self.hooks = os.path.join(copy, "runtime", "hookserver.d")
        self.command = [ORIGINAL, f"--koord-runtimeproxy-endpoint={self.socket}", f"--remote-runtime-service-endpoint={backend}"]

    def ready(self):
        with socket.socket(socket.AF_UNIX) as caller:
            return caller.connect_ex(self.socket) == 0  # one of before may have left its file

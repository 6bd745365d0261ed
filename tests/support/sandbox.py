"""A `koord sandbox` of a test's own: started, waited for, asked with kubectl, ended."""
import contextlib
import json
import os
import pty
import socket
import subprocess
import tempfile
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KOORD = os.environ.get("KOORD", os.path.join(TREE, "build", "koord"))
KUBECTL = os.environ.get("KUBECTL") or os.path.join(os.environ.get("KUBEBUILDER_ASSETS", ""), "kubectl")
START_SECONDS = 60


def wait_for(what, condition, seconds=60):
    """Asks until the answer is true and returns it; an AssertionError names what did not come."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.1)


def on_terminal(*command):
    """What a command writes to stderr where that is a terminal; it may fail."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as child:
            os.close(theirs)
            told = b""
            with contextlib.suppress(OSError):  # EIO: nobody has it open any more
                while piece := os.read(ours, 4096):
                    told += piece
            child.wait(60)
    finally:
        os.close(ours)
    return told.decode()


given_ports = set()


def free_port():
    """A port of loopback that was free just now; another one each time."""
    while True:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        if port not in given_ports:
            given_ports.add(port)
            return port


@contextlib.contextmanager
def served(program, *flags):
    """The kubeconfig of a sandbox without roles, in a folder of its own, as long as the block lasts; `program` is the one of tests/roles/sandbox."""
    with tempfile.TemporaryDirectory(prefix="koord-sandbox.") as folder:
        kubeconfig = os.path.join(folder, "kubeconfig")
        server = subprocess.Popen([program, f"--kubeconfig={kubeconfig}", *flags], stdout=subprocess.PIPE, text=True)
        try:
            line = server.stdout.readline()
            assert line.startswith("sandbox ready"), f"the sandbox did not start: {line}"
            yield kubeconfig
        finally:
            server.terminate()
            ended = server.wait(30)
    assert ended == 0, f"the sandbox ended with {ended}"


class Kubectl:
    def __init__(self, kubeconfig):
        self.env = {**os.environ, "KUBECONFIG": kubeconfig}

    def run(self, *words, stdin=None, check=True):
        done = subprocess.run([KUBECTL, *words], input=stdin, text=True, capture_output=True, env=self.env, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def items(self, *words):
        return json.loads(self.run("get", *words, "-o", "json"))["items"]


class Sandbox:
    def __init__(self, *flags):
        self.folder = tempfile.TemporaryDirectory(prefix="koord-sandbox.")
        self.kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        self.log_path = os.path.join(self.folder.name, "log")
        self.log = open(self.log_path, "wb")
        command = [KOORD, "sandbox", "--port=0", f"--kubeconfig={self.kubeconfig}", *flags]
        self.child = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def output(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def ready(self):
        assert self.child.poll() is None, f"the sandbox ended: {self.output()[-3000:]}"
        return "sandbox ready" in self.output()

    def __enter__(self):
        try:
            wait_for("sandbox ready", self.ready, START_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()
        self.folder.cleanup()

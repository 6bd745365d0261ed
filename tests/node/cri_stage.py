"""A container runtime to ask: containerd in a network of the test's own, its images, a registry on loopback."""
import fcntl
import os
import shutil
import socket
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import busybox  # noqa: E402
import containerd  # noqa: E402
from containerd import IMAGE, POINT_TO_POINT, Containerd  # noqa: E402
from cri import client  # noqa: E402
from images import Image  # noqa: E402
from janitor import Janitor  # noqa: E402
from sandbox import free_port, wait_for  # noqa: E402
from runtime_stage import Stage  # noqa: E402

GROUP = "koord-cri"
APPLETS = ("sh", "sleep", "cat", "dd", "echo", "ls", "id", "ps", "hostname", "touch", "grep", "mount", "readlink", "httpd",
           "wget", "env", "nc", "true", "printf", "mkdir")
FILES = {"etc/passwd": "root:x:0:0:root:/:/bin/sh\napp:x:1000:1000:app:/:/bin/sh\n",
         "etc/group": "root:x:0:\napp:x:1000:\nextra:x:50000:app\n"}
REGISTRY = """version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
OWN_NETWORK = "KOORD_TEST_OWN_NETWORK"


def missing(version=containerd.CURRENT):
    if os.geteuid() != 0:
        return "a container runtime needs root"
    return busybox.missing() or containerd.missing(version) or client.missing()


def enter_own_network():
    """The test goes on in a network namespace of its own, with nothing but loopback: the machine's routes stay as they are."""
    if OWN_NETWORK not in os.environ:
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], {**os.environ, OWN_NETWORK: "1"})
    up = struct.pack("16sh14x", b"lo", 0x1 | 0x8 | 0x40)  # IFF_UP, IFF_LOOPBACK, IFF_RUNNING
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, up)  # SIOCSIFFLAGS


class CriStage(Stage):
    """with CriStage() as stage: stage.socket is containerd's, stage.place what the table of specs needs."""

    def __init__(self, version=containerd.CURRENT, more_network=()):  # the stage itself is made on entering
        self.version, self.more_network = version, more_network

    def __enter__(self):
        self.janitor = Janitor().__enter__()
        try:
            super().__init__(self.janitor, "koord-cri.")
            self.janitor.group(GROUP)
            self.open_namespace()
            self.containerd = Containerd(self, self.version, network=POINT_TO_POINT, more_network=self.more_network)
            self.socket = self.containerd.socket
            self.containerd.start()
            self.containerd.add_pause()
            self.containerd.add_image(Image([], files=FILES, applets=APPLETS), IMAGE)
            self.place = {"image": IMAGE, "group": GROUP, "folder": os.path.join(self.dir, "specs"), **self.registry()}
            os.mkdir(self.place["folder"])
        except BaseException:
            self.janitor.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.janitor.__exit__()

    def registry(self):
        """Debian's, with three images: the first under three tags, the others' users a number and a name."""
        program = shutil.which("docker-registry")
        if program is None:
            return {}
        port, config = free_port(), os.path.join(self.dir, "registry.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(REGISTRY.format(folder=os.path.join(self.dir, "registry"), port=port))
        self.spawn("registry", program, "serve", config)
        wait_for("the registry", lambda: answers(port), 60)
        # Small ones, but each its own.
        digest = Image(["/bin/sh"], files={"etc/passwd": FILES["etc/passwd"], "etc/name": "1"}, applets=("sh", "sleep")).push(
            port, "first", "a", "b", "latest")
        for name, user in (("second", "1002"), ("third", "app")):
            Image(["/bin/sh"], files={"etc/passwd": FILES["etc/passwd"], "etc/name": name}, user=user).push(port, name, "a")
        return {"port": port, "digest": digest}


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False

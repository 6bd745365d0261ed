"""Debian's docker on a stage: a daemon with folders, a containerd and a socket of its own, without a network."""
import os
import shutil
import subprocess

import busybox
from containerd import CACHE
from images import Image
from janitor import Janitor
from sandbox import wait_for
from runtime_stage import Stage

GROUP = "koord-docker"
IMAGE = "koord.test/busybox:1"
FOLDER = os.environ.get("KOORD_DOCKER") or os.path.join(CACHE, "docker")
DAEMON, CLI = (os.path.join(FOLDER, "usr", *words) for words in (("sbin", "dockerd"), ("bin", "docker")))


def missing():
    if os.geteuid() != 0:
        return "docker needs root"
    if not os.path.exists(DAEMON):
        return f"no {DAEMON}: run packaging/dev docker, or name docker's own folder with KOORD_DOCKER"
    for program in ("containerd", "runc"):
        if shutil.which(program) is None:
            return f"{program} is missing: run packaging/dev deps"
    return busybox.missing()


class DockerStage(Stage):
    """with DockerStage() as stage: docker listens on stage.socket, and has IMAGE in stage.archive to load."""

    def __init__(self):  # the stage itself is made on entering
        pass

    def __enter__(self):
        self.janitor = Janitor().__enter__()
        try:
            super().__init__(self.janitor, "koord-docker.")
            self.janitor.group(GROUP)
            self.open_namespace()
            self.socket, self.archive = os.path.join(self.dir, "back.sock"), os.path.join(self.dir, "image.tar")
            Image(["/bin/sh", "-c"], applets=("sh", "sleep", "cat", "echo", "true")).archive(self.archive, IMAGE)
            self.start()
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        return self.janitor.__exit__(*_)

    def start(self):
        path = os.pathsep.join((os.path.dirname(DAEMON), os.path.dirname(CLI), os.environ["PATH"]))
        at = lambda name: os.path.join(self.dir, name)  # noqa: E731
        self.spawn("dockerd", DAEMON, f"--data-root={at('data')}", f"--exec-root={at('exec')}", f"--pidfile={at('pid')}",
                   f"--host=unix://{self.socket}", f"--cgroup-parent=/{GROUP}", "--iptables=false", "--ip6tables=false", "--bridge=none",
                   "--storage-driver=vfs", "--exec-opt=native.cgroupdriver=cgroupfs", env={**os.environ, "PATH": path})
        wait_for("docker", lambda: self.alive() and os.path.exists(self.socket) and self.cli(self.socket, "version").returncode == 0)

    def alive(self):
        process = self.processes["dockerd"]
        assert process.poll() is None, self.log_tail("dockerd")
        return True

    @staticmethod
    def cli(socket, *arguments, **options):
        """Debian's client, to its end."""
        return subprocess.run([CLI, "--host", f"unix://{socket}", *arguments], capture_output=True,
                              **{"timeout": 120, "env": {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}, **options})

"""The node agent as a process of a test."""
import os
import subprocess
import sys
import urllib.request

from janitor import hierarchies, skip

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from sandbox import wait_for  # noqa: E402

KOORD = os.environ.get("KOORD", os.path.join(TREE, "build", "koord"))


class Agent:
    """`koord --role=koordlet` with its state in a folder that outlives it, as on a real node."""

    def __init__(self, janitor, folder, port, *flags, env=None):
        self.janitor, self.folder, self.port = janitor, folder, port
        os.makedirs(os.path.join(folder, "run"), exist_ok=True)
        self.log = os.path.join(folder, "agent.log")
        self.command = [KOORD, "--role=koordlet", f"--tsdb-path={folder}/metrics", f"--audit-log-dir={folder}/audit",
                        f"--var-run-root-dir={folder}/run/", *flags]
        self.env = {**os.environ, "agent_mode": "hostMode", **(env or {})}
        self.process = None

    def in_namespace(self, group):
        """From its next start on it is a member of the group, the root of a cgroup namespace of its own, as in a container."""
        enter = "; ".join(f"echo $$ >{os.path.join(hierarchy, group)}/cgroup.procs" for hierarchy in hierarchies()
                          if os.path.isdir(os.path.join(hierarchy, group)))
        self.command = ["sh", "-c", f'{enter}; exec unshare -C "$@"', "sh", *self.command]

    def sees(self, pid):
        """What /proc tells it of the groups of another process."""
        return subprocess.run(["nsenter", "-C", "-t", str(self.process.pid), "cat", f"/proc/{pid}/cgroup"], check=True,
                              capture_output=True, text=True).stdout

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.command, f"--addr=127.0.0.1:{self.port}"], env=self.env,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.janitor.process(self.process.pid)

    def start_and_wait(self):
        self.start()
        wait_for("the agent answers", self.answers, 30)

    def answers(self):
        assert self.process.poll() is None, f"the agent ended with {self.process.returncode}:\n{self.log_tail()}"
        try:
            return self.get("/healthz") is not None
        except OSError:
            return False

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            return response.read().decode()

    def kill(self):
        """At once, as a crash does."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """As a service manager does. Returns its exit status."""
        self.process.terminate()
        return self.process.wait(timeout=30)

    def cleanup(self):
        done = subprocess.run([*self.command, "--cleanup"], env=self.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"--cleanup: {done.returncode}: {done.stderr}"

    def said(self, text):
        """In how many places its log has it."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read().count(text)

    def log_tail(self, lines=25):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])


def skip_without_role():
    done = subprocess.run([KOORD, "--role=koordlet", "--help"], capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        skip(f"{KOORD} has no koordlet")

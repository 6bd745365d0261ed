"""A folder and a mount namespace of a test's own, and processes in it: all gone when the test ends, however it ends."""
import os
import signal
import subprocess
import tempfile


class Stage:
    """Its mounts are seen by nobody else, /run and /var/log are empty, and who still lives in it at the end is killed."""

    def __init__(self, janitor, prefix):
        self.janitor, self.processes = janitor, {}
        self.dir = tempfile.mkdtemp(prefix=prefix)
        janitor.folder(self.dir)

    def open_namespace(self):
        holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/log && echo ready && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes["namespace"] = holder
        self.janitor.process(holder.pid)
        assert holder.stdout.readline() == "ready\n", "no mount namespace"
        self.janitor.namespace(holder.pid)  # containerd's shims are nobody's children

    def entering(self, *command):
        return ["nsenter", "-t", str(self.processes["namespace"].pid), "-m", *command]

    def spawn(self, name, *command, inside=True, env=None):
        if inside:
            command = self.entering(*command)
        with open(self.log(name), "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                       env=env)
        self.processes[name] = process
        self.janitor.process(process.pid)
        return process

    def run(self, *command, env=None, **options):
        """In the namespace, to its end."""
        return subprocess.run(self.entering(*command), capture_output=True, env=env, **{"timeout": 120, "text": True, **options})

    def kill(self, name, how=signal.SIGKILL):
        process = self.processes.pop(name)
        process.send_signal(how)
        process.wait()

    def log(self, name):
        return os.path.join(self.dir, name + ".log")

    def log_tail(self, name, lines=15):
        with open(self.log(name), encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])

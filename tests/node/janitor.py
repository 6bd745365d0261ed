"""What a test leaves behind on the machine is cleared away by a process of its own, the janitor: when the test ends,
and just the same when it was killed, since it waits for the end of a pipe that only the test holds.

It knows what it was told and nothing else: processes by id and start time, cgroups by their folder, folders whole, mount
namespaces with all who are in them.
"""
import contextlib
import os
import shutil
import signal
import sys
import time

CGROUPS = "/sys/fs/cgroup"
PATIENCE_SECONDS = 30


def start_time(pid):
    """Tells a process from a later one with the same id; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def hierarchies():
    """The folders that cgroup hierarchies are mounted on below /sys/fs/cgroup, without links."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [line.split() for line in file]
    return sorted({m[1] for m in mounts if m[2] in ("cgroup", "cgroup2") and (m[1] + "/").startswith(CGROUPS + "/")})


def folders(top):
    """All groups below and with `top`, children first. Groups may vanish meanwhile."""
    return [path for path, _, _ in os.walk(top, topdown=False)]


def members(folder):
    try:
        with open(os.path.join(folder, "cgroup.procs"), encoding="utf-8") as file:
            return [int(line) for line in file]
    except OSError:
        return []


def kill(pid, name=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, name)


def remove_group(relative):
    """Kills what is in a group of any hierarchy, and removes it with its children. True if nothing is left."""
    left = False
    for hierarchy in hierarchies():
        top = os.path.join(hierarchy, relative)
        for folder in folders(top):
            frozen = os.path.join(folder, "freezer.state")
            if os.path.exists(frozen):
                with contextlib.suppress(OSError), open(frozen, "w", encoding="utf-8") as file:
                    file.write("THAWED")
            for pid in members(folder):
                if pid != os.getpid():
                    kill(pid)
        for folder in folders(top):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        left = left or os.path.isdir(top)
    return not left


def mount_namespace(pid):
    """None where there is no such process."""
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return None


def empty_namespace(name):
    """Kills who lives in a mount namespace, daemons too. True if nobody is left."""
    found = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if mount_namespace(pid) == name]
    for pid in found:
        kill(pid)
    return not found


def clean(orders):
    """Carries out the orders, the last first; what does not go at once is tried again for a while."""
    end = time.monotonic() + PATIENCE_SECONDS
    for kind, *words in reversed(orders):
        if kind == "process":
            pid, started = int(words[0]), words[1]
            if start_time(pid) == started:
                kill(pid)
                while start_time(pid) == started and time.monotonic() < end:
                    time.sleep(0.02)
        elif kind == "namespace":
            while not empty_namespace(words[0]) and time.monotonic() < end:
                time.sleep(0.02)
        elif kind == "group":
            while not remove_group(words[0]) and time.monotonic() < end:
                time.sleep(0.05)
        elif kind == "folder":
            shutil.rmtree(words[0], ignore_errors=True)


class Janitor:
    """with Janitor() as janitor: janitor.process(pid); janitor.group("koord-test"); janitor.folder("/tmp/x")"""

    def __enter__(self):
        ours, self.pipe = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(self.pipe)
                os.setsid()  # no signal of a terminal
                with open(ours, encoding="utf-8") as orders:
                    clean([line.rstrip("\n").split("\t") for line in orders])
                status = 0
            finally:
                os._exit(status)
        os.close(ours)
        return self

    def __exit__(self, *_):
        os.close(self.pipe)
        os.waitpid(self.pid, 0)

    def tell(self, *words):
        os.write(self.pipe, ("\t".join(map(str, words)) + "\n").encode())

    def process(self, pid):
        """Ends it with SIGKILL. Its children are its own affair, or are in a group."""
        self.tell("process", pid, start_time(pid))

    def namespace(self, pid):
        """Kills all who are in the mount namespace of the process, which is not the test's own."""
        name = mount_namespace(pid)
        assert name and name != mount_namespace("self")
        self.tell("namespace", name)

    def group(self, relative):
        """Below every hierarchy: kills what is in it and removes it. Tell before it is made."""
        assert relative and not relative.startswith("/") and ".." not in relative
        self.tell("group", relative)

    def folder(self, path):
        self.tell("folder", path)


def state_of_machine():
    """Every cgroup and every mount."""
    groups = {path for hierarchy in hierarchies() for path in folders(hierarchy)}
    with open("/proc/self/mounts", encoding="utf-8") as file:
        return groups | {"mount " + " ".join(line.split()[:3]) for line in file}


def processes_in(groups):
    """Of each group that has any: (pid, start time) of its processes."""
    found = {}
    for group in groups:
        with contextlib.suppress(OSError):
            with open(os.path.join(group, "cgroup.procs"), encoding="utf-8") as file:
                found[group] = {(int(line), start_time(int(line))) for line in file}
    return {group: processes for group, processes in found.items() if processes}


class Unchanged:
    """with Unchanged(): the machine's cgroups and mounts are afterwards as they were, or it is an AssertionError. Groups whose own
    processes have ended meanwhile are left out: who made them has taken them away."""

    def __enter__(self):
        self.before = state_of_machine()
        self.lived = processes_in(item for item in self.before if item.startswith("/"))

    def has_ended(self, item):
        processes = self.lived.get(item)
        return bool(processes) and all(since is None or start_time(pid) != since for pid, since in processes)

    def __exit__(self, kind, *_):
        after = state_of_machine()
        lines = [f"new: {item}" for item in sorted(after - self.before)]
        lines += [f"gone: {item}" for item in sorted(self.before - after) if not self.has_ended(item)]
        if lines:
            text = "the machine is not as it was:\n  " + "\n  ".join(lines)
            if kind is None:
                raise AssertionError(text)
            print(text, file=sys.stderr)


def skip(reason):
    """Meson's 77; the tier counts it, and CI makes it a failure."""
    print(f"skipped: {reason}", flush=True)
    sys.exit(77)

"""Groups of a test's own on this machine: cgroup v1's hierarchies, mounted one by one, or v2, with processes that burn
CPU in them. A janitor removes them, also when the test is killed."""
import os
import subprocess
import time

from janitor import CGROUPS, hierarchies

WANTED = ("cpu", "cpuacct", "cpuset", "memory")


def is_v2():
    return os.path.exists(os.path.join(CGROUPS, "cgroup.controllers"))


def missing():
    """What this machine lacks for groups of one's own, or None."""
    if os.geteuid() != 0:
        return "cgroups need root"
    if is_v2():
        with open(os.path.join(CGROUPS, "cgroup.subtree_control"), encoding="utf-8") as file:
            given = file.read().split()
        lacking = [name for name in ("cpu", "cpuset", "memory") if name not in given]
        return f"cgroup v2 without {', '.join(lacking)} below its root" if lacking else None
    lacking = [name for name in WANTED if not os.path.isdir(os.path.join(CGROUPS, name))]
    return f"no cgroup hierarchy {', '.join(lacking)}" if lacking else None


class Group:
    """An existing cgroup, by its path below every hierarchy."""

    def __init__(self, relative):
        self.relative = relative

    def file(self, controller, name):
        return os.path.join(CGROUPS, *([] if is_v2() else [controller]), self.relative, name)

    def read(self, controller, name):
        with open(self.file(controller, name), encoding="utf-8") as file:
            return file.read().strip()

    def write(self, controller, name, value):
        with open(self.file(controller, name), "w", encoding="utf-8") as file:
            file.write(str(value))

    def quota_cpus(self):
        """CPUs that the group may use, None without a limit."""
        if is_v2():
            quota, period = self.read("cpu", "cpu.max").split()
        else:
            quota, period = self.read("cpu", "cpu.cfs_quota_us"), self.read("cpu", "cpu.cfs_period_us")
        return None if quota in ("max", "-1") else int(quota) / int(period)

    def cpu_seconds(self):
        """What its processes have used, its children's included."""
        if is_v2():
            fields = dict(line.split() for line in self.read("cpu", "cpu.stat").splitlines())
            return int(fields["usage_usec"]) / 1e6
        return int(self.read("cpuacct", "cpuacct.usage")) / 1e9

    def rate(self, seconds):
        """CPUs in use, of a while from now."""
        began, used = time.monotonic(), self.cpu_seconds()
        time.sleep(seconds)
        return (self.cpu_seconds() - used) / (time.monotonic() - began)


class HostTree:
    """Groups below PREFIX in all hierarchies that matter here."""

    def __init__(self, janitor, *names):
        self.janitor = janitor
        self.burners = []
        for name in names:
            janitor.group(name)
            for hierarchy in hierarchies():
                if is_v2() or os.path.basename(hierarchy) in WANTED:
                    os.makedirs(os.path.join(hierarchy, name))
            self.inherit_cpuset(name)

    @staticmethod
    def inherit_cpuset(name):
        """On v1 a new group has no CPUs and takes no process."""
        if is_v2():
            return
        path = os.path.join(CGROUPS, "cpuset")
        for part in name.split("/"):
            for knob in ("cpuset.cpus", "cpuset.mems"):
                with open(os.path.join(path, knob), encoding="utf-8") as file:
                    value = file.read()
                with open(os.path.join(path, part, knob), "r+", encoding="utf-8") as file:
                    if not file.read().strip():
                        file.write(value)
            path = os.path.join(path, part)

    def burn(self, name, count):
        """Processes that use a CPU each for as long as they live."""
        group, started = Group(name), []
        for _ in range(count):
            process = subprocess.Popen(["sh", "-c", "read go; while :; do :; done"], stdin=subprocess.PIPE, text=True)
            self.janitor.process(process.pid)
            for controller in ("cpuset",) if is_v2() else WANTED:
                group.write(controller, "cgroup.procs", process.pid)
            process.stdin.write("go\n")
            process.stdin.flush()
            started.append(process)
        return started


def others_rate(own, seconds):
    """CPUs that this machine uses besides the groups, of a while from now."""

    def busy():
        with open("/proc/stat", encoding="utf-8") as file:
            fields = list(map(int, file.readline().split()[1:9]))
        return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")

    used, began, ours = busy(), time.monotonic(), sum(group.cpu_seconds() for group in own)
    time.sleep(seconds)
    passed = time.monotonic() - began
    return (busy() - used - sum(group.cpu_seconds() for group in own) + ours) / passed

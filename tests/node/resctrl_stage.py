"""A resctrl for an agent on a real node: that of tests/support/fake_resctrl.py, mounted where the agent is told to look, and a processor whose
flags say that it can divide its caches, which is what the original goes by."""
import os
import re
import subprocess
import sys

from agent import HERE, wait_for

OWN_MOUNTS = "KOORD_TEST_OWN_MOUNTS"
VENDORS = {"intel": "GenuineIntel", "amd": "AuthenticAMD"}
WAYS = 15  # of each cache


def missing():
    """What such a stage lacks here, or None."""
    return None if os.path.exists("/dev/fuse") else "this kernel has no FUSE"


def enter_own_mounts():
    """The test goes on in a mount namespace of its own."""
    if OWN_MOUNTS not in os.environ:
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv], {**os.environ, OWN_MOUNTS: "1"})


def read(*path):
    """Empty if there is none."""
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


class ResctrlStage:
    """with ResctrlStage(node, "name", "intel", 2) as resctrl: resctrl.before(agent); agent.start(); resctrl.groups() ..."""

    def __init__(self, node, name, vendor, caches=1):
        self.node, self.vendor, self.caches = node, vendor, caches
        self.fs = os.path.join(node.dir, f"fs-{name}-{vendor}")
        self.folder = os.path.join(self.fs, "resctrl")

    def __enter__(self):
        os.makedirs(self.folder)
        for mine in os.listdir("/sys/fs"):
            os.symlink(f"/sys/fs/{mine}", os.path.join(self.fs, mine))
        program = os.path.join(HERE, "..", "support", "fake_resctrl.py")
        self.server = subprocess.Popen([sys.executable, program, self.folder, self.vendor, str(self.caches)])
        self.node.janitor.process(self.server.pid)
        wait_for("resctrl is mounted", lambda: os.path.exists(os.path.join(self.folder, "schemata")), 10)
        return self

    def __exit__(self, *_):
        # By force: for a moment an agent's programs may still have it in their own namespace.
        subprocess.run(["umount", "-f", self.folder], check=True)
        assert self.server.wait(10) == 0, "resctrl ended by itself"

    def before(self, agent):
        """Shows it to an agent that was not started yet."""
        cpuinfo = os.path.join(self.fs, "cpuinfo")
        text = re.sub(r"^(flags\s*: .*)$", r"\1 cat_l3 mba cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local", read("/proc/cpuinfo"), flags=re.M)
        with open(cpuinfo, "w", encoding="utf-8") as file:
            file.write(re.sub(r"^(vendor_id\s*: ).*$", rf"\1{VENDORS[self.vendor]}", text, flags=re.M))
        own = [word for word in agent.command if not word.startswith("-sys-fs-root-dir")]
        agent.command = ["unshare", "-m", "sh", "-c", f'mount --bind {cpuinfo} /proc/cpuinfo; exec "$@"', "sh", *own, f"-sys-fs-root-dir={self.fs}/"]

    def groups(self, prefix=""):
        own = {"info", "mon_data", "mon_groups"}
        return {name for name in os.listdir(self.folder) if os.path.isdir(os.path.join(self.folder, name)) and name.startswith(prefix)} - own

    def schemata(self, group):
        return read(self.folder, group, "schemata")

    def programs(self, group):
        """What runs in it."""
        return sorted(read("/proc", task, "cmdline").replace("\0", " ").strip() for task in read(self.folder, group, "tasks").split())

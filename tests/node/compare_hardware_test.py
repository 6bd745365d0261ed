#!/usr/bin/env python3
"""The original koordlet and ours on the same real node, one after the other, beside a resctrl of plain files: what both write into it
for the same NodeSLOs (caches and bandwidth of classes, whose tasks are whose), what both say of counters that do not change, and which
limits of block I/O the machine's own blkio has then. Needs the original's program and strace; no part of CI. 3 minutes.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import os
import re
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import SLO, make_objects  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import PODS, RealNode, free_port, missing  # noqa: E402

CLASSES = ("LSR", "LS", "BE")
GATES = "-feature-gates=RdtResctrl=true,ResctrlCollector=true,BlkIOReconcile=true,BECPUSuppress=false"
FLAGS = (GATES, "-enable-resctrl-collector=true", "-resctrl-collector-interval=1s")
MASK = 0x7FFF
COUNTERS = {"llc_occupancy": 1 << 20, "mbm_local_bytes": 7 << 20, "mbm_total_bytes": 9 << 20}
# Phases: of each class the range of the cache and the percent of the bandwidth. One of both changes at a time: whoever writes a line
# of a plain file takes away the other one for a moment.
PHASES = {
    "defaults": {"LSR": (0, 100, 100), "LS": (0, 100, 100), "BE": (0, 30, 100)},
    "less cache": {"LSR": (0, 100, 100), "LS": (20, 100, 100), "BE": (0, 20, 100)},
    "less bandwidth": {"LSR": (0, 100, 90), "LS": (20, 100, 75), "BE": (0, 20, 31)},
    "apart": {"LSR": (60, 100, 90), "LS": (30, 60, 75), "BE": (0, 30, 31)},
    "little": {"LSR": (60, 100, 99), "LS": (30, 60, 11), "BE": (0, 30, 1)},
    "slices": {"LSR": (0, 7, 99), "LS": (93, 100, 11), "BE": (33, 34, 1)},
}
SETTLE_SECONDS = 6
LIMITS = {"readBPS": 11 << 20, "writeBPS": 22 << 20, "readIOPS": 3300, "writeIOPS": 4400}
FILES = [f"throttle.{way}_{what}_device" for way in ("read", "write") for what in ("bps", "iops")]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Resctrl:
    """Files as those of a machine with one cache. A line that is written takes the place of its like, as the kernel has it."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "resctrl")
        info = os.path.join(self.folder, "info")
        for name, value in {"L3/cbm_mask": f"{MASK:x}", "L3/min_cbm_bits": "1", "L3/num_closids": "15", "L3/shareable_bits": "0",
                            "MB/min_bandwidth": "10", "MB/bandwidth_gran": "10", "MB/num_closids": "8", "MB/delay_linear": "1",
                            "L3_MON/mon_features": "\n".join(COUNTERS), "L3_MON/num_rmids": "176"}.items():
            write(os.path.join(info, name), value + "\n")
        self.groups = {group: {"L3": f"0={MASK:x}", "MB": "0=100"} for group in ("", *CLASSES)}
        for group in self.groups:
            write(self.path(group, "tasks"), "")
            for number, (name, value) in enumerate(COUNTERS.items()):
                write(self.path(group, f"mon_data/mon_L3_00/{name}"), f"{value + number + len(group)}\n")
            self.show(group)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def path(self, group, name):
        return os.path.join(self.folder, group, name)

    def show(self, group):
        write(self.path(group, "schemata"), "".join(f"    {line}:{value}\n" for line, value in self.groups[group].items()))

    def watch(self):
        while not self.stop.wait(0.02):
            for group, lines in self.groups.items():
                with open(self.path(group, "schemata"), encoding="utf-8") as file:
                    found = dict(line.strip().split(":", 1) for line in file if ":" in line)
                if found != lines:
                    lines.update(found)
                    self.show(group)

    def end(self):
        self.stop.set()
        self.thread.join()
        shutil.rmtree(self.folder)


def schemata(text):
    """{line: {cache: value}} of what is written."""
    found = {}
    for line in text.replace("\\n", "\n").splitlines():
        kind, _, fields = line.strip().partition(":")
        if fields:
            found[kind] = {int(cache): int(value, 16 if kind == "L3" else 10)
                           for cache, value in (field.split("=") for field in fields.strip("; ").split(";"))}
    return found


class Trace:
    """What an agent writes into resctrl."""

    def __init__(self, agent, path, resctrl):
        self.path, self.at, self.agent = path, 0, agent
        files = [f"--trace-path={resctrl.path(group, name)}" for group in CLASSES for name in ("schemata", "tasks")]
        agent.command = ["strace", "-f", "-qq", "-y", "-s", "4096", "-o", path, "-e", "trace=write,pwrite64", *files, *agent.command]

    def take(self):
        """Since it was last asked: of each class its lines, and the tasks that were added."""
        with open(self.path, encoding="utf-8") as file:
            file.seek(self.at)
            text = file.read()
            self.at = file.tell()
        lines, tasks = {group: {} for group in CLASSES}, {group: set() for group in CLASSES}
        for group, name, data in re.findall(r'write\w*\(\d+<[^>]*/(\w+)/(schemata|tasks)>, "([^"]*)"', text):
            if name == "schemata":
                lines[group].update(schemata(data))
            else:
                tasks[group].update(map(int, re.findall(r"\d+", data.replace("\\n", "\n"))))
        return lines, tasks

    def end(self):
        """The agent first: it would outlive who traces it."""
        with open(f"/proc/{self.agent.process.pid}/task/{self.agent.process.pid}/children", encoding="utf-8") as file:
            for child in file.read().split():
                os.kill(int(child), signal.SIGKILL)
        self.agent.kill()


def slo(phase, disk):
    classes = {f"{name.lower()}Class": {"resctrlQOS": {"enable": True, "catRangeStartPercent": start, "catRangeEndPercent": end,
                                                       "mbaPercent": percent}} for name, (start, end, percent) in PHASES[phase].items()}
    classes["beClass"]["blkioQOS"] = {"enable": True, "blocks": [{"name": disk, "type": "device", "ioCfg": LIMITS}]}
    return {"spec": {"resourceQOSStrategy": classes}}


def observe(node, name, disk):
    fs = os.path.join(node.dir, f"fs-{name}")
    resctrl = Resctrl(fs)
    for mine in os.listdir("/sys/fs"):
        os.symlink(f"/sys/fs/{mine}", os.path.join(fs, mine))
    if name == "original":
        agent = Original(node, free_port())
        agent.command = [word for word in agent.command if not word.startswith("-sys-fs-root-dir")]
    else:
        agent = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                      f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run", env={"NODE_NAME": node.name})
    agent.command += [*FLAGS, f"-sys-fs-root-dir={fs}/"]
    # The original goes by the processor's flags.
    cpuinfo = os.path.join(node.dir, "cpuinfo")
    agent.command = ["unshare", "-m", "sh", "-c", f'mount --bind {cpuinfo} /proc/cpuinfo; exec "$@"', "sh", *agent.command]
    # It reads no storage at all where LVM's programs are missing.
    for program in ("vgs", "lvs"):
        write(os.path.join(node.dir, "bin", program), "#!/bin/sh\n")
        os.chmod(os.path.join(node.dir, "bin", program), 0o755)
    agent.env["PATH"] = f"{os.environ['PATH']}:{node.dir}/bin"
    trace = Trace(agent, os.path.join(node.dir, f"trace-{name}"), resctrl)
    seen, state, whose = {}, {group: schemata("L3:0=%x\nMB:0=100" % MASK) for group in CLASSES}, {group: set() for group in CLASSES}
    connection = node.api.connect()
    for phase in PHASES:
        connection.request("PATCH", f"{SLO}/nodeslos/{node.name}", slo(phase, disk), "application/merge-patch+json")
        if agent.process is None:
            agent.start()
            wait_for("the agent divides caches", lambda: os.path.getsize(trace.path) > 0 if os.path.exists(trace.path) else False, 90)
        time.sleep(SETTLE_SECONDS)
        lines, tasks = trace.take()
        for group in CLASSES:
            state[group].update(lines[group])
            whose[group] |= tasks[group]
        seen[phase] = {group: dict(state[group]) for group in CLASSES}
    # What the runtime starts in a pod for a moment, one agent sees and another one not.
    seen["tasks"] = {group: {task for task in tasks if os.path.exists(f"/proc/{task}")} for group, tasks in whose.items()}
    shown = re.findall(r'^(koordlet_resctrl_\w+)\{(.*)\} (\S+)$', agent.get("/metrics"), re.M)
    seen["metrics"] = {(metric, tuple(sorted(label for label in labels.split(",") if not label.startswith("node=")))): float(value)
                       for metric, labels, value in shown}
    best = Group("kubepods/besteffort")
    seen["blkio"] = {file: best.read("blkio", f"blkio.{file}").strip() for file in FILES}
    trace.end()
    resctrl.end()
    return seen


def main():
    reason = missing() or (None if shutil.which("strace") else "strace is missing")
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet to compare with: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    with Unchanged(), RealNode() as node:
        make_objects(node)
        os.makedirs(os.path.join(node.dir, "var-run"))
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            write(os.path.join(node.dir, "cpuinfo"), re.sub(r"^(flags\s*: .*)$", r"\1 cat_l3 mba cqm_llc cqm_occup_llc cqm_mbm_total "
                                                                                 r"cqm_mbm_local", file.read(), flags=re.M))
        number = os.stat(node.dir).st_dev
        disk = f"/dev/{os.path.basename(os.path.realpath(f'/sys/dev/block/{os.major(number)}:{os.minor(number)}'))}"
        pods = [node.pod("lsr", "sleep 100000", "LSR", 100), node.pod("ls", "sleep 100000", "LS", 100), node.pod("be", "sleep 100000", "BE")]
        node.apply(*pods)
        node.wait_running("lsr", "ls", "be")
        theirs, ours = (observe(node, name, disk) for name in ("original", "ours"))
    wrong = []
    for what in (*PHASES, "tasks", "blkio"):
        print(f"{what}: {theirs[what]}", "" if ours[what] == theirs[what] else f"   DIFFERS   {ours[what]}")
        wrong += [] if ours[what] == theirs[what] else [what]
    print("metrics:", ours["metrics"])
    assert not wrong, f"these differ: {wrong}"
    assert all(ours["blkio"].values()), f"a limit is missing: {ours['blkio']}"
    # The original takes no number with a line feed after it, as the kernel has them: a line of COMPATIBILITY.md.
    assert not theirs["metrics"] and len(ours["metrics"]) == 3 * len(CLASSES), (theirs["metrics"], ours["metrics"])
    for (metric, labels), value in ours["metrics"].items():
        wanted = COUNTERS["llc_occupancy"] if "occupancy" in metric else 0  # bandwidth is what they grow by
        assert 0 <= value - wanted < 10, (metric, labels, value)
    print("comparison of caches and disks with the original: passed")


if __name__ == "__main__":
    main()

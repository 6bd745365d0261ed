#!/usr/bin/env python3
"""The original koordlet and ours on the same real node, one after the other, beside a resctrl in user space (resctrl_stage.py): what both make
of it for the same NodeSLOs (caches and bandwidth of classes, whose tasks are whose; Intel's and AMD's), what both say of counters that do not
change, and which limits of block I/O the machine's own blkio has then. Needs the original's program; no part of CI. 4 minutes.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import skip_without_role, wait_for  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import SLO, make_objects  # noqa: E402
from original import ORIGINAL, either  # noqa: E402
from real_node import RealNode, missing  # noqa: E402
import resctrl_stage  # noqa: E402
from fake_resctrl import COUNTERS  # noqa: E402
from resctrl_stage import VENDORS, ResctrlStage, enter_own_mounts  # noqa: E402

CLASSES = ("LSR", "LS", "BE")
GATES = "-feature-gates=RdtResctrl=true,ResctrlCollector=true,BlkIOReconcile=true,BECPUSuppress=false"
FLAGS = (GATES, "-enable-resctrl-collector=true", "-resctrl-collector-interval=1s")
# Phases: of each class the range of the cache and the percent of the bandwidth.
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


def slo(phase, disk):
    classes = {f"{name.lower()}Class": {"resctrlQOS": {"enable": True, "catRangeStartPercent": start, "catRangeEndPercent": end,
                                                       "mbaPercent": percent}} for name, (start, end, percent) in PHASES[phase].items()}
    classes["beClass"]["blkioQOS"] = {"enable": True, "blocks": [{"name": disk, "type": "device", "ioCfg": LIMITS}]}
    return {"spec": {"resourceQOSStrategy": classes}}


def observe(node, name, vendor, disk):
    agent = either(node, name)
    agent.command += FLAGS
    # It reads no storage at all where LVM's programs are missing.
    for program in ("vgs", "lvs"):
        write(os.path.join(node.dir, "bin", program), "#!/bin/sh\n")
        os.chmod(os.path.join(node.dir, "bin", program), 0o755)
    agent.env["PATH"] = f"{os.environ['PATH']}:{node.dir}/bin"
    seen = {}
    connection = node.api.connect()
    # Of one cache: the original wants as many as lscpu counts.
    with ResctrlStage(node, name, vendor) as resctrl:
        resctrl.before(agent)
        all_of_it = resctrl.schemata("")
        for phase in PHASES:
            connection.request("PATCH", f"{SLO}/nodeslos/{node.name}", slo(phase, disk), "application/merge-patch+json")
            if agent.process is None:
                agent.start()
                wait_for("the agent divides caches", lambda: resctrl.schemata("BE") not in ("", all_of_it), 90)
            time.sleep(SETTLE_SECONDS)
            seen[phase] = {group: resctrl.schemata(group) for group in CLASSES}
        seen["tasks"] = {group: resctrl.programs(group) for group in CLASSES}
        shown = re.findall(r'^(koordlet_resctrl_\w+)\{(.*)\} (\S+)$', agent.get("/metrics"), re.M)
        seen["metrics"] = {(metric, tuple(sorted(label for label in labels.split(",") if not label.startswith("node=")))): float(value)
                           for metric, labels, value in shown}
        best = Group("kubepods/besteffort")
        seen["blkio"] = {file: best.read("blkio", f"blkio.{file}").strip() for file in FILES}
        seen["cost"] = os.path.exists(best.file("blkio", "blkio.cost.weight"))
        agent.kill()
    return seen


def main():
    reason = missing() or resctrl_stage.missing()
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet to compare with: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    enter_own_mounts()
    with Unchanged(), RealNode() as node:
        make_objects(node)
        os.makedirs(os.path.join(node.dir, "var-run"))
        number = os.stat(node.dir).st_dev
        disk = f"/dev/{os.path.basename(os.path.realpath(f'/sys/dev/block/{os.major(number)}:{os.minor(number)}'))}"
        pods = [node.pod("lsr", "sleep 100000", "LSR", 100), node.pod("ls", "sleep 100000", "LS", 100), node.pod("be", "sleep 100000", "BE")]
        node.apply(*pods)
        node.wait_running("lsr", "ls", "be")
        theirs, ours = ({vendor: observe(node, name, vendor, disk) for vendor in VENDORS} for name in ("original", "ours"))
    wrong = []
    for vendor in VENDORS:
        of_theirs, of_ours = theirs[vendor], ours[vendor]
        # Where the kernel has no blkio.cost.weight the original sets no limit at all.
        for what in (*PHASES, "tasks", *(("blkio",) if of_ours["cost"] else ())):
            same = of_ours[what] == of_theirs[what]
            print(f"{vendor}: {what}: {of_theirs[what]}", "" if same else f"   DIFFERS   {of_ours[what]}")
            wrong += [] if same else [(vendor, what)]
        print(f"{vendor}: metrics:", of_ours["metrics"])
    assert not wrong, f"these differ: {wrong}"
    for vendor in VENDORS:
        check_alone(theirs[vendor], ours[vendor])
    print("comparison of caches and disks with the original: passed")


def check_alone(theirs, ours):
    assert all(ours["blkio"].values()), f"a limit is missing: {ours['blkio']}"
    # The original takes no number with a line feed after it, as the kernel has them: a line of COMPATIBILITY.md.
    assert not theirs["metrics"] and len(ours["metrics"]) == len(COUNTERS) * len(CLASSES), (theirs["metrics"], ours["metrics"])
    for (metric, labels), value in ours["metrics"].items():
        wanted = COUNTERS["llc_occupancy"] if "occupancy" in metric else 0  # bandwidth is what they grow by
        assert value == wanted, (metric, labels, value)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""In the virtual machine, which has 1 GiB: a pod leaks until memory eviction ends it. A sandbox is the API server, a file
that busybox serves is the kubelet's list of pods; the cgroups are real ones of v2.

Who goes first is what the documents say, by cgroup.kill; the latency-sensitive pod is never killed for want of memory, and
nobody goes within the cool-down, also when the agent is killed in it. Without an agent the same leak has the kernel kill
the latency-sensitive pod. On the way: CPU burst, memory QoS, pressure and settings of the whole machine are in the real files,
and are as they were after --cleanup.
"""
import datetime
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_node  # noqa: E402
from agent import skip_without_role  # noqa: E402
from janitor import skip  # noqa: E402

COOL_SECONDS = 15
THRESHOLD, LOWER = 70, 50  # percent of 1 GiB: who goes has to make room of a fifth of it
# Name: (class, priority, MiB that it holds). The leaker takes more and more beside that.
PODS = {"web": ("LS", 9500, 240), "small": ("BE", 5000, 20), "large": ("BE", 5000, 60), "leaker": ("BE", 5500, 10),
        "last": ("BE", 5900, 60)}
ORDER = ["large", "small", "leaker", "last"]  # by priority, then the largest; the last only the second time
MIB = 1 << 20
MIN_FREE_FACTOR, WATERMARK, FEATURE = 150, 20, "GENTLE_FAIR_SLEEPERS"

FLAGS = ("--psi-collector-interval=2s", f"--memory-evict-cool-time-seconds={COOL_SECONDS}",
         "--feature-gates=BECPUSuppress=false,BEMemoryEvict=true,CgroupReconcile=true,SystemConfig=true,PSICollector=true,AuditEvents=true")

SCRIPT = """
web=kubepods/burstable/podweb/main-web last=kubepods/besteffort/podlast/main-last
large=kubepods/besteffort/podlarge/main-large
features=/sys/kernel/debug/sched/features
mount -t debugfs debugfs /sys/kernel/debug
# dd keeps what it has read while nobody takes it.
hold() { inside $1 "dd if=/dev/zero bs=${2}M count=1 2>/dev/null | sleep 100000"; }
leak() { inside $1 "for i in \\$(seq $2); do dd if=/dev/zero bs=8M count=1 2>/dev/null | sleep 100000 & usleep $3; done; sleep 100000"; }
knobs() {
  for file in $cg/${web%/*}/cpu.max $cg/$web/cpu.max $cg/${web%/*}/cpu.max.burst $cg/$web/cpu.max.burst \\
    $cg/$web/memory.min $cg/$web/memory.low $cg/$web/memory.high $cg/${web%/*}/memory.min $cg/${web%/*}/memory.low \\
    $cg/kubepods/burstable/memory.min $cg/kubepods/memory.low \\
    /proc/sys/vm/min_free_kbytes /proc/sys/vm/watermark_scale_factor $features; do echo "$1 $file $(cat $file)"; done
}
used() { awk '/MemTotal/{t=$2} /MemAvailable/{a=$2} END{print int((t-a)*100/t)}' /proc/meminfo; }
killed() { sed -n 's/^oom_kill //p' $1; }
empty() { [ -z "$(cat $cg/$1/cgroup.procs)" ]; }
MAKE_GROUPS
kubelet
sandbox
HOLD_MEMORY
inside $web 'while :; do :; done'
inside $web 'while :; do :; done'
until_ 20 '[ $(used) -ge 40 ]'
echo "see memory=$memory used=$(used)"
# Who reads which processes "large" has finds none: its end is cgroup.kill's, freezing and signals would not reach it.
echo "see large=$(wc -l <$cg/$large/cgroup.procs)"
mount -o bind /dev/null $cg/$large/cgroup.procs || exit 1
knobs before
agent &
until_ 30 '[ "$(cat $cg/$web/cpu.max.burst)" = 100000 ] && [ "$(cut -d" " -f1 $cg/$web/cpu.max)" -gt 100000 ]'
until_ 10 '[ "$(cat $cg/kubepods/memory.low)" != 0 ]'
# The answer that is looked at is the one that is kept: the burst soon ends the throttling, and the average sinks again.
until_ 20 'metrics >/tmp/seen && grep -q "koordlet_pod_psi.*type=\\"cpu\\".*precision=\\"avg10\\".*[1-9]$" /tmp/seen'
knobs with
grep 'koordlet_pod_psi.*type="cpu".*precision="avg10"' /tmp/seen
leak kubepods/besteffort/podleaker/main-leaker 60 50000
until_ 40 'empty kubepods/besteffort/podleaker/main-leaker'
kill_agent
leak $last 50 20000
agent &
until_ 10 '[ $(used) -ge THRESHOLD ]'
echo "see used=$(used) at=$(up)"
until_ 40 'empty $last'
umount $cg/$large/cgroup.procs
echo "see large_left=$(wc -l <$cg/$large/cgroup.procs)"
echo "see web=$(wc -l <$cg/$web/cgroup.procs) killed=$(killed /proc/vmstat)"
sleep 1
kill_agent
agent --cleanup
echo "see cleanup=$?"
knobs after
cat /tmp/audit/* | grep '"reason":"evicted"'
leak $last 110 10000
until_ 20 '[ $(killed /proc/vmstat) != 0 ]'
sleep 1
echo "see control=$(killed $cg/$web/memory.events)"
tail -40 /tmp/agent.log
"""


def group_of(name):
    return f"kubepods/{'besteffort' if PODS[name][0] == 'BE' else 'burstable'}/pod{name}"


def pod(name):
    qos, priority, _ = PODS[name]
    limits = {"cpu": "1", "memory": "600Mi"} if qos == "LS" else {}
    requests = {"cpu": "1", "memory": "300Mi"} if qos == "LS" else {}
    return {"metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"koordinator.sh/qosClass": qos}},
            "spec": {"nodeName": "vm", "priority": priority, "containers": [
                {"name": "main", "image": "none", "resources": {"requests": requests, "limits": limits}}]},
            "status": {"phase": "Running", "qosClass": "BestEffort" if qos == "BE" else "Burstable", "containerStatuses": [
                {"name": "main", "containerID": f"containerd://main-{name}", "ready": True, "state": {"running": {}}}]}}


def slo():
    return vm_node.node_slo(
        resourceUsedThresholdWithBE={"enable": True, "memoryEvictThresholdPercent": THRESHOLD, "memoryEvictLowerPercent": LOWER},
        cpuBurstStrategy={"policy": "auto", "cpuBurstPercent": 1000, "cfsQuotaBurstPercent": 300, "sharePoolThresholdPercent": 90},
        resourceQOSStrategy={"lsClass": {"memoryQOS": {
            "enable": True, "minLimitPercent": 50, "lowLimitPercent": 60, "throttlingPercent": 80}}},
        systemStrategy={"minFreeKbytesFactor": MIN_FREE_FACTOR, "watermarkScaleFactor": WATERMARK,
                        "schedFeatures": {FEATURE: False}})


def script():
    groups = ["group kubepods x", "group kubepods/besteffort x", "group kubepods/burstable x"]
    holds = []
    for name, (_, _, mib) in PODS.items():
        groups += [f"group {group_of(name)} x", f"group {group_of(name)}/main-{name}"]
        holds.append(f"hold {group_of(name)}/main-{name} {mib}")
    groups.append("for group in $web ${web%/*}; do echo '100000 100000' >$cg/$group/cpu.max; done")
    text = vm_node.setup(*FLAGS) + SCRIPT
    for name, value in (("THRESHOLD", THRESHOLD), ("MAKE_GROUPS", "\n".join(groups)),
                        ("HOLD_MEMORY", "\n".join(holds))):
        text = text.replace(name, str(value))
    return text


def check_evictions(lines):
    rows = [json.loads(line) for line in lines if line.startswith('{"createdAt"')]
    assert [row["name"] for row in rows] == ORDER, f"evicted were {[row['name'] for row in rows]}"
    times = [datetime.datetime.fromisoformat(row["createdAt"][:26]) for row in rows]
    assert (times[2] - times[0]).total_seconds() < 2, "those that have to make room do not go together"
    passed = (times[3] - times[2]).total_seconds()
    print(f"the second eviction came {passed:.1f} s after the first, {COOL_SECONDS} s are to pass")
    assert COOL_SECONDS - 0.5 <= passed < COOL_SECONDS + 10, "the cool-down does not hold over the agent's end"


def check_knobs(lines, said):
    def of(phase):
        return dict(line.split(" ", 2)[1:] for line in lines if line.startswith(f"{phase} /"))

    before, during, after = of("before"), of("with"), of("after")
    assert len(before) == 14 and before == after, f"--cleanup left {set(after.items()) - set(before.items())}"
    group = "/sys/fs/cgroup/kubepods/burstable/podweb"
    assert during[f"{group}/main-web/cpu.max.burst"] == during[f"{group}/cpu.max.burst"] == "100000"
    quota, pod_quota = (int(during[f"{path}/cpu.max"].split()[0]) for path in (f"{group}/main-web", group))
    assert 100000 < quota <= 300000 and pod_quota == quota, f"quotas {quota} and {pod_quota}"
    least, low, high = ([during[path] for path in during if path.endswith(f"memory.{name}")] for name in ("min", "low", "high"))
    assert (least, low, high) == ([str(150 * MIB)] * 3, [str(180 * MIB)] * 3, [str(540 * MIB)]), (least, low, high)
    assert during["/proc/sys/vm/min_free_kbytes"] == str(int(said["memory"]) * MIN_FREE_FACTOR // 10000)
    assert during["/proc/sys/vm/watermark_scale_factor"] == str(WATERMARK)
    features = "/sys/kernel/debug/sched/features"
    assert during[features].split() == [f"NO_{word}" if word == FEATURE else word for word in before[features].split()]


def main():
    reason = vm.missing()
    if reason:
        skip(reason)
    skip_without_role()
    with tempfile.TemporaryDirectory(prefix="koord-evict-vm.") as folder:
        files = vm_node.write(folder, {"objects.json": vm_node.objects(vm_node.node(), slo()),
                                       "www/pods/index.html": vm_node.pod_list(map(pod, PODS))})
        status, lines = vm.run(script(), files, seconds=150)
    assert status == 0, f"the machine's test ended with {status}"
    said = vm_node.said(lines)
    assert "waited" not in said, f"what was waited for did not come: {said}"
    check_evictions(lines)
    assert (said["web"], said["killed"]) == ("5", "0"), "the kernel killed somebody for want of memory"
    assert int(said["large"]) > 0 and said["large_left"] == "0", "cgroup.kill was not what ended a pod"
    assert int(said["control"]) > 0, "without an agent the latency-sensitive pod was not killed: the leak proves nothing"
    assert said["cleanup"] == "0"
    check_knobs(lines, said)
    pressures = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("koordlet_pod_psi{")]
    assert len(pressures) == 2 * len(PODS) and max(pressures) > 0, "no pressure of the pod that is throttled"
    print("eviction in the virtual machine: passed")


if __name__ == "__main__":
    main()

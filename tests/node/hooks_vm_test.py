#!/usr/bin/env python3
"""In the virtual machine, on cgroup v2: what the runtime hooks guarantee, while pods' CPUs grow and shrink and a CPU is
taken out and comes back; best-effort pods go idle, and their weights are back after --cleanup; what a kubelet with the
feature MemoryQoS writes is left to it, and said, while all else goes on.
"""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_node  # noqa: E402
from agent import skip_without_role  # noqa: E402
from janitor import skip  # noqa: E402
from vm_node import Pod, container  # noqa: E402

STATUS = "scheduling.koordinator.sh/resource-status"
MIB = 1 << 20
BATCH = {"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "32Mi"}
FIRST, LARGER, LESS, TAKEN = "2-3", "2-5", "5", 6
FLAGS = ("--feature-gates=BECPUSuppress=false,CgroupReconcile=true", "--kubelet-sync-interval=1s", "--collect-node-cpu-info-interval=1s",
         "--resource-force-update-seconds=5")
FILES = ("cpuset.cpus", "cpu.idle", "cpu.weight", "cpu.max", "memory.max", "memory.min", "memory.high")
KUBELETS = {"before": 5 * MIB, "over": 111 * MIB}  # what the kubelet writes before koord comes, and over its value

SCRIPT = """
see() { echo "see $1 at=$(up)"; (cd $cg; grep -H '' $(find kubepods -type f | grep -E '/(FILES)$') | sed "s/^/is $1 /"); }
pinned=$cg/PINNED shared=$cg/SHARED best=$cg/BEST
sets() { [ "$(cat $pinned/cpuset.cpus)" = "$1" ] && [ "$(cat $shared/cpuset.cpus)" = "$2" ]; }
kubelet
sandbox
echo BEFORE >$shared/memory.min
see kubelet
agent &
until_ 30 'sets FIRST "0-1,4-7"'
until_ 10 '[ "$(cat $best/cpu.idle)" = 1 ]'
until_ 10 '[ "$(cat $shared/memory.high)" != max ] && [ "$(cat $best/memory.max)" != max ] && [ "$(cat ${best%/*}/memory.max)" != max ]'
see first
cp /larger.json /www/pods/index.html
until_ 15 'sets LARGER "0-1,6-7"'
see larger
cp /less.json /www/pods/index.html
until_ 15 'sets LESS "0-4,6-7"'
see less
echo 0 >/sys/devices/system/cpu/cpuTAKEN/online
until_ 15 'sets LESS "0-4,7"'
see taken
echo "see effective=$(cat $shared/cpuset.cpus.effective)"
echo 1 >/sys/devices/system/cpu/cpuTAKEN/online
until_ 15 'sets LESS "0-4,6-7"'
see back
echo OVER >$shared/memory.high
until_ 20 'grep -q "another program writes" /tmp/agent.log'
sleep 2
see others
wget -q -O - http://127.0.0.1:9316/apis/v1/node | grep -o '[0-9]* files left to another program[^"]*'
kill_agent
agent --cleanup
echo "see cleanup=$?"
see cleanup
tail -12 /tmp/agent.log
"""


def pods(cpus):
    fixed = {"cpu": str(len(vm_cpus(cpus))), "memory": "32Mi"}
    return [Pod("pinned", "LSR", container(requests=fixed, limits=fixed), annotations={STATUS: json.dumps({"cpuset": cpus})}),
            Pod("shared", "LS", container(requests={"cpu": "500m", "memory": "64Mi"}, limits={"cpu": "1", "memory": "128Mi"})),
            Pod("best", "BE", container(requests=BATCH, limits=BATCH))]


def vm_cpus(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def check(seen):
    pinned, shared, best = (pod.group_of(pod.containers[0]) for pod in pods(FIRST))
    whole = {group: os.path.dirname(group) for group in (pinned, shared, best)}

    def value(phase, group, file):
        return seen[phase][f"{group}/{file}"]

    for phase in ("first", "larger", "less", "taken", "back", "others"):
        assert value(phase, pinned, "cpu.max") == value(phase, whole[pinned], "cpu.max") == "max 100000", f"{phase}: a quota"
        assert value(phase, shared, "cpu.max") == "100000 100000" and value(phase, best, "cpuset.cpus") == "", phase
        assert value(phase, f"{whole[pinned]}/sandbox", "cpuset.cpus") == value(phase, pinned, "cpuset.cpus"), f"{phase}: the sandbox's CPUs"
        assert value(phase, whole[best], "cpu.weight") == str(vm_node.weight(1536)), f"{phase}: the pod's weight"
        assert value(phase, best, "cpu.max") == "150000 100000", phase
        assert value(phase, best, "memory.max") == value(phase, whole[best], "memory.max") == str(32 * MIB), phase
        assert [value(phase, group, "cpu.idle") for group in (whole[best], best, whole[shared], "kubepods/besteffort")] == \
            ["0", "1", "0", "0"], f"{phase}: who is idle"
        assert value(phase, shared, "memory.min") == str(32 * MIB) if phase != "others" else True, phase
    high = (64 + 64 * 80 // 100) * MIB
    assert high <= int(value("first", shared, "memory.high")) < high + MIB, value("first", shared, "memory.high")
    assert value("others", shared, "memory.high") == str(KUBELETS["over"]), "the kubelet's value was overwritten"
    after = {**seen["kubelet"], f"{shared}/memory.high": str(KUBELETS["over"])}
    # --cleanup asks the kubelet, which says of the pinned pod that it has fewer CPUs by now.
    after |= {f"{group}/cpu.max": f"{len(vm_cpus(LESS)) * 100000} 100000" for group in (pinned, whole[pinned])}
    for path, text in seen["cleanup"].items():
        if path.endswith("/cpuset.cpus") and text == "0-7":
            after[path] = text  # a group that has processes never takes an empty set again: it is as wide as its parent
    wrong = {path: (text, seen["cleanup"][path]) for path, text in after.items() if seen["cleanup"][path] != text}
    assert not wrong, f"--cleanup left {wrong}"


def main():
    reason = vm.missing()
    if reason:
        skip(reason)
    skip_without_role()
    slo = vm_node.node_slo(resourceQOSStrategy={
        "lsClass": {"cpuQOS": {"enable": True, "groupIdentity": 2},
                    "memoryQOS": {"enable": True, "minLimitPercent": 50, "throttlingPercent": 80}},
        "beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}})
    text = SCRIPT
    values = {"FILES": "|".join(FILES), "FIRST": FIRST, "LARGER": LARGER, "LESS": LESS, "TAKEN": TAKEN,
              "BEFORE": KUBELETS["before"], "OVER": KUBELETS["over"]}
    values |= {pod.name.upper(): pod.group_of(pod.containers[0]) for pod in pods(FIRST)}
    for name, value in values.items():
        text = text.replace(name, str(value))
    lists = {name: vm_node.pod_list(pod.manifest() for pod in pods(cpus)) for name, cpus in
             (("www/pods/index.html", FIRST), ("larger.json", LARGER), ("less.json", LESS))}
    with tempfile.TemporaryDirectory(prefix="koord-hooks-vm.") as folder:
        files = vm_node.write(folder, {"objects.json": vm_node.objects(vm_node.node(), slo), **lists,
                                       "www/configz": {"kubeletconfig": {"cpuManagerPolicy": "none"}}})
        status, lines = vm.run(vm_node.setup(*FLAGS) + vm_node.make(pods(FIRST)) + text, files, seconds=200)
    assert status == 0, f"the machine's test ended with {status}"
    told = vm_node.said(lines)
    assert "waited" not in told, f"what was waited for did not come: {told}"
    seen = {}
    for line in lines:
        if line.startswith("is "):
            phase, rest = line[3:].split(" ", 1)
            path, value = rest.split(":", 1)
            seen.setdefault(phase, {})[path] = value
    assert told["cleanup"] == "0" and told["effective"] == f"0-4,{TAKEN + 1}", told
    assert any("left to another program" in line and "memory.high" in line for line in lines), \
        "the status does not name the file that the kubelet writes"
    check(seen)
    print("the runtime hooks in the virtual machine: passed")


if __name__ == "__main__":
    main()

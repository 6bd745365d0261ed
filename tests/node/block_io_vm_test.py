#!/usr/bin/env python3
"""In the virtual machine, on cgroup v2 and a disk of its own: the limits of block I/O of best-effort work and of a pod, weights, and
the machine's io.cost, as NodeSLO and pods ask for them, are what the kernel takes and reads back; a limit holds reads back; what others
have set stays; over a SIGKILL of the agent it does, too; `--cleanup` leaves what was there.
"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_node  # noqa: E402
from agent import skip_without_role  # noqa: E402
from janitor import skip  # noqa: E402
from vm_node import Pod, container  # noqa: E402

MIB = 1 << 20
DISK = vm.Disk(64, 64)
DEVICE = "/dev/nvme0n1"
FLAGS = ("--feature-gates=BlkIOReconcile=true,BECPUSuppress=false", "--kubelet-sync-interval=1s", "--reconcile-interval-seconds=1")
READ_MIB = 2  # at 1 MiB a second


def blocks(**figures):
    return {"enable": True, "blocks": [{"name": DEVICE, "type": "device", "ioCfg": figures},
                                       {"name": "/dev/none-such", "type": "device", "ioCfg": {"readBPS": 1}}]}


MODEL = {"modelReadBPS": 400 * MIB, "modelReadSeqIOPS": 20000, "modelReadRandIOPS": 10000,
         "modelWriteBPS": 200 * MIB, "modelWriteSeqIOPS": 15000, "modelWriteRandIOPS": 8000}
SLO = vm_node.node_slo(resourceQOSStrategy={
    "beClass": {"blkioQOS": blocks(readBPS=MIB, writeIOPS=300, ioWeightPercent=40)},
    "cgroupRoot": {"blkioQOS": blocks(readLatency=5000, writeLatency=7000, readLatencyPercent=90, writeLatencyPercent=80,
                                      enableUserModel=True, **MODEL)}})
OWN = Pod("own", "LS", container(requests={"cpu": "1", "memory": "64Mi"}), annotations={
    "koordinator.sh/blkioQOS": '{"blocks":[{"name":"%s","type":"device","ioCfg":{"writeBPS":%d,"ioWeightPercent":70}}]}' % (DEVICE, 3 * MIB)})
BEST = Pod("best", "BE")
FREE = Pod("free", "LS", container(requests={"cpu": "1", "memory": "64Mi"}))
PODS = [OWN, BEST, FREE]

SCRIPT = """
for group in . kubepods kubepods/burstable kubepods/besteffort BEST OWN FREE; do echo "+io" >$cg/$group/cgroup.subtree_control || exit 1; done
disk=$(cat /sys/block/nvme0n1/dev)
echo "see disk=$disk scheduler=$(cat /sys/block/nvme0n1/queue/scheduler | tr ' ' ,)"
echo "$disk wbps=77777" >$cg/kubepods/besteffort/io.max || exit 1
look() {
  for file in io.cost.qos io.cost.model kubepods/besteffort/io.max kubepods/besteffort/io.weight OWN/io.max OWN/io.weight FREE/io.max FREE/io.weight; do
    echo "is $1 $file $(grep "^$disk " $cg/$file)"
  done
}
# Hundredths of a second that a container takes to read.
took() {
  begun=$(up | tr -d .)
  sh -c 'echo $$ >'$cg/$1'/cgroup.procs; exec dd if=/dev/nvme0n1 of=/dev/null bs=64k iflag=direct count=COUNT 2>/dev/null' || echo "see waited=0 for=a-read"
  echo $(($(up | tr -d .) - begun))
}
kubelet
sandbox
look before
agent &
until_ 30 'grep -q "^$disk .*rbps=1048576" $cg/kubepods/besteffort/io.max'
until_ 30 'grep -q "^$disk enable=1" $cg/io.cost.qos && grep -q "^$disk" $cg/OWN/io.weight'
sleep 1
look first
echo "see best=$(took BEST_CONTAINER) free=$(took FREE_CONTAINER)"
kill_agent
agent &
until_ 20 'metrics | grep -q koordlet_tick'
sleep 2
look again
kill_agent
agent --cleanup
echo "see cleanup=$?"
look cleanup
grep -c 'limits of block I/O are left out' /tmp/agent.log
"""


def figures(line):
    return dict(word.split("=") for word in line.split()[1:] if "=" in word)


def check(seen):
    first = seen["first"]
    qos, model = figures(first["io.cost.qos"]), figures(first["io.cost.model"])
    for name, value in (("enable", 1), ("rpct", 90), ("rlat", 5000), ("wpct", 80), ("wlat", 7000)):
        assert float(qos[name]) == value, (name, first["io.cost.qos"])
    assert (qos["ctrl"], model["ctrl"]) == ("user", "user"), first
    assert [int(model[word]) for word in ("rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops")] == list(MODEL.values()), model
    best, own = figures(first["kubepods/besteffort/io.max"]), figures(first[f"{OWN.group}/io.max"])
    assert best == {"rbps": str(MIB), "wbps": "77777", "riops": "max", "wiops": "300"}, best
    assert own == {"rbps": "max", "wbps": str(3 * MIB), "riops": "max", "wiops": "max"}, own
    weights = [first[f"{group}/io.weight"].split()[1:] for group in ("kubepods/besteffort", OWN.group, FREE.group)]
    assert weights == [["40"], ["70"], []], weights
    assert first[f"{FREE.group}/io.max"] == "", first
    assert seen["again"] == first, (first, seen["again"])
    # The kernel says nothing of a disk's costs before somebody has switched them on, and goes on saying something afterwards.
    before, after = seen["before"], seen["cleanup"]
    costs = {name: figures(after.pop(name)) for name in ("io.cost.qos", "io.cost.model")}
    assert (before.pop("io.cost.qos"), before.pop("io.cost.model")) == ("", ""), "the kernel says something of costs at first"
    assert (costs["io.cost.qos"]["enable"], costs["io.cost.qos"]["ctrl"], costs["io.cost.model"]["ctrl"]) == ("0", "auto", "auto"), costs
    assert after == before, (before, after)
    assert figures(before["kubepods/besteffort/io.max"])["wbps"] == "77777", before


def main():
    reason = vm.missing()
    if reason:
        skip(reason)
    skip_without_role()
    script = SCRIPT.replace("BEST_CONTAINER", BEST.group_of(BEST.containers[0])).replace("FREE_CONTAINER", FREE.group_of(FREE.containers[0]))
    for pod in PODS:
        script = script.replace(pod.name.upper(), pod.group)
    script = script.replace("COUNT", str(READ_MIB * 16))
    with tempfile.TemporaryDirectory(prefix="koord-io-vm.") as folder:
        files = vm_node.write(folder, {"objects.json": vm_node.objects(vm_node.node(), SLO),
                                       "www/pods/index.html": vm_node.pod_list(pod.manifest() for pod in PODS),
                                       "www/configz": {"kubeletconfig": {"cpuManagerPolicy": "none"}}})
        status, lines = vm.run(vm_node.setup(*FLAGS) + vm_node.make(PODS) + script, files, seconds=120, disk=DISK)
    assert status == 0, f"the machine's test ended with {status}"
    told = vm_node.said(lines)
    assert "waited" not in told, f"what was waited for did not come: {told}"
    seen = {}
    for line in lines:
        if match := re.match(r"is (\S+) (\S+) ?(.*)$", line):
            seen.setdefault(match[1], {})[match[2]] = match[3]
    check(seen)
    assert told["cleanup"] == "0", told
    best, free = int(told["best"]) / 100, int(told["free"]) / 100
    print(f"{READ_MIB} MiB: {best} s of a best-effort container, {free} s of another one")
    assert best > READ_MIB * 0.7 and best > 2 * free, "the limit does not hold"
    print("block I/O in the virtual machine: passed")


if __name__ == "__main__":
    main()

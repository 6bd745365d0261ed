#!/usr/bin/env python3
"""In the virtual machine, on a disk that is slow: memory.high is written while the kernel has to write a group's page cache
away before the write returns. The agent's ticks go on meanwhile. First the bench, which makes the same write on the loop,
too: there a tick comes as late as the write takes. With --bench MIB ROUNDS nothing but the bench runs; its table is what
packaging/MEASURED.md has.
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

BENCH = os.environ.get("LATER_WRITES_BENCH", "build/tests/bench/later_writes_bench")
DISK = vm.Disk(256, 8)
# What a write takes at least, so that there is something to be late for. It is about 4 and 8 s at the disk's rate, less
# what the kernel wrote away before, which differs from run to run.
BENCH_MIB, BENCH_SECONDS = 40, 1.5  # 8 MiB stay
MIB, SECONDS = 72, 5.0
LATE = "4.096"  # seconds, a bucket of the metric: less than the write takes, and more than a busy host makes a tick late

DIRTY = """
mkdir -p /var/tmp
mke2fs /dev/nvme0n1 200000 >/dev/null
mount -t ext4 /dev/nvme0n1 /var/tmp || exit 1
# Nothing is written away before somebody wants the memory.
echo 0 >/proc/sys/vm/dirty_writeback_centisecs
echo 60 >/proc/sys/vm/dirty_background_ratio
echo 80 >/proc/sys/vm/dirty_ratio
/bench BENCH || exit 1
"""
SCRIPT = """
kubelet
sandbox
sh -c 'echo $$ >'$cg/GROUP'/cgroup.procs; exec dd if=/dev/zero of=/var/tmp/cache bs=1M count=MIB 2>/dev/null'
echo "see dirty=$(sed -n 's/^file_dirty //p' $cg/GROUP/memory.stat)"
agent &
until_ 30 '[ "$(cat $cg/GROUP/memory.high)" != max ]'
until_ 30 'metrics | grep -q "update_duration_milliseconds_sum.*success.*} [0-9]\\{4,\\}"'
echo "see high=$(cat $cg/GROUP/memory.high) left=$(cat $cg/GROUP/memory.current)"
metrics | grep -E '^koordlet_tick|update_duration_milliseconds_sum.*success'
tail -5 /tmp/agent.log
"""
POD = Pod("writer", "LS", container(requests={"cpu": "1", "memory": "4Mi"}, limits={"cpu": "2", "memory": "204Mi"}))
HIGH = (4 + 200 * 2 // 100) << 20


def files(folder):
    slo = vm_node.node_slo(resourceQOSStrategy={"lsClass": {"memoryQOS": {"enable": True, "throttlingPercent": 2}}})
    return {"bench": BENCH} | vm_node.write(folder, {
        "objects.json": vm_node.objects(vm_node.node(), slo),
        "www/pods/index.html": vm_node.pod_list([POD.manifest()])})


def check_bench(lines):
    rows = {match[1]: tuple(map(float, match.groups()[1:])) for match in
            (re.match(r"\| (on|off) the loop \| ([0-9.]+) \| ([0-9.]+) \|", line) for line in lines) if match}
    (write, late), (later_write, less_late) = rows["on"], rows["off"]
    assert min(write, later_write) > BENCH_SECONDS * 1000, f"the kernel does not take long: {rows}"
    assert late > 0.8 * write, f"the write does not stall the loop, so that the rest proves nothing: {rows}"
    assert less_late < 0.5 * later_write, f"a write that is made off the loop stalls it: {rows}"


def check_agent(lines, told):
    assert int(told["dirty"]) > (MIB - 8) << 20, "the page cache was written away before"
    assert int(told["high"]) == HIGH, f"memory.high is {told['high']}"
    values = {name: float(value) for name, value in (
        re.sub('{?node="[^"]*",?}?', "{", line).rsplit(" ", 1) for line in lines if line.startswith("koordlet_"))}
    took = next(value for name, value in values.items() if name.startswith("koordlet_resource_update")) / 1000
    ticks, in_time = (values[f"koordlet_tick_lateness_seconds_{name}"] for name in ("count{", f'bucket{{le="{LATE}"}}'))
    print(f"writes of {took:.1f} s; {ticks:.0f} ticks, of which {in_time:.0f} at most {LATE} s late")
    assert took > SECONDS, "the kernel did not reclaim for long"
    assert ticks == in_time and ticks > 2, "ticks were late while the kernel reclaimed"


def main():
    reason = vm.missing()
    if reason:
        skip(reason)
    skip_without_role()
    only_bench = sys.argv[1:2] == ["--bench"]
    bench = " ".join(sys.argv[2:]) if only_bench else f"{BENCH_MIB} 1"
    with tempfile.TemporaryDirectory(prefix="koord-reclaim-vm.") as folder:
        script = vm_node.setup("--feature-gates=BECPUSuppress=false,CgroupReconcile=true") + DIRTY.replace("BENCH", bench)
        if not only_bench:
            script += vm_node.make([POD]) + SCRIPT.replace("GROUP", POD.group_of(POD.containers[0])).replace("MIB", str(MIB))
        status, lines = vm.run(script, files(folder), seconds=400 if only_bench else 150, disk=DISK)
    assert status == 0, f"the machine's test ended with {status}"
    if only_bench:
        return
    told = vm_node.said(lines)
    assert "waited" not in told, f"what was waited for did not come: {told}"
    check_bench(lines)
    check_agent(lines, told)
    print("ticks while the kernel reclaims: passed")


if __name__ == "__main__":
    main()

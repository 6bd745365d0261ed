#!/usr/bin/env python3
"""In the virtual machine, on cgroup v2 without systemd and with no controller switched on: a best-effort slice with three
children. The agent switches on what it needs; memory eviction really kills the child that is largest, and of two slices the one
that is less important, and the others live. Slices and what patterns match come and go while it runs, and while it does not."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_node  # noqa: E402
from agent import skip_without_role  # noqa: E402
from janitor import skip  # noqa: E402

MIB = 1 << 20
# Name: MiB that it holds. "low" is of a class that goes first.
BATCH = {"large.service": 200, "small.service": 60, "tiny.service": 30}
LOW = 40

SCRIPT = """
cg=/sys/fs/cgroup
up() { cut -d' ' -f1 /proc/uptime; }
until_() { for i in $(seq $(($1 * 5))); do eval "$2" && return; usleep 200000; done; echo "see waited=$1 for=$2"; }
used() { awk '/MemTotal/{t=$2} /MemAvailable/{a=$2} END{print int((t-a)*100/t)}' /proc/meminfo; }
# dd keeps what it has read while nobody takes it.
hold() { mkdir -p $cg/$1; sh -c 'echo $$ >'$cg/$1/cgroup.procs"; dd if=/dev/zero bs=${2}M count=1 2>/dev/null | sleep 100000" & }
config() { # threshold and lower threshold of memory, in percent
  cat >/tmp/next.yaml <<END
nodeSLO:
  resourceUsedThresholdWithBE: {enable: true, memoryEvictThresholdPercent: $1, memoryEvictLowerPercent: $2}
groups:
- {name: batch, cgroupPath: batch.slice, qos: BE, priority: koord-batch}
- {name: low, cgroupPath: low.slice, qos: BE, priority: koord-free}
- {name: job, cgroupPath: 'jobs/job-*', qos: LS}
END
  mv /tmp/next.yaml /tmp/a.yaml
}
agent() {
  NODE_NAME=vm /koord --role=koordlet --standalone-config=/tmp/a.yaml --addr=127.0.0.1:9316 --tsdb-path=/tmp/metrics \\
    --audit-log-dir=/tmp/audit --memory-evict-cool-time-seconds=3 --feature-gates=BEMemoryEvict=true,AuditEvents=true "$@" >>/tmp/agent.log 2>&1
}
kill_agent() { kill -9 $(pidof koord); until_ 5 '! pidof koord >/dev/null'; }
in_() { [ -n "$(cat $cg/$1/cgroup.procs)" ]; }
get() { wget -q -O - http://127.0.0.1:9316/$1; }
ready() { get readyz >/dev/null 2>&1; }
pods() { get apis/v1/pods | tr ',' '\\n' | sed -n 's/.*"cgroup":"\\([^"]*\\)".*/\\1/p' | sort -u | tr '\\n' ' '; }
has() { until_ 10 "[ \\"\\$(pods)\\" = \\"$1 \\" ]"; echo "pods $(pods)"; }
alive() { for unit in batch.slice/large.service batch.slice/small.service batch.slice/tiny.service low.slice/low.service; do
  [ -d $cg/$unit ] && echo "alive $1 $unit $(wc -l <$cg/$unit/cgroup.procs)"; done; }
controllers() { echo "controllers $1 root=[$(cat $cg/cgroup.subtree_control)] slice=[$(cat $cg/batch.slice/cgroup.subtree_control)]"; }
absent() { get apis/v1/node | tr '{' '\\n' | sed -n 's/.*"no cgroup yet: \\([^"]*\\)".*/\\1/p'; }
for unit in large small tiny; do mkdir -p $cg/batch.slice/$unit.service; done
mkdir $cg/jobs $cg/jobs/other
config 99 98
controllers before
agent &
until_ 20 ready
controllers with
until_ 5 '[ "$(absent)" = "low (low.slice), job (jobs/job-*)" ]'
has "batch.slice/large.service batch.slice/small.service batch.slice/tiny.service low.slice"
hold batch.slice/large.service LARGE
hold batch.slice/small.service SMALL
hold batch.slice/tiny.service TINY
hold jobs/job-web 20
until_ 20 '[ $(cat $cg/batch.slice/memory.current) -gt HELD ] && in_ jobs/job-web'
until_ 5 '[ "$(absent)" = "low (low.slice)" ]'
sleep 3
alive before
config $(($(used) - 3)) $(($(used) - 12))
until_ 20 '! in_ batch.slice/large.service'
config 99 98
sleep 2
alive first
# While no agent runs: a slice comes, a unit goes, a pattern matches more.
kill_agent
rmdir $cg/batch.slice/large.service
mkdir -p $cg/low.slice/low.service
hold jobs/job-two 5
agent &
until_ 20 ready
has "batch.slice/small.service batch.slice/tiny.service jobs/job-two jobs/job-web low.slice/low.service"
until_ 10 '[ -e $cg/low.slice/low.service/memory.current ]'
hold low.slice/low.service LOW # before its controller came nobody would have counted it
until_ 20 '[ $(cat $cg/low.slice/low.service/memory.current) -gt 30000000 ]'
sleep 3
config $(($(used) - 1)) $(($(used) - 3))
until_ 20 '! in_ low.slice/low.service'
config 99 98
sleep 2
alive second
# While it runs: a slice goes and comes again.
rmdir $cg/low.slice/low.service $cg/low.slice
until_ 5 '[ "$(absent)" = "low (low.slice)" ]'
has "batch.slice/small.service batch.slice/tiny.service jobs/job-two jobs/job-web low.slice"
mkdir -p $cg/low.slice/again.service
has "batch.slice/small.service batch.slice/tiny.service jobs/job-two jobs/job-web low.slice/again.service"
until_ 5 '[ -z "$(absent)" ]'
kill_agent
agent &
until_ 20 ready
has "batch.slice/small.service batch.slice/tiny.service jobs/job-two jobs/job-web low.slice/again.service"
echo "see others=$(cat $cg/jobs/job-web/cgroup.procs $cg/jobs/job-two/cgroup.procs | wc -l)"
cat /tmp/audit/* | grep '"reason":"evicted"'
grep -c 'there is no such cgroup' /tmp/agent.log
tail -60 /tmp/agent.log
"""


def check_alive(lines):
    """How many processes each unit has, by moment."""
    seen = {}
    for line in lines:
        if line.startswith("alive "):
            _, moment, unit, count = line.split()
            seen.setdefault(moment, {})[unit.split("/")[1]] = int(count)
    everybody = dict.fromkeys(BATCH, 3)
    assert seen["before"] == everybody, seen
    assert seen["first"] == {**everybody, "large.service": 0}, f"the largest goes, and nobody else: {seen}"
    assert seen["second"] == {"small.service": 3, "tiny.service": 3, "low.service": 0}, f"the least important goes: {seen}"


def main():
    reason = vm.missing()
    if reason:
        skip(reason)
    skip_without_role()
    script = SCRIPT
    for name, value in (("LARGE", BATCH["large.service"]), ("SMALL", BATCH["small.service"]), ("TINY", BATCH["tiny.service"]),
                        ("HELD", sum(BATCH.values()) * MIB), ("LOW", LOW)):
        script = script.replace(name, str(value))
    with tempfile.TemporaryDirectory(prefix="koord-units-vm.") as folder:
        status, lines = vm.run(script, vm_node.write(folder, {}), seconds=200)
    assert status == 0, f"the machine's test ended with {status}"
    said = vm_node.said(lines)
    assert "waited" not in said, f"what was waited for did not come: {said}"
    before, after = (next(line for line in lines if line.startswith(f"controllers {moment} ")) for moment in ("before", "with"))
    assert before.endswith("root=[] slice=[]"), before
    root, units = (set(part.split("]")[0].split()) for part in after.split("[")[1:])
    assert {"cpu", "memory"} <= root and units == {"memory"}, after  # what limits is the slice's
    check_alive(lines)
    rows = [json.loads(line) for line in lines if line.startswith('{"createdAt"')]
    assert [row["name"] for row in rows] == ["batch/large.service", "low/low.service"], rows
    assert said["others"] == "6", "somebody of those that are protected died"
    print("units in the virtual machine: passed")


if __name__ == "__main__":
    main()

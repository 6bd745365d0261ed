#!/usr/bin/env python3
"""In the virtual machine, under the systemd of this host, which accounts no memory and weighs no CPU: the controllers of cgroup v2
are missing below its slices. The agent is not ready and names drop-ins; with these, word by word as it says, it is, and holds back.
Where systemd has delegated (Delegate=), it switches them on itself. Transient units need nothing of their own."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_systemd  # noqa: E402
from vm_node import said  # noqa: E402

CONFIG = """
nodeSLO:
  resourceUsedThresholdWithBE: {enable: true, cpuSuppressPolicy: cpuset, cpuSuppressThresholdPercent: 60}
  resourceQOSStrategy:
    beClass: {cpuQOS: {enable: true, groupIdentity: -1}}
groups:
- {name: web, cgroupPath: web.slice, qos: LS}
- {name: batch, cgroupPath: batch.slice, qos: BE, priority: koord-batch}
- {name: box, cgroupPath: 'box.slice/box.service/job*', qos: BE}
"""

SCRIPT = vm_systemd.SETUP + r"""
cg=/sys/fs/cgroup
until_() { for i in $(seq $(($1 * 5))); do eval "$2" && return; usleep 200000; done; echo "see waited=$1 for=$2"; }
show() { echo "controllers $1 $2 has=[$(cat $cg/$2/cgroup.controllers)] below=[$(cat $cg/$2/cgroup.subtree_control)]"; }
ready() { wget -q -O /dev/null http://127.0.0.1:9316/readyz 2>/dev/null; }
told() { grep 'lacks the cgroup controllers' /run/koord.log; }
settings() { # what the log says, as it says it
  told | sed -n 's/.*Write \([^ ]*\) with \(\[[A-Za-z]*\]\) \(.*\), then run systemctl daemon-reload.*/\1 \2 \3/p' | while read file section rest; do
    [ -e $file ] && continue
    mkdir -p ${file%/*}
    { echo $section; echo $rest | tr ' ' '\n'; } >$file
    chmod 644 $file
    echo "drop-in $file" $(cat $file)
  done
  ctl daemon-reload
}
printf '[Manager]\nDefaultMemoryAccounting=no\nDefaultTasksAccounting=no\n' >/etc/systemd/system.conf
service batch "while :; do :; done"
service web "sleep 100000"
cat >/bin/box <<'END'
#!/bin/sh
cd /sys/fs/cgroup/box.slice/box.service && mkdir main job1 || exit 1
echo $$ >main/cgroup.procs
sh -c 'echo $$ >job1/cgroup.procs; exec sleep 100000' &
exec sleep 100000
END
chmod 755 /bin/box
systemd_
start batch.service web.service
show before batch.slice
show before .
ctl start koordlet.service
until_ 20 told
wget -q -O /dev/null http://127.0.0.1:9316/livez && echo "see lives=yes"
ready && echo "see ready_without=yes"
run --slice=batch.slice --scope sleep 100000 &
run --slice=batch.slice sleep 100000
until_ 10 'told | grep -q "run-\*.service"'
until_ 10 'told | grep -q "run-\*.scope"'
settings
until_ 10 ready
show with batch.slice
show with batch.slice/batch.service
until_ 10 '[ "$(cat $cg/batch.slice/cpu.idle)" = 1 ]'
until_ 10 '[ "$(cat $cg/batch.slice/cpuset.cpus)" != 0-7 ]'
echo "see cpus=$(cat $cg/batch.slice/cpuset.cpus)"
# One more unit is no news.
count=$(told | wc -l)
run --slice=batch.slice sleep 100000
sleep 3
ready && echo "see ready_with=yes"
echo "see news=$(($(told | wc -l) - count))"
# What systemd writes when it looks at its files again is not the last word.
ctl daemon-reload
until_ 70 '[ "$(cat $cg/batch.slice/cpu.idle)" = 1 ] && [ "$(cat $cg/batch.slice/cpuset.cpus)" != 0-7 ]'
# What is delegated is not systemd's.
printf '[Unit]\nDefaultDependencies=no\n[Service]\nSlice=box.slice\nDelegate=yes\nExecStart=/bin/box\n' >/etc/systemd/system/box.service
chmod 644 /etc/systemd/system/box.service
ctl daemon-reload
ctl start box.service
until_ 10 '[ -n "$(cat $cg/box.slice/box.service/job1/cgroup.procs)" ]'
until_ 10 '[ "$(cat $cg/box.slice/box.service/job1/cpu.idle)" = 1 ]'
show delegated box.slice/box.service
show delegated box.slice/box.service/job1
until_ 10 ready
kill -9 $(pidof koord)
until_ 15 '! ready'
until_ 15 ready
ctl daemon-reload
sleep 2
show reloaded box.slice/box.service
ctl stop koordlet.service
echo "see idle_after=$(cat $cg/batch.slice/cpu.idle)"
cat /run/koord.log | tail -n 30
cat /run/systemd.log
"""


def main():
    vm_systemd.skip_without_needs()
    with tempfile.TemporaryDirectory(prefix="koord-controllers.") as folder:
        config = os.path.join(folder, "standalone.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        status, lines = vm.run(SCRIPT, vm_systemd.files(folder, config), seconds=240)
    assert status == 0, f"the machine's script ended with {status}"
    seen = said(lines)
    assert "waited" not in seen, f"what was waited for did not come: {seen}"
    rows = {(moment, group): (set(has.split()), set(below.split())) for moment, group, has, below in (
        re.fullmatch(r"controllers (\S+) (\S+) has=\[(.*)\] below=\[(.*)\]", line).groups()
        for line in lines if line.startswith("controllers "))}
    needs = {"cpu", "cpuset", "memory"}
    assert not needs & rows["before", "batch.slice"][0] and needs <= rows["before", "."][0], rows
    assert seen["lives"] == "yes" and "ready_without" not in seen, seen
    drop_ins = dict(line.split(" ", 2)[1:] for line in lines if line.startswith("drop-in "))
    units = "/etc/systemd/system/"
    assert drop_ins == {
        f"{units}batch.slice.d/koord.conf": "[Slice] CPUWeight=100 AllowedCPUs=0-7 MemoryAccounting=yes",
        f"{units}batch.service.d/koord.conf": "[Service] MemoryAccounting=yes",
        f"{units}run-.service.d/koord.conf": "[Service] MemoryAccounting=yes",
        f"{units}run-.scope.d/koord.conf": "[Scope] MemoryAccounting=yes"}, drop_ins
    assert needs <= rows["with", "batch.slice"][0] and "memory" in rows["with", "batch.slice/batch.service"][0], rows
    assert not any("Failed to set" in line for line in lines), "systemd could not do what the drop-ins say"
    assert seen["ready_with"] == "yes" and seen["news"] == "0", seen
    for moment in ("delegated", "reloaded"):
        assert needs <= rows[moment, "box.slice/box.service"][1], rows
    assert needs <= rows["delegated", "box.slice/box.service/job1"][0], rows
    assert seen["idle_after"] == "0", seen
    print("controllers in the virtual machine: passed")


if __name__ == "__main__":
    main()

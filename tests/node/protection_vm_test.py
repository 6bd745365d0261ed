#!/usr/bin/env python3
"""In the virtual machine: cgroup v2, two sockets and NUMA nodes, policy cpuset. BE burns all CPUs; LS comes, the agent is
killed and comes back, LS goes. What BE may run on is whole cores, taken in turn from the nodes."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
from agent import KOORD, TREE, skip_without_role  # noqa: E402
from janitor import skip  # noqa: E402

CPUS, NODES, PERCENT = 8, ((0, 1, 2, 3), (4, 5, 6, 7)), 60
LS_CPUS = 2

SCRIPT = """
cg=/sys/fs/cgroup
echo "+cpu +cpuset +memory" >$cg/cgroup.subtree_control || exit 1
mkdir $cg/web.slice $cg/batch.slice
echo "+cpu +cpuset +memory" >$cg/batch.slice/cgroup.subtree_control
mkdir $cg/batch.slice/job
burn() { for i in $(seq $2); do sh -c 'echo $$ >'$cg/$1'/cgroup.procs; while :; do :; done' & done; }
usage() { sed -n 's/^usage_usec //p' $cg/$1/cpu.stat; }
watch() { # PHASE SECONDS
  for i in $(seq $2); do
    sleep 1
    echo "see phase=$1 time=$(cut -d' ' -f1 /proc/uptime) cpus=$(cat $cg/batch.slice/cpuset.cpus.effective)" \\
      "job=$(cat $cg/batch.slice/job/cpuset.cpus.effective) be=$(usage batch.slice) ls=$(usage web.slice)"
  done
}
agent() { agent_mode=hostMode /koord --role=koordlet --standalone-config=/standalone.yaml --addr=127.0.0.1:9316 \\
  --tsdb-path=/tmp/metrics --audit-log-dir=/tmp/audit "$@" >>/tmp/agent.log 2>&1; }
burn batch.slice/job 8
agent & first=$!
watch idle 14
burn web.slice 2
watch busy 12
kill -9 $(pidof koord)
watch dead 4
agent &
watch back 8
for pid in $(cat $cg/web.slice/cgroup.procs); do kill -9 $pid; done
watch free 14
kill -9 $(pidof koord)
agent --cleanup; echo "see cleanup=$? cpus=$(cat $cg/batch.slice/cpuset.cpus.effective)"
cat /tmp/agent.log | tail -40
"""


def cpu_list(text):
    cpus = []
    for part in text.split(",") if text else []:
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def check_placement(cpus):
    """Whole cores, at most one thread alone, the nodes in turn."""
    alone = [cpu for cpu in cpus if cpu ^ 1 not in cpus]
    assert len(alone) == len(cpus) % 2, f"{cpus}: threads of one core are torn apart"
    shares = [sum(cpu in node for cpu in cpus) for node in NODES]
    assert max(shares) - min(shares) <= 2, f"{cpus}: the NUMA nodes do not take turns"


class Phase:
    def __init__(self, lines):
        self.rows = [dict(word.split("=", 1) for word in line.split()[1:]) for line in lines]
        self.sets = [cpu_list(row["cpus"]) for row in self.rows]

    def rate(self, who):
        """CPUs in use over the second half."""
        half = self.rows[len(self.rows) // 2:]
        return ((int(half[-1][who]) - int(half[0][who])) / 1e6) / (float(half[-1]["time"]) - float(half[0]["time"]))

    @property
    def last(self):
        return self.sets[-1]

    def __str__(self):
        return f"BE on {len(self.last)} CPUs {self.last}, uses {self.rate('be'):.2f}, LS {self.rate('ls'):.2f}"


def main():
    reason = vm.missing()
    if reason:
        skip(reason)
    skip_without_role()
    with open(os.path.join(TREE, "packaging", "standalone.example.yaml"), encoding="utf-8") as file:
        text = file.read()
    assert "cpuSuppressPolicy: cfsQuota" in text
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(text.replace("cpuSuppressPolicy: cfsQuota", "cpuSuppressPolicy: cpuset"))
        config.flush()
        status, lines = vm.run(SCRIPT, {"koord": KOORD, "standalone.yaml": config.name}, seconds=200)
    assert status == 0, f"the machine's test ended with {status}"
    phases = {name: Phase([line for line in lines if line.startswith(f"see phase={name} ")])
              for name in ("idle", "busy", "dead", "back", "free")}
    for name, phase in phases.items():
        print(f"{name}: {phase}", flush=True)
        for row in phase.rows:
            assert row["job"] == row["cpus"], f"{name}: the job's CPUs {row['job']} are not the tier's {row['cpus']}"
    idle, busy, dead, back, free = phases.values()
    wanted = CPUS * PERCENT / 100
    assert wanted - 1 <= len(idle.last) <= wanted + 1, "without LS load BE has not what the threshold leaves"
    for cpus in idle.sets[-3:] + busy.sets[-3:] + free.sets[-3:]:
        check_placement(cpus)
    assert len(busy.last) <= len(idle.last) - LS_CPUS + 1, "BE's CPUs did not shrink"
    assert busy.rate("be") < idle.rate("be") - 0.7, "BE's true CPU time did not shrink"
    assert busy.rate("be") <= len(busy.last) * 1.1 and busy.rate("ls") > 0.8 * LS_CPUS
    assert all(cpus == busy.last for cpus in dead.sets), "without the agent BE's CPUs do not hold"
    assert max(map(len, back.sets)) <= len(busy.last) + 1, "the restart let BE loose"
    assert len(free.last) >= len(idle.last) - 1 and free.rate("be") > 0.7 * idle.rate("be"), "BE did not recover"
    for before, after in zip(free.sets, free.sets[1:]):
        assert len(after) - len(before) <= 2, "BE grew by more than a tenth of the machine at a time"
    assert f"see cleanup=0 cpus=0-{CPUS - 1}" in lines, "--cleanup did not give BE all CPUs back"
    print("protection in the virtual machine: passed")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""In the virtual machine: cgroup v2, two sockets and NUMA nodes, policy cpuset. BE burns all CPUs; LS comes, the agent is
killed and comes back, a CPU of BE's is taken out and comes back, LS goes. What BE may run on is whole cores, taken in turn
from the nodes."""
import collections
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
      "set=$(cat $cg/batch.slice/cpuset.cpus) job=$(cat $cg/batch.slice/job/cpuset.cpus.effective) be=$(usage batch.slice) ls=$(usage web.slice)"
  done
}
agent() { agent_mode=hostMode /koord --role=koordlet --standalone-config=/standalone.yaml --addr=127.0.0.1:9316 \\
  --tsdb-path=/tmp/metrics --audit-log-dir=/tmp/audit --collect-node-cpu-info-interval=1s "$@" >>/tmp/agent.log 2>&1; }
burn batch.slice/job 8
agent & first=$!
watch idle 10
burn web.slice 2
watch busy 9
kill -9 $(pidof koord)
watch dead 3
agent &
watch back 6
taken=$(sed 's/[-,].*//' $cg/batch.slice/cpuset.cpus)
[ $taken -gt 0 ] || taken=$(sed 's/.*[-,]//' $cg/batch.slice/cpuset.cpus)  # the first one cannot be taken out
echo 0 >/sys/devices/system/cpu/cpu$taken/online; echo "see taken=$taken online=$(cat /sys/devices/system/cpu/online)"
watch less 12
echo 1 >/sys/devices/system/cpu/cpu$taken/online; echo "see online=$(cat /sys/devices/system/cpu/online)"
for pid in $(cat $cg/web.slice/cgroup.procs); do kill -9 $pid; done
watch free 12
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
        # A row may fall between two writes of one change: what was seen most often in the second half counts.
        half = self.rows[len(self.rows) // 2:]
        text = collections.Counter(row["cpus"] for row in half).most_common(1)[0][0]
        self.settled = cpu_list(text)
        assert sum(row["job"] == row["cpus"] for row in half) > len(half) / 2, "the job's CPUs are not the tier's"

    def rate(self, who):
        """CPUs in use over the second half."""
        half = self.rows[len(self.rows) // 2:]
        return ((int(half[-1][who]) - int(half[0][who])) / 1e6) / (float(half[-1]["time"]) - float(half[0]["time"]))

    def __str__(self):
        return f"BE on {len(self.settled)} CPUs {self.settled}, uses {self.rate('be'):.2f}, LS {self.rate('ls'):.2f}"


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
              for name in ("idle", "busy", "dead", "back", "less", "free")}
    taken = int(next(line for line in lines if line.startswith("see taken=")).split()[1].split("=")[1])
    for name, phase in phases.items():
        print(f"{name}: {phase}", flush=True)
        if name != "less":
            check_placement(phase.settled)
    idle, busy, dead, back, less, free = phases.values()
    wanted = CPUS * PERCENT / 100
    assert wanted - 1 <= len(idle.settled) <= wanted + 1, "without LS load BE has not what the threshold leaves"
    assert 2 <= len(busy.settled) <= len(idle.settled) - LS_CPUS + 1, "BE's CPUs did not shrink"
    assert busy.rate("be") < idle.rate("be") - 0.7, "BE's true CPU time did not shrink"
    assert busy.rate("be") <= len(busy.settled) + 0.7 and busy.rate("ls") > 0.8 * LS_CPUS, "LS does not get its CPUs"
    assert all(cpus == dead.settled for cpus in dead.sets), "without the agent BE's CPUs do not hold"
    assert max(map(len, dead.sets + back.sets)) <= len(busy.settled) + 1, "the restart let BE loose"
    assert taken in back.settled and taken not in less.settled, "no CPU of BE's was taken out"
    assert taken not in cpu_list(less.rows[-1]["set"]), "BE is still given a CPU that is not there"
    assert abs(len(less.settled) - len(back.settled)) <= 1, "BE did not get another CPU for the one that is gone"
    assert max(map(len, less.sets)) <= len(busy.settled) + 1, "a CPU that goes let BE loose"
    assert "cannot write a cgroup file" not in "\n".join(lines), "the kernel refused something"
    assert len(free.settled) >= len(idle.settled) - 1, "BE did not get its CPUs back"
    assert free.rate("be") > 0.7 * idle.rate("be"), "BE's true CPU time did not recover"
    for before, after in zip(free.sets, free.sets[1:]):
        assert len(after) - len(before) <= 2, "BE grew by more than a tenth of the machine at a time"
    assert f"see cleanup=0 cpus=0-{CPUS - 1}" in lines, "--cleanup did not give BE all CPUs back"
    print("protection in the virtual machine: passed")


if __name__ == "__main__":
    main()

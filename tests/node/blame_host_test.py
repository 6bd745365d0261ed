#!/usr/bin/env python3
"""Who makes latency-sensitive work wait, as the agent tells it on this kernel: a service of two threads pinned to one CPU,
without and with best-effort work beside it. /apis/v1/node and metrics against the kernel's own books."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host_tree  # noqa: E402
from agent import wait_for  # noqa: E402
from host_stage import stage  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import skip  # noqa: E402

CONFIG = """nodeSLO: {{}}
groups:
- {{name: web, cgroupPath: {web}, qos: LS}}
- {{name: batch, cgroupPath: {batch}, qos: BE, priority: koord-batch}}
"""
WINDOW = 5  # seconds


def waited_seconds(processes):
    total = 0
    for process in processes:
        with open(f"/proc/{process.pid}/schedstat", encoding="utf-8") as file:
            total += int(file.read().split()[1])
    return total / 1e9


def by_runner(agent, tier="LS"):
    """Seconds that the tier waited so far, by who ran."""
    found = {}
    for line in agent.get("/metrics").splitlines():
        if line.startswith("koordlet_cpu_wait_seconds_total{") and f'tier="{tier}"' in line:
            labels, value = line.rsplit(" ", 1)
            found[labels.split('runner="')[1].split('"')[0]] = float(value)
    return found


def window(agent, web):
    """What the books and the agent say of a while; the agent's last reading may be a second old on either side."""
    books, before = waited_seconds(web), by_runner(agent)
    time.sleep(WINDOW)
    waited, after = waited_seconds(web) - books, by_runner(agent)
    parts = {runner: after[runner] - before[runner] for runner in after}
    print(f"waited {waited:.2f} s by schedstat:", {name: round(part, 2) for name, part in parts.items()}, flush=True)
    assert abs(sum(parts.values()) - waited) < 0.3 * waited, "the parts are not what was waited"
    return parts


def main():
    with stage("web", "batch", "batch/nested") as host:
        web, batch, nested = host.groups
        agent = host.agent("agent", CONFIG.format(web=web, batch=batch), "--feature-gates=BECPUBlame=true")
        agent.start_and_wait()
        collectors = {one["name"]: one for one in json.loads(agent.get("/apis/v1/node"))["collectors"]}
        if not collectors["wait_blame"]["works"]:
            skip(f"no eBPF: {collectors['wait_blame'].get('reason')}")
        for name in ("direct_reclaim", "block_io_latency", "oom_kills"):
            state = collectors[name]
            print(f"{name}: {'measured' if state['works'] else state['reason']}", flush=True)
        cpu = min(os.sched_getaffinity(0))
        service = host.tree.burn(web, 2)
        for process in service:
            os.sched_setaffinity(process.pid, {cpu})

        def fit():
            blame = json.loads(agent.get("/apis/v1/node")).get("blame", {})
            return blame.get("fit") and blame["waits"] > 0 and blame

        wait_for("a reading that may be acted on", fit, 20)
        used = Group(web).cpu_seconds()
        own = window(agent, service)
        used = Group(web).cpu_seconds() - used
        assert own["BE"] < 0.02 * sum(own.values()), "best-effort work is blamed that does not run"
        print(f"the service ran {used:.2f} s: {own['LS'] / used:.2f} s of waiting for itself a second")
        assert 0.8 * used < own["LS"] < 1.2 * used, "while one of the service's two ran the other one waited"

        # In a cgroup below the group that has the class.
        spinner, = host.tree.burn(nested, 1)
        os.sched_setaffinity(spinner.pid, {cpu})
        Group(batch).write("cpu", "cpu.weight" if host_tree.is_v2() else "cpu.shares", 100 if host_tree.is_v2() else 1024)
        time.sleep(2)
        used = Group(batch).cpu_seconds()
        crowded = window(agent, service)
        used = Group(batch).cpu_seconds() - used
        # Both of the service could run all the time: each waits whenever best-effort work runs, one more always.
        print(f"best-effort work ran {used:.2f} s: {crowded['BE'] / used:.2f} s of waiting a second")
        assert 1.6 * used < crowded["BE"] < 2.4 * used, "what best-effort work ran is not what the service waited for it"
        blame = wait_for("a reading", fit, 10)
        assert blame["bestEffortP99Microseconds"] > 0
        pods = {pod["name"]: pod for pod in json.loads(agent.get("/apis/v1/pods"))["pods"]}
        # A best-effort slice whose processes are all in cgroups below it is shown by these.
        batch_pods = [pod for name, pod in pods.items() if name == "batch" or name.startswith("batch/")]
        assert pods["web"]["bestEffortWaitSeconds"] > 0 and batch_pods, pods
        assert all("bestEffortWaitSeconds" not in pod for pod in batch_pods), pods
        assert agent.stop() == 0, agent.log_tail()
    print("blame on this host: passed")


if __name__ == "__main__":
    main()

"""The descheduler beside koord-descheduler on one real kube-apiserver, one after the other: CPU time a pass of LowNodeLoad and memory,
in a steady state and a dry run, so that each pass is the same. Run by tests/bench/descheduler inside with-cluster, where KOORDINATOR_BIN
has the original.

A tenth of the nodes use 80% to 90% of their CPU, nine tenths 20% to 40%; pods run, are of ReplicaSets of 50, and what they use is
reported. The configuration is the chart's, with LowNodeLoad enabled and each node that uses too much looked at in each pass. CPU is
the process's own from one pass to another, PASSES later (fewer, where they take minutes), divided by their number: what it does in
between counts. Memory is what is resident then, and the most that ever was.
usage: descheduler_api.py [NODES [PODS OF A NODE [PASSES]]] (500, 20, 15: minutes, most of them the original's)
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "kube"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))
import kube_api  # noqa: E402
import measure  # noqa: E402
import original_descheduler  # noqa: E402
import reservations  # noqa: E402
from descheduler_world import World, amounts  # noqa: E402
from deschedulers import ENDS, Descheduler, configuration, plugin  # noqa: E402

GI = 1 << 30
NODE_CPU, NODE_MEMORY, WORKLOAD = 32000, 128 * GI, 50
INTERVAL, WARM_PASSES, LIMIT_SECONDS, MEASURED_SECONDS = "2s", 2, 900, 120
ARGS = {"lowThresholds": {"cpu": 45, "memory": 55}, "highThresholds": {"cpu": 75, "memory": 80},
        "anomalyCondition": {"timeout": "1m", "consecutiveAbnormalities": 1, "consecutiveNormalities": 1},
        "nodeMetricExpirationSeconds": 100000}
EVICTOR = {"evictQPS": "10", "evictBurst": 1, "schedulerNames": ["default-scheduler"]}


def world(nodes, pods):
    made = World()
    for i in range(nodes):
        name, hot = f"node-{i:04}", i % 10 == 0
        made.node(name, NODE_CPU, NODE_MEMORY, labels={"zone": f"zone-{i % 3}", "pool": "general"})
        percent = 80 + i % 11 if hot else 20 + i % 21
        made.system[name] = amounts(500, GI)
        for j in range(pods):
            number = i * pods + j
            used = (NODE_CPU * percent // 100 - 500) // pods + j
            made.pod(f"app-{number // WORKLOAD}-{number % WORKLOAD:04}", name, amounts(600, 2 * GI), owner=f"app-{number // WORKLOAD}",
                     labels={"app": f"app-{number // WORKLOAD}", "tier": "web", "koordinator.sh/qosClass": "LS"},
                     usage=amounts(used, GI + j), status=running(), container={
                         "env": [{"name": f"VARIABLE_{k}", "value": "x" * 40} for k in range(10)],
                         "resources": {"requests": amounts(600, 2 * GI), "limits": amounts(1200, 4 * GI)}})
    return made


def running():
    return {"podIP": "10.0.0.1", "hostIP": "10.0.0.2", "containerStatuses": [
        {"name": "main", "image": "none", "imageID": "none@sha256:" + "0" * 64, "containerID": "containerd://" + "1" * 64, "ready": True,
         "restartCount": 0, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}


def memory(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name + ":"))


def cost(side, kubeconfig, passes):
    config = configuration(kubeconfig, plugin("LowNodeLoad", "balance", **ARGS), evictor="MigrationController", evictor_args=EVICTOR,
                           interval=INTERVAL)
    with Descheduler(side, config) as process:
        pid = process.child.pid

        def until(least, most, seconds):
            """How many passes have been made: `most`, or fewer where these take long."""
            start = time.monotonic()
            while (now := process.output().count(ENDS[side])) < most:
                process.alive()
                late = time.monotonic() - start
                assert late < LIMIT_SECONDS, f"{side} has made {now} passes of {least} in {LIMIT_SECONDS} s"
                if now >= least and late > seconds:
                    break
                time.sleep(0.05)
            return now
        first, before = until(WARM_PASSES, WARM_PASSES, 0), measure.cpu_seconds(pid)
        last, after = until(first + 1, first + passes, MEASURED_SECONDS), measure.cpu_seconds(pid)
        chosen = len(process.passes(1)[0])
        return 1e3 * (after - before) / (last - first), memory(pid, "VmRSS"), memory(pid, "VmHWM"), last - first, chosen


def main():
    nodes, pods, passes = (int(word) for word in [*sys.argv[1:], *["500", "20", "15"][len(sys.argv) - 1:]])
    kubeconfig = os.environ["KOORD_KUBE_KUBECONFIG"]
    reservations.install(kubeconfig, original_descheduler.CRDS)
    start = time.monotonic()
    world(nodes, pods).install(kube_api.Api(kubeconfig))
    print(f"{nodes} nodes, {nodes * pods} pods, made in {time.monotonic() - start:.0f} s; a pass every {INTERVAL}, {passes} measured")
    found = {side: cost(side, kubeconfig, passes) for side in ("koord", "original")}
    rows = [(side, f"{cpu:.0f}", f"{now:.0f}", f"{most:.0f}", *counts) for side, (cpu, now, most, *counts) in found.items()]
    ratios = [theirs / ours for theirs, ours in list(zip(found["original"], found["koord"]))[:3]]
    rows.append(("the original's, times koord's", *(f"{ratio:.1f}" for ratio in ratios), "-", "-"))
    measure.print_table(("", "CPU ms a pass", "resident MiB", "at most, MiB", "passes", "pods chosen"), rows)


if __name__ == "__main__":
    sys.exit(main())

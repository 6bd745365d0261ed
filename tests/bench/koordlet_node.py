#!/usr/bin/env python3
"""The whole node agent on a real node of 100 pods with 200 containers: CPU, memory, calls and children of its process in
a minute. Beside it the original, where KOORDINATOR_BIN names the folder that has it; they run one after the other.

usage: koordlet_node.py [--everything]     with every gate on that both have and that changes nothing of the machine itself,
                                           and a NodeSLO that asks for all of it
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "node"))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from agent import Agent, wait_for  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import SLO, make_objects, node_metric  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

PODS, CONTAINERS = 100, 200
SETTLE_SECONDS, SECONDS = 30, 60
IDLE = "sleep 1000000"

# SystemConfig sets the machine's own reclaim, TCNetworkQoS its network's queues: this machine is others', too. With PodResourcesProxy
# the original ends where the kubelet's socket is not at its usual place.
EVERYTHING = ("--feature-gates=AllAlpha=true,AllBeta=true,SystemConfig=false,TCNetworkQoS=false,PodResourcesProxy=false",
              "--enable-resctrl-collector=true", "--enable-pagecache-collector=true")


def whole_slo(node):
    """All that a NodeSLO can ask for and that a node of sleepers has nothing to suffer from: nobody has to go."""
    with open(f"/sys/dev/block/{os.major(os.stat(node.dir).st_dev)}:{os.minor(os.stat(node.dir).st_dev)}/uevent", encoding="utf-8") as file:
        disk = next(line.partition("=")[2].strip() for line in file if line.startswith("DEVNAME="))

    def of_class(identity, end, percent, **more):
        return {"cpuQOS": {"enable": True, "groupIdentity": identity, "schedIdle": 1 if identity < 0 else 0},
                "memoryQOS": {"enable": True, "minLimitPercent": 20, "lowLimitPercent": 50, "throttlingPercent": 80},
                "resctrlQOS": {"enable": True, "catRangeStartPercent": 0, "catRangeEndPercent": end, "mbaPercent": percent}, **more}

    io = {"enable": True, "blocks": [{"name": f"/dev/{disk}", "type": "device", "ioCfg": {"readBPS": 1 << 40, "writeBPS": 1 << 40}}]}
    return {"resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 65,
                                            "memoryEvictThresholdPercent": 95, "cpuEvictBESatisfactionLowerPercent": 10,
                                            "cpuEvictBESatisfactionUpperPercent": 20, "cpuEvictBEUsageThresholdPercent": 90},
            "cpuBurstStrategy": {"policy": "auto", "cpuBurstPercent": 1000, "cfsQuotaBurstPercent": 300, "cfsQuotaBurstPeriodSeconds": -1},
            "resourceQOSStrategy": {"policies": {"cpuPolicy": "groupIdentity"}, "lsrClass": of_class(2, 100, 100),
                                    "lsClass": of_class(2, 100, 100), "beClass": of_class(-1, 30, 100, blkioQOS=io)},
            "extensions": {"cpuBlame": {"enable": True, "targetMicroseconds": 500, "quota": True}}}


def make_pods(node):
    names = []
    for number in range(PODS):
        pod = node.pod(f"pod-{number}", IDLE, *(("LS", 10), ("BE", 0))[number % 2])  # nobody offers batch-cpu here
        main = pod["spec"]["containers"][0]
        pod["spec"]["containers"].append({**main, "name": "side"})
        node.apply(pod)
        names.append(pod["metadata"]["name"])
    node.wait_running(*names, seconds=300)


def stat(pid):
    """CPU ms of the process, minor faults of its children that have ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    tick = 1000 / os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) * tick, int(fields[8])


def figures(pid, file, separator):
    with open(f"/proc/{pid}/{file}", encoding="utf-8") as lines:
        return {key: value.split()[0] for key, _, value in (line.partition(separator) for line in lines) if value.strip()}


def measure(agent, reported):
    agent.start()
    wait_for("a report", reported, 180)
    time.sleep(SETTLE_SECONDS)
    pid = agent.process.pid
    (cpu, children), io = stat(pid), figures(pid, "io", ":")
    time.sleep(SECONDS)
    (cpu_after, children_after), io_after = stat(pid), figures(pid, "io", ":")
    calls = sum(int(io_after[name]) - int(io[name]) for name in ("syscr", "syscw"))
    status = figures(pid, "status", ":")
    agent.kill()
    return {"cpu": (cpu_after - cpu) / SECONDS, "calls": calls / SECONDS, "rss": int(status["VmRSS"]) / 1024,
            "peak": int(status["VmHWM"]) / 1024, "children": children_after > children, "threads": status["Threads"]}


def row(name, seen):
    return (f"| {name} | {seen['cpu'] * 1000 / CONTAINERS:.0f} | {seen['cpu']:.1f} | {seen['calls']:.0f} | {seen['threads']} "
            f"| {'yes' if seen['children'] else 'none'} | {seen['rss']:.0f} | {seen['peak']:.0f} |")


def main():
    everything = sys.argv[1:] == ["--everything"]
    if sys.argv[1:] and not everything:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    reason = missing()
    if reason:
        skip(reason)
    with Unchanged(), RealNode() as node:
        make_objects(node)
        more = ()
        if everything:
            node.api.connect().request("PATCH", f"{SLO}/nodeslos/{node.name}", {"spec": whole_slo(node)}, "application/merge-patch+json")
            more = (*EVERYTHING, f"--xpu-device-infos-dir={node.dir}/xpus")
        os.makedirs(os.path.join(node.dir, "var-run"))
        make_pods(node)

        def all_reported():
            before = node_metric(node).get("updateTime")
            return lambda: (lambda status: status.get("updateTime") != before
                            and len(status.get("podsMetric", [])) == PODS)(node_metric(node))

        rows = []
        if os.access(ORIGINAL, os.X_OK):
            original = Original(node, free_port())
            original.command += [flag.replace("--", "-", 1) for flag in more]
            rows.append(("the original", measure(original, all_reported())))
        agent = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                      f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run",
                      *more, env={"NODE_NAME": node.name})
        rows.append(("koord", measure(agent, all_reported())))
    print(f"A real node, {PODS} pods, {CONTAINERS} containers, sampled and reported for {SECONDS} s, the whole process"
          f"{', every gate on' if everything else ''}:\n")
    print("| | us CPU a container-sample | ms CPU a second | reads and writes a second | threads | children | RSS MiB | peak MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for name, seen in rows:
        print(row(name, seen))
    if len(rows) == 1:
        print("The original is not beside it: KOORDINATOR_BIN is not set.")
    else:
        (_, theirs), (_, ours) = rows
        print(f"Ratios: CPU {theirs['cpu'] / max(ours['cpu'], 0.01):.0f}, memory {theirs['rss'] / ours['rss']:.1f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Memory eviction on a real node by an agent in a cgroup namespace of its own, below the kubelet's folders as a DaemonSet's pod is:
/proc does not name the pods' groups there. The best-effort pod's processes die, and it is said to be evicted; nobody else."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from evict_host_test import USED_PERCENT, hold_memory, memory  # noqa: E402
from host_tree import Group, HostTree  # noqa: E402
from janitor import Unchanged, hierarchies, skip  # noqa: E402
from node_slo import SLO, make_objects  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

OWN = "kubepods/burstable/agent-of-the-test"
TIERS = {"victim": ("BE", "besteffort"), "spared": ("LS", "burstable")}


def process_of(pod, tier):
    """The first process of the pod's container."""
    container = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    return int(Group(f"kubepods/{tier}/pod{pod['metadata']['uid']}/{container}").read("memory", "cgroup.procs").split()[0])


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def prove(node):
    make_objects(node)
    for name, (qos, _) in TIERS.items():
        node.apply(node.pod(name, "dd if=/dev/zero bs=24M count=1 | sleep 100000", qos, 0 if qos == "BE" else 100))
    pods = node.wait_running(*TIERS)
    pids = {name: process_of(pods[name], tier) for name, (_, tier) in TIERS.items()}
    total, used = memory()
    missing_kib = total * USED_PERCENT // 100 - used
    if missing_kib > 0:
        hold_memory(node.janitor, missing_kib)
    total, used = memory()
    for hierarchy in hierarchies():
        if os.path.isdir(os.path.join(hierarchy, "kubepods", "burstable")):
            os.makedirs(os.path.join(hierarchy, OWN), exist_ok=True)
    HostTree.inherit_cpuset(OWN)
    agent = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                  f"--var-lib-kubelet-dir={node.kubelet_root}/", "--feature-gates=BECPUSuppress=false,BEMemoryEvict=true",
                  "--memory-evict-cool-time-seconds=300", env={"NODE_NAME": node.name})
    agent.in_namespace(OWN)
    agent.start_and_wait()
    for name, (_, tier) in TIERS.items():
        assert f"kubepods/{tier}" not in agent.sees(pids[name]), "the agent's namespace shows the groups' names"
        assert lives(pids[name]), f"{name} ended before it was time"
    node.patch(f"{SLO}/nodeslos/{node.name}", {"spec": {"resourceUsedThresholdWithBE": {
        "enable": True, "memoryEvictThresholdPercent": used * 50 // total}}})
    wait_for("the pod's processes die", lambda: not lives(pids["victim"]), 60)
    wait_for("it is told", lambda: agent.said('msg="a pod was evicted"'), 20)
    time.sleep(3)  # longer than another round takes
    assert agent.said('msg="a pod was evicted" pod=default/victim') == agent.said('msg="a pod was evicted"') == 1, agent.log_tail()
    assert lives(pids["spared"]), "somebody else died"
    agent.kill()


def main():
    reason = missing()
    if reason:
        skip(reason)
    skip_without_role()
    with Unchanged(), RealNode() as node:
        prove(node)
    print("eviction on a real node: passed")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""NodeResourceTopology of a real node whose kubelet gives CPUs out (the static policy): what is on the API server is what the
kubelet's checkpoint and pods say. Where KOORDINATOR_BIN names the original's programs, what that one writes, word by word."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import make_objects  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

import kube_api  # noqa: E402 (real_node has put support/ on the path)

STATIC = {"cpuManagerPolicy": "static", "cpuManagerPolicyOptions": {"full-pcpus-only": "false"}, "kubeReserved": {"cpu": "200m"},
          "topologyManagerPolicy": "best-effort", "topologyManagerScope": "pod"}
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
DOMAIN = "node.koordinator.sh/"
RESERVATION = {f"{DOMAIN}reservation": '{"resources":{"cpu":"100m","memory":"1024Mi"},"applyPolicy":"ReservedCPUsOnly"}',
               f"{DOMAIN}system-qos-resource": '{"cpuset":"0","cpusetExclusive":false}'}
NUMA = f"{DOMAIN}enable-numa-reservation"


def topology(node):
    try:
        return node.get(f"{TOPOLOGIES}/{node.name}")
    except kube_api.ApiError as error:
        assert error.status in (404, 429), error
        return None


def parts(found):
    """What is compared, by name."""
    meta = found["metadata"]
    return {**meta["annotations"], "labels": meta["labels"], "owners": meta["ownerReferences"],
            "policies": found["topologyPolicies"], "zones": found["zones"]}


def say(node, annotations, label):
    node.patch(f"/api/v1/nodes/{node.name}", {"metadata": {"annotations": annotations, "labels": {NUMA: label}}})


def observe(node, agent):
    """Its words as the node is, and once the operator has said more. Nothing is left of it."""
    agent.start()

    def whole():
        assert agent.process.poll() is None, agent.log_tail()
        found = topology(node)
        return found and (found["metadata"].get("annotations") or {}).get(f"{DOMAIN}cpu-shared-pools") and found

    try:
        first = parts(wait_for("a topology", whole, 60))
        say(node, RESERVATION, "true")
        wait_for("what the operator says", lambda: NUMA in topology(node)["metadata"]["labels"], 60)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{agent.log_tail()}") from None
    second = parts(topology(node))
    agent.kill()
    say(node, dict.fromkeys(RESERVATION), None)
    node.api.connect().request("DELETE", f"{TOPOLOGIES}/{node.name}")
    return first, second


def check(node, exact, first, second):
    with open(os.path.join(node.kubelet_root, "cpu_manager_state"), encoding="utf-8") as file:
        given = json.load(file)["entries"][exact["metadata"]["uid"]]["main"]
    assert json.loads(first[f"{DOMAIN}pod-cpu-allocs"]) == [{
        "namespace": "default", "name": "exact", "uid": exact["metadata"]["uid"], "cpuset": given, "managedByKubelet": True}]
    policy = json.loads(first["kubelet.koordinator.sh/cpu-manager-policy"])
    assert policy == {"policy": "static", "options": {"full-pcpus-only": "false"}, "reservedCPUs": "0"}, policy
    assert first["policies"] == ["BestEffortPodLevel"], first["policies"]
    cpus = [cpu["id"] for cpu in json.loads(first[f"{DOMAIN}cpu-topology"])["detail"]]
    assert len(cpus) == int(node.get(f"/api/v1/nodes/{node.name}")["status"]["capacity"]["cpu"]), cpus
    for kind in ("cpu", "be-cpu"):
        pools = ",".join(pool.get("cpuset", "") for pool in json.loads(first[f"{DOMAIN}{kind}-shared-pools"]))
        assert given not in pools.split(","), pools
    assert json.loads(second[f"{DOMAIN}reservation"])["reservedCPUs"] == "0", second
    assert second["labels"][NUMA] == "true"


def main():
    reason = missing()
    if reason:
        skip(reason)
    if len(os.sched_getaffinity(0)) < 2:
        skip("the kubelet gives out no CPU of a machine that has one")
    skip_without_role()
    with Unchanged(), RealNode(**STATIC) as node:
        make_objects(node)
        os.makedirs(os.path.join(node.dir, "var-run"))
        exact = node.pod("exact", "sleep 100000")
        del exact["metadata"]["labels"]["koordinator.sh/qosClass"]
        amounts = {"cpu": "1", "memory": "64Mi"}
        exact["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
        node.apply(exact, node.pod("pinned", "sleep 100000", "LSR", annotations={
            "scheduling.koordinator.sh/resource-status": '{"cpuset":"0"}'}))
        pods = node.wait_running("exact", "pinned")
        theirs = observe(node, Original(node, free_port())) if os.access(ORIGINAL, os.X_OK) else None
        ours = observe(node, Agent(
            node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
            f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run",
            env={"NODE_NAME": node.name}))
        check(node, pods["exact"], *ours)
        if theirs is None:
            print("no original to compare with: KOORDINATOR_BIN names the folder that has it")
        else:
            compare(theirs, ours)
    print("topology of a real node: passed")


def compare(theirs, ours):
    wrong = []
    for what, their, our in zip(("as it is", "with what the operator says"), theirs, ours):
        for part in sorted(set(their) | set(our)):
            same = their.get(part) == our.get(part)
            print(f"{what}: {part}: {their.get(part)}{'' if same else f' DIFFERS: {our.get(part)}'}")
            wrong += [] if same else [part]
    assert not wrong, f"NodeResourceTopology differs: {wrong}"


if __name__ == "__main__":
    main()

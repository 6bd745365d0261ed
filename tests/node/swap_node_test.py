#!/usr/bin/env python3
"""The original koordlet swapped for koord's on a real node and back, under the original's manager, while pods run: the pods stay as
they are, what the node lends of its memory stays within 5%, and where one agent runs the other one of koord's writes nothing and says
who. CPU is compared, too, unless others use the machine meanwhile. Needs the originals; no part of CI.

KOORDINATOR_BIN names the folder with `koordlet`, `koord-manager` and `crds/`.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group, others_rate  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from mixed_roles_test import BURN_ALL, CONFIG, REPORT_SECONDS, Manager, configure  # noqa: E402
from node_slo import node_metric  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

import kube_api  # noqa: E402
import original_manager  # noqa: E402

WITHIN = 0.05
SERVE = "sleep 100000"
POLICY, PERCENT = "cfsQuota", 50


def pods_of(node):
    """What must not change: who runs where, since when, and how often they were started."""
    found = {}
    for pod in node.get("/api/v1/namespaces/default/pods")["items"]:
        status = pod["status"]["containerStatuses"][0]
        found[pod["metadata"]["name"]] = (pod["metadata"]["uid"], status["containerID"], status["restartCount"], status["state"]["running"])
    return found


def lent(node):
    amounts = node.get(f"/api/v1/nodes/{node.name}")["status"]["allocatable"]
    return {kind: kube_quantity(amounts[f"kubernetes.io/batch-{kind}"]) for kind in ("cpu", "memory") if f"kubernetes.io/batch-{kind}" in amounts}


def kube_quantity(text):
    for suffix, factor in (("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("k", 1000)):
        if text.endswith(suffix):
            return float(text[:-2 if suffix.endswith("i") else -1]) * factor
    return float(text)


def reported(node):
    """When an agent did so last; empty: none has, None: there is nowhere to."""
    try:
        return node_metric(node).get("updateTime", "")
    except kube_api.ApiError as error:
        assert error.status in (404, 429), error
        return None


def settled(node, agent, what):
    """What the node lends by this agent's reports."""
    wait_for("the manager has made a NodeMetric", lambda: reported(node) is not None, 60)
    told = reported(node)
    agent.start()
    for _ in range(2):  # the second one is of a whole interval of its own
        wait_for(f"a report of {what}", lambda before=told: reported(node) not in ("", before), 120)
        told = reported(node)
    wait_for("the node lends", lambda: len(lent(node)) == 2, 60)
    return lent(node)


def refused(agent, original):
    """koord's agent where the original serves: it ends, and says who."""
    done = subprocess.run([*agent.command, f"--addr=127.0.0.1:{original.port}"], env=agent.env, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode != 0 and f"another agent runs on this host: pid {original.process.pid}, {ORIGINAL}" in done.stdout + done.stderr, done


def main():
    reason = missing() or original_manager.missing()
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    with Unchanged(), RealNode() as node:
        os.makedirs(os.path.join(node.dir, "var-run"))
        node.api.connect().request("POST", "/api/v1/namespaces", {"metadata": {"name": "koordinator-system"}})
        node.apply(node.pod("web", SERVE, "LS", 100), node.pod("be", BURN_ALL, "BE"))
        node.wait_running("web", "be")
        be = Group("kubepods/besteffort")
        theirs = Original(node, free_port())
        ours = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                     f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run",
                     "--kubelet-sync-interval=2s", env={"NODE_NAME": node.name})
        configure(node, POLICY, PERCENT)
        # By default a manager leaves changes below a tenth for five minutes: nothing would be seen here.
        every = '{"enable": true, "metricReportIntervalSeconds": %d, "resourceDiffThreshold": 0.0001}' % REPORT_SECONDS
        node.patch(f"{CONFIG}/slo-controller-config", {"data": {"colocation-config": every}})
        manager = Manager(node, "original", original_manager.command(node.kubeconfig))

        def limited():
            return be.quota_cpus() is not None and be.quota_cpus() <= os.cpu_count() * PERCENT / 100 + 0.01

        before, amounts, busy = pods_of(node), [], 0
        for agent, name in ((theirs, "the original"), (ours, "koord"), (theirs, "the original again")):
            amounts.append(settled(node, agent, name))
            busy = max(busy, others_rate([be], 5))  # by then, not when all is over
            wait_for(f"{name} holds best-effort work back", limited, 60)
            print(f"{name}: {amounts[-1]}", flush=True)
            assert pods_of(node) == before, (pods_of(node), before)
            if agent is theirs:
                refused(ours, theirs)
            assert limited()  # who was refused has set nobody free
            agent.kill()
            if agent is ours:
                ours.cleanup()
                assert be.quota_cpus() is None, "the cleanup has left a quota"
        manager.kill()
        if len(amounts) == 3:
            be.write("cpu", "cpu.cfs_quota_us", "-1")  # which the original leaves behind
        first = amounts[0]["memory"]
        assert max(abs(one["memory"] - first) for one in amounts) <= WITHIN * first, amounts
        first = amounts[0]["cpu"]
        far = max(abs(one["cpu"] - first) for one in amounts)
        if far > WITHIN * max(first, 1):
            assert busy > 0.1, f"CPU: {amounts}"
            print(f"CPU is not compared: others use {busy:.1f} CPUs of this machine", flush=True)
    print("swap of agents: passed")


if __name__ == "__main__":
    main()

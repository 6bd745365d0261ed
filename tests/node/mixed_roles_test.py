#!/usr/bin/env python3
"""The original's node agent under koord's manager, and koord's node agent under the original's, on a real node: what the
manager says of a node reaches the agent, what the agent measures the manager. Needs the original's programs; no part of CI.

KOORDINATOR_BIN names the folder with `koordlet`, `koord-manager` and `crds/`.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import KOORD, Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import SLO, node_metric  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

import kube_api  # noqa: E402 (node_slo has put support/ on the path)
import original_manager  # noqa: E402

BURN_ALL = "for i in $(seq $(grep -c ^processor /proc/cpuinfo)); do (while :; do :; done) & done; wait"
CONFIG = "/api/v1/namespaces/koordinator-system/configmaps"
REPORT_SECONDS = 20  # the original's agent takes no less
# One strategy each, so that nobody is taken for the other.
STRATEGY = {"original": ("cfsQuota", 50), "koord": ("cfsQuota", 45)}


class Manager:
    def __init__(self, node, name, command):
        self.log = os.path.join(node.dir, f"{name}-manager.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        node.janitor.process(self.process.pid)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def log_tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:]


def configure(node, policy, percent):
    data = {"colocation-config": '{"enable": true, "metricReportIntervalSeconds": %d}' % REPORT_SECONDS,
            "resource-threshold-config": '{"clusterStrategy": {"enable": true, "cpuSuppressPolicy": "%s", '
                                         '"cpuSuppressThresholdPercent": %d}}' % (policy, percent)}
    connection = node.api.connect()
    try:
        connection.request("POST", CONFIG, {"metadata": {"name": "slo-controller-config"}, "data": data})
    except kube_api.ApiError as error:
        assert error.status == 409, error
        node.patch(f"{CONFIG}/slo-controller-config", {"data": data})


def clear(node):
    """Nothing that the pair before has left."""
    for kind in ("nodemetrics", "nodeslos"):
        node.api.connect().request("DELETE", f"{SLO}/{kind}")
    gone = {name: None for name in ("kubernetes.io/batch-cpu", "kubernetes.io/batch-memory", "kubernetes.io/mid-cpu", "kubernetes.io/mid-memory")}
    node.patch(f"/api/v1/nodes/{node.name}/status", {"status": {"allocatable": gone, "capacity": gone}})


def prove(node, manager, agent, be, percent):
    """Both ways; told of failures with what both have said."""
    def lends():
        return "kubernetes.io/batch-memory" in node.get(f"/api/v1/nodes/{node.name}")["status"]["allocatable"]

    def made():
        try:
            return [node.get(f"{SLO}/{kind}/{node.name}") for kind in ("nodemetrics", "nodeslos")]
        except kube_api.ApiError as error:
            assert error.status in (404, 429), error
            return None

    try:
        wait_for("the manager's objects", made, 60)
        agent.start()
        wait_for("a NodeMetric with what the node uses", lambda: node_metric(node).get("nodeMetric", {}).get("nodeUsage"), 120)
        wait_for("the manager lends what the agent measured", lends, 60)
        wait_for("the agent limits best-effort work as the manager says", lambda: be.quota_cpus() is not None
                 and be.quota_cpus() <= os.cpu_count() * percent / 100 + 0.01, 60)
        spec = node.get(f"{SLO}/nodemetrics/{node.name}")["spec"]["metricCollectPolicy"]
        assert spec["reportIntervalSeconds"] == REPORT_SECONDS, spec
        told = node_metric(node)["updateTime"]
        wait_for("the next report", lambda: node_metric(node)["updateTime"] != told, REPORT_SECONDS + 40)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{manager.log_tail()}\n{agent.log_tail()}") from None
    agent.kill()
    manager.kill()


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
        node.apply(node.pod("be", BURN_ALL, "BE"))
        node.wait_running("be")
        be = Group("kubepods/besteffort")
        theirs = Original(node, free_port())  # has brought the definitions, too
        ours = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                     f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run",
                     "--kubelet-sync-interval=2s", env={"NODE_NAME": node.name})
        koord = [KOORD, "--role=manager", f"--kubeconfig={node.kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0",
                 "--health-probe-addr=0", "--feature-gates=WebhookFramework=false"]
        for name, command, agent in (("koord", koord, theirs), ("original", original_manager.command(node.kubeconfig), ours)):
            configure(node, *STRATEGY[name])
            prove(node, Manager(node, name, command), agent, be, STRATEGY[name][1])
            print(f"the manager is {name}'s, the agent the other's: passed", flush=True)
            clear(node)
            if agent is theirs:  # which leaves its limits behind
                be.write("cpu", "cpu.cfs_quota_us", "-1")
        ours.cleanup()
    print("mixed roles: passed")


if __name__ == "__main__":
    main()

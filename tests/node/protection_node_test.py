#!/usr/bin/env python3
"""A real node, an agent and a manager: pods found, measured, suppressed and released; NodeMetric on the API server, and what
is not used lent as batch-cpu; the kubelet and the API server killed and back; the agent killed at random points."""
import calendar
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protection  # noqa: E402
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import AGGREGATE_SECONDS, lent_cpus, cpus, node_metric, start_manager  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

BURN_ALL = "for i in $(seq $(grep -c ^processor /proc/cpuinfo)); do (while :; do :; done) & done; wait"
BURN_ONE = "while :; do :; done"


class Record(threading.Thread):
    """A group's CPU seconds, twice a second: what a report's averages speak of began long before it."""

    def __init__(self, group):
        super().__init__(daemon=True)
        self.group, self.points, self.ended = group, [], threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.5):
            try:
                self.points.append((time.time(), self.group.cpu_seconds()))
            except OSError:
                pass  # the kubelet makes it, and removes it at the end

    def rate(self, end, seconds):
        """CPUs used in the `seconds` before `end`."""
        inside = [point for point in self.points if end - seconds <= point[0] <= end]
        return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


def prove_report(node, record, be_pods):
    """NodeMetric has the node and each pod, and its figures are those of the cgroups in the time that they speak of."""

    def reported():
        status = node_metric(node)
        pods = {pod["name"]: pod for pod in status.get("podsMetric", [])}
        return status if set(be_pods) <= set(pods) and status.get("nodeMetric", {}).get("nodeUsage") else None

    told_before = wait_for("NodeMetric names the pods", reported, 60)["updateTime"]
    status = wait_for("a fresh NodeMetric", lambda: (lambda now: now and now["updateTime"] != told_before and now)(reported()), 60)
    used = record.rate(calendar.timegm(time.strptime(status["updateTime"], "%Y-%m-%dT%H:%M:%SZ")), AGGREGATE_SECONDS)
    told = sum(cpus(pod["podUsage"]["resources"]["cpu"]) for pod in status["podsMetric"] if pod["name"] in be_pods)
    whole = cpus(status["nodeMetric"]["nodeUsage"]["resources"]["cpu"])
    print(f"NodeMetric: node {whole:.2f} CPUs, BE pods {told:.2f} (cgroups: {used:.2f})", flush=True)
    assert abs(told - used) < max(0.25 * used, 0.15), "the pods' usage is not that of their cgroups"
    assert whole >= 0.8 * told, "the node uses less than its pods"


def prove_slack(node):
    """What the agent measures the manager lends: less when LS burns more than it has asked for, more when it has gone."""
    free = wait_for("the node lends CPUs", lambda: lent_cpus(node), 60)
    node.apply(node.pod("ls", BURN_ONE, "LS", 100))
    node.wait_running("ls")
    low = wait_for("it lends less", lambda: (lent_cpus(node) or 0) <= free - 0.5 and (lent_cpus(node) or 0) + 0.001, 90)
    node.delete("ls")
    wait_for("it lends more again", lambda: (lent_cpus(node) or 0) >= low + 0.4, 90)
    print(f"lent: {free:.2f} CPUs, with LS load {low:.2f}, afterwards {lent_cpus(node):.2f}", flush=True)


def prove_faults(node, agent, be):
    """The kubelet and the API server go and come back; the agent goes on, and its report with it."""
    limit = be.quota_cpus()
    node.kill_kubelet()
    node.stop_apiserver()
    without = protection.Watch(be, None, 5)
    assert agent.process.poll() is None, f"the agent ended:\n{agent.log_tail()}"
    assert None not in without.quotas, "without kubelet and API server BE was let loose"
    assert without.quota < limit + 0.5, "without kubelet and API server the quota does not hold"
    node.start_apiserver()
    node.start_kubelet()
    told = node_metric(node).get("updateTime")
    wait_for("NodeMetric is reported again", lambda: node_metric(node).get("updateTime") != told, 90)
    node.wait_running("be-1", "be-2")


def main():
    reason = missing()
    if reason:
        skip(reason)
    skip_without_role()
    with Unchanged(), RealNode() as node:
        manager = start_manager(node)
        node.apply(node.pod("be-1", "sleep 1000000", "BE"), node.pod("be-2", "sleep 1000000", "BE"))
        node.wait_running("be-1", "be-2")
        tiers = [Group("kubepods")]
        protection.wait_quiet(tiers, allowed=0.5)  # kubelet, API server, etcd and containerd are at work
        node.delete("be-1", "be-2")
        node.apply(node.pod("be-1", BURN_ALL, "BE"), node.pod("be-2", BURN_ALL, "BE"))
        node.wait_running("be-1", "be-2")
        agent = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                      f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run",
                      "--kubelet-sync-interval=2s", env={"NODE_NAME": node.name})
        os.makedirs(os.path.join(node.dir, "var-run"))
        be, burstable = Group("kubepods/besteffort"), Group("kubepods/burstable")
        record = Record(be)

        def start_ls():
            node.apply(node.pod("ls", BURN_ONE, "LS", 500))
            node.wait_running("ls")

        protection.prove(agent, be, burstable.cpu_seconds, start_ls, lambda: node.delete("ls"))
        prove_report(node, record, ("be-1", "be-2"))
        prove_slack(node)
        prove_faults(node, agent, be)
        assert manager.poll() is None, "the manager ended"
        record.ended.set()
        protection.prove_cleanup(agent, be)
    print("protection on a real node: passed")


if __name__ == "__main__":
    main()

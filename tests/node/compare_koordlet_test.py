#!/usr/bin/env python3
"""The original koordlet and ours on the same real node, one after the other, under the same load: what they report as
NodeMetric and what they leave BE. Needs the original's program; no part of CI.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protection  # noqa: E402
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import cpus, make_objects, node_metric  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

BURN_ALL = "for i in $(seq $(grep -c ^processor /proc/cpuinfo)); do (while :; do :; done) & done; wait"
BURN_SOME = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1; done"
MEASURE_SECONDS = 90  # the shortest window that both aggregate over, and a report after it


def shape(value, path=""):
    """All keys that a status has, list elements by their name where they have one."""
    if isinstance(value, dict):
        return {key for name, item in value.items() for key in shape(item, f"{path}.{name}")} | {path}
    if isinstance(value, list):
        return {key for item in value for key in shape(item, f"{path}[{item.get('name', '') if isinstance(item, dict) else ''}]")}
    return {path}


def observe(node, agent, be):
    began = node_metric(node).get("updateTime")
    agent.start()
    try:
        wait_for("a report", lambda: node_metric(node).get("updateTime") != began
                 and node_metric(node)["nodeMetric"].get("nodeUsage"), 180)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{agent.log_tail()}") from None
    end = time.monotonic() + MEASURE_SECONDS
    while time.monotonic() < end:
        time.sleep(1)
    status, watch = node_metric(node), protection.Watch(be, None, 10)
    agent.kill()
    return status, watch.quota


def main():
    reason = missing()
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet to compare with: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    with Unchanged(), RealNode() as node:
        make_objects(node)
        os.makedirs(os.path.join(node.dir, "var-run"))
        node.apply(node.pod("be", BURN_ALL, "BE"), node.pod("ls", BURN_SOME, "LS", 200))
        node.wait_running("be", "ls")
        be = Group("kubepods/besteffort")
        theirs, their_quota = observe(node, Original(node, free_port()), be)
        ours, our_quota = observe(node, Agent(
            node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
            f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run",
            env={"NODE_NAME": node.name}), be)
        lacking, more = shape(theirs) - shape(ours), shape(ours) - shape(theirs)
        print("only the original reports:", sorted(lacking) or "nothing")
        print("only koord reports:", sorted(more) or "nothing")
        usage = [cpus(status["nodeMetric"]["nodeUsage"]["resources"]["cpu"]) for status in (theirs, ours)]
        print(f"node usage {usage[0]:.2f} and {usage[1]:.2f} CPUs; BE's quota {their_quota} and {our_quota} CPUs")
        assert not lacking, "NodeMetric lacks keys of the original's"
        assert abs(usage[0] - usage[1]) < max(0.25 * usage[0], 0.2), "the node's usage differs"
        assert abs(their_quota - our_quota) < 0.3, "BE's quota differs"
    print("comparison with the original: passed")


if __name__ == "__main__":
    main()

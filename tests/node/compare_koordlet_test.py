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
from node_slo import make_objects, node_metric  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

from check_placement import quantity  # noqa: E402 (node_slo has put support/ on the path)

BURN_ALL = "for i in $(seq $(grep -c ^processor /proc/cpuinfo)); do (while :; do :; done) & done; wait"
BURN_SOME = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1; done"
MEASURE_SECONDS = 90  # the shortest window that both aggregate over, and a report after it


# What the peak predictor reports, which koord's agent does not have yet.
LATER = (".prodPeakMetric", ".prodReclaimableMetric.resource.")
TIMES = (".updateTime",)
MIB = 1 << 20


def leaves(value, path=""):
    """(path, value) of all leaves, list elements by their name where they have one."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}")
        if not value:
            yield path, value
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, f"{path}[{item.get('name', '') if isinstance(item, dict) else ''}]")
    else:
        yield path, value


def agree(path, theirs, ours):
    """The same, and measured values within what two runs of the load differ by; the agents' own use is in some."""
    of_pod = path.startswith(".podsMetric")
    for resource, least in ((".cpu", 0.05 if of_pod else 0.2), (".memory", MIB / 16 if of_pod else 128 * MIB)):
        if path.endswith(resource):
            theirs, ours = quantity(theirs), quantity(ours)
            return abs(theirs - ours) < max(0.25 * theirs, least)
    return theirs == ours


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
    cpuset = be.read("cpuset", "cpuset.cpus")
    agent.kill()
    return {path: value for path, value in leaves(status) if path not in TIMES}, watch.quota, cpuset


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
        theirs, their_quota, their_cpuset = observe(node, Original(node, free_port()), be)
        ours, our_quota, our_cpuset = observe(node, Agent(
            node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
            f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run",
            env={"NODE_NAME": node.name}), be)
        later = {path for path in theirs if path.startswith(LATER)}
        lacking = set(theirs) - set(ours) - later
        more = {path for path in set(ours) - set(theirs) if not (path + ".").startswith(LATER)}
        print("only the original reports:", sorted(lacking) or "nothing", "and what is still to come:", sorted(later))
        print("only koord reports:", sorted(more) or "nothing")
        wrong = []
        for path in sorted(set(theirs) & set(ours)):
            same = agree(path, theirs[path], ours[path])
            print(f"{path}: {theirs[path]} and {ours[path]}{'' if same else '   DIFFERS'}")
            wrong += [] if same else [path]
        print(f"BE's quota {their_quota} and {our_quota} CPUs, its cpuset {their_cpuset} and {our_cpuset}")
        assert not lacking and not more, "NodeMetric's keys differ"
        assert not wrong, f"NodeMetric's values differ: {wrong}"
        assert abs(their_quota - our_quota) < 0.3, "BE's quota differs"
        assert their_cpuset == our_cpuset, "BE's cpuset differs"
    print("comparison with the original: passed")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The original koordlet and ours on the same real node, one after the other, under the same load: what they report as
NodeMetric and what they leave BE. What they predict is compared to the last digit: both go on with the same history, ours
with what the original has written. Needs the original's program; no part of CI. 5 minutes, in which others should leave the
machine alone: what they make differ is no verdict, and the test says skipped.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protection  # noqa: E402
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group, others_rate  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import make_objects, node_metric  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import PODS, RealNode, free_port, missing  # noqa: E402

from check_placement import quantity  # noqa: E402 (node_slo has put support/ on the path)

BURN_ALL = "for i in $(seq $(grep -c ^processor /proc/cpuinfo)); do (while :; do :; done) & done; wait"
BURN_SOME = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1; done"
BUSY_CPUS = 0.8       # API server, etcd, kubelet, containerd and the agent are in it
MEASURE_SECONDS = 90  # the shortest window that both aggregate over, and a report after it


PREDICTED = (".prodPeakMetric", ".prodReclaimableMetric")
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


class History:
    """Checkpoints of predictions in the original's format, with weights that a few minutes more do not change."""

    FLAG = "prediction-checkpoint-filepath"
    MODELS = ("__node__", "__node-sys__", "__node-koord-prod__", "__node-koord-mid__", "__node-koord-batch__",
              "__node-koord-free__", "__node-__")

    def __init__(self, node, *uids):
        self.folder = os.path.join(node.dir, "checkpoints")
        self.uids = uids
        os.makedirs(self.folder)
        day = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime())
        for uid, cpu, memory in (*((model, 0, 10) for model in self.MODELS), *((uid, 1, 20) for uid in uids)):
            histograms = {name: {"referenceTimestamp": day, "totalWeight": 1e6,
                                 "bucketWeights": {str(bucket): 9000, str(bucket + 7): 600, str(bucket + 11): 400}}
                          for name, bucket in (("CPU", cpu), ("Memory", memory))}
            with open(os.path.join(self.folder, uid), "w", encoding="utf-8") as file:
                json.dump({"UID": uid, **histograms, "LastUpdated": day}, file)

    @property
    def count(self):
        return len(self.MODELS) + len(self.uids)

    def written(self):
        """How many of the files an agent has written since they were made or looked at."""
        count = 0
        for uid in (*self.MODELS, *self.uids):
            path = os.path.join(self.folder, uid)
            with open(path, encoding="utf-8") as file:
                assert json.load(file)["CPU"]["totalWeight"] >= 1e6, f"{uid} began anew"
            count += os.stat(path).st_mtime > 1
            os.utime(path, (1, 1))
        return count


def observe(node, agent, be):
    began = node_metric(node).get("updateTime")
    agent.start()
    try:
        wait_for("a report", lambda: node_metric(node).get("updateTime") != began
                 and node_metric(node)["nodeMetric"].get("nodeUsage"), 180)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{agent.log_tail()}") from None
    others = [others_rate([Group("kubepods")], 5) for _ in range(MEASURE_SECONDS // 5)]
    status, watch = node_metric(node), protection.Watch(be, None, 10)
    cpuset = be.read("cpuset", "cpuset.cpus")
    agent.kill()
    return {path: value for path, value in leaves(status) if path not in TIMES}, watch.quota, cpuset, others


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
        ls = node.pod("ls", BURN_SOME, "LS", 1200)
        ls["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"  # of which most can be reclaimed
        node.apply(node.pod("be", BURN_ALL, "BE"), ls)
        node.wait_running("be", "ls")
        be = Group("kubepods/besteffort")
        history = History(node, *(pod["metadata"]["uid"] for pod in node.get(PODS)["items"]))
        history.written()
        predict = [f"-{History.FLAG}={history.folder}", "-prediction-cold-start-duration=0s"]
        original = Original(node, free_port())
        original.command += predict
        theirs, their_quota, their_cpuset, others = observe(node, original, be)
        their_files = history.written()
        ours, our_quota, our_cpuset, later_others = observe(node, Agent(
            node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
            f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run", *predict,
            env={"NODE_NAME": node.name}), be)
        our_files = history.written()
        original.start()
        wait_for("the original goes on with koord's files", lambda: original.said("restoring checkpoint") == 2 * history.count, 60)
        assert original.said("failed to CPU checkpoint") + original.said("remove unknown checkpoint") == 0
        original.kill()
        lacking, more = set(theirs) - set(ours), set(ours) - set(theirs)
        print("only the original reports:", sorted(lacking) or "nothing")
        print("only koord reports:", sorted(more) or "nothing")
        print(f"files of predictions: {their_files} of the original's, {our_files} of koord's")
        wrong = []
        for path in sorted(set(theirs) & set(ours)):
            same = theirs[path] == ours[path] if path.startswith(PREDICTED) else agree(path, theirs[path], ours[path])
            print(f"{path}: {theirs[path]} and {ours[path]}{'' if same else '   DIFFERS'}")
            wrong += [] if same else [path]
        print(f"BE's quota {their_quota} and {our_quota} CPUs, its cpuset {their_cpuset} and {our_cpuset}")
        assert not lacking and not more, "NodeMetric's keys differ"
        assert any(path.startswith(PREDICTED) and path.endswith(".cpu") for path in ours), "nothing is predicted"
        assert their_files and our_files, "no files of predictions were written"
        busy = max(others + later_others)
        measured = not any(path.startswith(PREDICTED) for path in wrong)
        if (wrong or abs(their_quota - our_quota) >= 0.3) and measured and busy > BUSY_CPUS:
            skip(f"the machine was busy, {busy:.2f} CPUs besides this test: these differ: {wrong}")
        assert not wrong, f"NodeMetric's values differ: {wrong}"
        assert abs(their_quota - our_quota) < 0.3, "BE's quota differs"
        assert their_cpuset == our_cpuset, "BE's cpuset differs"
    print("comparison with the original: passed")


if __name__ == "__main__":
    main()

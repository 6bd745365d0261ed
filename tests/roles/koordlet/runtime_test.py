#!/usr/bin/env python3
"""The node agent beside a kubelet that tells late what runs: the container runtime says it, and values are in force; what the
runtime told of stays when it goes."""
import copy
import json
import os
import sys
import unittest

import agents
from agents import NODE, wait_for

import fake_node

sys.path.insert(0, os.path.join(agents.TREE, "tests", "roles", "proxy"))
from rig import CRI, Runtime, f, m  # noqa: E402

LIST = CRI + "ListContainers"
STATUS = "scheduling.koordinator.sh/resource-status"


class ASlowKubelet(unittest.TestCase):
    def setUp(self):
        self.world = agents.World()
        self.addCleanup(self.world.close)
        folder = os.path.join(self.world.root.folder, "var/run/containerd")
        os.makedirs(folder)
        self.runs = {}  # by id: the pod's uid and the container's name
        self.runtime = Runtime(os.path.join(folder, "containerd.sock"))
        self.addCleanup(lambda: self.runtime.server and self.runtime.stop())
        self.runtime.answers[LIST] = lambda request, context: b"".join(
            f(1, [f(1, one), f(2, "s"), f(3, [f(1, name)]), f(6, 1), m(8, **{"io.kubernetes.pod.uid": uid})])
            for one, (uid, name) in self.runs.items())

    def pinned(self):
        """A pod with a CPU of its own that the kubelet says runs nothing yet."""
        told = fake_node.pod("pin", NODE, "Burstable", labels={"koordinator.sh/qosClass": "LSR"},
                             annotations={STATUS: json.dumps({"cpuset": "1"})}, container="first")
        group = self.world.root.add_pod(told, 0.1, 1 << 20)
        untold = copy.deepcopy(told)
        untold["status"].update(phase="Pending", containerStatuses=[])
        self.world.kubelet.pods = [untold]
        return group, untold

    def has(self, group, name, cpus):
        wait_for(f"{name} is on {cpus}", lambda: self.world.root.read("cpuset", f"{group}/{name}", "cpuset.cpus") == cpus, 60)

    def test_what_runs_is_known_from_the_runtime(self):
        world = self.world
        group, untold = self.pinned()
        self.runs["first"] = ("uid-pin", "main")
        self.runs["stranger"] = ("uid-nobody", "main")
        world.agent("--kubelet-sync-interval=1h")
        self.has(group, "first", "1")  # which ran before this agent
        world.root.add(f"{group}/second", 0.1, 1 << 20)
        self.runs["second"] = self.runs.pop("first")
        self.has(group, "second", "1")
        self.assertEqual(untold["status"]["containerStatuses"], [])
        self.assertFalse(os.path.exists(os.path.join(world.root.cgroup, "cpuset", "kubepods/poduid-nobody")))
        self.runtime.stop()
        self.runtime.server = None
        world.root.add(f"{group}/third", 0.1, 1 << 20)  # nobody says whose it is
        last = world.agents[-1]
        before = last.node()["tick"]
        wait_for("some ticks", lambda: last.node()["tick"] > before + 4, 60)
        self.assertEqual(world.root.read("cpuset", f"{group}/second", "cpuset.cpus"), "1")
        self.assertEqual(world.root.read("cpuset", f"{group}/third", "cpuset.cpus"), "0-3")


if __name__ == "__main__":
    unittest.main(verbosity=2)

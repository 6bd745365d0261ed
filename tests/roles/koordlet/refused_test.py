#!/usr/bin/env python3
"""A kubelet that answers 403 to everything, or takes questions and never answers: what best-effort work is limited to stays,
the agent is not ready and its node is told why; once the kubelet answers all is well again."""
import unittest

import agents
from agents import NODE, SLO, wait_for

import fake_node

MI = fake_node.MI
QUICK = ("--kubelet-sync-interval=300ms", "--kubelet-sync-timeout=500ms")
REASON = "KubeletDoesNotAnswer"
TICKS = 5


class AKubelet(unittest.TestCase):
    def setUp(self):
        self.world = world = agents.World()
        self.addCleanup(world.close)
        world.root.host_cpu = 3.5
        world.add_pod("exact", cpu=1.0, memory=MI, qos="Guaranteed", labels={"koordinator.sh/qosClass": "LSE"},
                      annotations={"scheduling.koordinator.sh/resource-status": '{"cpuset":"3"}'})
        world.add_pod("web", cpu=1.5, memory=MI, labels={"koordinator.sh/qosClass": "LS"})
        self.batch = world.add_pod("batch", cpu=0.5, memory=MI, qos="BestEffort", labels={"koordinator.sh/qosClass": "BE"})
        world.create("nodeslos", "NodeSLO", {"resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota"}})
        for group in ("kubepods/besteffort", self.batch, f"{self.batch}/id-batch"):
            self.narrow(group)

    def narrow(self, group):
        """As an agent left it that is no more."""
        fake_node.write(f"{self.world.root.cgroup}/cpuset/{group}/cpuset.cpus", "0-1\n")

    def limits(self):
        read = self.world.root.read
        return (read("cpu", "kubepods/besteffort", "cpu.cfs_quota_us"),
                *(read("cpuset", group, "cpuset.cpus") for group in ("kubepods/besteffort", self.batch, f"{self.batch}/id-batch")))

    def limited_by_one_that_was_killed(self):
        agent = self.world.agent(*QUICK)
        wait_for("the quota", lambda: self.limits()[0] != "-1")
        wait_for("it is ready", lambda: agent.get("/readyz")[0] == 200)
        self.assertEqual(self.events(), [])
        agent.close()
        # Whatever is asked for now would set best-effort work free.
        self.world.request("PATCH", f"{SLO}/nodeslos/{NODE}", {"spec": {"resourceUsedThresholdWithBE": {"enable": False}}})
        for group in ("kubepods/besteffort", self.batch, f"{self.batch}/id-batch"):
            self.narrow(group)
        return self.limits()

    def events(self):
        return [event for event in self.world.api.list("/apis/events.k8s.io/v1/events") if event["reason"] == REASON]

    def refuses(self, mode):
        world = self.world
        held = self.limited_by_one_that_was_killed()
        world.kubelet.mode = mode
        agent = world.agent(*QUICK)
        wait_for("it has noticed", lambda: agent.source("kubelet")["ok"] is False and agent.source("kubelet").get("error"))
        began = agent.node()["tick"]

        def ticks():
            self.assertEqual(self.limits(), held)
            return agent.node()["tick"] >= began + TICKS
        wait_for("some ticks", ticks, 30)
        status, checks = agent.get("/readyz")
        self.assertEqual(status, 500)
        self.assertIn("[-]kubelet failed", checks)
        self.assertEqual(agent.get("/livez")[0], 200)  # ended and started again it would know no more
        return agent

    def is_well_again(self, agent):
        self.world.kubelet.mode = ""
        self.world.kubelet.released.set()
        wait_for("it is ready", lambda: agent.get("/readyz")[0] == 200)
        self.assertTrue(agent.source("kubelet")["ok"])
        self.assertRegex(agent.output(), r'msg="it answers again" source=kubelet')
        wait_for("the pods", lambda: {"exact", "web", "batch"} <= set(agent.pods()))
        # Nothing holds it back any more, and CPU 3 stays with the pod that has it.
        wait_for("what the NodeSLO says", lambda: self.limits() == ("-1", *3 * ["0-2"]))
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])

    def test_that_answers_403(self):
        agent = self.refuses("403")
        event, = wait_for("its node is told", self.events)
        self.assertEqual((event["regarding"]["kind"], event["regarding"]["name"], event["type"]), ("Node", NODE, "Warning"))
        self.assertIn("limits of best-effort work stay as they are", event["note"])
        self.assertIn("403", event["note"])
        self.is_well_again(agent)
        self.assertEqual(len(self.events()), 1)

    def test_that_never_answers(self):
        agent = self.refuses("silent")
        self.assertEqual(self.events(), [])  # it may be starting: unit/koordlet/setup/agent_test.cpp waits for the minute
        self.is_well_again(agent)

    def test_that_answers_403_from_some_moment_on(self):
        agent = self.world.agent(*QUICK)
        wait_for("the quota", lambda: self.limits()[0] != "-1")
        self.world.kubelet.mode = "403"
        wait_for("its node is told", self.events)
        self.assertEqual(agent.get("/readyz")[0], 200)  # what it said last is not old yet
        self.assertLessEqual({"exact", "web", "batch"}, set(agent.pods()))
        self.assertNotEqual(self.limits()[0], "-1")
        self.world.kubelet.mode = ""
        wait_for("it answers again", lambda: agent.source("kubelet")["ok"])
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

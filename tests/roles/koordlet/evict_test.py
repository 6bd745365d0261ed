#!/usr/bin/env python3
"""Memory eviction through the API server: disruption budgets, events, metrics, audit."""
import unittest

import agents
from agents import NODE, wait_for

import fake_node
import kube_api

MI = fake_node.MI
PODS = "/api/v1/namespaces/default/pods"


class Eviction(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = agents.World()
        cls.addClassCleanup(cls.world.close)

    def add_pod(self, name, memory, priority):
        world = self.world
        labels = {"koordinator.sh/qosClass": "BE", "name": name}
        made = world.request("POST", PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
            "spec": {"nodeName": NODE, "containers": [{"name": "main", "image": "none"}]}})
        item = fake_node.pod(name, NODE, "BestEffort", labels=labels)
        item["metadata"]["uid"] = made["metadata"]["uid"]
        item["spec"]["priority"] = priority
        world.root.add_pod(item, 0, memory)
        world.kubelet.pods = [*world.kubelet.pods, item]

    def exists(self, name):
        try:
            found = self.world.request("GET", f"{PODS}/{name}")
            return "deletionTimestamp" not in found["metadata"]
        except kube_api.ApiError as error:
            assert error.status == 404, error
            return False

    def test_asks_the_api_server(self):
        world = self.world
        self.add_pod("kept", 2048 * MI, 1)
        self.add_pod("large", 1536 * MI, 2)
        self.add_pod("other", 1024 * MI, 3)
        world.request("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "kept"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"name": "kept"}}}})
        # A quarter of the node's memory is used: 7% of 16 GiB have to go.
        world.create("nodeslos", "NodeSLO", {"resourceUsedThresholdWithBE": {"enable": True, "memoryEvictThresholdPercent": 20}})
        agent = world.agent("--kubelet-sync-interval=300ms", "--only-evict-by-api",
                            "--feature-gates=BEMemoryEvict=true,AuditEvents=true,AuditEventsHTTPHandler=true",
                            f"--audit-log-dir={world.root.folder}/audit")
        wait_for("the next pod goes", lambda: not self.exists("large"))
        self.assertTrue(self.exists("kept"))

        def events():
            return {(event["reason"], event["regarding"]["name"]): event["note"]
                    for event in world.api.list("/apis/events.k8s.io/v1/events")}
        wait_for("both events", lambda: {("evictPodFail", "kept"), ("evictPodSuccess", "large")} <= set(events()))
        self.assertEqual(events()["evictPodSuccess", "large"],
                         "evict Pod:default/large, reason: evicted, message: trigger by koordlet feature BEMemoryEvict, "
                         "kill pod: large")
        self.assertIn(", error ", events()["evictPodFail", "kept"])
        wait_for("the metrics", lambda: 'koordlet_pod_eviction_detail{node="node-0000",pod_namespace="default",'
                                        'pod_name="large",reason="evicted"} 1' in agent.get("/metrics")[1])
        self.assertIn("trigger by koordlet feature BEMemoryEvict, kill pod: large", agent.get("/events")[1])
        # What goes already counts: who is last stays.
        self.assertTrue(self.exists("other"))
        self.assertIn("BEMemoryEvict: 25% of the memory is used, 20% may be", agent.get("/apis/v1/node")[1])
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

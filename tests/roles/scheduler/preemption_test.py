#!/usr/bin/env python3
"""Preemption on the sandbox: a victim goes and the preemptor lands, budgets are respected, and describe says why not."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import wait_for  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
PRIORITIES = {"low": 10, "mid": 100, "high": 1000}


def pod(name, priority="low", cpu="3", labels=None, **spec):
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"schedulerName": "koord-scheduler", "priorityClassName": priority,
                     "terminationGracePeriodSeconds": 1, "containers": [container], **spec}}


class PreemptionTest(unittest.TestCase):
    def setUp(self):
        self.world = sandbox.Sandbox("--roles=scheduler", "--nodes=2", "--node-capacity=cpu=4,memory=8Gi")
        self.world.__enter__()
        self.addCleanup(self.world.__exit__)
        self.api = kube_api.Api(self.world.kubeconfig)
        self.connection = self.api.connect()
        for name, value in PRIORITIES.items():
            self.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                         "value": value, "preemptionPolicy": "PreemptLowerPriority"})
        self.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "patient"},
                     "value": 1000, "preemptionPolicy": "Never"})

    def create(self, *items):
        for item in items:
            kube_api.create(self.connection, item)

    def pods(self):
        return {item["metadata"]["name"]: item for item in self.connection.request("GET", PODS)["items"]}

    def wait_running(self, *names):
        wait_for(f"{names} run", lambda: all(
            self.pods().get(name, {}).get("status", {}).get("phase") == "Running" for name in names))

    def test_a_victim_goes_and_its_place_is_taken(self):
        self.create(pod("kept", labels={"app": "kept"}), pod("spare", "mid"),
                    {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keeps"},
                     "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}})
        self.wait_running("kept", "spare")
        budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/keeps"
        wait_for("the budget's status", lambda: self.connection.request("GET", budget)["status"].get("currentHealthy"))
        before = self.pods()
        # By priority alone the other one would go.
        self.create(pod("important", "high"))
        self.wait_running("important")
        after = self.pods()
        self.assertEqual(sorted(after), ["important", "kept"])
        self.assertEqual(after["important"]["spec"]["nodeName"], before["spare"]["spec"]["nodeName"])
        events = [e for e in self.connection.request("GET", EVENTS)["items"] if e["reason"] == "Preempted"]
        self.assertEqual([e["regarding"]["name"] for e in events], ["spare"])
        self.assertEqual(events[0]["note"], f"Preempted by pod {after['important']['metadata']['uid']} on node "
                                            f"{after['important']['spec']['nodeName']}")
        self.assertEqual((events[0]["type"], events[0]["action"]), ("Normal", "Preempting"))

    def message(self, name):
        def found():
            conditions = self.pods()[name].get("status", {}).get("conditions", [])
            return next((c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), "")
        return wait_for(f"a verdict on {name}", found)

    def test_describe_says_why_preemption_does_not_help(self):
        self.create(pod("one", "mid"), pod("two", "mid"))
        self.wait_running("one", "two")
        self.create(pod("equal", "mid"), pod("patient", "patient"), pod("huge", "high", "5"))
        vain = {
            "equal": "0/2 nodes are available: 2 No preemption victims found for incoming pod.",
            "patient": "not eligible due to preemptionPolicy=Never.",
            "huge": "0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
        }
        # ElasticQuota's words and DefaultPreemption's: Koordinator's profile has both.
        expected = {name: f"0/2 nodes are available: 2 Insufficient cpu. preemption: {why}, preemption: {why}"
                    for name, why in vain.items()}
        kubectl = sandbox.Kubectl(self.world.kubeconfig) if os.access(sandbox.KUBECTL, os.X_OK) else None
        for name, message in expected.items():
            self.assertEqual(self.message(name), message)
            if kubectl:
                self.assertIn(message, wait_for(f"the event of {name}", lambda: next(
                    (line for line in kubectl.run("describe", "pod", name).splitlines() if "FailedScheduling" in line), "")))
        self.assertEqual(sorted(self.pods()), ["equal", "huge", "one", "patient", "two"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

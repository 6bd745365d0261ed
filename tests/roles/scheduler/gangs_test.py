#!/usr/bin/env python3
"""A gang waits whole and starts whole: members that are missing are told of, PodGroups have their phases, and bindings that fail
in the middle of a gang are made good."""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, wait_for  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


class Gangs(unittest.TestCase):
    def setUp(self):
        self.world = sandbox.Sandbox("--roles=scheduler", "--nodes=2", "--node-capacity=cpu=4,memory=8Gi")
        self.world.__enter__()
        self.addCleanup(self.world.__exit__)
        self.connection = kube_api.Api(self.world.kubeconfig).connect()

    def create(self, gang, numbers, cpu="1"):
        for number in numbers:
            self.connection.request("POST", PODS, {
                "metadata": {"name": f"{gang}-{number}", "labels": {"pod-group.scheduling.sigs.k8s.io": gang}},
                "spec": {"schedulerName": "koord-scheduler",
                         "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]}})

    def group(self, name, members):
        self.connection.request("POST", GROUPS, {"metadata": {"name": name}, "spec": {"minMember": members}})

    def bound(self, gang):
        pods = self.connection.request("GET", PODS)["items"]
        return sum(1 for pod in pods if pod["metadata"]["name"].startswith(f"{gang}-") and pod["spec"].get("nodeName"))

    def phase(self, name):
        return self.connection.request("GET", f"{GROUPS}/{name}").get("status", {}).get("phase")

    def notes(self, name):
        return [event["note"] for event in self.connection.request("GET", EVENTS)["items"] if event["regarding"]["name"] == name]

    def explained(self, name):
        return subprocess.run([KOORD, "explain", "pod", f"default/{name}", f"--kubeconfig={self.world.kubeconfig}", "--quiet"],
                              capture_output=True, text=True, timeout=60, check=True).stdout

    def test_it_waits_whole_and_starts_whole(self):
        self.group("g", 3)
        self.create("g", range(2))
        lack = "memberGangs [default/g] child pod not collect enough"
        wait_for("an event about the missing one", lambda: any(lack in note for note in self.notes("g-1")))
        self.assertEqual(self.bound("g"), 0)
        explained = self.explained("g-0")
        self.assertIn("It waits for its gang: the gang default/g starts with 3 pods, and has 2.", explained)
        self.assertIn(lack, explained)
        self.assertNotIn("That is not so any more", explained)
        wait_for("a phase", lambda: self.phase("g") == "Pending")
        self.create("g", [2])
        wait_for("all bound", lambda: self.bound("g") == 3)
        wait_for("a phase", lambda: self.phase("g") in ("Scheduled", "Running"))
        pod = self.connection.request("GET", f"{PODS}/g-0")
        self.assertEqual(pod["metadata"]["annotations"]["internal.scheduling.koordinator.sh/bind-gang-group-id"], "default/g")
        self.assertEqual(pod["metadata"]["annotations"]["internal.scheduling.koordinator.sh/bind-gang-member-count"], "3")

    def test_one_that_does_not_fit_holds_nothing(self):
        self.group("large", 9)
        self.create("large", range(9))
        why = 'GangGroup "default/large" gets rejected due to member Pod'
        wait_for("an event", lambda: any(why in note for number in range(9) for note in self.notes(f"large-{number}")))
        self.assertEqual(self.bound("large"), 0)
        self.group("small", 8)
        self.create("small", range(8))
        wait_for("all of the small one bound", lambda: self.bound("small") == 8)
        self.assertEqual(self.bound("large"), 0)
        conditions = [condition for number in range(9)
                      for condition in self.connection.request("GET", f"{PODS}/large-{number}")["status"].get("conditions", [])
                      if condition["type"] == "PodScheduled"]
        self.assertTrue(all(condition["reason"] == "Unschedulable" for condition in conditions), json.dumps(conditions))


if __name__ == "__main__":
    unittest.main(verbosity=2)

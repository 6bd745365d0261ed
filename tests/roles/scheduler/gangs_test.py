#!/usr/bin/env python3
"""A gang waits whole and starts whole: members that are missing are told of, PodGroups have their phases, and bindings that fail
in the middle of a gang are made good. Kubernetes' own gangs do the same beside them, behind their gates."""
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
WORKLOADS = "/apis/scheduling.k8s.io/v1alpha1/namespaces/default/workloads"
GATES = "GenericWorkload=true,GangScheduling=true"
LATER_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


class Rig(unittest.TestCase):
    FLAGS = []

    def setUp(self):
        self.world = sandbox.Sandbox("--roles=scheduler", "--nodes=2", "--node-capacity=cpu=4,memory=8Gi", *self.FLAGS)
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

    def explained(self, name, *flags):
        return subprocess.run([KOORD, "explain", "pod", f"default/{name}", f"--kubeconfig={self.world.kubeconfig}", "--quiet", *flags],
                              capture_output=True, text=True, timeout=60, check=True).stdout


class Gangs(Rig):
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


class KubeGangs(Rig):
    FLAGS = [f"--feature-gates={GATES}"]

    def refer(self, workload, numbers, group="pg", labels=None, cpu="1"):
        for number in numbers:
            self.connection.request("POST", PODS, {
                "metadata": {"name": f"{workload}-{number}", "labels": labels or {}},
                "spec": {"schedulerName": "koord-scheduler", "workloadRef": {"name": workload, "podGroup": group},
                         "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]}})

    def workload(self, name, members):
        self.connection.request("POST", WORKLOADS, {
            "metadata": {"name": name}, "spec": {"podGroups": [{"name": "pg", "policy": {"gang": {"minCount": members}}}]}})

    def told(self, name, note):
        wait_for(f"{name} is told: {note}", lambda: any(note in each for each in self.notes(name)))

    def test_it_waits_for_its_workload_and_its_pods_and_starts_whole(self):
        self.refer("w", range(2))
        self.told("w-0", 'waiting for pods\'s workload "w" to appear in scheduling queue')
        self.workload("w", 3)
        few = "waiting for minCount pods from a gang to appear in scheduling queue: the gang default/w/pg has 2 of 3"
        self.told("w-1", few)
        self.assertEqual(self.bound("w"), 0)
        explained = self.explained("w-0", f"--feature-gates={GATES}")
        self.assertIn("It waits for its gang: the gang default/w/pg starts with 3 pods, and has 2.", explained)
        self.assertIn(few, explained)
        self.refer("w", [2])
        wait_for("all bound", lambda: self.bound("w") == 3)

    def test_one_that_does_not_fit_holds_nothing(self):
        self.workload("large", 9)
        self.refer("large", range(9))
        why = "the gang default/large/pg has no room: for pod default/large-"
        wait_for("an event", lambda: any(why in note for number in range(9) for note in self.notes(f"large-{number}")))
        self.workload("small", 8)
        self.refer("small", range(8))
        wait_for("all of the small one bound", lambda: self.bound("small") == 8)
        self.assertEqual(self.bound("large"), 0)

    def test_what_names_no_group_and_what_is_in_two_gangs_waits_by_name(self):
        self.workload("w", 1)
        self.refer("w", [0], group="other")
        self.told("w-0", 'pod group "other" doesn\'t exist for a workload "w"')
        self.group("g", 1)
        self.refer("w", [1], labels={"pod-group.scheduling.sigs.k8s.io": "g"})
        self.told("w-1", 'pod default/w-1 is in two gangs: in "g" by its labels or annotations, and in the pod group "pg" of the '
                         'workload "w" (spec.workloadRef)')
        self.refer("w", [2])
        wait_for("who is in one is bound", lambda: self.bound("w") == 1)
        self.connection.request("PATCH", f"{PODS}/w-1", {"metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": None}}},
                                "application/merge-patch+json")
        wait_for("and who is not in two any more", lambda: self.bound("w") == 2)

    def test_in_the_later_form_it_starts_whole_on_nodes_that_agree_on_a_label(self):
        def in_group(number, cpu="2"):
            self.connection.request("POST", PODS, {
                "metadata": {"name": f"later-{number}"},
                "spec": {"schedulerName": "koord-scheduler", "schedulingGroup": {"podGroupName": "later"},
                         "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]}})

        for number in range(3):
            in_group(number)
        self.told("later-0", 'waiting for pod\'s pod group "later" to appear in scheduling queue')
        nodes = [node["metadata"]["name"] for node in self.connection.request("GET", "/api/v1/nodes")["items"]]
        for node in nodes:
            self.connection.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": {"rack": node}}},
                                    "application/merge-patch+json")
        group = self.connection.request("POST", LATER_GROUPS, {
            "metadata": {"name": "later"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}}})
        self.assertEqual(group["spec"]["disruptionMode"], {"single": {}})
        self.told("later-0", 'needs room for 3 pods on nodes with one value of the label "rack"; room by value: ')
        self.assertEqual(self.bound("later"), 0)
        self.connection.request("PATCH", f"/api/v1/nodes/{nodes[1]}", {"metadata": {"labels": {"rack": nodes[0]}}},
                                "application/merge-patch+json")
        wait_for("all bound", lambda: self.bound("later") == 3)


class WithoutGates(KubeGangs):
    """What a pod says of a Workload is nothing then."""
    FLAGS = []
    test_it_waits_for_its_workload_and_its_pods_and_starts_whole = None
    test_one_that_does_not_fit_holds_nothing = None
    test_what_names_no_group_and_what_is_in_two_gangs_waits_by_name = None
    test_in_the_later_form_it_starts_whole_on_nodes_that_agree_on_a_label = None

    def test_a_reference_says_nothing(self):
        self.refer("absent", range(2))
        wait_for("both bound", lambda: self.bound("absent") == 2)

    def test_one_gate_needs_the_other(self):
        done = subprocess.run([KOORD, "--role=scheduler", f"--kubeconfig={self.world.kubeconfig}", "--feature-gates=GangScheduling=true"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
                      done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

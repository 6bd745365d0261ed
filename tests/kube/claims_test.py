#!/usr/bin/env python3
"""Pods with resource claims on a real API server, with kube-controller-manager's controllers, and slices made by hand: a
Deployment with a claim template is placed, drained and made anew; a claim that pods share; koord killed again and
again between a claim's allocation and the binding. KOORD_KUBE_BOTH=1: kube-scheduler under koord's name.
"""
import os
import random
import time
import unittest

import claims
import schedulers
from schedulers import OURS, wait_for

import kube_api
import kube_version

NAMESPACE = "claims"
PODS = "/api/v1/namespaces/" + NAMESPACE + "/pods"
MERGE = "application/merge-patch+json"
DEVICES = 4  # of a node
KILLS, KILLED_PODS, KILLED_NODES = 6, 80, 25
SEED = int(os.environ.get("KOORD_CLAIMS_SEED", time.time_ns() % 1_000_000))
SLOW = ("--kube-api-qps=60", "--kube-api-burst=10")


def deployment(replicas):
    labels = {"app": "train"}
    # There is no kubelet: who is to end is gone at once.
    pod = schedulers.pod("x", OURS, automountServiceAccountToken=False, terminationGracePeriodSeconds=0,
                         **claims.uses())["spec"]
    pod["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "train", "namespace": NAMESPACE},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": pod}}}


class Claims(unittest.TestCase):
    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(self.api, NAMESPACE, "koordinator-system")
        claims.start(self)
        claims.clean(self.api, NAMESPACE)
        self.addCleanup(claims.clean, self.api, NAMESPACE)
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        self.connection = self.api.connect()

    def world(self, nodes):
        names = [f"node-{index}" for index in range(nodes)]
        self.api.load([claims.device_class(), claims.template(NAMESPACE)])
        self.api.load([schedulers.node(name, cpu="32") for name in names])
        self.api.load([claims.device_slice(name, DEVICES) for name in names])

    def scheduler(self, *flags):
        if os.environ.get("KOORD_KUBE_BOTH"):
            process, file = schedulers.unthrottled_kube_scheduler(OURS)
            self.addCleanup(file.close)
        else:
            process = schedulers.koord("--leader-elect=false", *flags)
        self.addCleanup(process.end)
        return process

    def claim(self, name):
        return self.connection.request("GET", f"{claims.CLAIMS.format(NAMESPACE)}/{name}")

    def wait_bound(self, number, seconds=120):
        self.watch.wait(f"{number} pods bound", lambda pods: sum(
            1 for each in pods.values() if each["spec"].get("nodeName") and not each["metadata"].get("deletionTimestamp"))
            == number, seconds)

    def settled(self, number):
        """So many pods run, and so many claims have devices; nothing is left of what was."""
        self.wait_bound(number)
        wait_for("claims in order", lambda: not claims.problems(self.api, NAMESPACE), 60)
        wait_for("no claims of pods that are gone", lambda: len(self.api.list(claims.CLAIMS.format(NAMESPACE)))
                 == len(self.watch.pods), 60)

    def test_a_deployment_is_placed_drained_and_made_anew(self):
        self.world(3)
        process = self.scheduler()
        self.api.load([deployment(2 * DEVICES)])
        self.settled(2 * DEVICES)
        self.connection.request("PATCH", "/api/v1/nodes/node-0", {"spec": {"unschedulable": True}}, MERGE)
        for pod in list(self.watch.pods.values()):
            if pod["spec"]["nodeName"] == "node-0":
                schedulers.delete_now(self.connection, f"{PODS}/{pod['metadata']['name']}")
        self.watch.wait("an empty node", lambda pods: all(
            each["spec"].get("nodeName") != "node-0" for each in pods.values()))
        self.settled(2 * DEVICES)
        # One more than there are devices: it waits, says why, and is placed when the node is back.
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/train"
        self.connection.request("PATCH", path, {"spec": {"replicas": 2 * DEVICES + 1}}, MERGE)
        self.watch.wait("a pod that waits", lambda pods: any(
            schedulers.condition_of(each).get("message") for each in pods.values() if not each["spec"].get("nodeName")))
        messages = [schedulers.condition_of(each)["message"] for each in self.watch.pods.values()
                    if not each["spec"].get("nodeName")]
        self.assertEqual(len(messages), 1)
        self.assertRegex(messages[0],
                         r"^0/3 nodes are available: 1 node\(s\) were unschedulable, 2 cannot allocate all claims\.")
        self.connection.request("PATCH", "/api/v1/nodes/node-0", {"spec": {"unschedulable": None}}, MERGE)
        self.settled(2 * DEVICES + 1)
        self.connection.request("PATCH", path, {"spec": {"replicas": 0}}, MERGE)
        self.watch.wait("no pods", lambda pods: not pods, 60)
        wait_for("no claims", lambda: not self.api.list(claims.CLAIMS.format(NAMESPACE)), 60)
        process.alive()

    def test_a_claim_that_pods_share_follows_its_users(self):
        self.world(2)
        process = self.scheduler()
        self.api.load([claims.claim("shared", NAMESPACE, claims.asks(2))])
        for name in ("first", "second"):
            self.api.load([schedulers.pod(name, OURS, NAMESPACE, automountServiceAccountToken=False,
                                          **claims.uses(resourceClaimName="shared"))])
            self.wait_bound(1 if name == "first" else 2)
        pods = self.watch.pods
        self.assertEqual(pods["first"]["spec"]["nodeName"], pods["second"]["spec"]["nodeName"])
        status = self.claim("shared")["status"]
        self.assertEqual({each["name"] for each in status["reservedFor"]}, {"first", "second"})
        self.assertEqual(len(status["allocation"]["devices"]["results"]), 2)
        self.assertEqual(claims.problems(self.api, NAMESPACE), [])
        schedulers.delete_now(self.connection, f"{PODS}/first")
        wait_for("one user", lambda: [each["name"] for each in self.claim("shared")["status"]["reservedFor"]] == ["second"])
        self.assertIn("allocation", self.claim("shared")["status"])
        schedulers.delete_now(self.connection, f"{PODS}/second")
        wait_for("no devices", lambda: "allocation" not in self.claim("shared").get("status", {}), 60)
        wait_for("no protection", lambda: claims.PROTECTION not in self.claim("shared")["metadata"].get("finalizers", []))
        process.alive()

    def half_done(self):
        """Pods that are not bound and whose claims have devices."""
        allocated = {item["metadata"]["name"] for item in self.api.list(claims.CLAIMS.format(NAMESPACE))
                     if "allocation" in item.get("status", {})}
        return sum(any(each.get("resourceClaimName") in allocated for each in item["status"].get("resourceClaimStatuses") or [])
                   for item in self.api.list(PODS) if not item["spec"].get("nodeName"))

    def test_killed_between_allocation_and_binding(self):
        print(f"seed {SEED}: KOORD_CLAIMS_SEED={SEED} kills at the same counts again")
        chance = random.Random(SEED)
        self.world(KILLED_NODES)
        process = self.scheduler(*SLOW)
        self.api.load([schedulers.pod(f"pod-{index}", OURS, NAMESPACE, automountServiceAccountToken=False,
                                      **claims.uses()) for index in range(KILLED_PODS)])
        half_done = 0
        for number in sorted(chance.sample(range(1, KILLED_PODS - 10), KILLS)):
            self.watch.wait(f"{number} pods bound", lambda _, number=number: self.watch.bound() >= number, 120)
            time.sleep(chance.random() / 10)  # anywhere between two writes
            process.alive()
            process.end()  # SIGKILL
            half_done += self.half_done()
            process = self.scheduler(*SLOW)
        self.settled(KILLED_PODS)
        process.alive()
        print(f"{KILLS} kills left {half_done} pods between their claims' allocation and their binding")
        self.assertGreater(half_done, 0)


if __name__ == "__main__":
    schedulers.skip_without_cluster(os.path.join(os.path.dirname(schedulers.KUBE_SCHEDULER), "kube-controller-manager"))
    kube_version.skip_before(34, "resource.k8s.io/v1")
    unittest.main(verbosity=2)

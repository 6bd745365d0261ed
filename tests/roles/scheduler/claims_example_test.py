#!/usr/bin/env python3
"""packaging/examples/gpus-by-claims.yaml on the sandbox with its scheduler: pods get a large GPU each by claims of their own; a
node is drained, its claims go with its pods, and who finds no GPU waits until the node is back."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import wait_for  # noqa: E402

EXAMPLE = os.path.join(TREE, "packaging", "examples", "gpus-by-claims.yaml")
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
PODS_WANTED, GPUS, LARGE = 6, 4, {"node-0000", "node-0001"}
MERGE = "application/merge-patch+json"


class Example(unittest.TestCase):
    def setUp(self):
        self.world = sandbox.Sandbox("--nodes=3", f"--load={EXAMPLE}")
        self.world.__enter__()
        self.addCleanup(self.world.__exit__)
        self.connection = kube_api.Api(self.world.kubeconfig).connect()
        self.addCleanup(self.connection.http.close)

    def pods(self):
        return self.connection.request("GET", PODS)["items"]

    def running(self):
        return [pod for pod in self.pods() if pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]

    def check(self):
        """Each running pod has a large GPU of its node for itself, and its claim says so; no claim is of a pod that has gone."""
        pods = {pod["metadata"]["uid"]: pod for pod in self.pods()}
        claims = {claim["metadata"]["name"]: claim for claim in self.connection.request("GET", CLAIMS)["items"]}
        given = []
        for pod in self.running():
            status, = pod["status"]["resourceClaimStatuses"]
            claim = claims[status["resourceClaimName"]]
            result, = claim["status"]["allocation"]["devices"]["results"]
            given.append((result["pool"], result["device"]))
            self.assertEqual([user["uid"] for user in claim["status"]["reservedFor"]], [pod["metadata"]["uid"]])
            self.assertIn("resource.kubernetes.io/delete-protection", claim["metadata"]["finalizers"])
            self.assertEqual(result["pool"], pod["spec"]["nodeName"])
            self.assertIn(result["pool"], LARGE)
        self.assertEqual(len(given), len(set(given)))
        for claim in claims.values():
            owner, = claim["metadata"]["ownerReferences"]
            self.assertIn(owner["uid"], pods)

    def run_with(self, count):
        wait_for(f"{count} pods with GPUs", lambda: len(self.running()) == count and len(self.pods()) == PODS_WANTED)
        wait_for("a claim a pod", lambda: len(self.connection.request("GET", CLAIMS)["items"]) == PODS_WANTED)
        self.check()

    def test_drained_and_back(self):
        self.run_with(PODS_WANTED)
        self.connection.request("PATCH", "/api/v1/nodes/node-0000", {"spec": {"unschedulable": True}}, MERGE)
        for pod in self.pods():
            if pod["spec"].get("nodeName") == "node-0000":
                name = pod["metadata"]["name"]
                self.connection.request("POST", f"{PODS}/{name}/eviction", {
                    "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}})
        self.run_with(GPUS)  # the other node's
        self.assertEqual({pod["spec"]["nodeName"] for pod in self.running()}, {"node-0001"})
        self.connection.request("PATCH", "/api/v1/nodes/node-0000", {"spec": {"unschedulable": None}}, MERGE)
        self.run_with(PODS_WANTED)


if __name__ == "__main__":
    unittest.main()

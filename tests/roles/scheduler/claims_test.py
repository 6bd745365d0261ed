#!/usr/bin/env python3
"""Pods with resource claims on the sandbox: each gets a device, who finds none waits and says why, a scheduler that is killed
and started anew gives nothing twice, and a device that is free again goes to who waits."""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, wait_for  # noqa: E402

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = GROUP + "/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
DRIVER, NODES = "gpu.tests.koord", 2


class Claims(unittest.TestCase):
    def setUp(self):
        self.world = sandbox.Sandbox("--roles=", f"--nodes={NODES}", "--node-capacity=cpu=8,memory=16Gi")
        self.world.__enter__()
        self.addCleanup(self.world.__exit__)
        self.connection = kube_api.Api(self.world.kubeconfig).connect()
        self.connection.request("POST", f"{GROUP}/deviceclasses", {
            "metadata": {"name": "gpus"}, "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]}})
        for node in self.connection.request("GET", "/api/v1/nodes")["items"]:
            name = node["metadata"]["name"]
            self.connection.request("POST", f"{GROUP}/resourceslices", {
                "metadata": {"name": f"{name}-gpus"},
                "spec": {"driver": DRIVER, "nodeName": name, "devices": [{"name": "gpu-0"}],
                         "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}})

    def scheduler(self):
        child = subprocess.Popen([KOORD, "--role=scheduler", f"--kubeconfig={self.world.kubeconfig}", "--leader-elect=false",
                                  "--port=0", "--secure-port=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def ask(self, name):
        self.connection.request("POST", CLAIMS, {
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpus", "allocationMode": "ExactCount",
                                                                          "count": 1}}]}}})
        self.connection.request("POST", PODS, {
            "metadata": {"name": name},
            "spec": {"schedulerName": "koord-scheduler", "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}})

    def node(self, name):
        return self.connection.request("GET", f"{PODS}/{name}")["spec"].get("nodeName")

    def message(self, name):
        conditions = self.connection.request("GET", f"{PODS}/{name}").get("status", {}).get("conditions", [])
        return next((c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), "")

    def claim(self, name):
        return self.connection.request("GET", f"{CLAIMS}/{name}")

    def check(self, name):
        """The pod is bound to the node of its device, and its claim says so."""
        wait_for(f"{name} bound", lambda: self.node(name))
        item = self.claim(name)
        results = item["status"]["allocation"]["devices"]["results"]
        self.assertEqual([(each["request"], each["driver"], each["pool"], each["device"]) for each in results],
                         [("gpu", DRIVER, self.node(name), "gpu-0")])
        self.assertEqual([(each["resource"], each["name"]) for each in item["status"]["reservedFor"]], [("pods", name)])
        self.assertIn("resource.kubernetes.io/delete-protection", item["metadata"]["finalizers"])

    def release(self, name):
        """The pod goes, and its claim has nothing: as Kubernetes' controller does it, if nobody else does."""
        self.connection.request("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})

        def free():
            item = self.claim(name)
            if "allocation" not in item.get("status", {}):
                return True
            try:
                self.connection.request("PUT", f"{CLAIMS}/{name}/status", {**item, "status": {}})
            except kube_api.ApiError as error:
                self.assertEqual(error.status, 409)
            return False

        wait_for(f"{name} without devices", free)

    def test_claims(self):
        first = self.scheduler()
        for name in ("a", "b"):
            self.ask(name)
        for name in ("a", "b"):
            self.check(name)
        self.assertNotEqual(self.node("a"), self.node("b"))
        self.ask("c")
        wait_for("why it waits", lambda: self.message("c"))
        self.assertRegex(self.message("c"), r"^0/2 nodes are available: 2 cannot allocate all claims\.")
        first.kill()
        first.wait()
        self.scheduler()
        self.ask("d")
        wait_for("why the later one waits", lambda: self.message("d"))
        self.assertFalse(self.node("c"))
        before = self.node("a")
        self.release("a")
        wait_for("one of those that wait", lambda: self.node("c") or self.node("d"))
        placed = "c" if self.node("c") else "d"
        self.check(placed)
        self.assertEqual(self.node(placed), before)
        self.check("b")


if __name__ == "__main__":
    unittest.main(verbosity=2)

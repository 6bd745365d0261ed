#!/usr/bin/env python3
"""A node with eight GPUs, as its Device says: pods get whole ones and parts of them, know which, and nobody gets another's, also after a
restart and from a Device of which one is sick."""
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
NODES = "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
ALLOCATED = "scheduling.koordinator.sh/device-allocated"
CORE, RATIO, MEMORY, GPU = (f"koordinator.sh/{name}" for name in ("gpu-core", "gpu-memory-ratio", "gpu-memory", "gpu"))


class Devices(unittest.TestCase):
    def setUp(self):
        world = sandbox.Sandbox("--roles=", "--nodes=1", f"--node-capacity=cpu=16,memory=8Gi,{GPU}=800,{CORE}=800,{RATIO}=800")
        world.__enter__()
        self.addCleanup(world.__exit__)
        self.kubeconfig = world.kubeconfig
        self.connection = kube_api.Api(world.kubeconfig).connect()
        self.node = self.connection.request("GET", NODES)["items"][0]["metadata"]["name"]
        self.child = None
        self.addCleanup(self.stop)

    def start(self):
        self.child = subprocess.Popen([KOORD, "--role=scheduler", f"--kubeconfig={self.kubeconfig}", "--leader-elect=false",
                                       "--port=0", "--secure-port=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        if self.child is not None:
            self.child.kill()
            self.child.wait()
        self.child = None

    def device(self, sick=()):
        return {"metadata": {"name": self.node}, "spec": {"devices": [
            {"type": "gpu", "id": f"GPU-{minor}", "minor": minor, "health": minor not in sick,
             "resources": {CORE: "100", RATIO: "100", MEMORY: "16Gi"}} for minor in range(8)]}}

    def create(self, name, requests):
        amounts = {"cpu": "100m", **requests}
        self.connection.request("POST", PODS, {
            "metadata": {"name": name},
            "spec": {"schedulerName": "koord-scheduler",
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}]}})

    def devices(self, name):
        """[(minor, id, core)] of a bound pod."""
        pod = self.connection.request("GET", f"{PODS}/{name}")
        if "nodeName" not in pod["spec"]:
            return None
        said = json.loads(pod["metadata"]["annotations"][ALLOCATED])
        return [(each["minor"], each["id"], each["resources"][CORE]) for each in said["gpu"]]

    def note(self, name):
        found = [event["note"] for event in self.connection.request("GET", EVENTS)["items"]
                 if event["regarding"]["name"] == name and event["reason"] == "FailedScheduling"]
        return found[-1] if found else None

    def test_devices_over_a_restart(self):
        self.connection.request("POST", DEVICES, self.device())
        self.start()
        self.create("part", {CORE: "50", RATIO: "50"})
        self.assertEqual(wait_for("part of a GPU", lambda: self.devices("part")), [(0, "GPU-0", "50")])
        self.create("whole", {GPU: "600"})
        self.assertEqual([minor for minor, _, _ in wait_for("six GPUs", lambda: self.devices("whole"))], list(range(1, 7)))
        self.stop()
        self.start()
        self.create("two", {GPU: "200"})
        wait_for("an event", lambda: self.note("two"))
        self.assertIn("Insufficient gpu devices", self.note("two"))
        self.connection.request("DELETE", f"{PODS}/two", {"gracePeriodSeconds": 0})
        self.create("other", {CORE: "50", RATIO: "50"})
        self.assertEqual(len(wait_for("part of a GPU", lambda: self.devices("other"))), 1)
        # The last one that is free falls sick, and recovers.
        self.connection.request("PATCH", f"{DEVICES}/{self.node}", {"spec": self.device(sick=[7])["spec"]}, "application/merge-patch+json")
        free = [minor for minor in (0, 7) if minor != self.devices("other")[0][0]]
        self.create("last", {GPU: "100"})
        wait_for("an event", lambda: self.note("last"))
        self.assertIn("Insufficient gpu devices", self.note("last"))
        self.connection.request("PATCH", f"{DEVICES}/{self.node}", {"spec": self.device()["spec"]}, "application/merge-patch+json")
        if 7 in free:
            self.assertEqual(wait_for("the last GPU", lambda: self.devices("last")), [(7, "GPU-7", "100")])


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""What pods ask for and their profile does not serve: where it leaves DeviceShare and NodeNUMAResource out, a pod with devices and an LSR pod
are bound and told, and explain says so."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, wait_for  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
DEVICES = "the pod asks for devices, which is the plugin DeviceShare's: the profile leaves it out"
HINT = {"scheduling.koordinator.sh/device-allocate-hint": "{}"}
OWN_CPUS = ("the pod asks for CPUs of its own (LSE or LSR), which is the plugin NodeNUMAResource's: the profile leaves it out")
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: koord-scheduler
"""


class Unserved(unittest.TestCase):
    def start(self, *flags):
        world = sandbox.Sandbox("--roles=scheduler", "--nodes=1", "--node-capacity=cpu=4,memory=8Gi", *flags)
        world.__enter__()
        self.addCleanup(world.__exit__)
        self.kubeconfig = world.kubeconfig
        self.connection = kube_api.Api(world.kubeconfig).connect()

    def create(self, name, labels=None, annotations=None):
        self.connection.request("POST", PODS, {
            "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
            "spec": {"schedulerName": "koord-scheduler",
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}})

    def is_bound(self, name):
        return self.connection.request("GET", f"{PODS}/{name}")["spec"].get("nodeName")

    def notes(self, name, reason):
        return [event["note"] for event in self.connection.request("GET", EVENTS)["items"]
                if event["regarding"]["name"] == name and event["reason"] == reason]

    def explained(self, name, *flags):
        return subprocess.run([KOORD, "explain", "pod", f"default/{name}", f"--kubeconfig={self.kubeconfig}", "--quiet", *flags],
                              capture_output=True, text=True, timeout=60, check=True).stdout

    def test_who_is_not_served_is_told(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
            config.write(CONFIG)
            config.flush()
            self.start(f"--config={config.name}")
            self.create("own", {"koordinator.sh/qosClass": "LSR"})
            wait_for("a node", lambda: self.is_bound("own"))
            wait_for("an event", lambda: self.notes("own", "NotServed"))
            self.assertEqual(self.notes("own", "NotServed"), [f"bound without it: {OWN_CPUS}"])
            self.assertIn(f"Note: {OWN_CPUS}\n", self.explained("own", f"--config={config.name}"))
            self.create("device", annotations=HINT)
            wait_for("a node", lambda: self.is_bound("device"))
            wait_for("an event", lambda: self.notes("device", "NotServed"))
            self.assertEqual(self.notes("device", "NotServed"), [f"bound without it: {DEVICES}"])
            self.create("plain")
            wait_for("its event", lambda: self.notes("plain", "Scheduled"))
            self.assertEqual(self.notes("plain", "NotServed"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)

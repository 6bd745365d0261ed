#!/usr/bin/env python3
"""LSR pods get CPUs of their own, written into them before they are bound; a scheduler that starts anew gives nobody another's."""
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
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
STATUS = "scheduling.koordinator.sh/resource-status"


class WholeCpus(unittest.TestCase):
    def setUp(self):
        world = sandbox.Sandbox("--roles=", "--nodes=1", "--node-capacity=cpu=16,memory=8Gi")  # 8 are reported
        world.__enter__()
        self.addCleanup(world.__exit__)
        self.kubeconfig = world.kubeconfig
        self.connection = kube_api.Api(world.kubeconfig).connect()
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

    def report_topology(self):
        node = self.connection.request("GET", NODES)["items"][0]["metadata"]["name"]
        detail = [{"id": cpu, "core": cpu // 2, "socket": 0, "node": 0} for cpu in range(8)]
        self.connection.request("POST", TOPOLOGIES, {
            "metadata": {"name": node, "annotations": {"node.koordinator.sh/cpu-topology": json.dumps({"detail": detail})}},
            "topologyPolicies": ["None"], "zones": []})

    def create(self, name, cpu):
        self.connection.request("POST", PODS, {
            "metadata": {"name": name, "labels": {"koordinator.sh/qosClass": "LSR"}},
            "spec": {"schedulerName": "koord-scheduler",
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}]}})

    def cpus(self, name):
        pod = self.connection.request("GET", f"{PODS}/{name}")
        if "nodeName" not in pod["spec"]:
            return None
        return json.loads(pod["metadata"]["annotations"][STATUS])["cpuset"]

    def notes(self, name):
        return [event["note"] for event in self.connection.request("GET", EVENTS)["items"]
                if event["regarding"]["name"] == name and event["reason"] == "FailedScheduling"]

    def test_whole_cpus_over_a_restart(self):
        self.start()
        self.create("first", 4)
        wait_for("an event", lambda: self.notes("first"))
        self.assertIn("node(s) invalid CPU Topology", self.notes("first")[0])
        self.report_topology()
        wait_for("its CPUs", lambda: self.cpus("first"))
        self.assertEqual(self.cpus("first"), "0-3")
        self.stop()
        self.start()
        self.create("second", 2)
        wait_for("its CPUs", lambda: self.cpus("second"))
        self.assertEqual(self.cpus("second"), "4-5")
        self.create("third", 4)
        wait_for("an event", lambda: self.notes("third"))
        self.assertIn("not enough cpus available to satisfy request", self.notes("third")[0])
        self.connection.request("DELETE", f"{PODS}/first?gracePeriodSeconds=0")
        wait_for("its CPUs", lambda: self.cpus("third"))
        self.assertEqual(self.cpus("third"), "0-3")


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""A scheduler whose profile has LoadAwareScheduling, on a cluster without the definition of NodeMetrics: pods are placed; when
the definition comes, what NodeMetrics say counts."""
import datetime
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, wait_for  # noqa: E402

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "nodemetrics.slo.koordinator.sh"
METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
PODS = "/api/v1/namespaces/default/pods"
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: LoadAwareScheduling
    args: {usageThresholds: {cpu: 65}}
  plugins:
    filter: {enabled: [{name: LoadAwareScheduling}]}
"""


class Definitions(unittest.TestCase):
    def setUp(self):
        world = sandbox.Sandbox("--roles=", "--nodes=1", "--node-capacity=cpu=4,memory=8Gi")
        world.__enter__()
        self.addCleanup(world.__exit__)
        self.connection = kube_api.Api(world.kubeconfig).connect()
        definition = self.connection.request("GET", f"{CRDS}/{NAME}")  # the sandbox has it
        self.definition = {"metadata": {"name": NAME}, "spec": definition["spec"]}
        self.connection.request("DELETE", f"{CRDS}/{NAME}")
        wait_for("no definition", lambda: not self.is_defined())
        config = tempfile.NamedTemporaryFile("w", suffix=".yaml")  # pylint: disable=consider-using-with
        self.addCleanup(config.close)
        config.write(CONFIG)
        config.flush()
        child = subprocess.Popen([KOORD, "--role=scheduler", f"--kubeconfig={world.kubeconfig}", f"--config={config.name}",
                                  "--port=0", "--secure-port=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)

    def create(self, name):
        self.connection.request("POST", PODS, {
            "metadata": {"name": name},
            "spec": {"schedulerName": "koord-scheduler",
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}]}})

    def pod(self, name):
        return self.connection.request("GET", f"{PODS}/{name}")

    def message(self, name):
        conditions = self.pod(name).get("status", {}).get("conditions", [])
        return next((c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), "")

    def is_defined(self):
        try:
            return self.connection.request("GET", METRICS)
        except kube_api.ApiError as error:
            self.assertIn(error.status, (404, 429))
            return None

    def test_node_metrics_count_from_when_they_are_defined(self):
        self.create("before")
        wait_for("a pod without the definition", lambda: self.pod("before")["spec"].get("nodeName"))
        self.connection.request("POST", CRDS, self.definition)
        wait_for("the definition", self.is_defined)
        node = self.connection.request("GET", "/api/v1/nodes")["items"][0]["metadata"]["name"]
        self.connection.request("POST", METRICS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric",
                                                  "metadata": {"name": node}, "spec": {}})
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.connection.request("PATCH", f"{METRICS}/{node}/status", {"status": {
            "updateTime": now, "nodeMetric": {"nodeUsage": {"resources": {"cpu": "3900m", "memory": "1Gi"}}}}}, "application/merge-patch+json")
        # It is asked for again within 45 s: until then pods are placed.
        made = []

        def refused():
            made.append(f"after-{len(made)}")
            self.create(made[-1])
            wait_for("a verdict", lambda: self.pod(made[-1])["spec"].get("nodeName") or self.message(made[-1]))
            return self.message(made[-1])

        self.assertIn("node(s) cpu usage exceed threshold", wait_for("a node that is full by its NodeMetric", refused))


if __name__ == "__main__":
    unittest.main(verbosity=2)

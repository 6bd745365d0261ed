#!/usr/bin/env python3
"""The co-location loop on the sandbox: scheduler and manager, and nodes whose agents are simulated. What services leave is
lent, batch pods are placed into it, slowed and evicted when services want more, and come back."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, free_port, wait_for  # noqa: E402

METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/koordinator-mutating-webhook-configuration"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
BATCH_CPU, BATCH_MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
NODES = 2
PACKAGING = os.path.join(TREE, "packaging")


def deployment(name, replicas, labels, requests, **annotations):
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
        "metadata": {"labels": {"app": name, **labels},
                     "annotations": {f"sandbox.koordinator.sh/{key}": value for key, value in annotations.items()}},
        "spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": requests, "limits": requests}}]}}}}


SERVICE = {"koordinator.sh/qosClass": "LS"}


class TheLoop(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="koord-loop.")
        self.addCleanup(self.folder.cleanup)
        trace = os.path.join(self.folder.name, "trace.csv")
        with open(trace, "w", encoding="utf-8") as file:
            file.write("even,0,30,30\neven,86400,30,30\n")
        place = {"WEBHOOK_HOST": "127.0.0.1", "WEBHOOK_CERT_DIR": os.path.join(self.folder.name, "certificates")}
        with unittest.mock.patch.dict(os.environ, place):
            self.world = sandbox.Sandbox(
                "--roles=scheduler,manager", "--manager.rest-config-qps=0", f"--manager.webhook-port={free_port()}",
                f"--nodes={NODES}", "--node-capacity=cpu=10,memory=100Gi", f"--trace={trace}", "--trace-speed=600",
                "--agent-report-interval=200ms", "--load", *(os.path.join(PACKAGING, *path) for path in (
                    ("manifests", "10-priority-classes.yaml"), ("manifests", "50-webhooks.yaml"), ("demo", "profile.yaml"))))
        self.world.__enter__()
        self.addCleanup(self.world.__exit__)
        self.api = kube_api.Api(self.world.kubeconfig)

    def request(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.api.connect().request(method, path, body, kind)

    def lent(self):
        return [node["status"]["allocatable"].get(BATCH_CPU) for node in self.api.list("/api/v1/nodes")]

    def batch(self):
        """The batch pods' phases."""
        return sorted(pod["status"]["phase"] for pod in self.api.list(PODS) if pod["metadata"]["labels"]["app"] == "crunch")

    def used(self):
        """What each batch pod that is reported uses, in milli-CPUs."""
        used = [pod["podUsage"]["resources"]["cpu"] for metric in self.api.list(METRICS)
                for pod in metric.get("status", {}).get("podsMetric", []) if pod["name"].startswith("crunch")]
        return [int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000 for cpu in used]

    def top(self):
        done = subprocess.run([KOORD, "top", "--cluster", "--once", f"--kubeconfig={self.world.kubeconfig}"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_closes(self):
        self.request("POST", "/api/v1/namespaces/koordinator-system/configmaps", {
            "metadata": {"name": "slo-controller-config"}, "data": {
                "colocation-config": json.dumps({"enable": True, "cpuReclaimThresholdPercent": 65}),
                "resource-threshold-config": json.dumps({"clusterStrategy": {
                    "enable": True, "cpuSuppressThresholdPercent": 65, "cpuEvictBESatisfactionLowerPercent": 30,
                    "cpuEvictBESatisfactionUpperPercent": 50}})}})
        self.request("POST", DEPLOYMENTS, deployment("web", 2, SERVICE, {"cpu": "5", "memory": "10Gi"}))
        wait_for("65% of 10, less 30% of 5 and the system's 0.2", lambda: self.lent() == ["4800"] * NODES)
        metric = self.api.list(METRICS)[0]["status"]
        age = time.time() - time.mktime(time.strptime(metric["updateTime"], "%Y-%m-%dT%H:%M:%SZ")) + time.timezone
        self.assertLess(abs(age), 30)  # however fast the trace is played
        self.assertEqual(metric["nodeMetric"]["systemUsage"]["resources"], {"cpu": "200m", "memory": "4Gi"})
        self.assertEqual([one["duration"] for one in metric["nodeMetric"]["aggregatedNodeUsages"]], ["5m0s", "10m0s", "30m0s"])
        for node in self.api.list("/api/v1/nodes"):
            self.assertIn("nothing is measured", node["metadata"]["annotations"]["sandbox.koordinator.sh/simulated-usage"])

        with self.subTest("batch pods are admitted by a profile, placed into what is lent, and run at full speed"):
            wait_for("the webhooks are asked", lambda: self.request("GET", MUTATING).get("webhooks"))
            self.request("POST", DEPLOYMENTS, deployment("crunch", 4, {"colocation": "batch"}, {"cpu": "2", "memory": "2Gi"}))
            wait_for("placed", lambda: self.batch() == ["Running"] * 4)
            pod = next(pod for pod in self.api.list(PODS) if pod["metadata"]["labels"]["app"] == "crunch")
            self.assertEqual(pod["metadata"]["labels"]["koordinator.sh/qosClass"], "BE")
            self.assertEqual(pod["spec"]["containers"][0]["resources"]["requests"], {BATCH_CPU: "2k", BATCH_MEMORY: "2Gi"})
            self.assertEqual(pod["spec"]["priorityClassName"], "koord-batch")
            wait_for("their usage", lambda: self.used() == [2000] * 4)
            self.assertEqual(self.lent(), ["4800"] * NODES)  # they do not count
            self.request("PATCH", f"{DEPLOYMENTS}/crunch/scale", {"spec": {"replicas": 5}})
            wait_for("one too many", lambda: "2 Insufficient kubernetes.io/batch-cpu (0/2 nodes)" in self.top())
            self.assertIn("2 nodes: 2 ready, 2 report; 1 pod wait", self.top())
            self.assertIn("lent to batch: CPU 9.6 cores, 8.0 asked for, 8.0 used", self.top())
            self.request("PATCH", f"{DEPLOYMENTS}/crunch/scale", {"spec": {"replicas": 4}})

        with self.subTest("services want more: less is lent, and batch pods are slowed"):
            self.request("POST", DEPLOYMENTS, deployment("rush", 2, SERVICE, {"cpu": "2", "memory": "1Gi"}, load="busy"))
            wait_for("2 less", lambda: self.lent() == ["2800"] * NODES)
            wait_for("70% of their speed", lambda: self.used() == [1400] * 4)
            self.assertEqual(self.batch(), ["Running"] * 4)

        with self.subTest("still more: one of two is evicted, and waits"):
            self.request("PATCH", f"{DEPLOYMENTS}/rush/scale", {"spec": {"replicas": 4}})
            wait_for("less again", lambda: self.lent() == ["800"] * NODES)
            wait_for("evicted", lambda: self.batch() == ["Pending"] * 2 + ["Running"] * 2)
            events = [event["message"] for event in self.api.list("/api/v1/namespaces/default/events") if event["reason"] == "evictPodSuccess"]
            self.assertEqual(len(events), 2)
            self.assertIn("trigger by koordlet feature BECPUEvict", events[0])
            wait_for("40% of its speed", lambda: self.used() == [800] * 2)

        with self.subTest("services are done: all is back"):
            self.request("DELETE", f"{DEPLOYMENTS}/rush")
            wait_for("lent again", lambda: self.lent() == ["4800"] * NODES)
            wait_for("placed again", lambda: self.batch() == ["Running"] * 4)
            wait_for("full speed", lambda: self.used() == [2000] * 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Migrations against the sandbox, with koord's scheduler: a pod is moved through a Reservation, or says why not."""
import os
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.join(TREE, "tests", "support")]

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from descheduler_test import CRDS, PODS, Descheduler  # noqa: E402
from sandbox import wait_for  # noqa: E402

JOBS = "/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs"
RESERVATIONS = "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
# Pods leave nodes whose taints they do not tolerate, through the evictor that every profile has.
CONFIG = """apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 1s
healthzBindAddress: 127.0.0.1:{port}
metricsBindAddress: 127.0.0.1:{port}
leaderElection: {{leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}}
profiles:
- name: koord-descheduler
  plugins:
    deschedule: {{enabled: [{{name: RemovePodsViolatingNodeTaints}}]}}
- name: second
  plugins: {{}}
"""

METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
# One pass: a report that does not change would have more pods go with each.
BALANCE = CONFIG.replace("deschedulingInterval: 1s", "deschedulingInterval: 0s").replace(
    "    deschedule: {{enabled: [{{name: RemovePodsViolatingNodeTaints}}]}}\n", """\
    balance: {{enabled: [{{name: LowNodeLoad}}]}}
  pluginConfig:
  - name: LowNodeLoad
    args:
      lowThresholds: {{cpu: 45}}
      highThresholds: {{cpu: 75}}
      anomalyCondition: {{consecutiveAbnormalities: 1}}
""")


def millicores(text):
    """Of a quantity of CPU."""
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)


class World(unittest.TestCase):
    """Three nodes, koord's scheduler, and a Deployment of six pods that run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-migration.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        world = sandbox.Sandbox("--nodes=3", "--roles=scheduler", "--load", *CRDS)
        world.__enter__()
        self.addCleanup(world.__exit__)
        self.kubeconfig = world.kubeconfig
        self.api = kube_api.Api(self.kubeconfig)
        self.nodes = sorted(node["metadata"]["name"] for node in self.api.list("/api/v1/nodes"))
        self.request("POST", "/apis/apps/v1/namespaces/default/deployments", {
            "metadata": {"name": "web"}, "spec": {
                "replicas": 6, "selector": {"matchLabels": {"app": "web"}}, "template": {
                    "metadata": {"labels": {"app": "web"}}, "spec": {
                        "schedulerName": "koord-scheduler", "terminationGracePeriodSeconds": 0,
                        "topologySpreadConstraints": [{"maxSkew": 3, "topologyKey": "kubernetes.io/hostname",
                                                       "whenUnsatisfiable": "ScheduleAnyway"}],
                        "containers": [{"name": "main", "image": "none", "args": ["serve"],
                                        "resources": {"requests": {"cpu": "100m"}}}]}}}})
        wait_for("pods run", lambda: len([pod for pod in self.pods() if self.is_ready(pod)]) == 6)
        # The first one has most pods: another may have none.
        self.nodes.sort(key=lambda node: -len([pod for pod in self.pods() if pod["spec"]["nodeName"] == node]))
        self.running = []
        self.addCleanup(lambda: [one.end(True) for one in self.running if one.child.poll() is None])

    def request(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.api.connect().request(method, path, body, kind)

    def start(self, text=CONFIG):
        self.running.append(Descheduler(self.kubeconfig, self.folder, text))
        return self.running[-1]

    def pods(self):
        return self.api.list(PODS)

    @staticmethod
    def is_ready(pod):
        return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))

    def phase(self, name):
        return self.request("GET", f"{JOBS}/{name}").get("status", {}).get("phase")

    def report(self, node, percent, pods=(), each=0):
        """A node's NodeMetric: so much of its CPU is used, `each` of it by each of the pods."""
        cpus = millicores(self.request("GET", f"/api/v1/nodes/{node}")["status"]["allocatable"]["cpu"])
        usage = lambda part: {"resources": {"cpu": f"{cpus * part // 100}m", "memory": "1Mi"}}  # noqa: E731
        self.request("POST", METRICS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": node}})
        self.request("PATCH", f"{METRICS}/{node}/status", {"status": {
            "updateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "nodeMetric": {"nodeUsage": usage(percent), "systemUsage": usage(percent - each * len(pods))},
            "podsMetric": [{"namespace": "default", "name": pod["metadata"]["name"], "podUsage": usage(each)} for pod in pods]}})


class Migrations(World):
    def test_a_pod_is_moved_through_a_reservation(self):
        self.start()
        old = self.pods()[0]
        self.request("POST", JOBS, {"metadata": {"name": "move"}, "spec": {"ttl": "5m", "podRef": {
            "namespace": "default", "name": old["metadata"]["name"]}}})
        wait_for("the job ends", lambda: self.phase("move") in ("Succeeded", "Failed"))
        job = self.request("GET", f"{JOBS}/move")
        self.assertEqual((job["status"]["phase"], job["status"]["status"]), ("Succeeded", "Complete"), job["status"])
        self.assertEqual(job["metadata"]["annotations"]["descheduler.koordinator.sh/passed-arbitration"], "true")
        self.assertEqual(job["spec"]["podRef"]["uid"], old["metadata"]["uid"])
        conditions = {each["type"]: each["status"] for each in job["status"]["conditions"]}
        self.assertEqual(set(conditions), {"ReservationCreated", "ReservationScheduled", "Eviction", "PodBoundReservation",
                                           "ReservationBound", "BoundPodReady"})
        self.assertEqual(set(conditions.values()), {"True"})
        self.assertNotEqual(job["status"]["nodeName"], old["spec"]["nodeName"])
        reservation = self.request("GET", f"{RESERVATIONS}/{job['metadata']['uid']}")
        self.assertEqual(reservation["status"]["phase"], "Succeeded")
        self.assertEqual(reservation["metadata"]["labels"]["app.kubernetes.io/created-by"], "koord-descheduler")
        self.assertEqual(reservation["spec"]["template"]["spec"]["containers"][0]["args"], ["serve"])
        new = job["status"]["podRef"]["name"]
        names = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in self.pods()}
        self.assertNotIn(old["metadata"]["name"], names)
        self.assertEqual(names[new], job["status"]["nodeName"])
        reasons = ["ReservationCreated", "ReservationScheduled", "Evicting", "EvictComplete", "PodBoundReservation", "Complete"]
        wait_for("events", lambda: set(reasons) <= {event["reason"] for event in self.api.list(EVENTS)
                                                    if event["regarding"].get("name") == "move"})
        # With the job goes its reservation.
        self.request("DELETE", f"{JOBS}/move")
        wait_for("the reservation goes", lambda: not self.api.list(RESERVATIONS))

    def test_a_plugin_has_pods_moved_and_a_killed_process_is_followed_by_another(self):
        one = self.start()
        node = self.nodes[0]
        count = len([pod for pod in self.pods() if pod["spec"]["nodeName"] == node])
        self.assertGreater(count, 0)
        self.request("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": [{"key": "old", "effect": "NoSchedule"}]}})
        wait_for("a job is made", lambda: self.api.list(JOBS))
        one.end(kill=True)
        self.start()
        wait_for("a pod is moved", lambda: any(job.get("status", {}).get("phase") == "Succeeded" for job in self.api.list(JOBS)))
        made = [job for job in self.api.list(JOBS) if job["status"].get("phase") == "Succeeded"][0]
        annotations = made["metadata"]["annotations"]
        self.assertEqual(annotations["koordinator.sh/evict-trigger"], "RemovePodsViolatingNodeTaints")
        self.assertNotEqual(made["status"]["nodeName"], node)
        wait_for("all are ready", lambda: len([pod for pod in self.pods() if self.is_ready(pod)]) == 6)

    def test_a_hot_node_is_relieved_through_a_reservation(self):
        hot = self.nodes[0]
        there = [pod for pod in self.pods() if pod["spec"]["nodeName"] == hot]
        self.assertGreater(len(there), 0)
        self.report(hot, 90, there[:3], 20)
        for node in self.nodes[1:]:
            self.report(node, 10)
        self.start(BALANCE)
        wait_for("a job ends", lambda: [job for job in self.api.list(JOBS) if job.get("status", {}).get("phase") in ("Succeeded", "Failed")])
        [job] = self.api.list(JOBS)  # one is enough
        self.assertEqual(job["status"]["phase"], "Succeeded", job["status"])
        self.assertEqual(job["metadata"]["annotations"]["koordinator.sh/evict-trigger"], "LowNodeLoad")
        self.assertEqual(job["metadata"]["annotations"]["koordinator.sh/evict-reason"],
                         "node is overutilized, node cpu usage(90.00%)>threshold(75.00%)")
        self.assertIn(job["spec"]["podRef"]["name"], [pod["metadata"]["name"] for pod in there])
        self.assertNotEqual(job["status"]["nodeName"], hot)
        self.assertEqual(len([pod for pod in self.pods() if pod["spec"].get("nodeName") == hot]), len(there) - 1)

    def test_a_pod_that_must_stay_fails_the_job(self):
        self.start()
        bare = {"metadata": {"name": "bare"}, "spec": {"nodeName": self.nodes[0], "containers": [{"name": "c", "image": "none"}]}}
        self.request("POST", PODS, bare)
        for name, pod in (("bare", "bare"), ("gone", "nobody")):
            self.request("POST", JOBS, {"metadata": {"name": name}, "spec": {"podRef": {"namespace": "default", "name": pod}}})
            wait_for("the job fails", lambda name=name: self.phase(name) == "Failed")
        self.assertEqual([self.request("GET", f"{JOBS}/{name}")["status"]["reason"] for name in ("bare", "gone")],
                         ["ForbiddenMigratePod", "MissingPod"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Two teams share a node: one borrows what the other does not use, and gives it back when it is wanted; quotas, koord explain and
koord top say so."""
import os
import re
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
QUOTAS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{}/elasticquotas"
NAME = "quota.scheduling.koordinator.sh/name"
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: ElasticQuota
    args: {quotaGroupNamespace: default, monitorAllQuotas: true, delayEvictTime: 1s}
  plugins:
    preFilter: {enabled: [{name: ElasticQuota}]}
    postFilter: {enabled: [{name: ElasticQuota}]}
    reserve: {enabled: [{name: ElasticQuota}]}
"""


class Quotas(unittest.TestCase):
    def setUp(self):
        world = sandbox.Sandbox("--roles=", "--nodes=1", "--node-capacity=cpu=8,memory=8Gi")
        world.__enter__()
        self.addCleanup(world.__exit__)
        self.kubeconfig = world.kubeconfig
        self.connection = kube_api.Api(world.kubeconfig).connect()
        self.config = tempfile.NamedTemporaryFile("w", suffix=".yaml")  # pylint: disable=consider-using-with
        self.addCleanup(self.config.close)
        self.config.write(CONFIG)
        self.config.flush()
        child = subprocess.Popen([KOORD, "--role=scheduler", f"--config={self.config.name}", f"--kubeconfig={self.kubeconfig}",
                                  "--port=0", "--secure-port=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)

    def share(self, name, least, most):
        self.connection.request("POST", QUOTAS.format("default"), {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": name},
            "spec": {"min": {"cpu": str(least)}, "max": {"cpu": str(most)}}})

    def create(self, name, team):
        self.connection.request("POST", PODS, {
            "metadata": {"name": name, "labels": {NAME: team}},
            "spec": {"schedulerName": "koord-scheduler", "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}})

    def bound(self, team):
        return sorted(pod["metadata"]["name"] for pod in self.connection.request("GET", PODS)["items"]
                      if pod["metadata"]["labels"][NAME] == team and pod["spec"].get("nodeName"))

    def used(self, name):
        return self.connection.request("GET", f"{QUOTAS.format('default')}/{name}").get("status", {}).get("used", {}).get("cpu")

    def run_koord(self, *words):
        return subprocess.run([KOORD, *words, f"--kubeconfig={self.kubeconfig}"], capture_output=True, text=True, timeout=60, check=True).stdout

    def test_one_borrows_and_the_other_takes_back(self):
        self.share("team-a", 4, 8)
        self.share("team-b", 4, 8)
        built_in = {"koordinator-root-quota", "koordinator-system-quota", "koordinator-default-quota"}
        wait_for("the built-in quotas", lambda: built_in <= {
            quota["metadata"]["name"] for quota in self.connection.request("GET", QUOTAS.format("default"))["items"]})
        for number in range(6):
            self.create(f"a{number}", "team-a")
        wait_for("six pods of team-a", lambda: len(self.bound("team-a")) == 6)
        wait_for("what team-a uses", lambda: self.used("team-a") == "6")
        # Nobody wants it back: more than the delay passes.
        self.create("first-b", "team-b")
        wait_for("what team-b uses", lambda: self.used("team-b") == "1")
        top = self.run_koord("top", "--cluster", "--once")
        self.assertRegex(top, r"team-a +4\.0 +6\.0 +6\.0 +0\.0 +2\.0 ")
        self.assertRegex(top, r"team-b +4\.0 +1\.0 +1\.0 +3\.0 +0\.0 ")
        self.assertEqual(len(self.bound("team-a")), 6)

        for number in range(3):
            self.create(f"b{number}", "team-b")
        wait_for("all pods of team-b", lambda: len(self.bound("team-b")) == 4)
        self.assertEqual(len(self.bound("team-a")), 4)
        wait_for("what team-a uses now", lambda: self.used("team-a") == "4")
        self.create("late", "team-a")
        explained = wait_for("an explanation", lambda: re.search(
            r"It waits for the quota team-a: cpu 4 of 4 used\.", self.run_koord("explain", "pod", "default/late", "--quiet",
                                                                                f"--config={self.config.name}")))
        self.assertTrue(explained)


if __name__ == "__main__":
    unittest.main(verbosity=2)

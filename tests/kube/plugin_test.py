#!/usr/bin/env python3
"""`kubectl koord ...`: the real kubectl finds the plugin and completes it, on a real API server; what it says is whole."""
import json
import os
import re
import subprocess
import tempfile
import time
import unittest

import schedulers
from sandbox import KOORD, KUBECTL, Kubectl, wait_for

import kube_api

NAMESPACE = "plugin"
BATCH = {"kubernetes.io/batch-cpu": "3000", "kubernetes.io/batch-memory": "4Gi"}
GROUPS = f"""
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: PodGroup
metadata: {{name: train, namespace: {NAMESPACE}}}
spec: {{minMember: 2}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {{name: team-a, namespace: {NAMESPACE}}}
spec: {{min: {{cpu: 4}}, max: {{cpu: 8}}}}
---
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Reservation
metadata: {{name: plugin-kept}}
spec: {{owners: [{{labelSelector: {{matchLabels: {{a: b}}}}}}], template: {{spec: {{containers: [{{name: c, image: none}}]}}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: slo-controller-config, namespace: koordinator-system}}
data: {{colocation-config: '{{"enable":true,"cpuReclaimThresholdPercent":60}}'}}
"""


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def metric(node):
    return {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": node}, "spec": {}}


STATUS = {"updateTime": None, "podsMetric": [], "nodeMetric": {
    "nodeUsage": {"resources": {"cpu": "2", "memory": "4Gi"}}, "systemUsage": {"resources": {"cpu": "500m", "memory": "1Gi"}}}}


class PluginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        cls.kubectl = Kubectl(schedulers.KUBECONFIG)
        cls.folder = tempfile.TemporaryDirectory(prefix="koord-plugin.")
        cls.addClassCleanup(cls.folder.cleanup)
        for name in ("kubectl-koord", "kubectl_complete-koord"):
            os.symlink(os.path.abspath(KOORD), os.path.join(cls.folder.name, name))
        schedulers.ensure_namespaces(cls.api, NAMESPACE, "koordinator-system")
        schedulers.clean(cls.api, [NAMESPACE])
        cls.addClassCleanup(schedulers.clean, cls.api, [NAMESPACE])
        crds = subprocess.run([KOORD, "crds"], stdout=subprocess.PIPE, text=True, check=True).stdout
        cls.kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=crds)
        cls.kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        cls.connection = cls.api.connect()
        wait_for("the kinds are served", lambda: cls.groups_are_taken())
        cls.addClassCleanup(cls.kubectl.run, "delete", "--wait=false", "-f", "-", stdin=GROUPS, check=False)
        member = schedulers.pod("member", "nobody", NAMESPACE)
        member["metadata"]["labels"] = {"pod-group.scheduling.sigs.k8s.io": "lost"}
        job = schedulers.pod("job", "nobody", NAMESPACE, nodeName="plugin-a")
        job["metadata"]["labels"] = {"koordinator.sh/qosClass": "BE"}
        amounts = {"kubernetes.io/batch-cpu": "4000"}
        job["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
        cls.api.load([schedulers.node("plugin-a", cpu="10", memory="20Gi", more=BATCH), schedulers.node("plugin-b"), member, job])
        path = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
        cls.addClassCleanup(cls.kubectl.run, "delete", "--wait=false", "nodemetrics", "plugin-a", check=False)
        cls.kubectl.run("delete", "--ignore-not-found", "nodemetrics", "plugin-a")
        cls.connection.request("POST", path, metric("plugin-a"))
        cls.connection.request("PATCH", f"{path}/plugin-a/status", {"status": {**STATUS, "updateTime": now()}},
                               content_type="application/merge-patch+json")

    @classmethod
    def groups_are_taken(cls):
        done = subprocess.run([KUBECTL, "apply", "-f", "-"], input=GROUPS, text=True, capture_output=True, env=cls.kubectl.env, timeout=60)
        return done.returncode == 0

    def run_plugin(self, *words, code=0):
        env = {**self.kubectl.env, "PATH": f"{self.folder.name}:{os.environ['PATH']}"}
        done = subprocess.run([KUBECTL, *words], text=True, capture_output=True, env=env, timeout=120)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def koord(self, *words, code=0):
        return self.run_plugin("koord", *words, code=code)

    def test_help_and_completion(self):
        self.assertIn("  kubectl koord lent ", self.koord())
        self.assertIn("koord", self.run_plugin("plugin", "list"))
        told = self.run_plugin("__complete", "koord", "res")
        self.assertIn("reservations\t", told)
        self.assertIn("--output=", self.run_plugin("__complete", "koord", "lent", "--out"))

    def test_lent_nodes_and_top(self):
        lent = self.koord("lent")
        self.assertIn("lent to batch: CPU 3.0 cores, 4.0 asked for, 0.0 used\n", lent)
        self.assertRegex(lent, r"(?m)^plugin-a +3\.0 +4\.0 +0\.0 +0\.0 ! +4\.0Gi")
        self.assertRegex(self.koord("nodes"), r"(?m)^plugin-a .*4\.0/3\.0!")
        self.assertIn("2 nodes: 2 ready, 1 report, 1 over-asked", self.koord("top", "--once"))
        view = json.loads(self.koord("nodes", "plugin-a", "-o", "json"))
        self.assertEqual([n["name"] for n in view["nodes"]], ["plugin-a"])
        self.assertTrue(view["nodes"][0]["overAsked"])
        self.assertIn("name: plugin-a\n", self.koord("nodes", "-o", "yaml"))
        self.assertIn("there is no node plugin-c among 2: did you mean plugin-a?", self.koord("nodes", "plugin-c", code=1))

    def test_groups(self):
        gangs = self.koord("gangs", "-n", NAMESPACE)
        self.assertRegex(gangs, rf"(?m)^{NAMESPACE}/lost +- +1 +0 +1 .* does not exist$")
        self.assertRegex(gangs, rf"(?m)^{NAMESPACE}/train +2 +0 ")
        self.assertIn("gang", self.koord("gangs", "nothing", code=1))
        self.assertRegex(self.koord("quota", "team-a"), r"(?m)^team-a +4\.0 ")
        self.assertRegex(self.koord("reservations"), r"(?m)^plugin-kept +Pending ")

    def test_explain(self):
        story = self.koord("explain", "node", "plugin-a")
        self.assertRegex(story, r"(?m)^- kept free: 40% of CPU, 35% of memory +4\.00 +7\.00Gi$")
        self.assertRegex(story, r"(?m)^= lent to batch pods +5\.\d\d ")
        self.assertIn("The node says 3.00 cores, and by the figures of now it is 5.", story)
        self.assertIn("\"nobody\" not found", self.koord("explain", "node", "nobody", code=1))
        self.assertIn("there is no NodeMetric; is koordlet running there?", self.koord("explain", "node", "plugin-b"))
        asks = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asks", "namespace": NAMESPACE},
                "spec": {"schedulerName": "koord-scheduler", "containers": [{"name": "c", "image": "none", "resources": {
                    "requests": {"kubernetes.io/batch-cpu": "3500"}, "limits": {"kubernetes.io/batch-cpu": "3500"}}}]}}
        path = os.path.join(self.folder.name, "pod.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(asks, file)
        text = self.koord("explain", "-f", path)
        self.assertIn("It asks for 3.5 cores of batch CPU; 1 of 2 nodes lend 3 cores each, what is taken already included.\n", text)

    def test_errors_name_the_server_and_the_file(self):
        with open(schedulers.KUBECONFIG, encoding="utf-8") as file:
            text = file.read()
        path = os.path.join(self.folder.name, "bad.kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r"token: \S+", "token: wrong", text))
        for words in (("lent",), ("top", "--once"), ("explain", "node", "plugin-a"), ("explain", "pod", "x")):
            told = self.koord(*words, f"--kubeconfig={path}", code=1)
            self.assertRegex(told, rf"https://\S+ \(by {path}\): .*nauthorized.*the server does not take the credentials of {path}")
            self.assertNotIn("wrong", told)


if __name__ == "__main__":
    schedulers.skip_without_cluster(KUBECTL)
    unittest.main()

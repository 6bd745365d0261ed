#!/usr/bin/env python3
"""koord taken away again with the steps of packaging/manifests/cleanup/README.md, on a real API server of the test's own with
kube-controller-manager beside it: nothing is left but what users made."""
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import unittest

import schedulers
from own_cluster import own_cluster
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "manager"))
import kube_api  # noqa: E402
import manager_test  # noqa: E402
from installed import NS, PACKAGING, Installed  # noqa: E402
from sandbox import KOORD, KUBECTL, free_port  # noqa: E402

MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
ZONES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
PAGE = os.path.join(manager_test.TREE, "packaging", "manifests", "cleanup", "README.md")
NODE = "users-own"
BATCH = manager_test.BATCH_CPU
MID = "kubernetes.io/mid-cpu"
GPU, RDMA = "koordinator.sh/gpu-core", "koordinator.sh/rdma"
OURS, THEIRS = "koordinator-mutating-webhook-configuration", "entry.theirs.example.com"
CONTROLLERS = ",".join(f"{name}-controller" for name in (
    "namespace", "serviceaccount", "deployment", "replicaset", "daemonset", "job", "garbage-collector"))
# Made and unmade by Kubernetes itself, at any time.
PASSING = ("events", "leases", "endpoints", "endpointslices", "ipaddresses")


def steps():
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(r"^    (kubectl .*)$", file.read(), re.MULTILINE)


class Uninstall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder, _, cls.kubeconfig = own_cluster("uninstall", controllers=CONTROLLERS)
        cls.api = kube_api.Api(cls.kubeconfig)

    def request(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.api.connect().request(method, path, body, kind)

    def objects(self):
        """(group and version, resource, namespace, name) of everything that the server stores."""
        groups = [f"/apis/{group['preferredVersion']['groupVersion']}" for group in self.request("GET", "/apis")["groups"]]
        found = set()
        for at in ("/api/v1", *groups):
            for kind in self.request("GET", at)["resources"]:
                if "list" not in kind["verbs"] or kind["name"] in PASSING or "/" in kind["name"]:
                    continue
                for item in self.api.list(f"{at}/{kind['name']}"):
                    found.add((at, kind["name"], item["metadata"].get("namespace", ""), item["metadata"]["name"]))
        return found

    def node(self):
        """What a user and a kubelet say of it: all but what each write changes."""
        node = self.request("GET", f"/api/v1/nodes/{NODE}")
        meta, status = node["metadata"], node["status"]
        return {**{key: meta.get(key) for key in ("labels", "annotations")}, **{key: status[key] for key in ("capacity", "allocatable")}}

    def make_users_objects(self):
        amounts = {"cpu": "8", "memory": "16Gi", "pods": "110", "example.com/widgets": "3"}
        self.request("POST", "/api/v1/nodes", {"metadata": {
            "name": NODE, "labels": {"zone": "a", "node.koordinator.sh/gpu-vendor": "nvidia"}, "annotations": {"node.koordinator.sh/reservation": '{"resources": {"cpu": "1"}}'}}})
        self.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {
            "capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": "theirs"}})
        for kind, body in (("configmaps", {"data": {"a": "b"}}), ("secrets", {"data": {}})):
            self.request("POST", f"/api/v1/namespaces/theirs/{kind}", {"metadata": {"name": "own"}, **body})
        wait_for("what each namespace has", lambda: {
            ("/api/v1", "serviceaccounts", space, "default") for space in ("theirs", "default", "kube-system", "kube-public", "kube-node-lease")} <= self.objects())
        pod = schedulers.pod("theirs", "default-scheduler", cpu="1")
        self.request("POST", "/api/v1/namespaces/default/pods", pod)

    def manager(self, *flags):
        manager = manager_test.Manager(self.installed.account("koord-manager"), self.folder, f"--webhook-port={free_port()}", *flags,
                                       WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_WRITER="secret",
                                       WEBHOOK_CERT_DIR=os.path.join(self.folder, "certificates"))
        self.addCleanup(lambda: manager.child.poll() is None and manager.kill())
        return manager

    def reviewed(self):
        """The kind of what the API server takes of a ConfigMap that it has asked the manager about; else nothing."""
        try:
            return self.request("PATCH", f"{manager_test.CONFIG}/slo-controller-config?dryRun=All", {"data": {}})["kind"]
        except kube_api.ApiError:
            return ""

    def work(self):
        """A manager lends all that it can, then is killed."""
        manager = self.manager()
        wait_for("the manager answers reviews", lambda: "ConfigMap" in self.reviewed())
        self.installed.configure(
            colocation_config='{"enable": true, "cpuReclaimThresholdPercent": 90, "memoryReclaimThresholdPercent": 90}',
            resource_amplification_config='{"enable": true, "resourceAmplificationRatio": {"cpu": 1.5}}')
        metric = f"{manager_test.SLO}/nodemetrics/{NODE}"
        wait_for("the node's NodeMetric", lambda: any(item["metadata"]["name"] == NODE for item in self.api.list(f"{manager_test.SLO}/nodemetrics")))
        self.request("PATCH", f"{metric}/status", {"status": {
            "updateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "nodeMetric": {name: {"resources": {"cpu": "1", "memory": "1Gi"}} for name in ("nodeUsage", "systemUsage")},
            "prodReclaimableMetric": {"resource": {"resources": {"cpu": "1", "memory": "1Gi"}}}}})
        self.request("POST", manager_test.DEVICES, {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device",
            "metadata": {"name": NODE, "labels": {"node.koordinator.sh/gpu-model": "A100"}},
            "spec": {"devices": [{"type": "gpu", "minor": 0, "id": "g", "health": True, "resources": {GPU: "100"}},
                                 {"type": "rdma", "minor": 0, "id": "r", "health": True, "resources": {RDMA: "100"}}]}})
        amounts = [{"name": name, "capacity": most, "allocatable": most, "available": most} for name, most in (("cpu", "8"), ("memory", "16Gi"))]
        self.request("POST", ZONES, {"apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology",
                                     "metadata": {"name": NODE}, "topologyPolicies": ["None"],
                                     "zones": [{"name": "node-0", "type": "Node", "resources": amounts}]})
        wait_for("what the node lends", lambda: {BATCH, GPU, RDMA, MID} <= self.node()["allocatable"].keys() and len(self.node()["annotations"]) > 2
                 and "node.koordinator.sh/gpu-model" in self.node()["labels"], 60)
        wait_for("what its zone lends", lambda: BATCH in self.zone(), 60)
        entries = wait_for("koord's entries", lambda: self.request("GET", f"{MUTATING}/{OURS}").get("webhooks"))
        self.refuses_beside(manager)
        manager.kill()
        self.request("PATCH", f"{MUTATING}/{OURS}", {"webhooks": [
            *entries,
            {"name": THEIRS, "clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Ignore", "sideEffects": "None",
             "admissionReviewVersions": ["v1"],
             "rules": [{"apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}]}]})

    def zone(self):
        """The resources of the node's zone, by name."""
        zone, = self.request("GET", f"{ZONES}/{NODE}")["zones"]
        return {one["name"] for one in zone["resources"]}

    def clean(self, account, *flags):
        """`koord --role=manager --cleanup` as the Job's pod runs it."""
        job = self.request("GET", f"/apis/batch/v1/namespaces/{NS}/jobs/koord-manager-cleanup") if account else None
        words = job["spec"]["template"]["spec"]["containers"][0]["args"] if job else ["--role=manager", "--cleanup"]
        kubeconfig = self.installed.account(account) if account else self.kubeconfig
        return subprocess.run([KOORD, *words, f"--kubeconfig={kubeconfig}", *flags], capture_output=True, text=True, timeout=60, check=False)

    def refuses_beside(self, manager):
        done = self.clean(None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("leads and would write all of it anew", done.stderr)
        self.assertIn(BATCH, self.node()["allocatable"])
        self.assertIsNone(manager.child.poll())

    def run_steps(self):
        for step in steps():
            words = shlex.split(step)[1:]
            if "rollout" in words:
                continue  # no kubelet is here; what it runs is tried by the agent's own tests
            if "wait" in words:
                wait_for("the cleanup that succeeds, once the lease has run out", lambda: self.clean("koord-cleanup").returncode == 0, 60)
                self.assertEqual(self.zone(), {"cpu", "memory"})
                continue
            done = subprocess.run([KUBECTL, f"--kubeconfig={self.kubeconfig}", *words], cwd=manager_test.TREE,
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, f"{step}: {done.stderr}")

    def test_nothing_is_left_but_what_users_made(self):
        self.make_users_objects()
        before, node = self.objects(), self.node()
        self.installed = Installed(self.kubeconfig, self.folder)
        for part in ("manifests-gates", "manifests-node-policy"):
            self.installed.kubectl.run("apply", "-f", os.path.join(PACKAGING, part))
        self.assertGreater(len(self.objects() - before), 20)
        self.work()
        self.run_steps()
        wait_for("the namespace that goes", lambda: ("/api/v1", "namespaces", "", NS) not in self.objects(), 60)
        self.assertEqual(self.objects() ^ before, {(*MUTATING.rsplit("/", 1), "", OURS)})
        left = self.request("GET", f"{MUTATING}/{OURS}")
        self.assertEqual([entry["name"] for entry in left["webhooks"]], [THEIRS])
        self.assertNotIn("koordinator.sh/webhook-entries", left["metadata"].get("annotations", {}))
        self.assertEqual(self.node(), node)
        again = schedulers.pod("afterwards", "default-scheduler", cpu="1")
        self.request("POST", "/api/v1/namespaces/default/pods", again)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

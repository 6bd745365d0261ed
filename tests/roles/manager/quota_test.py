#!/usr/bin/env python3
"""ElasticQuotas through the sandbox's API (or that of the kube-apiserver that KOORD_KUBE_KUBECONFIG names), with the webhook
entries that a manager writes itself: what a new quota gets, what its tree forbids, pods of quotas and of their trees, quotas
that profiles make."""
import concurrent.futures
import glob
import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, free_port, wait_for  # noqa: E402

NS = "quota-test"
PREFIX = "quota.scheduling.koordinator.sh/"
QUOTAS = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{NS}/elasticquotas"
PROFILES = f"/apis/quota.koordinator.sh/v1alpha1/namespaces/{NS}/elasticquotaprofiles"
PODS = f"/api/v1/namespaces/{NS}/pods"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
GATES = "MultiQuotaTree=true,EnableQuotaAdmission=true,EnableQuotaAdmissionOnUpdate=true"


def quota(name, least=None, most=None, annotations=None, **labels):
    return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
            "metadata": {"name": name, "labels": {PREFIX + key.replace("_", "-"): value for key, value in labels.items()},
                         "annotations": {PREFIX + key: value for key, value in (annotations or {}).items()}},
            "spec": {"min": least or {}, "max": most or {"cpu": "40", "memory": "40Gi"}}}


def pod(name, of=None, cpu="1", **labels):
    if of:
        labels["name"] = of
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {PREFIX + key: value for key, value in labels.items()}},
            "spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]}}


class QuotaTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-quota.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.kubeconfig = os.environ.get("KOORD_KUBE_KUBECONFIG")
        if not self.kubeconfig:
            world = sandbox.Sandbox("--nodes=3", "--roles=")
            world.__enter__()
            self.addCleanup(world.__exit__)
            self.kubeconfig = world.kubeconfig
        self.connection = kube_api.Api(self.kubeconfig).connect()
        kubectl = sandbox.Kubectl(self.kubeconfig)
        for file in sorted(glob.glob(os.path.join(TREE, "packaging", "crds", "*.yaml"))):
            kubectl.run("apply", "-f", file)
        wait_for("the kinds", lambda: self.try_request("GET", QUOTAS) is not None and self.try_request("GET", PROFILES) is not None)
        kubectl.run("apply", "-f", os.path.join(TREE, "packaging", "manifests", "00-namespace.yaml"))
        kubectl.run("apply", "-f", os.path.join(TREE, "packaging", "manifests", "50-webhooks.yaml"))
        self.try_request("POST", "/api/v1/namespaces", {"metadata": {"name": NS}})
        self.addCleanup(self.clear)
        self.start()

    def clear(self):
        self.child.terminate()
        self.child.wait(20)
        for kind in ("mutating", "validating"):
            self.try_request("DELETE", f"{CONFIGURATIONS}/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration")
        for path in (QUOTAS, PROFILES):
            self.try_request("DELETE", path)
        self.try_request("DELETE", PODS, {"gracePeriodSeconds": 0})

    def start(self):
        self.port, self.metrics, probes = free_port(), free_port(), free_port()
        self.log_path = os.path.join(self.folder, "manager.log")
        with open(self.log_path, "wb") as log:
            self.child = subprocess.Popen(
                [KOORD, "--role=manager", f"--kubeconfig={self.kubeconfig}", f"--metrics-addr=127.0.0.1:{self.metrics}", f"--health-probe-addr=127.0.0.1:{probes}",
                 f"--webhook-port={self.port}", "--controllers=quotaprofile", f"--feature-gates={GATES}", "--shutdown-delay=0s",
                 "--enable-leader-election=false"],
                stdout=log, stderr=log, env={**os.environ, "WEBHOOK_HOST": "127.0.0.1", "WEBHOOK_CERT_DIR": os.path.join(self.folder, "certificates")})

        def entries():
            assert self.child.poll() is None, self.output()[-3000:]
            found = self.request("GET", f"{CONFIGURATIONS}/validatingwebhookconfigurations/koordinator-validating-webhook-configuration")
            return any(entry["name"] == "velasticquota.koordinator.sh" for entry in found.get("webhooks", []))
        wait_for("the manager's entries", entries)
        wait_for("an API server that asks", lambda: self.try_request("POST", f"{QUOTAS}?dryRun=All", quota("ask", most={"cpu": "-1"})) == 400)

    def output(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def request(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.connection.request(method, path, body, kind)

    def try_request(self, method, path, body=None):
        """What the answer says, or its code where it refuses."""
        try:
            return self.request(method, path, body)
        except kube_api.ApiError as error:
            return None if error.status == 404 else error.status

    def refused(self, method, path, body, words):
        with self.assertRaises(kube_api.ApiError) as caught:
            self.request(method, path, body)
        self.assertEqual(caught.exception.status, 400, caught.exception)
        self.assertIn(words, json.loads(caught.exception.body)["message"])

    def labels(self, path):
        return self.request("GET", path)["metadata"]["labels"]

    def test_a_tree_is_built_and_kept_whole(self):
        root = self.request("POST", QUOTAS, quota("company", {"cpu": "20", "memory": "20Gi"}, is_parent="true", tree_id="t"))
        self.assertEqual(root["metadata"]["labels"][PREFIX + "parent"], "koordinator-root-quota")
        self.assertEqual(json.loads(root["metadata"]["annotations"][PREFIX + "shared-weight"]), {"cpu": "40", "memory": "40Gi"})
        # Children right behind their parent, and brothers at once.
        team = self.request("POST", QUOTAS, quota("team-a", {"cpu": "15", "memory": "10Gi"}, parent="company"))
        self.assertEqual(team["metadata"]["labels"][PREFIX + "tree-id"], "t")
        self.refused("POST", QUOTAS, quota("team-b", {"cpu": "6", "memory": "5Gi"}, parent="company"),
                     "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: company")
        self.request("POST", QUOTAS, quota("team-b", {"cpu": "5", "memory": "5Gi"}, parent="company"))
        self.refused("POST", QUOTAS, quota("orphan", parent="nobody"), "fill quota orphan failed, parent not exist")
        self.refused("PATCH", f"{QUOTAS}/team-a", {"spec": {"min": {"cpu": "41"}}}, "resourceKey cpu of quota team-a min 41 > max 40")
        self.refused("PATCH", f"{QUOTAS}/company", {"metadata": {"labels": {PREFIX + "parent": "team-a"}}}, "IsParent is false")
        self.refused("PATCH", f"{QUOTAS}/company", {"metadata": {"labels": {PREFIX + "parent": "company"}}}, "must not have a cycle")
        self.refused("PATCH", f"{QUOTAS}/team-a", {"metadata": {"labels": {PREFIX + "tree-id": "u"}}}, "team-a tree id changed [t] vs [u]")
        self.refused("DELETE", f"{QUOTAS}/company", None, "delete quota failed, quota company has 2 child quotas")
        self.request("PATCH", f"{QUOTAS}/team-a", {"status": {"used": {"cpu": "1"}}})  # as the scheduler writes
        self.refused("POST", PODS, pod("boss", "company"), "pod can not be linked to a parentQuotaGroup,quota:company, pod:boss")
        self.request("POST", PODS, pod("worker", "team-a", preemptible="true"))
        self.refused("PATCH", f"{PODS}/worker", {"metadata": {"labels": {PREFIX + "preemptible": "false"}}}, "Preemptible label is forbidden modify now.")
        self.refused("PATCH", f"{PODS}/worker", {"metadata": {"labels": {PREFIX + "name": "company"}}}, "parentQuotaGroup")
        wait_for("the pod is known", lambda: self.try_request("DELETE", f"{QUOTAS}/team-a?dryRun=All") == 400)
        self.refused("DELETE", f"{QUOTAS}/team-a", None, "delete quota failed, quota team-a has 1 child pods: worker")
        self.refused("PATCH", f"{QUOTAS}/team-a", {"metadata": {"labels": {PREFIX + "is-parent": "true"}}}, "quota has bound pods")
        page = self.page()
        self.assertEqual(sorted(page["quotaHierarchyInfo"]["company"]), ["team-a", "team-b"])
        self.assertEqual(page["quotaInfoMap"]["team-b"]["min"], {"cpu": "5", "memory": "5Gi"})
        # Who has tried what is noted, but for what was counted.
        noted = self.page(f"/audit?object=elasticquotas.scheduling.sigs.k8s.io/{NS}/team-a")["records"]
        self.assertEqual([each["result"] for each in reversed(noted) if each["verb"] == "create"], ["admitted"])
        refused = [each for each in noted if each["verb"] == "update" and each["result"] == "refused"]
        self.assertIn(["spec.min.cpu"], [each["changes"] for each in refused])
        self.assertTrue(all(each["user"] for each in noted), noted)
        self.assertFalse([each for each in noted if any("status" in field for field in each.get("changes", []))])
        profiles = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
        self.request("POST", profiles, {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile",
                                        "metadata": {"name": "batch"}, "spec": {"qosClass": "BE"}})
        [noted] = self.page("/audit?object=clustercolocationprofiles.config.koordinator.sh/batch")["records"]
        self.assertEqual((noted["verb"], noted["result"], noted["changes"]), ("create", "admitted", ["spec.qosClass"]))
        self.assertTrue(noted["user"])
        self.request("DELETE", f"{profiles}/batch")
        self.request("DELETE", f"{PODS}/worker", {"gracePeriodSeconds": 0})
        wait_for("team-a may go", lambda: self.try_request("DELETE", f"{QUOTAS}/team-a") != 400)
        self.request("DELETE", f"{QUOTAS}/team-b")
        self.request("DELETE", f"{QUOTAS}/company")

    def page(self, path="/elasticQuota"):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=ssl._create_unverified_context(), timeout=20)
        connection.request("GET", path)
        text = connection.getresponse().read()
        connection.close()
        return json.loads(text)

    def test_pods_are_counted_as_they_are_admitted(self):
        self.request("POST", QUOTAS, quota("small", most={"cpu": "4"}))
        self.request("POST", QUOTAS, quota("other", most={"cpu": "4"}))
        self.assertEqual(self.try_request("POST", f"{PODS}?dryRun=All", pod("dry", "small", "4"))["metadata"]["name"], "dry")
        self.request("POST", PODS, pod("one", "small", "3"))
        self.refused("POST", PODS, pod("two", "small", "2"), f"exceeded quota: {NS}/small, requested: cpu=2, used: cpu=3, limited: cpu=4")
        self.request("POST", PODS, pod("two", "other", "2"))
        self.refused("PATCH", f"{PODS}/two", {"metadata": {"labels": {PREFIX + "name": "small"}}}, "exceeded quota")
        self.refused("POST", PODS, pod("lost", "nobody"), "elastic quota nobody not found")
        self.request("POST", PODS, pod("free"))
        said = self.request("GET", f"{QUOTAS}/small")["metadata"]["annotations"][PREFIX + "child-request"]
        self.assertEqual(json.loads(said), {"cpu": "3"})
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics, timeout=20)
        connection.request("GET", "/metrics")
        self.assertIn('operation="CREATE",plugin_name="EvaluateQuota",status="rejected"', connection.getresponse().read().decode())
        connection.close()

    def test_a_profile_makes_the_root_of_a_tree(self):
        nodes = [node["metadata"]["name"] for node in self.request("GET", "/api/v1/nodes")["items"]]
        if "KOORD_KUBE_KUBECONFIG" in os.environ:
            self.skipTest("it needs nodes")
        self.request("PATCH", f"/api/v1/nodes/{nodes[0]}", {"metadata": {"labels": {"pool": "gpu"}}})
        self.request("POST", PROFILES, {"apiVersion": "quota.koordinator.sh/v1alpha1", "kind": "ElasticQuotaProfile", "metadata": {"name": "pool"},
                                        "spec": {"quotaName": "pool-root", "nodeSelector": {"matchLabels": {"pool": "gpu"}}}})
        wait_for("the root", lambda: self.try_request("GET", f"{QUOTAS}/pool-root") is not None)
        root = self.request("GET", f"{QUOTAS}/pool-root")
        allocatable = self.request("GET", f"/api/v1/nodes/{nodes[0]}")["status"]["allocatable"]
        self.assertEqual(root["spec"]["min"]["cpu"], allocatable["cpu"])
        self.assertEqual(root["spec"]["max"], {"cpu": "4611686018427387", "memory": "4611686018427387"})
        tree = root["metadata"]["labels"][PREFIX + "tree-id"]
        wait_for("the profile's label", lambda: self.labels(f"{PROFILES}/pool").get(PREFIX + "tree-id") == tree)
        self.request("PATCH", f"{QUOTAS}/pool-root", {"metadata": {"labels": {PREFIX + "is-parent": "true"}}})
        self.request("POST", QUOTAS, quota("pool-team", most={"cpu": "4", "memory": "4Gi"}, parent="pool-root"))
        made = self.request("POST", PODS, pod("placed", "pool-team"))
        terms = made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        self.assertEqual(terms, [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu"]}]}])
        self.request("PATCH", f"/api/v1/nodes/{nodes[0]}", {"spec": {"unschedulable": True}})
        wait_for("what cannot be used", lambda: json.loads(self.request("GET", f"{QUOTAS}/pool-root")["metadata"]["annotations"][
            PREFIX + "unschedulable-resource"]).get("cpu") == allocatable["cpu"], 30)

    def test_brothers_at_once_do_not_take_more_than_there_is(self):
        self.request("POST", QUOTAS, quota("parent", {"cpu": "10", "memory": "1Gi"}, is_parent="true"))
        connections = [kube_api.Api(self.kubeconfig).connect() for _ in range(20)]

        def make(number):
            try:
                connections[number].request("POST", QUOTAS, quota(f"child-{number}", {"cpu": "3"}, parent="parent"))
                return True
            except kube_api.ApiError as error:
                assert "checkMinQuotaSum" in error.body, error
                return False
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            made = sum(pool.map(make, range(20)))
        self.assertEqual(made, 3)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""packaging/crds and packaging/manifests on a real API server of the test's own, with controllers, and no manager that answers:
none has run yet, or one ran and was killed. Pods of every namespace are created all the same."""
import os
import signal
import sys
import unittest

import schedulers
from own_cluster import own_cluster
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "manager"))
import manager_test  # noqa: E402
from installed import NS, Installed  # noqa: E402
from sandbox import free_port  # noqa: E402

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = [f"{ADMISSION}/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration" for kind in ("mutating", "validating")]
NAMESPACES = ("default", "kube-system", NS, "users")


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder, _, kubeconfig = own_cluster("install", controllers="")
        cls.installed = Installed(kubeconfig, cls.folder)
        cls.request("POST", "/api/v1/namespaces", {"metadata": {"name": "users"}})

    @classmethod
    def request(cls, method, path, body=None):
        return cls.installed.api.connect().request(method, path, body)

    def create_everywhere(self, name):
        """A controller's pod and one by hand in each namespace; those that say koord's class change, too."""
        labels = {"app": name, "koordinator.sh/qosClass": "LS"}
        for ns in NAMESPACES:
            pod = schedulers.pod(f"{name}-alone", "default-scheduler")
            template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
            self.request("POST", f"/apis/apps/v1/namespaces/{ns}/replicasets", {
                "metadata": {"name": name}, "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}})
            made = self.request("POST", f"/api/v1/namespaces/{ns}/pods", {
                "metadata": {"name": f"{name}-alone", "labels": {**labels, "app": "alone"}}, "spec": pod["spec"]})
            made["metadata"]["labels"]["changed"] = "yes"
            self.request("PUT", f"/api/v1/namespaces/{ns}/pods/{name}-alone", made)

        for ns in NAMESPACES:
            wait_for(f"the pods of {ns}", lambda ns=ns: self.request(
                "GET", f"/api/v1/namespaces/{ns}/pods?labelSelector=app%3D{name}")["items"], 60)

    def test_pods_are_created_while_no_manager_answers(self):
        with self.subTest("none has run yet"):
            for path in CONFIGURATIONS:
                self.assertEqual(self.request("GET", path).get("webhooks", []), [])
            self.create_everywhere("first")

        # Entries that lead to the service, as in a cluster; nothing leads to it here, as when its pods are gone.
        manager = manager_test.Manager(self.installed.account("koord-manager"), self.folder, f"--webhook-port={free_port()}",
                                       WEBHOOK_CERT_DIR=os.path.join(self.folder, "certificates"))
        self.addCleanup(lambda: manager.child.poll() is None and manager.kill())
        wait_for("the manager's entries", lambda: all(self.request("GET", path).get("webhooks") for path in CONFIGURATIONS), 60)
        wait_for("it is ready", lambda: manager.get("/readyz", manager.probes)[0] == 200, 60)
        with self.subTest("what it wrote"):
            for path in CONFIGURATIONS:
                configuration = self.request("GET", path)
                self.assertEqual({hook["failurePolicy"] for hook in configuration["webhooks"]}, {"Ignore"})
                self.assertEqual({hook["timeoutSeconds"] for hook in configuration["webhooks"]}, {3})
                # Once: what the API server adds is no reason to write again.
                self.assertEqual(configuration["metadata"]["generation"], 2)
        manager.kill()
        with self.subTest("it was killed"):
            self.create_everywhere("second")
        with self.subTest("applied again"):
            Installed(self.installed.kubeconfig, self.folder)
            for path in CONFIGURATIONS:
                self.assertTrue(self.request("GET", path)["webhooks"])
            self.create_everywhere("third")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""When the manager answers reviews, and when it says that it does not: kinds that it cannot follow, and its end. Against the
sandbox."""
import os
import signal
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

import kube_api  # noqa: E402
import refusing_proxy  # noqa: E402
import webhooks_test  # noqa: E402
from sandbox import wait_for  # noqa: E402
from webhooks_test import ADMISSION, CONFIGURATIONS, entry, pod  # noqa: E402

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{webhooks_test.NS}/leases/koordinator-manager"
PROFILE_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clustercolocationprofiles.config.koordinator.sh"
KINDS = ("mutating", "validating")
POLICIES = {"asked": "Fail", "ignored": "Ignore"}


class Serving(webhooks_test.Webhooks):
    """Two namespaces, whose pods wait for the manager or do without it."""

    def setUp(self):
        super().setUp()
        self.made = 0
        self.make("/api/v1/namespaces", {"metadata": {"name": "ignored", "labels": {"webhooks": "ignored"}}})
        for kind, path in zip(KINDS, ("/mutate-pod", "/validate-pod")):
            self.request("DELETE", CONFIGURATIONS[kind])
            entries = []
            for ns, policy in POLICIES.items():
                entries.append(entry(f"{kind[0]}pod-{ns}", path, operations=("CREATE",), policy=policy))
                entries[-1]["namespaceSelector"] = {"matchLabels": {"webhooks": ns}}
            self.make(f"{ADMISSION}/{kind}webhookconfigurations", {
                "metadata": {"name": f"koordinator-{kind}-webhook-configuration"}, "webhooks": entries})

    def create(self, ns):
        """A pod: empty, or why it was refused."""
        self.made += 1
        try:
            self.request("POST", f"/api/v1/namespaces/{ns}/pods", pod(f"pod-{self.made}"))
        except kube_api.ApiError as error:
            return error.body
        return ""

    def served(self, *flags):
        manager = self.manager(*flags, WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_WRITER="secret")
        wait_for("ready", lambda: self.ready(manager))
        wait_for("pods", lambda: not self.create("asked"))
        return manager

    def probe(self, manager, path):
        status, text = manager.get(path, manager.probes)
        return f"{status} {text}"

    def through_a_proxy(self):
        proxy = refusing_proxy.RefusingProxy(self.kubeconfig, self.folder)
        proxy.__enter__()
        self.addCleanup(proxy.__exit__)
        self.kubeconfig = proxy.kubeconfig
        return proxy

    # What the base class tests is tested there.
    test_replicas_share_certificates_whatever_becomes_of_the_secret = test_an_api_server_asks = None
    test_gates_and_switches = test_who_means_no_good = None

    def test_a_kind_that_cannot_be_followed_is_an_error_and_a_definition_that_is_gone_is_none(self):
        proxy = self.through_a_proxy()
        manager = self.served()
        with self.subTest("a definition that goes away"):
            self.request("DELETE", PROFILE_CRD)
            end = time.monotonic() + 4
            while time.monotonic() < end:
                self.assertEqual([self.create(ns) for ns in POLICIES], ["", ""])
                self.assertTrue(self.ready(manager))
                time.sleep(0.2)
        for resource in ("namespaces", "priorityclasses"):
            with self.subTest("a right that goes away", resource=resource):
                proxy.refuse(resource)
                self.assertEqual([self.create(ns) for ns in POLICIES], ["", ""])  # what was told last is good enough
                self.assertTrue(self.ready(manager))
                wait_for("not ready", lambda: not self.ready(manager), 30)
                self.assertRegex(self.probe(manager, "/readyz"), rf"webhook-informers failed: {resource}: forbidden since 20\d\d-")
                refused = self.create("asked")
                self.assertIn(f"{resource} have not been followed since 20", refused)
                self.assertIn("the proxy refuses", refused)
                self.assertIn("failed calling webhook", refused)
                self.assertEqual(self.create("ignored"), "")
                self.assertTrue(self.probe(manager, "/livez").startswith("200"))
                proxy.allow(resource)
                wait_for("ready again", lambda: self.ready(manager), 60)
                self.assertEqual([self.create(ns) for ns in POLICIES], ["", ""])
        with self.subTest("a right that was never there"):
            self.assertEqual(manager.terminate(), 0)
            proxy.refuse("namespaces", 500)
            manager = self.manager(WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_WRITER="secret")
            wait_for("who asks it", lambda: "namespaces" in self.create("asked"))
            self.assertFalse(self.ready(manager))
            self.assertEqual(self.create("ignored"), "")
            proxy.allow("namespaces")
            wait_for("ready", lambda: self.ready(manager), 60)
            self.assertEqual([self.create(ns) for ns in POLICIES], ["", ""])

    def test_reviews_are_answered_for_a_while_after_sigterm(self):
        manager = self.served("--shutdown-delay=3s")
        wait_for("the lease", lambda: self.request("GET", LEASE)["spec"].get("holderIdentity"))
        began = time.monotonic()
        manager.child.send_signal(signal.SIGTERM)
        wait_for("not ready", lambda: not self.ready(manager), 1)
        self.assertIn("shutdown failed: the process is ending", self.probe(manager, "/readyz"))
        self.assertTrue(self.probe(manager, "/livez").startswith("200"))
        wait_for("the lease is free", lambda: not self.request("GET", LEASE)["spec"].get("holderIdentity"), 2)
        answered = 0
        while time.monotonic() < began + 2.7:
            self.assertEqual(self.create("asked"), "")
            answered += 1
        self.assertGreater(answered, 3)
        self.assertEqual(manager.child.wait(5), 0, manager.output()[-2000:])
        self.assertTrue(3 <= time.monotonic() - began < 6)
        self.assertIn("failed calling webhook", self.create("asked"))

        with self.subTest("a second signal ends it at once"):
            manager = self.served("--shutdown-delay=60s")
            manager.child.send_signal(signal.SIGTERM)
            wait_for("not ready", lambda: not self.ready(manager), 2)
            manager.child.send_signal(signal.SIGTERM)
            self.assertEqual(manager.child.wait(2), 128 + signal.SIGTERM)
        with self.subTest("nobody asks: nobody waits"):
            manager = self.served("--shutdown-delay=60s")
            for path in CONFIGURATIONS.values():
                self.request("DELETE", path)
            wait_for("that is seen", lambda: manager.output().count("there is no such webhook configuration") == 2)
            began = time.monotonic()
            self.assertEqual(manager.terminate(), 0)
            self.assertLess(time.monotonic() - began, 10)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

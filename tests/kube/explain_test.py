#!/usr/bin/env python3
"""koord explain on a real API server: what it says comes true, and a running scheduler is asked what it remembers."""
import os
import ssl
import tempfile
import unittest
import urllib.error
import urllib.request

import schedulers
from explain import Explain
from sandbox import free_port
from schedulers import OURS, wait_for

import kube_api

NAMESPACE = "explain"


class ExplainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        cls.connection = cls.api.connect()
        schedulers.ensure_namespaces(cls.api, NAMESPACE, "koordinator-system")
        schedulers.clean(cls.api, [NAMESPACE])
        cls.folder = tempfile.TemporaryDirectory(prefix="koord-explain.")
        cls.addClassCleanup(cls.folder.cleanup)
        port = free_port()
        cls.scheduler = schedulers.koord("--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={port}",
                                         f"--cert-dir={cls.folder.name}")
        cls.addClassCleanup(cls.scheduler.end)
        cls.addClassCleanup(schedulers.clean, cls.api, [NAMESPACE])
        cls.explain = Explain(schedulers.KUBECONFIG)
        cls.running = f"--scheduler=https://127.0.0.1:{port}"
        cls.api.load([schedulers.node("explain-small", cpu="2"), schedulers.node("explain-large", cpu="8")])

    def test_a_pod_that_waits(self):
        self.api.load([schedulers.pod("waits", OURS, NAMESPACE, cpu="16")])
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        wait_for("it is refused", lambda: schedulers.condition_of(self.connection.request("GET", f"{path}/waits")))
        ca = os.path.join(self.folder.name, "koord-scheduler.crt")
        text = self.explain.text("pod", f"{NAMESPACE}/waits", self.running, f"--scheduler-ca={ca}")
        self.assertTrue(text.startswith(f"Pod {NAMESPACE}/waits fits on none of 2 nodes.\n"), text)
        self.assertIn("  2 nodes: Insufficient cpu (NodeResourcesFit): explain-large, explain-small\n", text)
        self.assertIn("  - it asked for at most 8 of cpu (it asks for 16): explain-large\n", text)
        self.assertIn("\nWhat the running scheduler remembers, the oldest first:\n", text)
        self.assertIn(": unschedulable: 2 Insufficient cpu (0/2 nodes)", text)
        self.api.load([schedulers.pod("as-told", OURS, NAMESPACE, cpu="8")])
        wait_for("it is placed", lambda: self.connection.request("GET", f"{path}/as-told")["spec"].get("nodeName"))
        view = self.explain.view("pod", f"{NAMESPACE}/as-told", self.running, f"--scheduler-ca={ca}")
        self.assertEqual("explain-large", view["node"])
        self.assertEqual(["bind"], [a["outcome"] for a in view["attempts"]])

    def test_nobody_is_told_who_does_not_say_who_they_are(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{self.running.partition('=')[2]}/apis/v1/__services__", context=context, timeout=10)
        self.assertIn(refused.exception.code, (401, 403))


if __name__ == "__main__":
    schedulers.skip_without_cluster()
    unittest.main()

#!/usr/bin/env python3
"""`koord explain node --watch` on the sandbox: the story, then a line a change, until it is interrupted."""
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD  # noqa: E402

NODE = "node-0000"
METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
CONFIG = {"metadata": {"name": "slo-controller-config"}, "data": {"colocation-config": '{"enable":true,"cpuReclaimThresholdPercent":60}'}}


class Watcher:
    """A command whose lines are waited for."""

    def __init__(self, *words):
        self.child = subprocess.Popen([KOORD, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line)

    def line(self, seconds=30):
        return self.lines.get(timeout=seconds)

    def line_with(self, words):
        while True:
            line = self.line()
            if words in line:
                return line

    def interrupted(self):
        """Its exit code and what it complained of."""
        self.child.send_signal(signal.SIGINT)
        code = self.child.wait(20)
        return code, self.child.stderr.read()


class ExplainNodeTest(unittest.TestCase):
    def setUp(self):
        world = sandbox.Sandbox("--nodes=1", "--roles=", "--node-capacity=cpu=10,memory=20Gi")
        world.__enter__()
        self.addCleanup(world.__exit__)
        self.flags = ("explain", "node", NODE, f"--kubeconfig={world.kubeconfig}", "--watch", "--interval=100ms")
        self.connection = kube_api.Api(world.kubeconfig).connect()
        self.connection.request("POST", "/api/v1/namespaces/koordinator-system/configmaps", CONFIG)
        self.connection.request("POST", METRICS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": NODE}, "spec": {}})
        self.report(1)

    def report(self, cores):
        usage = {"resources": {"cpu": str(cores), "memory": "1Gi"}}
        self.connection.request("PATCH", f"{METRICS}/{NODE}/status", {"status": {
            "updateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "podsMetric": [],
            "nodeMetric": {"nodeUsage": usage, "systemUsage": usage}}}, "application/merge-patch+json")

    def test_a_line_a_change(self):
        watcher = Watcher(*self.flags)
        self.assertEqual(watcher.line(), f"Node {NODE} lends 5.00 cores and 12.00Gi to batch pods.\n")
        watcher.line_with("= lent to batch pods")
        self.report(3)
        self.assertRegex(watcher.line_with(" lent "), r"^\d\d:\d\d:\d\d lent 5\.00 -> 3\.00 cores: system -2\.00\n$")
        self.connection.request("DELETE", f"{METRICS}/{NODE}")
        self.assertRegex(watcher.line_with(" lends "), r" lends nothing any more, 3\.00 cores and 12\.00Gi before: there is no NodeMetric\n$")
        self.assertEqual(watcher.interrupted(), (0, ""))

    def test_a_document_a_line(self):
        watcher = Watcher(*self.flags, "--output=json")
        story = json.loads(watcher.line())
        self.assertEqual((story["node"], story["lent"]["cpuCores"]), (NODE, 5))
        self.report(2.5)
        change = json.loads(watcher.line())
        self.assertEqual((change["before"]["cpuCores"], change["lent"]["cpuCores"]), (5, 3.5))
        self.assertEqual([(move["name"], move["amount"]["cpuCores"]) for move in change["moved"]], [("system", -1.5)])
        self.assertEqual(watcher.interrupted(), (0, ""))

    def test_a_node_that_goes_ends_it(self):
        watcher = Watcher(*self.flags)
        watcher.line()
        self.connection.request("DELETE", f"/api/v1/nodes/{NODE}")
        self.assertEqual(watcher.child.wait(30), 1)
        self.assertRegex(watcher.child.stderr.read(), rf'^koord: explain node: https://\S+ \(by \S+\): nodes "{NODE}" not found: koord nodes lists ')

    def test_what_is_wrong_is_said(self):
        for words, told in ((("--interval=1ms",), "--interval: at least 100ms"), (("--nosuch",), "--nosuch"), (("other",), "which node?")):
            done = subprocess.run([KOORD, *self.flags, *words], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(told, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

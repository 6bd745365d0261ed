#!/usr/bin/env python3
"""The descheduler against the sandbox: what it is told, whom it makes go, and what it leaves alone."""
import glob
import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, free_port, wait_for  # noqa: E402

CRDS = sorted(glob.glob(os.path.join(TREE, "packaging", "crds", "*.yaml")))
NS = "koordinator-system"
PODS = "/api/v1/namespaces/default/pods"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases/koord-descheduler"
# Pods leave nodes whose taints they do not tolerate, by evictions.
CONFIG = """apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 1s
healthzBindAddress: 127.0.0.1:{port}
metricsBindAddress: 127.0.0.1:{port}
leaderElection: {{leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}}
profiles:
- name: taints
  plugins:
    deschedule: {{enabled: [{{name: RemovePodsViolatingNodeTaints}}]}}
    evict: {{disabled: [{{name: "*"}}], enabled: [{{name: DefaultEvictor}}]}}
    filter: {{disabled: [{{name: "*"}}], enabled: [{{name: DefaultEvictor}}]}}
"""


def pod(name, node, owner):
    """A pod of somebody who does not make another one when it goes."""
    return {"metadata": {"name": name, "labels": {"app": "web"}, "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": owner, "controller": True}]},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "none"}]}}


class Descheduler:
    def __init__(self, kubeconfig, folder, text, *flags):
        self.port = free_port()
        self.config, self.log_path = (os.path.join(folder, f"descheduler-{self.port}.{kind}") for kind in ("config", "log"))
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text.format(port=self.port))
        self.log = open(self.log_path, "wb")
        self.child = subprocess.Popen(
            [KOORD, "--role=descheduler", f"--kubeconfig={kubeconfig}", f"--config={self.config}", "--secure-port=0", "--v=2", *flags],
            stdout=self.log, stderr=subprocess.STDOUT)

    def output(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def get(self, path):
        assert self.child.poll() is None, f"the descheduler ended: {self.output()[-3000:]}"
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return 0, ""

    def metric(self, name):
        """The sum of its series, 0 where there is none."""
        lines = [line for line in self.get("/metrics")[1].splitlines() if line.startswith((name + "{", name + " "))]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def end(self, kill=False):
        (self.child.kill if kill else self.child.terminate)()
        code = self.child.wait(20)
        self.log.close()
        return code


class World(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-descheduler.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        world = sandbox.Sandbox("--nodes=3", "--roles=", "--load", *CRDS)
        world.__enter__()
        self.addCleanup(world.__exit__)
        self.kubeconfig = world.kubeconfig
        self.api = kube_api.Api(self.kubeconfig)
        self.nodes = sorted(node["metadata"]["name"] for node in self.api.list("/api/v1/nodes"))
        owner = self.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "web"}})["metadata"]["uid"]
        for index, node in enumerate(self.nodes):
            for letter in "ab":
                self.request("POST", PODS, pod(f"web-{index}{letter}", node, owner))
        wait_for("pods run", lambda: [item["status"].get("phase") for item in self.api.list(PODS)] == ["Running"] * 6)
        self.running = []
        self.addCleanup(lambda: [one.end(True) for one in self.running if one.child.poll() is None])

    def request(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.api.connect().request(method, path, body, kind)

    def start(self, *flags, text=CONFIG):
        self.running.append(Descheduler(self.kubeconfig, self.folder, text, *flags))
        return self.running[-1]

    def passes(self, one, more=2):
        """Until it has made so many more."""
        before = one.metric("koord_descheduler_passes_total")
        wait_for("passes", lambda: one.metric("koord_descheduler_passes_total") >= before + more)

    def taint(self, index=0):
        self.request("PATCH", f"/api/v1/nodes/{self.nodes[index]}", {"spec": {"taints": [{"key": "old", "effect": "NoSchedule"}]}})

    def names(self):
        return sorted(item["metadata"]["name"] for item in self.api.list(PODS))


class TheDescheduler(World):
    def test_pods_go_in_a_pass_and_their_budgets_are_heeded(self):
        self.request("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
            "metadata": {"name": "most"}, "spec": {"minAvailable": 5, "selector": {"matchLabels": {"app": "web"}}}})
        budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/most"
        wait_for("the budget's status", lambda: self.request("GET", budget).get("status", {}).get("disruptionsAllowed"))
        one = self.start()
        self.passes(one)
        self.assertEqual(len(self.names()), 6)
        self.taint()
        wait_for("one goes", lambda: len(self.names()) == 5)
        wait_for("the other one is refused", lambda: one.metric('koord_descheduler_chosen_pods_total{result="refused"') or
                 'result="refused",strategy="RemovePodsViolatingNodeTaints",profile="taints"' in one.get("/metrics")[1])
        self.assertEqual(len(self.names()), 5)
        self.request("DELETE", budget)
        wait_for("the other one goes", lambda: self.names() == ["web-1a", "web-1b", "web-2a", "web-2b"])
        self.assertGreaterEqual(one.metric("descheduler_pods_evicted"), 2)
        self.assertGreater(one.metric("koord_descheduler_pass_duration_seconds_count"), 0)
        status, text = one.get("/readyz")
        self.assertEqual((status, text), (200, "ok"))
        self.assertIn('"deschedulingInterval":"1s"', one.get("/configz")[1])
        self.assertEqual(one.get("/passes")[0], 404)  # it shows what is inside: never on a plain port
        self.assertEqual(one.end(), 0)
        self.assertFalse(self.request("GET", LEASE)["spec"].get("holderIdentity"))

    def test_a_dry_run_changes_nothing(self):
        self.taint()
        before = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in self.api.list(PODS)}
        one = self.start("--leader-elect=false", text=CONFIG + "dryRun: true\n")
        self.passes(one, 3)
        self.assertEqual(one.output().count("evicted pod in dry run mode") % 2, 0)
        self.assertIn("pod=web-0b", one.output())
        self.assertEqual({item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in self.api.list(PODS)}, before)
        self.assertEqual(one.metric("descheduler_pods_evicted"), 0)
        self.assertEqual(self.api.list("/apis/events.k8s.io/v1/events"), [])
        self.assertEqual(one.end(), 0)

    def test_of_two_one_works_and_the_other_one_takes_over(self):
        first = self.start()
        self.passes(first)
        second = self.start()
        wait_for("ready", lambda: second.get("/readyz")[0] == 200)
        self.passes(first, 3)
        self.assertEqual(second.metric("koord_descheduler_passes_total"), 0)
        first.end(kill=True)
        self.taint()
        wait_for("pods go", lambda: self.names() == ["web-1a", "web-1b", "web-2a", "web-2b"])
        self.assertGreater(second.metric("koord_descheduler_passes_total"), 0)
        self.assertEqual(second.end(), 0)

    def test_limits_hold_pass_after_pass(self):
        self.taint(0)
        self.taint(1)
        one = self.start(text=CONFIG.replace("1s", "3s", 1) + "maxNoOfPodsToEvictTotal: 1\n")
        seen = []
        end = time.monotonic() + 60
        while len(self.names()) > 2:
            self.assertLess(time.monotonic(), end)
            seen.append(len(self.names()))
            made = one.metric("koord_descheduler_passes_total")
            self.assertGreaterEqual(len(self.names()) + made + 1, 6)  # a pass may be under way
            time.sleep(0.05)
        self.assertEqual(sorted(set(seen), reverse=True)[:2], [6, 5])
        self.assertEqual(one.end(), 0)

    def test_the_shipped_configuration_is_taken(self):
        with open(os.path.join(TREE, "packaging", "manifests", "20-config.yaml"), encoding="utf-8") as file:
            lines = file.read().partition("  koord-descheduler-config: |\n")[2].splitlines()
        text = "".join(line[4:] + "\n" for line in itertools.takewhile(lambda line: line.startswith("    "), lines))
        self.assertIn("deschedulingInterval: 10s", text)
        path = os.path.join(self.folder, "shipped.config")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([KOORD, "--role=descheduler", f"--config={path}", "--write-config-to=/dev/stdout"], capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"}, check=False)  # there is no API server
        self.assertEqual(done.returncode, 0, done.stderr)
        written = json.loads(done.stdout)
        self.assertEqual(written["profiles"][0]["plugins"], {kind: {"enabled": [{"name": "MigrationController"}]} for kind in ("evict", "filter")})
        self.assertEqual([entry["name"] for entry in written["profiles"][0]["pluginConfig"]], ["MigrationController", "LowNodeLoad"])

    def test_a_configuration_that_is_wrong_is_refused_with_its_line(self):
        for text, message in (
                (CONFIG.replace("name: RemovePodsViolatingNodeTaints", "name: RemovePods"), ":10: profiles[0].plugins.deschedule: DeschedulePlugin "
                 '"RemovePods" does not exist; there are: '),
                (CONFIG + "dryRum: true\n", ":13: .dryRum: unknown field"),
                (CONFIG + "nodeSelector: {{matchLabels: {{a/b/c: d}}}}\n", ":13: nodeSelector: key: Invalid value"),
                (CONFIG.replace("v1alpha2", "v1alpha1", 1), ":1: .apiVersion: ")):
            with self.subTest(message):
                one = self.start(text=text)
                self.assertEqual(one.child.wait(20), 2)
                self.assertIn(f"{one.config}{message}", one.output())


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

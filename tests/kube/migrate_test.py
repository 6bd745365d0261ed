#!/usr/bin/env python3
"""koord migrate check on a real API server with what Koordinator's chart installs: what it says of it, that it names what stands in
the way, and that it only reads."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import schedulers
from own_cluster import own_cluster

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "support"))
import koordinator_install as install  # noqa: E402
from sandbox import KOORD, Kubectl, wait_for  # noqa: E402

KUBECONFIG = None
CRDS = os.path.join(schedulers.HERE, "..", "..", "packaging", "crds")


def setUpModule():
    global KUBECONFIG
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as policy:
        json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}, policy)
    unittest.addModuleCleanup(os.unlink, policy.name)
    MigrateTest.audit = f"{policy.name}.log"
    unittest.addModuleCleanup(os.unlink, MigrateTest.audit)
    _, _, KUBECONFIG = own_cluster("migrate", f"--audit-policy-file={policy.name} --audit-log-path={MigrateTest.audit}")


class MigrateTest(unittest.TestCase):
    audit = None

    def setUp(self):
        self.kubectl = Kubectl(KUBECONFIG)
        self.kubectl.run("apply", "--server-side", "-f", CRDS)
        self.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": install.NS}}, *install.definitions_of_others()])
        self.kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        self.apply([*install.workloads(), *install.config_maps(), *install.webhooks()])

    def apply(self, objects):
        self.kubectl.run("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def check(self, code, *flags, kubeconfig=None):
        done = subprocess.run([KOORD, "migrate", "check", f"--kubeconfig={kubeconfig or KUBECONFIG}", *flags], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def findings(self, code):
        report = json.loads(self.check(code, "--output=json").stdout)
        self.assertEqual(report["inTheWay"], code == 1)
        found = {}
        for one in report["findings"]:
            found.setdefault((one["verdict"], one["about"]), []).append(one["text"])
        return found, report

    def test_an_installation_as_the_chart_makes_it(self):
        found, report = self.findings(0)
        manager = f"Deployment {install.NS}/koord-manager"
        self.assertIn("--enable-leader-election", found["same", manager])
        self.assertTrue(any(text.startswith("version v1.8.0") for text in found["same", manager]))
        koordlet = found["same", f"DaemonSet {install.NS}/koordlet"]
        for gate in install.KOORDLET_GATES.split(","):
            self.assertIn(f"--feature-gates: {gate}", koordlet)
        self.assertTrue(any("second agent" in text for text in found["better", f"DaemonSet {install.NS}/koordlet"]))
        self.assertIn("colocation-config", found["same", f"ConfigMap {install.NS}/slo-controller-config"])
        self.assertTrue(any("profiles: koord-scheduler" in text for text in found["same", f"ConfigMap {install.NS}/koord-scheduler-config"]))
        self.assertTrue(any("profiles: koord-descheduler" in text for text in found["same", f"ConfigMap {install.NS}/koord-descheduler-config"]))
        self.assertTrue(any("/mutate-pod is served" in text for text in
                            found["same", "MutatingWebhookConfiguration koordinator-mutating-webhook-configuration"]))
        self.assertIn(("not at all", "recommendations.analysis.koordinator.sh"), found)
        self.assertIn(("same", "nodemetrics.slo.koordinator.sh"), found)
        roles = [step["role"] for step in report["order"]]
        self.assertEqual(roles, ["", "manager", "scheduler", "descheduler", "device-daemon", "koordlet", ""])
        text = self.check(0).stdout
        self.assertIn("\n  7. ", text)
        self.assertIn(" 0 in the way\n", text)

    def test_what_stands_in_the_way_is_named(self):
        self.apply([*install.workloads(koordlet=["--no-such-flag=1", "--feature-gates=NoSuchGate=true"]),
                    *install.config_maps({"colocation-config": "{", "unknown-config": "{}"}, "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                         "kind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: x, nonsense: 1}]\n")])
        found, _ = self.findings(1)
        koordlet = found["in the way", f"DaemonSet {install.NS}/koordlet"]
        self.assertTrue(any("--no-such-flag=1" in text and "would not start" in text for text in koordlet), koordlet)
        self.assertTrue(any("NoSuchGate" in text for text in koordlet), koordlet)
        slo = found["in the way", f"ConfigMap {install.NS}/slo-controller-config"]
        self.assertTrue(any("colocation-config" in text and "put it right first" in text for text in slo), slo)
        self.assertIn(("not at all", f"ConfigMap {install.NS}/slo-controller-config"), found)
        scheduler = found["in the way", f"ConfigMap {install.NS}/koord-scheduler-config"]
        self.assertTrue(any("/config/koord-scheduler.config:3" in text and "nonsense" in text for text in scheduler), scheduler)

    def test_it_only_reads(self):
        self.check(0)

        def requests():
            with open(self.audit, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if line.endswith("\n")]
            return [line for line in lines if line.get("userAgent", "").startswith("koord-migrate/")]
        wait_for("the audit log has it", requests)
        self.assertEqual({line["verb"] for line in requests()} - {"get", "list"}, set())
        self.assertLess(len(requests()), 200)

    def test_a_server_that_cannot_be_asked(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
                       "contexts: [{name: c, context: {cluster: c, user: ''}}]\n")
            file.flush()
            done = self.check(2, kubeconfig=file.name)
        self.assertIn("http://127.0.0.1:9", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    if not os.access(os.path.join(os.environ.get("KUBEBUILDER_ASSETS", ""), "kube-apiserver"), os.X_OK):
        print("skipped: no Kubernetes: run packaging/dev test kube, or tests/kube/with-cluster COMMAND")
        sys.exit(77)
    unittest.main(verbosity=2, warnings="ignore")

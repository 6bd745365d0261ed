#!/usr/bin/env python3
"""A newcomer's first half hour with `koord sandbox` and kubectl."""
import json
import os
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from sandbox import KUBECTL, Kubectl, Sandbox, wait_for  # noqa: E402

NODES, PODS = 100, 500
ZONE = "topology.kubernetes.io/zone"


def pod(name, cpu="100m", **spec):
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def stateful_set(name, replicas):
    """With a claim of the default class for each pod."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("", "100m")["spec"]}
    claim = {"metadata": {"name": "data"},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {"serviceName": name, "replicas": replicas, "selector": {"matchLabels": labels},
                     "template": template, "volumeClaimTemplates": [claim]}}


def manifest(*objects):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


class Newcomer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox(f"--nodes={NODES}")
        cls.sandbox.__enter__()
        cls.kubectl = Kubectl(cls.sandbox.kubeconfig)

    @classmethod
    def tearDownClass(cls):
        cls.sandbox.__exit__()

    def test_1_the_kubeconfig_is_private(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.sandbox.kubeconfig).st_mode), 0o600)

    def test_2_all_nodes_are_ready(self):
        lines = self.kubectl.run("get", "nodes", "--no-headers").splitlines()
        self.assertEqual(len(lines), NODES)
        for line in lines:
            self.assertEqual(line.split()[1], "Ready", line)

    def test_3_pods_that_are_applied_run(self):
        self.kubectl.run("apply", "-f", "-", stdin=manifest(*(pod(f"p-{i:03d}") for i in range(PODS))))

        def running():
            phases = self.kubectl.run("get", "pods", "-o", "jsonpath={range .items[*]}{.status.phase} {end}").split()
            return phases.count("Running") == PODS

        wait_for(f"{PODS} pods Running", running)
        for item in self.kubectl.items("pods"):
            self.assertTrue(item["spec"].get("nodeName"))

    def test_4_describe_explains_a_pod_that_fits_nowhere(self):
        self.kubectl.run("apply", "-f", "-", stdin=manifest(pod("huge", cpu="100000")))
        # Koordinator's profile has two plugins that preempt, and each says so.
        twice = ", ".join([f"preemption: 0/{NODES} nodes are available: {NODES} Preemption is not helpful for scheduling."] * 2)
        message = f"0/{NODES} nodes are available: {NODES} Insufficient cpu. {twice}"

        def explained():
            text = self.kubectl.run("describe", "pod", "huge")
            return text if message in text and "FailedScheduling" in text else None

        wait_for(f"'{message}' in describe", explained)
        condition = [c for c in self.kubectl.items("pods", "--field-selector=metadata.name=huge")[0]["status"]["conditions"]
                     if c["type"] == "PodScheduled"][0]
        self.assertEqual((condition["status"], condition["reason"]), ("False", "Unschedulable"))
        self.assertEqual(condition["message"], message)

    def test_5_a_taint_that_goes_lets_a_pod_in(self):
        name = self.kubectl.items("nodes")[0]["metadata"]["name"]
        self.kubectl.run("taint", "node", name, "dedicated=x:NoSchedule")
        chosen = {"nodeSelector": {"kubernetes.io/hostname": name}}
        self.kubectl.run("apply", "-f", "-", stdin=manifest(pod("picky", **chosen)))

        def refused():
            return "had untolerated taint" in self.kubectl.run("describe", "pod", "picky")

        wait_for("the taint's message", refused)
        self.kubectl.run("taint", "node", name, "dedicated-")
        self.kubectl.run("wait", "--for=jsonpath={.status.phase}=Running", "pod/picky", "--timeout=30s")

    def test_6_a_deployment_is_made_scaled_and_removed(self):
        self.kubectl.run("create", "deployment", "web", "--image=none", "--replicas=3")
        self.kubectl.run("wait", "--for=condition=Available", "deployment/web", "--timeout=30s")
        self.kubectl.run("scale", "deployment", "web", "--replicas=5")
        wait_for("5 pods", lambda: len(self.kubectl.items("pods", "-l", "app=web")) == 5)
        self.kubectl.run("delete", "deployment", "web", "--wait")
        wait_for("no pods", lambda: not self.kubectl.items("pods", "-l", "app=web"))

    def test_7_cordon_and_drain_move_pods(self):
        self.kubectl.run("create", "deployment", "moved", "--image=none", "--replicas=2")
        self.kubectl.run("wait", "--for=condition=Available", "deployment/moved", "--timeout=30s")
        node = self.kubectl.items("pods", "-l", "app=moved")[0]["spec"]["nodeName"]
        self.kubectl.run("drain", node, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")

        def elsewhere():
            nodes = [p["spec"].get("nodeName") for p in self.kubectl.items("pods", "-l", "app=moved")]
            return len(nodes) == 2 and all(nodes) and node not in nodes

        wait_for("two pods on other nodes", elsewhere)
        self.kubectl.run("uncordon", node)

    def test_8_unknown_things_are_refused_as_kubernetes_does(self):
        done = subprocess.run([KUBECTL, "get", "pods", "none"], env=self.kubectl.env, text=True,
                              capture_output=True, timeout=60, check=False)
        self.assertIn('pods "none" not found', done.stderr)
        done = subprocess.run([KUBECTL, "create", "-f", "-", "-n", "none"], env=self.kubectl.env, text=True,
                              input=json.dumps(pod("x")), capture_output=True, timeout=60, check=False)
        self.assertIn('namespaces "none" not found', done.stderr)

    def test_9_a_stateful_set_has_its_claims_where_its_pods_are(self):
        self.kubectl.run("apply", "-f", "-", stdin=manifest(stateful_set("db", 3)))
        self.kubectl.run("rollout", "status", "statefulset/db", "--timeout=60s")
        zones = {node["metadata"]["name"]: node["metadata"]["labels"][ZONE] for node in self.kubectl.items("nodes")}
        pods = self.kubectl.items("pods", "-l", "app=db")
        self.assertEqual([item["metadata"]["name"] for item in pods], ["db-0", "db-1", "db-2"])
        volumes = {item["spec"]["claimRef"]["name"]: item for item in self.kubectl.items("pv")}
        for item in pods:
            volume = volumes[f"data-{item['metadata']['name']}"]
            self.assertEqual(volume["status"]["phase"], "Bound")
            rule = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]
            self.assertEqual((rule["key"], rule["values"]), (ZONE, [zones[item["spec"]["nodeName"]]]))
        # A pod that comes back finds its volume, and goes where that is.
        zone = zones[pods[1]["spec"]["nodeName"]]
        self.kubectl.run("delete", "pod", "db-1", "--wait")
        self.kubectl.run("rollout", "status", "statefulset/db", "--timeout=60s")
        back = self.kubectl.items("pods", "--field-selector=metadata.name=db-1")[0]
        self.assertNotEqual(back["metadata"]["uid"], pods[1]["metadata"]["uid"])
        self.assertEqual(zones[back["spec"]["nodeName"]], zone)


if __name__ == "__main__":
    if not os.access(KUBECTL, os.X_OK):
        print("skipped: no kubectl: run packaging/dev test kube")
        sys.exit(77)
    unittest.main(verbosity=2)

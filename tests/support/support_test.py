"""Tests of the trace converter and of the placement checker: it must find each kind of wrong placement."""
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import check_placement as checker
import openb_manifests as openb


def node(name="n1", taints=None, labels=None, unschedulable=False, **allocatable):
    resources = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    return {"metadata": {"name": name, "labels": labels or {}},
            "spec": {"taints": taints or [], "unschedulable": unschedulable},
            "status": {"allocatable": resources}}


def pod(name="p", on="n1", cpu="1", phase="Running", **spec):
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {"metadata": {"name": name, "namespace": "ns"}, "status": {"phase": phase},
            "spec": {"nodeName": on, "containers": containers, **spec}}


def required(*requirements, fields=()):
    term = {"matchExpressions": list(requirements), "matchFields": list(fields)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


class Quantities(unittest.TestCase):
    def test_exact(self):
        cases = {"1": 1, "100m": Fraction(1, 10), "1.5Gi": 1610612736, "2e3": 2000, "1E": 10**18, "1E3": 1000,
                 ".5": Fraction(1, 2), "-1k": -1000, "3n": Fraction(3, 10**9), "5.": 5}
        for text, value in cases.items():
            with self.subTest(text=text):
                self.assertEqual(checker.quantity(text), value)
        for text in ("", "1x", "Mi", "1 Gi", "1ee3"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                checker.quantity(text)


class Requests(unittest.TestCase):
    def requests(self, **spec):
        return checker.pod_requests({"spec": spec}).get("cpu", 0)

    def container(self, cpu, **more):
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    def test_init_containers_and_sidecars(self):
        always = {"restartPolicy": "Always"}
        self.assertEqual(self.requests(containers=[self.container("1"), self.container("2")]), 3)
        self.assertEqual(self.requests(containers=[self.container("1")], initContainers=[self.container("5")]), 5)
        self.assertEqual(self.requests(containers=[self.container("1")],
                                       initContainers=[self.container("2", **always), self.container("5")]), 7)
        self.assertEqual(self.requests(containers=[self.container("4")],
                                       initContainers=[self.container("5"), self.container("2", **always)]), 6)
        self.assertEqual(self.requests(containers=[self.container("1")], overhead={"cpu": "250m"}), Fraction(5, 4))
        self.assertEqual(self.requests(containers=[self.container("1")],
                                       resources={"requests": {"cpu": "3"}}), 3)
        limit_only = {"resources": {"limits": {"cpu": "2"}}}
        self.assertEqual(self.requests(containers=[limit_only]), 2)


class Placement(unittest.TestCase):
    def found(self, nodes, pods):
        cluster = checker.Cluster(nodes, pods)
        return [*cluster.violations(), *cluster.wrongly_pending()]

    def one(self, reason, nodes, pods):
        found = self.found(nodes, pods)
        self.assertEqual(len(found), 1, found)
        self.assertIn(reason, found[0])

    def test_right(self):
        taint = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
        tolerant = [{"key": "k", "value": "v"}]
        cases = [
            ([node()], [pod("a", cpu="2"), pod("b", cpu="2")]),
            ([node()], [pod("a", cpu="4"), pod("b", cpu="4", phase="Succeeded")]),
            ([node(taints=taint)], [pod(tolerations=tolerant)]),
            ([node(taints=taint)], [pod(on="")]),
            ([node()], [pod("a", cpu="3"), pod("b", on="", cpu="2")]),
            ([node()], [pod(on="", schedulingGates=[{"name": "g"}])]),
            ([node(unschedulable=True)], [pod(on="")]),
            ([node(labels={"m": "T4"})], [pod(affinity=required({"key": "m", "operator": "In", "values": ["T4"]}))]),
        ]
        for nodes, pods in cases:
            with self.subTest(pods=pods):
                self.assertEqual(self.found(nodes, pods), [])

    def test_overcommitted(self):
        self.one("cpu 5 of 4", [node()], [pod("a", cpu="2"), pod("b", cpu="3")])
        self.one("pods 2 of 1", [node(pods="1")], [pod("a", cpu="1"), pod("b", cpu="1")])
        gpu = {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]}
        self.one("nvidia.com/gpu 1 of 0", [node()], [pod(**gpu)])

    def test_constraints(self):
        self.one("does not exist", [node()], [pod(on="gone")])
        self.one("affinity", [node()], [pod(nodeSelector={"disk": "ssd"})])
        for operator, values in (("In", ["x"]), ("Exists", []), ("Gt", ["1"])):
            self.one("affinity", [node()], [pod(affinity=required({"key": "m", "operator": operator, "values": values}))])
        self.one("affinity", [node(labels={"m": "5"})],
                 [pod(affinity=required({"key": "m", "operator": "Lt", "values": ["5"]}))])
        self.one("affinity", [node()], [pod(affinity=required(
            fields=[{"key": "metadata.name", "operator": "In", "values": ["n2"]}]))])
        self.one("taint", [node(taints=[{"key": "k", "effect": "NoExecute"}])], [pod()])
        self.one("taint", [node(unschedulable=True)], [pod()])
        ports = {"containers": [{"ports": [{"hostPort": 80}]}]}
        other = {"containers": [{"ports": [{"hostPort": 80, "hostIP": "10.0.0.1"}]}]}
        self.one("host port 80", [node()], [pod("a", **ports), pod("b", **other)])

    def test_wrongly_pending(self):
        self.one("fits on n2", [node(), node("n2")], [pod("a", cpu="4"), pod("b", on="", cpu="1")])


class Openb(unittest.TestCase):
    def test_pod(self):
        row = {"name": "p", "cpu_milli": "6500", "memory_mib": "12288", "num_gpu": "1", "gpu_milli": "455",
               "gpu_spec": "V100M16|V100M32", "qos": "BE"}
        spec = openb.pod_object(row, "s")["spec"]
        self.assertEqual(spec["containers"][0]["resources"], {
            "requests": {"cpu": "6500m", "memory": "12288Mi", openb.HUNDREDTHS: "46"},
            "limits": {openb.HUNDREDTHS: "46"}})
        self.assertEqual(spec["priorityClassName"], "koord-batch")
        terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        self.assertEqual(terms["nodeSelectorTerms"][0]["matchExpressions"][0]["values"], ["V100M16", "V100M32"])
        whole = openb.pod_object({**row, "gpu_milli": "1000", "num_gpu": "2", "gpu_spec": ""}, "s")["spec"]
        self.assertEqual(whole["containers"][0]["resources"]["limits"],
                         {"nvidia.com/gpu": "2", openb.HUNDREDTHS: "200"})
        self.assertNotIn("affinity", whole)

    def test_sample_is_converted(self):
        sample = os.path.join(HERE, "..", "golden", "openb")
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([sys.executable, os.path.join(HERE, "openb_manifests.py"), out, "--traces", sample],
                           check=True, capture_output=True)
            with open(os.path.join(out, "nodes.json"), encoding="utf-8") as file:
                nodes = [item for item in json.load(file)["items"] if item["kind"] == "Node"]
            with open(os.path.join(out, "pods.json"), encoding="utf-8") as file:
                pods = json.load(file)["items"]
        self.assertEqual((len(nodes), len(pods)), (25, 136))
        # All on their first fitting node: a greedy placement is a right one.
        placed = copy.deepcopy(pods)
        done = []
        for each in placed:
            cluster = checker.Cluster(nodes, done)
            requests = {**checker.pod_requests(each), "pods": Fraction(1)}
            on = next((name for name in cluster.nodes if cluster.fits(each, name, requests)), None)
            each["spec"]["nodeName"] = on or ""
            done.append(each)
        cluster = checker.Cluster(nodes, placed)
        self.assertEqual([*cluster.violations(), *cluster.wrongly_pending()], [])
        self.assertGreater(len(cluster.bound), 90)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Preemption on a real API server, with the real disruption controller and kubelets that end what is deleted.

What the sandbox's disruption controller writes is held against the real one's.
"""
import os
import subprocess
import unittest

import schedulers
from schedulers import OURS, wait_for

import kube_api
from fake_kubelet import FakeKubelets

NAMESPACE = "preemption"
CLUSTER = os.path.join(schedulers.HERE, "cluster")
CONTROLLERS = os.path.join(os.environ.get("KUBEBUILDER_ASSETS", ""), "kube-controller-manager")
PRIORITIES = {"preemption-low": 10, "preemption-mid": 100, "preemption-high": 1000, "preemption-top": 10000}
BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"


def budget(name, selector, namespace=NAMESPACE, **spec):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": selector}, **spec}}


def pod(name, scheduler=OURS, namespace=NAMESPACE, cpu="900m", labels=None, priority="preemption-low", **spec):
    item = schedulers.pod(name, scheduler, namespace, cpu, priorityClassName=priority,
                          terminationGracePeriodSeconds=1, **spec)
    item["metadata"]["labels"] = labels or {}
    return item


class PreemptionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        cls.connection = cls.api.connect()
        schedulers.ensure_namespaces(cls.api, NAMESPACE)
        for name, value in PRIORITIES.items():
            cls.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                        "value": value})
        subprocess.run([CLUSTER, "start-controllers", os.environ["KOORD_KUBE_DIR"]], check=True)
        cls.kubelets = FakeKubelets(cls.api, NAMESPACE)

    @classmethod
    def tearDownClass(cls):
        cls.kubelets.close()
        subprocess.run([CLUSTER, "stop-controllers", os.environ["KOORD_KUBE_DIR"]], check=True)
        for name in PRIORITIES:
            cls.connection.request("DELETE", f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")

    def setUp(self):
        self.clean()
        self.addCleanup(self.clean)

    def clean(self):
        for namespace in [NAMESPACE]:
            for path in ("/apis/apps/v1/namespaces/{}/replicasets", BUDGETS):
                self.connection.request("DELETE", path.format(namespace))
        schedulers.clean(self.api, [NAMESPACE])

    @classmethod
    def create(cls, *items, connection=None):
        for item in items:
            try:
                kube_api.create(connection or cls.connection, item)
            except kube_api.ApiError as error:
                if error.status != 409 or item["kind"] != "PriorityClass":
                    raise

    def budget_status(self, name, namespace=NAMESPACE):
        """"expected/desired/healthy/allowed reason", as in tests/unit/sandbox/disruptions_test.cpp."""
        status = self.connection.request("GET", f"{BUDGETS.format(namespace)}/{name}").get("status", {})
        numbers = [status.get(field, 0) for field in ("expectedPods", "desiredHealthy", "currentHealthy",
                                                      "disruptionsAllowed")]
        reason = (status.get("conditions") or [{}])[0].get("reason", "")
        return "/".join(map(str, numbers)) + f" {reason}"

    def test_the_sandbox_s_budgets_say_what_the_real_ones_say(self):
        rows = {"number": ({"minAvailable": 2}, "3/2/3/1 SufficientPods"),
                "all": ({"minAvailable": 3}, "3/3/3/0 InsufficientPods"),
                "share": ({"minAvailable": "50%"}, "3/2/3/1 SufficientPods"),
                "most": ({"maxUnavailable": 1}, "3/2/3/1 SufficientPods"),
                "most-share": ({"maxUnavailable": "50%"}, "3/1/3/2 SufficientPods"),
                "too-many": ({"maxUnavailable": 7}, "3/0/3/3 SufficientPods"),
                "neither": ({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, "0/0/3/0 InsufficientPods")}
        self.create(schedulers.node("one"))
        # Each has pods of its own: the controller looks at one budget of a pod that changes.
        for name, (spec, _) in rows.items():
            template = {"metadata": {"labels": {"app": name}},
                        "spec": {"nodeName": "one", "containers": [{"name": "main", "image": "none"}]}}
            self.create(budget(name, {"app": name}, **spec),
                        {"apiVersion": "apps/v1", "kind": "ReplicaSet",
                         "metadata": {"name": name, "namespace": NAMESPACE},
                         "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": template}})
        for name, (_, expected) in rows.items():
            wait_for(f"{name}: {expected}", lambda: self.budget_status(name) == expected)

        # Bare pods count where a number is named, and nowhere else.
        self.create(pod("bare", labels={"app": "bare"}, nodeName="one"),
                    pod("bare-too", labels={"app": "bare-too"}, nodeName="one"),
                    budget("bare-number", {"app": "bare"}, minAvailable=1),
                    budget("bare-share", {"app": "bare-too"}, maxUnavailable=1))
        for name, expected in {"bare-number": "1/1/1/0 InsufficientPods", "bare-share": "0/0/1/0 InsufficientPods"}.items():
            wait_for(f"{name}: {expected}", lambda: self.budget_status(name) == expected)


if __name__ == "__main__":
    schedulers.skip_without_cluster(CONTROLLERS)
    unittest.main(verbosity=2, warnings="ignore")

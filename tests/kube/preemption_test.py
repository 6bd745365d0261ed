#!/usr/bin/env python3
"""Preemption on a real API server, with the real disruption controller and kubelets that end what is deleted.

What the sandbox's disruption controller writes is held against the real one's; koord's victims against
kube-scheduler's, on the same small clusters side by side.
"""
import concurrent.futures
import os
import random
import subprocess
import sys
import time
import unittest

import schedulers
from schedulers import OURS, UPSTREAM, wait_for

import kube_api
from fake_kubelet import STARTED, FakeKubelets

NAMESPACE = "preemption"
SIDES = {UPSTREAM: "preemption-upstream", OURS: "preemption-koord"}
CLUSTER = os.path.join(schedulers.HERE, "cluster")
NODE_CPU = 2000
CONTROLLERS = os.path.join(os.environ.get("KUBEBUILDER_ASSETS", ""), "kube-controller-manager")
SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_SEEDS", "1 2 3").split()]
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
        schedulers.ensure_namespaces(cls.api, NAMESPACE, *SIDES.values())
        for name, value in PRIORITIES.items():
            cls.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                        "value": value})
        subprocess.run([CLUSTER, "start-controllers", os.environ["KOORD_KUBE_DIR"]], check=True)
        cls.kubelets = FakeKubelets(cls.api, NAMESPACE, *SIDES.values())

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
        for namespace in (NAMESPACE, *SIDES.values()):
            for path in ("/apis/apps/v1/namespaces/{}/replicasets", BUDGETS):
                self.connection.request("DELETE", path.format(namespace))
        schedulers.clean(self.api, [NAMESPACE, *SIDES.values()])

    @classmethod
    def create(cls, *items, connection=None):
        for item in items:
            try:
                kube_api.create(connection or cls.connection, item)
            except kube_api.ApiError as error:
                if error.status != 409 or item["kind"] != "PriorityClass":
                    raise

    def start(self, make, *flags):
        process = make("--leader-elect=false", *flags)
        self.addCleanup(process.end)
        return process

    def watch(self, namespace=NAMESPACE):
        watch = schedulers.PodWatch(self.api, namespace)
        self.addCleanup(watch.close)
        return watch

    def budget_status(self, name, namespace=NAMESPACE):
        """"expected/desired/healthy/allowed reason", as in tests/unit/sandbox/disruptions_test.cpp."""
        status = self.connection.request("GET", f"{BUDGETS.format(namespace)}/{name}").get("status", {})
        numbers = [status.get(field, 0) for field in ("expectedPods", "desiredHealthy", "currentHealthy",
                                                      "disruptionsAllowed")]
        reason = (status.get("conditions") or [{}])[0].get("reason", "")
        return "/".join(map(str, numbers)) + f" {reason}"

    def wait_running(self, watch, names):
        def running(pods):
            return all((pods.get(name, {}).get("status") or {}).get("phase") == "Running" for name in names)
        watch.wait(f"{names} run", running)

    def started_at(self, item, second, connection):
        """Says of a pod that it runs since then, before a kubelet does."""
        meta = item["metadata"]
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                  "startTime": time.strftime("2026-01-01T%H:%M:%SZ", time.gmtime(second))}
        connection.request("PATCH", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status",
                           {"status": status}, "application/strategic-merge-patch+json")

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

    def test_a_budget_is_respected(self):
        watch = self.watch()
        self.create(schedulers.node("one", "1"), schedulers.node("two", "1"),
                    pod("kept", labels={"app": "kept"}, nodeName="one"),
                    pod("spare", nodeName="two", priority="preemption-mid"),
                    budget("keeps", {"app": "kept"}, minAvailable=1))
        self.wait_running(watch, ["kept", "spare"])
        wait_for("the budget's status", lambda: self.budget_status("keeps") == "1/1/1/0 InsufficientPods")
        self.start(schedulers.koord)
        uid = watch.pods["spare"]["metadata"]["uid"]
        self.create(pod("important", priority="preemption-high"))
        # Without the budget the one of the lower priority would go.
        victim = watch.wait("the victim's condition", lambda pods: "spare" in pods and next(
            (c for c in pods["spare"]["status"]["conditions"] if c["type"] == "DisruptionTarget"), None))
        self.assertEqual((victim["status"], victim["reason"], victim["message"]),
                         ("True", "PreemptionByScheduler",
                          f"{OURS}: preempting to accommodate a higher priority pod"))
        watch.wait("a nominated node", lambda pods: pods["important"].get("status", {}).get("nominatedNodeName") == "two")
        watch.wait_gone(["spare"])
        watch.wait_scheduled("important")
        self.assertEqual(watch.pods["important"]["spec"]["nodeName"], "two")
        self.assertNotIn("deletionTimestamp", watch.pods["kept"]["metadata"])
        event = wait_for("the event", lambda: [
            e for e in self.connection.request("GET", schedulers.EVENTS.format(NAMESPACE))["items"]
            if e["reason"] == "Preempted"])[0]
        self.assertEqual((event["type"], event["action"], event["regarding"]["uid"]), ("Normal", "Preempting", uid))
        self.assertEqual(event["note"], f"Preempted by pod {watch.pods['important']['metadata']['uid']} on node two")
        self.assertEqual(event["related"]["name"], "important")

    def cluster(self, seed, side):
        """Nodes of one side, full of pods that run for different times, and budgets; the same for each side."""
        chosen, namespace, node_of = random.Random(seed), SIDES[side], {}
        items = []
        for n in range(4):
            node, used = f"{namespace}-{n}", 0
            items.append(schedulers.node(node, f"{NODE_CPU}m", labels={"side": namespace}))
            while used < NODE_CPU - 500:
                cpu, name = chosen.choice([200, 300, 400]), f"p{n}-{len(node_of)}"
                used, node_of[name] = used + cpu, node
                items.append(pod(name, "nobody", namespace, f"{cpu}m", {"app": chosen.choice("abc"), STARTED: "by-the-test"},
                                 chosen.choice(sorted(PRIORITIES)[:-1]), nodeName=node))
        for app in "ab":
            items.append(budget(app, {"app": app}, namespace, minAvailable=chosen.randint(0, 6)))
        times = chosen.sample(range(80000), len(node_of))
        return items, dict(zip(node_of, times)), chosen

    def preempt_on(self, seed, side, watch):
        """[(node, victims)] of a few preemptors, one after the other."""
        namespace = SIDES[side]
        items, times, chosen = self.cluster(seed, side)
        connection = self.api.connect()
        for item in items:
            self.create(item, connection=connection)
            if item["kind"] == "Pod":
                self.started_at(item, times[item["metadata"]["name"]], connection)
        budgets = [item["metadata"]["name"] for item in items if item["kind"] == "PodDisruptionBudget"]

        def settled():
            return all(connection.request("GET", f"{BUDGETS.format(namespace)}/{name}").get("status", {}).get(
                "observedGeneration") for name in budgets)

        wait_for("the budgets' status", settled)
        outcome = []
        for index in range(3):
            there, name = set(watch.pods), f"preemptor-{seed}-{index}"
            # More than is free anywhere, so that somebody has to go.
            free = {item["metadata"]["name"]: NODE_CPU for item in items if item["kind"] == "Node"}
            for each in watch.pods.values():
                cpu = each["spec"]["containers"][0]["resources"]["requests"]["cpu"]
                free[each["spec"]["nodeName"]] -= int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
            self.create(pod(name, side, namespace, f"{max(free.values()) + chosen.choice([100, 400, 700])}m",
                            priority=chosen.choice(["preemption-high", "preemption-top"]),
                            nodeSelector={"side": namespace}), connection=connection)
            verdict = watch.verdict(name)
            if verdict[0] != "scheduled" and not watch.pods[name]["status"].get("nominatedNodeName"):
                outcome.append((verdict[0], []))
                continue
            watch.wait_scheduled(name)
            outcome.append((watch.pods[name]["spec"]["nodeName"].removeprefix(namespace), sorted(there - set(watch.pods))))
        return outcome

    def compare(self, seed):
        self.start(schedulers.kube_scheduler)
        self.start(schedulers.koord)
        with concurrent.futures.ThreadPoolExecutor() as both:
            under_way = {side: both.submit(self.preempt_on, seed, side, self.watch(namespace))
                         for side, namespace in SIDES.items()}
            outcomes = {side: each.result() for side, each in under_way.items()}
        print(f"seed {seed}: {outcomes[UPSTREAM]}", file=sys.stderr)
        self.assertEqual(outcomes[OURS], outcomes[UPSTREAM])
        self.assertTrue(any(victims for _, victims in outcomes[UPSTREAM]))


for each_seed in SEEDS:
    setattr(PreemptionTest, f"test_the_same_victims_as_kube_scheduler_{each_seed}",
            lambda self, seed=each_seed: self.compare(seed))


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER, CONTROLLERS)
    unittest.main(verbosity=2, warnings="ignore")

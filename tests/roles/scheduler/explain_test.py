#!/usr/bin/env python3
"""koord explain on the sandbox: pods that run, wait, are gated, preempt or are not made yet; its sentences, and what follows."""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from explain import Explain  # noqa: E402
from sandbox import wait_for  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"


def pod(name, cpu, **spec):
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": "koord-scheduler", "containers": [container], **spec}}


class ExplainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = sandbox.Sandbox("--roles=scheduler", "--nodes=2", "--node-capacity=cpu=4,memory=8Gi")
        cls.world.__enter__()
        cls.addClassCleanup(cls.world.__exit__)
        cls.connection = kube_api.Api(cls.world.kubeconfig).connect()
        cls.explain = Explain(cls.world.kubeconfig)
        for name, value in (("low", 10), ("high", 1000)):
            kube_api.create(cls.connection, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                             "metadata": {"name": name}, "value": value})
        for item in (pod("one", "3", priorityClassName="low"), pod("two", "2500m", priorityClassName="high")):
            kube_api.create(cls.connection, item)
        wait_for("both run", lambda: all(p["status"].get("phase") == "Running" for p in cls.pods().values()))

    @classmethod
    def pods(cls):
        return {item["metadata"]["name"]: item for item in cls.connection.request("GET", PODS)["items"]}

    def decided(self, name):
        return any(c["type"] == "PodScheduled" for c in self.pods()[name].get("status", {}).get("conditions", []))

    def test_a_pod_that_runs(self):
        node = self.pods()["one"]["spec"]["nodeName"]
        text = self.explain.text("pod", "default/one")
        self.assertTrue(text.startswith(f"Pod default/one is on node {node}.\n"), text)
        view = self.explain.view("pod", "one")
        self.assertEqual(("placed", node, 1), (view["outcome"], view["node"], view["feasible"]))

    def test_what_it_says_of_a_pod_that_waits_comes_true(self):
        kube_api.create(self.connection, pod("waits", "2", nodeSelector={"disk": "ssd"}))
        wait_for("it is refused", lambda: self.decided("waits"))
        text = self.explain.text("pod", "waits")
        self.assertIn("Pod default/waits fits on none of 2 nodes.\nThe scheduler's last word about it", text)
        self.assertIn("  2 nodes: node(s) didn't match Pod's node affinity/selector (NodeAffinity): ", text)
        node = self.pods()["two"]["spec"]["nodeName"]
        self.assertIn("  - it asked for at most 1500m of cpu (it asks for 2), and its nodeSelector did not want "
                      f"disk=ssd: {node}\n", text)
        kube_api.create(self.connection, pod("as-told", "1500m"))
        wait_for("it runs", lambda: self.pods()["as-told"]["spec"].get("nodeName") == node)
        for name in ("waits", "as-told"):
            self.connection.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        wait_for("both are gone", lambda: not {"waits", "as-told"} & set(self.pods()))

    def test_a_gated_pod(self):
        kube_api.create(self.connection, pod("gated", "500m", schedulingGates=[{"name": "quota"}]))
        text = self.explain.text("pod", "gated")
        self.assertIn("Pod default/gated is held back by 1 scheduling gate (quota): no scheduler looks at it until "
                      "whoever set it takes it away.\nIt would fit on 2 of 2 nodes now.\n", text)

    def test_pods_that_are_not_made_yet(self):
        new = pod("new", "3", priorityClassName="high")
        view = self.explain.view("-f", "-", manifest=new)
        self.assertEqual((False, "unschedulable", 1000), (view["exists"], view["outcome"], view["priority"]))
        self.assertEqual([{"pod": "default/one", "priority": 10}], view["preemption"][0]["victims"])
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                      "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": pod("", "500m")["spec"]}}}
        text = self.explain.text("-f", "-", manifest=deployment)
        self.assertIn("Pod default/web fits on 2 of 2 nodes now.\n", text)
        # Nothing was made.
        self.assertNotIn("web", "".join(self.pods()))
        self.assertNotIn("new", self.pods())

    def test_reservations(self):
        path = "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
        events = "/apis/events.k8s.io/v1/events"
        template = {"spec": {"schedulerName": "koord-scheduler", "containers": [
            {"name": "main", "image": "none", "resources": {"requests": {"cpu": "500m"}}}]}}

        def reservation(name, cpu):
            template["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
            self.connection.request("POST", path, {
                "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation", "metadata": {"name": name},
                "spec": {"template": template, "owners": [{"labelSelector": {"matchLabels": {"for": name}}}],
                         "ttl": "1h", "allocateOnce": False}})
            self.addCleanup(self.connection.request, "DELETE", f"{path}/{name}")

        def told(kind, name):
            return {e["reason"]: e["note"] for e in self.connection.request("GET", events)["items"]
                    if (e["regarding"]["kind"], e["regarding"]["name"]) == (kind, name)}

        reservation("kept", "500m")
        reservation("large", "9")
        wait_for("it is placed", lambda: told("Reservation", "kept").get("Scheduled"))
        node = self.connection.request("GET", f"{path}/kept")["status"]["nodeName"]
        self.assertEqual(f"Successfully assigned kept to {node}", told("Reservation", "kept")["Scheduled"])
        wait_for("it is refused", lambda: told("Reservation", "large").get("FailedScheduling"))
        self.assertIn("0/2 nodes are available: 2 Insufficient cpu", told("Reservation", "large")["FailedScheduling"])
        wait_for("it says so", lambda: self.connection.request("GET", f"{path}/large")["status"].get("conditions"))
        condition = self.connection.request("GET", f"{path}/large")["status"]["conditions"][0]
        self.assertEqual(("Scheduled", "False", "Unschedulable"),
                         (condition["type"], condition["status"], condition["reason"]))

        table = self.connection.request("GET", f"{path}/kept", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        self.assertEqual(["Name", "Phase", "Age", "Node", "TTL", "Expires"],
                         [column["name"] for column in table["columnDefinitions"]])
        cells = table["rows"][0]["cells"]
        self.assertEqual(["kept", "Available", node, "1h", None], cells[:2] + cells[3:])

        text = self.explain.text("reservation", "large")
        self.assertTrue(text.startswith("Reservation large fits on none of 2 nodes.\nThe scheduler's last word about it "
                                        "(its condition Scheduled, false for "), text)
        owner = pod("owner", "200m")
        wanting = pod("wanting", "200m")
        for item, of in ((owner, "kept"), (wanting, "large")):
            item["metadata"].update(labels={"for": of}, annotations={
                "scheduling.koordinator.sh/reservation-affinity": json.dumps({"name": of})})
            kube_api.create(self.connection, item)
            self.addCleanup(self.connection.request, "DELETE",
                            f"{PODS}/{item['metadata']['name']}?gracePeriodSeconds=0")
        wait_for("it has its room", lambda: self.pods()["owner"]["spec"].get("nodeName") == node)
        text = self.explain.text("reservation", "kept")
        self.assertTrue(text.startswith(f"Reservation kept is on node {node}, and keeps cpu 500m for its owners.\n"
                                        "Its pods have cpu 200m of it; cpu 300m are left.\nIt expires in "), text)
        self.assertIn("\nPods that have room of it:\n  default/owner: cpu 200m\n", text)
        view = self.explain.view("reservations", "kept")
        self.assertEqual(("placed", {"cpu": "300m"}, "Available"), (view["outcome"], view["reservation"][0]["left"],
                                                                   view["reservation"][0]["phase"]))
        self.assertIn("It has room of the reservation kept.\n", self.explain.text("pod", "owner"))

        wait_for("it is told of reservations", lambda: "FailedScheduling" in told("Pod", "wanting"))
        text = self.explain.text("pod", "wanting")
        self.assertIn("  large: does not serve it: it is on no node yet", text)
        wait_for("it is told of reservations", lambda: told("Pod", "wanting").get("FailedScheduling-Reservation"))
        self.assertEqual("0/0 reservations are available: .", told("Pod", "wanting")["FailedScheduling-Reservation"])

    def test_what_is_wrong_is_said(self):
        self.assertIn("\"nobody\" not found", self.explain.failure(1, "pod", "nobody"))
        self.assertIn("which pod?", self.explain.failure(2, "pod"))
        self.assertIn("which reservation?", self.explain.failure(2, "reservation"))
        self.assertIn("\"nothing\" not found", self.explain.failure(1, "reservation", "nothing"))
        self.assertIn("neither a Pod nor has it a template of pods",
                      self.explain.failure(2, "-f", "-", manifest={"kind": "Service", "metadata": {"name": "s"}}))


if __name__ == "__main__":
    unittest.main()

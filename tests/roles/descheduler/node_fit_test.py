#!/usr/bin/env python3
"""Whether a pod fits elsewhere is asked of the scheduler's filters: against the sandbox."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import descheduler_test  # noqa: E402
from descheduler_test import CONFIG, PODS  # noqa: E402
from sandbox import wait_for  # noqa: E402

GROUPS, DRAINS = (f"/apis/scheduling.koordinator.sh/v1alpha1/{kind}" for kind in ("drainnodegroups", "drainnodes"))
UNAVAILABLE = "drain.descheduler.koordinator.sh/unavailable"
# Pods leave nodes whose taints they do not tolerate, if another one takes them.
ASKS = CONFIG + """  pluginConfig:
  - {{name: DefaultEvictor, args: {{nodeFit: true}}}}
"""


class WherePodsFit(descheduler_test.World):
    def setUp(self):
        super().setUp()
        # Of the first node's pods one takes a port that is taken everywhere.
        owner = self.request("GET", "/api/v1/namespaces/default/configmaps/web")["metadata"]["uid"]
        for index, node in enumerate(self.nodes):
            made = descheduler_test.pod(f"port-{index}", node, owner)
            made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
            made["spec"]["tolerations"] = [] if index == 0 else [{"operator": "Exists"}]
            self.request("POST", PODS, made)
        wait_for("pods run", lambda: [item["status"].get("phase") for item in self.api.list(PODS)] == ["Running"] * 9)

    def test_a_pod_stays_that_a_rule_keeps_from_all_other_nodes(self):
        self.taint()
        one = self.start(text=ASKS)
        wait_for("the others go", lambda: "web-0a" not in self.names() and "web-0b" not in self.names())
        self.passes(one, 3)
        self.assertIn("port-0", self.names())
        self.request("DELETE", f"{PODS}/port-2")
        wait_for("it goes once it has a place", lambda: "port-0" not in self.names())
        self.assertEqual(self.names(), ["port-1", "web-1a", "web-1b", "web-2a", "web-2b"])
        self.assertEqual(one.end(), 0)

    def test_the_basic_check_does_not_know_the_rule(self):
        self.taint()
        one = self.start("--node-fit=basic", text=ASKS)
        wait_for("all go", lambda: not [name for name in self.names() if name in ("web-0a", "web-0b", "port-0")])
        self.assertEqual(one.end(), 0)

    def test_a_node_of_a_group_is_not_drained_whose_pods_fit_nowhere(self):
        self.request("PATCH", f"/api/v1/nodes/{self.nodes[0]}", {"metadata": {"labels": {"pool": "old"}}})
        for name, flags, stuck in ("first", [], True), ("second", ["--node-fit=basic"], False):
            with self.subTest(flags=flags):
                one = self.start("--feature-gates=Drain=true", *flags, text=CONFIG.replace("RemovePodsViolatingNodeTaints", "Drain"))
                self.request("POST", GROUPS, {"metadata": {"name": name}, "spec": {"nodeSelector": {"matchLabels": {"pool": "old"}}}})
                drains = wait_for("a plan", lambda: [drain for drain in self.api.list(DRAINS)
                                                   if drain["metadata"]["ownerReferences"][0]["name"] == name])
                why = drains[0]["metadata"].get("annotations", {}).get(UNAVAILABLE, "")
                self.assertEqual("nowhere to go" in why, stuck, drains)
                self.assertEqual(one.end(), 0)

    def test_flags_that_are_wrong_are_refused_by_name(self):
        for flags, message in ((["--node-fit=best"], '--node-fit: "best" is neither scheduler nor basic'),
                               (["--scheduler-config=/none"], "--scheduler-config: /none: "),
                               (["--scheduler-feature-gates=ResizePods=true"], "--scheduler-feature-gates: ")):
            with self.subTest(flags=flags):
                one = self.start(*flags)
                self.assertEqual(one.child.wait(20), 2)
                self.assertIn(message, one.output())


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

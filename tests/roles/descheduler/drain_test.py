#!/usr/bin/env python3
"""The plugin Drain against the sandbox, with koord's scheduler and MigrationController: nodes are emptied through reservations and
report it, and an aborted drain takes back what it has set."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import migration_test  # noqa: E402
from descheduler_test import Descheduler  # noqa: E402
from sandbox import wait_for  # noqa: E402

GROUP = "/apis/scheduling.koordinator.sh/v1alpha1"
# Of a workload as many pods may go as are on a node, without five minutes for each two.
CONFIG = migration_test.CONFIG.replace("RemovePodsViolatingNodeTaints", "Drain").replace("- name: second\n", """\
  pluginConfig:
  - name: MigrationController
    args: {{objectLimiters: {{workload: {{duration: 0s}}}}}}
- name: second
""")


class Drains(migration_test.World):
    def start(self, text=CONFIG, *flags):
        self.running.append(Descheduler(self.kubeconfig, self.folder, text, "--feature-gates=Drain=true"))
        return self.running[-1]

    def there(self, node):
        return [pod for pod in self.pods() if pod["spec"].get("nodeName") == node]

    def drain(self, name):
        return self.request("GET", f"{GROUP}/drainnodes/{name}")

    def test_a_node_is_emptied_through_reservations(self):
        node = self.nodes[0]
        self.assertTrue(self.there(node))
        self.start()
        self.request("POST", f"{GROUP}/drainnodes", {"metadata": {"name": "empty"}, "spec": {
            "nodeName": node, "confirmState": "Confirmed", "cordonPolicy": {"mode": "Taint"},
            "migrationPolicy": {"mode": "MigrateDirectly"}}})
        try:
            wait_for("the drain ends", lambda: self.drain("empty").get("status", {}).get("phase") in ("Complete", "Aborted"), 60)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.drain('empty')['status']}\n{self.running[-1].output()[-4000:]}") from error
        status = self.drain("empty")["status"]
        self.assertEqual(status["phase"], "Complete", status)
        self.assertEqual(self.there(node), [])
        self.assertTrue(self.request("GET", f"/api/v1/nodes/{node}")["spec"].get("taints"))
        wait_for("all are ready", lambda: len([pod for pod in self.pods() if self.is_ready(pod)]) == 6)
        self.request("DELETE", f"{GROUP}/drainnodes/empty")
        wait_for("the node is given back", lambda: not self.request("GET", f"/api/v1/nodes/{node}")["spec"].get("taints"))


if __name__ == "__main__":
    unittest.main(verbosity=2)

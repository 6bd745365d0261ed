#!/usr/bin/env python3
"""The scheduler and the node agent in one process: one watch of nodes serves both. Counted by the API server."""
import os
import re
import sys
import tempfile
import unittest

import schedulers
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "koordlet"))
import agents  # noqa: E402
import fake_node  # noqa: E402
import kube_api  # noqa: E402

NODE = "two-roles"
SERIES = re.compile(r'^apiserver_longrunning_requests\{.*resource="nodes".*verb="WATCH".*\} (\d+)$', re.M)


class TwoRoles(unittest.TestCase):
    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(self.api, "koordinator-system")
        self.api.load([schedulers.node(NODE)])
        self.addCleanup(schedulers.clean, self.api, ["default"])
        self.folder = tempfile.TemporaryDirectory(prefix="koord-two.")
        self.addCleanup(self.folder.cleanup)
        self.root = fake_node.FakeRoot(os.path.join(self.folder.name, "root"))
        self.addCleanup(self.root.close)

    def watches_of_nodes(self):
        connection = self.api.connect()
        connection.http.request("GET", "/metrics", headers={"Authorization": f"Bearer {self.api.token}"})
        return sum(map(int, SERIES.findall(connection.http.getresponse().read().decode())))

    def run_roles(self, role, prefix="--", *flags):
        """How many watches of nodes there are more once each role knows what it needs."""
        before = self.watches_of_nodes()
        agent = agents.Agent(self.root, f"--kubeconfig={schedulers.KUBECONFIG}", *flags, role=role, prefix=prefix, node=NODE)
        self.addCleanup(agent.close)
        # The root has twice the memory: this is what the API server says.
        wait_for("the agent knows its node", lambda: agent.node().get("capacity", {}).get("memoryBytes") == 8 << 30)
        wait_for("the watch is open", lambda: self.watches_of_nodes() > before)
        if "scheduler" in role:
            wait_for("the scheduler knows the nodes", lambda: "the informers of nodes and pods have synced" in agent.output())
        more = self.watches_of_nodes() - before
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])
        wait_for("the watches have ended", lambda: self.watches_of_nodes() == before)
        return more

    def test_share_a_watch(self):
        self.assertEqual(self.run_roles("koordlet"), 1)
        self.assertEqual(self.run_roles("scheduler,koordlet", "--koordlet.", "--scheduler.leader-elect=false",
                                        f"--secure-port={agents.free_port()}", "--scheduler.port=0"), 1)


if __name__ == "__main__":
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

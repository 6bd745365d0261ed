#!/usr/bin/env python3
"""A gang that must gather in one block waits until a block has room for all of it, and starts there whole; the
ClusterNetworkTopology's status says which blocks there are."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, wait_for  # noqa: E402

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
TOPOLOGIES = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: koord-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Coscheduling}, {name: DefaultPreBind}]
  pluginConfig:
  - name: Coscheduling
    args: {awareNetworkTopology: true}
"""
TOPOLOGY = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "ClusterNetworkTopology", "metadata": {"name": "default"},
    "spec": {"networkTopologySpec": [
        {"topologyLayer": "Spine", "labelKey": ["spine"]}, {"topologyLayer": "Block", "parentTopologyLayer": "Spine", "labelKey": ["block"]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "Block"}]}}
GATHER = json.dumps({"gatherStrategy": [{"layer": "Block", "strategy": "MustGather"}]})


class NetworkTopology(unittest.TestCase):
    def setUp(self):
        config = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.addCleanup(config.close)
        config.write(CONFIG)
        config.flush()
        self.config = config.name
        self.world = sandbox.Sandbox("--roles=scheduler", "--nodes=4", "--node-capacity=cpu=4,memory=8Gi", f"--scheduler.config={config.name}",
                                     "--scheduler.enable-network-topology-manager=true")
        self.world.__enter__()
        self.addCleanup(self.world.__exit__)
        self.connection = kube_api.Api(self.world.kubeconfig).connect()
        self.nodes = sorted(node["metadata"]["name"] for node in self.connection.request("GET", NODES)["items"])

    def pod(self, name, cpu, metadata=None, spec=None):
        self.connection.request("POST", PODS, {
            "metadata": {"name": name, **(metadata or {})},
            "spec": {"schedulerName": "koord-scheduler", "terminationGracePeriodSeconds": 0, **(spec or {}),
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]}})

    def gang(self, name, members):
        self.connection.request("POST", GROUPS, {
            "metadata": {"name": name, "annotations": {"gang.scheduling.koordinator.sh/network-topology-spec": GATHER}}, "spec": {"minMember": members}})
        for number in range(members):
            self.pod(f"{name}-{number}", "2", {"labels": {"pod-group.scheduling.sigs.k8s.io": name}})

    def placed(self, gang):
        return [pod["spec"]["nodeName"] for pod in self.connection.request("GET", PODS)["items"]
                if pod["metadata"]["name"].startswith(f"{gang}-") and pod["spec"].get("nodeName")]

    def notes(self):
        return [event["note"] for event in self.connection.request("GET", EVENTS)["items"]]

    def domains(self):
        rows = self.connection.request("GET", f"{TOPOLOGIES}/default").get("status", {}).get("detailStatus", [])
        return {f"{row['topologyInfo']['topologyLayer']}/{row['topologyInfo']['topologyName']}": row["nodeNum"] for row in rows}

    def test_it_waits_until_one_block_has_room_and_starts_there_whole(self):
        self.gang("g", 4)
        wait_for("a word about the topology", lambda: any("no cluster network topology" in note for note in self.notes()))
        for number, node in enumerate(self.nodes):
            self.connection.request("PATCH", f"{NODES}/{node}", {"metadata": {"labels": {"spine": "s", "block": "ab"[number // 2]}}},
                                    "application/merge-patch+json")
        # Room for two of the gang in each block, and for all of it in both together.
        self.pod("on-a", "3", spec={"nodeName": self.nodes[1]})
        self.pod("on-b", "3", spec={"nodeName": self.nodes[3]})
        self.assertEqual(self.placed("g"), [])
        self.connection.request("POST", TOPOLOGIES, TOPOLOGY)
        why = "desiredOfferSlot: 4, topology topologyNode Block/a: 2;topology topologyNode Block/b: 2, 0/4 nodes are available: 4 Insufficient cpu."
        wait_for("an event about the blocks", lambda: any(why in note for note in self.notes()))
        self.assertEqual(self.placed("g"), [])
        explained = subprocess.run([KOORD, "explain", "pod", "default/g-0", f"--kubeconfig={self.world.kubeconfig}", f"--config={self.config}", "--quiet"],
                                   capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertIn("Block a has 2 nodes and room for 2 of the gang's 4 pods: Insufficient cpu on 2.", " ".join(explained.split()))
        wait_for("the status", lambda: self.domains() == {"ClusterTopologyLayer/": 4, "Spine/s": 4, "Block/a": 2, "Block/b": 2})
        self.connection.request("DELETE", f"{PODS}/on-b")
        wait_for("all of it placed", lambda: len(self.placed("g")) == 4)
        self.assertEqual(set(self.placed("g")), set(self.nodes[2:]))


if __name__ == "__main__":
    unittest.main(verbosity=2)

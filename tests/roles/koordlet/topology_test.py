#!/usr/bin/env python3
"""NodeResourceTopology as the agent keeps it on the sandbox: what is in it, others' writes, restarts, CPUs that go."""
import json
import os
import threading
import unittest

import agents
from agents import NODE, wait_for

import fake_node
import kube_api

QUICK = ("--kubelet-sync-interval=300ms", "--node-topology-sync-interval=300ms", "--collect-node-cpu-info-interval=1s")
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
DOMAIN = "node.koordinator.sh/"


class TheTopology(unittest.TestCase):
    def setUp(self):
        self.world = agents.World()
        self.addCleanup(self.world.close)

    def get(self, path=f"{TOPOLOGIES}/{NODE}"):
        try:
            return self.world.request("GET", path)
        except kube_api.ApiError as error:
            if error.status != 404:
                raise
            return None

    def said(self, name):
        text = ((self.get() or {}).get("metadata", {}).get("annotations") or {}).get(name, "false")
        return json.loads(text)

    def pools(self, kind="cpu"):
        return [pool.get("cpuset") for pool in self.said(f"{DOMAIN}{kind}-shared-pools") or []]

    def add_pinned(self, name, qos, cpus):
        self.world.add_pod(name, labels={"koordinator.sh/qosClass": qos},
                           annotations={"scheduling.koordinator.sh/resource-status": json.dumps({"cpuset": cpus})})

    def test_is_made_kept_and_left_alone(self):
        world = self.world
        state = os.path.join(world.root.folder, "var/lib/kubelet/cpu_manager_state")
        fake_node.write(state, json.dumps({"policyName": "static", "defaultCpuSet": "0,2-3", "entries": {"uid-exact": {"main": "1"}}}))
        world.kubelet.config = {**world.kubelet.config, "cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"},
                                "topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod"}
        world.add_pod("exact")
        agent = world.agent(*QUICK)
        made = wait_for("the object", self.get)
        node = self.get(f"/api/v1/nodes/{NODE}")
        self.assertEqual(made["metadata"]["ownerReferences"], [{
            "apiVersion": "v1", "kind": "Node", "name": NODE, "uid": node["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}])
        self.assertEqual(made["metadata"]["labels"], {"app.kubernetes.io/managed-by": "Koordinator"})
        self.assertEqual(made["topologyPolicies"], ["SingleNUMANodePodLevel"])
        self.assertEqual(made["zones"], [{"name": "node-0", "type": "Node", "resources": [
            {"name": name, "capacity": amount, "allocatable": amount, "available": amount}
            for name, amount in (("cpu", "4"), ("hugepages-1Gi", "0"), ("hugepages-2Mi", "0"), ("memory", "16Gi"))]}])
        notes = made["metadata"]["annotations"]
        self.assertEqual({name: text for name, text in notes.items() if "reservation" not in name and "system" not in name}, {
            f"{DOMAIN}cpu-basic-info": '{"cpuModel":"Test CPU","vendorID":"GenuineTest"}',
            "kubelet.koordinator.sh/cpu-manager-policy": '{"policy":"static","reservedCPUs":"0"}',
            f"{DOMAIN}cpu-shared-pools": '[{"socket":0,"node":0,"cpuset":"0,2-3"}]',
            f"{DOMAIN}be-cpu-shared-pools": '[{"socket":0,"node":0,"cpuset":"0,2-3"}]',
            f"{DOMAIN}cpu-topology": '{"detail":[%s]}' % ",".join(f'{{"id":{i},"core":{i},"socket":0,"node":0}}' for i in range(4)),
            f"{DOMAIN}pod-cpu-allocs": '[{"namespace":"default","name":"exact","uid":"uid-exact","cpuset":"1","managedByKubelet":true}]'})
        self.assertEqual(notes[f"{DOMAIN}reservation"], "{}")
        self.follow(state)
        self.leave_others_alone()
        before = self.get()["metadata"]["resourceVersion"]
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])
        self.restart(before)

    def follow(self, state):
        """Pods, the operator, the kubelet and the machine change it."""
        world = self.world
        self.add_pinned("pinned", "LSR", "2")
        wait_for("the pod's CPU", lambda: (self.pools(), self.pools("be-cpu")) == (["0,3"], ["0,2-3"]))
        world.request("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": {
            f"{DOMAIN}reservation": '{"resources":{"cpu":"1"}}', f"{DOMAIN}system-qos-resource": '{"cpuset":"3"}'}}})
        wait_for("what is reserved", lambda: (self.pools(), self.pools("be-cpu")) == ([None], ["2"]))
        self.assertEqual(self.said(f"{DOMAIN}reservation"), {"resources": {"cpu": "1"}, "reservedCPUs": "0"})
        self.assertEqual(self.said(f"{DOMAIN}system-qos-resource"), {"cpuset": "3"})
        world.request("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": {
            f"{DOMAIN}reservation": None, f"{DOMAIN}system-qos-resource": None}}})
        os.unlink(state)
        wait_for("the kubelet has nothing", lambda: self.pools() == ["0-1,3"] and self.said(f"{DOMAIN}pod-cpu-allocs") is None)
        online = os.path.join(world.root.folder, "sys/devices/system/cpu/online")
        fake_node.write(online, "0-2\n")
        wait_for("a CPU was unplugged", lambda: self.pools() == ["0-1"])
        self.assertEqual([cpu["id"] for cpu in self.said(f"{DOMAIN}cpu-topology")["detail"]], [0, 1, 2])
        self.assertEqual(self.get()["zones"][0]["resources"][0]["allocatable"], "3")
        fake_node.write(online, "0-3\n")
        wait_for("it is there again", lambda: self.pools() == ["0-1,3"])

    def leave_others_alone(self):
        """Somebody writes all the time, as koord-manager does, who lends of zones, while pods come."""
        def lend():
            for count in range(1, 41):
                zones = self.get()["zones"]
                lent = {"name": "kubernetes.io/batch-cpu", **{part: str(count) for part in ("capacity", "allocatable", "available")}}
                zones[0]["resources"] = [one for one in zones[0]["resources"] if one["name"] != lent["name"]] + [lent]
                try:
                    self.world.request("PATCH", f"{TOPOLOGIES}/{NODE}", {"metadata": {"annotations": {"theirs": str(count)}}, "zones": zones})
                except kube_api.ApiError as error:
                    assert error.status == 409, error
        writer = threading.Thread(target=lend)
        writer.start()
        self.add_pinned("second", "LSE", "1")
        writer.join()
        wait_for("both of them", lambda: (self.pools(), self.pools("be-cpu"), self.said("theirs")) == (["0,3"], ["0,2-3"], 40))
        resources = {one["name"]: one["allocatable"] for one in self.get()["zones"][0]["resources"]}
        self.assertEqual(resources["kubernetes.io/batch-cpu"], "40")
        self.assertEqual(resources["cpu"], "4")

    def restart(self, before):
        """The next agent writes nothing where all is right, and makes it again when it goes."""
        agent = self.world.agent(*QUICK, "--v=5")
        wait_for("its pods", lambda: "second" in agent.pods())
        self.add_pinned("third", "LSR", "3")
        wait_for("a change that it makes", lambda: self.pools() == ["0"])
        self.assertEqual(agent.output().count("writing the NodeResourceTopology"), 1, "what was right was written again")
        self.assertNotEqual(self.get()["metadata"]["resourceVersion"], before)
        self.world.request("DELETE", f"{TOPOLOGIES}/{NODE}")
        wait_for("another one", lambda: self.pools() == ["0"])

    def test_may_be_switched_off(self):
        without = self.world.agent(*QUICK, "--feature-gates=NodeTopologyReport=false")
        wait_for("it knows the API server and the kubelet", lambda: all(without.source(name)["ok"] for name in ("API server", "kubelet")))
        self.assertEqual(without.terminate(), 0)
        self.assertIsNone(self.get())
        silent = self.world.agent(*QUICK, "--disable-query-kubelet-config")
        wait_for("without a word of the kubelet's", lambda: self.said("kubelet.koordinator.sh/cpu-manager-policy") == {})
        self.assertEqual(self.get()["topologyPolicies"], ["None"])
        self.assertEqual(silent.terminate(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

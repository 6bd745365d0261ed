#!/usr/bin/env python3
"""packaging/manifests-node-policy on a real API server of the test's own: an agent's token writes what is of its own node,
and no token of another node's agent does, whatever the verb and the kind. The real agent works with it."""
import os
import signal
import sys
import unittest

import schedulers
from own_cluster import own_cluster
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "koordlet"))
import agents  # noqa: E402
import fake_node  # noqa: E402
import kube_api  # noqa: E402
from installed import NS, PACKAGING, Installed  # noqa: E402

OWN, OTHER = "own-node", "other-node"
TOPOLOGY = {"apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "topologyPolicies": ["None"], "zones": []}
DEVICE = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "spec": {"devices": []}}
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
PODS = "/api/v1/namespaces/default/pods"
DENIED = "ValidatingAdmissionPolicy 'koordlet-own-"


def event(name, node):
    return {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
            "eventTime": "2026-01-02T03:04:05.000000Z", "reportingController": "koordlet", "reportingInstance": f"koordlet-{node}",
            "action": "Test", "reason": "Test", "type": "Normal", "note": "a test's",
            "regarding": {"kind": "Pod", "namespace": "default", "name": name}}


class NodePolicy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder, _, kubeconfig = own_cluster("node-policy")
        cls.installed = Installed(kubeconfig, cls.folder)
        cls.api = cls.installed.api
        cls.installed.kubectl.run("apply", "-f", os.path.join(PACKAGING, "manifests-gates", "only-evict-by-api.yaml"),
                                  "-f", os.path.join(PACKAGING, "manifests-gates", "Accelerators.yaml"),
                                  "-f", os.path.join(PACKAGING, "manifests-node-policy"))
        cls.pods = {}
        for node in (OWN, OTHER):
            cls.request("POST", "/api/v1/nodes", {"metadata": {"name": node}})
            cls.request("POST", f"{agents.SLO}/nodemetrics", {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric",
                                                              "metadata": {"name": node}, "spec": {"metricCollectPolicy": {"reportIntervalSeconds": 1}}})
            cls.request("POST", PODS, schedulers.pod(f"on-{node}", "nobody", nodeName=node))
            cls.pods[node] = cls.agents_pod(f"koordlet-{node}", nodeName=node)
        cls.own = kube_api.Api(cls.installed.account("koordlet", cls.pods[OWN]))
        # Policies are in force some time after they are made.
        for path, body in ((TOPOLOGIES, {**TOPOLOGY, "metadata": {"name": OTHER}}), (EVENTS, event("first", OTHER)),
                           (f"{PODS}/on-{OTHER}/eviction", cls.eviction(OTHER))):
            wait_for(f"the policy of {path}", lambda path=path, body=body: cls.refusal(cls.own, "POST", path + "?dryRun=All", body))

    @classmethod
    def agents_pod(cls, name, **spec):
        return cls.request("POST", f"/api/v1/namespaces/{NS}/pods", schedulers.pod(name, "nobody", NS, serviceAccountName="koordlet", **spec))

    @classmethod
    def request(cls, method, path, body=None, api=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return (api or cls.api).connect().request(method, path, body, kind)

    @classmethod
    def refusal(cls, api, method, path, body):
        """What a policy of ours says against it; "" if the request was taken."""
        try:
            cls.request(method, path, body, api)
        except kube_api.ApiError as error:
            assert error.status == 403 and DENIED in error.body, error.body
            return error.body
        return ""

    @staticmethod
    def eviction(node):
        return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": f"on-{node}", "namespace": "default"}}

    def writes(self, node):
        """(what, method, path, body) of everything that an agent on that node writes; the objects are there, nothing is stored."""
        metric = self.request("GET", f"{agents.SLO}/nodemetrics/{node}")
        topology = self.request("GET", f"{TOPOLOGIES}/{node}")
        device = self.request("GET", f"{DEVICES}/{node}")
        yield "NodeMetric status", "PUT", f"{agents.SLO}/nodemetrics/{node}/status", {**metric, "status": {"updateTime": "2026-01-02T03:04:05Z"}}
        yield "topology, made", "POST", TOPOLOGIES, {**TOPOLOGY, "metadata": {"name": f"{node}"}}
        yield "topology, written", "PUT", f"{TOPOLOGIES}/{node}", {**topology, "topologyPolicies": ["BestEffort"]}
        yield "Device, made", "POST", DEVICES, {**DEVICE, "metadata": {"name": node}}
        yield "Device, written", "PUT", f"{DEVICES}/{node}", {**device, "spec": {"devices": [{"type": "gpu", "minor": 0, "id": "g", "health": True}]}}
        yield "event, made", "POST", EVENTS, event("new", node)
        yield "event, again", "PATCH", f"{EVENTS}/of-{node}", {"series": {"count": 2, "lastObservedTime": "2026-01-02T03:05:05.000000Z"}}
        yield "eviction", "POST", f"{PODS}/on-{node}/eviction", self.eviction(node)

    def test_a_token_writes_what_is_of_its_node_alone(self):
        for node in (OWN, OTHER):
            self.request("POST", EVENTS, event(f"of-{node}", node))
            self.request("POST", TOPOLOGIES, {**TOPOLOGY, "metadata": {"name": node}})
            self.addCleanup(self.request, "DELETE", f"{TOPOLOGIES}/{node}")
            self.request("POST", DEVICES, {**DEVICE, "metadata": {"name": node}})
            self.addCleanup(self.request, "DELETE", f"{DEVICES}/{node}")
        nameless = kube_api.Api(self.installed.account("koordlet"))
        waiting = kube_api.Api(self.installed.account("koordlet", self.agents_pod("koordlet-waiting")))
        other = kube_api.Api(self.installed.account("koordlet", self.pods[OTHER]))
        for token, name, allowed in ((self.own, "own", OWN), (other, "other", OTHER), (nameless, "of no pod", None), (waiting, "of no node", None)):
            for node in (OWN, OTHER):
                for what, method, path, body in self.writes(node):
                    with self.subTest(token=name, node=node, what=what):
                        if what in ("topology, made", "Device, made") and node == allowed:
                            self.assertEqual(self.status(token, method, f"{path}?dryRun=All", body), 409)
                            continue
                        said = self.refusal(token, method, f"{path}?dryRun=All", body)
                        self.assertEqual(bool(said), node != allowed)
                        if said:
                            self.assertIn("names no node" if allowed is None else f"the agent of node {allowed} may not", said)

    def status(self, api, method, path, body):
        with self.assertRaises(kube_api.ApiError) as caught:
            self.request(method, path, body, api)
        return caught.exception.status

    def test_nobody_else_is_held_up(self):
        """Who administers the cluster, and the manager, with a token that names no node."""
        manager = kube_api.Api(self.installed.account("koord-manager"))
        self.request("PATCH", f"{agents.SLO}/nodemetrics/{OTHER}", {"metadata": {"labels": {"by": "manager"}}}, manager)
        self.request("POST", f"{EVENTS}?dryRun=All", event("managers", OTHER), manager)
        self.request("POST", f"{PODS}/on-{OTHER}/eviction?dryRun=All", self.eviction(OTHER))
        self.request("POST", f"{TOPOLOGIES}?dryRun=All", {**TOPOLOGY, "metadata": {"name": "third"}})
        for policy in self.api.list("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"):
            self.assertEqual(policy["status"].get("typeChecking", {}), {}, policy["metadata"]["name"])

    # -- the real agent

    def start_agent(self, pod):
        root = fake_node.FakeRoot(os.path.join(self.folder, f"root-{pod['metadata']['name']}"))
        self.addCleanup(root.close)
        kubelet = fake_node.Kubelet(OWN, fake_node.certificate(os.path.join(root.folder, "var/lib/kubelet/pki"), OWN))
        self.addCleanup(kubelet.close)
        amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        self.request("PATCH", f"/api/v1/nodes/{OWN}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "capacity": amounts, "allocatable": amounts,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}}}})
        # Of its pods one has an annotation that cannot be read, which is an event, and one has to go.
        odd = fake_node.pod("odd", OWN, annotations={"scheduling.koordinator.sh/resource-status": "no JSON"})
        root.add_pod(odd, 0, 256 << 20)
        labels = {"koordinator.sh/qosClass": "BE"}
        made = self.request("POST", PODS, {"metadata": {"name": f"large-{pod['metadata']['name']}", "labels": labels}, "spec": {
            "nodeName": OWN, "containers": [{"name": "main", "image": "none"}]}})
        large = fake_node.pod(made["metadata"]["name"], OWN, "BestEffort", labels=labels)
        large["metadata"]["uid"] = made["metadata"]["uid"]
        root.add_pod(large, 0, 4096 << 20)
        kubelet.pods = [odd, large]
        root.settle()
        agent = agents.Agent(root, f"--kubeconfig={self.installed.account('koordlet', pod)}", "--kubelet-sync-interval=300ms",
                             "--only-evict-by-api", "--feature-gates=BEMemoryEvict=true", node=OWN)
        self.addCleanup(agent.close)
        return agent, made["metadata"]["name"]

    def test_the_agent_works_with_its_token_and_not_with_anothers(self):
        self.request("POST", f"{agents.SLO}/nodeslos", {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": OWN},
                                                        "spec": {"resourceUsedThresholdWithBE": {"enable": True, "memoryEvictThresholdPercent": 20}}})

        def reported():
            return (self.request("GET", f"{agents.SLO}/nodemetrics/{OWN}").get("status") or {}).get("updateTime")

        def told():
            return {(one["reason"], one["regarding"]["name"]) for one in self.api.list(EVENTS)}

        def gone(name):
            return "deletionTimestamp" in self.request("GET", f"{PODS}/{name}")["metadata"]

        agent, victim = self.start_agent(self.pods[OTHER])
        wait_for("the agent with another node's token is refused", lambda: all(
            f"koordlet-own-{what}" in agent.output() for what in ("node", "pods")))
        self.assertIsNone(reported())
        self.assertEqual((told() & {("MalformedPodMetadata", "odd"), ("evictPodSuccess", victim)}, gone(victim)), (set(), False))
        self.assertEqual(self.api.list(TOPOLOGIES), [])
        agent.terminate()

        agent, victim = self.start_agent(self.pods[OWN])
        wait_for("a report", reported, 60)
        wait_for("the topology", lambda: [one["metadata"]["name"] for one in self.api.list(TOPOLOGIES)] == [OWN])
        wait_for("events", lambda: {("MalformedPodMetadata", "odd"), ("evictPodSuccess", victim)} <= told())
        self.assertTrue(gone(victim))
        self.assertNotIn("ValidatingAdmissionPolicy", agent.output())
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

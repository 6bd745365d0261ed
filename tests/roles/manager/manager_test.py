#!/usr/bin/env python3
"""The manager's controllers against the sandbox, or the cluster that KOORD_KUBE_KUBECONFIG names (its nodes are made and
removed): NodeSLO and NodeMetric of every node follow the ConfigMap, slack becomes batch resources, whatever is killed."""
import glob
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, free_port, wait_for  # noqa: E402

CRDS = sorted(glob.glob(os.path.join(TREE, "packaging", "crds", "*.yaml")))
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/events"
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
QUOTAS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/elasticquotas"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
SLO = "/apis/slo.koordinator.sh/v1alpha1"
CONFIG = "/api/v1/namespaces/koordinator-system/configmaps"
BATCH_CPU = "kubernetes.io/batch-cpu"
NODES = 40


class Manager:
    def __init__(self, kubeconfig, folder, *flags, **variables):
        self.port, self.probes = free_port(), free_port()
        self.log_path = os.path.join(folder, f"manager-{self.port}.log")
        self.log = open(self.log_path, "wb")
        self.child = subprocess.Popen(
            [KOORD, "--role=manager", f"--kubeconfig={kubeconfig}", f"--metrics-addr=127.0.0.1:{self.port}",
             f"--health-probe-addr=127.0.0.1:{self.probes}", "--rest-config-qps=0", "--webhook-port=0", *flags],
            stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **variables})

    def output(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def get(self, path, port=None):
        assert self.child.poll() is None, f"the manager ended: {self.output()[-3000:]}"
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=20)
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return 0, ""

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.log.close()

    def terminate(self):
        self.child.terminate()
        code = self.child.wait(20)
        self.log.close()
        return code


class TheManager(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="koord-manager.")
        self.addCleanup(self.folder.cleanup)
        self.kubeconfig = os.environ.get("KOORD_KUBE_KUBECONFIG")
        if self.kubeconfig:
            self.api = kube_api.Api(self.kubeconfig)
            self.real_cluster()
        else:
            world = sandbox.Sandbox(f"--nodes={NODES}", "--roles=", "--load", *CRDS)
            world.__enter__()
            self.addCleanup(world.__exit__)
            self.kubeconfig = world.kubeconfig
            self.api = kube_api.Api(world.kubeconfig)
        self.managers = []
        self.addCleanup(lambda: [one.kill() for one in self.managers if one.child.poll() is None])
        paths = (f"{SLO}/nodemetrics", f"{SLO}/nodeslos", TOPOLOGIES, DEVICES, QUOTAS, PROFILES)
        wait_for("the CRDs", lambda: all(self.get(path) is not None for path in paths))
        self.make("/api/v1/namespaces", {"metadata": {"name": "koordinator-system"}})

    def real_cluster(self):
        sandbox.Kubectl(self.kubeconfig).run("apply", *[word for crd in CRDS for word in ("-f", crd)])
        self.addCleanup(self.clear)
        for i in range(NODES):
            self.make("/api/v1/nodes", {"metadata": {"name": f"node-{i:04}", "labels": {"made-by": "manager-test"}}})

    def clear(self):
        everything = {"gracePeriodSeconds": 0}
        self.get(f"{CONFIG}/slo-controller-config") and self.request("DELETE", f"{CONFIG}/slo-controller-config")
        lease = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager"
        self.get(lease) and self.request("DELETE", lease)
        for pod in self.api.list(PODS):
            self.request("DELETE", f"{PODS}/{pod['metadata']['name']}", everything)
        self.request("DELETE", "/api/v1/nodes?labelSelector=made-by%3Dmanager-test")
        for path in (f"{SLO}/nodemetrics", f"{SLO}/nodeslos", TOPOLOGIES, DEVICES, QUOTAS, PROFILES):
            self.request("DELETE", path)

    def make(self, path, body):
        """Unless it is there already."""
        try:
            self.request("POST", path, body)
        except kube_api.ApiError as error:
            self.assertEqual(error.status, 409)

    def request(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.api.connect().request(method, path, body, kind)

    def get(self, path):
        try:
            return self.request("GET", path)
        except kube_api.ApiError as error:
            self.assertIn(error.status, (404, 429))  # a CRD's storage begins with 429
            return None

    def manager(self, *flags):
        self.managers.append(Manager(self.kubeconfig, self.folder.name, *flags))
        return self.managers[-1]

    def configure(self, **keys):
        data = {name.replace("_", "-"): value if isinstance(value, str) else json.dumps(value) for name, value in keys.items()}
        try:
            self.request("POST", CONFIG, {"metadata": {"name": "slo-controller-config"}, "data": data})
        except kube_api.ApiError as error:
            self.assertEqual(error.status, 409)
            self.request("PATCH", f"{CONFIG}/slo-controller-config", {"data": data})

    def slos(self):
        return {one["metadata"]["name"]: one["spec"] for one in self.api.list(f"{SLO}/nodeslos")}

    def metrics(self):
        return {one["metadata"]["name"]: one["spec"]["metricCollectPolicy"] for one in self.api.list(f"{SLO}/nodemetrics")}

    def suppressed(self, percent):
        return [name for name, spec in self.slos().items()
                if spec["resourceUsedThresholdWithBE"]["cpuSuppressThresholdPercent"] == percent]

    def test_follows_nodes_and_configuration(self):
        self.request("POST", f"{SLO}/nodeslos", {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO",
                                                 "metadata": {"name": "nobody"}, "spec": {}})
        manager = self.manager()
        wait_for("an object for each node, and none for nobody", lambda: len(self.slos()) == NODES and "nobody" not in self.slos())
        wait_for("NodeMetrics", lambda: len(self.metrics()) == NODES)
        self.assertEqual({policy["reportIntervalSeconds"] for policy in self.metrics().values()}, {60})

        with self.subTest("a configuration reaches every node, a group's those it selects, an annotation its own"):
            self.request("PATCH", "/api/v1/nodes/node-0001", {"metadata": {"labels": {"pool": "batch"}}})
            self.configure(resource_threshold_config={
                "clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 50},
                "nodeStrategies": [{"name": "batch", "nodeSelector": {"matchLabels": {"pool": "batch"}},
                                    "cpuSuppressThresholdPercent": 80}]},
                colocation_config={"enable": True, "metricReportIntervalSeconds": 20})
            wait_for("the group", lambda: self.suppressed(80) == ["node-0001"] and len(self.suppressed(50)) == NODES - 1)
            wait_for("NodeMetrics", lambda: {one["reportIntervalSeconds"] for one in self.metrics().values()} == {20})
            self.request("PATCH", "/api/v1/nodes/node-0002", {"metadata": {"annotations": {
                "node.koordinator.sh/colocation-strategy": '{"metricReportIntervalSeconds":7}',
                "node.koordinator.sh/network-bandwidth": "10G"}}})
            wait_for("the annotations", lambda: self.metrics()["node-0002"]["reportIntervalSeconds"] == 7 and
                     self.slos()["node-0002"]["systemStrategy"]["totalNetworkBandwidth"] == "10G")

        with self.subTest("what others change in a spec is set right"):
            self.request("PATCH", f"{SLO}/nodeslos/node-0003", {"spec": {"resourceUsedThresholdWithBE": {"enable": False}}})
            wait_for("right again", lambda: self.slos()["node-0003"]["resourceUsedThresholdWithBE"]["enable"] is True)
            self.request("DELETE", f"{SLO}/nodemetrics/node-0003")
            wait_for("there again", lambda: "node-0003" in self.metrics())

        with self.subTest("a bad key keeps what was, says so once, and does not stop the others"):
            self.configure(resource_threshold_config='{"clusterStrategy":{"enable":true,}}',
                           cpu_burst_config={"clusterStrategy": {"policy": "auto"}})
            wait_for("the other key", lambda: {one["cpuBurstStrategy"]["policy"] for one in self.slos().values()} == {"auto"})
            self.assertEqual(len(self.suppressed(50)), NODES - 1)
            events = wait_for("the event", lambda: [
                event for event in self.api.list("/apis/events.k8s.io/v1/events") if event["reason"] == "SLOCfgUnmarshalFailed"])
            self.assertIn("failed to unmarshal ThresholdCfg, err: ", events[0]["note"])
            self.assertEqual(events[0]["type"], "Warning")

        with self.subTest("a node that goes takes its objects with it"):
            self.request("DELETE", "/api/v1/nodes/node-0004")
            wait_for("gone", lambda: "node-0004" not in self.slos() and "node-0004" not in self.metrics())

        for path in ("/metrics", "/internal-metrics", "/all-metrics"):
            status, text = manager.get(path)
            self.assertEqual(status, 200)
            self.assertRegex(text, r'slo_controller_nodeslo_reconcile_count\{status="succeeded",reason="createNodeSLO"\} [1-9]')
        self.assertEqual(manager.get("/external-metrics"), (200, ""))
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def test_killed_and_started_anew_writes_nothing_that_is_right(self):
        self.configure(resource_qos_config={"clusterStrategy": {"beClass": {"networkQOS": {"enable": True}}}})
        self.manager()  # killed in its first pass
        wait_for("the first objects", lambda: len(self.slos()) > 3)
        self.managers[0].kill()
        second = self.manager("--enable-leader-election=false")
        wait_for("the rest", lambda: len(self.slos()) == NODES and len(self.metrics()) == NODES)
        # The first may have made them all: the second is asked to stop when it listens to signals, not before.
        wait_for("the second", lambda: second.get("/metrics")[0] == 200)
        versions = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in self.api.list(f"{SLO}/nodeslos")}
        self.assertEqual(second.terminate(), 0)
        third = self.manager("--enable-leader-election=false")
        self.request("PATCH", "/api/v1/nodes/node-0000", {"metadata": {"annotations": {"node.koordinator.sh/network-bandwidth": "1G"}}})
        wait_for("it works", lambda: self.slos()["node-0000"]["systemStrategy"]["totalNetworkBandwidth"] == "1G")
        now = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in self.api.list(f"{SLO}/nodeslos")}
        self.assertEqual([name for name in versions if versions[name] != now[name]], ["node-0000"])
        self.assertEqual(third.terminate(), 0)

    def test_a_bad_key_and_a_restart_leave_protection_on(self):
        good = {"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 45}}
        self.configure(resource_threshold_config=good, colocation_config={"enable": True})
        first = self.manager("--enable-leader-election=false")
        wait_for("the strategy", lambda: len(self.suppressed(45)) == NODES)
        kept = f"{CONFIG}/slo-controller-config-last-good"
        wait_for("what is kept", lambda: (self.get(kept) or {"data": {}})["data"].get("resource-threshold-config") == json.dumps(good))
        first.kill()
        self.configure(resource_threshold_config='{"clusterStrategy": {"enable": true,}}')
        second = self.manager("--enable-leader-election=false")
        wait_for("its warning", lambda: "what it said last stays in effect" in self.warned("SLOCfgUnmarshalFailed").get("slo-controller-config", ""))
        self.request("PATCH", "/api/v1/nodes/node-0000", {"metadata": {"annotations": {"node.koordinator.sh/network-bandwidth": "1G"}}})
        wait_for("it works", lambda: self.slos()["node-0000"]["systemStrategy"]["totalNetworkBandwidth"] == "1G")
        self.assertEqual(len(self.suppressed(45)), NODES)
        self.assertEqual({spec["resourceUsedThresholdWithBE"]["enable"] for spec in self.slos().values()}, {True})
        self.configure(resource_threshold_config={"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 35}})
        wait_for("a good one", lambda: len(self.suppressed(35)) == NODES and "35" in self.request("GET", kept)["data"]["resource-threshold-config"])
        self.assertEqual(second.terminate(), 0, second.output()[-2000:])
        self.request("DELETE", kept)

    def test_of_two_managers_one_writes_and_the_other_goes_on(self):
        written = r'slo_controller_nodeslo_reconcile_count\{status="succeeded"'
        first = self.manager()
        wait_for("the first", lambda: len(self.slos()) == NODES)
        second = self.manager()
        wait_for("the second, ready", lambda: "the informers of nodes have synced" in second.output())
        self.configure(resource_threshold_config={"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 50}})
        wait_for("the configuration", lambda: len(self.suppressed(50)) == NODES)
        self.assertNotRegex(second.get("/metrics")[1], written)
        self.assertEqual(first.terminate(), 0)
        # What comes in the meantime is not lost.
        self.configure(resource_threshold_config={"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 40}})
        wait_for("the second", lambda: len(self.suppressed(40)) == NODES)
        self.assertRegex(second.get("/metrics")[1], written)
        self.assertEqual(second.terminate(), 0, second.output()[-2000:])

    def report(self, node, system_cpu, pods=(), age=0):
        """What a node agent would report: the system's use, and (name, cpu) of pods."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age))
        status = {"updateTime": at,
                  "nodeMetric": {"nodeUsage": {"resources": {"cpu": str(system_cpu), "memory": "1Gi"}},
                                 "systemUsage": {"resources": {"cpu": str(system_cpu), "memory": "1Gi"}}},
                  "podsMetric": [{"name": name, "namespace": "default", "podUsage": {"resources": {"cpu": cpu, "memory": "100Mi"}}}
                                 for name, cpu in pods]}
        self.request("PATCH", f"{SLO}/nodemetrics/{node}/status", {"status": status})

    def batch_cpu(self, node):
        status = self.request("GET", f"/api/v1/nodes/{node}")["status"]
        allocatable, capacity = (status.get(part, {}).get(BATCH_CPU) for part in ("allocatable", "capacity"))
        self.assertEqual(allocatable, capacity)
        return allocatable

    def test_slack_becomes_batch_resources(self):
        self.request("PATCH", "/api/v1/nodes/node-0000/status", {"status": {
            "capacity": {"cpu": "10", "memory": "20Gi", "pods": "110"}, "allocatable": {"cpu": "10", "memory": "20Gi", "pods": "110"}}})
        self.configure(colocation_config={"enable": True, "cpuReclaimThresholdPercent": 80})
        manager = self.manager()
        wait_for("NodeMetrics", lambda: len(self.metrics()) == NODES)
        self.assertIsNone(self.batch_cpu("node-0000"))
        self.report("node-0000", 1)
        wait_for("8 of 10 CPUs, less 1", lambda: self.batch_cpu("node-0000") == "7k")
        self.assertIsNone(self.batch_cpu("node-0001"))
        top = subprocess.run([KOORD, "top", "--cluster", "--once", "--sort=batch", "--rows=1", f"--kubeconfig={self.kubeconfig}"],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertIn("lent to batch: CPU 7.0 cores, 0.0 asked for, 0.0 used", top.stdout)
        self.assertRegex(top.stdout, r"\nnode-0000 .* 0\.0/7\.0 ")
        self.assertIn("page 1 of ", top.stdout)

        with self.subTest("a pod that nobody has measured yet counts with its requests, at once"):
            self.request("POST", "/api/v1/namespaces/default/pods", {
                "metadata": {"name": "web", "labels": {"koordinator.sh/qosClass": "LS"}},
                "spec": {"nodeName": "node-0000", "containers": [
                    {"name": "main", "image": "none", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}]}})
            wait_for("4", lambda: self.batch_cpu("node-0000") == "4k")
            self.report("node-0000", 1, [("web", "500m")])
            wait_for("6.5: it uses less than it asked for", lambda: self.batch_cpu("node-0000") == "6500")

        with self.subTest("a large change does not wait"):
            self.report("node-0000", 3, [("web", "600m")])
            wait_for("4.4", lambda: self.batch_cpu("node-0000") == "4400")

        with self.subTest("stale figures lend nothing, nor do those that are not there"):
            self.report("node-0000", 1, age=16 * 60)
            wait_for("nothing", lambda: self.batch_cpu("node-0000") is None)
            origin = self.request("GET", "/api/v1/nodes/node-0000")["metadata"]["annotations"]["node.koordinator.sh/originExtendedAllocatable"]
            self.assertEqual(json.loads(origin)["resources"][BATCH_CPU], "0")
            self.report("node-0000", 1)
            wait_for("again", lambda: self.batch_cpu("node-0000") == "7k" or self.batch_cpu("node-0000") == "4k")

        with self.subTest("switched off it goes"):
            self.request("PATCH", "/api/v1/nodes/node-0000", {"metadata": {"annotations": {
                "node.koordinator.sh/colocation-strategy": '{"enable":false}'}}})
            wait_for("off for the node", lambda: self.batch_cpu("node-0000") is None)
        self.assertIn('slo_controller_node_resource_reconcile_count{status="succeeded",reason="updateNodeStatus"}', manager.get("/metrics")[1])
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def annotation(self, node, name):
        return self.request("GET", f"/api/v1/nodes/{node}")["metadata"].get("annotations", {}).get(f"node.koordinator.sh/{name}")

    def test_what_agents_say_of_cpus_zones_and_devices_reaches_the_node(self):
        self.request("PATCH", "/api/v1/nodes/node-0000/status", {"status": {
            "capacity": {"cpu": "10", "memory": "20Gi", "pods": "110"}, "allocatable": {"cpu": "10", "memory": "20Gi", "pods": "110"}}})
        self.configure(colocation_config={"enable": True, "cpuReclaimThresholdPercent": 80},
                       cpu_normalization_config={"enable": True, "ratioModel": {"M": {"baseRatio": 1.5}}},
                       resource_amplification_config={"enable": True, "resourceAmplificationRatio": {"memory": 1.25}})

        def zones(cpus):
            return [{"name": f"node-{i}", "type": "Node", "resources": [
                {"name": name, "capacity": amount, "allocatable": amount, "available": amount}
                for name, amount in (("cpu", str(cpus)), ("memory", "10Gi"))]} for i in range(2)]
        self.request("POST", TOPOLOGIES, {
            "apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "topologyPolicies": ["None"], "zones": zones(5),
            "metadata": {"name": "node-0000", "annotations": {"node.koordinator.sh/cpu-basic-info": '{"cpuModel":"M"}'}}})
        gpu = {"type": "gpu", "health": True, "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "16Gi"}}
        device = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device",
                  "metadata": {"name": "node-0000", "labels": {"node.koordinator.sh/gpu-model": "T4"}}, "spec": {"devices": [gpu, gpu]}}
        self.request("POST", DEVICES, device)
        manager = self.manager()
        wait_for("NodeMetrics", lambda: len(self.metrics()) == NODES)
        self.report("node-0000", 1)
        wait_for("(8 - 1) * 1.5", lambda: self.batch_cpu("node-0000") == "10500")
        wait_for("the ratios", lambda: self.annotation("node-0000", "cpu-normalization-ratio") == "1.50" and
                 self.annotation("node-0000", "resource-amplification-ratio") == '{"cpu":1.50,"memory":1.25}')
        node = self.request("GET", "/api/v1/nodes/node-0000")
        self.assertEqual(node["metadata"]["labels"]["node.koordinator.sh/gpu-model"], "T4")
        self.assertEqual({name: node["status"]["allocatable"][f"koordinator.sh/{name}"] for name in ("gpu", "gpu-core", "gpu-memory")},
                         {"gpu": "200", "gpu-core": "200", "gpu-memory": "32Gi"})

        def zone_cpu():
            zone = self.request("GET", f"{TOPOLOGIES}/node-0000")["zones"][1]
            return {one["name"]: one["available"] for one in zone["resources"]}.get(BATCH_CPU)
        wait_for("half of it", lambda: zone_cpu() == "5250")

        with self.subTest("what the agent writes at the same time is not written over"):
            for i in range(20):
                self.report("node-0000", 1 + i % 3)
                self.request("PATCH", f"{TOPOLOGIES}/node-0000", {"zones": zones(6 + i)})
            wait_for("the manager's part beside the agent's", lambda: zone_cpu() not in (None, "5250"))
            self.assertEqual(self.request("GET", f"{TOPOLOGIES}/node-0000")["zones"][1]["resources"][0]["capacity"], "25")

        with self.subTest("a GPU that broke is gone, without colocation too"):
            self.configure(colocation_config={"enable": False})
            wait_for("zones lend nothing", lambda: zone_cpu() == "0")
            wait_for("nor does the node", lambda: self.batch_cpu("node-0000") is None)
            wait_for("nothing is amplified", lambda: self.annotation("node-0000", "resource-amplification-ratio") is None)
            self.assertEqual(self.annotation("node-0000", "cpu-normalization-ratio"), "1.50")
            device["spec"]["devices"][0] = {**gpu, "health": False}
            self.request("PATCH", f"{DEVICES}/node-0000", {"spec": device["spec"]})
            wait_for("one", lambda: self.request("GET", "/api/v1/nodes/node-0000")["status"]["allocatable"].get("koordinator.sh/gpu") == "100")
        self.assertIn('slo_controller_node_resource_run_plugin_status{plugin="BatchResource",status="succeeded",reason="NodePreUpdate"}',
                      manager.get("/metrics")[1])
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def test_an_abnormal_node_lends_less(self):
        for node in ("node-0000", "node-0001"):
            self.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {
                "capacity": {"cpu": "10", "memory": "20Gi", "pods": "110"}, "allocatable": {"cpu": "10", "memory": "20Gi", "pods": "110"}}})
        self.request("POST", PODS, {
            "metadata": {"name": "victim", "labels": {"koordinator.sh/qosClass": "BE"}},
            "spec": {"nodeName": "node-0001", "containers": [{"name": "main", "image": "none"}]}})
        self.configure(colocation_config={"enable": True, "cpuReclaimThresholdPercent": 80, "abnormalNodeStepPercent": 50})
        manager = self.manager()
        wait_for("NodeMetrics", lambda: len(self.metrics()) == NODES)
        for node in ("node-0000", "node-0001"):
            self.report(node, 1)
            wait_for("all that it can", lambda node=node: self.batch_cpu(node) == "7k")
        self.report("node-0000", 1, age=16 * 60)
        wait_for("nothing", lambda: self.batch_cpu("node-0000") is None)
        self.report("node-0000", 1)
        wait_for("half of it after figures that grew stale", lambda: self.batch_cpu("node-0000") == "3500")
        self.request("POST", f"{PODS}/victim/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "victim"}})
        wait_for("half of it after an eviction", lambda: self.batch_cpu("node-0001") == "3500")
        wait_for("two events", lambda: set(self.warned("OvercommitLowered")) == {"node-0000", "node-0001"})
        wait_for("the annotation", lambda: '"percent":50' in (self.annotation("node-0001", "overcommit-standing") or ""))
        self.assertIn('koord_manager_node_overcommit_percent{node="node-0000"} 50', manager.get("/metrics")[1])

        with self.subTest("another manager knows it, and a rule that is off forgets it"):
            self.assertEqual(manager.terminate(), 0)
            second = self.manager()
            wait_for("the second", lambda: "the informers of nodes have synced" in second.output())
            self.report("node-0001", 3)
            wait_for("half of 5", lambda: self.batch_cpu("node-0001") == "2500")
            self.configure(colocation_config={"enable": True, "cpuReclaimThresholdPercent": 80})
            wait_for("all of 5", lambda: self.batch_cpu("node-0001") == "5k")
            wait_for("no annotation", lambda: self.annotation("node-0001", "overcommit-standing") is None)
            self.assertEqual(second.terminate(), 0, second.output()[-2000:])

    def profile(self, name, managed=False, **spec):
        self.request("POST", PROFILES, {
            "apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "spec": spec,
            "metadata": {"name": name, "labels": {"config.koordinator.sh/controller-managed": "true"} if managed else {}}})

    def pod(self, name, labels):
        self.request("POST", PODS, {"metadata": {"name": name, "labels": labels}, "spec": {
            "nodeSelector": {"nowhere": "at-all"}, "containers": [{"name": "main", "image": "none"}]}})

    def warned(self, reason):
        return {event["regarding"]["name"]: event["note"] for event in self.api.list(EVENTS) if event["reason"] == reason}

    def test_pods_that_slipped_past_the_webhook(self):
        self.profile("batch", selector={"matchLabels": {"app": "batch"}}, qosClass="BE", labels={"tier": "batch"})
        self.profile("care", managed=True, selector={"matchLabels": {"app": "care"}}, labels={"cared": "yes"},
                     labelSuffixes={"team": "-x"}, annotations={"a": "1"}, schedulerName="other")
        self.profile("wrong", managed=True, selector={"matchLabels": {"app": "wrong"}}, patch={"spec": {"hostNetwork": True}})
        time.sleep(1.1)  # times have seconds: these pods are younger than their profiles
        self.pod("early", {"app": "batch"})
        manager = self.manager("--feature-gates=ColocationProfileController=true", "--colocation-profile-reconcile-interval=1s",
                               "--colocation-profile-force-update-pod-duration=2s")
        wait_for("the pod that was there", lambda: "early" in self.warned("ColocationProfileMissed"))
        self.pod("late", {"app": "batch"})
        self.pod("right", {"app": "batch", "tier": "batch", "koordinator.sh/qosClass": "BE"})
        wait_for("the one that came", lambda: "late" in self.warned("ColocationProfileMissed"))
        self.assertIn("no label koordinator.sh/qosClass=BE, which ClusterColocationProfile batch gives",
                      self.warned("ColocationProfileMissed")["late"])

        self.profile("all", managed=True, labels={"everybody": "yes"})  # no selector: the webhook's all, the controller's none
        self.pod("cared", {"app": "care", "team": "t"})
        self.pod("refused", {"app": "wrong"})

        def labels(name):
            return self.request("GET", f"{PODS}/{name}")["metadata"]["labels"]
        wait_for("what is in its care", lambda: labels("cared").get("cared") == "yes")
        self.assertEqual(self.request("GET", f"{PODS}/cared")["metadata"]["annotations"]["a"], "1")
        wait_for("a second look", lambda: 'pod_updates_total{status="unchanged"}' in manager.get("/metrics")[1])
        self.assertEqual(labels("cared")["team"], "t-x")
        wait_for("what cannot be", lambda: "refused" in self.warned("ColocationProfileRefused"))
        self.assertIn("ClusterColocationProfile wrong", self.warned("ColocationProfileRefused")["refused"])
        self.assertNotIn("right", self.warned("ColocationProfileMissed"))
        self.assertNotIn("everybody", labels("right"))
        text = manager.get("/metrics")[1]
        self.assertIn('koord_manager_colocationprofile_missed_pods_total{profile="batch"} 2', text)
        self.assertRegex(text, r'koord_manager_colocationprofile_pod_updates_total\{status="changed"\} [1-9]')
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def test_pods_that_slipped_past_are_told_of_once_whoever_leads(self):
        self.make("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "lent"}, "value": 5999})
        amounts = {"cpu": "1500m", "memory": "1Gi"}
        for name, qos, priority in (("broken", "LSR", None), ("native", "BE", "lent"), ("plain-ls", "LS", None)):
            self.request("POST", PODS, {"metadata": {"name": name, "labels": {"koordinator.sh/qosClass": qos}}, "spec": {
                "nodeSelector": {"nowhere": "at-all"}, **({"priorityClassName": priority} if priority else {}),
                "containers": [{"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}]}})
        for _ in range(2):
            manager = self.manager()
            wait_for("what slipped past", lambda: "broken" in self.warned("PodRuleBroken") and
                     "native" in self.warned("ResourcesNotTranslated"))
            self.assertNotIn("plain-ls", {**self.warned("PodRuleBroken"), **self.warned("ResourcesNotTranslated")})
            self.assertIn("koordinator.sh/qosClass=LSR and priorityClass= cannot be used in combination", self.warned("PodRuleBroken")["broken"])
            self.assertIn("class koord-batch", self.warned("ResourcesNotTranslated")["native"])
            wait_for("both are counted", lambda one=manager: one.get("/metrics")[1].count("slipped_pods_total{") == 2)
            self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])
            self.assertNotIn("an event is lost", manager.output())
        events = [event for event in self.api.list(EVENTS)
                  if event["reason"] in ("PodRuleBroken", "ResourcesNotTranslated") and event["regarding"]["name"] in ("broken", "native")]
        self.assertEqual(len(events), 2)
        self.assertFalse([event for event in events if event.get("series")])

    @unittest.skipIf("KOORD_KUBE_KUBECONFIG" in os.environ, "other tests need the definitions")
    def test_definitions_that_are_missing_hold_nothing_up(self):
        for name in ("noderesourcetopologies.topology.node.k8s.io", "devices.scheduling.koordinator.sh",
                     "clustercolocationprofiles.config.koordinator.sh", "elasticquotas.scheduling.sigs.k8s.io",
                     "elasticquotaprofiles.quota.koordinator.sh"):
            self.request("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        self.request("PATCH", "/api/v1/nodes/node-0000/status", {"status": {
            "capacity": {"cpu": "10", "memory": "20Gi"}, "allocatable": {"cpu": "10", "memory": "20Gi", "koordinator.sh/gpu": "100"}}})
        self.configure(colocation_config={"enable": True, "cpuReclaimThresholdPercent": 80})
        manager = self.manager("--feature-gates=ColocationProfileController=true")
        wait_for("NodeMetrics", lambda: len(self.metrics()) == NODES)
        self.report("node-0000", 1)
        wait_for("what it lends", lambda: self.batch_cpu("node-0000") == "7k")
        # Devices that nobody can know of are not taken for broken ones.
        self.assertEqual(self.request("GET", "/api/v1/nodes/node-0000")["status"]["allocatable"]["koordinator.sh/gpu"], "100")
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def test_runs_the_controllers_that_are_asked_for(self):
        manager = self.manager("--controllers=*,-nodemetric")
        wait_for("NodeSLOs", lambda: len(self.slos()) == NODES)
        self.assertEqual(self.metrics(), {})
        done = subprocess.run([KOORD, "--role=manager", "--leader-elect-resource-lock=endpoints"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--leader-elect-resource-lock", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""The node agent against the sandbox, a kubelet that lies, an API server that goes, and without either of them."""
import collections
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

import agents
from agents import KOORD, NODE, SLO, wait_for

import fake_node
import gate
import reference
from check_placement import quantity

QUICK = "--kubelet-sync-interval=300ms"
MI = fake_node.MI


class WithWorld(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = agents.World()
        cls.addClassCleanup(cls.world.close)


class AKubelet(WithWorld):
    def test_that_lies_is_not_believed(self):
        world = self.world
        world.add_pod("web", cpu=0.5, memory=100 * MI, labels={"koordinator.sh/qosClass": "LS"})
        world.add_pod("bad", annotations={"scheduling.koordinator.sh/resource-status": "{{"})
        agent = world.agent(QUICK, "--kubelet-sync-timeout=500ms")
        wait_for("two pods", lambda: {"web", "bad"} <= set(agent.pods()))
        self.assertEqual(agent.pods()["web"]["qos"], "LS")
        self.assertIn("a part of a pod is malformed", agent.output())
        for mode, error in (("empty", "the list is empty"), ("wrong-node", 'another node, "another"'),
                            ("500", "status 500"), ("garbage", ""), ("truncated", ""), ("slow", ""),
                            ("flood", "more than 16384 pods")):
            with self.subTest(mode):
                world.kubelet.released.clear()
                world.kubelet.mode = mode
                wait_for(f"{mode} is noticed", lambda: agent.source("kubelet")["ok"] is False)
                self.assertIn(error, agent.source("kubelet")["error"])
                self.assertLessEqual({"web", "bad"}, set(agent.pods()))
                world.kubelet.mode = ""
                world.kubelet.released.set()
                wait_for("the kubelet is well again", lambda: agent.source("kubelet")["ok"])
        status, metrics = agent.get("/metrics")
        self.assertEqual(status, 200)
        self.assertRegex(metrics, r'koordlet_kubelet_request_duration_seconds_count{node="node-0000",verb="GET",path="/pods/",code="500"} [1-9]')
        events = world.api.list("/apis/events.k8s.io/v1/events")
        self.assertEqual([event["regarding"]["name"] for event in events if event["reason"] == "MalformedPodMetadata"], ["bad"])
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])

    def test_names_pods_late_and_gives_cpus_out(self):
        world = self.world
        before = world.kubelet.pods
        group = world.add_pod("batch", qos="BestEffort", labels={"koordinator.sh/qosClass": "BE"})
        exclusive = fake_node.pod("exclusive", NODE, "Guaranteed", labels={"koordinator.sh/qosClass": "LSE"},
                                  annotations={"scheduling.koordinator.sh/resource-status": '{"cpuset":"0"}'})
        exclusive["status"] = {"phase": "Pending", "qosClass": "Guaranteed"}
        world.kubelet.pods = [*world.kubelet.pods, exclusive]
        fake_node.write(os.path.join(world.root.folder, "var/lib/kubelet/cpu_manager_state"), json.dumps(
            {"policyName": "static", "defaultCpuSet": "0,2-3", "entries": {"uid-other": {"main": "1"}}, "checksum": 1}))
        # Somebody best-effort whom the kubelet has not named yet.
        world.root.host_cpu, world.root.cpu["kubepods/besteffort"] = 1.5, 1.0
        world.create("nodeslos", "NodeSLO", {"resourceUsedThresholdWithBE": {
            "enable": True, "cpuSuppressThresholdPercent": 100, "cpuSuppressPolicy": "cpuset"}})
        agent = world.agent(QUICK)

        def cpus(*groups):
            return [world.root.read("cpuset", one, "cpuset.cpus") for one in groups]
        wait_for("CPUs that are nobody's", lambda: cpus("kubepods/besteffort", group, f"{group}/id-batch") == ["1-3", "1-3", "2-3"])

        def used():
            tiers = {tier["name"]: tier.get("usage", {}).get("cpuCores", -1) for tier in agent.node().get("tiers", [])}
            return tiers and abs(tiers["BE"] - 1.0) < 0.3 and abs(tiers["system"] - 0.5) < 0.3
        wait_for("its use is the best-effort tier's", used)
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])
        world.request("DELETE", f"{SLO}/nodeslos/{NODE}")
        world.root.remove(group)
        world.root.host_cpu, world.root.cpu["kubepods/besteffort"] = 1.0, 0
        os.unlink(os.path.join(world.root.folder, "var/lib/kubelet/cpu_manager_state"))
        world.kubelet.pods = before

    def test_complaint_2597_may_be_asked_before_there_is_a_node(self):
        world = self.world
        kubelet = fake_node.Kubelet("late")
        self.addCleanup(kubelet.close)
        item = fake_node.pod("early-pod", "late")
        world.root.add_pod(item, 0.1, MI)
        kubelet.pods = [item]
        agent = world.agent("--kubelet-insecure-tls", f"--kubelet-read-only-port={kubelet.port}", node="late")
        self.addCleanup(agent.close)
        wait_for("it says so", lambda: "there is no such node" in agent.output())
        self.assertEqual(agent.get("/healthz")[0], 200)
        self.assertEqual(agent.get("/readyz")[0], 500)
        # Without the sandbox's kubelet, which would give it an address at once.
        world.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": "late", "annotations": {"sandbox.koordinator.sh/kubelet": "false"}}})
        wait_for("it says so", lambda: "the kubelet cannot be asked" in agent.output())
        for value in "abc":  # a Node is written all the time
            world.request("PATCH", "/api/v1/nodes/late", {"metadata": {"labels": {"written": value}}})
        world.request("PATCH", "/api/v1/nodes/late/status", {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}})
        wait_for("the pods, once there is a node", lambda: "early-pod" in agent.pods())
        self.assertEqual(agent.output().count("the kubelet cannot be asked"), 1, "said again and again")
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])

    def test_is_asked_at_once_when_a_container_comes(self):
        world = self.world
        world.add_pod("first")
        agent = world.agent("--kubelet-sync-interval=1h")
        wait_for("the first pod", lambda: "first" in agent.pods())
        world.add_pod("second", memory=MI)
        wait_for("the second one, without waiting for an hour", lambda: "second" in agent.pods(), 20)
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])


class AKubeletWithACgroupRoot(WithWorld):
    def test_complaints_2303_and_716(self):
        """kind's kubelets have one, the original dies on their nodes."""
        world = self.world
        world.kubelet.config = {**world.kubelet.config, "cgroupRoot": "/kubelet"}
        world.root.kubelet_root = "kubelet/"
        for group in ("kubelet", "kubelet/kubepods", "kubelet/kubepods/burstable", "kubelet/kubepods/besteffort"):
            world.root.add(group, 0, 0)
        self.assertEqual(world.add_pod("web", cpu=0.5, memory=100 * MI), "kubelet/kubepods/burstable/poduid-web")
        agent = world.agent("--kubelet-sync-interval=1h")
        wait_for("the pod's usage", lambda: agent.pods().get("web", {}).get("usage", {}).get("cpuCores"))
        self.assertEqual(agent.pods()["web"]["cgroup"], "kubelet/kubepods/burstable/poduid-web")
        world.add_pod("second", memory=MI)
        wait_for("the second one, without waiting for an hour", lambda: "second" in agent.pods(), 20)
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])
        told = world.agent(QUICK, "--disable-query-kubelet-config", "--kubelet-cgroup-root=/kubelet")
        wait_for("the pod's usage", lambda: told.pods().get("web", {}).get("usage", {}).get("cpuCores"))
        told.close()
        world.root.remove("kubepods")
        lost = world.agent(QUICK, "--disable-query-kubelet-config")
        wait_for("a word about it", lambda: "set --kubelet-cgroup-root" in lost.output())


class TheKubeletsCertificate(unittest.TestCase):
    def test_of_nobody_gets_no_token(self):
        elsewhere = tempfile.TemporaryDirectory(prefix="koord-pki.")
        self.addCleanup(elsewhere.cleanup)
        world = agents.World(tls=elsewhere.name)
        self.addCleanup(world.close)
        world.add_pod("web")
        agent = world.agent(QUICK)
        wait_for("the refusal", lambda: agent.source("kubelet").get("error"))
        for way in ("certificate is not accepted", "the token was not sent", "--kubelet-skip-verify",
                    "--kubelet-insecure-tls", "--var-lib-kubelet-dir"):
            self.assertIn(way, agent.source("kubelet").get("error", ""))
        self.assertEqual(world.kubelet.requests, [])
        agent.close()

        skipping = world.agent(QUICK, "--kubelet-skip-verify")
        wait_for("the pods, unverified", lambda: "web" in skipping.pods())
        self.assertTrue(all(token and token.startswith("Bearer ") for _, token in world.kubelet.requests))
        skipping.close()

        plain = fake_node.Kubelet(NODE)
        self.addCleanup(plain.close)
        plain.pods = world.kubelet.pods
        reading = world.agent(QUICK, "--kubelet-insecure-tls", f"--kubelet-read-only-port={plain.port}")
        wait_for("the pods, from the read-only port", lambda: "web" in reading.pods())
        self.assertEqual({token for _, token in plain.requests}, {None})


class WhatIsReported(WithWorld):
    def test_is_what_the_root_shows(self):
        world = self.world
        world.root.host_cpu, world.root.host_memory = 2.0, 3000 * MI
        world.add_pod("web", cpu=0.5, memory=100 * MI, labels={"koordinator.sh/qosClass": "LS"},
                      resources={"requests": {"cpu": "3", "memory": "4Gi"}})
        world.add_pod("batch", cpu=0.25, memory=50 * MI, qos="BestEffort", labels={"koordinator.sh/qosClass": "BE"})
        world.root.add("host-latency-sensitive/nginx", 0.2, 30 * MI)
        world.create("nodemetrics", "NodeMetric", {"metricCollectPolicy": {
            "reportIntervalSeconds": 1, "aggregateDurationSeconds": 60, "nodeAggregatePolicy": {"durations": ["10s", "30m"]}}})
        world.create("nodeslos", "NodeSLO", {"hostApplications": [{"name": "nginx", "qos": "LS", "priority": "koord-prod"}]})
        silent = self.start_without_a_kubelet()
        # Status of somebody else's, which a report replaces; spec and labels stay.
        server = self.gate_before_the_api_server()
        agent = world.agent(QUICK, "--feature-gates=NodeMetricPromMetrics=true", f"--kubeconfig={server.kubeconfig}")
        wait_for("the pods' usage", lambda: agent.pods().get("web", {}).get("usage", {}).get("cpuCores"))
        self.check_the_api(agent)
        self.check_the_metrics(agent)

        server.shut()
        wait_for("the API server's end is noticed", lambda: agent.source("API server")["ok"] is False)
        server.open()

        def reported():
            return world.request("GET", f"{SLO}/nodemetrics/{NODE}").get("status", {}).get("nodeMetric")
        wait_for("a report, after the least interval of 30 s", reported, 60)
        metric = world.request("GET", f"{SLO}/nodemetrics/{NODE}")
        self.assertEqual(metric["spec"]["metricCollectPolicy"]["reportIntervalSeconds"], 1)
        status = metric["status"]
        self.close_to(status["nodeMetric"]["nodeUsage"], 2.0, 3000)
        self.close_to(status["nodeMetric"]["systemUsage"], 2.0 - 0.5 - 0.25 - 0.2, 3000 - 100 - 50 - 30)
        short, long = status["nodeMetric"]["aggregatedNodeUsages"]
        self.assertEqual((short["duration"], long["duration"]), ("10s", "30m0s"))
        self.close_to(short["usage"]["p90"], 2.0, 3000)
        self.assertEqual(long["usage"], {name: {} for name in ("avg", "p50", "p90", "p95", "p99")})
        batch, web = status["podsMetric"]
        self.assertEqual((batch["name"], batch["namespace"], batch["qos"], batch["priority"]),
                         ("batch", "default", "BE", "koord-batch"))
        self.assertEqual((web["name"], web["qos"], web["priority"]), ("web", "LS", "koord-prod"))
        self.close_to(batch["podUsage"], 0.25, 50)
        self.close_to(web["podUsage"], 0.5, 100)
        application, = status["hostApplicationMetric"]
        self.assertEqual(application["name"], "nginx")
        self.close_to(application["usage"], 0.2, 30)
        # Of the system 1.25 CPUs and of the pod 0.5, each up to the end of its bucket, and 10% more.
        peak, reclaimable = (status[key]["resource"]["resources"] for key in ("prodPeakMetric", "prodReclaimableMetric"))
        self.assertAlmostEqual(quantity(peak["cpu"]), 1.1 * (1.75 + 0.025), delta=0.35)
        self.assertAlmostEqual(quantity(peak["memory"]) / MI, 1.1 * (3000 - 50), delta=300)
        for resource, requested in (("cpu", 3), ("memory", 4096 * MI)):
            self.assertAlmostEqual(quantity(reclaimable[resource]), requested - quantity(peak[resource]), delta=1e-6)
        metrics = agent.get("/metrics")[1]
        for line in ('koordlet_node_predicted_resource_peak{node="node-0000",predictor="minPredictor",resource="cpu",unit="core"}',
                     'koordlet_node_resource_priority_reclaimable_status{node="node-0000",priority="koord-prod"} 0'):
            self.assertIn(line, metrics)
        self.assertIn('koordlet_node_metric_node_usage{node="node-0000",resource="cpu",unit="core"}', agent.get("/internal-metrics")[1])
        wait_for("the agent without pods says why it reports nothing", lambda: "nothing is reported" in silent.output())
        self.assertIn("the kubelet has not told the node's pods yet", silent.output())
        self.assertEqual(silent.get("/healthz")[0], 200)
        self.assertNotIn("status", world.request("GET", f"{SLO}/nodemetrics/silent"))
        seen = silent.node()["tick"]
        wait_for("it looks again", lambda: silent.node()["tick"] >= seen + 3)
        self.check_complaint_2804(agent.output() + silent.output())

    def check_complaint_2804(self, output):
        """In thirty ticks, with every gate on, no warning comes again and again."""
        said = collections.Counter(re.findall(r'^.* level=(?:warn|error) .*?msg="([^"]*)"', output, re.MULTILINE))
        self.assertEqual(said["nothing is reported"], 1)
        self.assertLessEqual(max(said.values()), 4, said)

    def gate_before_the_api_server(self):
        with open(self.world.sandbox.kubeconfig, encoding="utf-8") as file:
            kubeconfig = file.read()
        server = gate.Gate(int(re.search(r"server: .*:(\d+)", kubeconfig)[1]))
        self.addCleanup(server.shut)
        server.kubeconfig = os.path.join(self.world.folder.name, "gated")
        fake_node.write(server.kubeconfig, re.sub(r"(server: .*:)\d+", rf"\g<1>{server.port}", kubeconfig))
        return server

    def start_without_a_kubelet(self):
        """An agent of another node, whose kubelet takes questions and never answers."""
        world = self.world
        world.create("nodemetrics", "NodeMetric", {"metricCollectPolicy": {"reportIntervalSeconds": 1}}, name="silent")
        world.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "silent"}})
        world.request("PATCH", "/api/v1/nodes/silent/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"}}})
        root = fake_node.FakeRoot(os.path.join(world.folder.name, "silent"))
        self.addCleanup(root.close)
        kubelet = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(kubelet.close)
        agent = agents.Agent(root, f"--kubeconfig={world.sandbox.kubeconfig}", "--kubelet-insecure-tls",
                             f"--kubelet-read-only-port={kubelet.getsockname()[1]}", QUICK, "--feature-gates=AllAlpha=true",
                             f"--audit-log-dir={root.folder}", node="silent")
        self.addCleanup(agent.close)
        return agent

    def close_to(self, usage, cpu, memory):
        text = usage["resources"]["cpu"]
        measured = int(text[:-1]) / 1000 if text.endswith("m") else int(text)
        self.assertAlmostEqual(measured, cpu, delta=0.25 * cpu + 0.05)
        self.assertEqual(usage["resources"]["memory"], f"{memory}Mi")

    def check_the_api(self, agent):
        node = agent.node()
        self.assertEqual((node["name"], node["cgroupVersion"], node["cgroupDriver"]), (NODE, "v1", "cgroupfs"))
        self.assertEqual(node["capacity"], {"cpuCores": 4, "memoryBytes": 16384 * MI})
        self.assertEqual([tier["name"] for tier in node["tiers"]], ["LS", "BE", "system"])
        self.assertEqual([tier.get("pods") for tier in node["tiers"]][:2], [1, 1])
        self.assertEqual(node["usage"]["memoryBytes"], 3000 * MI)
        self.assertIn({"name": "run_queue_latency", "works": False, "reason": "switched off by --run-queue-latency=false"},
                      node["collectors"])
        web = agent.pods()["web"]
        self.assertEqual((web["namespace"], web["kubeQOS"], web["cgroup"]), ("default", "Burstable", "kubepods/burstable/poduid-web"))
        self.assertEqual(web["usage"]["memoryBytes"], 100 * MI)
        container, = web["containers"]
        self.assertEqual((container["name"], container["id"]), ("main", "id-web"))
        wait_for("a container's usage", lambda: agent.pods()["web"]["containers"][0].get("usage", {}).get("cpuCores"))
        self.assertEqual(agent.get("/healthz")[0], 200)
        self.assertEqual(agent.get("/events")[0], 404)
        top = subprocess.run([KOORD, "top", "--once", f"--addr=127.0.0.1:{agent.port}"], capture_output=True, text=True, timeout=30)
        self.assertEqual(top.returncode, 0, top.stderr)
        for part in ("TIER", "default/web", "default/batch", "host: nginx", "of 4.00 cores", "API server ok"):
            self.assertIn(part, top.stdout)
        self.assertLessEqual(max(map(len, top.stdout.splitlines())), 120)

    def check_the_metrics(self, agent):
        """The names and labels that are there, of koordlet's own; every series says which node it is of."""
        (_, internal), (_, external), (_, both) = (agent.get(path) for path in ("/internal-metrics", "/external-metrics", "/metrics"))
        names = {line.split()[2] for line in both.splitlines() if line.startswith("# TYPE")}
        self.assertLessEqual({"koordlet_start_time", "koordlet_node_used_cpu_cores", "koordlet_node_used_memory_bytes",
                              "koordlet_host_application_resource_usage", "koordlet_kubelet_request_duration_seconds",
                              "koordlet_collector_available"}, names)
        self.assertEqual(reference.unlisted(both, "koordlet", common=["node"]), [])
        for line in both.splitlines():
            if line.startswith("koordlet_"):
                self.assertIn('node="node-0000"', line)
        self.assertEqual(names, {line.split()[2] for line in (internal + external).splitlines() if line.startswith("# TYPE")})
        self.assertRegex(both, r'koordlet_host_application_resource_usage{node="node-0000",host_application_name="nginx",'
                               r'resource="memory",priority_class="koord-prod",qos="LS"} ')


class TheApiServer(unittest.TestCase):
    def test_may_be_away(self):
        world = agents.World()
        self.addCleanup(world.close)
        world.add_pod("web", cpu=0.5, memory=MI)
        world.create("nodeslos", "NodeSLO", {"resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota"}})
        agent = world.agent(QUICK)
        wait_for("the pod and the NodeSLO", lambda: "web" in agent.pods() and agent.node()["sloKnown"] and agent.suppresses())
        world.sandbox.child.send_signal(signal.SIGSTOP)
        world.add_pod("late", memory=MI)
        wait_for("a new pod while the API server hangs", lambda: "late" in agent.pods())
        world.sandbox.child.send_signal(signal.SIGCONT)
        world.request("PATCH", f"{SLO}/nodeslos/{NODE}", {"spec": {"resourceUsedThresholdWithBE": {"enable": False}}})
        wait_for("the API server's news", lambda: not agent.suppresses())
        world.sandbox.child.kill()
        wait_for("its end is noticed", lambda: agent.source("API server")["ok"] is False)
        world.add_pod("later", memory=MI)
        wait_for("a new pod without an API server", lambda: "later" in agent.pods())
        self.assertTrue(agent.node()["sloKnown"])
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])


class NonsenseInANodeSlo(WithWorld):
    def test_costs_the_value_alone(self):
        world = self.world
        world.add_pod("web", cpu=0.1, memory=MI)
        world.create("nodeslos", "NodeSLO", {
            "resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota"},
            "hostApplications": [{"name": "../../../etc"}, {"name": "good", "qos": "LS"}]})
        agent = world.agent(QUICK)
        wait_for("the NodeSLO", lambda: agent.node().get("sloKnown"))
        wait_for("a word about the bad one", lambda: "leaves the hierarchy" in agent.output())
        wait_for("the good one alone", lambda: [one["name"] for one in agent.json("/apis/v1/pods").get("hostApplications", [])] == ["good"])
        world.request("DELETE", f"{SLO}/nodeslos/{NODE}")
        wait_for("its end", lambda: not agent.node()["sloKnown"])


class WithoutKubernetes(unittest.TestCase):
    def test_a_file_says_what_to_watch(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-alone.")
        self.addCleanup(folder.cleanup)
        root = fake_node.FakeRoot(os.path.join(folder.name, "root"))
        self.addCleanup(root.close)
        root.add("web.slice", 0.5, 10 * MI)
        root.add("batch.slice", 1.0, 20 * MI)
        path = os.path.join(folder.name, "agent.yaml")
        with open(os.path.join(agents.TREE, "packaging", "standalone.example.yaml"), encoding="utf-8") as file:
            example = file.read()
        fake_node.write(path, example)
        agent = agents.Agent(root, f"--standalone-config={path}", node="")
        self.addCleanup(agent.close)
        wait_for("the groups", lambda: {"web", "batch"} <= set(agent.pods()))
        wait_for("their use", lambda: agent.pods()["web"].get("usage", {}).get("cpuCores"))
        self.assertEqual(agent.pods()["batch"]["qos"], "BE")
        wait_for("the suppression", lambda: agent.node().get("suppressed"))
        fake_node.write(path, example + "colour: red\n")
        wait_for("the bad file is named", lambda: "colour" in agent.output())
        self.assertRegex(agent.output(), r"agent\.yaml:\d+: \.colour")
        self.assertIn("batch", agent.pods())
        os.replace(self.lone_group(folder.name), path)
        wait_for("the new file", lambda: set(agent.pods()) == {"web"})
        wait_for("nothing is held back any more", lambda: root.read("cpu", "batch.slice", "cpu.cfs_quota_us") == "-1")
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])
        wrong = subprocess.run([KOORD, "--role=koordlet", "--standalone-config=/nowhere", "--addr=0", *root.flags()],
                               capture_output=True, text=True, timeout=30)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("/nowhere", wrong.stderr)

    def lone_group(self, folder):
        path = os.path.join(folder, "next.yaml")
        fake_node.write(path, "groups:\n- {name: web, cgroupPath: web.slice, qos: LS}\n")
        return path

    def test_cleanup_sets_free_what_a_killed_agent_left(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-alone.")
        self.addCleanup(folder.cleanup)
        root = fake_node.FakeRoot(os.path.join(folder.name, "root"))
        self.addCleanup(root.close)
        root.host_cpu = 3.5
        root.add("web.slice", 2.5, 10 * MI)
        root.add("batch.slice", 0.5, 20 * MI)
        example = os.path.join(agents.TREE, "packaging", "standalone.example.yaml")
        agent = agents.Agent(root, f"--standalone-config={example}")
        self.addCleanup(agent.close)
        wait_for("the quota", lambda: root.read("cpu", "batch.slice", "cpu.cfs_quota_us") != "-1")
        agent.child.kill()
        agent.child.wait()
        with socket.create_server(("127.0.0.1", 0)) as taken:  # no port is needed for it
            done = subprocess.run([KOORD, "--role=koordlet", f"--standalone-config={example}", "--cleanup",
                                   f"--addr=127.0.0.1:{taken.getsockname()[1]}", *root.flags()],
                                  capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(root.read("cpu", "batch.slice", "cpu.cfs_quota_us"), "-1")


class TwoRoles(WithWorld):
    def test_in_one_process(self):
        world = self.world
        world.add_pod("web", cpu=0.5, memory=MI)
        secure = agents.free_port()
        agent = world.agent("--scheduler.leader-elect=false", f"--secure-port={secure}", "--scheduler.port=0",
                            "--scheduler-names=default-scheduler", QUICK, role="scheduler,koordlet", prefix="--koordlet.")
        wait_for("the agent's pod", lambda: "web" in agent.pods())
        world.request("POST", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "to-place"},
            "spec": {"containers": [{"name": "c", "image": "i"}]}})
        wait_for("the scheduler's pod", lambda: world.request(
            "GET", "/api/v1/namespaces/default/pods/to-place")["spec"].get("nodeName") == NODE)
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])

    def test_flags_and_ports(self):
        def fails(*flags):
            done = subprocess.run([KOORD, "--role=scheduler,koordlet", f"--kubeconfig={self.world.sandbox.kubeconfig}", *flags],
                                  capture_output=True, text=True, timeout=30, env={**os.environ, "NODE_NAME": NODE})
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr
        both = fails("--kube-api-qps=3")
        self.assertIn("--scheduler.kube-api-qps", both)
        self.assertIn("--koordlet.kube-api-qps", both)
        twice = fails("--scheduler.secure-port=9316")
        self.assertIn("port 9316 is wanted twice", twice)
        self.assertIn("--koordlet.addr", twice)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""Koordinator's manager, scheduler and descheduler swapped for koord's on a real API server, one after the other and back, while
pods come and go: the one that comes waits for the lease of the one that goes. Nothing is lost: every pod is placed, on one node only;
those that run stay where they are, and what nodes lend stays within 5%. Needs the originals; no part of CI.

usage: swap_test.py       KOORDINATOR_BIN names the folder with `koord-manager`, `koord-scheduler`, `koord-descheduler` and `crds/`
"""
import collections
import os
import sys
import threading
import time
import unittest

import schedulers
from own_cluster import own_cluster

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "support"))
import koordinator_install as install  # noqa: E402
import kube_api  # noqa: E402
import originals  # noqa: E402
from sandbox import KOORD, Kubectl, free_port, wait_for  # noqa: E402

NS, SPACE = install.NS, "swapped"
NODES, STEADY, BATCH = 10, 30, 60
PODS = f"/api/v1/namespaces/{SPACE}/pods"
SLO = "/apis/slo.koordinator.sh/v1alpha1"
WITHIN = 0.05
PATIENCE = 120  # seconds: a lease is 15, and the machine may be busy
PRIORITIES = os.path.join(schedulers.HERE, "..", "..", "packaging", "manifests", "10-priority-classes.yaml")
LEASE = {"manager": "koordinator-manager", "scheduler": "koord-scheduler", "descheduler": "koord-descheduler"}
KINDS = ("cpu", "memory")


class Repeated(threading.Thread):
    """Does something again and again until the end of the test; what goes wrong fails it then."""

    def __init__(self, seconds, work):
        super().__init__(daemon=True)
        self.seconds, self.work, self.failure, self.ended = seconds, work, None, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(self.seconds):
            try:
                self.work()
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error
                return

    def stop(self):
        self.ended.set()
        self.join(30)
        if self.failure:
            raise self.failure


class SwapTest(unittest.TestCase):
    def setUp(self):
        self.folder, _, self.kubeconfig = own_cluster("swap")
        self.api = kube_api.Api(self.kubeconfig)
        self.kubectl = Kubectl(self.kubeconfig)
        self.kubectl.run("apply", "--server-side", "-f", originals.CRDS)
        self.kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        self.kubectl.run("apply", "-f", PRIORITIES)
        schedulers.ensure_namespaces(self.api, NS, SPACE)
        # By default a manager writes what has changed by a tenth, or after five minutes; one that has started, at once.
        slo = {**install.SLO_CONFIG, "colocation-config": '{"enable": true, "resourceDiffThreshold": 0.01}'}
        for one in install.config_maps(slo):
            kube_api.create(self.api.connect(), one)
        self.names = [f"node-{i}" for i in range(NODES)]
        self.api.load([schedulers.node(name, "16", "64Gi", labels={"kubernetes.io/os": "linux"}) for name in self.names])
        self.running, self.threads = {}, []
        self.lent, self.bound, self.made, self.gone = collections.defaultdict(list), collections.defaultdict(set), 0, set()
        self.addCleanup(self.end)

    def end(self):
        for process in self.running.values():
            process.end()

    # -- the roles

    def config(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{text}clientConnection: {{kubeconfig: {self.kubeconfig}, qps: 1000, burst: 1000}}\n")
        return path

    def command(self, role, program):
        """The same flags for both, but for ports that nobody shares here."""
        if role == "manager":
            return [*program, f"--kubeconfig={self.kubeconfig}", "--enable-leader-election", f"--leader-election-namespace={NS}",
                    "--metrics-addr=0", f"--health-probe-addr=127.0.0.1:{free_port()}", "--feature-gates=WebhookFramework=false",
                    f"--config-namespace={NS}"]
        if role == "scheduler":
            return [*program, f"--config={self.config(role, install.SCHEDULER_CONFIG)}", "--secure-port=0", "--port=0",
                    f"--authentication-kubeconfig={self.kubeconfig}", f"--authorization-kubeconfig={self.kubeconfig}"]
        address = f"127.0.0.1:{free_port()}"
        text = f"{install.DESCHEDULER_CONFIG}healthzBindAddress: {address}\nmetricsBindAddress: {address}\n"
        return [*program, f"--config={self.config(role, text)}", "--secure-port=0"]

    def start(self, role, original):
        program = [originals.program(f"koord-{role}")] if original else [KOORD, f"--role={role}"]
        return schedulers.Scheduler(f"{'original' if original else 'koord'}-{role}", self.command(role, program))

    def holder(self, role):
        try:
            return self.api.connect().request("GET", schedulers.LEASES.format(NS, LEASE[role]))["spec"].get("holderIdentity")
        except kube_api.ApiError as error:
            assert error.status == 404, error
            return None

    def swap(self, role, original):
        """The new one stands by for the lease until the old one has ended, as in a rolling update."""
        print(f"{role}: {'the original' if original else 'koord'} comes", flush=True)
        old, before = self.running.get(role), self.holder(role)
        new = self.start(role, original)
        time.sleep(3)
        new.alive()
        if old:
            self.assertEqual(self.holder(role), before)
            old.alive()
            old.terminate(60)
            old.end()
        self.running[role] = new
        wait_for(f"{role}: the new one leads", lambda: new.alive() and self.holder(role) not in (None, "", before), PATIENCE)
        self.prove_work(role)

    def prove_work(self, role):
        if role == "manager":
            name = f"node-{len(self.names)}"
            self.api.load([schedulers.node(name, "16", "64Gi")])
            self.names.append(name)
            wait_for("a new node lends", lambda: self.report() or self.lends(name), PATIENCE)
            wait_for("and has its strategies", lambda: any(one["metadata"]["name"] == name for one in self.items(f"{SLO}/nodeslos")), PATIENCE)
        if role == "scheduler":
            before = self.made
            wait_for("more pods came", lambda: self.made >= before + 10, PATIENCE)
            wait_for("all of them are placed", lambda: not self.waiting(), PATIENCE)

    # -- the load, and what is looked at meanwhile

    def items(self, path):
        return self.api.connect().request("GET", path)["items"]

    def waiting(self):
        return [pod["metadata"]["name"] for pod in self.items(PODS) if not pod["spec"].get("nodeName")]

    def lends(self, name):
        node = self.api.connect().request("GET", f"/api/v1/nodes/{name}")
        return all(f"kubernetes.io/batch-{kind}" in node["status"]["allocatable"] for kind in KINDS)

    def report(self):
        """What node agents say: a node uses 4 of 16 CPUs and 16 of 64Gi."""
        usage = {"resources": {"cpu": "4", "memory": "16Gi"}}
        system = {"resources": {"cpu": "1", "memory": "4Gi"}}
        status = {"updateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "podsMetric": [],
                  "nodeMetric": {"nodeUsage": usage, "systemUsage": system}}
        for name in list(self.names):
            try:
                self.api.connect().request("PATCH", f"{SLO}/nodemetrics/{name}/status", {"status": status}, "application/merge-patch+json")
            except kube_api.ApiError as error:
                assert error.status == 404, error  # the manager has not made it yet

    def work(self):
        """Some batch pods come, the oldest go."""
        for _ in range(3):
            self.made += 1
            pod = schedulers.pod(f"batch-{self.made}", "koord-scheduler", SPACE, cpu="", priorityClassName="koord-batch",
                                 terminationGracePeriodSeconds=0)
            pod["metadata"]["labels"] = {"koordinator.sh/qosClass": "BE"}
            amounts = {"kubernetes.io/batch-cpu": "100", "kubernetes.io/batch-memory": "64Mi"}
            pod["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
            kube_api.create(self.api.connect(), pod)
        pods = [pod for pod in self.items(PODS) if pod["metadata"]["name"].startswith("batch-") and pod["spec"].get("nodeName")]
        for pod in sorted(pods, key=lambda pod: int(pod["metadata"]["name"][6:]))[:-BATCH]:
            schedulers.delete_now(self.api.connect(), f"{PODS}/{pod['metadata']['name']}")
            self.gone.add(pod["metadata"]["uid"])

    def look(self):
        for node in self.items("/api/v1/nodes"):
            name, amounts = node["metadata"]["name"], node["status"]["allocatable"]
            for kind in KINDS:
                text = amounts.get(f"kubernetes.io/batch-{kind}")
                if text or (name, kind) in self.lent:  # a new one lends when the manager has seen it
                    self.lent[name, kind].append(quantity(text))
        for pod in self.items(PODS):
            if pod["spec"].get("nodeName"):
                self.bound[pod["metadata"]["uid"]].add(pod["spec"]["nodeName"])

    def steady(self):
        return {pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["spec"].get("nodeName")) for pod in self.items(PODS)
                if pod["metadata"]["name"].startswith("steady-")}

    def test_role_by_role_and_back(self):
        order = ["manager", "scheduler", "descheduler"]
        reports = Repeated(3, self.report)
        for role in order:
            self.swap_first(role)
        wait_for("all nodes lend", lambda: all(map(self.lends, self.names)), PATIENCE)
        self.api.load([schedulers.pod(f"steady-{i}", "koord-scheduler", SPACE, cpu="250m") for i in range(STEADY)])
        wait_for("the steady ones are placed", lambda: not self.waiting(), PATIENCE)
        steady = self.steady()
        time.sleep(10)  # what the manager subtracts for them is in what nodes lend
        threads = [reports, Repeated(1, self.work), Repeated(0.3, self.look)]
        time.sleep(10)
        for role in order:
            self.swap(role, original=False)
        for role in reversed(order):
            self.swap(role, original=True)
        wait_for("the last ones are placed", lambda: not self.waiting() or None, PATIENCE)
        for thread in reversed(threads):
            thread.stop()
        self.assertEqual(self.steady(), steady)
        for uid, nodes in self.bound.items():
            self.assertEqual(len(nodes), 1, f"{uid} was on {nodes}")
        there = {pod["metadata"]["uid"] for pod in self.items(PODS)} | self.gone
        self.assertEqual(len(there), self.made + STEADY, "a pod was lost")
        self.assertGreater(self.made, 100)
        for (name, kind), amounts in self.lent.items():
            first = amounts[0]
            self.assertGreater(first, 0)
            self.assertLessEqual(max(abs(one - first) for one in amounts), WITHIN * first, f"{name}: {kind}: {sorted(set(amounts))}")
        far = max(abs(one - amounts[0]) / amounts[0] for amounts in self.lent.values() for one in amounts)
        print(f"{self.made} pods came, {sum(map(len, self.lent.values()))} amounts were looked at, the farthest {100 * far:.1f}% from its first")

    def swap_first(self, role):
        self.running[role] = self.start(role, original=True)
        wait_for(f"the original {role} leads", lambda: self.running[role].alive() and self.holder(role), PATIENCE)


def quantity(text):
    for suffix, factor in (("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("k", 1000), ("m", 0.001)):
        if text and text.endswith(suffix):
            return float(text[:-len(suffix)]) * factor
    return float(text or 0)


if __name__ == "__main__":
    for program_name in ("koord-manager", "koord-scheduler", "koord-descheduler"):
        if lacks := originals.missing(program_name):
            print(f"skipped: {lacks}")
            sys.exit(77)
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""The original koord-scheduler and koord on random clusters whose nodes report what they use: the same verdicts, messages
and scores of LoadAwareScheduling, beside all of kube-scheduler's plugins. Needs the original's program; no part of CI.

usage: compare_load_test.py       KOORDINATOR_BIN names the folder with `koord-scheduler` and `crds/`
"""
import json
import os
import tempfile
import time

import compare_scheduler
import schedulers
from compare_scheduler import NAMESPACE, PLACED, PROBES
from schedulers import OURS, UPSTREAM

import kube_api
import original_scheduler
from random_cluster import LoadCluster, runtime_class
from sandbox import KOORD, Kubectl

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_LOAD_SEEDS", "31 32 33 34 35 36").split()]
METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
BASE = {"nodeMetricExpirationSeconds": 3600, "usageThresholds": {"cpu": 65, "memory": 80}}
# By turns, so that every path is gone.
ARGUMENTS = [
    BASE,
    {**BASE, "prodUsageThresholds": {"cpu": 40, "memory": 50}, "scoreAccordingProdUsage": True},
    {**BASE, "filterExpiredNodeMetrics": False, "aggregated": {
        "usageThresholds": {"cpu": 55, "memory": 30}, "usageAggregationType": "p95", "scoreAggregationType": "avg",
        "scoreAggregatedDuration": "30m"}},
    {**BASE, "enableScheduleWhenNodeMetricsExpired": True, "dominantResourceWeight": 3, "resourceWeights": {"cpu": 2},
     "allowCustomizeEstimation": True},
    {**BASE, "prodUsageIncludeSys": True, "prodUsageThresholds": {"cpu": 60}, "estimatedScalingFactors": {"cpu": 50},
     "estimatedSecondsAfterPodScheduled": 1200},
    {**BASE, "aggregated": {"usageThresholds": {"cpu": 50}, "usageAggregationType": "p95", "usageAggregatedDuration": "5m",
                            "scoreAggregationType": "p50", "scoreAggregatedDuration": "1h"}},
]
REASONS = [f"node(s) {resource} {what}usage exceed threshold" for resource in ("cpu", "memory") for what in ("", "aggregated ")]


class CompareLoad(compare_scheduler.Compare):
    FEWEST_REFUSED = 2

    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        cls.connection = cls.api.connect()
        kubectl = Kubectl(schedulers.KUBECONFIG)
        kubectl.run("apply", "--server-side", "-f", original_scheduler.CRDS)
        kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        schedulers.ensure_namespaces(cls.api, NAMESPACE, compare_scheduler.NEIGHBOURS, "koordinator-system")
        cls.api.load([runtime_class()])
        cls.processes = []
        cls.met = set()

    @classmethod
    def tearDownClass(cls):
        pass  # the cluster goes with the test

    def configuration(self, scheduler, arguments):
        plugin = {"enabled": [{"name": "LoadAwareScheduling"}]}
        return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                "clientConnection": {"kubeconfig": schedulers.KUBECONFIG}, "leaderElection": {"leaderElect": False},
                "profiles": [{"schedulerName": scheduler, "percentageOfNodesToScore": 100,
                              "plugins": {"filter": plugin, "score": plugin, "reserve": plugin},
                              "pluginConfig": [{"name": "LoadAwareScheduling", "args": arguments}]}]}

    def start(self, scheduler, arguments, command):
        file = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.addCleanup(file.close)
        json.dump(self.configuration(scheduler, arguments), file)
        file.flush()
        process = schedulers.Scheduler(scheduler, command(file.name))
        self.addCleanup(process.end)
        self.processes.append(process)
        return file.name

    def put(self, report):
        made = kube_api.create(self.connection, report)
        made["status"] = report["status"]
        self.connection.request("PUT", f"{METRICS}/{made['metadata']['name']}/status", made)

    def compare_loads(self, seed, arguments):
        """Both are started when all of the cluster is there: nobody hears of one kind before another."""
        watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(watch.close)
        self.connection.request("DELETE", METRICS)
        cluster = LoadCluster(seed)
        placed = [cluster.placed(f"placed-{index}", NAMESPACE) for index in range(PLACED)]
        self.api.load([*cluster.nodes, *placed])
        for report in cluster.reports(placed, time.time()):
            self.put(report)
        lists = {"Node": "/api/v1/nodes", "Pod": f"/api/v1/namespaces/{NAMESPACE}/pods", "Namespace": "/api/v1/namespaces",
                 "NodeMetric": METRICS}
        self.stored = [json.dumps({"kind": kind, **item}) for kind, path in lists.items() for item in self.api.list(path)]
        self.processes.clear()
        self.start(UPSTREAM, arguments, lambda file: original_scheduler.command(schedulers.KUBECONFIG, file))
        own = self.start(OURS, arguments, lambda file: [KOORD, "--role=scheduler", "--v=2", f"--config={file}",
                                                        "--secure-port=0", "--port=0"])
        self.engine_arguments = [own]
        probes = [cluster.probe(f"probe-{seed}-{index}", NAMESPACE, OURS) for index in range(PROBES)]
        self.ask_alone(probes, watch, None)
        self.conclude(seed, probes, watch)

    def judge(self, probe, expected, upstream, ours):
        super().judge(probe, expected, upstream, ours)
        self.met.update(reason for reason in [*REASONS, "node(s) nodeMetric expired"] if reason in upstream[1])

    def test_every_rule_has_been_met(self):
        self.processes.clear()  # they ended with their clusters
        self.assertEqual([reason for reason in REASONS if reason not in self.met], [])


for name in dir(compare_scheduler.Compare):
    if name.startswith("test_") and name not in vars(CompareLoad):
        setattr(CompareLoad, name, None)
for number, each_seed in enumerate(SEEDS):
    setattr(CompareLoad, f"test_cluster_{each_seed}", lambda self, seed=each_seed, arguments=ARGUMENTS[number % len(ARGUMENTS)]:
            self.compare_loads(seed, arguments))


if __name__ == "__main__":
    original_scheduler.main()

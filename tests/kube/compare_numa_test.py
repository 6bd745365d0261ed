#!/usr/bin/env python3
"""The original koord-scheduler and koord on random clusters whose machines report their CPUs and memory nodes: the same
verdicts, messages and scores of NodeNUMAResource, and the same CPUs and shares of memory nodes where both choose one node.
Needs the original's program; no part of CI.

usage: compare_numa_test.py       KOORDINATOR_BIN names the folder with `koord-scheduler` and `crds/`
"""
import json
import os
import random
import sys

import compare_load_test
import compare_scheduler
import schedulers
from compare_scheduler import NAMESPACE, twin
from schedulers import OURS, UPSTREAM

import kube_api
import original_scheduler
from sandbox import KOORD

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_NUMA_SEEDS", "41 42 43 44").split()]
PROBES = compare_scheduler.PROBES
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
POINTS = ("preFilter", "filter", "score", "reserve", "preBind")
DOMAIN, NODE = "scheduling.koordinator.sh", "node.koordinator.sh"
STATUS = f"{DOMAIN}/resource-status"
ARGUMENTS = [{}, {"defaultCPUBindPolicy": "SpreadByPCPUs", "numaScoringStrategy": {
    "type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}}]


class NumaCluster:
    """Machines of one to four memory nodes, with and without SMT, some amplified; pods of all classes."""

    def __init__(self, seed, nodes=12):
        self.random = random.Random(seed)
        self.free, self.reports = {}, []
        self.nodes = [self.node(f"numa-{seed}-{index}") for index in range(nodes)]

    def chance(self, probability):
        return self.random.random() < probability

    def node(self, name):
        choose = self.random.choice
        zones, cores, threads = choose([1, 2, 2, 4]), choose([2, 4, 8]), choose([1, 2, 2])
        detail, cpu = [], 0
        for thread in range(threads):
            for zone in range(zones):
                for core in range(cores):
                    detail.append({"id": cpu, "core": zone * cores + core, "socket": zone // 2, "node": zone})
                    cpu += 1
        labels, annotations, said = {}, {}, {f"{NODE}/cpu-topology": json.dumps({"detail": detail})}
        if self.chance(0.3):
            labels[f"{NODE}/cpu-bind-policy"] = choose(["FullPCPUsOnly", "SpreadByPCPUs", "None"])
        if self.chance(0.6):
            labels[f"{NODE}/numa-topology-policy"] = choose(["BestEffort", "Restricted", "SingleNUMANode"])
        if self.chance(0.4):
            labels[f"{NODE}/numa-allocate-strategy"] = choose(["MostAllocated", "LeastAllocated"])
        ratio = choose([1.5, 2.0]) if self.chance(0.25) else 1.0
        if ratio > 1:
            annotations[f"{NODE}/resource-amplification-ratio"] = json.dumps({"cpu": ratio})
        if self.chance(0.2):
            said["kubelet.koordinator.sh/cpu-manager-policy"] = json.dumps(
                {"policy": "static", "options": {"full-pcpus-only": choose(["true", "false"])}, "reservedCPUs": "0"})
        gibibytes = cores * threads * choose([1, 2])
        item = schedulers.node(name, str(int(cpu * ratio)), f"{gibibytes * zones}Gi", labels=labels)
        item["metadata"]["annotations"] = annotations
        self.free[name] = (detail, zones)
        amounts = [{"name": kind, "capacity": amount, "allocatable": amount, "available": amount}
                   for kind, amount in (("cpu", str(cores * threads)), ("memory", f"{gibibytes}Gi"))]
        self.reports.append({
            "apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology",
            "metadata": {"name": name, "annotations": said}, "topologyPolicies": ["None"],
            "zones": [{"name": f"node-{zone}", "type": "Node", "resources": amounts} for zone in range(zones)]})
        return item

    def placed(self, name):
        node = self.random.choice(self.nodes)["metadata"]["name"]
        detail, _ = self.free[node]
        cpus = self.random.choice([1, 2])
        item = schedulers.pod(name, OURS, NAMESPACE, cpu=str(cpus), nodeName=node)
        if self.chance(0.7) and len(detail) > cpus + 2:
            mine = [detail.pop(self.random.randrange(len(detail))) for _ in range(cpus)]
            status = {"cpuset": ",".join(str(each["id"]) for each in sorted(mine, key=lambda each: each["id"]))}
            if self.chance(0.5) and len({each["node"] for each in mine}) == 1:
                status["numaNodeResources"] = [{"node": mine[0]["node"], "resources": {"cpu": str(cpus)}}]
            item["metadata"]["annotations"] = {STATUS: json.dumps(status)}
            item["metadata"]["labels"] = {"koordinator.sh/qosClass": "LSR", "koordinator.sh/priority-class": "koord-prod"}
            if self.chance(0.3):
                item["metadata"]["annotations"][f"{DOMAIN}/resource-spec"] = json.dumps(
                    {"preferredCPUExclusivePolicy": self.random.choice(["PCPULevel", "NUMANodeLevel"])})
        return item

    def probe(self, name):
        choose = self.random.choice
        item = schedulers.pod(name, OURS, NAMESPACE, cpu=choose(["1", "2", "2", "3", "4", "4", "6", "8", "500m", "1500m", "40"]))
        requests = item["spec"]["containers"][0]["resources"]["requests"]
        if self.chance(0.6):
            requests["memory"] = choose(["512Mi", "2Gi", "4Gi", "9Gi", "64Gi"])
        annotations = item["metadata"].setdefault("annotations", {})
        labels = item["metadata"].setdefault("labels", {})
        said = choose([None, "LS", "LSR", "LSR", "LSE"])
        if said:
            labels["koordinator.sh/qosClass"] = said
            labels["koordinator.sh/priority-class"] = "koord-prod"
        spec = {}
        if self.chance(0.4):
            spec["requiredCPUBindPolicy"] = choose(["FullPCPUs", "SpreadByPCPUs", "Default"])
        elif self.chance(0.4):
            spec["preferredCPUBindPolicy"] = choose(["FullPCPUs", "SpreadByPCPUs", "Default", "ConstrainedBurst"])
        if self.chance(0.25):
            spec["preferredCPUExclusivePolicy"] = choose(["PCPULevel", "NUMANodeLevel"])
        if spec:
            annotations[f"{DOMAIN}/resource-spec"] = json.dumps(spec)
        if self.chance(0.3):
            annotations[f"{DOMAIN}/numa-topology-spec"] = json.dumps({
                "numaTopologyPolicy": choose(["BestEffort", "Restricted", "SingleNUMANode"]),
                **({"singleNUMANodeExclusive": choose(["Preferred", "Required"])} if self.chance(0.4) else {})})
        if self.chance(0.5):
            item["spec"]["affinity"] = schedulers.only_on(choose(self.nodes)["metadata"]["name"])
        return item


def is_merely_preferred(probe):
    """What the original does not prove before it reserves: it fails then, in other words."""
    said = json.loads(probe["metadata"]["annotations"].get(f"{DOMAIN}/resource-spec", "{}"))
    return probe["metadata"]["labels"].get("koordinator.sh/qosClass") in ("LSR", "LSE") and "requiredCPUBindPolicy" not in said


def given(item):
    text = (item["metadata"].get("annotations") or {}).get(STATUS)
    return json.loads(text) if text else None


class CompareNuma(compare_load_test.CompareLoad):
    def configuration(self, scheduler, arguments):
        plugin = {"enabled": [{"name": "NodeNUMAResource"}]}
        return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                "clientConnection": {"kubeconfig": schedulers.KUBECONFIG}, "leaderElection": {"leaderElect": False},
                "profiles": [{"schedulerName": scheduler, "percentageOfNodesToScore": 100,
                              "plugins": {point: plugin for point in POINTS},
                              "pluginConfig": [{"name": "NodeNUMAResource", "args": arguments}]}]}

    def compare_numa(self, seed, arguments):
        watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(watch.close)
        self.connection.request("DELETE", TOPOLOGIES)
        cluster = NumaCluster(seed)
        for report in cluster.reports:
            self.connection.request("POST", TOPOLOGIES, report)
        self.api.load(cluster.nodes)
        self.processes.clear()
        self.start(UPSTREAM, arguments, lambda file: original_scheduler.command(schedulers.KUBECONFIG, file))
        own = self.start(OURS, arguments, lambda file: [KOORD, "--role=scheduler", "--v=2", f"--config={file}",
                                                        "--secure-port=0", "--port=0"])
        self.engine_arguments = [own]
        self.hear_of_all(watch)
        # Of a pod that it hears of before the machine's report the original keeps nothing.
        self.api.load([cluster.placed(f"placed-{index}") for index in range(20)])
        self.hear_of_all(watch)
        lists = {"Node": "/api/v1/nodes", "Pod": f"/api/v1/namespaces/{NAMESPACE}/pods", "Namespace": "/api/v1/namespaces",
                 "NodeResourceTopology": TOPOLOGIES}
        self.stored = [json.dumps({"kind": kind, **item}) for kind, path in lists.items() for item in self.api.list(path)]
        self.same = 0
        probes = [cluster.probe(f"probe-{seed}-{index}") for index in range(PROBES)]
        self.ask_alone(probes, watch, None)
        print(f"seed {seed}: {self.same} pods with the same CPUs on one node", file=sys.stderr)
        self.assertGreater(self.same, 0)
        self.conclude(seed, probes, watch)

    def hear_of_all(self, watch):
        """Whoever binds a pod has heard of those that were made before it."""
        for scheduler in (UPSTREAM, OURS):
            name = f"late-{scheduler}"
            kube_api.create(self.connection, schedulers.pod(name, scheduler, NAMESPACE, cpu=None))
            watch.wait_scheduled(name)
            self.delete(name)
            watch.wait_gone([name])

    def ask_alone(self, probes, watch, expected="scheduled"):
        places = []
        for probe in probes:
            verdicts, stored, gave = [], [], []
            for scheduler in (UPSTREAM, OURS):
                item = twin(probe, scheduler)
                name = item["metadata"]["name"]
                stored.append(kube_api.create(self.connection, item))
                verdicts.append(watch.verdict(name))
                gave.append(given(self.connection.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")))
                self.delete(name)
                watch.wait_gone([name])
            if is_merely_preferred(probe) and verdicts[0][0] == verdicts[1][0] != "scheduled":
                continue
            self.judge(probe, verdicts[0][0], *verdicts)
            if not all(verdict[0] == "scheduled" for verdict in verdicts):
                continue
            if verdicts[0][1] == verdicts[1][1]:
                self.same += gave[0] is not None and gave[0] == gave[1]
                if gave[0] != gave[1]:
                    self.differences.append(f"{probe['metadata']['name']}: on {verdicts[0][1]} another was given\n  {gave[0]}\n"
                                            f"  {gave[1]}\n  {probe['metadata']} {probe['spec']}")
            if not is_merely_preferred(probe):
                places.append((probe, stored[0], [verdict[1] for verdict in verdicts]))
        self.judge_places(places)


for each_name in dir(compare_load_test.CompareLoad):
    if each_name.startswith("test_"):
        setattr(CompareNuma, each_name, None)
for number, each_seed in enumerate(SEEDS):
    setattr(CompareNuma, f"test_machines_{each_seed}", lambda self, seed=each_seed, arguments=ARGUMENTS[number % len(ARGUMENTS)]:
            self.compare_numa(seed, arguments))
del compare_load_test.CompareLoad  # this file's cases alone


if __name__ == "__main__":
    original_scheduler.main()

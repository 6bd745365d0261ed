#!/usr/bin/env python3
"""The original koord-scheduler and koord, one after the other, on the same random machines with the same Devices: the same pods are asked
for in the same order, each for one machine, and what either says of them (verdict, condition with its whole message, the devices that they
were given) must be equal. Devices fall sick, grow, shrink, go and come back between the pods, and pods leave.

usage: compare_device_test.py      KOORDINATOR_BIN names the folder with the original's koord-scheduler and crds/
"""
import json
import os
import random
import re
import sys
import time

import comparison
import reservations as of
import schedulers
from reservations import pod
from schedulers import LATE

import kube_api
import original_scheduler

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_DEVICE_SEEDS", "71 72 73").split()]
PROBES = int(os.environ.get("KOORD_COMPARE_DEVICE_PROBES", "60"))
NAMESPACE = "compare-devices"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
ALLOCATED = "scheduling.koordinator.sh/device-allocated"
HINT = "scheduling.koordinator.sh/device-allocate-hint"
JOINT = "scheduling.koordinator.sh/device-joint-allocate"
PARTITION = "scheduling.koordinator.sh/gpu-partition-spec"
CORE, RATIO, MEMORY, SHARED, WHOLE, RDMA, FPGA = (f"koordinator.sh/{name}" for name in
                                                  ("gpu-core", "gpu-memory-ratio", "gpu-memory", "gpu.shared", "gpu", "rdma", "fpga"))
NVIDIA = "nvidia.com/gpu"
# A comparison that meets none of these says nothing about the rule behind it.
REASONS = ["Insufficient gpu devices", "Insufficient rdma devices", "invalid resource device requests", "invalid resource unit"]


def is_loose(requests, notes):
    """It shares GPUs, and does not say which."""
    return bool({CORE, SHARED} & set(requests)) and "number" not in notes.get(HINT, "")


class Machine:
    """A node, and its Device as it is by now."""

    def __init__(self, name, rand):
        self.name, self.random = name, rand
        self.gpus, self.rdma, self.fpga = rand.choice((1, 2, 4, 8, 8)), rand.choice((0, 2, 4, 8)), rand.choice((0, 0, 2))
        self.memory = rand.choice((16, 80))
        self.topology = rand.random() < 0.8
        self.labels, self.annotations = {}, {}
        if rand.random() < 0.3:
            self.labels["node.koordinator.sh/gpu-model"] = rand.choice(("H100", "H20", "A100"))
            self.labels["node.koordinator.sh/gpu-vendor"] = "nvidia"
        if rand.random() < 0.3:
            self.labels["node.koordinator.sh/gpu-partition-policy"] = rand.choice(("Honor", "Prefer"))
        if rand.random() < 0.2 and self.gpus == 8:
            self.annotations["scheduling.koordinator.sh/gpu-partitions"] = json.dumps({
                "1": [{"minors": [i], "gpuLinkType": "NVLink", "allocationScore": 1} for i in range(8)],
                "2": [{"minors": [i, i + 1], "gpuLinkType": "NVLink", "allocationScore": 1} for i in range(0, 8, 2)],
                "4": [{"minors": list(range(i, i + 4)), "gpuLinkType": "NVLink", "allocationScore": 1} for i in (0, 4)],
                "8": [{"minors": list(range(8)), "gpuLinkType": "NVLink", "allocationScore": 1}]})
        self.sick, self.listed = set(), self.gpus

    def node(self):
        more = {WHOLE: "1600", CORE: "1600", RATIO: "1600", MEMORY: str(1600 << 30), SHARED: "1600", RDMA: "1600", FPGA: "1600", NVIDIA: "16"}
        labels = {key: value for key, value in self.labels.items() if "partition" not in key or self.random.random() < 0.5}
        return schedulers.node(self.name, "640", "2560Gi", more=more, labels=labels)

    def where(self, number, count):
        quarter = number * 4 // max(count, 1)
        return {"topology": {"socketID": 0, "nodeID": quarter // 2, "pcieID": str(quarter), "busID": f"0000:0{quarter}:00.{number}"}} if self.topology else {}

    def device(self):
        found = []
        for number in range(self.listed):
            found.append({"type": "gpu", "id": f"{self.name}-gpu-{number}", "minor": number, "health": number not in self.sick,
                          "labels": {"half": str(number % 2), "number": str(number)},
                          "resources": {CORE: "100", RATIO: "100", MEMORY: f"{self.memory}Gi"}, **self.where(number, self.gpus)})
        for number in range(self.rdma):
            functions = [{"labels": {"kind": "general"}, "vfs": [{"minor": i, "busID": f"0000:{number}f:00.{i}"} for i in range(2)]}]
            found.append({"type": "rdma", "id": f"{self.name}-rdma-{number}", "minor": number, "health": True, "resources": {RDMA: "100"},
                          "vfGroups": functions, **self.where(number, self.rdma)})
        for number in range(self.fpga):
            found.append({"type": "fpga", "id": f"{self.name}-fpga-{number}", "minor": number, "health": True, "resources": {FPGA: "100"},
                          **self.where(number, self.fpga)})
        return {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device",
                "metadata": {"name": self.name, "labels": self.labels, "annotations": self.annotations}, "spec": {"devices": found}}

    def change(self):
        what = self.random.random()
        if what < 0.5:
            self.sick = {number for number in range(self.gpus) if self.random.random() < 0.2}
        elif what < 0.8:
            self.listed = max(self.gpus - self.random.choice((0, 0, 1, 2)), 1)
        else:
            self.sick, self.listed = set(), self.gpus


class Cluster:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.machines = [Machine(f"n{number}", self.random) for number in range(3)]

    def of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def wants(self):
        """Requests and annotations."""
        kind, notes, requests = self.random.random(), {}, {}
        if kind < 0.25:
            requests = {self.of(WHOLE, NVIDIA): "x"}
            count = self.of(1, 1, 2, 2, 3, 4, 8)
            requests = {key: str(count * 100 if key == WHOLE else count) for key in requests}
        elif kind < 0.5:
            part = self.of(10, 25, 30, 50, 75)
            requests = {CORE: str(part), RATIO: str(part)}
        elif kind < 0.6:
            requests = {CORE: str(self.of(20, 50)), MEMORY: str(self.of(2, 8, 20) << 30)}
        elif kind < 0.7:
            count, part = self.of(1, 2, 3), self.of(20, 50)
            requests = {SHARED: str(count), CORE: str(count * part), RATIO: str(count * part)}
        elif kind < 0.8:
            requests = {RDMA: self.of("25", "50", "100", "200")}
        elif kind < 0.9:
            requests = {WHOLE: str(self.of(1, 2, 4) * 100), RDMA: self.of("100", "200")}
            if self.chance(0.6):
                notes[JOINT] = json.dumps({"deviceTypes": ["gpu", "rdma"], **({"requiredScope": "SamePCIe"} if self.chance(0.5) else {})})
        elif kind < 0.95:
            requests = {FPGA: self.of("50", "100")}
        else:
            requests = self.of({CORE: "50"}, {WHOLE: "150"}, {WHOLE: "100", NVIDIA: "1"}, {SHARED: "2", CORE: "25", RATIO: "25"})
        hint = {}
        if RDMA in requests and self.chance(0.4):
            hint["rdma"] = self.of({"vfSelector": {"matchLabels": {"kind": "general"}}}, {"allocateStrategy": "ApplyForAll"},
                                   {"allocateStrategy": "RequestsAsCount", "exclusivePolicy": "DeviceLevel"})
            if "AsCount" in str(hint["rdma"]):
                requests[RDMA] = self.of("1", "2")
        if {WHOLE, NVIDIA, CORE} & set(requests) and self.chance(0.2):
            hint["gpu"] = self.of({"selector": {"matchLabels": {"half": "1"}}}, {"requiredTopologyScope": self.of("PCIe", "NUMANode", "Node")})
        if {CORE, SHARED} & set(requests) and self.chance(0.7):
            # Which GPU is shared koord decides otherwise than the original (COMPATIBILITY.md): one answer is possible where the pod names it.
            first, count = self.of(0, 0, 1, 2), int(requests.get(SHARED, "1"))
            hint["gpu"] = {"selector": {"matchExpressions": [{"key": "number", "operator": "In", "values": [str(first + i) for i in range(count)]}]}}
        if hint:
            notes[HINT] = json.dumps(hint)
        if {WHOLE, NVIDIA} & set(requests) and self.chance(0.15):
            notes[PARTITION] = json.dumps({"allocatePolicy": self.of("Restricted", "BestEffort")})
        return requests, notes

    def steps(self):
        """("ask", pod), ("drop", pod's name), ("device", machine), ("gone", machine)"""
        here = []
        for number in range(PROBES):
            requests, notes = self.wants()
            name = f"probe-{number}"
            yield "ask", pod(name, NAMESPACE, {"cpu": "1m", **requests}, node=self.of(*self.machines).name, annotations=notes)
            if is_loose(requests, notes):
                yield "drop", name  # on what it was given the rest would depend
            else:
                here.append(name)
            while here and self.chance(0.3):
                yield "drop", here.pop(self.random.randrange(len(here)))
            if self.chance(0.15):
                machine = self.of(*self.machines)
                if self.chance(0.2):
                    yield "gone", machine
                else:
                    machine.change()
                    yield "device", machine


def ordered(text, types):
    """Of several resources and types the original names what is short in the order of a map; of few nodes it names those that nobody can be
    evicted from one by one."""
    text = re.sub(r"requests: \[([^]]*)\]", lambda match: f"requests: [{' '.join(sorted(match[1].split()))}]", text or "")
    if types > 1:
        text = re.sub(r"Insufficient (\w+ [dD]evices)", "Insufficient devices", text)
    text = re.sub(r"1 No victims found on node \S+ for preemptor pod [^ .,]+", "1 No preemption victims found for incoming pod", text)
    head, _, rest = text.partition(": ")
    return f"{head}: {', '.join(sorted(part.strip(' .') for part in rest.split(',')))}" if rest else head


class Run(schedulers.Run):
    """One scheduler with the cluster, and all that was seen of it."""

    def __init__(self, api, seed, who, command):
        self.cluster = Cluster(seed)
        super().__init__(api, who, command, (NAMESPACE,), clean)

    def nodes(self):
        return [machine.node() for machine in self.cluster.machines]

    def go(self):
        for machine in self.cluster.machines:
            self.connection.request("POST", DEVICES, machine.device())
        time.sleep(LATE)
        for what, subject in self.cluster.steps():
            if what == "ask":
                self.ask(subject)
            elif what == "drop":
                self.remove([(subject, NAMESPACE)])
            else:
                self.change(subject, what == "gone")

    def change(self, machine, gone):
        path = f"{DEVICES}/{machine.name}"
        here = {item["metadata"]["name"] for item in self.api.list(DEVICES)}
        if gone and machine.name in here:
            self.connection.request("DELETE", path)
        elif machine.name not in here:
            self.connection.request("POST", DEVICES, machine.device())
        else:
            self.connection.request("PATCH", path, {"spec": machine.device()["spec"]}, "application/merge-patch+json")
        time.sleep(LATE)

    def ask(self, probe):
        name, requests = probe["metadata"]["name"], probe["spec"]["containers"][0]["resources"]["requests"]
        kube_api.create(self.connection, probe)
        item = self.watches[NAMESPACE].first(name)
        bound = bool(item["spec"].get("nodeName"))
        types = len({RDMA, FPGA} & set(requests)) + bool({WHOLE, NVIDIA, CORE, SHARED} & set(requests))
        condition = {} if bound else {key: ordered(value, types) for key, value in schedulers.condition_of(item).items() if key in ("reason", "message")}
        devices = of.said(item, ALLOCATED)
        if devices and is_loose(requests, probe["metadata"].get("annotations") or {}):
            devices = {kind: [each["resources"] for each in given] for kind, given in devices.items()}
        self.seen[name] = {"bound": bound, "condition": condition, "devices": devices, "probe": probe}
        if not bound:
            self.remove([(name, NAMESPACE)])


def clean(api):
    connection = api.connect()
    schedulers.delete_now(connection, f"/api/v1/namespaces/{NAMESPACE}/pods")
    connection.request("DELETE", DEVICES)
    schedulers.clean(api, [NAMESPACE])


class CompareDevice(comparison.Comparison):
    namespaces, rules = (NAMESPACE,), REASONS

    def compare(self, seed, profile):
        text = of.configuration(profile, schedulers.KUBECONFIG)
        theirs, ours = schedulers.beside_the_original(text, lambda who, command: Run(self.api, seed, who, command))
        differences, bound = schedulers.differences(theirs, ours), 0
        for name, upstream in theirs.seen.items():
            own = ours.seen[name]
            self.count_words(upstream, own)
            bound += upstream["bound"]
        print(f"seed {seed}, {profile}: {PROBES} probes, {bound} bound, {len(differences)} differences", file=sys.stderr)
        self.check(differences)
        self.assertGreater(bound, PROBES // 10)


comparison.for_each_seed(CompareDevice, SEEDS)


if __name__ == "__main__":
    original_scheduler.main()

#!/usr/bin/env python3
"""The original koordlet and koord's agent side by side, each as a node of one real kube-apiserver, on two random hosts that are alike: the same
/proc, /sys and cgroup v1 in a folder, the same pods of a kubelet that the test plays. After each of some changes (huge pages, files of accelerators,
network cards and their ports, the NodeSLO, pods) what both have written must be equal, value by value: NodeResourceTopology, Device, Terway's two
files, limits of block I/O of pods, what their hook servers give a container of accelerators; and of NodeMetric the memory without cold pages.

usage: compare_agent_test.py      KOORDINATOR_BIN names the folder with `koordlet` and `crds/`
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "roles", "proxy")]
import agent_machines  # noqa: E402
import fake_node  # noqa: E402
import kube_api  # noqa: E402
import original_host  # noqa: E402
import originals  # noqa: E402
from check_placement import quantity  # noqa: E402
from rig import HOOKS, f, fields, grpc, m  # noqa: E402
from sandbox import KOORD, Kubectl, free_port, wait_for  # noqa: E402

NAME = "koordlet"
SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_AGENT_SEEDS", "1 5 7 9").split()]
CHANGES = int(os.environ.get("KOORD_COMPARE_AGENT_CHANGES", "8"))
PATIENCE_SECONDS = 40
# A comparison that meets none of these says nothing about what is behind it.
RULES = ["gpu-partitions", "Prefer", "Honor", "chip_error", "npu-core", "vfGroups", '"health": false', "node-1", '"prio": 2', "252:0", "253:0", "8:0", "variables"]
SLO = "/apis/slo.koordinator.sh/v1alpha1"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
GATES = ",".join(f"{gate}=true" for gate in ("Accelerators", "RDMADevices", "HugePageReport", "ColdPageCollector", "TerwayQoS", "BlkIOReconcile",
                                                 "GPUEnvInject"))
FLAGS = [f"--feature-gates={GATES},BECPUSuppress=false,CPUBurst=false,RdtResctrl=false", "--kubelet-sync-interval=1s",
         "--node-topology-sync-interval=1s", "--collect-node-cpu-info-interval=1s", "--coldpage-collector-interval=1s"]
COLD = {"metricCollectPolicy": {"aggregateDurationSeconds": 60, "reportIntervalSeconds": 5, "nodeAggregatePolicy": {"durations": ["1m"]},
                                "nodeMemoryCollectPolicy": "usageWithHotPageCache"}}
PARTS = {"ingressRequest": "rx_bps_min", "ingressLimit": "rx_bps_max", "egressRequest": "tx_bps_min", "egressLimit": "tx_bps_max"}  # Terway's words
LIMITS = ("readBPS", "writeBPS", "readIOPS", "writeIOPS")
NOTE = "koordinator.sh/"


class Side:
    """A host, its kubelet, its Node, and the agent on it."""

    def __init__(self, api, folder, name, seed):
        self.api, self.name, self.folder = api, name, os.path.join(folder, name)
        self.machine = agent_machines.Machine(self.folder, seed)
        self.kubelet = fake_node.Kubelet(name, fake_node.certificate(os.path.join(self.folder, "var/lib/kubelet/pki"), name))
        self.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        amounts = {"cpu": str(self.machine.CPUS), "memory": "16Gi", "pods": "110"}
        self.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
            "addresses": [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.kubelet.port}}, "capacity": amounts, "allocatable": amounts}})
        for kind, plural, spec in (("NodeMetric", "nodemetrics", COLD), ("NodeSLO", "nodeslos", {})):
            self.request("POST", f"{SLO}/{plural}", {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
        self.port, self.child, self.terway = free_port(), None, ""

    def request(self, method, path, body=None):
        return self.api.connect().request(method, path, body, "application/merge-patch+json" if method == "PATCH" else "application/json")

    def get(self, path):
        try:
            return self.request("GET", f"{path}/{self.name}")
        except kube_api.ApiError as error:
            if error.status not in (404, 429):
                raise
            return {}

    def start(self, *command):
        os.makedirs(os.path.join(self.folder, "hooks"))
        self.machine.settle()
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.child = subprocess.Popen([*command, f"--addr=127.0.0.1:{self.port}", *FLAGS], stdout=log, stderr=log,
                                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "NODE_NAME": self.name, "agent_mode": "hostMode"})

    def start_original(self, kubeconfig):
        """In the folder as its root: some of its places are no flags."""
        self.terway = os.path.join(self.folder, "host-var-lib/terway/qos")
        original_host.add_busybox(self.folder, "sh", "cat")
        original_host.add_null(self.folder)
        original_host.add_pci_names(self.folder)
        program = original_host.add_program(self.folder, originals.program(NAME))
        shutil.copy(kubeconfig, os.path.join(self.folder, "kubeconfig"))
        os.makedirs(os.path.join(self.folder, "tmp"), exist_ok=True)
        self.start("chroot", self.folder, program, "--kubeconfig=/kubeconfig", "--tsdb-path=/metric-data", "--audit-log-dir=/audit",
                   "--runtime-hooks-addr=/hooks/hooks.sock", "--runtime-hooks-config-path=/hooks", "--xpu-device-infos-dir=/infos",
                   "--prediction-checkpoint-filepath=/checkpoints")

    def start_koord(self, kubeconfig):
        """With the folder's /var/lib as its own, which no flag names."""
        self.terway = os.path.join(self.folder, "var/lib/terway/qos")
        self.start("unshare", "-m", "sh", "-c", 'mount --bind "$0" /var/lib; exec "$@"', os.path.join(self.folder, "var/lib"), KOORD, "--role=koordlet",
                   f"--kubeconfig={kubeconfig}", f"--xpu-device-infos-dir={self.machine.infos}", "--run-queue-latency=false",
                   f"--runtime-hooks-addr={self.folder}/hooks/hooks.sock", f"--runtime-hooks-config-path={self.folder}/hooks",
                   f"--audit-log-dir={self.folder}/audit", *self.machine.flags())

    def log_tail(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def add_pod(self, number, qos, kube_qos, notes, volume):
        name = f"pod-{number}"
        pod = fake_node.pod(name, self.name, kube_qos, labels={f"{NOTE}qosClass": qos} if qos else {}, annotations=notes)
        if volume:
            pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": volume}}]
            self.machine.mount(pod["metadata"]["uid"], f"pv-{volume}")
        self.machine.add_pod(pod, 0.01, agent_machines.memory_of(number))
        self.kubelet.pods = [*self.kubelet.pods, pod]

    def variables(self, number, notes):
        """Of a container of a pod that is made now."""
        with grpc.insecure_channel(f"unix:{self.folder}/hooks/hooks.sock") as channel:
            answer = channel.unary_unary(f"{HOOKS}PreCreateContainerHook")(b"".join([
                f(1, [f(1, f"pod-{number}"), f(2, f"uid-pod-{number}"), f(3, "default")]), f(2, [f(1, "main")]), m(6, **notes),
                f(8, f"kubepods/burstable/poduid-pod-{number}")]), timeout=20)
        return sorted((dict(fields(value))[1].decode(), dict(fields(value))[2].decode()) for field, value in fields(answer) if field == 4)

    def close(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.kubelet.close()
        self.machine.close()

    # -- what it has written, by name

    def text(self, file):
        try:
            with open(os.path.join(self.terway, file), encoding="utf-8") as opened:
                return opened.read()
        except FileNotFoundError:
            return None

    def written(self):
        assert self.child.poll() is None, f"{self.name} ended with {self.child.returncode}: {self.log_tail()}"
        topology, device = self.get(TOPOLOGIES), self.get(DEVICES)
        notes = (topology.get("metadata") or {}).get("annotations") or {}
        pods = self.text("pod.json")
        return {
            **{f"topology: {name}": text for name, text in notes.items()},
            "topology: labels": (topology.get("metadata") or {}).get("labels"), "topology: zones": topology.get("zones"),
            "topology: policies": topology.get("topologyPolicies"),
            "device: labels": (device.get("metadata") or {}).get("labels"), "device: annotations": (device.get("metadata") or {}).get("annotations"),
            "device: owner": [{key: value for key, value in owner.items() if key not in ("name", "uid")}
                              for owner in (device.get("metadata") or {}).get("ownerReferences") or []],
            "devices": [without_times(each) for each in (device.get("spec") or {}).get("devices") or []],
            "terway: node": self.text("global_bps_config"), "terway: pods": pods and json.loads(pods),
            "limits": {group: self.machine.limits(group) for group in sorted(self.machine.cpu) if "/pod" in group and group.count("/") < 3
                       and "/id-" not in group},
        }

    def memory(self):
        """Of its NodeMetric: {whose: bytes}."""
        status = self.get(f"{SLO}/nodemetrics").get("status") or {}
        found = {"node": quantity(((status.get("nodeMetric") or {}).get("nodeUsage") or {}).get("resources", {}).get("memory", "0"))}
        for pod in status.get("podsMetric") or []:
            found[pod["name"]] = quantity(pod["podUsage"]["resources"]["memory"])
        return found


def without_times(device):
    for condition in device.get("conditions") or []:
        del condition["lastTransitionTime"]
    return device


def differences(theirs, ours):
    return [f"{part}: {theirs.get(part)} DIFFERS {ours.get(part)}" for part in sorted(set(theirs) | set(ours)) if theirs.get(part) != ours.get(part)]


class Compare(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.met = set()
        cls.kubeconfig = os.environ["KOORD_KUBE_KUBECONFIG"]
        cls.api = kube_api.Api(cls.kubeconfig)
        kubectl = Kubectl(cls.kubeconfig)
        kubectl.run("apply", "--server-side", "--force-conflicts", "-f", originals.CRDS)
        kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="koord-compare-agent.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def both(self, do):
        for side in self.sides:
            do(side)

    def compare(self, seed):
        self.random = random.Random(seed)
        self.sides = theirs, ours = [Side(self.api, self.folder, f"{name}-{seed}", seed) for name in ("theirs", "ours")]
        self.addCleanup(self.both, Side.close)
        self.pods = 0
        self.change(seed, 0)
        theirs.start_original(self.kubeconfig)
        ours.start_koord(self.kubeconfig)
        for change in range(CHANGES):
            if change:
                self.change(seed, change)
            self.settle(change)
        self.compare_memory()

    def change(self, seed, number):
        """The same of both."""
        self.mark = f"seed-{seed}-change-{number}"
        self.both(lambda side: side.machine.change_pages())
        self.both(lambda side: side.machine.change_accelerators(self.mark))
        if number:
            self.both(lambda side: side.machine.change_cards())
        spec = self.node_slo(number)
        self.both(lambda side: side.request("PATCH", f"{SLO}/nodeslos/{side.name}", {"spec": spec}))
        for _ in range(3 if number == 0 else 1):
            self.add_pod()

    def node_slo(self, number):
        chance = self.random
        wanted = number % 4 != 3  # now and then nobody wants Terway
        self.wants_terway = wanted

        def qos(tier):
            said = {part: chance.choice((chance.randrange(101), f"{chance.randrange(1, 400)}M")) for part in PARTS}
            self.percents |= {f"offline_{tier}_{PARTS[part]}" for part, value in said.items() if isinstance(value, int)}
            return {"networkQOS": {"enable": chance.random() < 0.8, **said}}
        self.percents = set()
        return {"resourceQOSStrategy": {"policies": {"netQOSPolicy": "terway-qos" if wanted else None}, "lsClass": qos("l1"), "beClass": qos("l2")},
                "systemStrategy": {"totalNetworkBandwidth": chance.choice(("400M", "1G", "25G"))}}

    def add_pod(self):
        chance, notes, volume = self.random, {}, None
        qos, kube_qos = chance.choice((("LS", "Burstable"), ("LSR", "Guaranteed"), ("LSE", "Guaranteed"), ("BE", "BestEffort"), ("SYSTEM", "Burstable"),
                                       ("", "BestEffort"), ("", "Guaranteed"), ("", "Burstable")))
        if chance.random() < 0.5:
            notes[f"{NOTE}networkQOS"] = json.dumps({way: f"{chance.randrange(1, 900)}{chance.choice(('M', 'k'))}" for way in
                                                     ("ingressLimit", "egressLimit")})  # the original leaves a pod out that names one alone
        if qos and chance.random() < 0.7:
            kind, name = chance.choice((("device", "/dev/vda"), ("device", "/dev/vdb1"), ("volumegroup", "pool-a"), ("podvolume", "data")))
            if kind == "podvolume":
                volume = f"claim-{self.pods}-{self.mark}"
                self.make_claim(volume)
            notes[f"{NOTE}blkioQOS"] = json.dumps({"blocks": [{"name": name, "type": kind, "ioCfg": {
                **{limit: chance.randrange(1, 1 << 30) for limit in LIMITS}, "ioWeightPercent": chance.randrange(1, 101)}}]})
        self.both(lambda side: side.add_pod(self.pods, qos, kube_qos, notes, volume))
        self.pods += 1

    def make_claim(self, name):
        self.api.connect().request("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": f"pv-{name}"}})

    def settle(self, number):
        """Both have seen the change, and then say the same."""
        last = f"uid-pod-{self.pods - 1}"

        def seen(side):
            now = side.written()
            pages = side.machine.pages[0, 2048]
            zones = {(zone["name"], each["name"]): quantity(each["capacity"]) for zone in now["topology: zones"] or [] for each in zone["resources"]}
            return (self.mark in [each["id"] for each in now["devices"]] and zones.get(("node-0", "hugepages-2Mi")) == pages * 2 * fake_node.MI
                    and (last in (now["terway: pods"] or {}) if self.wants_terway else now["terway: pods"] is None))

        for side in self.sides:
            try:
                wait_for(f"{side.name} has seen change {number}", lambda side=side: seen(side), PATIENCE_SECONDS)
            except AssertionError as error:
                raise AssertionError(f"{error}: {json.dumps(side.written(), indent=1)[:6000]}\n{side.log_tail()}") from None
        end = time.monotonic() + PATIENCE_SECONDS
        while found := differences(self.with_bytes(self.sides[0].written()), self.sides[1].written()):
            if time.monotonic() > end:
                self.fail(f"change {number}:\n" + "\n".join(found))
            time.sleep(0.5)
        now = self.sides[1].written()
        self.compare_variables(now["devices"])
        self.met.update(rule for rule in RULES if rule in json.dumps(now))
        print(f"{self.mark}: {len(now['devices'])} devices, {len(now['topology: zones'])} zones, {self.pods} pods: the same")

    def with_bytes(self, theirs):
        """The original takes percent of bits for bytes: a line of COMPATIBILITY.md."""
        lines = [line.split() for line in (theirs["terway: node"] or "").splitlines()]
        mended = [f"{name} {int(value) // 8 if name in self.percents else value}\n" for name, value in lines]
        return {**theirs, "terway: node": "".join(mended) or None}

    def compare_variables(self, devices):
        """A pod that is being made has some of the accelerators."""
        minors = [each["minor"] for each in devices if each["type"] == "gpu" and each["health"]]
        given = [{"minor": minor, "resources": {f"{NOTE}gpu-core": "100", f"{NOTE}gpu-memory-ratio": "100"}} for minor in minors[::2]]
        notes = {"scheduling.koordinator.sh/device-allocated": json.dumps({"gpu": given})} if given else {}
        theirs, ours = (side.variables(self.pods + 1000, notes) for side in self.sides)
        self.assertEqual(theirs, ours)
        self.met.update(["variables"] if ours else [])

    def compare_memory(self):
        """What changes with nothing is the same average over whatever time."""
        def known(side):
            found = side.memory()
            return found["node"] and len(found) > 2 and found
        first, second = (wait_for(f"the NodeMetric of {side.name}", lambda side=side: known(side), 120) for side in self.sides)
        both = set(first) & set(second)
        wrong = {whose: (first[whose], second[whose]) for whose in both if abs(first[whose] - second[whose]) > 4096}
        print(f"memory without cold pages: { {whose: int(amount) for whose, amount in first.items()} }")
        self.assertEqual((wrong, len(both) > 2), ({}, True), (first, second))


    def test_that_every_rule_has_been_met(self):
        self.assertEqual([rule for rule in RULES if rule not in self.met], [])


for each_seed in SEEDS:
    setattr(Compare, f"test_machine_{each_seed}", lambda self, seed=each_seed: self.compare(seed))


if __name__ == "__main__":
    if lacks := original_host.missing():
        print(f"skipped: {lacks}")
        sys.exit(77)
    originals.main(NAME)

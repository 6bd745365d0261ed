"""A seeded cluster's life as two managers see it: steps of requests, the same for both. Nothing in it is random twice."""
import json
import random
import time

NS = "koordinator-system"
SLO = "/apis/slo.koordinator.sh/v1alpha1"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
NODE = "node.koordinator.sh"
MODELS = ("Fast CPU @ 3.0GHz", "Slow CPU @ 2.0GHz")
CLASSES = ("koord-prod", "koord-mid", "koord-batch", "koord-free", "")
QOS = ("LSE", "LSR", "LS", "BE", "")
POOLS = ("a", "b", "c")

# What users have written, and what came of it with the original: broken keys keep what was there before.
BROKEN = [
    ("colocation-config", '{"enable": true,}'),
    ("colocation-config", '{"enable": true, "cpuReclaimThresholdPercent": 60.5}'),
    ("colocation-config", '{"enable": true, "degradeTimeMinutes": 0}'),
    ("colocation-config", '{"enable": true, "cpuReclaimThresholdPercent": -1}'),
    ("colocation-config", '{"enable": true, "metricMemoryCollectPolicy": "none"}'),
    ("colocation-config", '{"enable": "yes"}'),
    ("colocation-config", "[]"),
    ("colocation-config", "no JSON"),
    ("resource-threshold-config", '{"clusterStrategy": {"enable": true, "cpuSuppressThresholdPercent": "60"}}'),
    ("resource-threshold-config", '{"clusterStrategy": []}'),
    ("resource-qos-config", '{"clusterStrategy": {"beClass": {"cpuQOS": {"groupIdentity": 1.5}}}}'),
    ("cpu-burst-config", '{"clusterStrategy": {"policy": 7}}'),
    ("system-config", '{"clusterStrategy": {"totalNetworkBandwidth": "much"}}'),
    ("host-application-config", '{"applications": {}}'),
]
# What Go's decoder takes, whatever one thinks of it.
ODD = [
    ("colocation-config", '{"ENABLE": true, "resourceDiffThreshold": 0.0001, "CPUReclaimThresholdPercent": 71, "unknown": {"a": [1]}}'),
    ("colocation-config", '{"enable": true, "resourceDiffThreshold": 0.0001, "cpuReclaimThresholdPercent": null, "memoryReclaimThresholdPercent": 50}'),
    ("colocation-config", '{"enable": true, "resourceDiffThreshold": 0.0001, "nodeConfigs": [{"cpuReclaimThresholdPercent": 10}, '
                          '{"nodeSelector": {}, "cpuReclaimThresholdPercent": 33}]}'),
    ("colocation-config", '{"enable": true, "resourceDiffThreshold": 0.0001, "nodeConfigs": [{"nodeSelector": {"matchLabels": {"pool": "a"}}, '
                          '"cpuReclaimThresholdPercent": -3}, {"nodeSelector": {"matchLabels": {"pool": "b"}}, "enable": false}]}'),
    ("colocation-config", '{"enable": true, "resourceDiffThreshold": 0.0001, "nodeConfigs": [{"nodeSelector": {"matchExpressions": '
                          '[{"key": "pool", "operator": "Near", "values": ["a"]}]}, "cpuReclaimThresholdPercent": 12}]}'),
    ("colocation-config", ""),
    ("resource-threshold-config", '{"ClusterStrategy": {"Enable": true, "cpuSuppressThresholdPercent": 0}}'),
    ("resource-threshold-config", '{"nodeStrategies": [{"nodeSelector": {"matchLabels": {"pool": "c"}}, "enable": true}]}'),
    ("resource-threshold-config", ""),
    ("resource-qos-config", '{"clusterStrategy": {"beClass": {"networkQOS": {"enable": true, "ingressLimit": "50M"}}}}'),
    ("system-config", '{"clusterStrategy": {"totalNetworkBandwidth": "10G"}, "nodeStrategies": '
                      '[{"nodeSelector": {"matchLabels": {"pool": "a"}}, "minFreeKbytesFactor": 90}]}'),
]


def patch(path, body):
    return "PATCH", path, body


class Cluster:
    def __init__(self, seed, nodes=8):
        self.random = random.Random(seed)
        self.nodes = [f"node-{i}" for i in range(nodes)]
        self.capacity, self.pods, self.config, self.serial = {}, {}, {}, 0
        self.touched = 0

    # -- objects

    def first_objects(self):
        choose = self.random.choice
        for name in self.nodes:
            cpu, memory = choose((4, 10, 33, 64, 128)), choose((16, 64, 251, 512))
            self.capacity[name] = cpu, memory
            capacity = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"}
            allocatable = {"cpu": f"{cpu * 1000 - choose((0, 100, 2000))}m", "memory": f"{memory * 1024 - choose((0, 300, 4000))}Mi",
                           "pods": "110"}
            yield "POST", "/api/v1/nodes", {"metadata": {"name": name, "annotations": {"made-by": "test"},
                                                         "labels": {"pool": choose(POOLS), "kubernetes.io/hostname": name}}}
            yield patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": capacity, "allocatable": allocatable}})

    def topology(self, node):
        """What its agent would report: zones, and what CPU it has."""
        zones = self.random.choice((1, 2, 4))
        cpu, memory = (amount // zones for amount in self.capacity[node])
        rows = [{"name": name, "capacity": amount, "allocatable": amount, "available": amount}
                for name, amount in (("cpu", str(cpu)), ("memory", f"{memory}Gi"))]
        basic = {"cpuModel": self.random.choice(MODELS), "hyperThreadEnabled": self.random.random() < 0.5,
                 "turboEnabled": self.random.random() < 0.5, "catL3CbmMask": "fff", "vendorID": "GenuineTest"}
        return "POST", TOPOLOGIES, {
            "apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology",
            "metadata": {"name": node, "annotations": {f"{NODE}/cpu-basic-info": json.dumps(basic)}}, "topologyPolicies": ["None"],
            "zones": [{"name": f"node-{i}", "type": "Node", "resources": rows} for i in range(zones)]}

    def device_spec(self):
        gpus = [{"type": "gpu", "minor": i, "id": f"gpu-{i}", "health": self.random.random() < 0.8,
                 "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100",
                               "koordinator.sh/gpu-memory": "16Gi"}} for i in range(self.random.choice((0, 2, 8)))]
        rdmas = [{"type": "rdma", "minor": i, "id": f"rdma-{i}", "health": self.random.random() < 0.8,
                  "resources": {"koordinator.sh/rdma": "100"}} for i in range(self.random.choice((0, 1, 2)))]
        return {"devices": [*gpus, *rdmas]}

    def device(self, node):
        return "POST", DEVICES, {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "spec": self.device_spec(),
                                 "metadata": {"name": node, "labels": {f"{NODE}/gpu-model": "A100", f"{NODE}/gpu-vendor": "nvidia"}}}

    def amounts(self):
        return {"cpu": f"{self.random.randint(1, 40) * 50}m", "memory": f"{self.random.randint(1, 40) * 100}Mi"}

    def new_pod(self, node):
        qos, priority = self.random.choice(QOS), self.random.choice(CLASSES)
        self.serial += 1
        name = f"pod-{self.serial}"
        amounts = self.amounts()
        if qos in ("LSE", "LSR"):
            amounts["cpu"] = str(self.random.randint(1, 4))
        if qos == "BE" and priority == "koord-batch":
            amounts = {"kubernetes.io/batch-cpu": str(self.random.randint(1, 20) * 100), "kubernetes.io/batch-memory": "512Mi"}
        resources = {"requests": amounts}
        if qos in ("LSE", "LSR", "BE") or self.random.random() < 0.3:
            resources["limits"] = amounts
        spec = {"nodeName": node, "priorityClassName": priority, "automountServiceAccountToken": False,
                "containers": [{"name": "main", "image": "none", "resources": resources}]}
        if self.random.random() < 0.2:
            spec["initContainers"] = [{"name": "init", "image": "none", "resources": {"requests": self.amounts()}}]
        labels = {"koordinator.sh/qosClass": qos} if qos else {}
        if self.random.random() < 0.1:
            labels["koordinator.sh/priority-class"] = self.random.choice(("koord-batch", "nonsense", "koord-prod"))
        self.pods[name] = {"node": node, "qos": qos, "priority": priority}
        yield "POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": name, "labels": labels}, "spec": spec}
        yield from self.phase(name, self.random.choice(("Running", "Running", "Running", "Pending")))

    def phase(self, name, phase):
        self.pods[name]["phase"] = phase
        yield patch(f"/api/v1/namespaces/default/pods/{name}/status", {"status": {"phase": phase}})

    def usage(self, cpu, memory):
        return {"resources": {"cpu": f"{self.random.randint(0, cpu)}m", "memory": f"{self.random.randint(0, memory)}Mi"}}

    def node_metric(self, node, age=0):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age))
        cpu, memory = (amount * 1000 // 8 for amount in self.capacity[node])
        pods = [{"name": name, "namespace": "default", "podUsage": self.usage(2000, 3000), "qos": pod["qos"], "priority": pod["priority"]}
                for name, pod in self.pods.items() if pod["node"] == node]
        if self.random.random() < 0.3:  # of a pod that has gone
            pods.append({"name": "gone", "namespace": "default", "podUsage": self.usage(2000, 3000),
                         "qos": "LS", "priority": self.random.choice(CLASSES)})
        hosts = [{"name": "web", "usage": self.usage(1000, 1000), "priority": self.random.choice(CLASSES), "qos": "LS"}]
        return patch(f"{SLO}/nodemetrics/{node}/status", {"status": {
            "updateTime": at, "podsMetric": pods, "hostApplicationMetric": hosts if self.random.random() < 0.4 else [],
            "nodeMetric": {"nodeUsage": self.usage(4 * cpu, 4 * memory), "systemUsage": self.usage(cpu, memory)},
            "prodReclaimableMetric": {"resource": self.usage(2 * cpu, 2 * memory)}}})

    def reports(self, age=0):
        for node in self.nodes:
            yield self.node_metric(node, age)

    # -- the configuration

    def selector(self):
        return self.random.choice(({"matchLabels": {"pool": self.random.choice(POOLS)}},
                                   {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a", "b"]}]},
                                   {"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": ["a"]}]},
                                   {"matchExpressions": [{"key": "special", "operator": "Exists"}]}))

    def some(self, choices, at_least=1):
        """Some of the members, each with one of its values."""
        names = self.random.sample(sorted(choices), self.random.randint(at_least, len(choices)))
        return {name: self.random.choice(choices[name]) for name in names}

    def colocation(self):
        members = {
            "metricAggregateDurationSeconds": (60, 300), "metricReportIntervalSeconds": (20, 60),
            "metricAggregatePolicy": ({"durations": ["5m"]}, {"durations": ["1m0s", "10m", "1h"]}),
            "metricMemoryCollectPolicy": ("usageWithoutPageCache", "usageWithPageCache", "usageWithHotPageCache"),
            "cpuReclaimThresholdPercent": (40, 65, 100, 150), "cpuCalculatePolicy": ("usage", "maxUsageRequest", "request"),
            "memoryReclaimThresholdPercent": (0, 65, 90), "memoryCalculatePolicy": ("usage", "request", "maxUsageRequest"),
            "midCPUThresholdPercent": (10, 50, 100), "midMemoryThresholdPercent": (20, 100), "midUnallocatedPercent": (0, 30, 100),
            "batchCPUThresholdPercent": (30, 100), "batchMemoryThresholdPercent": (30, 100),
            "midStaticCPUReservedPercent": (0, 10), "midStaticMemoryReservedPercent": (0, 100),
        }
        if self.random.random() < 0.2:
            members["midReclaimMode"] = ("static",)
        groups = [{"name": f"group-{i}", "nodeSelector": self.selector(), **self.some(members)} for i in range(self.random.randint(0, 2))]
        config = {"enable": True, "resourceDiffThreshold": 0.0001, **self.some(members)}
        return {**config, "nodeConfigs": groups} if groups else config

    def strategies(self, members):
        groups = [{"name": f"group-{i}", "nodeSelector": self.selector(), **self.some(members)} for i in range(self.random.randint(0, 2))]
        config = {"clusterStrategy": self.some(members)}
        return {**config, "nodeStrategies": groups} if groups else config

    def threshold(self):
        return self.strategies({
            "enable": (True, False), "cpuSuppressThresholdPercent": (10, 65), "cpuSuppressPolicy": ("cpuset", "cfsQuota"),
            "cpuSuppressMinPercent": (0, 5), "memoryEvictThresholdPercent": (70, 80), "memoryEvictLowerPercent": (60,),
            "cpuEvictPolicy": ("evictByRealLimit", "evictByAllocatable"), "cpuEvictBESatisfactionUpperPercent": (30,),
            "cpuEvictBESatisfactionLowerPercent": (20,), "cpuEvictTimeWindowSeconds": (60,), "evictEnabledPriorityThreshold": (5000,)})

    def qos(self):
        classes = {name: ({"cpuQOS": {"enable": True, "groupIdentity": level}},
                          {"memoryQOS": {"enable": True, "wmarkRatio": 95, "priority": 0}, "networkQOS": {"enable": True, "ingressLimit": 50}},
                          {"resctrlQOS": {"catRangeEndPercent": 30, "mbaPercent": 100}},
                          {"blkioQOS": {"enable": True, "blocks": [{"name": "/dev/sda", "type": "device", "ioCfg": {"readIOPS": 100}}]}})
                   for name, level in (("lsrClass", 2), ("lsClass", 2), ("beClass", -1), ("systemClass", 0))}
        return self.strategies({**classes, "policies": ({"cpuPolicy": "coreSched"}, {"netQOSPolicy": "tc"})})

    def burst(self):
        return self.strategies({"policy": ("none", "auto", "cpuBurstOnly"), "cpuBurstPercent": (100, 1000), "cfsQuotaBurstPercent": (100, 300),
                                "cfsQuotaBurstPeriodSeconds": (-1, 10), "sharePoolThresholdPercent": (50, 70)})

    def system(self):
        return self.strategies({"minFreeKbytesFactor": (100,), "watermarkScaleFactor": (150,), "memcgReapBackGround": (0, 1),
                                "totalNetworkBandwidth": ("1000M", "10G"), "schedFeatures": ({"ID_ABSOLUTE_EXPEL": True},)})

    def normalization(self):
        ratios = {"baseRatio": 1.0, "hyperThreadEnabledRatio": 0.7, "turboEnabledRatio": 1.3, "hyperThreadTurboEnabledRatio": 1.25}
        config = self.some({"enable": (True,), "ratioModel": ({MODELS[0]: ratios}, {MODELS[0]: ratios, MODELS[1]: {"baseRatio": 1.1}}),
                            "defaultRatio": (1.07, 6.0)})
        return {**config, "nodeConfigs": [{"nodeSelector": self.selector(), "enable": True}]} if self.random.random() < 0.3 else config

    def amplification(self):
        config = self.some({"enable": (True, False), "resourceAmplificationRatio": ({"cpu": 1.5}, {"cpu": 1.233, "memory": 1.1})})
        return {**config, "nodeConfigs": [{"nodeSelector": self.selector(), "enable": True,
                                           "resourceAmplificationRatio": {"cpu": 2}}]} if self.random.random() < 0.3 else config

    def applications(self):
        one = {"name": "nginx", "priority": "koord-prod", "qos": "LS", "cgroupPath": {"base": "CgroupRoot", "parentDir": "/host/",
                                                                                       "relativePath": "nginx/"}}
        group = {"name": "group", "nodeSelector": self.selector(), "applications": [{**one, "name": "other"}]}
        return self.random.choice(({"applications": [one]}, {"applications": [one], "nodeConfigs": [group]}, {"nodeConfigs": [group]}))

    def configure(self, key, text):
        self.config[key] = text
        yield patch(f"/api/v1/namespaces/{NS}/configmaps/slo-controller-config", {"data": {key: text}})

    def annotate(self, node, annotations=None, labels=None):
        # The original looks at labels and allocatable alone: without a label that changes it sees an annotation later.
        self.touched += 1
        yield patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": annotations or {},
                                                           "labels": {"touched": str(self.touched), **(labels or {})}}})

    # -- steps

    def steps(self, count):
        """(name, requests) one after the other; a step is over when both managers have come to rest."""
        yield "nodes without a ConfigMap", [*self.first_objects()]
        yield "the configuration as shipped", [("POST", f"/api/v1/namespaces/{NS}/configmaps", {
            "metadata": {"name": "slo-controller-config"}, "data": {
                "colocation-config": '{"enable": true, "resourceDiffThreshold": 0.0001}',
                "resource-threshold-config": '{"clusterStrategy": {"enable": true}}'}})]
        yield "first reports", [*self.reports()]
        pods = [request for node in self.nodes for _ in range(self.random.randint(0, 5)) for request in self.new_pod(node)]
        yield "pods", [*pods, *self.reports()]
        half = self.nodes[::2]
        yield "topologies", [*map(self.topology, half), *self.reports()]
        yield "devices", [*map(self.device, half), *self.reports()]
        for i in range(count):
            name, requests = self.step(i)
            yield name, [*requests, *self.reports()]
        yield "stale reports", [*self.reports(age=20 * 60)]
        yield "fresh again", [*self.reports()]
        yield "a node goes", [("DELETE", f"/api/v1/nodes/{self.nodes.pop()}", None), *self.reports()]
        yield "switched off", [*self.configure("colocation-config", '{"enable": false}'), *self.reports()]

    def step(self, number):
        kinds = {"colocation-config": self.colocation, "resource-threshold-config": self.threshold, "resource-qos-config": self.qos,
                 "cpu-burst-config": self.burst, "system-config": self.system, "host-application-config": self.applications,
                 "cpu-normalization-config": self.normalization, "resource-amplification-config": self.amplification}
        what = self.random.choice(("config", "config", "colocation", "broken", "odd", "annotate", "label", "reserve", "pods", "pods", "devices"))
        node = self.random.choice(self.nodes)
        if what in ("config", "colocation"):
            key = "colocation-config" if what == "colocation" else self.random.choice(sorted(kinds))
            text = json.dumps(kinds[key]())
            return f"{number}: {key} = {text}", [*self.configure(key, text)]
        if what in ("broken", "odd"):
            key, text = self.random.choice(BROKEN if what == "broken" else ODD)
            return f"{number}: {key} = {text}", [*self.configure(key, text)]
        if what == "annotate":
            strategy = self.random.choice(('{"cpuReclaimThresholdPercent": 90}', '{"enable": false}', "no JSON", '{"metricReportIntervalSeconds": 7}'))
            bandwidth = self.random.choice(("1G", "123M", "much"))
            annotations = {f"{NODE}/colocation-strategy": strategy, f"{NODE}/network-bandwidth": bandwidth}
            return f"{number}: {node} {annotations}", [*self.annotate(node, annotations)]
        if what == "label":
            labels = {"pool": self.random.choice(POOLS), **self.some({
                f"{NODE}/cpu-reclaim-ratio": ("0.5", "0.29", "1.7", "much"), f"{NODE}/memory-reclaim-ratio": ("0.8", "1.2"),
                f"{NODE}/mid-static-cpu-reserved-ratio": ("0.1",), f"{NODE}/mid-static-memory-reserved-ratio": ("0.2",)})}
            return f"{number}: {node} {labels}", [*self.annotate(node, None, labels)]
        if what == "reserve":
            reservation = self.random.choice(('{"resources": {"cpu": "2", "memory": "3Gi"}}', '{"reservedCPUs": "0-1"}', "no JSON",
                                              '{"resources": {"cpu": "3"}, "reservedCPUs": "0", "applyPolicy": "ReservedCPUsOnly"}'))
            third = json.dumps({"allocations": [{"name": "yarn", "priority": self.random.choice(("koord-batch", "koord-mid")),
                                                 "resources": {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "1Gi"}}]})
            annotations = {f"{NODE}/reservation": reservation, f"{NODE}/thirdPartyAllocations": third}
            return f"{number}: {node} {annotations}", [*self.annotate(node, annotations)]
        if what == "devices":
            node = self.random.choice(self.nodes[:-1:2])
            return f"{number}: {node} has other devices", [patch(f"{DEVICES}/{node}", {"spec": self.device_spec()})]
        requests = [request for _ in range(3) for request in self.new_pod(node)]
        living = sorted(name for name, pod in self.pods.items() if pod["phase"] == "Running")
        for name in self.random.sample(living, min(2, len(living))):
            requests += self.phase(name, "Succeeded")
        for name in self.random.sample(sorted(self.pods), min(2, len(self.pods))):
            requests.append(("DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0}))
            del self.pods[name]
        return f"{number}: pods come to {node}, others end and go", requests

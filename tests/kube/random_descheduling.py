"""Random worlds and arguments for comparisons of deschedulers; the same ones for the same seed."""
import json
import random

from descheduler_world import EXTENDED, World, amounts

GI = 1 << 30
SPACES = ["default", "team-a", "team-b", "kube-system"]
ZONES, RACKS = ["a", "b", "c"], ["1", "2", "3", "4"]
CLASSES = ["koord-prod", "koord-mid", "koord-batch", "koord-free", None, None]
BANDS = {"koord-prod": 9000, "koord-mid": 7000, "koord-batch": 5000, "koord-free": 3000, None: 100}
RANKS = [value + index for value in BANDS.values() for index in range(300)]
QOS = ["LSE", "LSR", "LS", "BE", None, None]
TAINTS = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}, {"key": "dedicated", "value": "web", "effect": "NoExecute"},
          {"key": "slow", "effect": "PreferNoSchedule"}, {"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
TOLERATIONS = [{"operator": "Exists"}, {"key": "dedicated", "operator": "Exists"}, {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
               {"key": "gpu", "operator": "Equal", "value": "yes"}, {"key": "slow", "operator": "Exists", "effect": "PreferNoSchedule"}]
IMAGES = ["web:1", "web:2", "db:1", "cache:1"]
WAITING = ["CrashLoopBackOff", "ImagePullBackOff", "ContainerCreating"]
ENDED = ["Error", "OOMKilled", "Completed"]


class RandomWorld(World):
    """`social`: pods keep apart from each other, and nodes take few of them. `ranked`: no two pods have the same priority. `tainted`:
    some nodes are. `free`: all pods run and may go. `room`: so much larger are nodes."""

    def __init__(self, seed, *, social=True, ranked=False, tainted=True, free=False, room=1, nodes=(5, 30), pods=(50, 300)):
        super().__init__()
        self.random, self.social, self.ranked, self.tainted, self.free = random.Random(seed), social, ranked, tainted, free
        self.room = room
        self.sizes_of = {}
        for index in range(self.random.randint(*nodes)):
            self.random_node(f"n{index:02}")
        self.names = list(self.sizes_of)
        # Workloads are alike in what the scheduler looks at, as those of a Deployment are.
        self.workloads = [self.workload(f"w{index}") for index in range(self.random.randint(6, 16))]
        for index in range(self.random.randint(*pods)):
            self.random_pod(index)
        for name in self.names:
            cpu, memory = self.sizes_of[name]
            share = self.random.choice([0.01, 0.02, 0.05, 0.3, 0.6])
            self.system[name] = amounts(int(cpu * share * self.random.random()), int(memory * share * self.random.random()))

    def chance(self, probability):
        return self.random.random() < probability

    def random_node(self, name):
        choose = self.random.choice
        cpu, memory = choose([8, 16, 32]) * 1000 + self.random.randint(0, 999), choose([16, 32, 64]) * GI + self.random.randint(0, GI)
        cpu, memory = self.room * cpu, self.room * memory
        labels = {"zone": choose(ZONES), "rack": choose(RACKS), "pool": choose(["x", "y"])}
        annotations = {}
        if self.chance(0.15):
            annotations["node.koordinator.sh/raw-allocatable"] = json.dumps(
                {"cpu": f"{cpu * 3 // 4}m", "memory": str(memory * 3 // 4), "pods": "110", EXTENDED: "8"})
        more = {"unschedulable": True} if self.chance(0.08) else {}
        taints = [taint for taint in TAINTS if self.chance(0.08)] if self.tainted else []
        self.node(name, cpu, memory, choose([30, 60, 110]) if self.social else 500, labels=labels, annotations=annotations, ext=choose([0, 0, 8]),
                  ready=True, **more, **({"taints": taints} if taints else {}))
        self.sizes_of[name] = cpu, memory

    def workload(self, name):
        choose = self.random.choice
        spec, labels = {}, {"app": name, "tier": choose(["front", "back"])}
        if self.chance(0.3):
            spec["tolerations"] = self.random.sample(TOLERATIONS, 2)
        if self.chance(0.15):
            spec["nodeSelector"] = {"zone": choose(ZONES)}
        affinity = {}
        if self.chance(0.3):
            affinity["nodeAffinity"] = self.node_affinity()
        if self.chance(0.25) and self.social:
            affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": choose([{"app": name}, {"tier": labels["tier"]}])},
                 "topologyKey": choose(["kubernetes.io/hostname", "kubernetes.io/hostname", "rack"])}]}
        if affinity:
            spec["affinity"] = affinity
        if self.chance(0.4):
            spec["topologySpreadConstraints"] = [
                {"maxSkew": self.random.randint(1, 3), "topologyKey": choose(["zone", "rack", "kubernetes.io/hostname"]),
                 "whenUnsatisfiable": choose(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
                 "labelSelector": {"matchLabels": {"app": name}}}]
        if priority := choose(CLASSES):
            spec["priorityClassName"] = priority
        if qos := choose(QOS):
            labels["koordinator.sh/qosClass"] = qos
        if self.chance(0.15) and not self.free:
            spec["volumes"] = [choose([{"name": "v", "emptyDir": {}}, {"name": "v", "hostPath": {"path": "/v"}}])]
        namespace = choose(SPACES)
        return {"owner": name, "namespace": namespace, "labels": labels, "spec": spec, "image": choose(IMAGES),
                "kind": "ReplicaSet" if self.free else choose(["ReplicaSet"] * 8 + ["DaemonSet", "Job"]),
                "asks": (self.random.randint(0, 5) * 100, self.random.randint(0, 8) * GI // 8)}

    def node_affinity(self):
        choose, terms = self.random.choice, {}
        key, values = choose([("zone", ZONES), ("rack", RACKS), ("pool", ["x", "y"])])
        term = {"matchExpressions": [{"key": key, "operator": choose(["In", "NotIn"]), "values": self.random.sample(values, len(values) // 2)}]}
        if self.chance(0.6):
            terms["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
        if self.chance(0.6):
            terms["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.random.randint(1, 100), "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": [choose(ZONES)]}]}}]
        return terms

    def random_pod(self, index):
        choose, of = self.random.choice, self.random.choice(self.workloads)
        name, spec = f"p{index:03}", of["spec"]
        if self.ranked:
            spec = {**spec, "priorityClassName": f"of-{BANDS[spec.get('priorityClassName')] + index}"}
        # Half of the pods crowd on a third of the nodes.
        node = choose(self.names[:max(2, len(self.names) // 3)]) if self.chance(0.5) else choose(self.names)
        cpu, memory = of["asks"]
        annotations, labels = {} if self.free else self.annotations(), dict(of["labels"])
        if self.chance(0.1):
            labels["koordinator.sh/priority-class"] = choose(["koord-prod", "koord-batch"])
        owner, kind = (None, None) if self.chance(0.05) and not self.free else (of["owner"], of["kind"])
        total_cpu, total_memory = self.sizes_of[node]
        crowd = 18 if node in self.names[:max(2, len(self.names) // 3)] else 40
        usage = amounts(self.random.randint(1, total_cpu // crowd), self.random.randint(1, total_memory // crowd), ext=self.random.randint(0, 1))
        asks = amounts(cpu, memory)
        container = {"image": of["image"], "resources": {"requests": asks}}
        if self.chance(0.1) and cpu and memory:
            container["resources"]["limits"] = asks
        self.pod(name, node, asks, owner=owner, kind=kind, namespace=of["namespace"], labels=labels, annotations=annotations,
                 status={} if self.free else self.status(), container=container, usage=None if self.chance(0.05) else usage, **spec)

    def annotations(self):
        choose, made = self.random.choice, {}
        if self.chance(0.04):
            made["descheduler.alpha.kubernetes.io/evict"] = "true"
        if self.chance(0.08):
            made["controller.kubernetes.io/pod-deletion-cost"] = choose(["100", "-5", "7"])
        if self.chance(0.08):
            made["scheduling.koordinator.sh/eviction-cost"] = choose(["100", "-5", "2147483647"])
        if self.chance(0.03):
            made["kubernetes.io/config.mirror"] = "yes"
        return made

    def status(self):
        """Mostly none: it runs."""
        choose, restarts = self.random.choice, self.random.choice([0] * 8 + [2, 5, 60])
        if self.chance(0.8):
            return {"containerStatuses": [container_status({"running": {}}, restarts)]} if restarts else {}
        kind = self.random.randint(0, 4)
        if kind == 0:
            return {"containerStatuses": [container_status({"waiting": {"reason": choose(WAITING)}}, restarts)],
                    "conditions": [{"type": "Ready", "status": "False"}]}
        if kind == 1:
            return {"phase": "Failed", "reason": choose(["NodeAffinity", "Evicted", ""]),
                    "containerStatuses": [container_status({"terminated": {"reason": choose(ENDED), "exitCode": choose([1, 137, 3])}}, restarts)]}
        if kind == 2:
            return {"phase": "Succeeded"}
        if kind == 3:
            return {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]}
        return {"phase": "Failed", "initContainerStatuses": [container_status({"terminated": {"reason": "Error", "exitCode": 2}}, 1)]}


def container_status(state, restarts):
    return {"name": "main", "image": "none", "imageID": "", "ready": "running" in state, "restartCount": restarts, "state": state}


def load_args(seed):
    """Of LowNodeLoad."""
    chooser = random.Random(seed)
    choose, chance = chooser.choice, lambda probability: chooser.random() < probability
    resources = choose([["cpu"], ["cpu", "memory"], ["memory"], ["cpu", "memory", "pods"], ["cpu", EXTENDED]])

    def bounds(deviation, prod):
        low = {name: chooser.randint(5, 20) if deviation else chooser.randint(20, 45) for name in resources}
        high = {name: value + (0 if deviation else chooser.randint(5, 30)) for name, value in low.items()}
        made = {"useDeviationThresholds": deviation, "lowThresholds": low, "highThresholds": high}
        if prod:
            made["prodHighThresholds"] = {name: max(1, value * 2 // 3) for name, value in high.items()}
            made["prodLowThresholds"] = {name: min(low[name], value) // 2 for name, value in made["prodHighThresholds"].items()}
        return made

    args = {**bounds(chance(0.3), chance(0.4)), "nodeFit": chance(0.7), "numberOfNodes": choose([0, 0, 0, 2]),
            "anomalyCondition": {"timeout": "1m", "consecutiveAbnormalities": 1, "consecutiveNormalities": 1}}
    if chance(0.3):
        args["resourceWeights"] = {name: chooser.randint(1, 5) for name in resources}
    if chance(0.3):
        args["evictableNamespaces"] = choose([{"include": ["default", "team-a"]}, {"exclude": ["team-b"]}])
    if chance(0.3):
        args["podSelectors"] = [{"name": "front", "selector": {"matchLabels": {"tier": "front"}}}]
    if chance(0.4):
        args["nodePools"] = [{"name": pool, "nodeSelector": {"matchLabels": {"pool": pool}}, **bounds(chance(0.3), chance(0.4)),
                              "anomalyCondition": args["anomalyCondition"]} for pool in choose([["x"], ["x", "y"]])]
        if chance(0.5):
            args["nodeSelector"] = {"matchLabels": {"pool": "y"}}
    return args


def evictor_args(seed):
    """Of DefaultEvictor; often none."""
    chooser = random.Random(seed * 31)
    chance = lambda probability: chooser.random() < probability  # noqa: E731
    made = {}
    if chance(0.2):
        made["evictLocalStoragePods"] = True
    if chance(0.2):
        made["evictSystemCriticalPods"] = True
    if chance(0.2):
        made["evictFailedBarePods"] = True
    if chance(0.2):
        made["labelSelector"] = {"matchLabels": {"tier": chooser.choice(["front", "back"])}}
    if chance(0.15):
        made["priorityThreshold"] = {"value": 9000}
    if chance(0.15):
        made["minReplicas"] = 12
    return made


def own_plugins(seed):
    """(name, point, arguments) of Koordinator's plugins beside LowNodeLoad; ScaleDownBinPack is not among them, since the original ends with it."""
    chooser = random.Random(seed * 43)
    choose, chance = chooser.choice, lambda probability: chooser.random() < probability
    some = {**({"podSelectors": [{"selector": {"matchLabels": {"tier": "front"}}}]} if chance(0.3) else {}),
            **({"evictableNamespaces": {"exclude": ["team-b"]}} if chance(0.3) else {})}
    yield "FragmentationAware", "balance", {
        **some, "nodeFit": chance(0.5), "imbalanceThreshold": choose([0.001, 0.01, 0.03]), "minImprovementThreshold": choose([0.0001, 0.001]),
        **choose([{}, {"resources": ["cpu", "memory"]}])}
    drains = chance(0.7)
    yield "CustomPriority", "balance", {
        **some, "nodeFit": drains and chance(0.7), "mode": "DrainNode" if drains else "BestEffort",
        "evictionOrder": [{"name": zone, "nodeSelector": {"matchLabels": {"zone": zone}}} for zone in chooser.sample(ZONES, choose([2, 3]))]}


def limits(seed, world):
    """Of a pass, and the nodes that it looks at, if these are two at least; mostly none."""
    chooser = random.Random(seed * 41)
    nodes = {name: {"matchLabels": {"pool": "x"}} for name in ("nodeSelector", "profile_nodes") if chooser.random() < 0.1}
    if sum(node["metadata"]["labels"]["pool"] == "x" for node in world.nodes) < 3:
        nodes = {}
    return nodes | {name: chooser.randint(1, 12) for name in ("maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")
            if chooser.random() < 0.15}


def sigs_plugins(seed):
    """(name, point, arguments) of each of sigs' plugins."""
    chooser = random.Random(seed * 37)
    choose, chance = chooser.choice, lambda probability: chooser.random() < probability
    spaces = {"namespaces": choose([{"include": ["default", "team-a"]}, {"exclude": ["team-b"]}])} if chance(0.3) else {}
    labels = {"labelSelector": {"matchLabels": {"tier": "front"}}} if chance(0.3) else {}
    choice = {**spaces, **labels}
    low = {"cpu": chooser.randint(5, 25), "memory": chooser.randint(5, 25)}
    yield "RemovePodsViolatingNodeTaints", "deschedule", {
        **choice, "includePreferNoSchedule": chance(0.5), **choose([{}, {"excludedTaints": ["dedicated=db"]}, {"includedTaints": ["dedicated", "gpu=yes"]}])}
    yield "RemovePodsViolatingNodeAffinity", "deschedule", {**choice, "nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]}
    yield "RemovePodsViolatingInterPodAntiAffinity", "deschedule", choice
    yield "RemovePodsHavingTooManyRestarts", "deschedule", {
        **choice, "podRestartThreshold": choose([1, 5, 50]), "includingInitContainers": chance(0.5),
        **choose([{}, {"states": ["CrashLoopBackOff"]}, {"states": ["Running"]}])}
    yield "RemoveFailedPods", "deschedule", {
        **choice, "minPodLifetimeSeconds": 0, "includingInitContainers": chance(0.5),
        **choose([{}, {"reasons": ["Error", "NodeAffinity"]}, {"exitCodes": [1, 2]}]), **choose([{}, {"excludeOwnerKinds": ["Job"]}])}
    yield "PodLifeTime", "deschedule", {**choice, **choose([{"maxPodLifeTimeSeconds": 1},
                                                            {"states": ["Running", "CrashLoopBackOff"], "maxPodLifeTimeSeconds": 1},
                                                            {"states": ["Pending", "Error"]}, {"conditions": [{"type": "Ready", "status": "False"}]}])}
    yield "RemoveDuplicates", "balance", {**spaces, **choose([{}, {"excludeOwnerKinds": ["Job"]}])}
    yield "RemovePodsViolatingTopologySpreadConstraint", "balance", {
        **choice, "topologyBalanceNodeFit": chance(0.5), **choose([{}, {"constraints": ["DoNotSchedule", "ScheduleAnyway"]}])}
    yield "LowNodeUtilization", "balance", {
        "thresholds": low, "targetThresholds": {name: value + chooser.randint(0, 20) for name, value in low.items()},
        "useDeviationThresholds": chance(0.3), "numberOfNodes": choose([0, 0, 2]),
        **({"evictableNamespaces": {"exclude": ["team-b"]}} if chance(0.3) else {}), **choose([{}, {"evictionLimits": {"node": 3}}])}
    yield "HighNodeUtilization", "balance", {
        "thresholds": {name: value + 10 for name, value in low.items()}, "numberOfNodes": 0,
        **({"evictableNamespaces": {"exclude": ["team-b"]}} if chance(0.3) else {}), **choose([{}, {"evictionModes": ["OnlyThresholdingResources"]}])}

"""Random clusters and probe pods that touch every rule of the filters; the same ones for the same seed.

A SocialCluster's pods look at each other, too: spreading, and affinity to pods.
"""
import json
import random
import time

from schedulers import node

NODES = 30
PLACED = 60  # pods that are on nodes from the start
EXTENDED = "example.com/gpu"
RUNTIME_CLASS = "compare-overhead"
TAINTS = [
    {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "web", "effect": "NoExecute"},
    {"key": "maintenance", "effect": "PreferNoSchedule"},
    {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
]
TOLERATIONS = [
    {"operator": "Exists"},
    {"operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Exists", "effect": "NoExecute"},
    {"key": "dedicated", "operator": "Exists"},
    {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"},
    {"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "web"},
    {"key": "gpu", "operator": "Equal", "value": "no", "effect": "NoSchedule"},
    {"key": "gpu", "operator": "Exists", "effect": "PreferNoSchedule"},
    {"key": "gpu", "value": "yes"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
]
LABELS = {
    "zone": ["a", "b", "c", None],
    "disk": ["ssd", "hdd", "", None],
    "generation": ["1", "2", "3", "10", "0", "007", "new", None],
}
ADDRESSES = ["", "0.0.0.0", "127.0.0.1", "10.1.1.1", "::"]
PROTOCOLS = ["TCP", "UDP", "SCTP", None]


def runtime_class():
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": RUNTIME_CLASS},
            "handler": "none", "overhead": {"podFixed": {"cpu": "250m", "memory": "512Mi"}}}


class RandomCluster:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes = [self.node(f"node-{seed}-{index}") for index in range(NODES)]

    def chance(self, probability):
        return self.random.random() < probability

    def node(self, name):
        choose = self.random.choice
        labels = {key: value for key, values in LABELS.items() if (value := choose(values)) is not None}
        more = {}
        if self.chance(0.6):
            more["ephemeral-storage"] = choose(["10Gi", "50G"])
        if self.chance(0.4):
            more[EXTENDED] = choose(["0", "1", "2", "4"])
        if self.chance(0.3):
            more["hugepages-2Mi"] = choose(["64Mi", "1Gi"])
        spec = {"unschedulable": True} if self.chance(0.15) else {}
        taints = [taint for taint in TAINTS if self.chance(0.15)]
        if taints:
            spec["taints"] = taints
        return node(name, choose(["1", "2500m", "4", "8"]), choose(["2Gi", "4000M", "8Gi", "16Gi"]),
                    choose([3, 4, 10, 110]), labels, more, **spec)

    def amounts(self, most):
        """Requests of one container, or none."""
        choose, requests = self.random.choice, {}
        if self.chance(0.8):
            requests["cpu"] = choose(["50m", "0.3", "500m", "1", "1200m", "2", "3"][:most])
        if self.chance(0.6):
            requests["memory"] = choose(["64Mi", "500M", "1Gi", "1536Mi", "2Gi", "3G", "6Gi"][:most])
        if self.chance(0.15):
            requests["ephemeral-storage"] = choose(["1Gi", "5G", "11Gi"])
        limits = dict(requests) if self.chance(0.2) else {}
        if self.chance(0.15):
            requests[EXTENDED] = limits[EXTENDED] = choose(["1", "2", "3"])
        if self.chance(0.07) and ("cpu" in requests or "memory" in requests):
            requests["hugepages-2Mi"] = limits["hugepages-2Mi"] = choose(["2Mi", "128Mi"])
        if self.chance(0.1):
            requests.pop("cpu", None)
            limits["cpu"] = choose(["200m", "1"])  # a limit alone is a request too
        return {"requests": requests, "limits": limits}

    def ports(self, taken, probability):
        ports = []
        while self.chance(probability):
            port = {"hostPort": self.random.choice([8080, 8081, 9000])}
            port["containerPort"] = port["hostPort"]
            for key, value in (("hostIP", self.random.choice(ADDRESSES)), ("protocol", self.random.choice(PROTOCOLS))):
                if value:
                    port[key] = value
            key = (port.get("hostIP", ""), port.get("protocol", "TCP"), port["hostPort"])
            if key not in taken:  # the API server refuses one twice
                taken.add(key)
                ports.append(port)
        return ports

    def containers(self, spec, most, port_chance):
        taken = set()
        spec["containers"] = [
            {"name": f"main-{index}", "image": "none", "resources": self.amounts(most),
             "ports": self.ports(taken, port_chance)} for index in range(self.random.choice([1, 1, 2, 3]))]
        if self.chance(0.35):
            spec["initContainers"] = [
                {"name": f"init-{index}", "image": "none", "resources": self.amounts(most),
                 "ports": self.ports(taken, port_chance / 2),
                 **({"restartPolicy": "Always"} if self.chance(0.5) else {})}
                for index in range(self.random.choice([1, 2, 3]))]
        if self.chance(0.2):
            spec["runtimeClassName"] = RUNTIME_CLASS
        return spec

    def objects(self):
        """Others than nodes and pods."""
        return []

    def placed(self, name, namespace):
        spec = self.containers({}, 4, 0.2)
        # Some are on a node that does not exist, as pods are whose node has been deleted.
        spec["nodeName"] = "no-such-node" if self.chance(0.05) else self.random.choice(self.nodes)["metadata"]["name"]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}

    def requirement(self):
        key = self.random.choice([*LABELS, "absent"])
        operator = self.random.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
        values = [value for value in LABELS.get(key, ["a"]) if value is not None]
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        if operator in ("Gt", "Lt"):
            return {"key": self.random.choice(["generation", "generation", key]), "operator": operator,
                    "values": [self.random.choice(["0", "2", "7", "007"])]}
        return {"key": key, "operator": operator,
                "values": self.random.sample(values, self.random.randint(1, min(2, len(values))))}

    def field(self):
        names = [item["metadata"]["name"] for item in self.nodes] + ["no-such-node"]
        return {"key": "metadata.name", "operator": self.random.choice(["In", "In", "In", "NotIn"]),
                "values": [self.random.choice(names)]}

    def term(self):
        term = {}
        if self.chance(0.85):
            term["matchExpressions"] = [self.requirement() for _ in range(self.random.choice([1, 1, 2]))]
        if self.chance(0.2):
            term["matchFields"] = [self.field() for _ in range(self.random.choice([1, 1, 1, 2]))]
        return term

    def probe(self, name, namespace, scheduler):
        spec = self.containers({"schedulerName": scheduler}, 7, 0.15)
        if self.chance(0.5):
            spec["tolerations"] = self.random.sample(TOLERATIONS, self.random.choice([1, 1, 2, 3]))
        if self.chance(0.45):
            affinity = {}
            if self.chance(0.9):
                terms = [self.term() for _ in range(self.random.choice([1, 1, 2]))]
                affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
            if self.chance(0.5):
                affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                    {"weight": self.random.choice([1, 5, 40]), "preference": self.term()}
                    for _ in range(self.random.choice([1, 2, 3]))]
            spec["affinity"] = {"nodeAffinity": affinity}
        if self.chance(0.25):
            key = self.random.choice(list(LABELS))
            spec["nodeSelector"] = {key: self.random.choice([value for value in LABELS[key] if value is not None])}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS = ["web", "db", "cache"]


class SocialCluster(RandomCluster):
    """Pods of two namespaces with labels, spread constraints and affinity; services and a ReplicaSet select them."""

    def __init__(self, seed, namespaces):
        self.namespaces = namespaces
        super().__init__(seed)

    def node(self, name):
        item = super().node(name)
        if self.chance(0.9):
            item["metadata"]["labels"][ZONE] = self.random.choice(["a", "b", "c"])
        item["spec"].pop("unschedulable", None)
        item["spec"].pop("taints", None)
        if self.chance(0.15):
            item["spec"]["taints"] = [self.random.choice(TAINTS)]
        return item

    def objects(self):
        """What the system's default constraints read."""
        services = [{"apiVersion": "v1", "kind": "Service",
                     "metadata": {"name": f"service-{app}", "namespace": self.namespaces[0]},
                     "spec": {"selector": {"app": app}, "ports": [{"port": 80}]}} for app in APPS[:2]]
        template = {"metadata": {"labels": {"app": "cache", "tier": "1"}},
                    "spec": {"containers": [{"name": "main", "image": "none"}]}}
        return services + [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                            "metadata": {"name": "cache", "namespace": self.namespaces[0]},
                            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "cache"}},
                                     "template": template}}]

    def labels(self):
        labels = {"app": self.random.choice(APPS)}
        if self.chance(0.5):
            labels["tier"] = self.random.choice(["1", "2"])
        return labels

    def selector(self):
        selector = {}
        if self.chance(0.8):
            selector["matchLabels"] = {"app": self.random.choice(APPS)}
        if self.chance(0.3):
            selector["matchExpressions"] = [self.random.choice([
                {"key": "tier", "operator": "NotIn", "values": ["1"]}, {"key": "tier", "operator": "Exists"},
                {"key": "tier", "operator": "DoesNotExist"}, {"key": "app", "operator": "In", "values": APPS[:2]}])]
        return selector

    def constraint(self):
        item = {"maxSkew": self.random.choice([1, 2, 3]), "topologyKey": self.random.choice([ZONE, HOSTNAME, "disk"]),
                "whenUnsatisfiable": self.random.choice(["DoNotSchedule", "ScheduleAnyway"]),
                "labelSelector": self.selector()}
        if item["whenUnsatisfiable"] == "DoNotSchedule" and self.chance(0.2):
            item["minDomains"] = self.random.choice([2, 3, 5])
        if self.chance(0.3):
            item["nodeAffinityPolicy"] = self.random.choice(["Honor", "Ignore"])
        if self.chance(0.3):
            item["nodeTaintsPolicy"] = self.random.choice(["Honor", "Ignore"])
        if self.chance(0.2):
            item["matchLabelKeys"] = ["pool"]
        return item

    def affinity_term(self):
        term = {"topologyKey": self.random.choice([ZONE, ZONE, HOSTNAME, "disk"]), "labelSelector": self.selector()}
        if self.chance(0.2):
            term["namespaces"] = self.random.sample(self.namespaces, self.random.choice([1, 2]))
        if self.chance(0.2):
            term["namespaceSelector"] = self.random.choice(
                [{}, {"matchLabels": {"kubernetes.io/metadata.name": self.namespaces[1]}}])
        return term

    def affinity(self, required):
        affinity = {}
        for kind in ("podAffinity", "podAntiAffinity"):
            terms = {}
            if self.chance(required):
                terms["requiredDuringSchedulingIgnoredDuringExecution"] = [self.affinity_term()]
            if self.chance(0.5):
                terms["preferredDuringSchedulingIgnoredDuringExecution"] = [
                    {"weight": self.random.choice([1, 10, 100]), "podAffinityTerm": self.affinity_term()}
                    for _ in range(self.random.choice([1, 2]))]
            if terms:
                affinity[kind] = terms
        return affinity

    def dress(self, item):
        item["metadata"]["labels"] = {**self.labels(), "pool": self.random.choice(["x", "y"])}
        if item["metadata"]["labels"]["app"] == "cache" and self.chance(0.5):
            item["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "cache",
                                                    "uid": "cache", "controller": True}]
        return item

    def placed(self, name, namespace):
        item = self.dress(super().placed(name, self.random.choice(self.namespaces)))
        if self.chance(0.3):
            item["spec"]["affinity"] = self.affinity(0.05)
        return item

    def probe(self, name, namespace, scheduler):
        item = self.dress(super().probe(name, namespace, scheduler))
        if self.chance(0.4):
            keys, constraints = set(), []
            for constraint in [self.constraint() for _ in range(self.random.choice([1, 1, 2]))]:
                key = constraint["topologyKey"], constraint["whenUnsatisfiable"]  # the API server refuses one twice
                if key not in keys:
                    keys.add(key)
                    constraints.append(constraint)
            item["spec"]["topologySpreadConstraints"] = constraints
        if self.chance(0.5):
            item["spec"].setdefault("affinity", {}).update(self.affinity(0.3))
        return item


class CrowdedCluster(RandomCluster):
    """Nodes full of pods of low priority, no two of a node alike in it, some of them with a budget."""

    PRIORITIES = range(1, 13)

    def __init__(self, seed, nodes=8):
        self.random = random.Random(seed)
        self.nodes = [node(f"node-{seed}-{index}", self.random.choice(["2", "4"]), "8Gi", self.random.choice([3, 110]),
                           {"disk": self.random.choice(["ssd", "hdd"])}) for index in range(nodes)]

    @classmethod
    def priority_classes(cls):
        head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        return [{**head, "metadata": {"name": f"compare-{value}"}, "value": value} for value in (*cls.PRIORITIES, 1000)] + [
            {**head, "metadata": {"name": "compare-never"}, "value": 1000, "preemptionPolicy": "Never"}]

    def pod(self, name, namespace, priority, cpu, **spec):
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        return {"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": namespace, "labels": {"app": self.random.choice(APPS)}},
                "spec": {"priorityClassName": f"compare-{priority}", "terminationGracePeriodSeconds": 0,
                         "containers": [container], **spec}}

    def crowd(self, namespace):
        pods = []
        for item in self.nodes:
            room = 1000 * int(item["status"]["allocatable"]["cpu"])
            for priority in self.random.sample(self.PRIORITIES, 3):
                cpu = min(room, self.random.choice([300, 700, 1500]))
                room -= cpu
                pods.append(self.pod(f"crowd-{len(pods)}", namespace, priority, f"{cpu}m",
                                     nodeName=item["metadata"]["name"]))
        return pods

    def budgets(self, namespace):
        """With what the disruption controller would write of them."""
        return [({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                  "metadata": {"name": f"budget-{app}", "namespace": namespace},
                  "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}}, allowed)
                for allowed, app in enumerate(APPS[:2])]

    def probe(self, name, namespace, scheduler):
        spec = {"schedulerName": scheduler}
        if self.chance(0.3):
            spec["nodeSelector"] = {"disk": self.random.choice(["ssd", "hdd", "tape"])}
        if self.chance(0.3):
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": self.random.choice(APPS)}}}]}}
        return self.pod(name, namespace, self.random.choice([5, 8, 1000, 1000, "never"]), self.random.choice(["900m", "1900m", "3"]),
                        **spec)


class LoadCluster(RandomCluster):
    """Nodes that report what they use and lend it to pods of lower classes; pods of all of Koordinator's classes."""

    DOMAIN = "scheduling.koordinator.sh"
    RESERVATION = "node.koordinator.sh/reservation"
    RESERVATIONS = [{"resources": {"cpu": "500m", "memory": "1Gi"}}, {"resources": {"cpu": "1"}, "applyPolicy": "Default"},
                    {"reservedCPUs": "0-1"}, {"resources": {"cpu": "1"}, "applyPolicy": "ReservedCPUsOnly"}]
    CLASSES = [None, None, "koord-prod", "koord-mid", "koord-batch", "koord-free"]

    def thresholds(self):
        return {name: self.random.choice([0, 20, 40, 60, 80]) for name in ("cpu", "memory") if self.chance(0.7)}

    def node(self, name):
        item = super().node(name)
        item["spec"] = {}
        amounts = item["status"]["allocatable"]
        amounts.update(cpu=self.random.choice(["2", "4", "8"]), memory=self.random.choice(["4Gi", "8Gi", "16Gi"]), pods="110")
        if self.chance(0.7):
            amounts.update({"kubernetes.io/batch-cpu": self.random.choice(["500", "2k", "8k"]),
                            "kubernetes.io/batch-memory": self.random.choice(["1Gi", "8Gi"]),
                            "kubernetes.io/mid-cpu": "2k", "kubernetes.io/mid-memory": "4Gi"})
        said = {}
        if self.chance(0.3):
            said["usageThresholds"] = self.thresholds()
        if self.chance(0.2):
            said["prodUsageThresholds"] = self.thresholds()
        if self.chance(0.2):
            said["aggregatedUsage"] = {"usageThresholds": self.thresholds(), "usageAggregatedDuration": "5m",
                                       "usageAggregationType": self.random.choice(["avg", "p95"])}
        annotations = item["metadata"].setdefault("annotations", {})
        if said:
            annotations[f"{self.DOMAIN}/usage-thresholds"] = json.dumps(said)
        if self.chance(0.2):
            annotations["node.koordinator.sh/raw-allocatable"] = '{"cpu": "1500m", "memory": "3Gi"}'
        reserved = random.Random(name)  # a stream of its own
        if reserved.random() < 0.3:
            annotations[self.RESERVATION] = json.dumps(reserved.choice(self.RESERVATIONS))
        return item

    def dress(self, item):
        chosen = self.random.choice(self.CLASSES)
        if chosen:
            item["metadata"].setdefault("labels", {})["koordinator.sh/priority-class"] = chosen
        if self.chance(0.2):
            item["metadata"].setdefault("annotations", {}).update({
                f"{self.DOMAIN}/load-estimated-scaling-factors": '{"cpu": 33}',
                f"{self.DOMAIN}/load-estimated-seconds-after-pod-scheduled": "1200"})
        if self.chance(0.05):
            item["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent",
                                                    "uid": "agent", "controller": True}]
        lent = {"koord-batch": "batch", "koord-mid": "mid"}.get(chosen)
        for container in item["spec"]["containers"] if lent else []:
            resources = container["resources"]
            for kind in ("requests", "limits"):
                own = resources.get(kind) or {}
                if "cpu" in own:
                    own[f"kubernetes.io/{lent}-cpu"] = self.random.choice(["200", "800"])
                if "memory" in own:
                    own[f"kubernetes.io/{lent}-memory"] = "256Mi"
                resources[kind] = {key: value for key, value in own.items() if key not in ("cpu", "memory") and
                                   not key.startswith("hugepages-")}
            # What is not a resource of Kubernetes' own is asked for as it is limited.
            resources["limits"] = {**resources.get("limits", {}), **{
                key: value for key, value in resources.get("requests", {}).items() if key.startswith("kubernetes.io/")}}
            resources["requests"] = {**resources.get("requests", {}), **{
                key: value for key, value in resources["limits"].items() if key.startswith("kubernetes.io/")}}
        return item

    def placed(self, name, namespace):
        return self.dress(super().placed(name, namespace))

    def probe(self, name, namespace, scheduler):
        item = super().probe(name, namespace, scheduler)
        if self.chance(0.8):  # most may go anywhere, so that loads decide
            for key in ("affinity", "nodeSelector"):
                item["spec"].pop(key, None)
            for container in item["spec"]["containers"] + item["spec"].get("initContainers", []):
                for amounts in container["resources"].values():
                    for key in (EXTENDED, "hugepages-2Mi", "ephemeral-storage"):
                        amounts.pop(key, None)
        return self.dress(item)

    def usage(self, cpu, memory):
        return {"resources": {"cpu": f"{self.random.randrange(cpu)}m", "memory": f"{self.random.randrange(memory)}Mi"}}

    def reports(self, placed, now):
        """A NodeMetric of most nodes; some are as of long ago, some so new that the pods have been measured in them."""
        items = []
        for item in self.nodes:
            if self.chance(0.1):
                continue
            status = {}
            if self.chance(0.95):
                age = self.random.choice([0, 20, -1500, -900, 4000])
                status["updateTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - age))
            if self.chance(0.95):
                status["nodeMetric"] = {"nodeUsage": self.usage(5000, 9000), "systemUsage": self.usage(300, 600),
                                        "aggregatedNodeUsages": [
                                            {"duration": period, "usage": {kind: self.usage(5000, 9000)
                                                                           for kind in ("avg", "p50", "p95")}}
                                            for period in ("5m0s", "30m0s") if self.chance(0.6)]}
            status["podsMetric"] = [
                {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"],
                 "priority": self.random.choice(["koord-prod", "koord-prod", "koord-batch", ""]),
                 "podUsage": self.usage(800, 1500)}
                for pod in placed if pod["spec"]["nodeName"] == item["metadata"]["name"] and self.chance(0.7)]
            items.append({"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric",
                          "metadata": {"name": item["metadata"]["name"]}, "spec": {}, "status": status})
        return items

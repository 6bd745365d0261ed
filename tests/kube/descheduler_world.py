"""A cluster as a descheduler sees it: nodes, what they report, and pods that run, made on an API server without a controller or kubelet."""
import collections
import json
import time

import schedulers
from deschedulers import NOT_READY
from kube_api import ApiError, create

METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
REPLICA_SETS = "/apis/apps/v1/replicasets"
EXTENDED = "example.com/ext"
MERGE = "application/merge-patch+json"


def resource(name):
    return EXTENDED if name == "ext" else name


def amounts(cpu, memory, **more):
    """Of millicores and bytes; what there is none of is left out."""
    return {**({"cpu": f"{cpu}m"} if cpu else {}), **({"memory": str(memory)} if memory else {}),
            **{resource(name): str(value) for name, value in more.items() if value}}


class World:
    """Workloads get as many replicas as they have pods."""

    def __init__(self):
        self.nodes, self.pods, self.used = [], [], collections.defaultdict(list)
        self.system, self.sizes = {}, collections.Counter()
        self.node(NOT_READY, 4000, 4000, ready=False, labels={"pool": "x"})

    def node(self, name, cpu, memory, pods=110, *, labels=None, annotations=None, ready=True, ext=0, **spec):
        has = {**amounts(cpu, memory, ext=ext), "pods": str(pods)}
        self.nodes.append({
            "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})},
                                         "annotations": annotations or {}}, "spec": spec,
            "status": {"capacity": has, "allocatable": has,
                       "conditions": [{"type": "Ready", "status": "True" if ready else "False", "reason": "KubeletReady"}]}})

    def pod(self, name, node, requests, *, owner="web", kind="ReplicaSet", namespace="default", labels=None, annotations=None, status=None,
            container=None, usage=None, **spec):
        """Of this workload, or bare where it is None; `kind` is ReplicaSet, which exists, or any other, which does not. `usage`, where
        it is not None, is what the node reports of it."""
        item = {"kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels or {}, "annotations": annotations or {}},
                "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0,
                         "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}, **(container or {})}], **spec},
                "status": status or {}, "owner": owner and (kind, namespace, owner)}
        if owner and kind == "ReplicaSet":
            self.sizes[namespace, owner] += 1
        self.pods.append(item)
        if usage is not None:
            self.used[node].append({"namespace": namespace, "name": name, "podUsage": {"resources": usage}})

    def named(self, name):
        """The pod `namespace/name`."""
        return next(item for item in self.pods if f"{item['metadata']['namespace']}/{item['metadata']['name']}" == name)

    def owner(self, name):
        return self.named(name)["owner"]

    def shape(self, name):
        """What all pods have that are like this one in all but their names."""
        item = self.named(name)
        used = [each["podUsage"] for each in self.used[item["spec"]["nodeName"]] if each["name"] == item["metadata"]["name"]]
        return json.dumps({**item, "metadata": {**item["metadata"], "name": None}, "used": used}, sort_keys=True)

    def pod_objects(self, uids):
        for item in self.pods:
            owner = item["owner"]
            metadata = dict(item["metadata"])
            if owner:
                metadata["ownerReferences"] = [{"apiVersion": "v1" if owner[0] == "Pod" else "apps/v1", "kind": owner[0], "name": owner[2],
                                                "uid": uids.get(owner, f"of-{owner[0]}-{owner[2]}".lower()), "controller": True}]
            yield {"kind": "Pod", "metadata": metadata, "spec": item["spec"]}, item["status"]

    def install(self, api):
        """All of it, in an empty cluster."""
        connection = api.connect()
        schedulers.ensure_namespaces(api, *sorted({item["metadata"]["namespace"] for item in self.pods}))
        uids = {}
        for (namespace, name), size in self.sizes.items():
            labels = {"workload": name}
            made = create(connection, {"kind": "ReplicaSet", "metadata": {"name": name, "namespace": namespace}, "spec": {
                "replicas": size, "selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}}}})
            uids["ReplicaSet", namespace, name] = made["metadata"]["uid"]
        api.each(self.nodes, create)
        api.each(self.pod_objects(uids), run_pod)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        api.each([node["metadata"]["name"] for node in self.nodes], lambda connection, name: report(connection, name, {
            "updateTime": now, "nodeMetric": {"nodeUsage": {"resources": {}}, "systemUsage": {"resources": self.system.get(name, {})}},
            "podsMetric": self.used[name]}))


def run_pod(connection, item):
    """As a kubelet would: it runs and is ready, if nothing else is said."""
    pod, status = item
    made = create(connection, pod)
    path = f"/api/v1/namespaces/{made['metadata']['namespace']}/pods/{made['metadata']['name']}/status"
    connection.request("PATCH", path, {"status": {
        "phase": "Running", "startTime": made["metadata"]["creationTimestamp"],
        "conditions": [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady", "PodScheduled")], **status}}, MERGE)


def report(connection, node, status):
    connection.request("POST", METRICS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": node}})
    connection.request("PATCH", f"{METRICS}/{node}/status", {"status": status}, MERGE)


def clear(api, namespaces):
    """Nothing of any world is left."""
    connection = api.connect()
    for namespace in namespaces:
        schedulers.delete_now(connection, f"/api/v1/namespaces/{namespace}/pods")
        connection.request("DELETE", f"/apis/apps/v1/namespaces/{namespace}/replicasets")
    for path in ("/api/v1/nodes", METRICS):
        connection.request("DELETE", path)


# A case of tests/golden/descheduler/low_node_load.jsonl, and its words.
STAYS = {"daemonset": {"kind": "DaemonSet"}, "mirror": {"annotations": {"kubernetes.io/config.mirror": "yes"}},
         "critical": {"namespace": "kube-system", "priorityClassName": "system-cluster-critical"}}


def row_world(row):
    """Pods use what they ask for."""
    world = World()
    for text in row["nodes"]:
        name, cpu, memory, pods, *words = text.split()
        more = dict(word.split("=") for word in words if "=" in word)
        world.node(name, int(cpu), int(memory), int(pods), ext=int(more.get("ext", 0)), labels={"datacenter": "east"} if "east" in words else {},
                   **({"unschedulable": True} if "cordoned" in words else {}))
    for text in row["pods"]:
        name, node, cpu, memory, *words = text.split()
        said, more = dict(word.split("=") for word in words if "=" in word), {}
        for word in words:
            more.update(STAYS.get(word, {}))
        if "ns" in said:
            more["namespace"] = said["ns"]
        if "priority" in said:
            more["priorityClassName"] = f"of-{said['priority']}"
        if "batch" in words:
            more["labels"] = {"koordinator.sh/priority-class": "koord-batch"}
        if "west" in words:
            more["nodeSelector"] = {"datacenter": "west"}
        if "westward" in words:
            term = {"matchExpressions": [{"key": "datacenter", "operator": "In", "values": ["west"]}]}
            more["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
        asks = amounts(int(cpu), int(memory), ext=int(said.get("ext", 0)))
        container = {"resources": {"requests": asks, "limits": {key: value for key, value in asks.items() if key == EXTENDED}}}
        world.pod(name, node, asks, container=container, usage=asks, **more)
    return world


def row_args(row):
    """The arguments of LowNodeLoad that go with it."""
    named = {f"{kind}Thresholds": {resource(name): value for name, value in row[kind].items()}
             for kind in ("low", "high", "prodLow", "prodHigh") if kind in row}
    spaces = {key: row[key] for key in ("include", "exclude") if key in row}
    return {**named, "useDeviationThresholds": row.get("deviation", False), **({"evictableNamespaces": spaces} if spaces else {}),
            "anomalyCondition": {"timeout": "1m", "consecutiveAbnormalities": 1, "consecutiveNormalities": 1}}


def make_priority_classes(api, values):
    """of-VALUE, unless it is there."""
    def ensure(connection, value):
        try:
            create(connection, {"kind": "PriorityClass", "metadata": {"name": f"of-{value}"}, "value": value})
        except ApiError as error:
            if error.status != 409:
                raise
    api.each(values, ensure)


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]

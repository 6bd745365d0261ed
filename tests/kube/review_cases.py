"""Seeded questions for two managers' webhooks, and the objects that they look things up in."""
import json
import random

import manager_cases

QOS = ("LSE", "LSR", "LS", "BE", "SYSTEM", "")
CLASSES = ("koord-prod", "koord-mid", "koord-batch", "koord-free", "")
PRIORITY = {"koord-prod": 9000, "koord-mid": 7000, "koord-batch": 5000, "koord-free": 3000}
RAW = "node.koordinator.sh/raw-allocatable"


def kind_of(group, version, kind, plural):
    return {"kind": {"group": group, "version": version, "kind": kind}, "resource": {"group": group, "version": version, "resource": plural}}


POD, NODE = kind_of("", "v1", "Pod", "pods"), kind_of("", "v1", "Node", "nodes")
CONFIG_MAP = kind_of("", "v1", "ConfigMap", "configmaps")
RESERVATION = kind_of("scheduling.koordinator.sh", "v1alpha1", "Reservation", "reservations")


class Questions:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.cluster = manager_cases.Cluster(seed)

    def objects(self):
        """(path, object) of what is there before the managers start. No profile has a probability: dice differ."""
        yield "/api/v1/namespaces", {"metadata": {"name": "team", "labels": {"team": "yes"}}}
        yield "/api/v1/namespaces/koordinator-system/configmaps", {"metadata": {"name": "slo-controller-config"}, "data": {
            "colocation-config": json.dumps({"enable": True, "nodeConfigs": [
                {"name": pool, "nodeSelector": {"matchLabels": {"pool": pool}}, "cpuReclaimThresholdPercent": 50} for pool in ("a", "b")]})}}
        for method, path, body in self.cluster.first_objects():
            if method == "POST":
                yield path, body
        specs = [
            {"selector": {"matchLabels": {"tier": "be"}}, "qosClass": "BE", "priorityClassName": "koord-batch", "schedulerName": "koord-scheduler"},
            {"selector": {"matchLabels": {"tier": "mid"}}, "qosClass": "LS", "priorityClassName": "koord-mid", "koordinatorPriority": 7111,
             "labels": {"from": "mid"}, "annotations": {"note": "mid"}},
            {"selector": {"matchLabels": {"tier": "patched"}}, "qosClass": "BE", "priorityClassName": "koord-batch",
             "patch": {"spec": {"tolerations": [{"key": "batch", "operator": "Exists"}], "terminationGracePeriodSeconds": 3},
                       "metadata": {"labels": {"patched": "yes"}}}},
            {"namespaceSelector": {"matchLabels": {"team": "yes"}}, "selector": {"matchLabels": {"tier": "keys"}},
             "labelKeysMapping": {"tier": "copied"}, "annotationKeysMapping": {"note": "noted"}, "labelSuffixes": {"app": "-suffix"}},
            {"selector": {"matchLabels": {"tier": "off"}}, "probability": 0, "qosClass": "BE", "priorityClassName": "koord-batch"},
            {"selector": {"matchLabels": {"tier": "nowhere"}}, "priorityClassName": "no-such-class"},
            {"selector": {"matchLabels": {"tier": "be"}}, "labels": {"second": "yes"}},
        ]
        for i, spec in enumerate(specs):
            yield "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles", {
                "apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": f"profile-{i}"}, "spec": spec}

    def amounts(self):
        choose = self.random.choice
        amounts = choose(({"cpu": choose(("1", "500m", "2", "1.5")), "memory": choose(("1Gi", "128Mi", "1.5Gi"))}, {"memory": "64Mi"},
                          {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "1Gi"}, {}, {"cpu": "4", "example.com/x": "1"},
                          {"koordinator.sh/gpu": choose(("50", "100", "150", "200", "0"))}, {"koordinator.sh/gpu.shared": "1"},
                          {"koordinator.sh/gpu-core": choose(("50", "200")), "koordinator.sh/gpu-memory-ratio": choose(("50", "200"))}))
        return dict(amounts)

    def container(self, name):
        requests = self.amounts()
        limits = self.random.choice((requests, {**requests, "cpu": "8"} if "cpu" in requests else requests, {"ephemeral-storage": "1Gi"}))
        resources = self.random.choice(({"requests": requests, "limits": limits}, {"limits": requests or {"cpu": "1"}}))
        return {"name": name, "image": "none", "resources": resources, "env": [{"name": "A", "value": "b"}], "terminationMessagePath": "/x"}

    def pod(self):
        choose = self.random.choice
        qos, priority = choose(QOS), choose(CLASSES)
        labels = {"app": "web", "tier": choose(("be", "mid", "patched", "keys", "off", "nowhere", "none", "none", "none"))}
        if qos:
            labels["koordinator.sh/qosClass"] = qos
        if self.random.random() < 0.2:
            labels["koordinator.sh/priority"] = choose(("1000", "8888", "x"))
        if self.random.random() < 0.1:
            labels["koordinator.sh/priority-class"] = choose(("koord-batch", "nonsense"))
        annotations = {"note": "mine"} if self.random.random() < 0.5 else {}
        if self.random.random() < 0.05:
            annotations["scheduling.koordinator.sh/reserve-pod"] = "true"
        spec = {"containers": [self.container(f"c{i}") for i in range(choose((1, 1, 2)))], "schedulerName": "default-scheduler",
                "restartPolicy": "Always"}
        if priority:
            spec.update(priorityClassName=priority, priority=PRIORITY[priority])
        if self.random.random() < 0.3:
            spec["initContainers"] = [self.container("init")]
        if self.random.random() < 0.1:
            spec["overhead"] = {"cpu": "100m", "memory": "10Mi"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": choose(("default", "team")), "labels": labels,
                                                                "annotations": annotations}, "spec": spec}

    def changed(self, pod):
        after = json.loads(json.dumps(pod))
        labels = after["metadata"]["labels"]
        self.random.choice((lambda: labels.update({"koordinator.sh/qosClass": self.random.choice(QOS[:-1])}),
                            lambda: labels.update({"koordinator.sh/priority": "9999"}), lambda: labels.update({"other": "x"}),
                            lambda: after["spec"].update(priority=self.random.choice((9000, 5000)))))()
        return after

    def node(self):
        choose = self.random.choice
        annotations = {}
        if self.random.random() < 0.8:
            annotations["node.koordinator.sh/resource-amplification-ratio"] = choose(('{"cpu": 1.5}', '{"cpu": 2, "memory": 1.25}', '{"cpu": 1}'))
        if self.random.random() < 0.4:
            annotations[RAW] = choose(('{"cpu": "4", "memory": "8Gi"}', '{"cpu": "7", "memory": "16Gi"}'))
        allocatable = {"cpu": choose(("4", "7500m")), "memory": choose(("8Gi", "7900Mi")), "pods": "110"}
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"pool": choose("abc")}, "annotations": annotations},
                "status": {"capacity": dict(allocatable), "allocatable": allocatable}}

    def config_map(self):
        makers = {"colocation-config": self.cluster.colocation, "resource-threshold-config": self.cluster.threshold,
                  "resource-qos-config": self.cluster.qos, "cpu-burst-config": self.cluster.burst, "system-config": self.cluster.system}
        key = self.random.choice(sorted(makers))
        text = json.dumps(makers[key]())
        if self.random.random() < 0.3:
            key, text = self.random.choice(manager_cases.BROKEN + manager_cases.ODD)
        return {"apiVersion": "v1", "kind": "ConfigMap", "data": {key: text},
                "metadata": {"name": "slo-controller-config", "namespace": "koordinator-system"}}

    def reservation(self):
        pod = self.pod()
        return {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation", "metadata": {"name": "r", "labels": pod["metadata"]["labels"]},
                "spec": {"template": {"spec": pod["spec"]}, "owners": [{"labelSelector": {"matchLabels": {"app": "web"}}}], "ttl": "1h"}}

    def ask(self, number):
        """(path, request)"""
        path = self.random.choice(("/mutate-pod", "/mutate-pod", "/validate-pod", "/validate-pod", "/mutate-node-status", "/validate-node",
                                   "/validate-configmap", "/mutate-reservation"))
        update, request = self.random.random() < 0.5, {"uid": f"uid-{number}", "operation": "CREATE", "userInfo": {"username": "test"}}
        if path.endswith("-pod"):
            request.update(POD, object=self.pod(), operation="UPDATE" if update else "CREATE")
            if update:
                request["oldObject"], request["object"] = request["object"], self.changed(request["object"])
        elif "-node" in path:
            request.update(NODE, object=self.node(), operation="UPDATE", oldObject=self.node())
            request.update({"subResource": "status"} if path == "/mutate-node-status" else {})
        elif path == "/validate-configmap":
            request.update(CONFIG_MAP, object=self.config_map(), operation="UPDATE" if update else "CREATE")
            if update:
                request["oldObject"] = self.config_map()
        else:
            request.update(RESERVATION, object=self.reservation())
        metadata = request["object"]["metadata"]
        request.update(name=metadata["name"], namespace=metadata.get("namespace", ""))
        return path, request

"""Seeded writes of ElasticQuotas and pods for two managers' webhooks: what is asked, and what the API server is to store."""
import json
import random

import review_cases

PREFIX = "quota.scheduling.koordinator.sh/"
QUOTAS = "/apis/scheduling.sigs.k8s.io/v1alpha1"
ROOT = "koordinator-root-quota"
MUTATE, VALIDATE = (f"/{word}-scheduling-sigs-k8s-io-v1alpha1-elasticquota" for word in ("mutate", "validate"))
QUOTA = review_cases.kind_of("scheduling.sigs.k8s.io", "v1alpha1", "ElasticQuota", "elasticquotas")
NAMES = [f"q{i}" for i in range(12)]
NAMESPACES = ("default", "team", "q1")  # one has the name of a quota


def clone(value):
    return json.loads(json.dumps(value))


class Writes:
    """`stored` is what the API server has, as it answered: who drives this keeps it so."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.stored = {}  # quotas by name
        self.pods = {}    # by namespace and name

    def chance(self, probability):
        return self.random.random() < probability

    def amounts(self, names, most):
        return {name: str(self.random.randrange(most)) for name in names if self.chance(0.9)}

    def is_below(self, name, ancestor):
        seen = set()
        while name in self.stored and name not in seen:
            seen.add(name)
            if name == ancestor:
                return True
            name = self.stored[name]["metadata"]["labels"].get(PREFIX + "parent", ROOT)
        return name == ancestor

    def labels(self, name):
        choose = self.random.choice
        labels = {}
        parents = [one for one, quota in self.stored.items() if quota["metadata"]["labels"].get(PREFIX + "is-parent") == "true"]
        # No cycle: the original takes it, and never forgets it.
        names = [one for one in (ROOT, *parents, *parents, *parents, *([choose(NAMES)] if self.chance(0.15) else [])) if not self.is_below(one, name)]
        if self.chance(0.75):
            labels["parent"] = choose(names)
        if self.chance(0.8):
            labels["is-parent"] = choose(("true", "true", "false"))
        if self.chance(0.1):
            labels["tree-id"] = choose(("t1", "t2", ""))
        if self.chance(0.1):
            labels["is-root"] = "true"
        if self.chance(0.1):
            labels["allow-force-update"] = choose(("true", "false"))
        if self.chance(0.1):
            labels["allow-lent-resource"] = "false"
        return {PREFIX + key: value for key, value in labels.items()}

    def annotations(self):
        annotations = {}
        if self.chance(0.3):
            annotations["shared-weight"] = self.random.choice(('{"cpu":"5"}', '{"cpu":"1","memory":"2"}', '{"x":"1"}', "{}", "{", '{"cpu":"-1"}', ""))
        if self.chance(0.15):
            annotations["namespaces"] = self.random.choice(('["team"]', '["default","team"]', '["nowhere"]', "[]", "team"))
        if self.chance(0.2):
            annotations["guaranteed"] = self.random.choice(('{"cpu":"60","memory":"60"}', '{"cpu":"5"}', "{}"))
        if self.chance(0.1):
            annotations["max-strict-check-resource-keys"] = self.random.choice(('["cpu"]', '["cpu","memory"]', '["x"]'))
        return {PREFIX + key: value for key, value in annotations.items()}

    def spec(self):
        names = self.random.choice((("cpu", "memory"), ("cpu", "memory"), ("cpu", "memory"), ("cpu",), ("cpu", "memory", "nvidia.com/gpu")))
        least, most = self.amounts(names, 40), {name: str(20 + self.random.randrange(100)) for name in names}
        if self.chance(0.05):
            (least if self.chance(0.5) else most)["cpu"] = "-1"
        if self.chance(0.05):
            least["other"] = "1"
        return {"min": least, "max": most}

    def quota(self, name):
        quota = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
                 "metadata": {"name": name, "namespace": self.random.choice(NAMESPACES), "labels": self.labels(name), "annotations": self.annotations()},
                 "spec": self.spec()}
        if self.chance(0.2):
            quota["status"] = {"used": {"cpu": str(self.random.randrange(80))}}
        return quota

    def changed(self, quota):
        after = clone(quota)
        fresh = self.quota(quota["metadata"]["name"])
        metadata = after["metadata"]

        def relabel(key):
            value = fresh["metadata"]["labels"].get(PREFIX + key)
            metadata["labels"].pop(PREFIX + key, None)
            if value is not None:
                metadata["labels"][PREFIX + key] = value
        self.random.choice((
            lambda: after.update(spec=fresh["spec"]), lambda: after["spec"].update(min=fresh["spec"]["min"]), lambda: relabel("parent"),
            lambda: relabel("parent"), lambda: relabel("is-parent"), lambda: relabel("is-parent"), lambda: relabel("tree-id"),
            lambda: metadata["labels"].update({PREFIX + "allow-force-update": "true"}),
            lambda: metadata["annotations"].update(fresh["metadata"]["annotations"]), lambda: metadata["labels"].update(other="x")))()
        return after

    def pod(self):
        labels = {}
        if self.chance(0.8):
            labels[PREFIX + "name"] = self.random.choice([*NAMES, *sorted(self.stored) * 2, "nobody", "koordinator-default-quota"])
        if self.chance(0.3):
            labels[PREFIX + "preemptible"] = self.random.choice(("true", "false"))
        spec = {"containers": [{"name": "c", "image": "none"}]}
        if self.chance(0.3):
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{self.random.randrange(1000)}", "namespace": self.random.choice(NAMESPACES),
                                                                "labels": labels}, "spec": spec}

    def ask(self, number):
        """(what, [(path, request)]): a quota's mutation comes before its validation, which takes what the first made of it."""
        what = self.random.choices(("create", "update", "delete", "pod", "pod update"), (5, 5, 1, 3, 2))[0]
        request = {"uid": f"quota-{number}", "operation": "CREATE", "userInfo": {"username": "test"}}
        if what == "create" or (what in ("update", "delete") and not self.stored):
            name = self.random.choice(NAMES)
            request.update(QUOTA, object=self.quota(name))
            what, paths = "create", (MUTATE, VALIDATE)
        elif what in ("update", "delete"):
            before = clone(self.stored[self.random.choice(sorted(self.stored))])
            if what == "update":
                request.update(QUOTA, operation="UPDATE", oldObject=before, object=self.changed(before))
            else:
                request.update(QUOTA, operation="DELETE", oldObject=before)
            paths = (VALIDATE,)
        else:
            request.update(review_cases.POD, object=self.pod())
            paths = ("/mutate-pod", "/validate-pod")
            if what == "pod update":
                after = clone(request["object"])
                after["metadata"]["labels"] = self.pod()["metadata"]["labels"]
                request.update(operation="UPDATE", oldObject=request["object"], object=after)
        metadata = (request.get("object") or request["oldObject"])["metadata"]
        request.update(name=metadata["name"], namespace=metadata["namespace"])
        return what, paths, request

    def room(self, side, number):
        """A quota of one side's own and a pod that asks it for room: both sides get the same but for the name."""
        dice = random.Random(f"{number}")
        name = f"room-{side}-{number}"
        amounts = [{"cpu": str(dice.randrange(1, 9))}, {"cpu": str(dice.randrange(1, 9)), "memory": f"{dice.randrange(1, 9)}Gi"}, {"example.com/x": "1"},
                   {"kubernetes.io/batch-cpu": str(dice.randrange(1, 9))}, {"memory": "2Gi"}]
        annotations = {}
        if dice.random() < 0.6:
            annotations["child-request"] = json.dumps(dice.choice(amounts))
        if dice.random() < 0.5:
            annotations["admission"] = dice.choice((json.dumps(dice.choice(amounts)), "{}", '{"cpu":"0"}'))
        quota = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
                 "metadata": {"name": name, "namespace": "default", "annotations": {PREFIX + key: text for key, text in annotations.items()}},
                 "spec": {"max": dice.choice(amounts)}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "labels": {PREFIX + "name": name}},
               "spec": {"containers": [{"name": "c", "image": "none", "resources": {"requests": dice.choice(amounts)}}]}}
        if dice.random() < 0.3:
            pod["spec"]["initContainers"] = [{"name": "i", "image": "none", "resources": {"requests": dice.choice(amounts)}}]
        if dice.random() < 0.2:
            pod["spec"]["overhead"] = {"cpu": "250m"}
        request = {"uid": f"room-{number}", "operation": "CREATE", "userInfo": {"username": "test"}, **review_cases.POD, "object": pod,
                   "name": "p", "namespace": "default"}
        return quota, request

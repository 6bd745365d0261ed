"""Random gangs for compare_gang_test.py: groups of gangs by annotation or PodGroup on small clusters, such that what becomes of
them does not depend on the order in which members are tried. Each gang lives in one pool of nodes, and all pods of a pool ask for
the same; so what fits is a number of pods, and the test itself knows it."""
import json
import random

import schedulers
from reservations import pod

import kube_api

DOMAIN, LABEL = "gang.scheduling.koordinator.sh", "pod-group.scheduling.sigs.k8s.io"
OLD_NAME, OLD_MIN = "pod-group.scheduling.sigs.k8s.io/name", "pod-group.scheduling.sigs.k8s.io/min-available"
NAMESPACES = ("compare-gangs", "compare-gangs-beside")
POD_GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1"
GPU = "example.com/gpu"
# What a pod of the pool asks for, and what so many of them need of a node.
POOLS = {
    "small": ({"cpu": "500m", "memory": "64Mi"}, lambda slots: schedulers_amounts(f"{slots * 500}m")),
    "large": ({"cpu": "2", "memory": "64Mi"}, lambda slots: schedulers_amounts(str(slots * 2))),
    "device": ({"cpu": "100m", GPU: "1"}, lambda slots: {**schedulers_amounts("16"), "more": {GPU: str(slots)}}),
}


def schedulers_amounts(cpu):
    return {"cpu": cpu, "memory": "32Gi"}


class Gang:
    """min: what it needs; members: the pods that it has at first."""

    def __init__(self, namespace, name, pool, minimum, members, **terms):
        self.namespace, self.name, self.pool, self.min, self.members = namespace, name, pool, minimum, members
        self.made, self.terms, self.kept = 0, terms, {}
        self.id = f"{namespace}/{name}"

    def pods(self, number):
        """The next so many."""
        items = []
        for _ in range(number):
            labels, annotations = {}, {}
            how = self.terms["how"]
            if how == "pod group":
                labels[LABEL] = self.name
            elif how == "old labels":
                labels.update({OLD_NAME: self.name, OLD_MIN: str(self.min)})
                annotations.update(self.annotations())
            else:
                annotations.update({f"{DOMAIN}/name": self.name, f"{DOMAIN}/min-available": str(self.min), **self.annotations()})
            items.append(pod(f"{self.name}-{self.made}", self.namespace, POOLS[self.pool][0], labels=labels, annotations=annotations,
                             nodeSelector={"pool": self.pool}))
            self.made += 1
        return items

    def annotations(self):
        return {f"{DOMAIN}/{key}": value for key, value in self.terms["annotations"].items()}

    def pod_group(self):
        return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup",
                "metadata": {"namespace": self.namespace, "name": self.name, "annotations": self.annotations()},
                "spec": {"minMember": self.min, "scheduleTimeoutSeconds": self.terms["seconds"]}}

    @property
    def is_pod_group(self):
        return self.terms["how"] == "pod group"


class Group:
    def __init__(self, gangs, strict, policy):
        self.gangs, self.strict, self.policy = gangs, strict, policy
        self.id = ",".join(sorted(gang.id for gang in gangs))

    def __repr__(self):
        return f"{self.id}: {'strict' if self.strict else 'not strict'}, {self.policy}, " + "; ".join(
            f"{gang.pool} {gang.members} of {gang.min}, {gang.terms}" for gang in self.gangs)


class Cluster:
    def __init__(self, seed):
        self.random, self.slots, self.nodes, self.count = random.Random(seed), {}, [], 0
        for pool, (_, amounts) in POOLS.items():
            slots, number = self.random.randint(2, 4), self.of(1, 2)
            self.slots[pool] = slots * number
            self.nodes += [schedulers.node(f"{pool}-{i}", labels={"pool": pool}, **amounts(slots)) for i in range(number)]

    def of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def group(self, free):
        """One to three gangs, each of a pool of its own, of which `free` says what is left. They fit mostly."""
        number, self.count = self.of(1, 1, 1, 2, 3), self.count + 1
        pools = self.random.sample(sorted(POOLS), number)
        strict, policy = self.chance(0.75), self.of("", "once-satisfied", "only-waiting", "waiting-and-running")
        gangs = []
        for index, pool in enumerate(pools):
            most = self.slots[pool]
            minimum = self.random.randint(1, max(1, free[pool])) if self.chance(0.6) else self.random.randint(1, most + 2)
            members = minimum + self.of(0, 0, 0, -1)  # those beyond the original takes at once or after minutes
            seconds = self.of(3, 4)
            annotations = {"waiting-time": f"{seconds}s"}
            if not strict:
                annotations["mode"] = "NonStrict"
            elif self.chance(0.3):
                annotations["mode"] = self.of("Strict", "strict")
            if policy:
                annotations["match-policy"] = policy
            if self.chance(0.3):
                annotations["total-number"] = self.of(str(members), "0", "x")
            gangs.append(Gang(self.of(*NAMESPACES), f"gang-{self.count}-{index}", pool, minimum, max(members, 1),
                              how=self.of("pod group", "pod group", "annotations", "old labels"), seconds=seconds, annotations=annotations,
                              late=self.chance(0.3)))
        if number > 1:
            named = json.dumps([gang.id for gang in gangs])
            for gang in gangs:
                gang.terms["annotations"]["groups"] = named
        return Group(gangs, strict, policy or "once-satisfied")


kube_api.PLURAL["PodGroup"] = (POD_GROUPS, "podgroups", True)

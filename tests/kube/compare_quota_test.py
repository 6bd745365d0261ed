#!/usr/bin/env python3
"""The original koord-scheduler and koord, one after the other, on the same clusters of random trees of ElasticQuotas: the same
pods are asked for in the same order, and what either says of them (verdict, condition with its whole message, event) and of the
quotas (status and annotations once all has settled) must be equal. Pods that only wait at a gate ask for room, so that quotas
compete; a pod is let go when both have counted it. Messages are compared whole, but for the order of dimensions that exceed,
which is that of a Go map there.

usage: compare_quota_test.py      KOORDINATOR_BIN names the folder with the original's koord-scheduler and crds/
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
from schedulers import LATE, wait_for

import kube_api
import original_scheduler
from check_placement import amounts

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_QUOTA_SEEDS", "61 62 63 64").split()]
PROBES = int(os.environ.get("KOORD_COMPARE_QUOTA_PROBES", "45"))
NAMESPACE, OWN, LISTED, SYSTEM = "compare-quotas", "compare-quotas-own", "compare-quotas-listed", "koordinator-system"
GPU, GATE = "example.com/gpu", "koord.test/held"
DOMAIN = "quota.scheduling.koordinator.sh"
QUOTAS = "/apis/scheduling.sigs.k8s.io/v1alpha1/elasticquotas"
# What koord does not have yet: all of them say something of every pod that finds no node.
ASIDE = ["Coscheduling", "DeviceShare"]
# The original reckons what quotas may use every ten seconds, and writes it a second later.
QUIET = {"original": 12, "koord": 3}
ANNOTATIONS = ["runtime", "request", "child-request", "guaranteed", "allocated", "non-preemptible-request", "non-preemptible-used"]
# A comparison that meets none of these says nothing about the rule behind it.
REASONS = ["Insufficient quotas, quotaName: ", "Insufficient quotas, quotaNameTopo: ", "Insufficient non-preemptible quotas",
           "exceedDimensions: [cpu]", "exceedDimensions: [memory]", GPU, "koordinator-default-quota"]


def ordered(text):
    """Without what differs from run to run of the original, and without the nodes that it names one by one where nobody can be
    preempted: of many nodes that is all the message would be."""
    text = re.sub(r"exceedDimensions: \[([^]]*)\]", lambda match: f"exceedDimensions: [{' '.join(sorted(match[1].split()))}]", text or "")
    text = re.sub(r"1 No victims found on node n0 for preemptor pod \S+, 1 No victims found on node n1 for preemptor pod [^ .]+\.",
                  "2 No preemption victims found for incoming pod.", text)
    if any(word in text for word in ("Insufficient quotas", "Insufficient non-preemptible quotas")):
        # The original asks DefaultPreemption, too, which may evict others' pods in vain.
        text = re.sub(r"(preemption: [^,]*)\., \1\.", r"\1.", text)
    return text


def listed(text):
    """An annotation's amounts, without zeros."""
    return {name: float(amount) for name, amount in amounts(json.loads(text) if text else {}).items() if amount}


class Cluster:
    """Two nodes, a random tree of quotas as the manager's webhook lets them be, and what is done there. In every second tree what
    the quotas at the top are sure of is more than there is; all of these lend, as the original forgets the others' scaled mins."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes = [schedulers.node(f"n{i}", "48", "96Gi", more={GPU: "8"}) for i in range(2)]
        self.quotas, self.leaves = [], []
        self.scarce = seed % 2 == 1
        for number in range(3):
            share = 1.6 if self.scarce else 0.8
            least = {"cpu": int(self.random.uniform(0.1, share) * 32000), "memory": int(self.random.uniform(0.1, share) * 64)}
            if number != 1:
                least[GPU] = self.random.randint(0, 5)
            self.grow(f"t{number}", "", 2, least)
        # One of two that may use all of their parent's.
        for name, parent, least in (("full", "", 4), ("full-0", "full", 2), ("full-1", "full", 2)):
            self.add(name, parent, {"cpu": least * 1000, "memory": least * 4}, is_parent=not parent)
            self.quotas[-1]["spec"]["max"] = {"cpu": "4", "memory": "16Gi"}
        del self.leaves[-2:]
        # Pods of these namespaces are theirs without a label.
        self.add(OWN, "", {"cpu": 4000, "memory": 8}, namespace=OWN)
        self.add("lists", "", {"cpu": 4000, "memory": 8}, annotations={f"{DOMAIN}/namespaces": json.dumps([LISTED])})

    def of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def grow(self, name, parent, depth, least):
        """A parent with some below it, which share its min, or a leaf."""
        if depth == 0 or (parent and self.chance(0.4)):
            return self.add(name, parent, least)
        self.add(name, parent, least, is_parent=True)
        children = self.of(2, 2, 3)
        for number in range(children):
            self.grow(f"{name}-{number}", name, depth - 1, {key: int(amount * self.random.uniform(0.2, 1) / children) for key, amount in least.items()})
        return None

    def terms(self, least):
        """A min, in milli, Gi and devices, and a max beyond it."""
        more = {"cpu": self.of(500, 2000, 8000, 24000), "memory": self.of(1, 4, 16, 48), GPU: self.of(0, 1, 3)}
        units = {"cpu": "m", "memory": "Gi", GPU: ""}
        return {"min": {key: f"{amount}{units[key]}" for key, amount in least.items()},
                "max": {key: f"{amount + more[key]}{units[key]}" for key, amount in least.items()}}

    def add(self, name, parent, least, is_parent=False, namespace=NAMESPACE, annotations=None):
        labels, annotations = {f"{DOMAIN}/is-parent": "true" if is_parent else "false"}, dict(annotations or {})
        if parent:
            labels[f"{DOMAIN}/parent"] = parent
        if not self.scarce and self.chance(0.3):
            labels[f"{DOMAIN}/allow-lent-resource"] = "false"
        if self.chance(0.3):
            annotations[f"{DOMAIN}/shared-weight"] = json.dumps({"cpu": str(self.random.randint(1, 9)), "memory": f"{self.random.randint(1, 9)}Gi"})
        self.quotas.append({"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "least": least,
                            "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}, "spec": self.terms(least)})
        if not is_parent:
            self.leaves.append(name)

    def probe(self, name):
        labels, namespace = {}, NAMESPACE
        where = self.random.random()
        if where < 0.75:
            labels[f"{DOMAIN}/name"] = self.of(*self.leaves)
        elif where < 0.93:
            namespace = self.of(OWN, LISTED)
        elif where < 0.97:
            labels[f"{DOMAIN}/name"] = "nobody"
        if self.chance(0.2):
            labels[f"{DOMAIN}/preemptible"] = "false"
        requests = {"cpu": f"{self.of(250, 500, 1000, 2000, 4000)}m", "memory": self.of("512Mi", "1Gi", "3Gi", "6Gi")}
        if self.chance(0.3):
            requests[GPU] = self.of("1", "2")
        if self.chance(0.1):
            del requests[self.of("cpu", "memory")]
        return pod(name, namespace, requests, labels=labels, schedulingGates=[{"name": GATE}])

    def labelled(self, name, quota):
        return pod(name, NAMESPACE, {"cpu": "1", "memory": "1Gi"}, labels={f"{DOMAIN}/name": quota}, schedulingGates=[{"name": GATE}])

    def steps(self):
        """("ask", pod), ("press", pod), ("drop", pod's name), ("change", quota, spec), ("look",)"""
        for number, quota in enumerate(["full-0"] * 4 + ["full-1"]):
            yield "ask", self.labelled(f"full-{number}", quota)
        here, asked, pressed = [], 0, 0
        while asked < PROBES:
            what = self.random.random()
            if what < 0.6:
                asked += 1
                here.append(self.probe(f"probe-{asked}"))
                yield "ask", here[-1]
            elif what < 0.8:
                pressed += 1
                here.append(self.probe(f"press-{pressed}"))
                yield "press", here[-1]
            elif what < 0.9 and here:
                yield "drop", here.pop(self.random.randrange(len(here)))
            elif what >= 0.93:
                # Of a resource that begins or ceases to count the original's figures depend on what was before.
                quota = self.of(*self.quotas)
                if not quota["metadata"]["name"].startswith("full"):
                    yield "change", quota, self.terms(quota["least"])
            if asked in (PROBES // 2, PROBES) and what < 0.6:
                yield ("look",)


class Run(schedulers.Run):
    """One scheduler with the cluster, and all that was seen of it."""

    def __init__(self, api, seed, who, command):
        self.cluster = Cluster(seed)
        super().__init__(api, who, command, (NAMESPACE, OWN, LISTED), clean)

    def nodes(self):
        return self.cluster.nodes

    def go(self):
        for quota in self.cluster.quotas:
            self.connection.request("POST", f"{QUOTAS.replace('/elasticquotas', '')}/namespaces/{quota['metadata']['namespace']}/elasticquotas",
                                    {key: value for key, value in quota.items() if key != "least"})
        time.sleep(LATE)
        looks = 0
        for step in self.cluster.steps():
            if step[0] == "ask":
                self.ask(step[1])
            elif step[0] == "press":
                kube_api.create(self.connection, step[1])
                meta = step[1]["metadata"]
                self.watches[meta["namespace"]].wait("a pod", lambda pods, name=meta["name"]: name in pods)
                time.sleep(LATE / 2)
            elif step[0] == "drop":
                meta = step[1]["metadata"]
                self.remove([(meta["name"], meta["namespace"])])
            elif step[0] == "change":
                meta = step[1]["metadata"]
                self.connection.request("PATCH", f"{QUOTAS.replace('/elasticquotas', '')}/namespaces/{meta['namespace']}/elasticquotas/{meta['name']}",
                                        [{"op": "replace", "path": "/spec", "value": step[2]}], "application/json-patch+json")
                time.sleep(LATE)
            else:
                looks += 1
                self.seen[f"quotas, look {looks}"] = schedulers.settled(self.told, QUIET[self.who])

    def told(self):
        """What all quotas say, by their names."""
        found = {}
        for quota in self.api.list(QUOTAS):
            notes = quota["metadata"].get("annotations") or {}
            found[quota["metadata"]["name"]] = {"used": listed(json.dumps((quota.get("status") or {}).get("used") or {})),
                                                **{key: listed(notes.get(f"{DOMAIN}/{key}")) for key in ANNOTATIONS}}
        return found

    def ask(self, probe):
        name, namespace = probe["metadata"]["name"], probe["metadata"]["namespace"]
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        kube_api.create(self.connection, probe)
        time.sleep(LATE)
        self.connection.request("PATCH", path, {"spec": {"schedulingGates": None}}, "application/merge-patch+json")

        item = self.watches[namespace].first(name, ("Unschedulable",))
        bound = bool(item["spec"].get("nodeName"))
        condition = {key: ordered(value) for key, value in schedulers.condition_of(item).items() if key in ("reason", "message")} if not bound else {}
        events = [] if bound else wait_for(f"{name}: an event", lambda: sorted({
            (event["reason"], event["type"], event["action"], ordered(event["note"])) for event in self.api.list(schedulers.EVENTS.format(namespace))
            if event["regarding"]["name"] == name and event["reason"] == "FailedScheduling"}))
        self.seen[name] = {"bound": bound, "condition": condition, "events": events, "probe": probe}
        if not bound:
            self.remove([(name, namespace)])


def clean(api):
    connection = api.connect()
    for namespace in (NAMESPACE, OWN, LISTED):
        schedulers.delete_now(connection, f"/api/v1/namespaces/{namespace}/pods")
    for namespace in (NAMESPACE, OWN, SYSTEM):
        connection.request("DELETE", f"{QUOTAS.replace('/elasticquotas', '')}/namespaces/{namespace}/elasticquotas")
    schedulers.clean(api, [NAMESPACE, OWN, LISTED])


class CompareQuota(comparison.Comparison):
    namespaces, rules = (NAMESPACE, OWN, LISTED, SYSTEM), REASONS

    def compare(self, seed, profile, checks_parents):
        text = of.configuration(profile, schedulers.KUBECONFIG, less=ASIDE)
        old = "quotaGroupNamespace: koordinator-system"
        assert old in text
        text = text.replace(old, f"{old}\n          enableCheckParentQuota: {str(checks_parents).lower()}")
        theirs, ours = schedulers.beside_the_original(text, lambda who, command: Run(self.api, seed, who, command))
        differences, bound = schedulers.differences(theirs, ours), 0
        for name, upstream in theirs.seen.items():
            own = ours.seen[name]
            self.count_words(upstream, own)
            bound += upstream.get("bound") is True
        print(f"seed {seed}, {profile}, parents {'checked' if checks_parents else 'not checked'}: {PROBES} probes, {bound} bound, "
              f"{len(theirs.cluster.quotas)} quotas, {len(differences)} differences", file=sys.stderr)
        self.check(differences)
        self.assertGreater(bound, PROBES // 10)


comparison.for_each_seed(CompareQuota, SEEDS, checks_parents=lambda number: number % 4 >= 2)


if __name__ == "__main__":
    original_scheduler.main()

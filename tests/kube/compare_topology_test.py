#!/usr/bin/env python3
"""The original koord-scheduler and koord, one after the other, in the same random networks (ClusterNetworkTopology): the same gangs
come that must or would like to gather in layers of them, some in multiples, some beside pods that are there; which node each member
gets, what is said of those that get none, and the ClusterNetworkTopology's status must be equal.

The order of members is one by network-topology-index and by name alike: the original sorts by the name alone in the end. Gangs that
like to be near pods that are there: the original counts, beside these, the members that it has tried on each node, and so goes
where there is most room; where it has gone elsewhere koord must be near as many pods at least.

Then gangs that preempt, in a network that is full: the same pods must go, but where several domains differ in nothing but what they
cost: there koord has the cheaper one's go.

usage: compare_topology_test.py      KOORDINATOR_BIN names the folder with the original's koord-scheduler and crds/
"""
import collections
import json
import os
import random
import re
import signal
import sys
import time

import comparison
import preemption_rounds as rounds
import reservations as of
import schedulers
from gang_cases import DOMAIN, LABEL, POD_GROUPS
from schedulers import LATE, wait_for

import kube_api
import original_scheduler

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_TOPOLOGY_SEEDS", "31 32").split()]
GANGS = int(os.environ.get("KOORD_COMPARE_TOPOLOGY_GANGS", "20"))
NAMESPACE = "compare-topology"
ASIDE = ["DeviceShare", "ElasticQuota"]  # which say something of every pod that finds no node
QUIET = 1.5  # seconds in which nothing more is said
TOPOLOGIES = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
JOB = "scheduling.koordinator.sh/questioned-object-key"
SELECTOR = "scheduling.koordinator.sh/network-topology-selector"
SLOT = 500  # milli CPUs
LAYERS = ["Spine", "Block", "Rack"]
CLUSTER, NODE = "ClusterTopologyLayer", "NodeTopologyLayer"
# A comparison that meets none of these says nothing about the rule behind it.
MET = ["MustGather", "PreferGather", "a multiple", "beside others", "with indices", "no candidate topology nodes", "podCountMultiple constraints"]


class Cluster:
    """A tree of two or three layers, nodes that lie in it, and some that do not; gangs, and pods that are there already."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.layers = LAYERS[:self.of(2, 3)]
        self.nodes, self.inside, self.slots = [], 0, {}
        self.grow({}, 0, "")
        # Of one that has no label of the layer above it a domain of its own is made.
        above = {layer: self.nodes[0]["metadata"]["labels"][layer] for layer in self.layers[:-1]}
        self.add("alone", above)
        self.inside += 1
        self.add("outside", {})

    def grow(self, labels, depth, path):
        if depth == len(self.layers):
            for _ in range(self.random.randint(1, 3)):
                self.inside += 1
                self.add(f"n{self.inside:02}", labels)
            return
        for number in range(self.random.randint(2, 3) if depth < 2 else self.random.randint(1, 2)):
            name = f"{path}{number}"
            self.grow({**labels, self.layers[depth]: f"{self.layers[depth].lower()}-{name}"}, depth + 1, name)

    def add(self, name, labels):
        self.slots[name] = self.random.randint(1, 4)
        self.nodes.append(schedulers.node(name, f"{self.slots[name] * SLOT}m", labels=labels))

    def of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def topology(self):
        layers = [{"topologyLayer": layer, "labelKey": [f"other-{layer}", layer], **({"parentTopologyLayer": parent} if parent else {})}
                  for layer, parent in zip(self.layers, [None, *self.layers])]
        return {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "ClusterNetworkTopology", "metadata": {"name": "default"},
                "spec": {"networkTopologySpec": [*layers, {"topologyLayer": NODE, "parentTopologyLayer": self.layers[-1]}]}}

    def there(self, number):
        """A few pods that take room, some of which gangs like to be near."""
        items, nodes = [], self.random.sample(sorted(self.slots), len(self.slots) // 2)
        for node in nodes:
            annotations = {SELECTOR: self.of("team-a", "team-b")} if self.chance(0.4) else {}
            items.append(of.pod(f"there-{number}-{len(items)}", NAMESPACE, {"cpu": f"{self.random.randint(1, self.slots[node]) * SLOT}m", "memory": "1Mi"},
                                annotations=annotations, nodeName=node))
        return items


class Gang:
    """All of its pods are alike, and it needs them all."""

    def __init__(self, cluster, number):
        self.name, self.members = f"gang-{number}", cluster.random.randint(2, 6)
        self.rules = []
        for layer in cluster.random.sample(cluster.layers, cluster.of(1, 1, 2)):
            self.rules.append({"layer": layer, "strategy": cluster.of("MustGather", "PreferGather")})
            if cluster.chance(0.3):
                self.rules[-1]["podCountMultiple"] = cluster.of(2, 3)
        if cluster.chance(0.2):
            self.rules.append({"layer": NODE, "strategy": "PreferGather", "podCountMultiple": 2})
        self.near = cluster.of("team-a", "team-b") if cluster.chance(0.4) else ""
        self.indices = cluster.chance(0.4)
        notes = {SELECTOR: self.near} if self.near else {}
        self.pods = [of.pod(f"{self.name}-{member}", NAMESPACE, {"cpu": f"{SLOT}m", "memory": "1Mi"}, labels={LABEL: self.name},
                            annotations={**notes, **({f"{DOMAIN}/network-topology-index": str(member)} if self.indices else {})})
                     for member in range(self.members)]
        cluster.random.shuffle(self.pods)

    def __repr__(self):
        return f"{self.members} of {self.rules}, near {self.near!r}, {'with indices' if self.indices else 'by name'}"

    def pod_group(self):
        return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup",
                "metadata": {"namespace": NAMESPACE, "name": self.name,
                             "annotations": {f"{DOMAIN}/network-topology-spec": json.dumps({"gatherStrategy": self.rules})}},
                "spec": {"minMember": self.members, "scheduleTimeoutSeconds": 60}}


class Run(schedulers.Run):
    """One scheduler with the cluster, and all that was seen of it."""

    def __init__(self, api, seed, who, command):
        self.cluster = Cluster(seed)
        super().__init__(api, who, command, [NAMESPACE], clean)

    def nodes(self):
        return self.cluster.nodes

    def go(self):
        self.connection.request("POST", TOPOLOGIES, self.cluster.topology())
        # The original looks every ten seconds.
        wait_for("a status", lambda: self.status() and self.status()[0]["nodeNum"] == self.cluster.inside, 30)
        time.sleep(4 * LATE)
        self.seen["status"] = {"status": self.status()}
        for number in range(GANGS):
            self.round(number, self.cluster.there(number), Gang(self.cluster, number))

    def status(self):
        return (self.connection.request("GET", f"{TOPOLOGIES}/default").get("status") or {}).get("detailStatus")

    def round(self, number, there, gang):
        watch = self.watches[NAMESPACE]
        for item in there:
            kube_api.create(self.connection, item)
        watch.wait("those who are there", lambda pods: len(pods) == len(there))
        time.sleep(2 * LATE)
        kube_api.create(self.connection, gang.pod_group())
        time.sleep(LATE)
        for item in gang.pods:
            kube_api.create(self.connection, item)
        mine = sorted(item["metadata"]["name"] for item in gang.pods)
        watch.wait(f"{self.who}: a word on {gang}", lambda pods: all(name in pods for name in mine) and all(
            pods[name]["spec"].get("nodeName") or schedulers.condition_of(pods[name]) for name in mine), 60)
        last = schedulers.settled(lambda: self.told(mine), QUIET)
        self.seen[f"{number}"] = {**last, "gang": f"{gang}; beside {self.described(there)}", "beside": self.beside(last["nodes"], there, gang)}
        self.remove([(item["metadata"]["name"], NAMESPACE) for item in [*gang.pods, *there]])
        self.connection.request("DELETE", f"{POD_GROUPS}/namespaces/{NAMESPACE}/podgroups/{gang.name}")

    def beside(self, nodes, there, gang):
        """So many pods that the gang likes are in the lowest domains that it has gone to."""
        lowest = {node["metadata"]["name"]: node["metadata"]["labels"].get(self.cluster.layers[-1], node["metadata"]["name"]) for node in self.cluster.nodes}
        mine = {lowest.get(node) for node in nodes.values()}
        return sum(lowest[item["spec"]["nodeName"]] in mine for item in there if gang.near and item["metadata"]["annotations"].get(SELECTOR) == gang.near)

    def described(self, there):
        free, near = dict(self.cluster.slots), collections.defaultdict(list)
        for item in there:
            node = item["spec"]["nodeName"]
            free[node] -= int(item["spec"]["containers"][0]["resources"]["requests"]["cpu"].removesuffix("m")) // SLOT
            near[item["metadata"]["annotations"].get(SELECTOR)].append(node)
        return f"free {free}, near {dict(near)}"

    def told(self, names):
        pods = self.watches[NAMESPACE].pods
        events = {(event["type"], event["action"], plain(event["note"])) for event in self.api.list(schedulers.EVENTS.format(NAMESPACE))
                  if event["reason"] == "FailedScheduling" and event["regarding"]["name"] in names}
        return {"nodes": {name: pods[name]["spec"].get("nodeName") for name in names if name in pods},
                "said": sorted({plain(condition["message"]) for condition in map(schedulers.condition_of, (pods[name] for name in names if name in pods))
                                if condition.get("status") == "False"}),
                "events": sorted(events)}


class Emptied(schedulers.Run):
    """Racks of two nodes, full of pods of the priority that is said of each, and an important gang that needs a rack: whose pods go."""

    def __init__(self, api, who, command, racks):
        self.racks = racks
        super().__init__(api, who, command, [NAMESPACE], clean)

    def nodes(self):
        return [schedulers.node(f"{rack}-{number}", f"{2 * SLOT}m", labels={"Rack": rack}) for rack in self.racks for number in range(2)]

    def go(self):
        topology = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "ClusterNetworkTopology", "metadata": {"name": "default"},
                    "spec": {"networkTopologySpec": [{"topologyLayer": "Rack", "labelKey": ["Rack"]}, {"topologyLayer": NODE, "parentTopologyLayer": "Rack"}]}}
        self.connection.request("POST", TOPOLOGIES, topology)
        wait_for("a status", lambda: (self.connection.request("GET", f"{TOPOLOGIES}/default").get("status") or {}).get("detailStatus"), 30)
        time.sleep(4 * LATE)
        there = [of.pod(f"there-{rack}-{number}-{each}", NAMESPACE, {"cpu": f"{SLOT}m"}, labels={JOB: f"job-{rack}"}, nodeName=f"{rack}-{number}", priorityClassName=priority)
                 for rack, priority in self.racks.items() for number in range(2) for each in range(2)]
        rules = json.dumps({"gatherStrategy": [{"layer": "Rack", "strategy": "MustGather"}]})
        gang = [of.pod(f"gang-0-{number}", NAMESPACE, {"cpu": f"{2 * SLOT}m"}, priorityClassName="compare-high",
                       annotations={f"{DOMAIN}/name": "gang-0", f"{DOMAIN}/min-available": "2", f"{DOMAIN}/network-topology-spec": rules}) for number in range(2)]
        gone, self.bound = rounds.put_gang(self, there, gang, 60)
        self.gone = collections.Counter(item["spec"]["nodeName"] for item in there if item["metadata"]["name"] in gone)


def plain(text):
    """Without which of the members it is about."""
    return re.sub(r"\b(gang-\d+)-\d+", r"\1", text)


def clean(api):
    api.connect().request("DELETE", TOPOLOGIES)
    rounds.clean(api, NAMESPACE)


class CompareTopology(comparison.Comparison):
    namespaces, rules = (NAMESPACE, "koordinator-system"), MET

    def compare(self, seed):
        text = of.configuration("chart", schedulers.KUBECONFIG, less=ASIDE)
        assert "enablePreemption: true" in text
        # Nobody makes room here.
        text = text.replace("enablePreemption: true", "enablePreemption: false")
        theirs, ours = schedulers.beside_the_original(text, lambda who, command: Run(self.api, seed, who, command), "--enable-network-topology-manager=true")
        differences, placed, elsewhere = [], 0, 0
        for name, upstream in theirs.seen.items():
            own, is_placed = ours.seen[name], all(upstream.get("nodes", {"": None}).values())
            placed += is_placed
            self.meet(upstream, own)
            if is_placed and all(own["nodes"].values()) and "near ''" not in upstream["gang"] and upstream["nodes"] != own["nodes"]:
                elsewhere += 1
                if own["beside"] >= upstream["beside"]:
                    continue
            if upstream != own:
                differences.append(f"{name}: {upstream.get('gang')}{schedulers.difference(upstream, own)}")
        print(f"seed {seed}: {GANGS} gangs, {placed} placed, {elsewhere} of them elsewhere, {len(differences)} differences", file=sys.stderr)
        self.check(differences)

    def meet(self, upstream, own):
        """What of the rules this look has shown."""
        text = str(upstream)
        self.met.update(each for each in MET if each in text and each in str(own))
        self.met["a multiple"] += "'podCountMultiple'" in text and all(own["nodes"].values())
        self.met["beside others"] += upstream.get("beside", 0) > 0 and own["nodes"] == upstream["nodes"]

    def preempts(self, **racks):
        """(the original, koord)."""
        rounds.make_priorities(self.api)
        self.addCleanup(rounds.delete_priorities, self.api)
        return schedulers.beside_the_original(of.configuration("chart", schedulers.KUBECONFIG, less=ASIDE),
                                              lambda who, command: Emptied(self.api, who, command, racks), "--enable-network-topology-manager=true")

    def test_a_gang_has_the_only_rack_emptied_that_may_be(self):
        theirs, ours = self.preempts(a="compare-top", b="compare-low", c="compare-top")
        self.assertEqual((theirs.gone, theirs.bound), (ours.gone, ours.bound))
        self.assertEqual((ours.gone, ours.bound), ({"b-0": 2, "b-1": 2}, {"b-0": 1, "b-1": 1}))

    def test_of_several_racks_the_cheapest_is_emptied(self):
        """The original takes what a rack costs for what it is worth."""
        theirs, ours = self.preempts(a="compare-mid", b="compare-low")
        self.assertEqual((ours.gone, ours.bound), ({"b-0": 2, "b-1": 2}, {"b-0": 1, "b-1": 1}))
        self.assertEqual((theirs.gone, theirs.bound), ({"a-0": 2, "a-1": 2}, {"a-0": 1, "a-1": 1}))


for each_seed in SEEDS:
    setattr(CompareTopology, f"test_cluster_{each_seed}", lambda self, seed=each_seed: self.compare(seed))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its schedulers end with it
    original_scheduler.main()

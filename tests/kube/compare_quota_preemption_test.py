#!/usr/bin/env python3
"""The original koord-scheduler and koord, one after the other, where quotas are full: the same pods come, and who of their quota is
asked to go, who is nominated where and what is said of them must be equal; and, once those are gone, who is bound where. Then
quotas that have borrowed what their owners want back: the same pods must be evicted.

What the original does besides is left out here and in COMPATIBILITY.md: it asks whoever preempts next in the profile, has all of one
node's pods go where that is not enough for the quota, and takes one of them away twice. Coscheduling is not in the profile of most.

usage: compare_quota_preemption_test.py      KOORDINATOR_BIN names the folder with the original's koord-scheduler and crds/
"""
import collections
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
from gang_cases import DOMAIN as GANG
from schedulers import LATE, wait_for

import kube_api
import original_scheduler

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_QUOTA_PREEMPTION_SEEDS", "42 59").split()]
ROUNDS = int(os.environ.get("KOORD_COMPARE_QUOTA_PREEMPTION_ROUNDS", "14"))
NAMESPACE, SYSTEM = "compare-quota-preemption", "koordinator-system"
DOMAIN, GATE = "quota.scheduling.koordinator.sh", "koord.test/held"
QUOTAS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{}/elasticquotas"
ASIDE = ["Coscheduling", "DeviceShare"]
BROKEN = "preemption: no corresponding pod "  # where it takes a victim away twice
SLOT = 500  # milli CPUs
# Of what has borrowed: the original does not hear of when pods started, so that of two of a priority either goes.
SIZES = {"compare-low": 1, "compare-mid": 2, "compare-high": 3, "compare-top": 1}
# A comparison that meets none of these says nothing about the rule behind it.
MET = ["Insufficient quotas, quotaName: ", "Insufficient cpu", "No preemption victims found", "somebody goes for the quota",
       "somebody goes for the node", "nobody goes", "others stay", "one may not go", "bound at once"]


class Cluster:
    """Some nodes, quotas that are sure of all that they may have, and for each round who is there and who comes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.slots = {f"n{i}": self.random.randint(5, 8) for i in range(self.random.randint(2, 3))}
        self.nodes = [schedulers.node(name, f"{slots * SLOT}m", labels={"pool": "p"}) for name, slots in self.slots.items()]
        whole = sum(self.slots.values())
        self.quotas = {"team-a": whole * 2 // 5, "team-b": whole // 4}
        # What is no quota's; of more the quotas would not get what they are sure of.
        self.others = whole - sum(self.quotas.values())

    def of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def pod(self, name, slots, priority, labels=None, **spec):
        item = of.pod(name, NAMESPACE, {"cpu": f"{slots * SLOT}m"}, labels=labels, priorityClassName=priority, **spec)
        # Whoever is asked to go stays until the test lets him go.
        item["spec"]["terminationGracePeriodSeconds"] = 30
        return item

    def round(self, number):
        there, left, used, limits = [], dict(self.slots), collections.Counter(), {**self.quotas, "": self.others}
        for _ in range(self.of(8, 16, 24)):
            node, quota = self.of(*sorted(self.slots)), self.of("team-a", "team-a", "team-b", "")
            size = self.random.randint(1, 2)
            if size > left[node] or used[quota] + size > limits[quota]:
                continue
            labels = {f"{DOMAIN}/name": quota} if quota else {}
            if self.chance(0.15):
                labels[f"{DOMAIN}/preemptible"] = "false"
            there.append(self.pod(f"there-{number}-{len(there)}", size, self.of("compare-low", "compare-mid", "compare-mid", "compare-high"), labels, nodeName=node))
            left[node] -= size
            used[quota] += size
        return there, Preemptor(self, number, {quota: most - used[quota] for quota, most in self.quotas.items()}, left)


class Preemptor:
    """A pod of a quota. It waits at a gate until its quota has counted it: the original would decide before."""

    group = None

    def __init__(self, cluster, number, left, free):
        self.name, self.quota, self.slots = f"alone-{number}", cluster.of("team-a", "team-a", "team-b", ""), cluster.of(1, 1, 2, 3)
        self.priority, self.never = cluster.of("compare-mid", "compare-high", "compare-top", "compare-top"), cluster.chance(0.1)
        self.node = cluster.of(*sorted(free)) if cluster.chance(0.6) else None
        self.fits_quota = not self.quota or self.slots <= left[self.quota]
        self.fits_node = self.slots <= (free[self.node] if self.node else max(free.values()))
        priority = rounds.never(self.priority) if self.never else self.priority
        self.pods = [cluster.pod(f"{self.name}-0", self.slots, priority, {f"{DOMAIN}/name": self.quota} if self.quota else {}, nodeSelector={"kubernetes.io/hostname": self.node} if self.node else {},
                                 schedulingGates=[{"name": GATE}])]

    def __repr__(self):
        return (f"{self.slots} slots of {self.quota or 'no quota'} on {self.node or 'any node'}, {self.priority}, {'never' if self.never else 'preempts'}, "
                f"{'fits' if self.fits_quota else 'too much'} by quota, {'fits' if self.fits_node else 'too much'} by nodes")


def quota(name, least, most):
    return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {f"{DOMAIN}/is-parent": "false"}},
            "spec": {"min": {"cpu": f"{least * SLOT}m"}, "max": {"cpu": f"{most * SLOT}m"}}}


class Run(rounds.Run):
    def begin(self):
        for name, most in self.cluster.quotas.items():
            self.connection.request("POST", QUOTAS.format(NAMESPACE), quota(name, most, most))
        time.sleep(2 * LATE)


class Borrowed(schedulers.Run):
    """A quota that uses what another one does not, until that one's pods come: who is evicted."""

    def __init__(self, api, who, command, seed):
        self.random = random.Random(seed)
        super().__init__(api, who, command, [NAMESPACE], clean)

    def nodes(self):
        return [schedulers.node("n0", f"{20 * SLOT}m", labels={"pool": "p"})]

    def go(self):
        make = Cluster(0).pod
        for number in range(2):
            least = self.random.randint(4, 12)
            for name, part in (("borrows", least), ("lends", 20 - least)):
                self.connection.request("POST", QUOTAS.format(NAMESPACE), quota(name, part, 20))
            time.sleep(2 * LATE)
            there, used = [], 0
            while used < 18:
                priority = self.random.choice(sorted(SIZES))
                size, labels = SIZES[priority], {f"{DOMAIN}/name": "borrows", **({f"{DOMAIN}/preemptible": "false"} if self.random.random() < 0.1 else {})}
                there.append(make(f"there-{number}-{len(there)}", size, priority, labels, nodeName="n0"))
                # The original evicts for what is on its way already.
                there[-1]["spec"]["terminationGracePeriodSeconds"] = 0
                used += size
            watch = self.watches[NAMESPACE]
            for item in there:
                kube_api.create(self.connection, item)
            wants = [make(f"wants-{number}-{each}", 4, "compare-low", {f"{DOMAIN}/name": "lends"}, schedulingGates=[{"name": GATE}]) for each in range(5)]
            for item in wants:
                kube_api.create(self.connection, item)
            wait_for(f"{self.who}: somebody is evicted", lambda: rounds.gone(watch, there), 60)
            last = schedulers.settled(lambda: rounds.gone(watch, there), 12)  # both look again meanwhile
            evicted = collections.Counter(item["spec"]["priorityClassName"] for item in there if item["metadata"]["name"] in last)
            self.seen[f"{number}"] = {"evicted": dict(evicted), "there": rounds.described(there), "least": least}
            self.remove([(item["metadata"]["name"], NAMESPACE) for item in [*there, *wants]])
            self.connection.request("DELETE", QUOTAS.format(NAMESPACE))
            time.sleep(4 * LATE)


class RefusedGang(schedulers.Run):
    """A quota that is full of unimportant pods, and an important gang of three that comes: how many go, and how many of it are bound."""

    def __init__(self, api, who, command):
        super().__init__(api, who, command, [NAMESPACE], clean)

    def nodes(self):
        return [schedulers.node("n0", f"{20 * SLOT}m", labels={"pool": "p"})]

    def go(self):
        make, labels = Cluster(0).pod, {f"{DOMAIN}/name": "team"}
        self.connection.request("POST", QUOTAS.format(NAMESPACE), quota("team", 6, 6))
        time.sleep(2 * LATE)
        there = [make(f"there-{number}", 1, "compare-low", labels, nodeName="n0") for number in range(6)]
        gang = [make(f"gang-{number}", 1, "compare-high", labels) for number in range(3)]
        for item in gang:
            item["metadata"]["annotations"] = {f"{GANG}/name": "gang", f"{GANG}/min-available": "3"}
        gone, bound = rounds.put_gang(self, there, gang, 120)
        self.gone, self.bound = len(gone), sum(pods for node, pods in bound.items() if node)


def clean(api):
    for namespace in (NAMESPACE, SYSTEM):
        api.connect().request("DELETE", QUOTAS.format(namespace))
    rounds.clean(api, NAMESPACE)


class CompareQuotaPreemption(comparison.Comparison):
    namespaces, rules = (NAMESPACE, SYSTEM), MET

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rounds.make_priorities(cls.api)

    @classmethod
    def tearDownClass(cls):
        rounds.delete_priorities(cls.api)

    def compare(self, seed):
        theirs, ours = schedulers.beside_the_original(of.configuration("chart", schedulers.KUBECONFIG, less=ASIDE),
                                                      lambda who, command: Run(self.api, who, command, Cluster(seed), NAMESPACE, ROUNDS, clean))
        differences, vain = [], 0
        for name, upstream in theirs.seen.items():
            own = ours.seen[name]
            for seen in (upstream, own):
                seen["said"], seen["events"] = ({shortened(each) for each in seen[key]} for key in ("said", "events"))
            keys = rounds.differing(upstream, own)
            self.meet(upstream, own)
            if None not in {**upstream["at once"], **own["at once"]}:
                keys = []  # any node with room
            if "bound" in keys and None not in {**upstream["bound"], **own["bound"]} and own["preemptor"].fits_node:
                keys.remove("bound")  # the original tries it meanwhile, and forgets where it was nominated
            if upstream["victims"] and None in upstream["bound"] and (not own["victims"] or None not in own["bound"]):
                vain, keys = vain + 1, []
            if BROKEN in str(upstream["said"]) and not own["victims"]:
                keys = []
            if keys:
                differences.append(rounds.differences(name, upstream, own, keys))
        print(f"seed {seed}: {ROUNDS} rounds, {len(differences)} differences; the original evicted for {vain} pods in vain", file=sys.stderr)
        self.check(differences)

    def meet(self, upstream, own):
        """What of the rules this round has shown."""
        preemptor, emptied = own["preemptor"], rounds.emptied(own)
        self.met.update(each for each in MET if each in str(upstream["said"]) and each in str(own["said"]))
        self.met["somebody goes for the quota"] += bool(emptied) and not preemptor.fits_quota
        self.met["somebody goes for the node"] += bool(emptied) and preemptor.fits_quota
        self.met["nobody goes"] += not emptied and None in own["bound"]
        self.met["others stay"] += bool(emptied) and any(row.split()[1] in emptied and row.split()[0] not in own["victims"] for row in own["there"])
        self.met["one may not go"] += bool(emptied) and any("preemptible" in row and row.split()[1] in emptied for row in own["there"])
        self.met["bound at once"] += None not in own["at once"]

    def test_a_gang_that_its_quota_refuses(self):
        """In the original pod after pod has one of its quota go, until the gang is whole or can have no more; in koord all go at once."""
        text = of.configuration("manifest", schedulers.KUBECONFIG, less=["DeviceShare"])
        theirs, ours = schedulers.beside_the_original(text, lambda who, command: RefusedGang(self.api, who, command))
        self.assertEqual((ours.gone, ours.bound), (3, 3))
        self.assertEqual((theirs.gone, theirs.bound), (3, 3))

    def test_borrowed(self):
        text = of.configuration("chart", schedulers.KUBECONFIG, less=ASIDE)
        old = "quotaGroupNamespace: koordinator-system"
        assert old in text
        text = text.replace(old, f"{old}\n          monitorAllQuotas: true\n          delayEvictTime: 6s\n          revokePodInterval: 1s")
        theirs, ours = schedulers.beside_the_original(text, lambda who, command: Borrowed(self.api, who, command, 7))
        differences = [f"{name}: of {seen['least']} slots\n  {seen['evicted']}\n  {ours.seen[name]['evicted']}" + "".join(f"\n    {each}" for each in seen["there"])
                       for name, seen in theirs.seen.items() if seen != ours.seen[name]]
        self.check(differences)
        self.assertTrue(any(len(each["evicted"]) > 1 for each in theirs.seen.values()))


def shortened(said):
    """Without the nodes that the original names one by one where nobody can be preempted."""
    *head, text = said
    names = re.findall(r"1 No victims found on node \S+ for preemptor pod [^ .]+(?:, |\.)", text)
    if names:
        dot = "." if names[-1].endswith(".") else ", "
        text = text.replace("".join(names), f"{len(names)} No preemption victims found for incoming pod{dot}")
    return (*head, text)


for each_seed in SEEDS:
    setattr(CompareQuotaPreemption, f"test_cluster_{each_seed}", lambda self, seed=each_seed: self.compare(seed))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its schedulers end with it
    original_scheduler.main()

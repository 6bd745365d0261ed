#!/usr/bin/env python3
"""The original koord-scheduler and koord, one after the other, under the chart's profile (enablePreemption) on the same full nodes:
the same pods and gangs come, and who is asked to go, with which condition and event, who is nominated where, and what is said of
the pods must be equal; and, once those who were asked are gone, who is bound where. Nobody ends here by himself, so that what is
between can be seen.

All pods of a preemptor are alike, so that which of them gets which node is nobody's business: nodes are counted, and members are
called by their gang. The original forgets where it has placed a gang's other members: it puts all onto the node that costs the least,
and has pods go in vain where that is too small. So a gang that needs several nodes is judged by itself: either all of it is bound
in the end, or nobody has gone. Disruption budgets, which the original ignores, are gang_preemption_test.cpp's.

usage: compare_job_preemption_test.py      KOORDINATOR_BIN names the folder with the original's koord-scheduler and crds/
"""
import os
import random
import signal
import sys

import comparison
import preemption_rounds as rounds
import reservations as of
import schedulers
from gang_cases import DOMAIN, LABEL

import original_scheduler

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_PREEMPTION_SEEDS", "21 22").split()]
ROUNDS = int(os.environ.get("KOORD_COMPARE_PREEMPTION_ROUNDS", "14"))
NAMESPACE = "compare-preemption"
ASIDE = ["DeviceShare", "ElasticQuota"]  # which say something of every pod that finds no node
JOB = "scheduling.koordinator.sh/questioned-object-key"
# All pods of a job are as important as one another: in the original it costs as much as whichever of them comes first.
JOBS = {"job-a": "compare-low", "job-b": "compare-mid", "job-c": "compare-high", "": "compare-mid"}
KEPT = [{"scheduling.koordinator.sh/disable-preemptible": "true"}, {"quota.scheduling.koordinator.sh/preemptible": "false"}]
SLOT = 500  # milli CPUs
# A comparison that meets none of these says nothing about the rule behind it.
MET = ["preemption: 0/", "no potential victims", "preemption: not eligible due to preemptionPolicy=Never.", "with message preempt success",
       "alone preempts", "gang preempts", "gang, several nodes", "nobody goes", "partly free", "kept by a label", "bound at once"]


class Cluster:
    """Some nodes, and for each round who is there and who comes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.slots = {f"n{i}": self.random.randint(3, 6) for i in range(self.random.randint(3, 4))}
        self.nodes = [schedulers.node(name, f"{slots * SLOT}m", labels={"pool": "p"}) for name, slots in self.slots.items()]

    def of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def pod(self, name, slots, priority, labels=None, annotations=None, **spec):
        item = of.pod(name, NAMESPACE, {"cpu": f"{slots * SLOT}m", "memory": "64Mi"}, labels=labels, annotations=annotations,
                      priorityClassName=priority, **spec)
        # Whoever is asked to go stays until the test lets him go.
        item["spec"]["terminationGracePeriodSeconds"] = 30
        return item

    def round(self, number):
        """(those who are there, those who come and what they are)."""
        there, most = [], self.of(1, 2, 2)
        for node, slots in self.slots.items():
            left = slots - self.of(0, 0, 1, 1)
            while left > 0:
                size = min(left, self.random.randint(1, most))
                job = self.of("job-a", "job-b", "job-c", "", "")
                labels = {JOB: job} if job else {}
                if self.chance(0.2):
                    labels[LABEL] = self.of("old-gang-a", "old-gang-b")
                if self.chance(0.15):
                    labels.update(self.of(*KEPT))
                there.append(self.pod(f"there-{number}-{len(there)}", size, JOBS[job], labels, nodeName=node))
                left -= size
        return there, Preemptor(self, number)


class Preemptor:
    """A pod, or a strict gang of like ones that needs all of them."""

    def __init__(self, cluster, number):
        self.members = cluster.of(1, 1, 2, 3, 4, 5)
        self.gang = self.members > 1 or cluster.chance(0.2)
        self.name = f"{'gang' if self.gang else 'alone'}-{number}"
        self.slots, self.priority = cluster.of(1, 1, 1, 2, 3), cluster.of("compare-low", "compare-mid", "compare-high", "compare-high", "compare-top", "compare-top")
        self.never = cluster.chance(0.2)
        labels, annotations, self.group = {}, {}, None
        if self.gang and cluster.chance(0.5):
            labels[LABEL] = self.name
            self.group = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"namespace": NAMESPACE, "name": self.name},
                          "spec": {"minMember": self.members, "scheduleTimeoutSeconds": 60}}
        elif self.gang:
            annotations = {f"{DOMAIN}/name": self.name, f"{DOMAIN}/min-available": str(self.members)}
        priority = rounds.never(self.priority) if self.never else self.priority
        self.pods = [cluster.pod(f"{self.name}-{member}", self.slots, priority, labels, annotations, nodeSelector={"pool": "p"})
                     for member in range(self.members)]

    def __repr__(self):
        return f"{'gang' if self.gang else 'alone'}, {self.members} of {self.slots} slots, {self.priority}, {'never' if self.never else 'preempts'}"


class CompareJobPreemption(comparison.Comparison):
    namespaces, rules = (NAMESPACE, "koordinator-system"), MET

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rounds.make_priorities(cls.api)

    @classmethod
    def tearDownClass(cls):
        rounds.delete_priorities(cls.api)

    def run_with(self, who, command, seed):
        return rounds.Run(self.api, who, command, Cluster(seed), NAMESPACE, ROUNDS, lambda api: rounds.clean(api, NAMESPACE))

    def compare(self, seed):
        theirs, ours = schedulers.beside_the_original(of.configuration("chart", schedulers.KUBECONFIG, less=ASIDE),
                                                      lambda who, command: self.run_with(who, command, seed))
        differences, vain = [], 0
        for name, upstream in theirs.seen.items():
            own, preemptor = ours.seen[name], upstream["preemptor"]
            keys = rounds.differing(upstream, own)
            self.meet(upstream, own)
            if None not in {**upstream["at once"], **own["at once"]}:
                keys = []  # any node with room
            if preemptor.members > 1 and len(rounds.emptied(own)) != 1 and upstream["victims"]:
                vain += None in upstream["bound"]
                keys = [] if (None not in own["bound"] if own["victims"] else len(own["bound"]) == 1) else ["bound", "victims"]
            if set(own["victims"]) < set(upstream["victims"]) and None not in own["bound"]:
                # Members that it tries meanwhile have others go, too, though there will be room enough.
                vain, keys = vain + 1, [key for key in keys if key not in ("victims", "ending", "preempted", "nominated", "bound")]
            if keys:
                differences.append(rounds.differences(name, upstream, own, keys))
        print(f"seed {seed}: {ROUNDS} rounds, {len(differences)} differences; the original evicted some for {vain} gangs in vain", file=sys.stderr)
        self.check(differences)

    def meet(self, upstream, own):
        """What of the rules this round has shown."""
        preemptor, emptied = own["preemptor"], rounds.emptied(own)
        kind = "gang" if preemptor.gang else "alone"
        self.met.update(each for each in MET if each in str(upstream["said"]) and each in str(own["said"]))
        self.met[f"{kind} preempts"] += len(emptied) == 1
        self.met["gang, several nodes"] += len(emptied) > 1
        self.met["nobody goes"] += not emptied and None in own["bound"]
        self.met["partly free"] += bool(emptied) and len(own["nominated"]) > len(emptied)
        self.met["kept by a label"] += bool(emptied) and any("preemptible" in row for row in own["there"] if row.split()[1] in emptied)
        self.met["bound at once"] += None not in own["at once"]


for each_seed in SEEDS:
    setattr(CompareJobPreemption, f"test_cluster_{each_seed}", lambda self, seed=each_seed: self.compare(seed))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its schedulers end with it
    original_scheduler.main()

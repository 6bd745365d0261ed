#!/usr/bin/env python3
"""The same pods on the same random clusters, asked of kube-scheduler and of koord: the same verdict and message.

A probe is created twice, once for each scheduler. What fits nowhere disturbs nobody, so those are asked at once;
what will be bound is asked alone, and is gone before the next one is created. The placement checker, which shares
no code with either, is the third opinion. kube-scheduler logs its final scores: koord's engine is asked for the same
cluster in a process of its own (scheduler_scores), and chooses a node that they make a best one.
"""
import collections
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import schedulers
from schedulers import OURS, UPSTREAM, wait_for

import kube_api
import kube_version
from check_placement import Cluster, pod_requests
from random_cluster import PLACED, CrowdedCluster, RandomCluster, SocialCluster, runtime_class

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_SEEDS", "1 2 3").split()]
SOCIAL_SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_SOCIAL_SEEDS", "11 12 13").split()]
CROWDED_SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_CROWDED_SEEDS", "21 22").split()]
PROBES = int(os.environ.get("KOORD_COMPARE_PROBES", "60"))
NAMESPACE, NEIGHBOURS = "compare", "compare-neighbours"
SCORES = os.environ.get("KOORD_SCHEDULER_SCORES", os.path.join(schedulers.HERE, "../../build/tests/kube/scheduler_scores"))
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
REPLICA_SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets"
# A comparison that meets none of these says nothing about the rule behind it.
REASONS = [
    "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage", "Insufficient example.com/gpu",
    "Insufficient hugepages-2Mi", "Too many pods", "node(s) had untolerated taint(s)", "node(s) were unschedulable",
    "node(s) didn't match Pod's node affinity/selector", "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "node(s) didn't have free ports for the requested pod ports",
]
SOCIAL_REASONS = [
    "node(s) didn't match pod topology spread constraints",
    "node(s) didn't match pod topology spread constraints (missing required label)",
    "node(s) didn't match pod affinity rules", "node(s) didn't match pod anti-affinity rules",
    "node(s) didn't satisfy existing pods anti-affinity rules",
]


# What kube-scheduler logs of its scores at its highest verbosity.
FINAL_SCORE = re.compile(r'"Calculated node\'s final score for pod" pod="[^"/]+/([^"]+)" node="([^"]+)" score=(-?\d+)')


def twin(probe, scheduler):
    item = copy.deepcopy(probe)
    item["metadata"]["name"] += "-" + ("upstream" if scheduler == UPSTREAM else "koord")
    item["spec"]["schedulerName"] = scheduler
    return item


def outcome(item):
    """("scheduled", node) or ("Unschedulable", message) of a pod that nobody makes room for; else None."""
    if item is None or (item.get("status") or {}).get("nominatedNodeName") and not item["spec"].get("nodeName"):
        return None
    if item["spec"].get("nodeName"):
        return "scheduled", item["spec"]["nodeName"]
    condition = schedulers.condition_of(item)
    return (condition["reason"], condition["message"]) if condition.get("status") == "False" else None


class Compare(unittest.TestCase):
    engine_arguments = []
    FEWEST_REFUSED = PROBES // 10

    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(cls.api, NAMESPACE, NEIGHBOURS)
        try:
            cls.api.load([runtime_class()])
        except kube_api.ApiError as error:
            if error.status != 409:
                raise
        cls.connection = cls.api.connect()
        cls.met = collections.Counter()
        cls.processes = [schedulers.kube_scheduler("--leader-elect=false", "--vmodule=schedule_one=10", *schedulers.without_batches()),
                         cls.as_kube_scheduler()]

    @classmethod
    def as_kube_scheduler(cls):
        process, file = schedulers.koord_as_kube_scheduler()
        cls.addClassCleanup(file.close)
        return process

    @classmethod
    def tearDownClass(cls):
        for process in cls.processes:
            process.end()
        cls.clean()

    @classmethod
    def clean(cls):
        for path in (SERVICES, REPLICA_SETS):
            cls.connection.request("DELETE", path)
        schedulers.clean(cls.api, [NAMESPACE, NEIGHBOURS])

    def setUp(self):
        self.clean()
        self.differences = []
        self.scheduled = self.ranked = self.unique = 0

    def tearDown(self):
        for process in self.processes:
            process.alive()

    def delete(self, name):
        schedulers.delete_now(self.connection, f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")

    def judge(self, probe, expected, upstream, ours):
        """One probe's two verdicts; `expected` is the checker's."""
        def differ(what):
            self.differences.append(f"{probe['metadata']['name']}: {what}\n  checker: {expected}\n"
                                    f"  kube-scheduler: {upstream}\n  koord: {ours}\n  {probe['spec']}")

        self.scheduled += upstream[0] == "scheduled"
        if not upstream[0] == ours[0] == expected:
            return differ("another verdict")
        if upstream[0] == "scheduled":
            return None
        if upstream[1] != ours[1]:
            return differ("another message")
        self.met.update(reason for reason in REASONS + SOCIAL_REASONS if reason in ours[1])
        return None

    def judge_places(self, asked):
        """kube-scheduler's own scores are koord's, and make koord's node a best one. asked: [(probe, as stored, their
        nodes)]"""
        scores = collections.defaultdict(dict)
        for name, node, score in FINAL_SCORE.findall(self.processes[0].output()):
            scores[name][node] = int(score)
        own = self.engine_scores([stored for _, stored, _ in asked])
        for (probe, stored, (upstream, ours)), engine in zip(asked, own):
            ranks = scores.get(stored["metadata"]["name"], {upstream: 0})  # one node: not scored
            best = {node for node, score in ranks.items() if score == max(ranks.values())}
            self.assertIn(upstream, best, "kube-scheduler's log has been misread")
            self.ranked += len(ranks) > 1
            self.unique += len(ranks) > 1 and len(best) == 1
            if ours not in best:
                self.differences.append(f"{probe['metadata']['name']}: koord chose {ours}, of\n  {ranks}\n  "
                                        f"{probe['spec']}")
            if len(ranks) > 1 and engine != ranks:
                other = {node: (ranks.get(node), engine.get(node)) for node in {**ranks, **engine}
                         if ranks.get(node) != engine.get(node)}
                self.differences.append(f"{probe['metadata']['name']}: other scores (kube-scheduler's, koord's): {other}"
                                        f"\n  {probe['spec']}")

    def engine_scores(self, probes):
        """Of each probe {node: koord's final score}."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            lines = [*self.stored, "---", *(json.dumps({"kind": "Pod", **probe}) for probe in probes)]
            file.write("\n".join(lines) + "\n")
            file.flush()
            answer = subprocess.run([SCORES, file.name, *self.engine_arguments], check=True, capture_output=True, text=True)
        return [json.loads(line) for line in answer.stdout.splitlines()]

    def judge_refusal(self, probe, watch):
        """What else is written about a pod that fits nowhere."""
        names = [twin(probe, scheduler)["metadata"]["name"] for scheduler in (UPSTREAM, OURS)]
        conditions = []
        for name in names:
            condition = dict(schedulers.condition_of(watch.pods[name]))
            conditions.append({key: value for key, value in condition.items()
                               if key not in ("message", "lastTransitionTime")})
        self.assertEqual(*conditions, probe["metadata"]["name"])
        events = [self.refusals[name] for name in names]
        for key in ("type", "reason", "action", "note"):
            self.assertEqual(events[0][key], events[1][key], names)
        self.assertEqual([each["reportingController"] for each in events], [UPSTREAM, OURS])

    def refusal_events(self, names):
        events = self.api.list(schedulers.EVENTS.format(NAMESPACE))
        found = {event["regarding"]["name"]: event for event in events if event["reason"] == "FailedScheduling"}
        return found if all(name in found for name in names) else None

    def prepare(self, seed, cluster, watch):
        """Creates the cluster; both schedulers know all of it afterwards."""
        placed = [cluster.placed(f"placed-{index}", NAMESPACE) for index in range(PLACED)]
        self.api.load(cluster.objects())
        self.api.load([*cluster.nodes, *placed])
        # Nodes are told in the order of their creation, and so are pods: who binds a late pod to a late node has
        # heard of the others.
        last = f"last-{seed}"
        kube_api.create(self.connection, schedulers.node(last, "1", "1Gi"))
        for scheduler in (UPSTREAM, OURS):
            name = f"late-{scheduler}"
            kube_api.create(self.connection, schedulers.pod(name, scheduler, NAMESPACE,
                                                            affinity=schedulers.only_on(last)))
            watch.wait_scheduled(name)
            self.delete(name)
            watch.wait_gone([name])
        stored = [pod for namespace in (NAMESPACE, NEIGHBOURS)
                  for pod in self.api.list(f"/api/v1/namespaces/{namespace}/pods")]
        self.assertEqual(len(stored), PLACED)
        nodes = self.api.list("/api/v1/nodes")
        kinds = {"Node": nodes, "Pod": stored, "Namespace": self.api.list("/api/v1/namespaces"),
                 "Service": self.api.list("/api/v1/services"), "ReplicaSet": self.api.list("/apis/apps/v1/replicasets")}
        self.stored = [json.dumps({"kind": kind, **item}) for kind, items in kinds.items() for item in items]
        return Cluster(nodes, stored)

    def expectation(self, checker, probe):
        """With what the API server fills in, so from a dry run."""
        whole = self.connection.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", probe)
        requests = {**pod_requests(whole), "pods": 1}
        fits = any(checker.fits(whole, name, requests) for name in checker.nodes)
        return "scheduled" if fits else "Unschedulable"

    def compare(self, seed):
        watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(watch.close)
        cluster = RandomCluster(seed)
        checker = self.prepare(seed, cluster, watch)
        # Names of their own in each cluster: kube-scheduler's log has them all.
        probes = [cluster.probe(f"probe-{seed}-{index}", NAMESPACE, OURS) for index in range(PROBES)]
        expected = [self.expectation(checker, probe) for probe in probes]
        hopeless = [probe for probe, what in zip(probes, expected) if what == "Unschedulable"]
        hopeful = [probe for probe, what in zip(probes, expected) if what == "scheduled"]

        pairs = [(probe, twin(probe, UPSTREAM), twin(probe, OURS)) for probe in hopeless]
        self.api.load([each for pair in pairs for each in pair[1:]])
        for probe, upstream, ours in pairs:
            self.judge(probe, "Unschedulable", *(watch.verdict(each["metadata"]["name"]) for each in (upstream, ours)))
        names = [each["metadata"]["name"] for pair in pairs for each in pair[1:]]
        self.refusals = wait_for("events of all refusals", lambda: self.refusal_events(names))
        for probe in hopeless:
            self.judge_refusal(probe, watch)
        for pair in pairs:
            for each in pair[1:]:
                self.delete(each["metadata"]["name"])
        self.ask_alone(hopeful, watch)
        self.conclude(seed, probes, watch)

    def ask_alone(self, probes, watch, expected="scheduled"):
        """One after the other: what is bound, or waits with affinity, is seen by others. `expected`: the checker's."""
        places = []
        for probe in probes:
            verdicts, stored = [], []
            for scheduler in (UPSTREAM, OURS):
                item = twin(probe, scheduler)
                stored.append(kube_api.create(self.connection, item))
                verdicts.append(watch.verdict(item["metadata"]["name"]))
                self.delete(item["metadata"]["name"])
                watch.wait_gone([item["metadata"]["name"]])
            self.judge(probe, expected or verdicts[0][0], *verdicts)
            if all(verdict[0] == "scheduled" for verdict in verdicts):
                places.append((probe, stored[0], [verdict[1] for verdict in verdicts]))
        self.judge_places(places)

    def compare_social(self, seed):
        """With what the checker knows nothing of, so that nobody can say before which probes fit."""
        watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(watch.close)
        cluster = SocialCluster(seed, [NAMESPACE, NEIGHBOURS])
        self.prepare(seed, cluster, watch)
        probes = [cluster.probe(f"probe-{seed}-{index}", NAMESPACE, OURS) for index in range(PROBES)]
        self.ask_alone(probes, watch, None)
        self.conclude(seed, probes, watch)

    def compare_preemption(self, seed, probes=20):
        """Whom each sends away for a pod that fits nowhere, and where the pod goes; the crowd is whole again after each."""
        watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(watch.close)
        cluster = CrowdedCluster(seed)
        classes = cluster.priority_classes()
        for item in classes:
            self.addCleanup(self.connection.request, "DELETE",
                            f"/apis/scheduling.k8s.io/v1/priorityclasses/{item['metadata']['name']}")
        self.api.load(classes)
        self.addCleanup(self.connection.request, "DELETE", BUDGETS)
        for budget, allowed in cluster.budgets(NAMESPACE):
            made = kube_api.create(self.connection, budget)
            made["status"] = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
                              "observedGeneration": 1}
            self.connection.request("PUT", f"{BUDGETS}/{budget['metadata']['name']}/status", made)
        crowd = {item["metadata"]["name"]: item for item in cluster.crowd(NAMESPACE)}
        self.api.load([*cluster.nodes, *crowd.values()])
        preempted = 0
        for index in range(probes):
            probe = cluster.probe(f"probe-{seed}-{index}", NAMESPACE, OURS)
            answers = []
            for scheduler in (UPSTREAM, OURS):
                item = twin(probe, scheduler)
                kube_api.create(self.connection, item)
                name = item["metadata"]["name"]
                where = watch.wait(f"the end of {name}", lambda pods: outcome(pods.get(name)))
                gone = sorted(set(crowd) - set(watch.pods))
                costs = sorted((int(crowd[each]["spec"]["priorityClassName"].split("-")[1]) for each in gone), reverse=True)
                answers.append((where, gone, costs))
                self.delete(name)
                watch.wait_gone([name])
                for each in gone:
                    kube_api.create(self.connection, crowd[each])
                watch.wait("the whole crowd", lambda pods: set(crowd) <= set(pods))
            (upstream, away, costs), (ours, own_away, own_costs) = answers
            preempted += bool(away)
            # Of nodes that cost the same either may be chosen, but not other pods of one node.
            alike = costs == own_costs and upstream[0] == ours[0]
            if upstream[0] != "scheduled":
                alike = alike and upstream == ours
            elif upstream == ours:
                alike = alike and away == own_away
            if not alike:
                self.differences.append(f"{probe['metadata']['name']}:\n  kube-scheduler: {answers[0]}\n  "
                                        f"koord: {answers[1]}\n  {probe['spec']}")
        self.clean()
        watch.wait("an empty namespace", lambda pods: not pods)
        print(f"seed {seed}: {probes} probes in a crowd, {preempted} sent somebody away, {len(self.differences)} differences",
              file=sys.stderr)
        self.assertEqual(self.differences, [], "\n" + "\n".join(self.differences))
        self.assertGreater(preempted, probes // 5)

    def conclude(self, seed, probes, watch):
        self.clean()
        watch.wait("an empty namespace", lambda pods: not pods)
        # A comparison in which all pods fit, or none, would say little.
        print(f"seed {seed}: {len(probes)} probes, {self.scheduled} scheduled, {self.ranked} of them ranked, "
              f"{self.unique} with one best node, {len(self.differences)} differences", file=sys.stderr)
        self.assertEqual(self.differences, [], "\n" + "\n".join(self.differences))
        self.assertGreater(self.scheduled, PROBES // 10)
        self.assertGreater(PROBES - self.scheduled, self.FEWEST_REFUSED)
        self.assertGreater(self.unique, 0)

    def test_a_pod_with_a_node_name_is_left_alone(self):
        self.api.load([schedulers.node("lonely")])
        watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(watch.close)
        names = []
        for scheduler in (UPSTREAM, OURS):
            for where in ("lonely", "elsewhere"):
                names.append(f"named-{where}-{scheduler}")
                kube_api.create(self.connection, schedulers.pod(names[-1], scheduler, NAMESPACE, nodeName=where))
            # When this one is bound, the ones before it have been seen.
            kube_api.create(self.connection, schedulers.pod(f"free-{scheduler}", scheduler, NAMESPACE))
            watch.verdict(f"free-{scheduler}")
        for name in names:
            self.assertEqual(schedulers.condition_of(watch.pods[name]), {}, name)
        self.clean()
        watch.wait("an empty namespace", lambda pods: not pods)

    def test_every_rule_has_been_met(self):
        wanted = (REASONS if SEEDS else []) + (SOCIAL_REASONS if SOCIAL_SEEDS else [])
        self.assertEqual([reason for reason in wanted if not self.met[reason]], [])


for each_seed in SEEDS:
    setattr(Compare, f"test_cluster_{each_seed}", lambda self, seed=each_seed: self.compare(seed))
for each_seed in SOCIAL_SEEDS:
    setattr(Compare, f"test_cluster_social_{each_seed}", lambda self, seed=each_seed: self.compare_social(seed))
for each_seed in CROWDED_SEEDS:
    setattr(Compare, f"test_preemption_{each_seed}", lambda self, seed=each_seed: self.compare_preemption(seed))


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER)
    kube_version.skip_beside_another_scheduler()
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""The original koord-scheduler and koord on random clusters with reservations: one after the other each places them, keeps them
and gives them to the same pods, under both of Koordinator's shipped profiles. The same verdicts, whole messages, nodes (where
one is the best), annotations, events, and the same status of each Reservation at each step. Host ports are reservation_test.py's,
since the original forgets them. Needs the original's program; no part of CI.

usage: compare_reservation_test.py       KOORDINATOR_BIN names the folder with `koord-scheduler` and `crds/`
"""
import json
import os
import random
import re
import sys
import time

import comparison
import compare_scheduler
import reservations as of
import schedulers
from reservations import DOMAIN, affinity, pod, reservation, said
from schedulers import wait_for

import kube_api
import original_scheduler
from check_placement import amounts, pod_requests

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_RESERVATION_SEEDS", "51 52 53 54").split()]
PROBES = int(os.environ.get("KOORD_COMPARE_RESERVATION_PROBES", "60"))
NAMESPACE, SCHEDULER = "compare-reservations", "koord-scheduler"
GPU, TIER = "example.com/gpu", "tier"
# They say something of every pod that finds no node, and have comparisons of their own.
ASIDE = ["Coscheduling", "ElasticQuota", "DeviceShare"]
LATE = 0.4  # seconds in which a scheduler hears of what the API server has said
UIDS = ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"]
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
# A comparison that meets none of these says nothing about the rule behind it.
REASONS = ["Reservation(s) Insufficient cpu", "by node", "no reservations match reservation affinity", "didn't match affinity rules",
           "is unschedulable", "had untolerated taint {k: v}", "is not exact matched", "didn't match the requested reservation name",
           "exactly matches the requested reservation name", "for node reason that", "requested: "]


def ordered(text):
    """Without what differs from run to run of the original: its order of some reasons, and uids."""
    parts = UID.sub("UID", text or "").split(". ")
    return ". ".join(", ".join(sorted(part.split(", "))) if "Reservation(s)" in part else part for part in parts)


class Cluster:
    """Some nodes, reservations of every kind on them, pods that have some of them, and others that ask for them."""

    def __init__(self, seed, nodes=5, kept=14):
        self.random = random.Random(seed)
        self.nodes = [schedulers.node(f"n{i}", self.of("6", "8", "12"), self.of("8Gi", "16Gi"), labels={TIER: self.of("x", "y")},
                                      more={GPU: "4"} if self.chance(0.5) else None) for i in range(nodes)]
        self.names = [node["metadata"]["name"] for node in self.nodes]
        self.orders = self.random.sample(range(1, 100), kept)  # of two that are alike the original takes either
        self.policies = {name: self.of("", "Aligned", "Aligned") for name in self.names}
        self.kept = [self.reservation(f"r{i:02}") for i in range(kept)]

    def of(self, *what):
        return self.random.choice(what)

    def chance(self, probability):
        return self.random.random() < probability

    def requests(self, most=3):
        amounts = {"cpu": self.of("500m", "1", "1", "2", str(most))}
        if self.chance(0.7):
            amounts["memory"] = self.of("256Mi", "1Gi", "2Gi")
        if self.chance(0.15):
            amounts[GPU] = self.of("1", "2")
        return amounts

    def owner(self):
        return self.of({"labelSelector": {"matchLabels": {"app": self.of(*"abc")}}}, {"labelSelector": {"matchLabels": {"app": self.of(*"abc")}}},
                       {"labelSelector": {"matchExpressions": [{"key": "app", "operator": self.of("In", "NotIn"), "values": [self.of(*"abc")]}]}},
                       {"object": {"namespace": NAMESPACE, "name": self.of("probe-1", "probe-2", "probe-3")}},
                       {"controller": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": self.of("web", "db"), "uid": self.of("", UIDS[0]), "namespace": NAMESPACE}},
                       {"labelSelector": {"matchLabels": {"app": "a"}},
                        "controller": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True, "uid": self.of(*UIDS)}},
                       {"labelSelector": {}})

    def reservation(self, name):
        node, more = self.of(*self.names), {}
        policy = self.policies[node] if self.chance(0.9) else ""
        labels, annotations = {"pool": self.of("p", "q")}, {}
        if policy and self.chance(0.5):
            policy = "Restricted"
            if self.chance(0.3):
                annotations[f"{DOMAIN}/reservation-restricted-options"] = json.dumps({"resources": [self.of("cpu", "memory", GPU)]})
        if policy:
            more["allocatePolicy"] = policy
        if self.chance(0.3):
            labels[f"{DOMAIN}/reservation-order"] = self.of("0", *[str(self.orders.pop())] * 3)
        if self.chance(0.15):
            annotations["node.koordinator.sh/reservation"] = json.dumps({"resources": {"cpu": self.of("500m", "1")}})
        if self.chance(0.25):
            more["taints"] = [{"key": "k", "value": self.of("v", "w"), "effect": self.of("NoSchedule", "NoExecute", "PreferNoSchedule")}]
        if self.chance(0.12):
            more["unschedulable"] = True
        return reservation(name, self.requests(2), node=node, labels=labels, annotations=annotations,
                           owners=[self.owner() for _ in range(self.of(1, 1, 2))],
                           allocateOnce=self.chance(0.3), **self.of({"ttl": "0s"}, {"ttl": "24h"}, {}, {"expires": "2100-01-02T03:04:05Z"}), **more)

    def user(self, name, kept):
        """A pod that has been given some of it, and no more: what is beyond it, the original gives to others, too."""
        given = {of.ALLOCATED: json.dumps({"name": kept["metadata"]["name"], "uid": kept["metadata"]["uid"]})}
        return pod(name, NAMESPACE, self.of({"cpu": "500m"}, {"cpu": "250m", "memory": "128Mi"}), app="had", annotations=given,
                   nodeName=kept["status"]["nodeName"])

    def term(self):
        key, values = self.of(("pool", "pq"), ("pool", "pq"), (TIER, "xy"))
        return {"matchExpressions": [{"key": key, "operator": self.of("In", "NotIn"), "values": [self.of(*values)]}]}

    def wants(self):
        terms = {}
        if self.chance(0.3):
            terms["name"] = f"r{self.random.randrange(18):02}"
        if self.chance(0.3):
            terms["requiredDuringSchedulingIgnoredDuringExecution"] = {"reservationSelectorTerms": [self.term() for _ in range(self.of(1, 2))]}
        if self.chance(0.2):
            terms["reservationSelector"] = {"pool": self.of("p", "q")}
        if self.chance(0.4):
            terms["tolerations"] = [self.of({"key": "k", "operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoSchedule"}, {"operator": "Exists"})]
        return affinity(**terms)

    def probe(self, name):
        labels, annotations, more = {}, {}, {}
        if self.chance(0.5):
            annotations.update(self.wants())
        if self.chance(0.15):
            annotations[f"{DOMAIN}/exact-match-reservation"] = json.dumps({"resourceNames": self.random.sample(["cpu", "memory", GPU], self.of(1, 2))})
        if self.chance(0.08):
            labels[f"{DOMAIN}/reservation-ignored"] = "true"
        if self.chance(0.5):
            more["node"] = self.of(*self.names)
        item = pod(name, NAMESPACE, self.requests(self.of(3, 5, 9)), app=self.of(*"abcd"), labels=labels, annotations=annotations, **more)
        if self.chance(0.25):
            item["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": self.of("web", "db"), "controller": True,
                                                    "uid": self.of(*UIDS)}]
        return item


class Run(schedulers.Run):
    """One scheduler with the cluster, and all that was seen of it."""

    def __init__(self, api, seed, who, command):
        self.world, self.cluster = of.World(api, NAMESPACE), Cluster(seed)
        super().__init__(api, who, command, [NAMESPACE], lambda _: self.world.clean())

    def nodes(self):
        return self.cluster.nodes

    def go(self):
        self.watch = self.watches[NAMESPACE]
        for item in self.cluster.kept:
            self.place(item)
        self.seen["reservations"] = told = self.told()
        # Who found no place would take that of the first one that is used up.
        for name in (name for name, status in told.items() if status["phase"] != "Available"):
            self.world.connection.request("DELETE", f"{of.RESERVATIONS}/{name}")
        self.cluster.kept = [item for item in self.cluster.kept if told[item["metadata"]["name"]]["phase"] == "Available"]
        free = [one for one in map(self.world.get, self.names()) if one["status"].get("phase") == "Available" and not one["spec"]["allocateOnce"]]
        users = [self.cluster.user(f"user-{i}", kept) for i, kept in enumerate(self.cluster.random.sample(free, min(5, len(free))))]
        for item in users:
            kube_api.create(self.world.connection, item)
        time.sleep(LATE)
        cordoned = self.cluster.of(*self.cluster.names)
        self.world.connection.request("PATCH", f"/api/v1/nodes/{cordoned}", {"spec": {"unschedulable": True}}, "application/merge-patch+json")
        time.sleep(LATE)
        wait_for("what they have is known", lambda: sorted(one for status in self.told().values() for one in status["owners"]) == sorted(
            item["metadata"]["name"] for item in users))
        self.seen["users"] = self.told()
        for i in range(PROBES):
            self.ask(self.cluster.probe(f"probe-{i}"))

    def names(self):
        return [item["metadata"]["name"] for item in self.cluster.kept]

    def place(self, item):
        self.world.reserve(item)
        self.world.until(item["metadata"]["name"], "has a verdict", lambda status: status.get("conditions"))
        time.sleep(LATE)

    def told(self):
        """What all Reservations say, without what differs by chance."""
        found = {}
        for name in self.names():
            status = self.world.get(name).get("status") or {}
            found[name] = {
                **{key: status.get(key) for key in ("phase", "nodeName", "allocatable")}, "allocated": {k: v for k, v in (status.get("allocated") or {}).items() if v != "0"},
                "owners": sorted(one["name"] for one in status.get("currentOwners") or []),
                # The original has no pod of a Reservation's name to nominate a node for, and says so.
                "conditions": [(*(each.get(key) for key in ("type", "status", "reason")), ordered((each.get("message") or "").split(" preemption: ")[0]))
                               for each in status.get("conditions") or []]}
        return found

    def events(self, name):
        return sorted({(event["reason"], event["type"], event["action"], ordered(event["note"]))
                       for event in self.api.list(schedulers.EVENTS.format(NAMESPACE))
                       if event["regarding"]["name"] == name and event["reason"] != "FailedScheduling-Reservation"})

    def ask(self, probe):
        name = probe["metadata"]["name"]
        kube_api.create(self.world.connection, probe)
        verdict = self.watch.verdict(name)
        item = self.world.connection.request("GET", f"{self.world.pods}/{name}")
        given = said(item, of.ALLOCATED)
        condition = {key: ordered(value) if key == "message" else value for key, value in schedulers.condition_of(item).items()
                     if key != "lastTransitionTime"}
        events = wait_for(f"{name}: an event", lambda: self.events(name))
        changed = None
        if given:
            kept = self.world.until(given["name"], f"is used by {name}", lambda status: name in [one["name"] for one in status.get("currentOwners", [])])
            changed = self.told()[given["name"]]
        self.seen[name] = {"verdict": (verdict[0], ordered(verdict[1])), "condition": condition, "events": events, "given": given and given["name"], "status": changed,
                           "annotations": sorted(item["metadata"].get("annotations", {})), "probe": probe}
        self.remove([(name, NAMESPACE)])
        if given and kept["spec"]["allocateOnce"]:
            # As it was for the next one.
            self.world.until(given["name"], "has succeeded", lambda status: status["phase"] == "Succeeded")
            self.world.connection.request("DELETE", f"{of.RESERVATIONS}/{given['name']}")
            self.place(next(one for one in self.cluster.kept if one["metadata"]["name"] == given["name"]))
            self.world.until(given["name"], "is back", lambda status: status.get("phase") == "Available")
        elif given:
            self.world.until(given["name"], f"is given back by {name}", lambda status: name not in [one["name"] for one in status.get("currentOwners", [])])
        time.sleep(LATE / 2)


class CompareReservation(comparison.Comparison):
    namespaces, rules = (NAMESPACE, "koordinator-system"), REASONS

    def compare(self, seed, profile):
        theirs, ours = schedulers.beside_the_original(of.configuration(profile, schedulers.KUBECONFIG, less=ASIDE),
                                                      lambda who, command: Run(self.api, seed, who, command))
        differences, unique, placed, used = [], 0, 0, 0
        for name, upstream in theirs.seen.items():
            own = ours.seen[name]
            for item in (upstream, own):
                self.met.update(reason for reason in REASONS if reason in str(item))
            if name.startswith("probe-"):
                placed += upstream["verdict"][0] == "scheduled"
                used += upstream["given"] is not None
                if upstream["verdict"][0] == own["verdict"][0] == "scheduled" and upstream["verdict"][1] != own["verdict"][1]:
                    if self.may_differ(theirs, name, own["verdict"][1]):
                        continue
                if upstream["verdict"] == own["verdict"] and upstream["given"] != own["given"] and self.are_alike(theirs, upstream, own):
                    continue
                unique += upstream["verdict"][0] == "scheduled"
            if upstream != own:
                differences.append(f"{name}:{schedulers.difference(upstream, own)}\n  {upstream.get('probe')}")
        print(f"seed {seed}, {profile}: {PROBES} probes, {placed} scheduled, {unique} of them on the same node, {used} in reservations, "
              f"{len(differences)} differences", file=sys.stderr)
        self.check(differences)
        self.assertGreater(used, PROBES // 10)

    def may_differ(self, theirs, name, node):
        """The node is as good as the original's, by its own scores."""
        scores = {where: int(score) for pod, where, score in compare_scheduler.FINAL_SCORE.findall(theirs.output) if pod == name}
        return bool(scores) and scores.get(node) == max(scores.values())

    def are_alike(self, theirs, upstream, own):
        """Both Reservations would be filled to the same share: the original takes either."""
        if None in (upstream["given"], own["given"]):
            return False
        asked, shares = pod_requests(upstream["probe"]), []
        for name in (upstream["given"], own["given"]):
            status = theirs.seen["users"][name]
            there, used = amounts(status["allocatable"]), amounts(status["allocated"])
            parts = [used.get(key, 0) + asked.get(key, 0) for key in there]
            shares.append([int(part * 100 / amount) if part <= amount else 0 for part, amount in zip(parts, there.values())])
        return sum(shares[0]) // len(shares[0]) == sum(shares[1]) // len(shares[1])


comparison.for_each_seed(CompareReservation, SEEDS)


if __name__ == "__main__":
    original_scheduler.main()

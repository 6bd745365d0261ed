#!/usr/bin/env python3
"""The original koord-scheduler and koord, one after the other, on the same random machines with the same Reservations of GPUs and NICs, of
every allocate policy, for one pod or for many: each is placed, has owners, is used in part and up, or its time is over, and other pods want
the same devices. What either says of a Reservation (its condition, the devices that it keeps, its status) and of a pod (condition with its
whole message, the Reservation and the devices that it was given) must be equal at each step. Needs the original's program; no part of CI.

usage: compare_device_reservation_test.py      KOORDINATOR_BIN names the folder with the original's koord-scheduler and crds/
"""
import collections
import json
import os
import re
import sys
import time

import compare_device_test as devices
import comparison
import reservations as of
import schedulers
from compare_device_test import CORE, DEVICES, HINT, NVIDIA, RATIO, RDMA, WHOLE
from reservations import DOMAIN, pod, reservation, said
from schedulers import LATE

import kube_api
import original_scheduler

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_DEVICE_RESERVATION_SEEDS", "113 112").split()]
PROBES = int(os.environ.get("KOORD_COMPARE_DEVICE_RESERVATION_PROBES", "14"))
NAMESPACE = "compare-device-reservations"
# They have comparisons of their own, and in the original preempt for reservations (COMPATIBILITY.md).
ASIDE = ["Coscheduling", "ElasticQuota"]
# A comparison that meets none of these says nothing about the rule behind it.
MET = ["Insufficient", "Reservation(s)", "no reservations match reservation affinity", "Succeeded", "Expired", "Restricted", "Aligned"]


class Cluster(devices.Cluster):
    """Machines, Reservations of devices on them, and pods that may have these or not."""

    def __init__(self, seed):
        super().__init__(seed)
        self.machines = self.machines[:2]
        for machine in self.machines:
            machine.gpus = machine.listed = max(machine.gpus, 4)
        self.kept, self.keepers, self.rank = 0, [], self.random.sample(range(1, 1000), 100)
        # Default and the other policies exclude one another on a node.
        self.policies = {machine.name: self.of("", "Aligned", "Restricted") for machine in self.machines}

    def amounts(self):
        """Requests and annotations: whole GPUs, part of one that is named, a NIC."""
        kind = self.random.random()
        if kind < 0.5:
            return {WHOLE: str(100 * self.of(1, 1, 2, 2, 4))}, {}
        if kind < 0.6:
            return {NVIDIA: str(self.of(1, 2))}, {}
        if kind < 0.85:
            part = self.of(25, 50, 75)
            selector = {"matchLabels": {"number": str(self.of(0, 0, 1))}}
            return {CORE: str(part), RATIO: str(part)}, {HINT: json.dumps({"gpu": {"selector": selector}})}
        return {RDMA: self.of("50", "100")}, {}

    def reservation(self, name):
        machine = self.of(*self.machines)
        requests, notes = self.amounts()
        policy = self.policies[machine.name]
        if policy and self.chance(0.3):
            policy = self.of("Aligned", "Restricted")
        more = {"allocatePolicy": policy} if policy else {}
        # Of two that are alike the original takes either.
        labels = {"pool": self.of("p", "q"), f"{DOMAIN}/reservation-order": str(self.rank.pop())}
        app = self.of(*"ab")
        self.keepers.append((machine.name, app))
        return reservation(name, {"cpu": "1m", **requests}, node=machine.name, labels=labels, template={"annotations": notes},
                           owners=[of.owner(app)], allocateOnce=self.chance(0.35), **self.of({}, {"ttl": "0s"}, {"expires": "2100-01-02T03:04:05Z"}), **more)

    def probe(self, name):
        requests, notes = self.amounts()
        labels = {}
        if self.chance(0.35):
            notes.update(self.of(of.affinity(), of.labelled("pool", self.of("p", "q")), of.named(f"r{self.random.randrange(self.kept + 1)}")))
        elif self.chance(0.08):
            labels[f"{DOMAIN}/reservation-ignored"] = "true"
        # Mostly of those whom one of the last Reservations is for.
        node, app = self.of(*self.keepers[-4:]) if self.chance(0.6) else (self.of(*self.machines).name, self.of(*"abc"))
        return pod(name, NAMESPACE, {"cpu": "1m", **requests}, app=app, node=node, labels=labels, annotations=notes)

    def steps(self):
        """("reserve", Reservation), ("ask", pod), ("drop", pod's name), ("expire", Reservation's name)"""
        here = []
        for number in range(PROBES):
            while self.kept < 6 or self.chance(0.15):
                yield "reserve", self.reservation(f"r{self.kept}")
                self.kept += 1
            yield "ask", self.probe(f"probe-{number}")
            here.append(f"probe-{number}")
            while here and self.chance(0.25):
                yield "drop", here.pop(self.random.randrange(len(here)))
            if self.chance(0.08):
                yield "expire", f"r{self.random.randrange(self.kept)}"


def ordered(text, types=1):
    return devices.ordered(re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", text or ""), types)


def parts(node, given):
    """Of each device, by node, type and minor, how many percent were given."""
    return collections.Counter({(node, kind, each["minor"]): int(each["resources"].get(RATIO) or each["resources"].get(RDMA) or 0)
                                for kind, found in (given or {}).items() for each in found})


def is_refused_late(upstream, own):
    """The original's filter lets a pod pass that wants a Reservation and gets devices of none; it fails when the node is reserved."""
    return upstream.get("verdict") == ("SchedulerError", "node(s) no reservations match reservation affinity") and own.get("verdict", [""])[0] == "Unschedulable"


class Run(schedulers.Run):
    """One scheduler with the cluster, and all that was seen of it."""

    def __init__(self, api, seed, who, command, robbers):
        """`robbers`: who has what a Reservation keeps for others, as the original gives it (COMPATIBILITY.md): it leaves at once in both runs, since
        the rest would depend on it."""
        self.robbers = robbers
        self.cluster, self.world, self.names, self.owned = Cluster(seed), of.World(api, NAMESPACE), [], {}
        super().__init__(api, who, command, (NAMESPACE,), self.clear)

    def clear(self, _):
        self.world.connection.request("DELETE", DEVICES)
        self.world.clean()

    def nodes(self):
        return [machine.node() for machine in self.cluster.machines]

    def go(self):
        for machine in self.cluster.machines:
            self.connection.request("POST", DEVICES, machine.device())
        time.sleep(LATE)
        for what, subject in self.cluster.steps():
            getattr(self, what)(subject)

    def reserve(self, item):
        name = item["metadata"]["name"]
        self.world.reserve(item)
        now = self.world.until(name, "has a verdict", lambda status: status.get("conditions"))
        time.sleep(LATE)
        if now["status"].get("phase") == "Available":
            self.names.append(name)
            self.seen[name] = {"kept": self.told()[name], "probe": item, "twice": self.given_twice()}
        else:
            self.seen[name] = {"condition": ordered(of.condition(now, "Scheduled").get("message", "").split(" preemption: ")[0]), "probe": item}
            # It would take what becomes free.
            self.connection.request("DELETE", f"{of.RESERVATIONS}/{name}")
            time.sleep(LATE)

    def told(self):
        """What all Reservations say."""
        found = {}
        for item in self.api.list(of.RESERVATIONS):
            name, status = item["metadata"]["name"], item.get("status") or {}
            found[name] = {**{key: status.get(key) for key in ("phase", "nodeName", "allocatable")},
                           "allocated": {key: value for key, value in (status.get("allocated") or {}).items() if value != "0"},
                           "owners": sorted(one["name"] for one in status.get("currentOwners") or []),
                           "conditions": sorted(tuple(each.get(key) for key in ("type", "status", "reason")) for each in status.get("conditions") or []),
                           "devices": said(item, devices.ALLOCATED), "policy": item["spec"].get("allocatePolicy")}
        return found

    def given_twice(self):
        """Devices of which pods have, and Reservations keep, more than there is."""
        here, total = [one for one in self.watches[NAMESPACE].pods.values() if one["spec"].get("nodeName")], collections.Counter()
        for one in here:
            total.update(parts(one["spec"]["nodeName"], said(one, devices.ALLOCATED)))
        for name, kept in self.told().items():
            if kept["phase"] != "Available":
                continue
            left = parts(kept["nodeName"], kept["devices"])
            for one in here:
                if (said(one, of.ALLOCATED) or {}).get("name") == name:
                    left.subtract(parts(kept["nodeName"], said(one, devices.ALLOCATED)))
            total.update({device: part for device, part in left.items() if part > 0})
        return sorted(device for device, part in total.items() if part > 100)

    def ask(self, probe):
        name = probe["metadata"]["name"]
        kube_api.create(self.connection, probe)
        verdict = self.watches[NAMESPACE].verdict(name)
        item = self.watches[NAMESPACE].pods[name]
        given = said(item, of.ALLOCATED)
        if given:
            self.owned[name] = given["name"]
            self.world.until(given["name"], f"is used by {name}", lambda status: name in [one["name"] for one in status.get("currentOwners", [])])
            if self.world.get(given["name"])["spec"].get("allocateOnce", True):
                self.world.until(given["name"], "has succeeded", lambda status: status["phase"] == "Succeeded")
        types = len({key for key in probe["spec"]["containers"][0]["resources"]["requests"] if key != "cpu"})
        self.seen[name] = {"verdict": (verdict[0], ordered(verdict[1], types)), "given": given and given["name"], "devices": said(item, devices.ALLOCATED),
                           "probe": probe, **{f"then {kept}": status for kept, status in self.told().items()}}
        ignores = f"{DOMAIN}/reservation-ignored" in probe["metadata"]["labels"]
        if not ignores:
            self.seen[name]["twice"] = self.given_twice()
            if self.seen[name]["twice"] and self.who == "original":
                self.robbers.add(name)
        if verdict[0] != "scheduled":
            self.remove([(name, NAMESPACE)])
        elif ignores or name in self.robbers:
            self.drop(name)
        else:
            time.sleep(LATE)

    def drop(self, name):
        self.remove([(name, NAMESPACE)])
        if owned := self.owned.pop(name, None):
            self.world.until(owned, f"is given back by {name}", lambda status: status.get("phase") != "Available" or
                             name not in [one["name"] for one in status.get("currentOwners", [])])
            time.sleep(LATE)

    def expire(self, name):
        if name not in self.names or self.told()[name]["phase"] != "Available":
            return
        self.connection.request("PATCH", f"{of.RESERVATIONS}/{name}", {"spec": {"ttl": None, "expires": "2020-01-02T03:04:05Z"}}, "application/merge-patch+json")
        self.world.until(name, "has expired", lambda status: status.get("phase") == "Failed")
        time.sleep(LATE)


class CompareDeviceReservation(comparison.Comparison):
    namespaces, rules = (NAMESPACE, "koordinator-system"), MET

    def compare(self, seed, profile):
        text = of.configuration(profile, schedulers.KUBECONFIG, less=ASIDE)
        robbers = set()
        theirs, ours = schedulers.beside_the_original(text, lambda who, command: Run(self.api, seed, who, command, robbers))
        differences = []
        for name, upstream in theirs.seen.items():
            own = ours.seen.get(name, {})
            self.count_words(upstream, own)
            self.assertFalse(own.get("twice"), f"{name}: {own}")
            if name in robbers or is_refused_late(upstream, own):
                continue
            if upstream != own:
                differences.append(f"{name}:{schedulers.difference(upstream, own)}\n  {upstream['probe']}")
        used = sum(bool(each.get("given")) for each in theirs.seen.values())
        print(f"seed {seed}, {profile}: {PROBES} probes, {len(theirs.names)} reservations, {used} in them, {len(robbers)} rob them, "
              f"{len(differences)} differences", file=sys.stderr)
        self.check(differences)
        self.assertGreater(used, PROBES // 15)


comparison.for_each_seed(CompareDeviceReservation, SEEDS)


if __name__ == "__main__":
    original_scheduler.main()

#!/usr/bin/env python3
"""kube-scheduler and koord, one after the other, on the same random slices, classes and claims: the same pods are asked for in the same order,
and what either says of them (verdict, condition with its whole message), and what it writes into their claims, must be equal. Slices grow,
shrink, become incomplete or contradict themselves between the pods, and pods and claims leave.

usage: compare_claims_test.py
"""
import collections
import os
import random
import sys
import time
import unittest

import claims as of
import schedulers
from schedulers import LATE, OURS

import kube_api
import kube_version

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_CLAIMS_SEEDS", "84 85").split()]
PROBES = int(os.environ.get("KOORD_COMPARE_CLAIMS_PROBES", "50"))
NAMESPACE = "compare-claims"
CLAIMS = of.CLAIMS.format(NAMESPACE)
SLICES = of.GROUP + "/resourceslices"
DRIVERS = ("gpu.tests.koord", "nic.tests.koord")
# A comparison that meets none of these says nothing about the rule behind it.
REASONS = ["cannot allocate all claims", "does not exist", "CEL runtime error", "resourceclaim not available on the node", "currently being updated",
           "invalid", "deallocation of ResourceClaim completed", "bound"]


def cel(expression):
    return {"cel": {"expression": expression}}


class Pool:
    """A driver's devices of a node, in one slice: of several kube-scheduler takes those of any first."""

    def __init__(self, node, driver, rand):
        self.node, self.driver, self.random = node, driver, rand
        self.generation, self.devices, self.missing, self.twice = 1, rand.choice((1, 2, 4, 6)), False, False

    def device(self, number):
        attributes = {"half": {"int": number % 2}, "model": {"string": "ab"[number % 3 // 2]}, "number": {"int": number}}
        if number % 4 != 3:
            attributes["fast"] = {"bool": number % 2 == 0}  # some have none
        return {"name": f"device-{number}", "attributes": attributes, "capacity": {"memory": {"value": f"{20 * (1 + number % 2)}Gi"}}}

    def slices(self):
        devices = [self.device(number) for number in range(self.devices)]
        parts = [devices, devices[:1]] if self.twice else [devices]
        count = len(parts) + self.missing
        name = f"{self.node}-{self.driver.split('.', maxsplit=1)[0]}"
        return [{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{name}-{index}"},
                 "spec": {"driver": self.driver, "nodeName": self.node, "devices": part,
                          "pool": {"name": self.node, "generation": self.generation, "resourceSliceCount": count}}} for index, part in enumerate(parts)]

    def change(self):
        self.generation += 1
        self.missing, self.twice = self.random.random() < 0.35, self.random.random() < 0.2
        self.devices = self.random.choice((1, 2, 4, 6))


class Cluster:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes = [f"n{number}" for number in range(3)]
        self.pools = [Pool(node, driver, self.random) for node in self.nodes for driver in DRIVERS if self.chance(0.9)]

    def of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def exactly(self):
        kind = self.random.random()
        asked = {"deviceClassName": self.of("gpus", "gpus", "nics", "large")}
        if kind < 0.05:
            asked["deviceClassName"] = self.of("gone", "broken")
        if kind < 0.7:
            asked["count"] = self.of(1, 1, 1, 2, 3)
        elif kind < 0.95:
            asked["allocationMode"] = "All"
        domain = f"device.attributes['{DRIVERS[0]}']"
        if self.chance(0.3):
            asked["selectors"] = [cel(self.of(f"{domain}.half == 0", f"{domain}.model == 'a'", f"has({domain}.fast) && {domain}.fast",
                                              f"{domain}.number >= 2"))]
        if self.chance(0.03):
            asked["selectors"] = [cel(f"{domain}.nothing == 1")]
        return asked

    def request(self, name):
        if self.chance(0.2):
            return {"name": name, "firstAvailable": [{"name": f"way-{index}", **self.exactly()} for index in range(self.of(1, 2, 3))]}
        return {"name": name, "exactly": self.exactly()}

    def claim(self, name):
        requests = [self.request(f"r{index}") for index in range(self.of(1, 1, 2))]
        devices = {"requests": requests}
        if self.chance(0.2):
            devices["constraints"] = [{"matchAttribute": f"{DRIVERS[0]}/{self.of('half', 'model')}"}]
        return of.claim(name, NAMESPACE, {"devices": devices})

    def steps(self):
        """("ask", pod, its new claims), ("drop", pod's name), ("change", pool)"""
        here, known = [], []
        for number in range(PROBES):
            name = f"probe-{number}"
            new = [self.claim(f"claim-{number}-{index}") for index in range(self.of(1, 1, 1, 2))]
            named = [each["metadata"]["name"] for each in new]
            if known and self.chance(0.3):
                new, named = [], [self.of(*known[-6:])]
            more = {"nodeSelector": {"kubernetes.io/hostname": self.of(*self.nodes)}}
            yield "ask", schedulers.pod(name, OURS, NAMESPACE, cpu="1m", terminationGracePeriodSeconds=0, resourceClaims=[
                {"name": f"entry-{index}", "resourceClaimName": each} for index, each in enumerate(named)], **more), new
            here.append(name)
            known += named
            while here and self.chance(0.45):
                yield "drop", here.pop(self.random.randrange(len(here))), None
            if self.chance(0.3):
                pool = self.of(*self.pools)
                pool.change()
                yield "change", pool, None


class Run(schedulers.Run):
    """One scheduler with the cluster, and all that was seen of it."""

    def __init__(self, api, seed, who, command):
        self.cluster, self.users, self.told = Cluster(seed), collections.defaultdict(set), {}
        super().__init__(api, who, command, (NAMESPACE,), clean)

    def nodes(self):
        return [schedulers.node(name, "64") for name in self.cluster.nodes]

    def go(self):
        memory = f"device.capacity['{DRIVERS[0]}'].memory.compareTo(quantity('40Gi')) >= 0"
        self.api.load([of.device_class("gpus", DRIVERS[0]), of.device_class("nics", DRIVERS[1]), of.device_class("broken", DRIVERS[0]),
                       of.device_class("large", DRIVERS[0])])
        for name, expression in (("large", memory), ("broken", f"device.attributes['{DRIVERS[0]}'].nothing")):
            self.connection.request("PATCH", f"{of.GROUP}/deviceclasses/{name}", {"spec": {"selectors": [
                cel(f"device.driver == '{DRIVERS[0]}'"), cel(expression)]}}, "application/merge-patch+json")
        for pool in self.cluster.pools:
            self.api.load(pool.slices())
        time.sleep(LATE)
        for what, subject, new in list(self.cluster.steps()):
            if what == "ask":
                self.ask(subject, new)
            elif what == "drop":
                self.drop(subject)
            else:
                self.change(subject)

    def change(self, pool):
        connection, wanted = self.connection, {each["metadata"]["name"]: each for each in pool.slices()}
        prefix = next(iter(wanted)).rsplit("-", 1)[0]
        here = {item["metadata"]["name"] for item in self.api.list(SLICES) if item["metadata"]["name"].startswith(prefix + "-")}
        for name in here - set(wanted):
            connection.request("DELETE", f"{SLICES}/{name}")
        for name, each in wanted.items():
            if name in here:
                connection.request("PATCH", f"{SLICES}/{name}", {"spec": each["spec"]}, "application/merge-patch+json")
            else:
                kube_api.create(connection, each)
        time.sleep(LATE)

    def claims(self, names):
        """What is written of them."""
        found = {}
        for name in names:
            item = self.connection.request("GET", f"{CLAIMS}/{name}")
            status = item.get("status") or {}
            found[name] = {"allocation": of.allocation(status), "users": [each["name"] for each in status.get("reservedFor") or []],
                           "finalizers": item["metadata"].get("finalizers")}
        return found

    def release(self, name, user):
        """As kube-controller-manager, which is not there: a claim that nobody uses has nothing, and goes."""
        connection, path = self.connection, f"{CLAIMS}/{name}"
        self.users[name].discard(user)
        item = connection.request("GET", path)
        status = item.get("status") or {}
        status["reservedFor"] = [each for each in status.get("reservedFor") or [] if each["name"] != user]
        if not status["reservedFor"] and random.Random(f"{name} {user}").random() < 0.5:
            status = {}
        item["status"] = status
        connection.request("PUT", path + "/status", item)

    def drop(self, name):
        pod = self.seen[name]["probe"]
        self.remove([(name, NAMESPACE)])
        if self.seen[name]["bound"]:
            for each in pod["spec"]["resourceClaims"]:
                self.release(each["resourceClaimName"], name)
        time.sleep(LATE)

    def ask(self, probe, new):
        name, connection = probe["metadata"]["name"], self.connection
        for each in new:
            kube_api.create(connection, each)
        time.sleep(LATE)
        names = [each["resourceClaimName"] for each in probe["spec"]["resourceClaims"]]
        if not new and self.claims(names)[names[0]]["allocation"] and random.Random(name).random() < 0.5:
            del probe["spec"]["nodeSelector"]  # where the claim's devices are
        kube_api.create(connection, probe)
        item = self.watches[NAMESPACE].first(name)
        bound = bool(item["spec"].get("nodeName"))
        condition = {} if bound else {key: value for key, value in schedulers.condition_of(item).items() if key in ("reason", "message")}
        self.told[name] = str(condition)
        if condition.get("reason") == "SchedulerError" and "All" in str(new):
            # Of several pools, which kube-scheduler takes in the order of a map, each may have something wrong.
            condition["message"] = condition["message"].split(": ")[0]
        self.seen[name] = {"bound": bound, "condition": condition, "node": item["spec"].get("nodeName"), "probe": probe}
        if bound:
            self.seen[name]["claims"] = self.claims(names)
        else:
            self.remove([(name, NAMESPACE)])
            time.sleep(LATE)
            self.seen[name]["claims"] = self.claims(names)


def clean(api):
    of.clean_without_controllers(api, NAMESPACE)


class CompareClaims(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(cls.api, NAMESPACE)
        cls.met = collections.Counter()

    def compare(self, seed):
        theirs, ours = schedulers.beside_kube_scheduler(lambda who, command: Run(self.api, seed, who, command))
        differences, bound = schedulers.differences(theirs, ours), 0
        for name, upstream in theirs.seen.items():
            own = ours.seen[name]
            self.met.update(reason for reason in REASONS if reason in theirs.told[name] and reason in ours.told[name])
            self.met["bound"] += upstream["bound"] and own["bound"]
            bound += upstream["bound"]
        print(f"seed {seed}: {PROBES} probes, {bound} bound, {len(differences)} differences", file=sys.stderr)
        self.assertEqual(differences, [], "\n" + "\n".join(differences))
        self.assertGreater(bound, PROBES // 10)

    def test_every_rule_has_been_met(self):
        self.assertEqual([reason for reason in REASONS if not self.met[reason]], [])


for each_seed in SEEDS:
    setattr(CompareClaims, f"test_cluster_{each_seed}", lambda self, seed=each_seed: self.compare(seed))


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER)
    kube_version.skip_before(35, "the kube-scheduler that gives claims as koord does")
    unittest.main(verbosity=2)

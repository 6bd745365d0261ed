#!/usr/bin/env python3
"""5,000 pods on 500 nodes with spreading, affinity, taints and priorities: kube-scheduler's result and koord's.

Each scheduler gets the same pods on the same empty nodes, one after the other. What must hold is counted here, from
the pods as the API server has them: both bind as many pods of each application, refuse the others with the same
words, and keep every rule.
"""
import collections
import os
import re
import time
import unittest

import schedulers
from schedulers import OURS, UPSTREAM, wait_for

import kube_api
import kube_version
from check_placement import Cluster

NODES = int(os.environ.get("KOORD_CROWD_NODES", "500"))
PODS = int(os.environ.get("KOORD_CROWD_PODS", "5000"))
NAMESPACE = "crowd"
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
RESERVED = {"key": "reserved", "value": "batch", "effect": "NoSchedule"}
TOLERATION = {"key": "reserved", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}
PRIORITIES = {"crowd-high": 1000, "crowd-low": 0}
ZONES = "abc"
# One in ten of the nodes is reserved: where an application may not stand twice on a node, one pod more than there are
# such nodes has no place.
RESERVED_NODES = NODES // 10
REFUSED = 3


def crowd_node(index):
    name = f"crowd-{index}"
    reserved = index % 10 == 0
    labels = {ZONE: ZONES[index % len(ZONES)], "kind": "reserved" if reserved else "plain"}
    return schedulers.node(name, "8", "32Gi", 110, labels, **({"taints": [RESERVED]} if reserved else {}))


def selector(app):
    return {"labelSelector": {"matchLabels": {"app": app}}}


def crowd_pod(app, index, scheduler, **spec):
    item = schedulers.pod(f"{app}-{index}", scheduler, NAMESPACE, cpu="200m", automountServiceAccountToken=False, **spec)
    item["metadata"]["labels"] = {"app": app}
    return item


def spread(app, skew):
    return {"topologySpreadConstraints": [
        {"maxSkew": skew, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **selector(app)},
        {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway", **selector(app)}]}


def required(kind, app, key):
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": key, **selector(app)}]}}}


def reserved_only(app):
    affinity = required("podAntiAffinity", app, HOSTNAME)["affinity"]
    return {"tolerations": [TOLERATION], "nodeSelector": {"kind": "reserved"}, "affinity": affinity}


def crowd(scheduler):
    """Pods in the order of their creation; of an application all have the same rules."""
    rules = {
        "spread": spread("spread", 1),
        "even": {**spread("even", 3), "priorityClassName": "crowd-high"},
        "alone": required("podAntiAffinity", "alone", HOSTNAME),
        "leader": required("podAntiAffinity", "leader", HOSTNAME),
        "beside": required("podAffinity", "leader", ZONE),
        "reserved": reserved_only("reserved"),
        "plain": {"priorityClassName": "crowd-low"},
    }
    counts = {"spread": PODS // 5, "even": PODS // 5, "alone": NODES // 2, "leader": 2, "beside": PODS // 10,
              "reserved": RESERVED_NODES + REFUSED}
    counts["plain"] = PODS - sum(counts.values())
    pods = [crowd_pod(app, index, scheduler, **rules[app]) for app, count in counts.items() for index in range(count)]
    # Of all applications at all times; those that others look for come first.
    first = [pod for pod in pods if pod["metadata"]["labels"]["app"] == "leader"]
    others = [pod for pod in pods if pod["metadata"]["labels"]["app"] != "leader"]
    return first + [others[index * 7919 % len(others)] for index in range(len(others))]


class Crowd(unittest.TestCase):
    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(self.api, NAMESPACE)
        self.addCleanup(schedulers.clean, self.api, [NAMESPACE])
        connection = self.api.connect()
        for name, value in PRIORITIES.items():
            try:
                kube_api.create(connection, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                             "metadata": {"name": name}, "value": value})
            except kube_api.ApiError as error:
                if error.status != 409:
                    raise
            # On a connection of its own: this one is idle meanwhile, for longer than an API server keeps it.
            self.addCleanup(lambda path=f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}":
                            self.api.connect().request("DELETE", path))
        self.api.load([crowd_node(index) for index in range(NODES)])

    def result(self, name):
        """The pods as they are when all are decided."""
        pods = crowd(name)
        self.assertEqual(len({pod["metadata"]["name"] for pod in pods}), PODS)
        if name == UPSTREAM:
            process, file = schedulers.unthrottled_kube_scheduler()
        else:
            process, file = schedulers.koord_as_kube_scheduler(name=name)
        self.addCleanup(file.close)
        self.addCleanup(process.end)
        began = time.monotonic()
        self.api.load(pods[:2])
        watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(watch.close)
        for pod in pods[:2]:
            watch.wait_scheduled(pod["metadata"]["name"])
        self.api.load(pods[2:])
        watch.wait("every pod decided", lambda known: len(known) == PODS and all(
            item["spec"].get("nodeName") or schedulers.condition_of(item) for item in known.values()), 240)
        # Who was refused on the way is asked again when others come to stand where it waited for.
        wait_for("the refusals to be the last ones", lambda: watch.bound() == PODS - REFUSED, seconds=60)
        process.alive()
        seconds = time.monotonic() - began
        found = self.api.list(f"/api/v1/namespaces/{NAMESPACE}/pods")
        process.end()
        print(f"{name}: {watch.bound()} of {PODS} pods bound on {NODES} nodes in {seconds:.1f} s, created meanwhile")
        schedulers.delete_now(self.api.connect(), f"/api/v1/namespaces/{NAMESPACE}/pods")
        watch.wait("an empty namespace", lambda known: not known)
        return found

    def places(self, pods):
        """Of each application, of each value of a node's label, how many pods."""
        nodes = {f"crowd-{index}": crowd_node(index)["metadata"]["labels"] for index in range(NODES)}
        counts = {key: collections.defaultdict(collections.Counter) for key in (ZONE, HOSTNAME)}
        for pod in pods:
            if pod["spec"].get("nodeName"):
                for key, apps in counts.items():
                    apps[pod["metadata"]["labels"]["app"]][nodes[pod["spec"]["nodeName"]][key]] += 1
        return counts

    def check(self, name, pods):
        with self.subTest(name):
            violations = list(Cluster(self.api.list("/api/v1/nodes"), pods).violations())
            self.assertEqual(violations, [])
            counts = self.places(pods)
            for app, skew in (("spread", 1), ("even", 3)):
                zones = [counts[ZONE][app][zone] for zone in ZONES]
                self.assertLessEqual(max(zones) - min(zones), skew, (app, zones))
            for app in ("alone", "leader", "reserved"):
                self.assertEqual(max(counts[HOSTNAME][app].values()), 1, app)
            self.assertLessEqual(set(counts[ZONE]["beside"]), set(counts[ZONE]["leader"]))

    def test_crowd(self):
        results = {name: self.result(name) for name in (UPSTREAM, OURS)}
        for name, pods in results.items():
            self.check(name, pods)
        bound = {name: collections.Counter(pod["metadata"]["labels"]["app"] for pod in pods
                                           if pod["spec"].get("nodeName")) for name, pods in results.items()}
        self.assertEqual(bound[OURS], bound[UPSTREAM])
        words = {name: sorted(schedulers.condition_of(pod)["message"] for pod in pods
                              if not pod["spec"].get("nodeName")) for name, pods in results.items()}
        self.assertEqual(len(words[OURS]), REFUSED)
        # Who was refused last knows how many of the reserved nodes were taken: all of them, in the end.
        final = re.compile(r"^0/%d nodes are available: .*%d node\(s\) didn't (match pod anti-affinity rules|satisfy)"
                           % (NODES, RESERVED_NODES), re.S)
        for name in words:
            for message in words[name]:
                self.assertRegex(message, final, name)
        if kube_version.minor() == kube_version.USUAL:  # others have other words of claims between the two
            self.assertEqual(set(words[OURS]), set(words[UPSTREAM]))


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER)
    unittest.main(verbosity=2, warnings="ignore")

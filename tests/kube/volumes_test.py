#!/usr/bin/env python3
"""500 pods with claims of both binding modes on 50 nodes in three zones, bound by kube-scheduler and by koord; and
koord killed again and again between Reserve and Bind. kube-controller-manager binds, a provisioner of the tests
provisions. KOORD_KUBE_BOTH=1: kube-scheduler under koord's name, too, which shows what the harness itself makes of it.
"""
import collections
import os
import random
import time
import unittest

import schedulers
from schedulers import OURS, UPSTREAM
from volumes import LOCAL, NOW, WAIT, ZONES, classes, claim, clean, csi_node, problems, start, uses, volume

import kube_api
from provisioner import SELECTED_NODE, VOLUMES, ZONE

NAMESPACE = "volumes"
NODES, PODS = 50, int(os.environ.get("KOORD_VOLUME_PODS", "500"))
KILLED_PODS = PODS * 2 // 5
PER_NODE = 20  # volumes of the driver
KILLS = 6
SEED = int(os.environ.get("KOORD_VOLUME_SEED", time.time_ns() % 1_000_000))
SLOW = ("--kube-api-qps=150", "--kube-api-burst=20")


def world(scheduler, count):
    """Claims, volumes and pods: most with one claim, some with two of which one decides on the zone."""
    claims, volumes, pods = [], [], []
    for index in range(count):
        name, kind = f"pod-{index}", index % 10
        own = []
        if kind in (0, 1, 2, 3, 8):
            own.append(claim(f"now-{index}", NAMESPACE, NOW))
        if kind in (4, 5, 6, 7, 8):
            own.append(claim(f"wait-{index}", NAMESPACE, WAIT))
        if kind == 9:
            own.append(claim(f"local-{index}", NAMESPACE, LOCAL))
            volumes.append(volume(f"local-{index}", LOCAL, {"kubernetes.io/hostname": f"node-{index % NODES}"}))
        claims += own
        pods.append(schedulers.pod(name, scheduler, NAMESPACE, automountServiceAccountToken=False,
                                   **uses(*(each["metadata"]["name"] for each in own))))
    return claims, volumes, pods


class Volumes(unittest.TestCase):
    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(self.api, NAMESPACE, "koordinator-system")
        start(self.addCleanup, self.api)
        clean(self.api, NAMESPACE)
        self.addCleanup(clean, self.api, NAMESPACE)
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        self.api.load(classes())
        self.api.load([schedulers.node(f"node-{index}", labels={ZONE: ZONES[index % len(ZONES)]}) for index in range(NODES)])
        self.api.load([csi_node(f"node-{index}", PER_NODE) for index in range(NODES)])

    def scheduler(self, name, *flags):
        if name == UPSTREAM or os.environ.get("KOORD_KUBE_BOTH"):
            process, file = schedulers.unthrottled_kube_scheduler(name)
            self.addCleanup(file.close)
        else:
            process = schedulers.koord("--leader-elect=false", *flags)
        self.addCleanup(process.end)
        return process

    def create(self, scheduler, count):
        claims, volumes, pods = world(scheduler, count)
        self.api.load(claims + volumes)
        self.api.load(pods)

    def wait_bound(self, number, seconds=300):
        self.watch.wait(f"{number} pods bound", lambda _: self.watch.bound() >= number, seconds)

    def check(self):
        self.assertEqual(problems(self.api, NAMESPACE), [])
        per_node = collections.Counter(
            pod["spec"]["nodeName"] for pod in self.watch.pods.values() for each in pod["spec"]["volumes"]
            if not each["persistentVolumeClaim"]["claimName"].startswith("local"))
        self.assertLessEqual(max(per_node.values()), PER_NODE)

    def half_done(self):
        """Pods that are not bound, although a volume has been chosen or a node selected for a claim of theirs."""
        claims = {item["metadata"]["name"] for item in self.api.list(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")
                  if SELECTED_NODE in item["metadata"].get("annotations", {})}
        claims |= {item["spec"]["claimRef"]["name"] for item in self.api.list(VOLUMES)
                   if item["spec"]["storageClassName"] == LOCAL and item["spec"].get("claimRef")}
        return sum(any(each["persistentVolumeClaim"]["claimName"] in claims for each in item["spec"]["volumes"])
                   for item in self.api.list(f"/api/v1/namespaces/{NAMESPACE}/pods") if not item["spec"].get("nodeName"))

    def places(self):
        """Of each kind of pod how many are in each zone, where its claims say so; else how many there are."""
        zones, counts = {f"node-{index}": ZONES[index % len(ZONES)] for index in range(NODES)}, collections.Counter()
        for pod in self.watch.pods.values():
            kinds = tuple(each["persistentVolumeClaim"]["claimName"].split("-")[0] for each in pod["spec"]["volumes"])
            decided = "now" in kinds or "local" in kinds
            counts[kinds, zones[pod["spec"]["nodeName"]] if decided else "any"] += 1
        return counts

    def test_all_are_bound_as_kube_scheduler_binds_them(self):
        results = {}
        for name in (UPSTREAM, OURS):
            process = self.scheduler(name)
            began = time.monotonic()
            self.create(name, PODS)
            self.wait_bound(PODS)
            process.alive()
            print(f"{name}: {PODS} pods with claims bound on {NODES} nodes in {time.monotonic() - began:.1f} s, "
                  "created meanwhile")
            process.end()
            self.check()
            results[name] = self.places()
            schedulers.delete_now(self.api.connect(), f"/api/v1/namespaces/{NAMESPACE}/pods")
            connection = self.api.connect()
            for path in (f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims", VOLUMES):
                connection.request("DELETE", path)
            self.watch.wait("an empty namespace", lambda pods: not pods)
            schedulers.wait_for("no volumes", lambda: not connection.request("GET", VOLUMES)["items"], seconds=60)
        self.assertEqual(results[OURS], results[UPSTREAM])

    def test_killed_between_reserve_and_bind(self):
        print(f"seed {SEED}: KOORD_VOLUME_SEED={SEED} kills at the same counts again")
        chance = random.Random(SEED)
        process = self.scheduler(OURS, *SLOW)
        self.create(OURS, KILLED_PODS)
        half_done = 0
        for number in sorted(chance.sample(range(1, KILLED_PODS - 20), KILLS)):
            self.wait_bound(number)
            time.sleep(chance.random() / 10)  # anywhere between two writes
            process.alive()
            process.end()  # SIGKILL
            half_done += self.half_done()
            process = self.scheduler(OURS, *SLOW)
        self.wait_bound(KILLED_PODS)
        process.alive()
        self.check()
        print(f"{KILLS} kills left {half_done} pods between the first write about a volume and the binding")
        self.assertGreater(half_done, 0)
        for name, item in self.watch.pods.items():
            self.assertEqual(self.watch.nodes_of[item["metadata"]["uid"]], {item["spec"]["nodeName"]}, name)


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER)
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""The descheduler is killed between any two steps of a migration, on a real API server with koord's scheduler: the next process
goes on with what is written, each pod is moved once, and nothing is left behind."""
import collections
import os
import random
import signal
import sys
import tempfile
import unittest

import migrations
import schedulers
from killer import Killer
from migrations import JOBS, RESERVATIONS
from schedulers import wait_for

import refusing_proxy

DESCHEDULE = '    deschedule:\n      disabled:\n        - name: "*"\n'
TAINTS = {DESCHEDULE: f"{DESCHEDULE}      enabled: [{{name: RemovePodsViolatingNodeTaints}}]\n"}
LIVES = 4


class AtWrite(Killer):
    """At the n-th of all writes but those that tell what happened."""

    def __init__(self, process, count, when="after"):
        super().__init__(process, ("", "", when), count)
        self.written = []

    def is_meant(self, method, path, when):
        meant = when == self.when and method != "GET" and "/events" not in path
        if meant:
            self.written.append(f"{method} {path.partition('/v1')[2]}")
        return meant


class Deaths(migrations.World):
    @classmethod
    def setUpClass(cls):
        cls.cluster = migrations.Cluster("descheduler-deaths")

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="koord-proxy.")
        self.addCleanup(folder.cleanup)
        self.proxy = refusing_proxy.RefusingProxy(self.cluster.account, folder.name)
        self.enterContext(self.proxy)
        self.nodes("node-0", "node-1", "node-2")

    def start(self, changes=None, *flags, kubeconfig=None):
        self.proxy.breaks_off = lambda *_: False
        return super().start(changes, *flags, kubeconfig=kubeconfig or self.proxy.kubeconfig)

    def nothing_is_left_behind(self, moved):
        """`moved`: the pods that went, by UID; each by one job and one eviction, and no room is kept but theirs."""
        jobs = self.api.list(JOBS)
        self.assertEqual(sorted(job["spec"]["podRef"]["uid"] for job in jobs), sorted(moved))
        self.assertEqual({job["status"]["phase"] for job in jobs}, {"Succeeded"})
        self.assertEqual(sorted(room["metadata"]["name"] for room in self.api.list(RESERVATIONS)), sorted(job["metadata"]["uid"] for job in jobs))
        granted = collections.Counter(event["objectRef"]["name"] for event in self.asked("create", "pods", "eviction")
                                      if event["responseStatus"]["code"] == 201)
        self.assertEqual(granted, {pod["metadata"]["name"]: 1 for pod in moved.values()})

    def test_killed_after_each_of_its_writes(self):
        """Until a migration has no more of them: the n-th job's process ends with its n-th write."""
        self.deploy(4, terminationGracePeriodSeconds=1)
        moved, process, count = {}, self.start(), 0
        while True:
            count += 1
            name, pod = f"move-{count}", next(one for one in self.pods() if one["metadata"]["uid"] not in moved)
            self.proxy.breaks_off = killer = AtWrite(process, count)
            self.migrate(name, pod)
            moved[pod["metadata"]["uid"]] = pod
            wait_for(f"{name}: the end of the process, or of the job", lambda name=name, killer=killer: killer.died.is_set() or
                     self.job(name).get("status", {}).get("phase") in migrations.OVER)
            if not killer.died.is_set():
                break
            process = self.start()
            self.was_moved(self.ended(name), pod)
            self.all_ready(4)
        self.was_moved(self.job(name), pod)
        self.all_ready(4)
        print(f"{count - 1} times killed; the writes of a migration: {killer.written}", file=sys.stderr)
        # Let pass, begun, reserved, noted, scheduled, evicting, evicted, bound, ready, succeeded.
        self.assertGreaterEqual(count - 1, 10)
        self.nothing_is_left_behind(moved)

    def test_killed_while_a_plugin_makes_jobs(self):
        seed = int(os.environ.get("KOORD_SEED", 0)) or random.randrange(1 << 32)
        print(f"seed {seed}", file=sys.stderr)
        dice = random.Random(seed)
        self.deploy(6, topologySpreadConstraints=[{"maxSkew": 3, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}])
        node = max((f"node-{i}" for i in range(3)), key=lambda name: len(self.pods(name)))
        moved = {pod["metadata"]["uid"]: pod for pod in self.pods(node)}
        self.request("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": [{"key": "old", "effect": "NoSchedule"}]}})
        # The first two end as they make their first job.
        for life, (count, when) in enumerate([(1, "before"), (1, "after"), *((dice.randint(2, 12), dice.choice(["before", "after"])) for _ in range(LIVES))]):
            process = self.start(TAINTS)
            self.proxy.breaks_off = killer = AtWrite(process, count, when)
            wait_for(f"life {life}: its end, or that of all", lambda killer=killer: killer.died.is_set() or (
                not self.pods(node) and all(job.get("status", {}).get("phase") in migrations.OVER for job in self.api.list(JOBS))))
            process.end()
            self.assertLessEqual(len(self.api.list(JOBS)), len(moved))
        self.start(TAINTS)
        wait_for("the node is empty", lambda: not self.pods(node))
        wait_for("all jobs end", lambda: all(job.get("status", {}).get("phase") in migrations.OVER for job in self.api.list(JOBS)))
        self.all_ready(6)
        for job in self.api.list(JOBS):
            self.was_moved(job, moved[job["spec"]["podRef"]["uid"]])
        self.nothing_is_left_behind(moved)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

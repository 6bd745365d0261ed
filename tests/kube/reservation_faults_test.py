#!/usr/bin/env python3
"""The scheduler is killed at chosen moments while it gives out whole CPUs and kept room: before it has written what a pod was
given, between that and the binding, before it knows that it is bound, and while it writes what became of Reservations. Nothing
is ever given twice and nothing is left behind, by the API server's objects alone."""
import collections
import os
import random
import signal
import sys
import tempfile
import unittest

import reservations as of
import schedulers
from killer import Killer
from own_cluster import own_cluster
from reservations import owner, pod, reservation, said, topology

import kube_api
import refusing_proxy

NAMESPACE = "reservation-faults"
NODES, CPUS = 4, 16
LIVES = int(os.environ.get("KOORD_KILLS", "14"))
# (what is written, when it breaks off): a write that arrives is "after".
POINTS = {
    "nothing of the pod is written": ("PATCH", f"/namespaces/{NAMESPACE}/pods/", "before"),
    "the pod is written and not bound": ("PATCH", f"/namespaces/{NAMESPACE}/pods/", "after"),
    "the pod is not bound": ("POST", "/binding", "before"),
    "the pod is bound and nobody knows": ("POST", "/binding", "after"),
    "nothing of the Reservation is written": ("PATCH", ("/reservations/", "/status"), "before"),
    "the Reservation is written and nobody knows": ("PATCH", ("/reservations/", "/status"), "after"),
}


class Deaths(unittest.TestCase):
    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(self.api, NAMESPACE)
        of.install(schedulers.KUBECONFIG)
        self.world = of.World(self.api, NAMESPACE)
        self.world.clean()
        self.addCleanup(self.world.clean)
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        self.watch.wait("an empty namespace", lambda pods: not pods)
        nodes = [f"node-{i}" for i in range(NODES)]
        self.api.load([*(topology(name) for name in nodes), *(schedulers.node(name, str(CPUS), "32Gi") for name in nodes)])

    def start(self):
        process = schedulers.koord(f"--config={self.config.name}")
        self.addCleanup(process.end)
        return process

    def pods(self, dice):
        """More than fit: those of classes with whole CPUs, owners of both kinds, and others."""
        for i in range(36):
            yield pod(f"whole-{i}", NAMESPACE, {"cpu": dice.choice([1, 2, 2, 4]), "memory": "64Mi"}, app="none", qos="LSR")
        for i in range(24):
            yield pod(f"owner-{i}", NAMESPACE, {"cpu": dice.choice([1, 2]), "memory": "128Mi"}, app=dice.choice("ab"), qos=dice.choice([None, "LSR"]))
        for i in range(8):
            yield pod(f"plain-{i}", NAMESPACE, {"cpu": "500m"}, app="none")

    def reservations(self, dice):
        for i in range(12):
            whole = dice.choice([True, False])
            yield reservation(f"kept-{i}", {"cpu": dice.choice([2, 4]), "memory": "512Mi"}, owners=[owner(dice.choice("ab"))],
                              allocateOnce=dice.choice([True, False]), allocatePolicy=dice.choice(["Aligned", "Restricted"]),
                              template={"labels": {of.QOS: "LSR"}} if whole else {}, spec={"priorityClassName": "koord-prod", "priority": 9500} if whole else {})

    def test_killed_where_it_hurts(self):
        seed = int(os.environ.get("KOORD_SEED", 0)) or random.randrange(1 << 32)
        print(f"seed {seed}", file=sys.stderr)
        dice, died = random.Random(seed), collections.Counter()
        with tempfile.TemporaryDirectory() as folder, refusing_proxy.RefusingProxy(schedulers.KUBECONFIG, folder) as proxy, \
                tempfile.NamedTemporaryFile("w", suffix=".yaml") as self.config:
            # Without the chart's limit on loads, which nobody reports here; its kubeconfig is the flag's.
            self.config.write(of.configuration("manifest", proxy.kubeconfig))
            self.config.flush()
            waiting = [*self.pods(dice), *self.reservations(dice)]
            dice.shuffle(waiting)
            points = [*POINTS, *dice.choices(list(POINTS), k=max(LIVES - len(POINTS), 0))][:LIVES]
            dice.shuffle(points)
            for life, point in enumerate(points):
                part, waiting = waiting[:len(waiting) // (len(points) - life)], waiting[len(waiting) // (len(points) - life):]
                process = self.start()
                proxy.breaks_off = killer = Killer(process, POINTS[point], dice.randint(1, 3))
                self.api.load(part)
                # Whoever writes a Reservation: it is placed, or one of its pods comes or goes.
                if not killer.died.wait(3):
                    self.go(dice, 3)
                if killer.died.wait(3):
                    died[point] += 1
                else:
                    process.child.kill()
                    process.child.wait()
                proxy.breaks_off = lambda *_: False
                self.assertEqual(self.world.faults(), [], f"{point}\n{process.output()[-3000:]}")
                process.end()
        print(f"{dict(died)}", file=sys.stderr)
        self.assertGreaterEqual(sum(died.values()), LIVES * 2 // 3)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as self.config:
            self.config.write(of.configuration("manifest", schedulers.KUBECONFIG))
            self.config.flush()
            self.start()
            self.nothing_is_left_behind()

    def go(self, dice, number):
        """Some of those that are bound."""
        bound = sorted(name for name, one in self.watch.pods.items() if one["spec"].get("nodeName"))
        for name in dice.sample(bound, min(number, len(bound))):
            schedulers.delete_now(self.world.connection, f"{self.world.pods}/{name}")

    def nothing_is_left_behind(self):
        of.wait_settled(self.world)
        for one in self.watch.pods.values():
            self.assertLessEqual(len(self.watch.nodes_of.get(one["metadata"]["uid"], ())), 1, "bound twice")
            if one["spec"].get("nodeName") and one["metadata"]["labels"].get(of.QOS) == "LSR":
                asked = int(one["spec"]["containers"][0]["resources"]["requests"]["cpu"])
                self.assertEqual(len(of.cpus(one)), asked, one["metadata"])
        bound = [one for one in self.watch.pods.values() if one["spec"].get("nodeName")]
        print(f"{len(bound)} of {len(self.watch.pods)} pods are bound, {sum(said(one, of.ALLOCATED) is not None for one in bound)} of them in Reservations",
              file=sys.stderr)
        schedulers.delete_now(self.world.connection, self.world.pods)
        self.watch.wait("no pods", lambda pods: not pods)
        of.wait_settled(self.world)
        schedulers.delete_now(self.world.connection, of.RESERVATIONS)
        # All of each machine is one pod's.
        for i in range(NODES):
            kube_api.create(self.world.connection, pod(f"all-{i}", NAMESPACE, {"cpu": CPUS, "memory": "32Gi"}, app="none", qos="LSR"))
        for i in range(NODES):
            self.assertEqual(self.watch.verdict(f"all-{i}")[0], "scheduled", self.watch.verdict(f"all-{i}"))
            self.assertEqual(of.cpus(self.watch.pods[f"all-{i}"]), set(range(CPUS)))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    _, _, schedulers.KUBECONFIG = own_cluster("reservation-faults")  # the definitions are nobody else's
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""A gang and a scheduler that dies between its first binding and its last, or loses its lease there, on a real API server: the
rest of the gang follows before anybody else, what is bound stays, and nothing is left behind. And a cluster whose PodGroups are
defined only later."""
import collections
import contextlib
import itertools
import os
import random
import signal
import sys
import tempfile
import threading
import time
import unittest

import gang_cases as cases
import reservations as of
import schedulers
from own_cluster import own_cluster
from reservation_faults_test import Killer
from schedulers import wait_for

import kube_api
import refusing_proxy

NAMESPACE, SYSTEM = "gang-faults", "koordinator-system"
GROUPS = f"{cases.POD_GROUPS}/namespaces/{NAMESPACE}/podgroups"
NODES, CPUS, SIZE = 4, 8, 12
LIVES = int(os.environ.get("KOORD_KILLS", "2"))
BINDING, NUMBERS = "/binding", itertools.count(1)
LEASE = ("--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=200ms")
# Of who comes before others and sends nobody away.
URGENT = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gang-faults-urgent"}, "value": 9000,
          "preemptionPolicy": "Never"}
# So slow that a gang of all the room is on its way for some seconds, and what happens after EARLY bindings is in their middle.
SLOW, EARLY = ("--kube-api-qps=10", "--kube-api-burst=1"), 3
LISTENING = 4  # seconds in which a kind that is not defined is asked for a few times


class Gangs(unittest.TestCase):
    defined = False

    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        self.connection = self.api.connect()
        schedulers.ensure_namespaces(self.api, NAMESPACE, SYSTEM)
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        self.addCleanup(self.clean)
        self.api.load([schedulers.node(f"node-{i}", str(CPUS), "32Gi") for i in range(NODES)])
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.proxy = refusing_proxy.RefusingProxy(schedulers.KUBECONFIG, folder.name)
        self.proxy.__enter__()
        self.addCleanup(self.proxy.__exit__)
        self.asked = collections.Counter()
        self.proxy.breaks_off = self.count

    @classmethod
    def define(cls):
        """The kinds, once."""
        if not cls.defined:
            of.install(schedulers.KUBECONFIG)
        cls.defined = True

    def count(self, method, path, when):
        self.asked[path] += when == "before"
        return False

    def start(self, *flags, elects=False, kubeconfig=None):
        config = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.addCleanup(config.close)
        text = of.configuration("manifest", kubeconfig or self.proxy.kubeconfig)
        config.write(text.replace("leaderElect: false", "leaderElect: true") if elects else text)
        config.flush()
        process = schedulers.koord(f"--config={config.name}", *flags)
        self.addCleanup(process.end)
        return process

    def gang(self, size=SIZE, **more):
        """A strict one of a PodGroup's; its pods ask for a CPU each."""
        return cases.Gang(NAMESPACE, f"gang-{next(NUMBERS)}", "small", size, size, how="pod group", seconds=60, annotations={}, **more)

    def create(self, gang):
        kube_api.create(self.connection, gang.pod_group())
        self.api.load([self.whole(item) for item in gang.pods(gang.members)])

    @staticmethod
    def whole(item):
        """A pod of a whole CPU, anywhere."""
        del item["spec"]["nodeSelector"]
        item["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        return item

    def single(self, name, **spec):
        return self.whole(of.pod(name, NAMESPACE, nodeSelector={}, **spec))

    def bound(self, gang):
        return {name: item["spec"]["nodeName"] for name, item in self.watch.pods.items()
                if name.startswith(f"{gang.name}-") and item["spec"].get("nodeName")}

    def phase(self, gang):
        status = self.connection.request("GET", f"{GROUPS}/{gang.name}").get("status") or {}
        return status.get("phase"), status.get("scheduled")

    def clean(self):
        schedulers.clean(self.api, [NAMESPACE])
        with contextlib.suppress(kube_api.ApiError):
            self.connection.request("DELETE", GROUPS)

    def remove_all(self):
        schedulers.delete_now(self.connection, f"/api/v1/namespaces/{NAMESPACE}/pods")
        self.watch.wait("no pods", lambda pods: not pods)
        self.connection.request("DELETE", GROUPS)

    def stays_and_gets_whole(self, gang, before):
        """Who was bound is where it was, and the rest has come."""
        try:
            self.watch.wait(f"{gang.name} whole", lambda _: len(self.bound(gang)) == gang.members, 30)
        except AssertionError as error:
            lines = [f"{len(self.bound(gang))} of {gang.members} are bound, {len(before)} were before"]
            lines += sorted(f"{name}: {item['spec'].get('nodeName')} {schedulers.condition_of(item).get('message')}" for name, item in self.watch.pods.items())
            raise AssertionError("\n".join([str(error), *lines])) from None
        for name, (uid, node) in before.items():
            item = self.watch.pods.get(name)
            self.assertIsNotNone(item, f"{name} was bound and is gone")
            self.assertEqual((item["metadata"]["uid"], item["spec"]["nodeName"]), (uid, node), name)
        for name, item in self.watch.pods.items():
            self.assertLessEqual(len(self.watch.nodes_of.get(item["metadata"]["uid"], ())), 1, f"{name} is bound twice")
        wait_for(f"{gang.name}'s phase", lambda: self.phase(gang) == ("Scheduled", gang.members), 15)

    def halves(self, gang):
        """{name: (uid, node)} of those that are bound."""
        items = self.connection.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
        return {item["metadata"]["name"]: (item["metadata"]["uid"], item["spec"]["nodeName"]) for item in items
                if item["metadata"]["name"].startswith(f"{gang.name}-") and item["spec"].get("nodeName")}

    def nothing_is_left_behind(self):
        """All of the room is there for a gang that needs all of it, and nobody is nominated."""
        self.assertEqual([name for name, item in self.watch.pods.items()
                          if item["status"].get("nominatedNodeName") and not item["spec"].get("nodeName")], [])
        self.remove_all()
        gang = self.gang(NODES * CPUS)
        self.create(gang)
        self.watch.wait("a gang that fills the cluster", lambda _: len(self.bound(gang)) == gang.members, 30)
        self.remove_all()

    def test_definition_comes_later(self):
        """First of all, as the others define it."""
        process = self.start()
        kube_api.create(self.connection, self.single("before"))
        self.watch.wait_scheduled("before")
        self.asked.clear()
        time.sleep(LISTENING)
        process.alive()
        tries = sum(number for path, number in self.asked.items() if path.endswith("/podgroups"))
        print(f"{tries} requests for PodGroups in {LISTENING} s without their definition, of {sum(self.asked.values())}", file=sys.stderr)
        self.assertLessEqual(tries, 2 * LISTENING)
        gang = self.gang(3)
        self.api.load([self.whole(item) for item in gang.pods(gang.members)])
        self.define()
        kube_api.create(self.connection, gang.pod_group())
        self.watch.wait("the gang, once it is known", lambda _: len(self.bound(gang)) == 3, 60)
        wait_for("its phase", lambda: self.phase(gang) == ("Scheduled", 3))
        self.remove_all()

    def test_killed_between_the_first_binding_and_the_last(self):
        seed = int(os.environ.get("KOORD_SEED", 0)) or random.randrange(1 << 32)
        print(f"seed {seed}", file=sys.stderr)
        self.define()
        kube_api.create(self.connection, URGENT)
        dice, halves = random.Random(seed), collections.Counter()
        for life in range(LIVES):
            gang, when = self.gang(), ("before", "after")[life % 2]
            process = self.start()
            self.proxy.breaks_off = killer = Killer(process, ("POST", BINDING, when), dice.randint(SIZE // 2 if when == "before" else 1, SIZE - 1))
            self.create(gang)
            self.assertTrue(killer.died.wait(20), process.output()[-3000:])
            self.proxy.breaks_off = self.count
            # Whatever was on its way has arrived.
            before = self.halves(gang)
            while (now := self.halves(gang)) != before:
                before = now
                time.sleep(0.1)
            halves["none" if not before else "all" if len(before) == SIZE else "some"] += 1
            # They come before the gang's rest by their priority, and there is no room for both.
            others = NODES * CPUS - SIZE
            self.api.load([self.single(f"other-{life}-{i}", priorityClassName=URGENT["metadata"]["name"]) for i in range(others + 2)])
            successor = self.start()
            self.stays_and_gets_whole(gang, before)
            self.watch.wait("others in the rest of the room", lambda _: self.watch.bound() == NODES * CPUS, 20)
            successor.alive()
            if life == LIVES - 1:
                self.nothing_is_left_behind()
            successor.end()
            process.end()
            self.remove_all()
        print(f"{dict(halves)}", file=sys.stderr)
        self.assertGreaterEqual(halves["some"], LIVES // 2)

    def two_replicas(self, ends):
        """The leader, after `ends` with it in the middle of a gang's bindings, and the gang."""
        self.define()
        schedulers.drop_lease(self.connection)
        leader = self.start(*LEASE, *SLOW, elects=True)
        wait_for("a leader", lambda: "msg=leading" in leader.output())
        second = self.start(*LEASE, elects=True, kubeconfig=schedulers.KUBECONFIG)
        gang = self.gang(NODES * CPUS)
        reached, counted = threading.Event(), [0]

        def bindings(method, path, when):
            counted[0] += (when, method) == ("after", "POST") and path.endswith(BINDING)
            if counted[0] >= EARLY:
                reached.set()
            return False

        self.proxy.breaks_off = bindings
        self.create(gang)
        self.assertTrue(reached.wait(30), leader.output()[-3000:])
        ends(leader)
        before = self.halves(gang)
        self.assertTrue(0 < len(before) < gang.members, f"{len(before)} are bound: not in the middle")
        self.stays_and_gets_whole(gang, before)
        # Who has lost the lease goes on until he hears of it.
        wait_for("the other replica leads", lambda: "msg=leading" in second.output())
        second.alive()
        self.nothing_is_left_behind()
        return leader

    def test_the_leader_is_killed_and_the_other_replica_goes_on(self):
        def kill(leader):
            leader.child.kill()
            leader.child.wait()
            schedulers.drop_lease(self.connection)
        self.two_replicas(kill)

    def test_the_lease_is_lost_in_the_middle(self):
        """To one that does nothing with it; the other replica has it when that time is over."""
        def take(_):
            self.connection.request("PATCH", schedulers.LEASES.format(SYSTEM, "koord-scheduler"), {"spec": {"holderIdentity": "nobody"}},
                                    "application/merge-patch+json")
        leader = self.two_replicas(take)
        leader.child.wait(20)
        self.assertIn("leaderelection lost", leader.output())


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    _, _, schedulers.KUBECONFIG = own_cluster("gang-faults")  # the definitions are nobody else's
    unittest.main(verbosity=2, warnings="ignore")

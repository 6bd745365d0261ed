#!/usr/bin/env python3
"""The scheduler while things die: the API server is killed, and koord itself, with hundreds of pods on their way."""
import collections
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

import schedulers
from schedulers import OURS, wait_for

import kube_api
import refusing_proxy

NAMESPACE = "scheduler-faults"
NODES, PODS = 20, 500  # which fill the nodes to the last millicore
CPU = f"{PODS // NODES * 100}m"
EARLY, LATE = PODS // 5, PODS // 2  # bound pods after which something is done
CLUSTER = os.path.join(schedulers.HERE, "cluster")
# So slow that there are pods on their way when something happens.
SLOW = ("--kube-api-qps=100", "--kube-api-burst=20")
PROMPTLY = 7  # seconds; what is on its way may take five of them
UNDER_PROTEST = 13  # seconds; the process gives its roles ten
# Soon the leader where there is none, and then not lost on a busy machine.
QUICK = ("--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=200ms")
SHORT_LEASE = ("--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=200ms")
KILLS = 4
WHOLE = 4  # seconds in which an API server says how far a watch is


class Faults(unittest.TestCase):
    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(self.api, NAMESPACE, "koordinator-system")
        schedulers.clean(self.api, [NAMESPACE])
        schedulers.drop_lease(self.api.connect())
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        self.watch.wait("an empty namespace", lambda pods: not pods)
        self.api.load([schedulers.node(f"node-{index}", cpu=CPU, pods=PODS // NODES + 5) for index in range(NODES)])
        self.api.load([schedulers.pod(f"pod-{index}", OURS, NAMESPACE) for index in range(PODS)])

        self.addCleanup(schedulers.clean, self.api, [NAMESPACE])

    def start(self, *flags):
        process = schedulers.koord(*flags)
        self.addCleanup(process.end)
        return process

    def wait_bound(self, number):
        self.watch.wait(f"{number} pods bound", lambda _: self.watch.bound() >= number, 120)

    def check_each_is_bound_once(self):
        self.wait_bound(PODS)
        self.assertEqual(len(self.watch.pods), PODS)
        for name, item in self.watch.pods.items():
            self.assertEqual(self.watch.nodes_of[item["metadata"]["uid"]], {item["spec"]["nodeName"]}, name)
        full = collections.Counter(item["spec"]["nodeName"] for item in self.watch.pods.values())
        self.assertEqual(set(full.values()), {PODS // NODES})

    def scheduled_events(self):
        """{pod: [node that an event names]}"""
        found = collections.defaultdict(list)
        for event in self.api.list(schedulers.EVENTS.format(NAMESPACE)):
            if event["reason"] == "Scheduled":
                found[event["regarding"]["name"]].append(event["note"].rsplit(" ", 1)[1])
        return found

    def check_events(self):
        """At most one a pod, and it tells the truth."""
        events = self.scheduled_events()
        for name, nodes in events.items():
            self.assertEqual(nodes, [self.watch.pods[name]["spec"]["nodeName"]], name)
        return len(events)

    def test_the_api_server_dies_and_comes_back(self):
        process = self.start("--leader-elect=false", *SLOW)
        self.wait_bound(EARLY)
        self.cluster("stop-apiserver")
        process.alive()
        self.cluster("start-apiserver")
        self.check_each_is_bound_once()
        wait_for("the events", lambda: len(self.scheduled_events()) == PODS)
        self.check_events()
        self.assertLess(process.terminate(), PROMPTLY)
        self.assertEqual(process.child.returncode, 0, process.output()[-2000:])

    def cluster(self, verb):
        subprocess.run([CLUSTER, verb, os.environ["KOORD_KUBE_DIR"]], check=True)

    def test_without_an_api_server_it_still_ends_when_told(self):
        process = self.start(*SLOW)
        self.wait_bound(EARLY)
        self.cluster("stop-apiserver")
        self.addCleanup(self.cluster, "start-apiserver")
        self.assertLess(process.terminate(), UNDER_PROTEST)
        self.assertEqual(process.child.returncode, 0, process.output()[-2000:])

    def test_a_leader_that_cannot_renew_ends(self):
        process = self.start(*SHORT_LEASE, *SLOW)
        self.wait_bound(EARLY)
        self.cluster("stop-apiserver")
        self.addCleanup(self.cluster, "start-apiserver")
        self.assertEqual(process.child.wait(3 + UNDER_PROTEST), 1, process.output()[-2000:])
        self.assertIn("leaderelection lost", process.output())

    def test_a_successor_goes_on_where_it_was_told_to_stop(self):
        first = self.start(*SLOW)
        self.wait_bound(EARLY)
        self.assertLess(first.terminate(), PROMPTLY)
        self.assertEqual(first.child.returncode, 0, first.output()[-2000:])
        self.assertLess(self.watch.bound(), PODS, "nothing was left to do")
        self.start()
        self.check_each_is_bound_once()
        wait_for("the events", lambda: len(self.scheduled_events()) == PODS)
        self.check_events()

    def test_a_successor_goes_on_where_it_was_killed(self):
        first = self.start("--leader-elect=false", *SLOW)
        self.wait_bound(LATE)
        first.child.send_signal(signal.SIGKILL)
        first.child.wait()
        self.start("--leader-elect=false")
        self.check_each_is_bound_once()
        # Events that the killed one had not sent are lost with it.
        wait_for("the events", lambda: len(self.scheduled_events()) >= PODS - LATE)
        self.check_events()

    def leader(self, replicas):
        """Who of them has led, once one does; each does so once in its life."""
        led = wait_for("a leader", lambda: [r for r in replicas if "msg=leading" in r.output()])
        self.assertEqual(len(led), 1)
        return led[0]

    def test_a_successor_whose_watch_is_late_binds_nothing_before_it_knows_what_is_bound(self):
        with tempfile.TemporaryDirectory() as folder, refusing_proxy.RefusingProxy(schedulers.KUBECONFIG, folder) as proxy:
            first = self.start(*SHORT_LEASE, *SLOW)
            self.leader([first])
            late = self.start(f"--kubeconfig={proxy.kubeconfig}", *QUICK)
            wait_for("its informers", lambda: "the informers of nodes and pods have synced" in late.output())
            self.assertEqual(proxy.hold("pods"), 1)
            self.wait_bound(LATE)
            first.child.send_signal(signal.SIGKILL)
            first.child.wait()
            schedulers.drop_lease(self.api.connect())
            self.leader([late])
            bound = self.watch.bound()
            time.sleep(WHOLE)
            self.assertEqual(self.watch.bound(), bound)
            proxy.release()
            self.check_each_is_bound_once()

    def test_replicas_that_are_killed_at_random_and_one_that_slept_through_its_lease(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        points = sorted(random.Random(seed).sample(range(PODS * 3 // 4), KILLS + 1))
        replicas = [self.start(*SHORT_LEASE, *SLOW) for _ in range(2)]
        for point in points[:-1]:
            self.wait_bound(point)
            leader = self.leader(replicas)
            leader.child.send_signal(signal.SIGKILL)
            leader.child.wait()
            schedulers.drop_lease(self.api.connect())
            replicas.remove(leader)
            replicas.append(self.start(*SHORT_LEASE, *SLOW))
        self.wait_bound(points[-1])
        sleeper = self.leader(replicas)
        sleeper.child.send_signal(signal.SIGSTOP)
        replicas.remove(sleeper)
        self.leader(replicas)
        sleeper.child.send_signal(signal.SIGCONT)
        self.assertEqual(sleeper.child.wait(UNDER_PROTEST), 1, sleeper.output()[-2000:])
        self.assertIn("leaderelection lost", sleeper.output())
        # On a busy machine the last one may lose so short a lease, too: then somebody has to be left.
        self.start(*QUICK)
        self.check_each_is_bound_once()
        self.check_events()


if __name__ == "__main__":
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

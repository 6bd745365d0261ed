#!/usr/bin/env python3
"""What goes wrong beside a migration, on a real API server with koord's scheduler: a leader that is frozen beyond its lease, room
that expires or is deleted, a budget that lets nobody go, a kubelet that ends no pod. Nobody is evicted twice, or without room."""
import os
import signal
import tempfile
import threading
import time
import unittest

import migrations
import schedulers
from migrations import BUDGETS, JOBS, LEASE, PODS, RESERVATIONS, condition
from schedulers import wait_for

import refusing_proxy

# Long enough for a busy machine.
LEADING = {"leaderElect: false": "leaderElect: true\n  leaseDuration: 6s\n  renewDeadline: 5s\n  retryPeriod: 500ms"}
# All of a workload may be on their way at once.
AT_ONCE = {"      evictBurst: 1\n": "      evictBurst: 1\n      maxMigratingPerWorkload: 3\n      maxUnavailablePerWorkload: 3\n      maxMigratingPerNode: 10\n"}


class Watcher:
    """For RefusingProxy.breaks_off: `written`: when, and all that came through but events, the lease apart. With `stops` the process
    is frozen once a job's status is written and that says true, before it hears of the answer."""

    def __init__(self, stops=None):
        self.stops, self.process, self.written, self.leases = stops, None, [], 0
        self.renews, self.frozen = True, threading.Event()

    def __call__(self, method, path, when):
        if method == "GET" or "/events" in path:
            return False
        if "/leases/" in path:
            self.leases += when == "after"
            return not self.renews
        if when == "before":
            self.written.append((time.monotonic(), method, path))
        elif self.stops and self.process and not self.frozen.is_set() and path.endswith("/status") and self.stops():
            os.kill(self.process.child.pid, signal.SIGSTOP)
            self.frozen.set()
        return False


class Faults(migrations.World):
    @classmethod
    def setUpClass(cls):
        cls.cluster = migrations.Cluster("descheduler-faults")

    def setUp(self):
        super().setUp()
        self.nodes("node-0", "node-1", "node-2")

    def holder(self):
        return self.request("GET", LEASE)["spec"].get("holderIdentity") if self.status_of(LEASE) == 0 else None

    def proxied(self, watcher):
        folder = tempfile.TemporaryDirectory(prefix="koord-proxy.")
        self.addCleanup(folder.cleanup)
        proxy = refusing_proxy.RefusingProxy(self.cluster.account, folder.name)
        self.enterContext(proxy)
        proxy.breaks_off = watcher
        return proxy.kubeconfig

    def test_a_leader_that_is_frozen_as_it_is_about_to_evict_writes_no_more(self):
        """The job says already that the pod is being evicted."""
        pod, other = self.deploy(4)[0], Watcher()
        one = Watcher(lambda: condition(self.job("move"), "Eviction").get("reason") == "Evicting")
        one.process = first = self.start(LEADING, kubeconfig=self.proxied(one))
        self.addCleanup(first.child.send_signal, signal.SIGCONT)
        leader = wait_for("a leader", self.holder)
        second = self.start(LEADING, kubeconfig=self.proxied(other))
        self.migrate("move", pod)
        wait_for("the leader is frozen", one.frozen.is_set)
        self.assertEqual((self.holder(), other.written, other.leases), (leader, [], 0))
        before = list(one.written)
        self.was_moved(self.ended("move"), pod)
        self.assertNotEqual(self.holder(), leader)
        self.assertGreater(len(other.written), 0)
        first.child.send_signal(signal.SIGCONT)
        # It ends, as whoever has lost a lease does, and has written nothing.
        self.assertEqual(first.child.wait(30), 1, first.output()[-2000:])
        self.assertEqual(one.written, before)
        second.alive()
        self.assertEqual([event["responseStatus"]["code"] for event in self.asked("create", "pods", "eviction")], [201])
        self.all_ready(4)
        self.assertEqual([room["status"]["phase"] for room in self.api.list(RESERVATIONS)], ["Succeeded"])

    def test_a_leader_that_cannot_renew_its_lease_stops_before_another_begins(self):
        """Whoever leads has a job to end at any time."""
        self.deploy(4)
        one, other = Watcher(), Watcher()
        first = self.start(LEADING, kubeconfig=self.proxied(one))
        leader = wait_for("a leader", self.holder)
        self.start(LEADING, kubeconfig=self.proxied(other))
        count = 0

        def another_leads():
            nonlocal count
            count += 1
            self.migrate(f"none-{count}", {"metadata": {"name": "nobody"}})
            return other.written
        for _ in range(5):
            self.assertFalse(another_leads())
        wait_for("it works", lambda: len(one.written) >= 5)
        one.renews = False
        wait_for("the other one leads", another_leads)
        self.assertNotEqual(self.holder(), leader)
        self.assertEqual(first.child.wait(30), 1, first.output()[-2000:])
        wait_for("all jobs end", lambda: {job.get("status", {}).get("reason") for job in self.api.list(JOBS)} == {"MissingPod"})
        self.assertLess(max(at for at, *_ in one.written), min(at for at, *_ in other.written))
        # Each of them once, but for what is written first.
        ended = [path for _, _, path in one.written + other.written if path.endswith("/status")]
        self.assertEqual(sorted(ended), sorted(set(ended)))

    def refused(self, name):
        return self.until(name, "is refused by the budget", lambda job: condition(job, "Eviction").get("reason") == "FailedEvict")

    def test_room_that_expires_or_is_deleted_fails_the_job_and_the_pod_stays(self):
        pods = self.deploy(6)
        self.budget(6)
        self.start(AT_ONCE)
        self.migrate("expires", pods[0], reservationOptions={"template": {"spec": {"ttl": "4s"}}})
        self.migrate("deleted", pods[1])
        self.migrate("taken", pods[2])
        self.request("DELETE", f"{RESERVATIONS}/{self.refused('deleted')['metadata']['uid']}")
        self.assertEqual(self.ended("deleted")["status"]["reason"], "MissingReservation")
        job = self.ended("expires")
        self.assertEqual((job["status"]["phase"], job["status"]["reason"], job["status"]["message"]), ("Failed", "ReservationExpired", "Reservation expired"))
        # With a pod that its workload makes in addition: whoever has the room now, the pod that was to go stays.
        self.refused("taken")
        self.request("PATCH", f"{migrations.DEPLOYMENTS}/web", {"spec": {"replicas": 7}})
        job = self.ended("taken")
        self.assertEqual((job["status"]["phase"], job["status"]["reason"]), ("Failed", "ForbiddenMigratePod"))
        self.assertLessEqual({pod["metadata"]["uid"] for pod in pods}, {pod["metadata"]["uid"] for pod in self.all_ready(7)})

    def test_a_budget_that_lets_nobody_go_is_asked_seldom_and_the_job_ends_in_time(self):
        pods = self.deploy(4)
        self.budget(4)
        self.start(AT_ONCE)
        pod = f"{PODS}/{pods[0]['metadata']['name']}"
        self.migrate("waits", pods[0], ttl="12s")
        self.migrate("goes", pods[1])
        for name in ("waits", "goes"):
            self.assertRegex(condition(self.refused(name), "Eviction")["message"], "Failed evict Pod .* caused by .*disruption budget")
        # Neither who touches the pod nor other jobs make it ask again.
        for count in range(1000):
            if self.job("waits")["status"]["phase"] in migrations.OVER:
                break
            self.request("PATCH", pod, {"metadata": {"annotations": {"count": str(count)}}})
            time.sleep(0.05)
        job = self.job("waits")
        self.assertEqual((job["status"]["phase"], job["status"]["reason"], condition(job, "Eviction")["reason"]), ("Failed", "Timeout", "FailedEvict"))
        asked = [event for event in self.asked("create", "pods", "eviction") if event["objectRef"]["name"] == pods[0]["metadata"]["name"]]
        self.assertEqual({event["responseStatus"]["code"] for event in asked}, {429})
        # After 0.1 s, 0.2 s, 0.4 s...
        self.assertIn(len(asked), range(3, 10))
        wait_for("its room goes", lambda: self.status_of(f"{RESERVATIONS}/{job['metadata']['uid']}") == 404)
        self.assertEqual({one["metadata"]["uid"] for one in self.all_ready(4)}, {one["metadata"]["uid"] for one in pods})
        # Once the budget lets go, the other one does.
        self.request("DELETE", f"{BUDGETS}/most")
        self.was_moved(self.ended("goes"), pods[1])

    def test_who_may_not_go_yet_when_another_takes_its_room_goes_into_the_room_that_is_left(self):
        """A new pod takes the first room of its workload, whoever has gone."""
        for name in ("node-1", "node-2"):
            self.request("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
        pods, goes = self.deploy(4), threading.Event()  # on one node, which has nobody's room
        for name in ("node-1", "node-2"):
            self.request("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}})
        stays = f"/{pods[0]['metadata']['name']}/eviction"
        self.start(AT_ONCE, kubeconfig=self.proxied(lambda _, path, when: when == "before" and path.endswith(stays) and not goes.is_set()))
        names = [f"move-{at}" for at in range(3)]
        for name, pod in zip(names, pods):
            self.migrate(name, pod)
            self.until(name, "has its room", lambda job: condition(job, "ReservationScheduled").get("status") == "True")
        room = f"{RESERVATIONS}/{self.job(names[0])['metadata']['uid']}"
        wait_for("another one has its room", lambda: self.request("GET", room)["status"]["phase"] == "Succeeded")
        self.all_ready(4)
        time.sleep(2)
        self.assertEqual(self.job(names[0])["status"]["phase"], "Running")
        goes.set()
        ends = [self.ended(name)["status"] for name in names]
        self.assertEqual([(status["phase"], status.get("reason")) for status in ends], [("Succeeded", None)] * 3, ends)
        left = {pod["metadata"]["uid"] for pod in self.all_ready(4)} & {pod["metadata"]["uid"] for pod in pods}
        self.assertEqual(left, {pods[3]["metadata"]["uid"]})
        self.assertEqual([room["status"]["phase"] for room in self.api.list(RESERVATIONS)], ["Succeeded"] * 3)
        self.assertEqual(len(self.asked("create", "pods", "eviction")), 3)

    def test_a_pod_that_no_kubelet_ends_is_asked_once_and_its_job_ends_in_time(self):
        pods = self.deploy(4, terminationGracePeriodSeconds=1)
        self.kubelets.close()
        self.start()
        self.migrate("stuck", pods[0], ttl="8s")
        job = self.until("stuck", "has asked the pod to go", lambda job: condition(job, "Eviction").get("reason") == "Evicting")
        self.assertRegex(condition(job, "Eviction")["message"], "^Pod .* evicted from node ")
        job = self.ended("stuck")
        self.assertEqual((job["status"]["phase"], job["status"]["reason"], condition(job, "Eviction")["reason"]), ("Failed", "Timeout", "Evicting"))
        self.assertIn("deletionTimestamp", self.request("GET", f"{PODS}/{pods[0]['metadata']['name']}")["metadata"])
        self.assertEqual([event["responseStatus"]["code"] for event in self.asked("create", "pods", "eviction")], [201])
        self.assertEqual(len(self.api.list(JOBS)), 1)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

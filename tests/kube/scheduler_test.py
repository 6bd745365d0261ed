#!/usr/bin/env python3
"""`koord --role=scheduler` against a real API server: what it writes, its lease, its ports, and how it ends."""
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import schedulers
from schedulers import KOORD, OURS, UPSTREAM, wait_for

import kube_api
import kube_version

NAMESPACE = "scheduler-test"
QUICK_LEASE = ("--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
               "--leader-elect-retry-period=200ms")
PROMPTLY = 5  # seconds


class SchedulerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(cls.api, NAMESPACE)
        cls.connection = cls.api.connect()

    def setUp(self):
        schedulers.clean(self.api, [NAMESPACE])
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)

    def tearDown(self):
        schedulers.clean(self.api, [NAMESPACE])

    def start(self, *flags, make=schedulers.koord):
        process = make(*flags)
        self.addCleanup(process.end)
        return process

    def create(self, *items):
        for item in items:
            kube_api.create(self.connection, item)

    def events(self, name, reason):
        items = self.connection.request("GET", schedulers.EVENTS.format(NAMESPACE))["items"]
        return [e for e in items if e["reason"] == reason and e["regarding"]["name"] == name]

    def event(self, name, reason):
        return wait_for(f"event {reason} of {name}", lambda: self.events(name, reason))[0]

    def lease(self, name, namespace):
        try:
            return self.connection.request("GET", schedulers.LEASES.format(namespace, name))["spec"]
        except kube_api.ApiError as error:
            if error.status == 404:
                return {}
            raise

    def test_a_pod_that_fits_is_bound_and_an_event_says_where(self):
        self.create(schedulers.node("one"), schedulers.pod("fits", OURS, NAMESPACE))
        self.start("--leader-elect=false")
        self.assertEqual(self.watch.verdict("fits"), ("scheduled", "one"))
        event = self.event("fits", "Scheduled")
        self.assertEqual(event["note"], f"Successfully assigned {NAMESPACE}/fits to one")
        self.assertEqual((event["type"], event["action"]), ("Normal", "Binding"))
        self.assertEqual(event["reportingController"], OURS)
        self.assertTrue(event["reportingInstance"].startswith(OURS + "-"), event["reportingInstance"])
        self.assertEqual(event["regarding"]["uid"], self.watch.pods["fits"]["metadata"]["uid"])
        self.assertEqual(schedulers.condition_of(self.watch.pods["fits"]).get("status"), "True")

    def test_a_pod_that_fits_nowhere_is_told_so_until_it_does(self):
        self.create(schedulers.node("red", labels={"colour": "red"}),
                    schedulers.pod("picky", OURS, NAMESPACE, nodeSelector={"colour": "green"}))
        self.start("--leader-elect=false")
        # ElasticQuota's words and DefaultPreemption's: Koordinator's profile has both.
        vain = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        message = f"0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. {vain}, {vain}"
        self.assertEqual(self.watch.verdict("picky"), ("Unschedulable", message))
        pod = self.watch.pods["picky"]
        condition = schedulers.condition_of(pod)
        self.assertEqual(condition.get("observedGeneration"), pod["metadata"].get("generation"))  # pods have one since 1.33
        self.assertTrue(condition["lastTransitionTime"])
        event = self.event("picky", "FailedScheduling")
        self.assertEqual((event["type"], event["action"], event["note"]), ("Warning", "Scheduling", message))

        # The node's change is heard of at once; what it is then tried with is the pod's backoff.
        self.connection.request("PATCH", "/api/v1/nodes/red", {"metadata": {"labels": {"colour": "green"}}},
                                "application/merge-patch+json")
        self.watch.wait_scheduled("picky")

    def test_gates_keep_a_pod_back(self):
        self.create(schedulers.node("one"),
                    schedulers.pod("gated", OURS, NAMESPACE, schedulingGates=[{"name": "example.com/wait"}]),
                    schedulers.pod("free", OURS, NAMESPACE))
        self.start("--leader-elect=false")
        self.watch.wait_scheduled("free")
        self.assertNotIn("nodeName", self.watch.pods["gated"]["spec"])
        self.connection.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/gated",
                                {"spec": {"schedulingGates": []}}, "application/merge-patch+json")
        self.watch.wait_scheduled("gated")

    def test_a_new_node_and_a_freed_one_are_used(self):
        self.create(schedulers.node("small", "1"), schedulers.pod("first", OURS, NAMESPACE, "900m"),
                    schedulers.pod("second", OURS, NAMESPACE, "900m"))
        self.start("--leader-elect=false")

        def one_of_two(pods):
            waiting = [name for name, item in pods.items() if schedulers.condition_of(item).get("status") == "False"]
            bound = [name for name, item in pods.items() if item["spec"].get("nodeName")]
            return (bound[0], waiting[0]) if bound and waiting else None

        bound, waiting = self.watch.wait("one bound, one refused", one_of_two)
        schedulers.delete_now(self.connection, f"/api/v1/namespaces/{NAMESPACE}/pods/{bound}")
        self.watch.wait_scheduled(waiting)
        self.create(schedulers.pod("third", OURS, NAMESPACE, "900m"))
        self.assertEqual(self.watch.verdict("third")[0], "Unschedulable")
        self.create(schedulers.node("more", "1"))
        self.watch.wait_scheduled("third")

    def test_ports_health_and_metrics(self):
        secure, plain = free_ports(2)
        self.create(schedulers.node("one"), schedulers.pod("counted", OURS, NAMESPACE))
        self.start("--leader-elect=false", f"--secure-port={secure}", f"--port={plain}", "--bind-address=127.0.0.1",
                   "--address=127.0.0.1", f"--authentication-kubeconfig={schedulers.KUBECONFIG}",
                   f"--authorization-kubeconfig={schedulers.KUBECONFIG}")
        self.watch.wait_scheduled("counted")
        for base in (f"https://127.0.0.1:{secure}", f"http://127.0.0.1:{plain}"):
            for path in ("/healthz", "/livez", "/readyz"):
                self.assertEqual(get(base + path), (200, "ok"), base + path)
        self.assertEqual(get(f"https://127.0.0.1:{secure}/metrics")[0], 403)  # anonymous
        status, text = get(f"https://127.0.0.1:{secure}/metrics", self.api.token)
        self.assertEqual(status, 200)
        self.assertIn('scheduler_schedule_attempts_total{result="scheduled",profile="koord-scheduler"} 1', text)
        status, text = get(f"https://127.0.0.1:{secure}/configz", self.api.token)
        self.assertEqual(status, 200)
        self.assertIn("componentconfig", json.loads(text))

    def test_the_feature_gates_of_kube_scheduler_are_taken(self):
        if not os.access(schedulers.KUBE_SCHEDULER, os.X_OK):
            self.skipTest("no kube-scheduler")
        if kube_version.minor() != kube_version.USUAL:
            self.skipTest(f"the gates of Kubernetes 1.{kube_version.minor()}: koord-scheduler has those of 1.{kube_version.USUAL}, as the original has")
        text = subprocess.run([schedulers.KUBE_SCHEDULER, "--help"], capture_output=True, text=True, check=True).stdout
        gates = [f"{name}={on}" for name, on in re.findall(r"kube:(\w+)=true\|false \(\w+ - default=(\w+)\)", text)
                 if name not in ("AllAlpha", "AllBeta")]
        self.assertGreater(len(gates), 100)
        taken = subprocess.run([KOORD, "--role=scheduler", f"--kubeconfig={schedulers.KUBECONFIG}",
                                "--write-config-to=/dev/null", "--feature-gates=" + ",".join(gates)],
                               capture_output=True, text=True)
        self.assertEqual(taken.returncode, 0, taken.stderr)
        self.assertNotIn("no effect", taken.stderr)

    def test_a_configuration_file_names_profiles_cluster_and_lease(self):
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                  "clientConnection": {"kubeconfig": schedulers.KUBECONFIG},
                  "leaderElection": {"leaderElect": True, "resourceName": "from-a-file",
                                     "resourceNamespace": NAMESPACE},
                  "profiles": [{"schedulerName": UPSTREAM}, {"schedulerName": "only-one", "plugins": {
                      "filter": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeName"}]}}}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(config, file)  # JSON is YAML
            file.flush()
            self.create(schedulers.node("full", cpu="1"), schedulers.pod("small", UPSTREAM, NAMESPACE),
                        schedulers.pod("large", UPSTREAM, NAMESPACE, cpu="2"),
                        schedulers.pod("unfiltered", "only-one", NAMESPACE, cpu="2"),
                        schedulers.pod("other", OURS, NAMESPACE))
            process = schedulers.Scheduler("koord", [KOORD, "--role=scheduler", "--config", file.name,
                                                     "--secure-port=0", "--port=0"])
            self.addCleanup(process.end)
            self.watch.wait_scheduled("small")
            self.watch.wait_scheduled("unfiltered")
            self.assertEqual(self.watch.verdict("large")[0], "Unschedulable")
            self.assertTrue(self.lease("from-a-file", NAMESPACE)["holderIdentity"])
            self.assertEqual(schedulers.condition_of(self.watch.pods["other"]), {})
            self.assertLess(process.terminate(), PROMPTLY)

    def test_the_configuration_in_effect_is_written_and_nothing_else_done(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config")
            command = [KOORD, "--role=scheduler", f"--kubeconfig={schedulers.KUBECONFIG}", "--secure-port=0",
                       "--port=0"]
            self.create(schedulers.node("one"), schedulers.pod("waits", OURS, NAMESPACE))
            done = subprocess.run([*command, "--scheduler-names=one,two", f"--write-config-to={path}"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                written = json.load(file)
            self.assertEqual([profile["schedulerName"] for profile in written["profiles"]], ["one", "two"])
            again = os.path.join(folder, "again")
            subprocess.run([*command, f"--config={path}", f"--write-config-to={again}"], timeout=60, check=True)
            with open(again, encoding="utf-8") as file:
                reread = json.load(file)
            # Without a file there is no limit; what may come at once means nothing then.
            for each in written, reread:
                self.assertEqual(each["clientConnection"]["qps"], -1)
                each["clientConnection"].pop("burst", None)
            self.assertEqual(reread, written)
        self.assertNotIn("nodeName", self.watch.pods["waits"]["spec"])

    def test_without_the_lease_s_namespace_it_says_what_to_do(self):
        done = subprocess.run([KOORD, "--role=scheduler", f"--kubeconfig={schedulers.KUBECONFIG}", "--secure-port=0",
                               "--port=0", "--leader-elect-resource-namespace=no-such-namespace"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("no-such-namespace", done.stderr)
        self.assertIn("does not exist: create it", done.stderr)

    def test_the_lease_is_held_given_back_and_taken_over(self):
        schedulers.ensure_namespaces(self.api, "koordinator-system")
        self.create(schedulers.node("one", cpu="64", pods=500))
        schedulers.drop_lease(self.connection)
        first = self.start(*QUICK_LEASE)
        held = wait_for("the lease", lambda: self.lease("koord-scheduler", "koordinator-system"))
        self.assertEqual(held["leaseDurationSeconds"], 4)
        self.assertTrue(held["holderIdentity"])
        second = self.start(*QUICK_LEASE)
        self.create(schedulers.pod("by-first", OURS, NAMESPACE))
        self.watch.wait_scheduled("by-first")
        self.assertEqual(self.lease("koord-scheduler", "koordinator-system")["holderIdentity"], held["holderIdentity"])

        self.assertLess(first.terminate(), PROMPTLY)
        self.assertEqual(first.child.returncode, 0, first.output())
        wait_for("the second's lease", lambda: self.lease("koord-scheduler", "koordinator-system")["holderIdentity"]
                 not in ("", held["holderIdentity"]), seconds=3)
        self.create(schedulers.pod("by-second", OURS, NAMESPACE))
        self.watch.wait_scheduled("by-second")

        # A leader that dies gives nothing back: its lease has to run out.
        third = self.start(*QUICK_LEASE)
        second.end()
        self.create(schedulers.pod("by-third", OURS, NAMESPACE))
        self.watch.wait_scheduled("by-third")
        self.assertLess(third.terminate(), PROMPTLY)
        self.assertEqual(self.lease("koord-scheduler", "koordinator-system")["holderIdentity"], "")

    @unittest.skipUnless(os.access(schedulers.KUBE_SCHEDULER, os.X_OK), "kube-scheduler is missing")
    def test_beside_kube_scheduler_each_binds_its_own(self):
        schedulers.ensure_namespaces(self.api, "koordinator-system")
        self.create(schedulers.node("one", cpu="64", pods=500), schedulers.node("two", cpu="64", pods=500))
        koord, upstream = self.start(), self.start(make=schedulers.kube_scheduler)
        names = {f"{scheduler}-{index}": scheduler for index in range(20) for scheduler in (UPSTREAM, OURS)}
        self.api.load([schedulers.pod(name, scheduler, NAMESPACE) for name, scheduler in names.items()])
        self.create(schedulers.pod("nobody-s", "another-scheduler", NAMESPACE))
        for name in names:
            self.watch.wait_scheduled(name)
        for name, scheduler in names.items():
            self.assertEqual(self.event(name, "Scheduled")["reportingController"], scheduler)
            self.assertEqual(len(self.events(name, "Scheduled")), 1)
        self.assertNotIn("nodeName", self.watch.pods["nobody-s"]["spec"])
        self.assertEqual(schedulers.condition_of(self.watch.pods["nobody-s"]), {})
        holders = [self.lease("koord-scheduler", "koordinator-system"), self.lease("kube-scheduler", "kube-system")]
        self.assertEqual(len({holder["holderIdentity"] for holder in holders}), 2)
        koord.alive()
        upstream.alive()


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def get(url, token=None):
    """Status and text; the server's certificate is its own, so it isn't verified."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


if __name__ == "__main__":
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

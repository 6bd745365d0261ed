#!/usr/bin/env python3
"""The manager's webhooks under attack, asked by a real API server of the test's own with the shipped configurations: meanwhile each
pod is created within a second, and none slips past. Also here: the example of a NetworkPolicy is one."""
import multiprocessing
import os
import signal
import ssl
import sys
import time
import unittest

import schedulers
from own_cluster import own_cluster
from schedulers import wait_for

TREE = os.path.join(schedulers.HERE, "..", "..")
sys.path[:0] = [os.path.join(TREE, "tests", "roles", "manager"), os.path.join(TREE, "tests", "attack")]
import crowds  # noqa: E402
import ground  # noqa: E402
import kube_api  # noqa: E402
import manager_test  # noqa: E402
import prober  # noqa: E402
import reviews  # noqa: E402
from installed import Installed  # noqa: E402
from sandbox import free_port  # noqa: E402

LABEL = "seen-by-the-webhook"
PODS = "/api/v1/namespaces/users/pods"
ATTACKS = [reviews.unfinished_bodies, reviews.seats, reviews.known_seats, reviews.heavy_reviews, reviews.sprung_reviews,
           reviews.large_reviews, reviews.largest_reviews, reviews.namespaces_that_are_not_there, crowds.silent, crowds.idle, crowds.slow_headers,
           crowds.slow_bodies]


class Ground:
    """What attacks stand on (tests/attack/ground.py), with one port: the webhooks'."""

    def __init__(self, port, api):
        anybody = ssl.create_default_context()
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        self.webhook, self.api = ground.Port("webhook", port, anybody), api
        self.ports = [self.webhook]

    def call(self, method, path, body=None):
        try:
            self.api.connect().request(method, path, body)
        except kube_api.ApiError as refused:
            return refused.status, str(refused).encode()
        return (201 if method == "POST" else 200), b""


class Attacked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder, _, kubeconfig = own_cluster("attacked", controllers="")
        cls.installed = Installed(kubeconfig, cls.folder)
        cls.api = cls.installed.api.connect()

    def create(self):
        """(seconds, whether a webhook has seen it) of a new pod."""
        began = time.monotonic()
        made = self.api.request("POST", PODS, {"metadata": {"generateName": "p-"}, "spec": schedulers.pod("p", "default-scheduler")["spec"]})
        return time.monotonic() - began, LABEL in made["metadata"].get("labels", {})

    def test_pods_are_created_within_a_second(self):
        self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "users"}})
        self.api.request("POST", reviews.PROFILES, {
            "apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "seen"},
            "spec": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "users"}}, "labels": {LABEL: "yes"}}})
        port = free_port()
        manager = manager_test.Manager(self.installed.account("koord-manager"), self.folder, f"--webhook-port={port}",
                                       WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_DIR=os.path.join(self.folder, "certificates"))
        self.addCleanup(lambda: manager.child.poll() is None and manager.kill())
        wait_for("it is ready", lambda: manager.get("/readyz", manager.probes)[0] == 200, 60)
        wait_for("the API server asks it", lambda: self.create()[1], 60)
        target = Ground(port, self.installed.api)
        for attack in ATTACKS:
            with self.subTest(attack.__name__):
                self.attacked_by(attack, target)
                self.assertIsNone(manager.child.poll(), manager.output()[-3000:])

    def attacked_by(self, attack, target):
        late = prober.Lateness()
        attacker = multiprocessing.get_context("fork").Process(target=attack, args=(target, True))
        attacker.start()
        created = []
        while attacker.is_alive():
            began = time.monotonic()
            took, seen = self.create()
            created.append((took - late.during(began, began + took), took, seen))
            attacker.join(0.05)
        late.finish()
        longest, raw, _ = max(created)
        print(f"{attack.__name__:32} {len(created):5} pods, the longest {longest * 1000:5.0f} ms, "
              f"{raw * 1000:5.0f} ms with the machine's lateness", flush=True)
        self.assertLess(longest, ground.AIM)
        self.assertTrue(all(seen for _, _, seen in created), "a pod slipped past the webhook")
        self.assertEqual(attacker.exitcode, 0)

    def test_the_example_of_a_network_policy_is_one(self):
        path = os.path.join(TREE, "packaging", "examples", "manager-networkpolicy.yaml")
        self.installed.kubectl.run("apply", "--dry-run=server", "-f", path)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

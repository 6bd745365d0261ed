#!/usr/bin/env python3
"""Many ElasticQuotas through both webhooks: 100 parents with all others below them, made by 16 clients at once in a sandbox; what a
manager takes for them, and how long a review of its own connection takes beside them.

usage: manager_quotas.py [QUOTAS]     (100,000)
"""
import concurrent.futures
import http.client
import json
import os
import ssl
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TREE, "tests", "support"), os.path.join(TREE, "tests", "roles", "manager")]

import kube_api  # noqa: E402
import quota_test  # noqa: E402

CLIENTS, PARENTS, REVIEWS = 16, 100, 200
ALL, CHILD = ({"cpu": "100000", "memory": "100000Gi"}, {"cpu": "1000000", "memory": "1000000Gi"}), ({"cpu": "1", "memory": "1Gi"}, {"cpu": "10", "memory": "10Gi"})


class World(quota_test.QuotaTest):
    def runTest(self):
        """It is the ground alone."""

    def resident(self):
        """MiB"""
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) // 1024

    def seconds(self):
        """Of CPU, since the manager began."""
        with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def review(self, operation, new, old):
        """How long it takes, in ms."""
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=20)
        connection.connect()
        body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
            "uid": "1", "operation": operation, "namespace": quota_test.NS, "object": new, "oldObject": old, "dryRun": True,
            "resource": {"group": "scheduling.sigs.k8s.io", "version": "v1alpha1", "resource": "elasticquotas"}}})
        began = time.monotonic()
        connection.request("POST", "/validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota", body, {"Content-Type": "application/json"})
        status = connection.getresponse().status
        took = time.monotonic() - began
        connection.close()
        assert status == 200, status
        return took * 1000


def parent(number, least=ALL[0]):
    return quota_test.quota(f"p{number}", least, ALL[1], is_parent="true")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    world = World()
    world.setUp()
    try:
        connections = [kube_api.Api(world.kubeconfig).connect() for _ in range(CLIENTS)]
        for number in range(PARENTS):
            connections[0].request("POST", quota_test.QUOTAS, parent(number))

        def make(client):
            for number in range(client, count, CLIENTS):
                connections[client].request("POST", quota_test.QUOTAS, quota_test.quota(f"c{number}", *CHILD, parent=f"p{number % PARENTS}"))
        resident, before, began = world.resident(), world.seconds(), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(make, range(CLIENTS)))
        took = time.monotonic() - began
        print(f"{count} quotas in {took:.0f} s: {count / took:.0f} a second; the manager's CPU {1e6 * (world.seconds() - before) / count:.0f} us a quota, "
              f"its memory {resident} MiB before and {world.resident()} MiB after", flush=True)
        for what, asked in (("a new child", ("CREATE", quota_test.quota("new", *CHILD, parent="p0"), None)),
                            ("a parent's min", ("UPDATE", parent(0, {"cpu": "99999", "memory": "100000Gi"}), parent(0))),
                            ("a parent's deletion, refused", ("DELETE", None, parent(0)))):
            times = sorted(world.review(*asked) for _ in range(REVIEWS))
            print(f"{what}: {times[REVIEWS // 2]:.1f} ms, p99 {times[REVIEWS * 99 // 100]:.1f} ms", flush=True)
    finally:
        world.doCleanups()


if __name__ == "__main__":
    main()

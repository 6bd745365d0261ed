#!/usr/bin/env python3
"""The same pods with claims on the same random clusters, asked of kube-scheduler and of koord: the same verdict, message
and scores, and a node that kube-scheduler's scores make a best one.

Each probe is asked alone, with claims of its own for each scheduler; what was bound or provisioned for it is given
back before the next one comes. kube-controller-manager binds, a provisioner of the tests provisions. A scheduler may
hear of a volume later than of a pod: a difference counts when it shows three times.
"""
import collections
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

import schedulers
import volumes
from compare_scheduler import FINAL_SCORE, SCORES
from random_volumes import LOCAL, VolumeCluster
from schedulers import OURS, UPSTREAM, wait_for

import kube_api
import kube_version
from provisioner import VOLUMES

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_VOLUME_SEEDS", "31 32").split()]
PROBES = int(os.environ.get("KOORD_COMPARE_VOLUME_PROBES", "40"))
NAMESPACE = "compare-volumes"
CLAIMS = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
TRIES = 3
REASONS = [
    "node(s) didn't find available persistent volumes to bind", "node(s) didn't match PersistentVolume's node affinity",
    "node(s) had no available volume zone", "node(s) had no available disk", "node(s) exceed max volume count",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    "pod has unbound immediate PersistentVolumeClaims", 'persistentvolumeclaim "missing" not found',
    'persistentvolumeclaim "going" is being deleted',
]
MERGE = "application/merge-patch+json"


class CompareVolumes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(cls.api, NAMESPACE, "koordinator-system")
        volumes.start(cls.addClassCleanup, cls.api)
        cls.connection = cls.api.connect()
        cls.met = collections.Counter()
        cls.upstream = schedulers.kube_scheduler("--leader-elect=false", "--vmodule=schedule_one=10", *schedulers.without_batches())
        cls.addClassCleanup(cls.upstream.end)
        if os.environ.get("KOORD_KUBE_BOTH"):
            cls.ours, file = schedulers.unthrottled_kube_scheduler(OURS)
        else:
            cls.ours, file = schedulers.koord_as_kube_scheduler()
        cls.addClassCleanup(file.close)
        cls.addClassCleanup(cls.ours.end)

    def setUp(self):
        self.clean()
        self.addCleanup(self.clean)
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        self.differences, self.ranked, self.scheduled = [], 0, 0

    def tearDown(self):
        for process in (self.upstream, self.ours):
            process.alive()

    def clean(self):
        for item in self.connection.request("GET", CLAIMS)["items"]:
            if "tests.koord/held" in item["metadata"].get("finalizers", []):
                self.connection.request("PATCH", f"{CLAIMS}/{item['metadata']['name']}",
                                        {"metadata": {"finalizers": None}}, MERGE)
        volumes.clean(self.api, NAMESPACE)

    def prepare(self, cluster):
        self.api.load(cluster.classes())
        self.api.load(cluster.nodes)
        self.api.load(cluster.csi_nodes() + cluster.free_volumes() + cluster.zoned_volumes())
        claims = cluster.claims()
        for item in claims:
            if item["metadata"]["name"] == "going":
                item["metadata"]["finalizers"] = ["tests.koord/held"]
        self.api.load(claims)
        wait_for("the claims to be bound", lambda: sum(
            item["status"]["phase"] == "Bound" for item in self.connection.request("GET", CLAIMS)["items"])
            == len(claims) - 1, 30)
        self.connection.request("DELETE", f"{CLAIMS}/going")
        self.api.load(cluster.placed())
        self.known = {item["metadata"]["name"] for item in self.api.list(VOLUMES)}
        self.give_back([])
        kinds = {"Node": "/api/v1/nodes", "Pod": PODS, "Namespace": "/api/v1/namespaces", "StorageClass": volumes.CLASSES,
                 "CSINode": volumes.CSI_NODES, "PersistentVolume": VOLUMES, "PersistentVolumeClaim": CLAIMS}
        self.stored = [json.dumps({"kind": kind, **item}) for kind, path in kinds.items() for item in self.api.list(path)]

    def give_back(self, claims):
        """The claims have gone, and the volumes are as they were."""
        for name in claims:
            self.connection.request("DELETE", f"{CLAIMS}/{name}")

        def as_it_was():
            if any(item["metadata"]["name"] in claims for item in self.connection.request("GET", CLAIMS)["items"]):
                return False
            items = self.connection.request("GET", VOLUMES)["items"]
            for item in items:
                if item["spec"]["storageClassName"] != LOCAL:
                    continue
                if item["spec"].get("claimRef"):
                    self.connection.request("PATCH", f"{VOLUMES}/{item['metadata']['name']}",
                                            {"spec": {"claimRef": None}}, MERGE)
                    return False
                if item["status"].get("phase") != "Available":
                    return False
            return {item["metadata"]["name"] for item in items} == self.known

        wait_for("the volumes as they were", as_it_was)

    def ask(self, probe, own, scheduler, attempt):
        """The verdict on the probe's twin; what it had is given back. And the twin and its claims as stored."""
        suffix = f"{attempt}-{'upstream' if scheduler == UPSTREAM else 'koord'}"
        item = copy.deepcopy(probe)
        name = item["metadata"]["name"] = f"{probe['metadata']['name']}-{suffix}"
        item["spec"]["schedulerName"] = scheduler
        claims = []
        for each in item["spec"]["volumes"]:
            if each["name"].startswith("own-"):
                each["persistentVolumeClaim"]["claimName"] = f"{name}-{each['name']}"
                claims.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": own[int(each["name"][4:])],
                               "metadata": {"name": f"{name}-{each['name']}", "namespace": NAMESPACE}})
        made = [kube_api.create(self.connection, each) for each in claims]
        stored = kube_api.create(self.connection, item)
        verdict = self.watch.verdict(name)
        schedulers.delete_now(self.connection, f"{PODS}/{name}")
        self.watch.wait_gone([name])
        self.give_back([each["metadata"]["name"] for each in claims])
        return (verdict[0], verdict[1].replace(suffix, "")), stored, made

    def ranks(self, name):
        return {node: int(score) for each, node, score in FINAL_SCORE.findall(self.upstream.output()) if each == name}

    def judge(self, probe, own, attempt):
        """What differs, or "". """
        (upstream, stored, claims), (ours, _, _) = (self.ask(probe, own, each, attempt) for each in (UPSTREAM, OURS))
        if upstream[0] != ours[0] or upstream[0] != "scheduled" and upstream[1] != ours[1]:
            return f"kube-scheduler: {upstream}\n  koord: {ours}"
        if upstream[0] != "scheduled":
            self.met.update(reason for reason in REASONS if reason in ours[1])
            return ""
        ranks = self.ranks(stored["metadata"]["name"]) or {upstream[1]: 0}  # one node: not scored
        best = {node for node, score in ranks.items() if score == max(ranks.values())}
        self.assertIn(upstream[1], best, "kube-scheduler's log has been misread")
        if ours[1] not in best:
            return f"koord chose {ours[1]}, of {ranks}"
        if len(ranks) > 1 and not os.environ.get("KOORD_KUBE_BOTH"):
            own_scores = self.engine_scores(stored, claims)
            if own_scores != ranks:
                return f"kube-scheduler's scores: {ranks}\n  koord's: {own_scores}"
        self.scheduled += 1
        self.ranked += len(ranks) > 1
        return ""

    def engine_scores(self, stored, claims):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            lines = [*self.stored, *(json.dumps({"kind": "PersistentVolumeClaim", **each}) for each in claims), "---",
                     json.dumps({"kind": "Pod", **stored})]
            file.write("\n".join(lines) + "\n")
            file.flush()
            answer = subprocess.run([SCORES, file.name], check=True, capture_output=True, text=True)
        return json.loads(answer.stdout)

    def compare(self, seed):
        cluster = VolumeCluster(seed, NAMESPACE)
        self.prepare(cluster)
        for index in range(PROBES):
            probe, own = cluster.probe(f"probe-{seed}-{index}", OURS)
            for attempt in range(TRIES):
                what = self.judge(probe, own, attempt)
                if not what:
                    break
            else:
                self.differences.append(f"{probe['metadata']['name']}: {what}\n  {probe['spec']} {own}")
        print(f"seed {seed}: {PROBES} probes with volumes, {self.scheduled} scheduled, {self.ranked} of them ranked, "
              f"{len(self.differences)} differences", file=sys.stderr)
        self.assertEqual(self.differences, [], "\n" + "\n".join(self.differences))
        self.assertGreater(self.scheduled, PROBES // 10)
        self.assertGreater(PROBES - self.scheduled, PROBES // 10)

    def test_every_rule_has_been_met(self):
        self.assertEqual([reason for reason in REASONS if SEEDS and not self.met[reason]], [])


for each_seed in SEEDS:
    setattr(CompareVolumes, f"test_cluster_{each_seed}", lambda self, seed=each_seed: self.compare(seed))


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER)
    kube_version.skip_beside_another_scheduler()
    unittest.main(verbosity=2, warnings="ignore")

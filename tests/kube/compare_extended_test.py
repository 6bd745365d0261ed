#!/usr/bin/env python3
"""kube-scheduler and koord with DRAExtendedResource, one after the other, on the same nodes, slices and classes: pods ask for devices by the
names of extended resources, and what either says of them (verdict, condition with its whole message), the claims that it makes for them and
what it writes into their status must be equal. Device plugins come and go between the pods, classes get other names, and pods leave.

usage: compare_extended_test.py
"""
import collections
import os
import random
import sys
import time
import unittest

import claims as of
import own_cluster
import schedulers
from schedulers import LATE, OURS

import kube_api
import kube_version

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_EXTENDED_SEEDS", "91 92").split()]
PROBES = int(os.environ.get("KOORD_COMPARE_EXTENDED_PROBES", "40"))
NAMESPACE = "compare-extended"
CLAIMS = of.CLAIMS.format(NAMESPACE)
GPU, NIC, IMPLICIT = "example.com/gpu", "example.com/nic", "deviceclass.resource.kubernetes.io/gpus"
DRIVERS = {"gpus": "gpu.tests.koord", "nics": "nic.tests.koord"}
GATES = "--feature-gates=DRAExtendedResource=true"
LEFT = "resource.kubernetes.io/extended-resource-claim"
# A comparison that meets none of these says nothing about the rule behind it.
MET = ["cannot allocate all claims", "Insufficient example.com/gpu", "Insufficient example.com/nic", "cannot schedule extended resource claim",
       "deletion of ResourceClaim completed", "bound with a claim", "bound without a claim"]


class Cluster:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = [f"n{number}" for number in range(3)]
        self.plugged = {name: self.plugin() for name in self.names}
        self.devices = {(name, of_class): self.random.choice((0, 1, 2, 4)) for name in self.names for of_class in DRIVERS}

    def chance(self, share):
        return self.random.random() < share

    def plugin(self):
        """What a node's device plugins list."""
        return {resource: self.random.choice(("0", "1", "3", "3")) for resource in (GPU, NIC) if self.chance(0.5)}

    def containers(self):
        """[init containers, regular ones], of which each asks for some."""
        def asked():
            names = [name for name in (GPU, NIC, IMPLICIT) if self.chance(0.35)] or [GPU]
            return {name: str(self.random.choice((1, 1, 2))) for name in names}
        init = [{**asked(), **({"sidecar": True} if self.chance(0.4) else {})} for _ in range(self.random.choice((0, 0, 1, 2)))]
        return init, [asked() for _ in range(self.random.choice((1, 1, 2)))]

    def steps(self):
        """("ask", pod), ("leave", pod), ("plug", node), ("rename",), ("drop", pod's name)"""
        here = []
        for number in range(PROBES):
            name = f"probe-{number}"
            init, regular = self.containers()
            probe = schedulers.pod(name, OURS, NAMESPACE, terminationGracePeriodSeconds=0,
                                   nodeSelector={"kubernetes.io/hostname": self.random.choice(self.names)})
            probe["spec"]["containers"] = [self.container(f"main-{index}", each) for index, each in enumerate(regular)]
            if init:
                probe["spec"]["initContainers"] = [self.container(f"init-{index}", each) for index, each in enumerate(init)]
            yield ("leave" if self.chance(0.2) else "ask"), probe
            here.append(name)
            while here and self.chance(0.45):
                yield "drop", here.pop(self.random.randrange(len(here)))
            if self.chance(0.25):
                node = self.random.choice(self.names)
                self.plugged[node] = self.plugin()
                yield "plug", node
            if self.chance(0.1):
                yield "rename", None

    @staticmethod
    def container(name, asked):
        sidecar = asked.pop("sidecar", False)
        requests = {"cpu": "1m", **asked}
        return {"name": name, "image": "none", "resources": {"requests": requests, "limits": dict(asked)},
                **({"restartPolicy": "Always"} if sidecar else {})}


class Run(schedulers.Run):
    """One scheduler with the cluster, and all that was seen of it."""

    def __init__(self, api, seed, who, command):
        self.cluster, self.named = Cluster(seed), True
        super().__init__(api, who, command, (NAMESPACE,), clean)

    def nodes(self):
        return [schedulers.node(name, "64", more=self.cluster.plugged[name]) for name in self.cluster.names]

    def go(self):
        for of_class, resource in (("gpus", GPU), ("nics", NIC)):
            item = of.device_class(of_class, DRIVERS[of_class])
            item["spec"]["extendedResourceName"] = resource
            self.api.load([item])
        for (node, of_class), count in self.cluster.devices.items():
            if count:
                item = of.device_slice(node, count)
                item["metadata"]["name"] = f"{node}-{of_class}"
                item["spec"]["driver"] = DRIVERS[of_class]
                self.api.load([item])
        time.sleep(LATE)
        for what, subject in list(self.cluster.steps()):
            getattr(self, what)(subject)

    def rename(self, _):
        """The NICs are backed, or are not."""
        self.named = not self.named
        self.connection.request("PATCH", f"{of.GROUP}/deviceclasses/nics", {"spec": {"extendedResourceName": NIC if self.named else None}},
                                "application/merge-patch+json")
        time.sleep(LATE)

    def plug(self, node):
        amounts = {"cpu": "64", "memory": "8Gi", "pods": "110", **self.cluster.plugged[node]}
        for resource in (GPU, NIC):
            amounts.setdefault(resource, None)
        self.connection.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"allocatable": amounts, "capacity": amounts}},
                                "application/merge-patch+json")
        time.sleep(LATE)

    def drop(self, name):
        self.remove([(name, NAMESPACE)])
        # As kube-controller-manager, which is not there.
        for item in self.api.list(CLAIMS):
            if any(owner["name"] == name for owner in item["metadata"].get("ownerReferences") or []):
                path = f"{CLAIMS}/{item['metadata']['name']}"
                self.connection.request("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
                try:
                    self.connection.request("DELETE", path)
                except kube_api.ApiError as error:
                    if error.status != 404:  # it was being deleted
                        raise
        time.sleep(LATE)

    def leave(self, probe):
        """The pod has a claim from an attempt whose scheduler died in between."""
        probe["spec"]["schedulingGates"] = [{"name": "tests.koord/wait"}]
        made = kube_api.create(self.connection, probe)
        left = of.claim("left", NAMESPACE, {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpus"}}]}})
        left["metadata"].update(annotations={LEFT: "true"}, finalizers=[of.PROTECTION, "tests.koord/hold"], ownerReferences=[
            {"apiVersion": "v1", "kind": "Pod", "name": made["metadata"]["name"], "uid": made["metadata"]["uid"], "controller": True}])
        kube_api.create(self.connection, left)
        time.sleep(LATE)
        name = made["metadata"]["name"]
        self.connection.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}", {"spec": {"schedulingGates": None}},
                                "application/merge-patch+json")
        self.judge(name, probe)
        if "deletion of ResourceClaim completed" in str(self.seen[name]["condition"]):
            # Somebody holds it, so that the pod is not tried again at once.
            schedulers.wait_for("the claim to go", lambda: all("deletionTimestamp" in item["metadata"] for item in self.api.list(CLAIMS)
                                                               if item["metadata"]["name"] == "left"), 20)
        self.drop(name)

    def ask(self, probe):
        kube_api.create(self.connection, probe)
        name = probe["metadata"]["name"]
        if not self.judge(name, probe):
            self.drop(name)

    def judge(self, name, probe):
        item = self.watches[NAMESPACE].first(name)
        bound = bool(item["spec"].get("nodeName"))
        condition = {} if bound else {key: value for key, value in schedulers.condition_of(item).items() if key in ("reason", "message")}
        self.seen[name] = {"bound": bound, "condition": condition, "node": item["spec"].get("nodeName"), "probe": probe}
        if bound:
            item = self.connection.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")
            self.seen[name].update(self.written(item))
        return bound

    def written(self, pod):
        """The pod's claims and what its status says of them, without what is another each time."""
        uid, status, claims = pod["metadata"]["uid"], pod["status"].get("extendedResourceClaimStatus"), []
        for item in self.api.list(CLAIMS):
            meta, said = item["metadata"], item.get("status") or {}
            if uid not in [owner["uid"] for owner in meta.get("ownerReferences") or []]:
                continue
            if status and status["resourceClaimName"] == meta["name"]:
                status["resourceClaimName"] = "the claim"
            owners = [{**owner, "uid": "the pod"} for owner in meta["ownerReferences"]]
            users = [{**user, "uid": "the pod" if user["uid"] == uid else user["uid"]} for user in said.get("reservedFor") or []]
            claims.append({"generateName": meta.get("generateName"), "annotations": meta.get("annotations"), "finalizers": meta.get("finalizers"),
                           "owners": owners, "spec": item["spec"], "allocation": of.allocation(said), "users": users})
        return {"claims": claims, "status": status}


def clean(api):
    of.clean_without_controllers(api, NAMESPACE)


class CompareExtended(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        _, _, cls.kubeconfig = own_cluster.own_cluster("extended", GATES)
        cls.api = kube_api.Api(cls.kubeconfig)
        schedulers.ensure_namespaces(cls.api, NAMESPACE)
        cls.met = collections.Counter()

    def compare(self, seed):
        theirs, ours = schedulers.beside_kube_scheduler(lambda who, command: Run(self.api, seed, who, command), GATES, kubeconfig=self.kubeconfig)
        differences = schedulers.differences(theirs, ours)
        for name, upstream in theirs.seen.items():
            own = ours.seen[name]
            self.met.update(reason for reason in MET if reason in str(upstream["condition"]) and reason in str(own["condition"]))
            if upstream["bound"] and own["bound"]:
                self.met[f"bound with{'' if upstream['claims'] else 'out'} a claim"] += 1
        bound = sum(each["bound"] for each in theirs.seen.values())
        print(f"seed {seed}: {PROBES} probes, {bound} bound, {len(differences)} differences", file=sys.stderr)
        self.assertEqual(differences, [], "\n" + "\n".join(differences))

    def test_every_rule_has_been_met(self):
        self.assertEqual([reason for reason in MET if not self.met[reason]], [])


for each_seed in SEEDS:
    setattr(CompareExtended, f"test_cluster_{each_seed}", lambda self, seed=each_seed: self.compare(seed))


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER)
    kube_version.skip_before(35, "the kube-scheduler that gives claims as koord does")
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""The scheduler is killed at chosen moments while it gives out the same GPUs by DeviceShare and by resource claims: around the
lock of a node that a vendor's device plugin looks for, around what is written of a pod and of a claim, and around the binding.
No GPU is ever given twice, no lock and no claim is left for a pod that is not there, by the API server's objects alone."""
import collections
import json
import os
import random
import signal
import sys
import tempfile
import threading
import unittest

import claims
import refusing_proxy
import reservations
import schedulers
from killer import Killer
from own_cluster import own_cluster
from schedulers import wait_for

import kube_api
import kube_version

NAMESPACE = "device-faults"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
NODES, GPUS = 4, 4
LIVES = int(os.environ.get("KOORD_KILLS", "12"))
CORE, RATIO, MEMORY, GPU = (f"koordinator.sh/{name}" for name in ("gpu-core", "gpu-memory-ratio", "gpu-memory", "gpu"))
ALLOCATED, LOCK = "scheduling.koordinator.sh/device-allocated", "hami.io/mutex.lock"
VENDOR = {"node.koordinator.sh/gpu-vendor": "metax"}
MERGE = "application/merge-patch+json"
# (what is written, when it breaks off): a write that arrives is "after".
POINTS = {
    "the node is not locked": ("PATCH", "/api/v1/nodes/", "before"),
    "the node is locked and the pod not written": ("PATCH", "/api/v1/nodes/", "after"),
    "the pod is written and not bound": ("PATCH", f"/namespaces/{NAMESPACE}/pods/", "after"),
    "the claim is protected and not allocated": ("PUT", "/resourceclaims/", "after"),
    "the claim is allocated and the pod not bound": ("PUT", ("/resourceclaims/", "/status"), "after"),
    "the pod is not bound": ("POST", "/binding", "before"),
    "the pod is bound and nobody knows": ("POST", "/binding", "after"),
}


def device(node):
    amounts = {CORE: "100", RATIO: "100", MEMORY: "16Gi"}
    return {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "metadata": {"name": node, "labels": VENDOR}, "spec": {
        "devices": [{"type": "gpu", "id": f"GPU-{node}-{minor}", "minor": minor, "health": True, "resources": amounts}
                    for minor in range(GPUS)]}}


def gpu_pod(name, amounts):
    item = schedulers.pod(name, schedulers.OURS, NAMESPACE, automountServiceAccountToken=False)
    resources = item["spec"]["containers"][0]["resources"]
    resources["requests"].update(amounts)
    resources["limits"] = dict(amounts)
    return item


class DevicePlugin:
    """What the vendor's does with the lock: takes it away when the pod that it names is there, or gone."""

    def __init__(self, api, watch):
        self.api, self.watch, self.closed = api, watch, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        connection = self.api.connect()
        while not self.closed.wait(0.1):
            for node in connection.request("GET", "/api/v1/nodes")["items"]:
                value = node["metadata"].get("annotations", {}).get(LOCK)
                pod = self.watch.pods.get(value.split(",")[2]) if value else None
                if value and (pod is None or pod["spec"].get("nodeName")):
                    try:
                        connection.request("PATCH", f"/api/v1/nodes/{node['metadata']['name']}", {
                            "metadata": {"resourceVersion": node["metadata"]["resourceVersion"], "annotations": {LOCK: None}}}, MERGE)
                    except kube_api.ApiError as error:
                        if error.status != 409:
                            raise

    def close(self):
        self.closed.set()
        self.thread.join()


class Deaths(unittest.TestCase):
    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(self.api, NAMESPACE, "koordinator-system")
        reservations.install(schedulers.KUBECONFIG)
        self.connection = self.api.connect()
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        amounts = {GPU: str(100 * GPUS), CORE: str(100 * GPUS), RATIO: str(100 * GPUS), MEMORY: f"{16 * GPUS}Gi"}
        nodes = [f"node-{i}" for i in range(NODES)]
        self.api.load([claims.device_class(), claims.template(NAMESPACE)])
        self.api.load([schedulers.node(name, "64", "64Gi", more=amounts) for name in nodes])
        for name in nodes:
            self.connection.request("POST", "/apis/scheduling.koordinator.sh/v1alpha1/devices", device(name))
        self.api.load([claims.device_slice(name, GPUS, attributes=lambda minor, name=name: {
            "uuid": {"string": f"GPU-{name}-{minor}"}}) for name in nodes])
        plugin = DevicePlugin(self.api, self.watch)
        self.addCleanup(plugin.close)

    def start(self, kubeconfig):
        process = schedulers.Scheduler("koord", [
            schedulers.KOORD, "--role=scheduler", f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--port=0",
            "--secure-port=0", "--v=2", "--feature-gates=DevicePluginAdaption=true"])
        self.addCleanup(process.end)
        return process

    def waiting(self, dice):
        """As many as there are GPUs, however they are placed: whole ones, halves, and claims."""
        kinds = ["whole"] * 4 + ["half"] * 6 + ["claim"] * 6
        dice.shuffle(kinds)
        for number, kind in enumerate(kinds):
            name = f"{kind}-{number}"
            if kind == "whole":
                yield gpu_pod(name, {GPU: "100"})
            elif kind == "half":
                yield gpu_pod(name, {CORE: "50", RATIO: "50"})
            else:
                yield schedulers.pod(name, schedulers.OURS, NAMESPACE, automountServiceAccountToken=False, **claims.uses())

    def given(self):
        """By (node, minor): the percent of DeviceShare's pods, and the claims."""
        shares, of_claims = collections.Counter(), collections.defaultdict(list)
        for pod in self.api.list(PODS):
            said = pod["metadata"].get("annotations", {}).get(ALLOCATED)
            if said and pod["spec"].get("nodeName"):
                for each in json.loads(said)["gpu"]:
                    shares[pod["spec"]["nodeName"], each["minor"]] += int(each["resources"][CORE])
        for item in self.api.list(claims.CLAIMS.format(NAMESPACE)):
            for result in item.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
                of_claims[result["pool"], int(result["device"].removeprefix("gpu-"))].append(item["metadata"]["name"])
        return shares, of_claims

    def faults(self):
        shares, of_claims = self.given()
        found = [f"{percent}% of GPU {gpu} are given" for gpu, percent in shares.items() if percent > 100]
        found += [f"GPU {gpu} is given to {names}" for gpu, names in of_claims.items() if len(names) > 1]
        return found + [f"GPU {gpu} is given by both" for gpu in of_claims if shares[gpu]]

    def locks(self):
        return [node["metadata"]["annotations"][LOCK] for node in self.api.list("/api/v1/nodes")
                if LOCK in node["metadata"].get("annotations", {})]

    def test_killed_where_it_hurts(self):
        seed = int(os.environ.get("KOORD_SEED", 0)) or random.randrange(1 << 32)
        print(f"seed {seed}", file=sys.stderr)
        dice, died = random.Random(seed), collections.Counter()
        with tempfile.TemporaryDirectory() as folder, refusing_proxy.RefusingProxy(schedulers.KUBECONFIG, folder) as proxy:
            waiting = list(self.waiting(dice))
            number = len(waiting)
            points = [*POINTS, *dice.choices(list(POINTS), k=max(LIVES - len(POINTS), 0))][:LIVES]
            dice.shuffle(points)
            for life, point in enumerate(points):
                part, waiting = waiting[:len(waiting) // (len(points) - life)], waiting[len(waiting) // (len(points) - life):]
                process = self.start(proxy.kubeconfig)
                proxy.breaks_off = killer = Killer(process, POINTS[point], 1)
                self.api.load(part)
                if killer.died.wait(4):
                    died[point] += 1
                else:
                    process.child.kill()
                    process.child.wait()
                proxy.breaks_off = lambda *_: False
                self.assertEqual(self.faults(), [], f"{point}\n{process.output()[-3000:]}")
                process.end()
        print(f"{dict(died)}", file=sys.stderr)
        self.assertGreaterEqual(sum(died.values()), LIVES // 2)
        process = self.start(schedulers.KUBECONFIG)
        self.watch.wait("all pods bound", lambda _: self.watch.bound() == number, 120)
        self.assertEqual(self.faults(), [])
        wait_for("claims in order", lambda: not claims.problems(self.api, NAMESPACE), 60)
        wait_for("no lock", lambda: not self.locks(), 30)
        # All of each machine is one pod's when the others have gone: nothing was left behind.
        schedulers.delete_now(self.connection, PODS)
        self.watch.wait("no pods", lambda pods: not pods, 60)
        for i in range(NODES):
            kube_api.create(self.connection, gpu_pod(f"all-{i}", {GPU: str(100 * GPUS)}))
        self.watch.wait("machines that are whole again", lambda _: self.watch.bound() == NODES, 120)
        process.alive()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster(os.path.join(os.path.dirname(schedulers.KUBE_SCHEDULER), "kube-controller-manager"))
    kube_version.skip_before(34, "resource.k8s.io/v1")
    _, _, schedulers.KUBECONFIG = own_cluster("device-faults", controllers=claims.CONTROLLERS)
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""Room first, then the move: a reservation is placed, a pod is evicted, and its successor lands where its place was kept.

usage: reserve.py [--stay]

Three simulated nodes; the API server and the scheduler are the real ones. Each step is waited for and told; it fails where one
does not come. --stay leaves the cluster running to look around until Ctrl-C.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import stage  # noqa: E402
import kube_api  # noqa: E402
from sandbox import wait_for  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
RESERVATIONS = "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
CPUS, WANTED = 8, 6


def containers(cpus):
    return [{"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpus), "memory": "1Gi"}}}]


class Move:
    def __init__(self, kubeconfig):
        self.api = kube_api.Api(kubeconfig)

    def request(self, method, path, body=None):
        return self.api.connect().request(method, path, body)

    def pod(self, name, cpus, node=None):
        """A pod of its own; with `node`, for that one."""
        spec = {"containers": containers(cpus)}
        if node:
            spec["nodeSelector"] = {"kubernetes.io/hostname": node}
        self.request("POST", PODS, {"metadata": {"name": name}, "spec": spec})

    def names(self):
        return [pod["metadata"]["name"] for pod in self.api.list(PODS)]

    def place_of_web(self):
        web = self.web()
        return web and web["spec"].get("nodeName")

    def web(self):
        """The service's pod that is not on its way out; None while there is none."""
        alive = [pod for pod in self.api.list(PODS) if pod["metadata"].get("labels", {}).get("app") == "web"
                 and "deletionTimestamp" not in pod["metadata"]]
        return alive[0] if alive else None

    def node_of(self, name):
        return self.request("GET", f"{PODS}/{name}")["spec"].get("nodeName")

    def reservation(self):
        return self.request("GET", f"{RESERVATIONS}/web-moves")

    def phase(self):
        return self.reservation().get("status", {}).get("phase")

    def why_waiting(self, name):
        for condition in self.request("GET", f"{PODS}/{name}")["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                return condition.get("message")
        return None

    def say(self, text):
        print(text, flush=True)

    def run(self):
        first, second, third = sorted(node["metadata"]["name"] for node in self.api.list("/api/v1/nodes"))
        for name, node in (("neighbour", second), ("passing", third)):
            self.pod(name, WANTED, node)
            wait_for(f"a node for the pod {name}", lambda name=name: self.node_of(name))
        self.request("POST", REPLICA_SETS, {"metadata": {"name": "web"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers(WANTED)}}}})
        wait_for("a node for the service", lambda: self.place_of_web() == first)
        before = self.web()["metadata"]["name"]
        self.say(f"{first}: the service's pod {before}, {WANTED} of {CPUS} CPUs. {second} and {third} are as full.")
        self.request("DELETE", f"{PODS}/passing")
        wait_for("the pod passing to be gone", lambda: "passing" not in self.names())
        self.request("POST", RESERVATIONS, {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation", "metadata": {"name": "web-moves"},
            "spec": {"ttl": "1h", "owners": [{"labelSelector": {"matchLabels": {"app": "web"}}}],
                     "template": {"spec": {"containers": containers(WANTED)}}}})
        wait_for("the reservation to be placed", lambda: self.phase() == "Available")
        self.say(f"{self.reservation()['status']['nodeName']}: {WANTED} CPUs became free; the reservation web-moves keeps them.")
        assert self.reservation()["status"]["nodeName"] == third
        self.pod("stranger", WANTED)
        why = wait_for("a word to the pod stranger", lambda: self.why_waiting("stranger"))
        self.say(f"The pod stranger, {WANTED} CPUs, waits: {why}")
        self.request("POST", f"{PODS}/{before}/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": before, "namespace": "default"}})
        wait_for("a successor with a node", lambda: self.web() and self.web()["metadata"]["name"] != before and self.place_of_web())
        after = self.web()
        given = json.loads(after["metadata"]["annotations"]["scheduling.koordinator.sh/reservation-allocated"])
        assert after["spec"]["nodeName"] == third and given["name"] == "web-moves", after
        self.say(f"{first}: {before} was evicted. {third}: its successor {after['metadata']['name']} has the room that was kept.")
        wait_for("the reservation to be used up", lambda: self.phase() == "Succeeded")
        owners = [owner["name"] for owner in self.reservation()["status"]["currentOwners"]]
        assert owners == [after["metadata"]["name"]], owners
        wait_for("a node for the pod stranger", lambda: self.node_of("stranger") == first)
        self.say(f"{first}: the stranger has the room that was left. The reservation is Succeeded, used by {owners[0]}.")


def main():
    return stage.play(__doc__, "kubectl get reservations,pods -o wide", lambda kubeconfig, _: Move(kubeconfig).run(),
                      "--nodes=3", f"--node-capacity=cpu={CPUS},memory=32Gi")


if __name__ == "__main__":
    sys.exit(main())

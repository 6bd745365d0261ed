#!/usr/bin/env python3
"""The agent's DaemonSet and that of packaging/manifests/cleanup as pods of a real node: cleaned up beside the agent all that
it held back is given back, its container is started again and stands by, starts after --cleanup=undo, and a new pod's agent
(a fresh install) is not kept away."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import KOORD, TREE, skip_without_role, wait_for  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import make_objects  # noqa: E402
from real_node import ASSETS, PAUSE, PODS, RealNode, missing  # noqa: E402

IMAGE = "koord.test/koord:1"
SETTLED = 4  # seconds: some ticks
EVENTS = "/apis/events.k8s.io/v1/events"


def pod_of(node, file, name):
    """The pod that a DaemonSet of packaging/manifests makes, on this node."""
    path = os.path.join(TREE, "packaging", "manifests", file)
    made = subprocess.run([os.path.join(ASSETS, "kubectl"), "create", "--dry-run=client", "--validate=false", "-o", "json", "-f", path,
                           f"--kubeconfig={node.kubeconfig}"], check=True, capture_output=True, text=True)
    spec = json.loads(made.stdout)["spec"]["template"]["spec"]
    spec.update({"nodeName": node.name, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 10})
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        container["imagePullPolicy"] = "Never"
        if container["image"].startswith("registry.k8s.io/pause"):
            container["image"] = PAUSE
            continue
        container["image"] = IMAGE
        container["args"].append(f"--kubeconfig={node.kubeconfig}")  # in the place of a service account's token
        container["volumeMounts"].append({"name": "cluster", "mountPath": node.cluster_dir, "readOnly": True})
        for mount in container["volumeMounts"]:
            mount.pop("mountPropagation", None)  # this node's mount namespace shares nothing
    for volume in spec["volumes"]:
        if volume.get("hostPath", {}).get("path") == "/var/lib/kubelet/":
            volume["hostPath"]["path"] = node.kubelet_root
        if volume.get("hostPath", {}).get("path") in ("/etc/runtime/hookserver.d/", "/var/lib/terway/"):
            volume.update({"hostPath": None, "emptyDir": {}})  # no folder of this machine's
    spec["volumes"].append({"name": "cluster", "hostPath": {"path": node.cluster_dir}})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def quota():
    return Group("kubepods/besteffort").read("cpu", "cpu.cfs_quota_us").strip()


class Proof:
    def __init__(self, node):
        self.node = node

    def container(self, name):
        """The status of the pod's container."""
        return (self.node.get(f"{PODS}/{name}")["status"].get("containerStatuses") or [{}])[0]

    def started(self, name, times):
        """Whether it runs, started again so often."""
        container = self.container(name)
        assert container.get("restartCount", 0) <= times, f"{name} was started too often: {container}"
        return container.get("restartCount") == times and "running" in container["state"]

    def works(self, name, times=0):
        wait_for(f"{name} runs", lambda: self.started(name, times), 60)
        wait_for(f"{name} holds best-effort work back", lambda: quota() != "-1", 60)
        wait_for(f"{name} is ready", lambda: self.container(name)["ready"], 60)

    def clean_up(self):
        self.node.apply(pod_of(self.node, "cleanup/10-koordlet.yaml", "koordlet-cleanup"))
        self.node.wait_running("koordlet-cleanup", seconds=90)  # its init container has succeeded
        assert quota() == "-1", quota()
        self.node.delete("koordlet-cleanup")

    def stands_by(self, name, times):
        wait_for(f"{name} was started again", lambda: self.started(name, times), 60)
        wait_for("an event of the node", lambda: any(
            event["reason"] == "AgentStandsBy" and event["regarding"]["name"] == self.node.name and "--cleanup=undo" in event["note"]
            for event in self.node.api.list(EVENTS)), 30)
        time.sleep(SETTLED)
        assert self.started(name, times) and not self.container(name)["ready"], self.container(name)
        assert quota() == "-1", quota()

    def inside(self, name, *words):
        """`koord` in the container of that pod, as kubectl exec runs it."""
        container = self.container(name)["containerID"].split("//")[1]
        done = self.node.ctr("tasks", "exec", "--exec-id", "by-hand", container, "/koord", "--role=koordlet", *words)
        assert done.returncode == 0, f"{words}: {done.stderr}"

    def marker(self):
        """Whether there is one on the node."""
        namespace = str(self.node.processes["namespace"].pid)
        return subprocess.run(["nsenter", "-t", namespace, "-m", "test", "-e", "/run/koordlet/koord.stand-down"], check=False).returncode == 0

    def run(self):
        make_objects(self.node)
        self.node.apply(self.node.pod("be", "while :; do :; done", "BE"), pod_of(self.node, "42-koordlet.yaml", "koordlet"))
        self.node.wait_running("be", "koordlet")
        self.works("koordlet")
        print("beside the agent", flush=True)
        self.clean_up()
        self.stands_by("koordlet", 1)
        assert self.marker()
        print("undone", flush=True)
        self.inside("koordlet", "--cleanup=undo")
        self.works("koordlet", 2)
        assert not self.marker()
        print("again, and a new pod in its place", flush=True)
        self.clean_up()
        self.node.delete("koordlet")
        assert self.marker()
        self.node.apply(pod_of(self.node, "42-koordlet.yaml", "koordlet-anew"))
        self.works("koordlet-anew")
        assert not self.marker()
        print("as the page says: the agent goes first", flush=True)
        self.node.delete("koordlet-anew")
        assert quota() != "-1", "what the agent held back went with it"
        self.clean_up()


def main():
    reason = missing()
    if reason:
        skip(reason)
    skip_without_role()
    with Unchanged(), RealNode() as node:
        program = os.path.join(node.dir, "koord")
        subprocess.run(["strip", "-o", program, KOORD], check=True)
        node.add_image(IMAGE, ["/koord"], {"koord": program})
        try:
            Proof(node).run()
        except BaseException:
            print(node.log_tail("kubelet", 30), file=sys.stderr)
            raise
    print("cleaning up on a real node: passed")


if __name__ == "__main__":
    main()

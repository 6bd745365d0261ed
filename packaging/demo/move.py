#!/usr/bin/env python3
"""A hot node is relieved, and a node is emptied for repair: first it is told what would move, then pods move to room that is kept for them.

usage: move.py [--stay]

Three simulated nodes; the API server, the scheduler and the descheduler are the real ones. Each step is waited for and told; it
fails where one does not come. --stay leaves the cluster running to look around until Ctrl-C.
"""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import stage  # noqa: E402
from stage import TREE  # noqa: E402
import kube_api  # noqa: E402
from sandbox import KOORD, wait_for  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
GROUP = "/apis/scheduling.koordinator.sh/v1alpha1"
CRDS = [os.path.join(TREE, "packaging", "crds", f"{GROUP.split('/')[2]}_{kind}.yaml") for kind in ("drainnodegroups", "drainnodes")]
CPUS, REPLICAS, BUSY = 8, 4, 1.75
# A node that uses more than 75% is relieved, where others use less than 45%; at once, since this is no long demonstration.
CONFIG = """apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 1s
healthzBindAddress: 127.0.0.1:0
metricsBindAddress: 127.0.0.1:0
leaderElection: {leaderElect: false}
profiles:
- name: koord-descheduler
  plugins:
    deschedule: {enabled: [{name: Drain}]}
    balance: {enabled: [{name: LowNodeLoad}]}
  pluginConfig:
  - name: LowNodeLoad
    args:
      lowThresholds: {cpu: 45}
      highThresholds: {cpu: 75}
      anomalyCondition: {consecutiveAbnormalities: 1}
  - name: MigrationController
    args:
      maxMigratingPerWorkload: 2
      maxUnavailablePerWorkload: 2
      objectLimiters: {workload: {duration: 0s}}
"""
GATE = "--feature-gates=Drain=true"


class Move:
    def __init__(self, kubeconfig, config):
        self.api, self.kubeconfig, self.config = kube_api.Api(kubeconfig), kubeconfig, config

    def request(self, method, path, body=None):
        return self.api.connect().request(method, path, body, "application/merge-patch+json" if method == "PATCH" else "application/json")

    def say(self, text):
        print(text, flush=True)

    def nodes_of(self):
        """Where the service's pods run: {pod: node}."""
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in self.api.list(PODS)
                if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
                and any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))}

    def report(self):
        """Each pod uses so much; what the node agent would say. Returns the busiest node's share, in percent."""
        where = self.nodes_of()
        for node in self.nodes:
            mine = [pod for pod in where if where[pod] == node]
            usage = lambda pods: {"resources": {"cpu": f"{int(1000 * BUSY * pods)}m", "memory": f"{pods}Gi"}}  # noqa: E731
            self.request("PATCH", f"{METRICS}/{node}/status", {"status": {
                "updateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "nodeMetric": {"nodeUsage": usage(len(mine)), "systemUsage": usage(0)},
                "podsMetric": [{"namespace": "default", "name": pod, "podUsage": usage(1)} for pod in mine]}})
        return max(100 * BUSY * list(where.values()).count(node) / CPUS for node in self.nodes)

    def rooms(self):
        return {job["spec"]["podRef"]["name"]: job["status"].get("nodeName") for job in self.api.list(f"{GROUP}/podmigrationjobs")
                if job.get("status", {}).get("phase") == "Succeeded"}

    def told(self):
        return subprocess.run([KOORD, "deschedule", "--dry-run", f"--kubeconfig={self.kubeconfig}", f"--config={self.config}", GATE],
                              capture_output=True, text=True, timeout=120, check=True).stdout

    def run(self, start):
        self.nodes = sorted(node["metadata"]["name"] for node in self.api.list("/api/v1/nodes"))
        first, second, third = self.nodes
        for node in self.nodes:
            self.request("POST", METRICS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": node}})
        for node in (second, third):
            self.request("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
        self.request("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": {
            "replicas": REPLICAS, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {
                    "schedulerName": "koord-scheduler", "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}}})
        wait_for("the service's pods to run", lambda: len(self.nodes_of()) == REPLICAS)
        for node in (second, third):
            self.request("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": None}})
        before = self.nodes_of()
        self.say(f"{first} has all {REPLICAS} pods of a service, and uses {self.report():.0f}% of its CPUs. koord deschedule --dry-run:")
        said = wait_for("the dry run to see it", lambda: (text := self.told()) and "Would go:" in text and text)
        self.say("".join(f"    {line}\n" for line in said.splitlines()).rstrip())
        assert self.nodes_of() == before
        start()
        wait_for("the node to cool", lambda: self.report() <= 75 and len(self.nodes_of()) == REPLICAS)
        for pod, room in self.rooms().items():
            assert before.get(pod) == first and room != first, (pod, room)
            self.say(f"{first}: {pod} was evicted once a Reservation kept its room on {room}, where its successor runs.")
        wait_for("nothing to be under way", lambda: all(job.get("status", {}).get("phase") == "Succeeded" for job in self.api.list(f"{GROUP}/podmigrationjobs")))
        self.say(f"No node uses more than {self.report():.0f}% now. {first} is to be repaired: a DrainNodeGroup empties it.")
        self.request("PATCH", f"/api/v1/nodes/{first}", {"metadata": {"labels": {"repair": "yes"}}})
        self.request("POST", f"{GROUP}/drainnodegroups", {
            "apiVersion": GROUP[6:], "kind": "DrainNodeGroup", "metadata": {"name": "repair"},
            "spec": {"nodeSelector": {"matchLabels": {"repair": "yes"}}, "cordonNodePolicy": {"mode": "Taint"}}})
        group = lambda: self.request("GET", f"{GROUP}/drainnodegroups/repair").get("status", {})  # noqa: E731
        wait_for("the node to be drained", lambda: self.report() and group().get("phase") == "Succeeded", 120)
        wait_for("the service to be whole", lambda: len(self.nodes_of()) == REPLICAS)
        assert first not in self.nodes_of().values(), self.nodes_of()
        self.say(f"The group is {group()['phase']}: {first} is empty, and all {REPLICAS} pods of the service run elsewhere.")


def start(kubeconfig, config, ends):
    """The descheduler, until the end."""
    log = ends.enter_context(open(os.path.join(os.path.dirname(config), "descheduler.log"), "wb"))
    child = subprocess.Popen([KOORD, "--role=descheduler", f"--kubeconfig={kubeconfig}", f"--config={config}", "--secure-port=0", "--port=0", GATE],
                             stdout=log, stderr=subprocess.STDOUT)
    ends.callback(child.wait, 30)
    ends.callback(child.terminate)


def main():
    with tempfile.TemporaryDirectory(prefix="koord-demo.") as folder:
        config = os.path.join(folder, "descheduler.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        return stage.play(__doc__, "kubectl get podmigrationjobs,drainnodegroups,pods -o wide",
                          lambda kubeconfig, ends: Move(kubeconfig, config).run(lambda: start(kubeconfig, config, ends)),
                          "--nodes=3", f"--node-capacity=cpu={CPUS},memory=32Gi", "--load", *CRDS)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Two teams share a cluster by quotas, and a training job starts whole: one team borrows what the other leaves idle and gives it back
when it is wanted; a gang waits until there is room for all of it. koord top and koord explain say so.

usage: share.py [--stay]

Two simulated nodes; the API server and the scheduler are the real ones. Each step is waited for and told; it fails where one
does not come. --stay leaves the cluster running to look around until Ctrl-C.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import stage  # noqa: E402
import kube_api  # noqa: E402
from sandbox import KOORD, wait_for  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
SCHEDULING = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default"
QUOTA, GANG = "quota.scheduling.koordinator.sh/name", "pod-group.scheduling.sigs.k8s.io"
NODES, CPUS, SHARE = 2, 8, 8
# What a team has borrowed is taken back a second after it is wanted; without these arguments it comes back when pods end.
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
  - schedulerName: koord-scheduler
    pluginConfig:
      - name: ElasticQuota
        args: {quotaGroupNamespace: default, monitorAllQuotas: true, delayEvictTime: 1s}
    plugins:
      multiPoint: {enabled: [{name: Coscheduling}]}
      preFilter: {enabled: [{name: ElasticQuota}]}
      postFilter: {enabled: [{name: ElasticQuota}]}
      reserve: {enabled: [{name: ElasticQuota}]}
"""


class Share:
    def __init__(self, kubeconfig, config):
        self.api, self.kubeconfig, self.config = kube_api.Api(kubeconfig), kubeconfig, config

    def request(self, method, path, body=None):
        return self.api.connect().request(method, path, body)

    def quota(self, team):
        self.request("POST", f"{SCHEDULING}/elasticquotas", {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": team},
            "spec": {"min": {"cpu": str(SHARE)}, "max": {"cpu": str(NODES * CPUS)}}})

    def pods(self, team, word, numbers, cpus, gang=None):
        labels = {QUOTA: team, **({GANG: gang} if gang else {})}
        for number in numbers:
            self.request("POST", PODS, {"metadata": {"name": f"{word}-{number}", "labels": labels}, "spec": {
                "schedulerName": "koord-scheduler", "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpus)}}}]}})

    def placed(self, word):
        return sum(1 for pod in self.api.list(PODS) if pod["metadata"]["name"].startswith(f"{word}-") and pod["spec"].get("nodeName"))

    def used(self, team):
        return self.request("GET", f"{SCHEDULING}/elasticquotas/{team}").get("status", {}).get("used", {}).get("cpu")

    def koord(self, *words):
        return subprocess.run([KOORD, *words, f"--kubeconfig={self.kubeconfig}"], capture_output=True, text=True, timeout=60, check=True).stdout

    def explains(self, pod, text):
        """The line of koord explain that says it, once it does."""
        said = self.koord("explain", "pod", f"default/{pod}", "--quiet", f"--config={self.config}")
        return next((line.strip() for line in said.splitlines() if text in line), None)

    def show_quotas(self):
        for line in self.koord("top", "--cluster", "--once").splitlines():
            if line.startswith(("QUOTA", "team-")):
                self.say(f"    {line}")

    def say(self, text):
        print(text, flush=True)

    def run(self):
        for team in ("team-a", "team-b"):
            self.quota(team)
        self.say(f"{NODES} nodes of {CPUS} CPUs. The quotas team-a and team-b have {SHARE} CPUs each, and may use all {NODES * CPUS} while nobody else does.")
        self.pods("team-a", "a", range(6), 2)
        wait_for("six pods of team-a", lambda: self.placed("a") == 6)
        wait_for("what team-a uses", lambda: self.used("team-a") == "12")
        self.say("team-a runs 6 pods of 2 CPUs: 4 CPUs are borrowed.")
        self.show_quotas()
        self.request("POST", f"{SCHEDULING}/podgroups", {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "train"}, "spec": {"minMember": 4}})
        self.pods("team-b", "train", range(3), 2, "train")
        why = wait_for("a word about the gang", lambda: self.explains("train-0", "waits for its gang"))
        assert self.placed("train") == 0
        self.say(f"team-b's gang train is to have 4 pods, and has 3: none starts. koord explain: {why}")
        self.pods("team-b", "train", [3], 2, "train")
        wait_for("the gang to start", lambda: self.placed("train") == 4)
        wait_for("what is left to team-a", lambda: self.used("team-a") == str(SHARE))
        self.say("The fourth is there. team-a gives back what it has borrowed, two of its pods are evicted, and the gang starts whole.")
        self.show_quotas()
        self.pods("team-a", "late", [0], 2)
        why = wait_for("a word about the quota", lambda: self.explains("late-0", "waits for the quota"))
        self.say(f"Another pod of team-a waits. koord explain: {why}")
        for number in range(4):
            self.request("DELETE", f"{PODS}/train-{number}")
        wait_for("the late pod to start", lambda: self.placed("late") == 1)
        self.say("The gang is done, and team-a borrows again.")


def main():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(CONFIG)
        config.flush()
        return stage.play(__doc__, "kubectl get elasticquotas,podgroups,pods", lambda kubeconfig, _: Share(kubeconfig, config.name).run(),
                          f"--nodes={NODES}", f"--node-capacity=cpu={CPUS},memory=32Gi", f"--scheduler.config={config.name}")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The controller quotaprofile of the original koord-manager and of ours, one after the other on the same nodes and profiles: the roots
of the trees, and the profiles' labels. Needs the original's program; no part of CI.

usage: compare_profiles_test.py [PROFILES [SEED]]       KOORDINATOR_BIN names the folder with `koord-manager` and `crds/`
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import kube_api  # noqa: E402
import original_manager  # noqa: E402
from sandbox import KOORD, Kubectl, wait_for  # noqa: E402

CLUSTER = os.path.join(HERE, "cluster")
PREFIX = "quota.scheduling.koordinator.sh/"
PROFILES, QUOTAS = "/apis/quota.koordinator.sh/v1alpha1", "/apis/scheduling.sigs.k8s.io/v1alpha1"
NAMESPACES = ("default", "team")


class Cases:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def node(self, number):
        choose = self.random.choice
        amounts = {"cpu": choose(("4", "7500m", "64")), "memory": choose(("8Gi", "7900Mi", "1000000Ki", "1000")), "pods": "110",
                   **choose(({}, {"nvidia.com/gpu": "8"}, {"ephemeral-storage": "100G", "example.com/x": "3"}))}
        node = {"metadata": {"name": f"n{number}", "labels": {"zone": choose("abc"), **choose(({}, {"pool": "x"}, {"pool": "y"}))}},
                "spec": choose(({}, {}, {"unschedulable": True}))}
        status = {"capacity": amounts, "allocatable": amounts,
                  "conditions": choose(([{"type": "Ready", "status": "True"}], [{"type": "Ready", "status": "True"}], [{"type": "Ready", "status": "False"}], []))}
        return node, status

    def profile(self, number):
        choose = self.random.choice
        selector = choose(({"matchLabels": {"zone": choose("abcd")}}, {"matchLabels": {"zone": "a", "pool": "x"}}, {},
                           {"matchExpressions": [{"key": "pool", "operator": choose(("Exists", "DoesNotExist"))}]},
                           {"matchExpressions": [{"key": "zone", "operator": choose(("In", "NotIn")), "values": ["a", "b"]}]}))
        spec = {"quotaName": f"root-{number}", "nodeSelector": selector}
        if self.random.random() < 0.5:
            spec["resourceRatio"] = choose(("0.9", "0.333", "1", "0", "1.5", "-0.5", "x", "1e-1", "+0.5", " 0.5", ".5", "5e-324", "NaN", "inf", ""))
        if self.random.random() < 0.4:
            spec["quotaLabels"] = choose(({"a": "b"}, {PREFIX + "is-root": "false"}, {PREFIX + "is-parent": "true", PREFIX + "tree-id": "mine"}))
        metadata = {"name": f"p{number}", "labels": choose(({}, {}, {PREFIX + "tree-id": f"t{number % 3}"}, {"x": "y"}))}
        if self.random.random() < 0.4:
            metadata["annotations"] = {PREFIX + "resource-keys": choose(('["cpu"]', '["cpu","memory","nvidia.com/gpu","none"]', "[]", "cpu", '["cpu",', ""))}
        return {"apiVersion": "quota.koordinator.sh/v1alpha1", "kind": "ElasticQuotaProfile", "metadata": metadata, "spec": spec}

    def quota(self, number):
        """That is there before."""
        if self.random.random() < 0.6:
            return None
        return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
                "metadata": {"name": f"root-{number}", "labels": {"mine": "yes"}, "annotations": {PREFIX + "shared-weight": '{"cpu":"1"}'}},
                "spec": {"min": {"cpu": "1", "other": "2"}, "max": {"cpu": "3", "other": "4"}}}


def seen(api, count):
    """What both are to write alike; None while something is missing."""
    quotas = {f"{one['metadata']['namespace']}/{one['metadata']['name']}": one for one in api.list(f"{QUOTAS}/elasticquotas")}
    profiles = api.list(f"{PROFILES}/elasticquotaprofiles")
    if len(quotas) < count or any(PREFIX + "is-root" not in one["metadata"].get("labels", {}) for one in quotas.values()):
        return None
    said = {}
    for name, quota in quotas.items():
        annotations = {key: json.loads(text) for key, text in quota["metadata"].get("annotations", {}).items()}
        said[name] = {"labels": quota["metadata"]["labels"], "annotations": annotations,
                      "min": quota["spec"].get("min") or {}, "max": quota["spec"].get("max") or {}}
    for profile in profiles:
        said[f"profile {profile['metadata']['namespace']}/{profile['metadata']['name']}"] = profile["metadata"].get("labels", {})
    return said


def outcome(api, kubeconfig, cases, command, log):
    """What a manager makes of them, from nothing."""
    connection = api.connect()
    for plural, base in (("elasticquotas", QUOTAS), ("elasticquotaprofiles", PROFILES)):
        for ns in NAMESPACES:
            connection.request("DELETE", f"{base}/namespaces/{ns}/{plural}")
    for number, (profile, quota) in enumerate(cases):
        ns = NAMESPACES[number % 2]
        if quota:
            connection.request("POST", f"{QUOTAS}/namespaces/{ns}/elasticquotas", quota)
        connection.request("POST", f"{PROFILES}/namespaces/{ns}/elasticquotaprofiles", profile)
    with open(log, "wb") as file:
        child = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        wait_for(f"all roots by {command[0]}", lambda: seen(api, len(cases)), 60)
        time.sleep(12)  # one of its periods more
        return seen(api, len(cases))
    finally:
        child.kill()
        child.wait()


def main():
    if original_manager.missing():
        print(f"skipped: {original_manager.missing()}")
        return 77
    count, seed = (int(word) for word in (sys.argv[1:] + ["120", str(int(time.time()))][len(sys.argv) - 1:])[:2])
    print(f"{count} profiles of seed {seed}", flush=True)
    cases = Cases(seed)
    with tempfile.TemporaryDirectory(prefix="koord-compare.") as folder:
        cluster = os.path.join(folder, "cluster")
        try:
            subprocess.run([CLUSTER, "up", cluster], check=True, stdout=subprocess.DEVNULL)
            kubeconfig = os.path.join(cluster, "kubeconfig")
            kubectl, api = Kubectl(kubeconfig), kube_api.Api(kubeconfig)
            kubectl.run("apply", "--server-side", "-f", original_manager.CRDS)
            kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
            connection = api.connect()
            for ns in ("team", "koordinator-system"):
                connection.request("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
            for number in range(12):
                node, status = cases.node(number)
                connection.request("POST", "/api/v1/nodes", node)
                connection.request("PATCH", f"/api/v1/nodes/n{number}/status", {"status": status}, "application/merge-patch+json")
            made = [(cases.profile(number), cases.quota(number)) for number in range(count)]
            theirs = outcome(api, kubeconfig, made, original_manager.command(kubeconfig, "--controllers=quotaprofile"), os.path.join(folder, "original.log"))
            ours = outcome(api, kubeconfig, made, [KOORD, "--role=manager", f"--kubeconfig={kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0",
                                                   "--health-probe-addr=0", "--webhook-port=0", "--controllers=quotaprofile"], os.path.join(folder, "koord.log"))
        finally:
            subprocess.run([CLUSTER, "down", cluster], check=True)
    wrong = [name for name in sorted({*theirs, *ours}) if theirs.get(name) != ours.get(name)]
    for name in wrong[:10]:
        print(f"DIFFERS: {name}\n    the original {json.dumps(theirs.get(name))}\n    koord        {json.dumps(ours.get(name))}")
        number = name.rsplit("-", 1)[-1]
        if number.isdigit():
            print(f"    of {json.dumps(made[int(number)])}")
    print("comparison with the original's quotaprofile: " + (f"passed, {len(ours)} objects" if not wrong else f"{len(wrong)} of {len(ours)} objects differ"))
    return 1 if wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its clusters end with it
    sys.exit(main())

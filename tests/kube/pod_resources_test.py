#!/usr/bin/env python3
"""A table of pods' resources on a real kube-apiserver and on the sandbox, as dry runs: the same verdict in the same words.

usage: pod_resources_test.py SERVE      SERVE is the sandbox program of tests/roles/sandbox
"""
import http.client
import json
import sys

import schedulers

import kube_api
import kube_version
from sandbox import served

PODS = "/api/v1/namespaces/default/pods?dryRun=All"
LIMIT = "Limit must be set for non overcommitable resources"
PAGES = "HugePages require cpu or memory"
BATCH, GPU, HUGE = "kubernetes.io/batch-cpu", "koordinator.sh/gpu-core", "hugepages-2Mi"
# (requests, limits, of the pod as a whole): part of the refusal, or None.
TABLE = [
    ({}, {}, {}, None),
    ({"cpu": "1"}, {"cpu": "2"}, {}, None),
    ({"cpu": "2"}, {"cpu": "1"}, {}, "must be less than or equal to cpu limit of 1"),
    ({"cpu": "-1"}, {}, {}, "must be greater than or equal to 0"),
    ({BATCH: "500"}, {BATCH: "1000"}, {}, None),
    ({BATCH: "2k"}, {BATCH: "1k"}, {}, "must be less than or equal to kubernetes.io/batch-cpu limit of 1k"),
    ({BATCH: "500"}, {}, {}, None),
    ({}, {BATCH: "1000"}, {}, None),
    ({BATCH: "500m"}, {}, {}, None),
    ({"node.kubernetes.io/x": "1"}, {"node.kubernetes.io/x": "2"}, {}, None),
    ({GPU: "50"}, {GPU: "50"}, {}, None),
    ({GPU: "50"}, {GPU: "100"}, {}, "must be equal to koordinator.sh/gpu-core limit of 100"),
    ({GPU: "1024"}, {GPU: "1Ki"}, {}, None),
    ({GPU: "2048"}, {GPU: "1024"}, {}, "must be equal to koordinator.sh/gpu-core limit of 1024"),
    ({GPU: "50"}, {}, {}, LIMIT),
    ({}, {GPU: "50"}, {}, None),
    ({}, {GPU: "500m"}, {}, "must be an integer"),
    ({HUGE: "2Mi"}, {HUGE: "2Mi"}, {}, PAGES),
    ({"memory": "1Gi", HUGE: "2Mi"}, {HUGE: "2Mi"}, {}, None),
    ({"memory": "1Gi", HUGE: "2Mi"}, {HUGE: "4Mi"}, {}, "must be equal to hugepages-2Mi limit of 4Mi"),
    ({"memory": "1Gi", HUGE: "2Mi"}, {}, {}, LIMIT),
    ({HUGE: "2Mi"}, {}, {}, LIMIT),
    ({}, {HUGE: "2Mi"}, {}, PAGES),
    ({}, {"cpu": "1", HUGE: "3Mi"}, {}, "3Mi is not positive integer multiple of hugepages-2Mi"),
    ({}, {"gpus": "1"}, {}, "must be a standard resource type or fully qualified"),
    ({}, {"pods": "1"}, {}, "must be a standard resource for containers"),
    ({}, {"-x/y": "1"}, {}, "Invalid value"),
    ({}, {"requests.example.com/x": "1"}, {}, "doesn't follow extended resource name standard"),
    ({}, {}, {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, None),
    ({}, {}, {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, "must be less than or equal to cpu limit of 1"),
    ({}, {}, {"requests": {BATCH: "1"}}, "supported values: "),
    ({}, {}, {"limits": {GPU: "1"}}, "supported values: "),
    ({}, {}, {"requests": {"ephemeral-storage": "1Gi"}}, "supported values: "),
    ({}, {}, {"limits": {HUGE: "2Mi"}}, PAGES),
    ({}, {}, {"limits": {"memory": "1Gi", HUGE: "2Mi"}}, None),
]


def pod(requests, limits, whole):
    spec = {"automountServiceAccountToken": False, "containers": [
        {"name": "c", "image": "none", "resources": {"requests": requests, "limits": limits}}]}
    if whole:
        spec["resources"] = whole
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def ask(api, item):
    """(the status' code, what is wrong with which field); the causes of several have no order."""
    connection = http.client.HTTPSConnection(api.host, api.port, context=api.context, timeout=60)
    connection.request("POST", PODS, json.dumps(item), {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    causes = sorted((cause.get("field", ""), cause["reason"], cause["message"])
                    for cause in (answer.get("details") or {}).get("causes", []))
    return response.status, causes, answer["message"] if len(causes) == 1 else ""


def main():
    schedulers.skip_without_cluster()
    kube_version.skip_unless_the_sandbox_s()
    failures = 0
    real = kube_api.Api(schedulers.KUBECONFIG)
    with served(sys.argv[1]) as kubeconfig:
        sandbox = kube_api.Api(kubeconfig)
        for *parts, wrong in TABLE:
            item = pod(*parts)
            theirs, ours = ask(real, item), ask(sandbox, item)
            said = "; ".join(cause[2] for cause in theirs[1])
            if theirs[0] != (422 if wrong else 201) or (wrong or "") not in said or theirs != ours:
                failures += 1
                print(f"FAILED: {parts}: {wrong}\n  real:    {theirs}\n  sandbox: {ours}", flush=True)
    print(f"{len(TABLE)} pods on both, {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

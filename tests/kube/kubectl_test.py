#!/usr/bin/env python3
"""The table of kubectl's commands on a real API server, and each answer beside the sandbox's.

usage: kubectl_test.py SERVE      SERVE is the sandbox program of tests/roles/sandbox
"""
import difflib
import os
import re
import subprocess
import sys

import schedulers

import kube_api
import kube_version
from sandbox import served

NODE = "node-a"
# Ages, stamps, generated values: what differs from run to run.
VARYING = [
    (re.compile(r"\b(?:\d+(?:\.\d+)?(?:ms|us|µs|s|m|h|d))+\b"), "AGE"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "TIME"),
    (re.compile(r'(resourceVersion"?: ")\d+'), r"\1N"),
    (re.compile(r"<invalid>|<unknown>"), "AGE"),
    (re.compile(r" {2,}"), "  "),
    (re.compile(r" +$", re.M), ""),
]
# Both must answer alike in these, beyond matching the table's pattern; others are compared by their first line.
WHOLE = re.compile(r"^(create|apply|delete|label|annotate|taint|cordon|uncordon|patch|wait|auth|get --raw|"
                   r"get pods? |get sc|get pvc|get sts|get csi|get job |get cm|get secret|get wd|get node |describe pod|get priorityclass)")
# Known (src/sandbox/api/README.md): managedFields of server-side apply alone, koord's words in descriptions of fields and
# about patches that cannot be applied; no difference of a claim's spec that may not change.
NOT_ALIKE = re.compile(r"show-managed-fields|-o yaml|-o json$|explain|describe node|patch pvc data|\"op\":\"test\"")
HEADER = re.compile(r"^[A-Z][A-Z -]+(?:  |$)")


def normal(text):
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return text


def run(kubectl, kubeconfig, command, stdin):
    done = subprocess.run([kubectl, *command.replace("{n}", NODE).split()], input=stdin.replace("{n}", NODE), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False,
                          env={**os.environ, "KUBECONFIG": kubeconfig})
    return done.returncode, done.stdout


def compare(table, real, sandbox):
    failures = headers = whole = 0
    for command, stdin, code, pattern in table.TABLE:
        answers = [run(table.KUBECTL, kubeconfig, command, stdin) for kubeconfig in (real, sandbox)]
        problems = [f"{where} did not match {pattern} with {code}: {got}\n{text[:1500]}"
                    for where, (got, text) in zip(("the real one", "the sandbox"), answers)
                    if got != code or not re.search(pattern.replace("{n}", NODE), text, re.M)]
        texts = [normal(text).splitlines() for _, text in answers]
        if not NOT_ALIKE.search(command):
            if WHOLE.match(command):
                whole += 1
            elif texts[0] and HEADER.match(texts[0][0]):
                headers += 1
                texts = [lines[:1] for lines in texts]
            else:
                texts = [[], []]
            if texts[0] != texts[1]:
                problems.append("\n".join(difflib.unified_diff(*texts, "the real one", "the sandbox", lineterm="")))
        for problem in problems:
            failures += 1
            print(f"FAILED: kubectl {command}\n{problem}\n", flush=True)
    print(f"{len(table.TABLE)} commands on both, {whole} answers and {headers} headers compared, "
          f"{failures} differences")
    return failures


def prepare(api, node):
    """What the table expects to be there, and nothing that other tests have left."""
    connection = api.connect()
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    for item in api.list(classes):
        if not item["metadata"]["name"].startswith("system-"):
            connection.request("DELETE", f"{classes}/{item['metadata']['name']}")
    schedulers.drop_lease(connection, "held", "default")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "held"},
             "spec": {"holderIdentity": "somebody"}}
    connection.request("POST", schedulers.LEASES.format("default", "").rstrip("/"), lease)
    kube_api.create(connection, node)


def main():
    schedulers.skip_without_cluster()
    kube_version.skip_unless_the_sandbox_s()
    table = schedulers.of_the_sandbox("kubectl_test")
    node = schedulers.node(NODE, cpu="8", memory="16Gi")
    del node["status"]["conditions"]
    api = kube_api.Api(schedulers.KUBECONFIG)
    schedulers.clean(api, ["default"])
    with served(sys.argv[1]) as kubeconfig:
        os.environ["HOME"] = os.path.dirname(kubeconfig)  # kubectl's caches
        try:
            node["metadata"]["annotations"] = {"sandbox.koordinator.sh/kubelet": "false"}
            for each in (api, kube_api.Api(kubeconfig)):
                prepare(each, node)
            return 1 if compare(table, schedulers.KUBECONFIG, kubeconfig) else 0
        finally:
            schedulers.clean(api, ["default"])


if __name__ == "__main__":
    sys.exit(main())

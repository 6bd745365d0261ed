#!/usr/bin/env python3
"""Converts the openb trace (Alibaba cluster-trace-gpu-v2023) into manifests.

usage: openb_manifests.py OUT_FOLDER [--traces FOLDER] [--scheduler NAME] [--nodes N] [--pods N]

Writes nodes.json (priority classes, the namespace, nodes) and pods.json: JSON Lists, one item a line, fit for
`koord sandbox --load`, `kubectl create -f` and tests/support/kube_api.py. The traces are looked for in --traces,
$KOORD_TRACES, ../shared/traces; where they are missing, the sample in tests/golden/openb is used and that is said.

What becomes what:
  whole GPUs        nvidia.com/gpu, and 100 hundredths each, so that whole and shared GPUs draw on the same sum
  a share of a GPU  trace.koord.test/gpu-hundredths
  gpu_spec          required node affinity on the node's label trace.koord.test/gpu-model
  qos               LS -> LS, koord-prod; Guaranteed -> LS, koord-prod; Burstable -> LS, koord-mid; BE -> BE, koord-batch. (None is
                    LSR: which CPUs its machines have the trace does not say, and nobody can have one of them.)
Times are left out: all pods ask at once, in the order of the trace.
"""
import argparse
import csv
import json
import os
import sys

HUNDREDTHS = "trace.koord.test/gpu-hundredths"
MODEL_LABEL = "trace.koord.test/gpu-model"
NAMESPACE = "openb"
PODS_PER_NODE = 110
PRIORITY_CLASSES = {"koord-prod": 9000, "koord-mid": 7000, "koord-batch": 5000, "koord-free": 3000}
QOS = {
    "LS": ("LS", "koord-prod"),
    "Guaranteed": ("LS", "koord-prod"),
    "Burstable": ("LS", "koord-mid"),
    "BE": ("BE", "koord-batch"),
}
NODE_FILE = "openb_node_list_all_node.csv"
POD_FILE = "openb_pod_list_default.csv"


def find_traces(named):
    """The folder with both files, and whether it is only the sample."""
    here = os.path.dirname(os.path.abspath(__file__))
    tree = os.path.dirname(os.path.dirname(here))
    folders = [named, os.environ.get("KOORD_TRACES"), os.path.join(tree, "..", "shared", "traces")]
    for folder in filter(None, folders):
        if os.path.exists(os.path.join(folder, NODE_FILE)) and os.path.exists(os.path.join(folder, POD_FILE)):
            return folder, False
    return os.path.join(tree, "tests", "golden", "openb"), True


def cpu(milli):
    milli = int(milli)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def node_object(row):
    gpus = int(row["gpu"])
    resources = {"cpu": cpu(row["cpu_milli"]), "memory": f"{int(row['memory_mib'])}Mi", "pods": str(PODS_PER_NODE)}
    labels = {"kubernetes.io/hostname": row["sn"], "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if gpus:
        resources["nvidia.com/gpu"] = str(gpus)
        resources[HUNDREDTHS] = str(100 * gpus)
        labels[MODEL_LABEL] = row["model"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod_object(row, scheduler):
    qos, priority = QOS[row["qos"]]
    requests = {"cpu": cpu(row["cpu_milli"]), "memory": f"{int(row['memory_mib'])}Mi"}
    limits = {}
    gpus, milli = int(row["num_gpu"]), int(row["gpu_milli"])
    if gpus == 1 and milli < 1000:
        limits[HUNDREDTHS] = str(-(-milli // 10))
    elif gpus:
        limits["nvidia.com/gpu"] = str(gpus)
        limits[HUNDREDTHS] = str(100 * gpus)
    requests.update(limits)  # an extended resource is asked for by a limit and an equal request
    if row["qos"] == "Guaranteed":
        limits = requests
    spec = {
        "schedulerName": scheduler,
        "priorityClassName": priority,
        "containers": [{
            "name": "main",
            "image": "trace.koord.test/openb",
            "resources": {"requests": requests, **({"limits": limits} if limits else {})},
        }],
    }
    if row["gpu_spec"]:
        models = {"key": MODEL_LABEL, "operator": "In", "values": row["gpu_spec"].split("|")}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [models]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": row["name"], "namespace": NAMESPACE, "labels": {"koordinator.sh/qosClass": qos}},
        "spec": spec,
    }


def fixed_objects():
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    for name, value in PRIORITY_CLASSES.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority",
        }


def write_list(path, objects):
    count = 0
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"apiVersion":"v1","kind":"List","items":[')
        for item in objects:
            file.write(",\n" if count else "\n")
            json.dump(item, file, separators=(",", ":"))
            count += 1
        file.write("\n]}\n")
    return count


def read_rows(path, most):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows[:most] if most else rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--traces")
    parser.add_argument("--scheduler", default="koord-scheduler")
    parser.add_argument("--nodes", type=int, help="only the first N")
    parser.add_argument("--pods", type=int, help="only the first N")
    args = parser.parse_args()
    folder, sample = find_traces(args.traces)
    if sample:
        print("openb: the trace is not here (KOORD_TRACES): converting the sample", file=sys.stderr)
    nodes = [node_object(row) for row in read_rows(os.path.join(folder, NODE_FILE), args.nodes)]
    pods = [pod_object(row, args.scheduler) for row in read_rows(os.path.join(folder, POD_FILE), args.pods)]
    os.makedirs(args.out, exist_ok=True)
    write_list(os.path.join(args.out, "nodes.json"), [*fixed_objects(), *nodes])
    write_list(os.path.join(args.out, "pods.json"), pods)
    print(f"openb: {len(nodes)} nodes, {len(pods)} pods in {args.out}", file=sys.stderr)


if __name__ == "__main__":
    main()

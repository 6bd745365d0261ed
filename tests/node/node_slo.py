"""Koordinator's objects of a real node: the definitions, a NodeMetric to report into, a NodeSLO with suppression on; made by
hand, or by a manager."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import kube_api  # noqa: E402
from agent import KOORD, wait_for  # noqa: E402
from real_node import ASSETS  # noqa: E402

SLO = "/apis/slo.koordinator.sh/v1alpha1"
REPORT_SECONDS = 5


THRESHOLD = {"enable": True, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 60}
AGGREGATE_SECONDS = 60  # what NodeMetric's averages speak of: the least that an agent takes


def define(node):
    manifests = subprocess.run([KOORD, "crds"], check=True, capture_output=True, text=True).stdout
    subprocess.run([os.path.join(ASSETS, "kubectl"), "--kubeconfig", node.kubeconfig, "apply", "-f", "-"], check=True,
                   input=manifests, text=True, stdout=subprocess.DEVNULL)


def make_objects(node):
    define(node)
    connection = node.api.connect()

    def made(kind, plural, spec):
        try:
            connection.request("POST", f"{SLO}/{plural}", {
                "apiVersion": "slo.koordinator.sh/v1alpha1", "kind": kind, "metadata": {"name": node.name}, "spec": spec})
        except kube_api.ApiError as error:  # not established yet, or its storage begins
            return error.status == 409
        return True

    wait_for("a NodeMetric", lambda: made("NodeMetric", "nodemetrics", {"metricCollectPolicy": {
        "aggregateDurationSeconds": 60, "reportIntervalSeconds": REPORT_SECONDS,
        "nodeAggregatePolicy": {"durations": ["1m"]}}}), 60)
    wait_for("a NodeSLO", lambda: made("NodeSLO", "nodeslos", {"resourceUsedThresholdWithBE": THRESHOLD}), 60)


def start_manager(node):
    """`koord --role=manager`, configured as an operator does it, which then makes the same objects."""
    define(node)
    connection = node.api.connect()
    for path, body in (("/api/v1/namespaces", {"metadata": {"name": "koordinator-system"}}),
                       ("/api/v1/namespaces/koordinator-system/configmaps", {
                           "metadata": {"name": "slo-controller-config"},
                           "data": {"resource-threshold-config": json.dumps({"clusterStrategy": THRESHOLD}),
                                    "colocation-config": json.dumps({
                                        "enable": True, "metricAggregateDurationSeconds": AGGREGATE_SECONDS,
                                        "metricReportIntervalSeconds": REPORT_SECONDS, "cpuReclaimThresholdPercent": 100,
                                        "metricAggregatePolicy": {"durations": ["1m"]}})}})):
        connection.request("POST", path, body)
    log = open(os.path.join(node.dir, "manager.log"), "wb")
    process = subprocess.Popen([KOORD, "--role=manager", f"--kubeconfig={node.kubeconfig}", "--metrics-addr=0",
                                "--health-probe-addr=0", "--enable-leader-election=false", "--webhook-port=0"],
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    log.close()
    node.janitor.process(process.pid)

    def made(plural):
        try:
            return connection.request("GET", f"{SLO}/{plural}/{node.name}")
        except kube_api.ApiError as error:
            assert error.status in (404, 429), error
            return None

    wait_for("the manager's NodeMetric", lambda: made("nodemetrics"), 60)
    wait_for("the manager's NodeSLO", lambda: made("nodeslos"), 60)
    return process


def lent_cpus(node, kind="batch"):
    """What the node lends, in CPUs; None while it lends nothing."""
    lent = node.get(f"/api/v1/nodes/{node.name}")["status"]["allocatable"].get(f"kubernetes.io/{kind}-cpu")
    if lent is None:
        return None
    return (float(lent[:-1]) * 1000 if lent.endswith("k") else float(lent)) / 1000


def node_metric(node):
    return node.get(f"{SLO}/nodemetrics/{node.name}").get("status", {})


def cpus(quantity):
    units = {"n": 1e-9, "u": 1e-6, "m": 1e-3}
    return float(quantity[:-1]) * units[quantity[-1]] if quantity[-1] in units else float(quantity)

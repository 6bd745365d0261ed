"""Koordinator's objects of a real node: the definitions, a NodeMetric to report into, a NodeSLO with suppression on."""
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


def make_objects(node):
    manifests = subprocess.run([KOORD, "crds"], check=True, capture_output=True, text=True).stdout
    subprocess.run([os.path.join(ASSETS, "kubectl"), "--kubeconfig", node.kubeconfig, "apply", "-f", "-"], check=True,
                   input=manifests, text=True, stdout=subprocess.DEVNULL)
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
    wait_for("a NodeSLO", lambda: made("NodeSLO", "nodeslos", {"resourceUsedThresholdWithBE": {
        "enable": True, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 60}}), 60)


def node_metric(node):
    return node.get(f"{SLO}/nodemetrics/{node.name}").get("status", {})


def cpus(quantity):
    units = {"n": 1e-9, "u": 1e-6, "m": 1e-3}
    return float(quantity[:-1]) * units[quantity[-1]] if quantity[-1] in units else float(quantity)

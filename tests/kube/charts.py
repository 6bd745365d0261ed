"""A chart on a real API server of the test's own that enforces RBAC and keeps an audit log: its accounts, and what they are refused."""
import json
import os
import re
import sys

import schedulers
import uninstall_test
from own_cluster import audited, own_cluster

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "support"))
import helm  # noqa: E402
import kube_api  # noqa: E402

NS, NODE = "koordinator-system", "chart-node"
SLO = "/apis/slo.koordinator.sh/v1alpha1"
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
# A folder with Koordinator's own chart.
ORIGINAL = os.environ.get("KOORDINATOR_CHART")


class PodProcess:
    """A process for a pod's container. Whoever derives from it sets `ports`, by the pod's own, and `log`."""

    def moved(self, text):
        """Its ports are others here: all pods are on one host."""
        for port, ours in self.ports.items():
            text = re.sub(rf"(?<![\d.]){port}(?!\d)", ours, text)
        return text

    def value(self, variable, workload):
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        return {"metadata.namespace": workload["metadata"]["namespace"], "spec.nodeName": NODE}[field] if field else self.moved(variable["value"])

    def output(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()


class ChartWorld:
    """What a TestCase of charts has besides."""

    @classmethod
    def setUpClass(cls):
        cls.audit, flags = audited()
        cls.folder, _, cls.kubeconfig = own_cluster("chart", flags, uninstall_test.CONTROLLERS)
        cls.api, cls.helm = kube_api.Api(cls.kubeconfig), helm.Helm(cls.kubeconfig, cls.folder)

    @classmethod
    def request(cls, method, path, body=None, api=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return (api or cls.api).connect().request(method, path, body, kind)

    @classmethod
    def refusal(cls, method, path, body=None):
        """The status of the refusal; 0 where there is none."""
        try:
            cls.request(method, path, body)
        except kube_api.ApiError as error:
            return error.status
        return 0

    def token(self, name, ns=NS, pod=None):
        """Of that account; bound to a pod, as that in a pod is."""
        spec = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}} if pod else {}
        return self.request("POST", f"/api/v1/namespaces/{ns}/serviceaccounts/{name}/token", {"spec": spec})["status"]["token"]

    def account(self, name, ns=NS, pod=None):
        """A kubeconfig with such a token."""
        token = self.token(name, ns, pod)
        path = os.path.join(self.folder, f"{name}.kubeconfig")
        with open(self.kubeconfig, encoding="utf-8") as file:
            text = file.read().replace(f"token: {self.api.token}", f"token: {token}")
        with open(path, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(text)
        return path

    def refused(self):
        """(account, verb, resource) of everything that was forbidden to an account of the chart's."""
        found = set()
        with open(self.audit, encoding="utf-8") as file:
            for event in map(json.loads, file):
                user = event["user"].get("username", "")
                if user.startswith(f"system:serviceaccount:{NS}:koord") and event.get("responseStatus", {}).get("code") == 403:
                    found.add((user.rsplit(":", 1)[1], event["verb"], event.get("objectRef", {}).get("resource", event["requestURI"])))
        return found

    def entries(self):
        return [entry for kind in ("mutating", "validating") for entry in self.request(
            "GET", f"{HOOKS}/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration").get("webhooks", [])]

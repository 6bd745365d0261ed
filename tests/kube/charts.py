"""A chart on a real API server of the test's own that enforces RBAC and keeps an audit log: its accounts, and what they are refused."""
import atexit
import json
import os
import sys
import tempfile

import schedulers
import uninstall_test
from own_cluster import own_cluster
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "support"))
import helm  # noqa: E402
import kube_api  # noqa: E402

NS, NODE = "koordinator-system", "chart-node"
SLO = "/apis/slo.koordinator.sh/v1alpha1"
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}
# A folder with Koordinator's own chart.
ORIGINAL = os.environ.get("KOORDINATOR_CHART")


class ChartWorld:
    """What a TestCase of charts has besides."""

    @classmethod
    def setUpClass(cls):
        told = tempfile.TemporaryDirectory(prefix="koord-audit.")
        atexit.register(told.cleanup)  # after the cluster that writes there has ended
        cls.audit, policy = (os.path.join(told.name, name) for name in ("audit.log", "policy.json"))
        with open(policy, "w", encoding="utf-8") as file:
            json.dump(AUDIT, file)
        cls.folder, _, cls.kubeconfig = own_cluster("chart", f"--audit-policy-file={policy} --audit-log-path={cls.audit}", uninstall_test.CONTROLLERS)
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
                user = event["user"]["username"]
                if user.startswith(f"system:serviceaccount:{NS}:koord") and event.get("responseStatus", {}).get("code") == 403:
                    found.add((user.rsplit(":", 1)[1], event["verb"], event.get("objectRef", {}).get("resource", event["requestURI"])))
        return found

    def entries(self):
        return [entry for kind in ("mutating", "validating") for entry in self.request(
            "GET", f"{HOOKS}/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration").get("webhooks", [])]

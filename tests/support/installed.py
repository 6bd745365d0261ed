"""packaging/crds and packaging/manifests in a cluster of a test's own, and its service accounts."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import kube_api  # noqa: E402
from sandbox import Kubectl  # noqa: E402

PACKAGING = os.path.join(HERE, "..", "..", "packaging")
NS = "koordinator-system"


class Installed:
    def __init__(self, kubeconfig, folder):
        self.kubeconfig, self.folder = kubeconfig, folder
        self.api, self.kubectl = kube_api.Api(kubeconfig), Kubectl(kubeconfig)
        for part in ("crds", "manifests"):
            self.kubectl.run("apply", "-f", os.path.join(PACKAGING, part))
        self.kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")

    def account(self, name, pod=None):
        """A kubeconfig of the service account's; with a pod the token is bound to it, as that in the pod is."""
        spec = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}} if pod else {}
        token = self.api.connect().request("POST", f"/api/v1/namespaces/{NS}/serviceaccounts/{name}/token", {"spec": spec})
        with open(self.kubeconfig, encoding="utf-8") as file:
            text = file.read().replace(f"token: {self.api.token}", f"token: {token['status']['token']}")
        return self.write(f"{pod['metadata']['name'] if pod else name}.kubeconfig", text)

    def scheduler_config(self):
        """The file that the scheduler's pod is given."""
        data = self.api.connect().request("GET", f"/api/v1/namespaces/{NS}/configmaps/koord-scheduler-config")["data"]
        return self.write("koord-scheduler.config", data["koord-scheduler-config"])

    def descheduler_config(self):
        """The same of the descheduler's."""
        data = self.api.connect().request("GET", f"/api/v1/namespaces/{NS}/configmaps/koord-descheduler-config")["data"]
        return self.write("koord-descheduler.config", data["koord-descheduler-config"])

    def configure(self, **keys):
        """Keys of slo-controller-config, '_' for '-'."""
        self.api.connect().request("PATCH", f"/api/v1/namespaces/{NS}/configmaps/slo-controller-config", {
            "data": {name.replace("_", "-"): text for name, text in keys.items()}}, "application/merge-patch+json")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(text)
        return path

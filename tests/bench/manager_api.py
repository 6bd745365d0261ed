"""Creation of pods through a real kube-apiserver: without webhooks, with two that allow everything unread, with koord's pod
webhooks, with the original's where KOORDINATOR_BIN has it; and what each holds while it idles. Run by tests/bench/manager
inside with-cluster.

Each contender has a namespace that its entries select, so that nothing is switched between rounds; the rounds take turns,
and the middle one counts. Eight processes create; CPU is the manager's own.
"""
import base64
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import kube_api  # noqa: E402
import measure  # noqa: E402
import original_manager  # noqa: E402
from installed import PACKAGING  # noqa: E402
from sandbox import Kubectl, free_port, wait_for  # noqa: E402

CLIENTS, ROUNDS, IDLE_SECONDS = 8, 3, 20
EMPTY_WEBHOOK = os.path.join(measure.TREE, "build", "tests", "bench", "empty_webhook")
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
PROFILE = {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "be"},
           "spec": {"selector": {"matchLabels": {"tier": "be"}}, "qosClass": "BE", "priorityClassName": "koord-batch",
                    "schedulerName": "koord-scheduler"}}


def pod(name):
    amounts = {"cpu": "500m", "memory": "1Gi"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"tier": "be", "app": "bench"}}, "spec": {
        "automountServiceAccountToken": False, "schedulerName": "nobody", "containers": [
            {"name": f"c{i}", "image": "none", "env": [{"name": f"VARIABLE_{j}", "value": "x" * 40} for j in range(10)],
             "resources": {"requests": amounts, "limits": amounts}} for i in range(2)]}}


class Contender:
    """A namespace that nobody is asked about."""

    def __init__(self, name, kubeconfig):
        self.name, self.path, self.api = name, f"/api/v1/namespaces/bench-{name}/pods", kube_api.Api(kubeconfig)
        self.rates, self.cpu, self.process = [], [], None
        self.api.connect().request("POST", "/api/v1/namespaces", {"metadata": {"name": f"bench-{name}"}})

    def make_entries(self, clients):
        """Webhooks about this namespace alone; clients: by kind, where they are."""
        for kind, operations in (("mutating", ["CREATE"]), ("validating", ["CREATE", "UPDATE"])):
            self.api.connect().request("POST", f"{CONFIGURATIONS}/{kind}webhookconfigurations", {
                "metadata": {"name": f"bench-{self.name}-{kind}", "annotations": {"template": ""}}, "webhooks": [{
                    "name": f"{kind}.koordinator.sh", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                    "clientConfig": clients[kind],
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": f"bench-{self.name}"}},
                    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": operations}]}]})

    def answer(self):
        """The pod that a dry run makes, or None."""
        self.process.check()
        try:
            return self.api.connect().request("POST", f"{self.path}?dryRun=All", pod("first"))
        except kube_api.ApiError:
            return None

    def answers(self):
        return self.answer() is not None

    def idle_mib(self):
        with open(f"/proc/{self.process.child.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS:"))

    def round(self, kubeconfig, count):
        before = self.process.cpu_seconds() if self.process else 0
        with multiprocessing.Pool(CLIENTS) as pool:
            ready = pool.starmap(create, [(kubeconfig, self.path, i, count) for i in range(CLIENTS)])
        self.rates.append(count / (max(end for _, end in ready) - min(start for start, _ in ready)))
        if self.process:
            self.cpu.append((self.process.cpu_seconds() - before) * 1e6 / count)
        self.api.connect().request("DELETE", self.path, {"gracePeriodSeconds": 0})


class Empty(Contender):
    """Webhooks that allow everything unread."""

    def __init__(self, name, kubeconfig, scratch):
        super().__init__(name, kubeconfig)
        port, ca = free_port(), os.path.join(scratch, "empty-ca.pem")
        self.process = measure.Process(name, [EMPTY_WEBHOOK, str(port), ca], os.path.join(scratch, name + ".log"))
        wait_for("an empty webhook", lambda: self.process.check() or os.path.exists(ca))
        with open(ca, "rb") as file:
            bundle = base64.b64encode(file.read()).decode()
        self.make_entries({kind: {"url": f"https://127.0.0.1:{port}/{kind}", "caBundle": bundle} for kind in ("mutating", "validating")})


class Manager(Contender):
    """A manager whose entries are its own."""

    def __init__(self, name, kubeconfig, scratch, command):
        super().__init__(name, kubeconfig)
        env = {**os.environ, "WEBHOOK_HOST": "127.0.0.1", "WEBHOOK_PORT": str(free_port()), "SECRET_NAME": f"{name}-certs",
               "WEBHOOK_CERT_DIR": os.path.join(scratch, name), "POD_NAMESPACE": "koordinator-system"}
        clients = {}
        for kind, path in (("mutating", "/mutate-pod"), ("validating", "/validate-pod")):
            env[f"{kind.upper()}_WEBHOOK_NAME"] = f"bench-{name}-{kind}"
            clients[kind] = {"service": {"namespace": "none", "name": "none", "path": path}}  # it puts its own there
        self.make_entries(clients)
        self.process = measure.Process(name, command, os.path.join(scratch, name + ".log"), env)

    def answers(self):
        made = self.answer()
        return made is not None and "kubernetes.io/batch-cpu" in made["spec"]["containers"][0]["resources"]["requests"]


def create(kubeconfig, path, client, count):
    connection = kube_api.Api(kubeconfig).connect()
    connection.request("GET", "/version")
    start = time.monotonic()
    for i in range(client, count, CLIENTS):
        connection.request("POST", path, json.dumps(pod(f"pod-{i}")).encode())
    return start, time.monotonic()


def main():
    count, kubeconfig = int(sys.argv[1]), os.environ["KUBECONFIG"]
    scratch = tempfile.mkdtemp(prefix="koord-bench.")
    contenders = []
    try:
        kubectl = Kubectl(kubeconfig)
        crds = os.path.join(PACKAGING, "crds") if original_manager.missing() else original_manager.CRDS
        kubectl.run("apply", "--server-side", "-f", crds)
        kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        for file in ("00-namespace.yaml", "10-priority-classes.yaml"):
            kubectl.run("apply", "-f", os.path.join(PACKAGING, "manifests", file))
        kube_api.Api(kubeconfig).connect().request("POST", "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles", PROFILE)
        contenders.append(Contender("none", kubeconfig))
        contenders.append(Empty("empty", kubeconfig, scratch))
        contenders.append(Manager("koord", kubeconfig, scratch, [
            measure.KOORD, "--role=manager", f"--kubeconfig={kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0",
            "--health-probe-addr=0"]))
        if original_manager.missing():
            print("without the original: KOORDINATOR_BIN is not set", file=sys.stderr)
        else:
            contenders.append(Manager("original", kubeconfig, scratch, original_manager.command(kubeconfig, webhooks=True)))
        for one in contenders[1:]:
            wait_for(f"{one.name} answers", one.answers, 60)
        time.sleep(IDLE_SECONDS)
        idle = {one.name: one.idle_mib() for one in contenders[1:]}
        for one in contenders * ROUNDS:
            one.round(kubeconfig, count)
        none = statistics.median(contenders[0].rates)
        rows = [(one.name, f"{statistics.median(one.rates):.0f}", f"{statistics.median(one.rates) / none:.0%}",
                 f"{statistics.median(one.cpu):.0f}" if one.cpu else "-", f"{idle[one.name]:.0f}" if one.name in idle else "-")
                for one in contenders]
        print(f"{count} pods a round, {ROUNDS} rounds, {CLIENTS} clients, real etcd and kube-apiserver")
        measure.print_table(("webhooks", "pods/s", "of none", "CPU us/pod", "idle MiB"), rows)
    finally:
        for one in contenders:
            if one.process:
                one.process.stop()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

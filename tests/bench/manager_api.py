"""Creation of pods through a real kube-apiserver: without webhooks, with koord's pod webhooks, with the original's where
KOORDINATOR_BIN has it; and what both managers hold while they idle. Run by tests/bench/manager inside with-cluster.

Each contender has a namespace that its entries select, so that nothing is switched between rounds; the rounds take turns,
and the middle one counts. Eight processes create; CPU is the manager's own.
"""
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
    """A manager whose entries ask about one namespace alone; without a command there is none."""

    def __init__(self, name, kubeconfig, scratch, command=None):
        self.name, self.path, self.api = name, f"/api/v1/namespaces/bench-{name}/pods", kube_api.Api(kubeconfig)
        self.rates, self.cpu, self.process = [], [], None
        self.api.connect().request("POST", "/api/v1/namespaces", {"metadata": {"name": f"bench-{name}"}})
        if command is None:
            return
        env = {**os.environ, "WEBHOOK_HOST": "127.0.0.1", "WEBHOOK_PORT": str(free_port()), "SECRET_NAME": f"{name}-certs",
               "WEBHOOK_CERT_DIR": os.path.join(scratch, name), "POD_NAMESPACE": "koordinator-system"}
        for kind, path, operations in (("mutating", "/mutate-pod", ["CREATE"]), ("validating", "/validate-pod", ["CREATE", "UPDATE"])):
            env[f"{kind.upper()}_WEBHOOK_NAME"] = f"bench-{name}-{kind}"
            self.api.connect().request("POST", f"{CONFIGURATIONS}/{kind}webhookconfigurations", {
                "metadata": {"name": f"bench-{name}-{kind}", "annotations": {"template": ""}}, "webhooks": [{
                    "name": f"{kind}.koordinator.sh", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                    "clientConfig": {"service": {"namespace": "none", "name": "none", "path": path}},
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": f"bench-{name}"}},
                    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": operations}]}]})
        self.process = measure.Process(name, command, os.path.join(scratch, name + ".log"), env)

    def answers(self):
        self.process.check()
        try:
            made = self.api.connect().request("POST", f"{self.path}?dryRun=All", pod("first"))
        except kube_api.ApiError:
            return False
        return "kubernetes.io/batch-cpu" in made["spec"]["containers"][0]["resources"]["requests"]

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
        contenders.append(Contender("none", kubeconfig, scratch))
        contenders.append(Contender("koord", kubeconfig, scratch, [
            measure.KOORD, "--role=manager", f"--kubeconfig={kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0",
            "--health-probe-addr=0"]))
        if original_manager.missing():
            print("without the original: KOORDINATOR_BIN is not set", file=sys.stderr)
        else:
            contenders.append(Contender("original", kubeconfig, scratch, original_manager.command(kubeconfig, webhooks=True)))
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

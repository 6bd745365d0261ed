#!/usr/bin/env python3
"""Koordinator's own chart, of which only the images are others (KOORDINATOR_CHART names its folder), by the real helm on a real API
server of the test's own that enforces RBAC: the command of each pod, word by word but for the numbers of its ports, runs where the pod's
mounts are, as its account. All roles do their work, the device daemon only has to run; what the chart's rights refuse them is just what is listed here."""
import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import schedulers
from charts import NODE, NS, ORIGINAL, PROFILES, SLO, ChartWorld, PodProcess
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "support"))
import fake_node  # noqa: E402
import helm  # noqa: E402
from sandbox import KOORD, free_port  # noqa: E402

JOBS = "/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs"
ROLES = ("koordlet", "manager", "scheduler", "descheduler", "deviceDaemon")
TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"
# What koord asks for besides, and goes on without: for the descheduler, whom the scheduler's rules would tell where pods fit
# (--node-fit), whom a budget covers, and whose certificates its secure port takes.
REFUSED = {("koord-descheduler", "get", "configmaps")} | {("koord-descheduler", "watch", kind) for kind in (
    "configmaps", "csidrivers", "csinodes", "csistoragecapacities", "deviceclasses", "elasticquotas", "persistentvolumeclaims", "persistentvolumes",
    "poddisruptionbudgets", "podgroups", "replicationcontrollers", "resourceclaims", "resourceslices", "services", "storageclasses", "volumeattachments")}


class ChartPod(PodProcess):
    """The only container of a workload's pod, in a tree of the test's own: its mounts are folders below `host`, its token its account's."""

    def __init__(self, world, path, host, pod=None, **environment):
        workload = world.request("GET", path)
        self.name, spec = workload["metadata"]["name"], workload["spec"]["template"]["spec"]
        self.container, = spec["containers"]
        self.root = tempfile.mkdtemp(prefix=f"{self.name}.", dir=world.folder)
        ports = {str(port["containerPort"]) for port in self.container.get("ports", [])} | {"9316"}
        self.ports = {port: str(free_port()) for port in sorted(ports)}
        volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
        mounts = [(self.source(world, host, volumes[one["name"]]), one["mountPath"], one.get("readOnly")) for one in self.container.get("volumeMounts", [])]
        mounts.append((self.secret(world, spec.get("serviceAccountName", "default"), pod), TOKENS, True))
        if spec.get("hostPID"):
            mounts.append((os.path.join(host, "proc"), "/proc", False))
        os.makedirs(os.path.join(self.root, "tmp"))
        shutil.copy(KOORD, os.path.join(self.root, "koord"))
        program, = self.container["command"]
        os.symlink("/koord", self.root + program)  # as the image has it
        script = "set -e\n"
        for source, at, read_only in sorted(mounts, key=lambda one: len(one[1])):
            at = self.root + at
            if os.path.isfile(source):
                fake_node.write(at, "")
            else:
                os.makedirs(at, exist_ok=True)
            script += f"mount --bind {source} {at}\n" + (f"mount -o remount,bind,ro {at}\n" if read_only else "")
        # As a runtime does: the first word is the name under which it was called.
        script += f'exec chroot {self.root} "$@"\n'
        env = {one["name"]: self.value(one, workload) for one in self.container.get("env", [])}
        env.update(KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=world.port, PATH=os.environ["PATH"], **environment)
        self.log = open(os.path.join(world.folder, f"{self.name}.log"), "w+", encoding="utf-8", errors="replace")
        words = [program, *map(self.moved, self.container["args"])]
        self.child = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *words], stdout=self.log,
                                      stderr=subprocess.STDOUT, env=env)

    def source(self, world, host, volume):
        if "hostPath" in volume:
            path = host + volume["hostPath"]["path"].strip()
            if path.endswith("/etc/localtime"):
                fake_node.write(path, "")
            else:
                os.makedirs(path, exist_ok=True)
            return path
        folder = tempfile.mkdtemp(prefix="volume.", dir=world.folder)
        if "configMap" in volume:
            data = world.request("GET", f"/api/v1/namespaces/{NS}/configmaps/{volume['configMap']['name']}")["data"]
            for item in volume["configMap"]["items"]:
                fake_node.write(os.path.join(folder, item["path"]), self.moved(data[item["key"]]))
        else:
            assert "emptyDir" in volume, volume
        return folder

    @staticmethod
    def secret(world, account, pod):
        folder = tempfile.mkdtemp(prefix="token.", dir=world.folder)
        fake_node.write(os.path.join(folder, "token"), world.token(account, pod=pod))
        fake_node.write(os.path.join(folder, "namespace"), NS)
        fake_node.write(os.path.join(folder, "ca.crt"), world.ca)
        return folder

    def answers(self, port, path):
        assert self.child.poll() is None, f"{self.name} ended: {self.output()[-3000:]}"
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", int(self.ports[str(port)]), timeout=20)
            connection.request("GET", "/" + path.lstrip("/"))
            return connection.getresponse().status == 200
        return False

    def ready(self):
        probe = self.container.get("readinessProbe", {}).get("httpGet", {"path": "/healthz", "port": 9316})
        return self.answers(probe["port"], probe["path"])

    def end(self):
        self.child.send_signal(signal.SIGTERM)
        code = self.child.wait(60)
        self.log.close()
        return code


class KoordinatorsChart(ChartWorld, unittest.TestCase):
    images = {f"{role}.image.{key}": value for role in ROLES for key, value in (("repository", "koord"), ("tag", "ours"))}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.kubeconfig, encoding="utf-8") as file:
            text = file.read()
        cls.port = re.search(r"server: https://127\.0\.0\.1:(\d+)", text).group(1)
        cls.ca = base64.b64decode(re.search(r"certificate-authority-data: (\S+)", text).group(1)).decode()

    def rendered(self, *words):
        return helm.documents(self.helm.run("template", helm.RELEASE, ORIGINAL, *words).stdout)

    def test_1_only_the_images_are_others(self):
        theirs, ours = self.rendered(), self.rendered(*self.helm.sets(self.images), "--set", "imageRepositoryHost=registry.example.com")
        changed = [(one, other) for before, after in zip(theirs, ours, strict=True) for one, other in zip(before.split("\n"), after.split("\n"), strict=True)
                   if one != other]
        self.assertEqual({other.strip() for _, other in changed}, {'image: "registry.example.com/koord:ours"'})
        self.assertEqual(len(changed), len(ROLES))

    def play(self, kind, name, host="", **more):
        pod = ChartPod(self, f"/apis/apps/v1/namespaces/{NS}/{kind}/{name}", host, **more)
        self.addCleanup(lambda: pod.child.poll() is None and pod.child.kill())
        return pod

    def play_node(self):
        """Its agent and its device daemon."""
        root = fake_node.FakeRoot(os.path.join(tempfile.mkdtemp(prefix="node.", dir=self.folder), "root"))
        self.addCleanup(root.close)
        kubelet = fake_node.Kubelet(NODE, fake_node.certificate(os.path.join(root.folder, "var/lib/kubelet/pki"), NODE))
        self.addCleanup(kubelet.close)
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        self.request("POST", "/api/v1/nodes", {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}})
        self.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
            "capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
        root.settle()
        pod = self.request("POST", f"/api/v1/namespaces/{NS}/pods", schedulers.pod("played-agent", "nobody", NS, serviceAccountName="koordlet", nodeName=NODE))
        return [self.play("daemonsets", "koordlet", root.folder, pod=pod), self.play("daemonsets", "koord-device-daemon", root.folder)]

    def test_2_with_other_images_its_pods_work(self):
        soon = json.dumps({"enable": True, "metricReportIntervalSeconds": 1})  # a user's value; the test has no minute to wait
        self.helm.run("install", helm.RELEASE, ORIGINAL, *self.helm.sets(self.images))
        self.request("PATCH", f"/api/v1/namespaces/{NS}/configmaps/slo-controller-config", {"data": {"colocation-config": soon}})
        # API servers here know no services, so that they are told an address.
        manager = self.play("deployments", "koord-manager", WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_WRITER="secret")
        agent, devices = self.play_node()
        pods = [manager, agent, devices, *(self.play("deployments", name) for name in ("koord-scheduler", "koord-descheduler"))]
        for pod in pods:
            if pod is not devices:
                with self.subTest(pod.name):
                    wait_for(f"{pod.name} is ready", pod.ready, 120)
        wait_for("the node's NodeSLO", lambda: self.refusal("GET", f"{SLO}/nodeslos/{NODE}") == 0, 60)
        wait_for("its NodeMetric", lambda: self.refusal("GET", f"{SLO}/nodemetrics/{NODE}") == 0, 60)
        wait_for("what its agent reports", lambda: self.request("GET", f"{SLO}/nodemetrics/{NODE}").get("status", {}).get("nodeMetric"), 120)
        wait_for("what it lends", lambda: "kubernetes.io/batch-cpu" in self.request("GET", f"/api/v1/nodes/{NODE}")["status"]["allocatable"], 120)
        wait_for("the chart's entries lead to the manager", lambda: all("caBundle" in entry["clientConfig"] and "url" in entry["clientConfig"] for entry in self.entries()), 60)
        self.request("POST", PROFILES, {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "users"},
                                        "spec": {"selector": {"matchLabels": {"tier": "be"}}, "qosClass": "BE", "priorityClassName": "koord-batch", "schedulerName": "koord-scheduler"}})
        placed = schedulers.pod("placed", "default-scheduler", cpu="100m")
        placed["metadata"]["labels"] = {"tier": "be"}

        def reviewed():
            pod = self.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", placed)
            return pod["metadata"]["labels"].get("koordinator.sh/qosClass") == "BE"
        wait_for("the manager's webhook changes a pod", reviewed, 60)
        self.request("POST", "/api/v1/namespaces/default/pods", placed)
        wait_for("the scheduler places it", lambda: self.request("GET", "/api/v1/namespaces/default/pods/placed")["spec"].get("nodeName") == NODE, 60)
        self.request("PATCH", "/api/v1/namespaces/default/pods/placed", {"metadata": {"annotations": {"descheduler.alpha.kubernetes.io/evict": "true"}}})
        self.request("POST", JOBS, {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "PodMigrationJob", "metadata": {"name": "moved"}, "spec": {
            "mode": "EvictDirectly", "podRef": {"namespace": "default", "name": "placed"}}})
        wait_for("the descheduler evicts it", lambda: "deletionTimestamp" in self.request("GET", "/api/v1/namespaces/default/pods/placed")["metadata"], 90)
        for pod in pods:
            with self.subTest(f"{pod.name} ends"):
                self.assertEqual(pod.child.poll(), None, pod.output()[-3000:])
                self.assertEqual(pod.end(), 0, pod.output()[-2000:])
        self.assertEqual(self.refused(), REFUSED)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    if not ORIGINAL or not os.access(helm.HELM, os.X_OK):
        print("skipped: KOORDINATOR_CHART names no folder with Koordinator's chart, or helm is missing (packaging/dev kube-assets)")
        sys.exit(77)
    if os.geteuid() != 0:
        print("skipped: mounts and chroot need root")
        sys.exit(77)
    unittest.main(verbosity=2, warnings="ignore")

"""A real node on the test host: etcd, kube-apiserver, kubelet, containerd and runc, on loopback, in a mount namespace.

with RealNode() as node: node.apply(pod); node.wait_running("name"); node.kill_kubelet(); node.start_kubelet() ...
At the end, or when the test dies, everything that it started and made is gone (janitor.py).
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import busybox  # noqa: E402
import containerd  # noqa: E402
import kube_api  # noqa: E402
from containerd import CACHE, IMAGE, PAUSE, Containerd  # noqa: E402,F401 (tests name them)
from images import Image  # noqa: E402
from janitor import Janitor, hierarchies, skip  # noqa: E402
from sandbox import wait_for  # noqa: E402
from runtime_stage import Stage  # noqa: E402

CLUSTER = os.path.join(HERE, "..", "kube", "cluster")
KUBE_VERSION = "1.35.4"
ASSETS = os.environ.get("KUBEBUILDER_ASSETS") or os.path.join(CACHE, "kube", KUBE_VERSION)
NAME = "koord-node"
PODS = "/api/v1/namespaces/default/pods"
READY_SECONDS = 120


def missing(version=None):
    """The first need of a real node with that containerd that this machine lacks, or None."""
    if os.geteuid() != 0:
        return "a real node needs root"
    for program in ("etcd", "kube-apiserver", "kubectl", "kubelet"):
        if not os.access(os.path.join(ASSETS, program), os.X_OK):
            return f"{program} is missing in {ASSETS}: run packaging/dev kube-assets"
    for program in ("unshare", "nsenter"):
        if shutil.which(program) is None:
            return f"{program} is missing: run packaging/dev deps"
    if reason := busybox.missing() or containerd.missing(version):
        return reason
    for hierarchy in hierarchies():
        if any(os.path.isdir(os.path.join(hierarchy, name)) for name in ("kubepods", "kubepods.slice")):
            return "a kubelet has its cgroups on this machine already"
    return None


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class RealNode(Stage):
    """`version`: of containerd, None for the machine's own; `config` stands above the kubelet's configuration."""
    name = NAME
    drop_in = None  # of containerd, for who wants one
    kubelet_flags = ()

    def __init__(self, version=None, **config):  # the stage itself is made on entering
        self.version, self.config = version, config

    def __enter__(self):
        reason = missing(self.version)
        if reason:
            skip(reason)
        self.janitor = Janitor().__enter__()
        try:
            super().__init__(self.janitor, "koord-node.")
            self.start()
        except BaseException:
            self.janitor.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # Orderly where it can be: the kubelet ends the pods. What is left then is the janitor's.
        try:
            if "kubelet" in self.processes:
                self.delete_all()
        except Exception as error:  # a test may have left the API server dead
            print(f"real node: pods were not deleted in order: {error}", file=sys.stderr)
        finally:
            self.janitor.__exit__()

    # -- processes

    def start(self):
        self.start_cluster()
        self.janitor.group("kubepods")
        self.open_namespace()
        self.start_containerd()
        self.write_kubelet_files()
        self.start_kubelet()
        self.wait_ready()

    # -- the cluster

    def start_cluster(self):
        self.cluster_dir = os.path.join(self.dir, "cluster")
        self.cluster("up")
        for name in ("etcd", "kube-apiserver"):
            self.watch_over(name)
        self.kubeconfig = os.path.join(self.cluster_dir, "kubeconfig")
        self.api = kube_api.Api(self.kubeconfig)

    def cluster(self, verb):
        subprocess.run([CLUSTER, verb, self.cluster_dir], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "KUBEBUILDER_ASSETS": ASSETS})

    def watch_over(self, name):
        with open(os.path.join(self.cluster_dir, name + ".pid"), encoding="utf-8") as file:
            self.janitor.process(int(file.read()))

    def stop_apiserver(self):
        self.cluster("stop-apiserver")

    def start_apiserver(self):
        self.cluster("start-apiserver")
        self.watch_over("kube-apiserver")

    # -- containerd and kubelet

    def start_containerd(self):
        self.containerd = Containerd(self, self.version, drop_in=self.drop_in)
        self.socket = self.containerd.socket
        self.containerd.start()
        self.containerd.add_pause()
        self.add_image(IMAGE, ["/bin/busybox", "sh", "-c"], {})

    def add_image(self, name, entrypoint, programs):
        self.containerd.add_image(Image(entrypoint, programs), name)

    def ctr(self, *words):
        return self.containerd.ctr(*words)

    def write_kubelet_files(self):
        self.kubelet_root = os.path.join(self.dir, "kubelet")
        self.kubelet_port, self.kubelet_read_only_port, health = free_port(), free_port(), free_port()
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "cgroupDriver": "cgroupfs", "failCgroupV1": False, "failSwapOn": False, "enforceNodeAllocatable": [],
            "makeIPTablesUtilChains": False, "address": "127.0.0.1", "port": self.kubelet_port,
            "readOnlyPort": self.kubelet_read_only_port, "healthzBindAddress": "127.0.0.1", "healthzPort": health,
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True, "cacheTTL": "10s"}},
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": "unix://" + self.socket, "resolvConf": "",
            "volumePluginDir": os.path.join(self.dir, "plugins"), "podLogsDir": os.path.join(self.dir, "pod-logs"),
            "syncFrequency": "5s", "nodeStatusUpdateFrequency": "2s", "fileCheckFrequency": "5s",
            "localStorageCapacityIsolation": False, "imageMinimumGCAge": "24h", "imageGCHighThresholdPercent": 100,
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
                             "imagefs.available": "0%"},
            **self.config,
        }
        with open(os.path.join(self.dir, "kubelet.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)

    def start_kubelet(self):
        self.spawn("kubelet", os.path.join(ASSETS, "kubelet"), "--config", os.path.join(self.dir, "kubelet.json"),
                   "--kubeconfig", self.kubeconfig, "--root-dir", self.kubelet_root,
                   "--cert-dir", os.path.join(self.kubelet_root, "pki"), "--hostname-override", NAME,
                   "--node-ip", "127.0.0.1", "--v=1", *self.kubelet_flags)

    def kill_kubelet(self):
        self.kill("kubelet")

    def wait_ready(self):
        address = {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"},
                                            {"type": "Hostname", "address": NAME}]}}

        def ready():
            assert self.processes["kubelet"].poll() is None, "the kubelet ended:\n" + self.log_tail("kubelet")
            try:
                node = self.get(f"/api/v1/nodes/{NAME}")
            except kube_api.ApiError:
                return False
            return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))

        try:
            wait_for("the node is ready", ready, READY_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log_tail('kubelet')}") from None
        # The kubelet does not report a loopback address itself, and leaves one alone.
        self.patch(f"/api/v1/nodes/{NAME}/status", address, "application/strategic-merge-patch+json")

    # -- objects

    def get(self, path):
        return self.api.connect().request("GET", path)

    def patch(self, path, body, content_type="application/merge-patch+json"):
        return self.api.connect().request("PATCH", path, body, content_type)

    def pod(self, name, command, qos="LS", milli_cpu=0, **metadata):
        """A pod of one container that runs a line of busybox's sh, of Koordinator's class `qos`."""
        amounts = {}
        if milli_cpu:
            unit = {"cpu": f"{milli_cpu}m"} if qos != "BE" else {"kubernetes.io/batch-cpu": str(milli_cpu)}
            amounts = {"requests": unit, "limits": unit} if qos == "BE" else {"requests": unit}
        labels = {"koordinator.sh/qosClass": qos, **metadata.pop("labels", {})}
        return {"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "default", "labels": labels, **metadata},
                "spec": {"nodeName": NAME, "hostNetwork": True, "automountServiceAccountToken": False,
                         "enableServiceLinks": False, "terminationGracePeriodSeconds": 0, "restartPolicy": "Always",
                         "containers": [{"name": "main", "image": IMAGE, "imagePullPolicy": "Never",
                                         "args": [command], "resources": amounts}]}}

    def apply(self, *pods):
        connection = self.api.connect()
        for pod in pods:
            connection.request("POST", PODS, pod)

    def wait_running(self, *names, seconds=90):
        def running():
            found = {pod["metadata"]["name"]: pod["status"] for pod in self.get(PODS)["items"]}
            return all(any("running" in c["state"] for c in found.get(name, {}).get("containerStatuses", []))
                       and found[name]["phase"] == "Running" for name in names)

        try:
            wait_for(f"running: {', '.join(names)}", running, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log_tail('kubelet')}") from None
        return {pod["metadata"]["name"]: pod for pod in self.get(PODS)["items"]}

    def delete(self, *names):
        """And waits until they are gone, from the API and from the node."""
        connection = self.api.connect()
        for name in names:
            connection.request("DELETE", f"{PODS}/{name}")
        wait_for(f"gone: {', '.join(names)}", lambda: not {pod["metadata"]["name"] for pod in self.get(PODS)["items"]}
                 & set(names), 60)

    def delete_all(self):
        names = [pod["metadata"]["name"] for pod in self.get(PODS)["items"]]
        if names:
            self.delete(*names)

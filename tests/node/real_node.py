"""A real node on the test host: etcd, kube-apiserver, kubelet, containerd and runc, on loopback, in a mount namespace.

with RealNode() as node: node.apply(pod); node.wait_running("name"); node.kill_kubelet(); node.start_kubelet() ...
At the end, or when the test dies, everything that it started and made is gone (janitor.py).
"""
import hashlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import busybox  # noqa: E402
import kube_api  # noqa: E402
from janitor import Janitor, hierarchies, skip  # noqa: E402
from sandbox import wait_for  # noqa: E402

CLUSTER = os.path.join(HERE, "..", "kube", "cluster")
KUBE_VERSION = "1.35.4"
CACHE = os.environ.get("KOORD_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "koord")
ASSETS = os.environ.get("KUBEBUILDER_ASSETS") or os.path.join(CACHE, "kube", KUBE_VERSION)
CNI = "/usr/lib/cni"
NAME = "koord-node"
IMAGE = "koord.test/busybox:1"
PAUSE = "koord.test/pause:1"
PODS = "/api/v1/namespaces/default/pods"
READY_SECONDS = 120


def missing():
    """The first need of a real node that this machine lacks, or None."""
    if os.geteuid() != 0:
        return "a real node needs root"
    for program in ("etcd", "kube-apiserver", "kubectl", "kubelet"):
        if not os.access(os.path.join(ASSETS, program), os.X_OK):
            return f"{program} is missing in {ASSETS}: run packaging/dev kube-assets"
    for program in ("containerd", "containerd-shim-runc-v2", "ctr", "runc", "unshare", "nsenter"):
        if shutil.which(program) is None:
            return f"{program} is missing: run packaging/dev deps"
    if busybox.missing():
        return busybox.missing()
    if not os.access(os.path.join(CNI, "loopback"), os.X_OK):
        return f"{CNI}/loopback is missing: run packaging/dev deps"
    for hierarchy in hierarchies():
        if any(os.path.isdir(os.path.join(hierarchy, name)) for name in ("kubepods", "kubepods.slice")):
            return "a kubelet has its cgroups on this machine already"
    return None


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def image_archive(path, name, entrypoint, programs):
    """An image of one layer that holds a static busybox, as `docker save` writes one, and `programs`: files by their names."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        program = tarfile.TarInfo("bin/busybox")
        program.size, program.mode = len(busybox.content()), 0o755
        tar.addfile(program, io.BytesIO(busybox.content()))
        for where, source in programs.items():
            tar.add(source, where)
        for applet in ("sh", "sleep", "cat", "yes", "dd"):
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        for folder in ("etc", "proc", "sys", "dev", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
    layer = layer.getvalue()
    config = json.dumps({"architecture": "amd64", "os": "linux",
                         "config": {"Entrypoint": entrypoint, "Env": ["PATH=/bin"]},
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as tar:
        for file, data in (("manifest.json", manifest), ("config.json", config), ("layer.tar", layer)):
            entry = tarfile.TarInfo(file)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


CONTAINERD = """version = 2
root = "{dir}/containerd"
state = "{dir}/containerd-state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{dir}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni}"
    conf_dir = "{dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


class RealNode:
    """`config` stands above the kubelet's configuration."""
    name = NAME

    def __init__(self, **config):
        self.config, self.processes = config, {}

    def __enter__(self):
        reason = missing()
        if reason:
            skip(reason)
        self.janitor = Janitor().__enter__()
        try:
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
        self.dir = tempfile.mkdtemp(prefix="koord-node.")
        self.janitor.folder(self.dir)
        self.start_cluster()
        # Its mounts are seen by nobody else and go with the last process in it.
        self.janitor.group("kubepods")
        self.janitor.group("k8s.io")
        holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/log && echo ready && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes["namespace"] = holder
        self.janitor.process(holder.pid)
        assert holder.stdout.readline() == "ready\n", "no mount namespace"
        self.janitor.namespace(holder.pid)  # containerd's shims are nobody's children
        self.start_containerd()
        self.write_kubelet_files()
        self.start_kubelet()
        self.wait_ready()

    def spawn(self, name, *command, inside=True):
        if inside:
            command = ["nsenter", "-t", str(self.processes["namespace"].pid), "-m", *command]
        with open(os.path.join(self.dir, name + ".log"), "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True)
        self.processes[name] = process
        self.janitor.process(process.pid)
        return process

    def kill(self, name, how=signal.SIGKILL):
        process = self.processes.pop(name)
        process.send_signal(how)
        process.wait()

    def log_tail(self, name, lines=15):
        with open(os.path.join(self.dir, name + ".log"), encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])

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
        self.socket = os.path.join(self.dir, "containerd.sock")
        os.mkdir(os.path.join(self.dir, "cni"))
        with open(os.path.join(self.dir, "cni", "10-loopback.conflist"), "w", encoding="utf-8") as file:
            json.dump({"cniVersion": "0.4.0", "name": "koord-loopback", "plugins": [{"type": "loopback"}]}, file)
        config = os.path.join(self.dir, "containerd.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONTAINERD.format(dir=self.dir, pause=PAUSE, cni=CNI))
        self.spawn("containerd", "containerd", "--config", config)
        wait_for("containerd answers", lambda: self.ctr("version").returncode == 0, 60)
        for name, entrypoint in ((PAUSE, ["/bin/busybox", "sleep", "2147483647"]), (IMAGE, ["/bin/busybox", "sh", "-c"])):
            self.add_image(name, entrypoint, {})

    def add_image(self, name, entrypoint, programs):
        archive = os.path.join(self.dir, "image.tar")
        image_archive(archive, name, entrypoint, programs)
        done = self.ctr("images", "import", archive)
        assert done.returncode == 0, f"import of {name}: {done.stderr}"

    def ctr(self, *words):
        return subprocess.run(["nsenter", "-t", str(self.processes["namespace"].pid), "-m", "ctr", "-a", self.socket,
                               "-n", "k8s.io", *words], capture_output=True, text=True, timeout=120)

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
                   "--node-ip", "127.0.0.1", "--v=1")

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

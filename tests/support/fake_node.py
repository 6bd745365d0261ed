"""A node that is none: a kubelet of a test's own, which can be made to lie, and a fake root whose counters run."""
import http.server
import json
import os
import shutil
import ssl
import subprocess
import threading
import time

MI = 1 << 20


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def certificate(folder, name):
    """A self-signed certificate and its key, as a kubelet makes them: for the host's name, not for its address."""
    os.makedirs(folder, exist_ok=True)
    files = os.path.join(folder, "kubelet.crt"), os.path.join(folder, "kubelet.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName=DNS:{name}", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True)
    return files


def pod(name, node, qos="Burstable", namespace="default", labels=None, annotations=None, container=None,
        resources=None, uid=None):
    """A running pod of one container, as the kubelet lists it."""
    uid = uid or f"uid-{name}"
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "labels": labels or {},
                     "annotations": annotations or {}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": resources or {}}]},
        "status": {"phase": "Running", "qosClass": qos, "containerStatuses": [
            {"name": "main", "containerID": f"containerd://{container or 'id-' + name}",
             "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]},
    }


class Kubelet:
    """GET /pods/ and /configz. `mode` is how it lies: "", empty, wrong-node, 500, 403, slow, silent, garbage, truncated,
    flood."""

    def __init__(self, node, tls=None):
        self.node, self.mode, self.pods, self.requests = node, "", [], []
        self.config = {"cpuManagerPolicy": "none", "cgroupDriver": "cgroupfs"}
        self.released = threading.Event()
        kubelet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                kubelet.requests.append((self.path, self.headers.get("Authorization")))
                status, body = kubelet.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body) + (1000 if kubelet.mode == "truncated" else 0)))
                self.end_headers()
                self.wfile.write(body)
                if kubelet.mode == "truncated":
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.port = self.server.server_address[1]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path):
        if self.mode == "403":  # to every question
            return 403, b"Forbidden"
        if self.mode == "silent":  # to every question, until it is released
            self.released.wait()
        if path == "/configz":
            return 200, json.dumps({"kubeletconfig": self.config}).encode()
        if path != "/pods/":
            return 404, b"{}"
        if self.mode == "500":
            return 500, b"internal error"
        if self.mode == "garbage":
            return 200, b'{"kind":"PodList","items":[{'
        if self.mode == "flood":
            return 200, b'{"kind":"PodList","items":[' + b'{"metadata":7},' * 1_000_000 + b"{}]}"
        if self.mode == "slow":
            self.released.wait(30)
        pods = [] if self.mode == "empty" else self.pods
        if self.mode == "wrong-node":
            pods = [{**item, "spec": {**item["spec"], "nodeName": "another"}} for item in pods]
        return 200, json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods}).encode()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


class FakeRoot:
    """cgroup v1 hierarchies, /proc and /sys below one folder. Groups use the CPUs that `cpu` says."""
    CPUS = 4

    def __init__(self, folder):
        self.folder = folder
        self.kubelet_root = ""  # its cgroupRoot, with a slash behind
        self.cpu, self.memory = {}, {}  # by group: CPUs, bytes
        self.host_cpu, self.host_memory = 1.0, 4096 * MI
        self.used, self.ticks, self.turns = {}, 0.0, 0
        self.proc, self.cgroup = os.path.join(folder, "proc"), os.path.join(folder, "sys/fs/cgroup")
        for subsystem in ("cpu", "cpuacct", "cpuset", "memory"):
            os.makedirs(os.path.join(self.cgroup, subsystem))
        write(os.path.join(self.proc, "sys/kernel/random/boot_id"), "b00t\n")
        write(os.path.join(self.proc, "cpuinfo"), "".join(
            f"processor\t: {cpu}\nvendor_id\t: GenuineTest\nmodel name\t: Test CPU\n\n" for cpu in range(self.CPUS)))
        write(os.path.join(folder, "sys/devices/system/cpu/online"), f"0-{self.CPUS - 1}\n")
        write(os.path.join(folder, "sys/devices/system/cpu/smt/active"), "0\n")
        for cpu in range(self.CPUS):
            topology = os.path.join(folder, f"sys/devices/system/cpu/cpu{cpu}/topology")
            write(os.path.join(topology, "core_id"), f"{cpu}\n")
            write(os.path.join(topology, "physical_package_id"), "0\n")
            write(os.path.join(topology, "thread_siblings_list"), f"{cpu}\n")
        os.makedirs(os.path.join(folder, "var/run"), exist_ok=True)
        self.lock = threading.RLock()  # groups come and go while the thread shows them
        for group in ("kubepods", "kubepods/burstable", "kubepods/besteffort"):
            self.add(group, 0, 0)
        self.stopping = threading.Event()
        self.last = time.monotonic()
        self.advance()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def add(self, group, cpu, memory):
        with self.lock:
            self.cpu[group], self.memory[group] = cpu, memory
            self.used.setdefault(group, 0.0)
            self.write_group(group)

    def write_group(self, group):
        for subsystem, name, text in (
                ("cpu", "cpu.cfs_quota_us", "-1\n"), ("cpu", "cpu.cfs_period_us", "100000\n"),
                ("cpu", "cpu.shares", "1024\n"),
                ("cpu", "cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
                ("cpuset", "cpuset.cpus", f"0-{self.CPUS - 1}\n"), ("cpuset", "cpuset.mems", "0\n")):
            write(os.path.join(self.cgroup, subsystem, group, name), text)
        self.show(group)

    def add_pod(self, item, cpu, memory):
        qos = {"Guaranteed": "", "Burstable": "burstable/", "BestEffort": "besteffort/"}[item["status"]["qosClass"]]
        group = f"{self.kubelet_root}kubepods/{qos}pod{item['metadata']['uid']}"
        self.add(group, cpu, memory)
        status = item["status"]["containerStatuses"][0]
        self.add(f"{group}/{status['containerID'].split('//')[1]}", cpu, memory)
        return group

    def remove(self, group):
        with self.lock:
            for name in [name for name in self.cpu if name == group or name.startswith(group + "/")]:
                del self.cpu[name], self.memory[name]
        for subsystem in ("cpu", "cpuacct", "cpuset", "memory"):
            shutil.rmtree(os.path.join(self.cgroup, subsystem, group), ignore_errors=True)

    def read(self, subsystem, group, name):
        with open(os.path.join(self.cgroup, subsystem, group, name), encoding="utf-8") as file:
            return file.read().strip()

    def replace(self, path, text):
        """Whole or not at all, in place: readers hold the file open."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(file, text.encode(), 0)
            os.ftruncate(file, len(text))
        finally:
            os.close(file)

    def show(self, group):
        self.replace(os.path.join(self.cgroup, "cpuacct", group, "cpuacct.usage"), f"{int(self.used[group] * 1e9):020}\n")
        memory = self.memory[group]
        lines = [("total_cache", 0), ("total_rss", memory), ("total_inactive_anon", 0), ("total_active_anon", memory),
                 ("total_inactive_file", 0), ("total_active_file", 0), ("total_unevictable", 0)]
        self.replace(os.path.join(self.cgroup, "memory", group, "memory.stat"),
                     "".join(f"{name} {value:020}\n" for name, value in lines))

    def advance(self):
        now = time.monotonic()
        passed, self.last = now - self.last, now
        for group, cpu in list(self.cpu.items()):
            self.used[group] = self.used.get(group, 0.0) + cpu * passed
            if os.path.isdir(os.path.join(self.cgroup, "cpu", group)):
                self.show(group)
        self.ticks += self.host_cpu * passed * 100
        each = int(self.ticks / self.CPUS)
        cpus = "".join(f"cpu{cpu} {each:012} 0 0 0 0 0 0 0 0 0\n" for cpu in range(self.CPUS))
        self.replace(os.path.join(self.proc, "stat"), f"cpu  {int(self.ticks):012} 0 0 0 0 0 0 0 0 0\n{cpus}")
        total = 16384 * MI
        available = total - self.host_memory
        self.replace(os.path.join(self.proc, "meminfo"),
                     f"MemTotal: {total // 1024:012} kB\nMemFree: {available // 1024:012} kB\n"
                     f"MemAvailable: {available // 1024:012} kB\n")

    def run(self):
        while not self.stopping.wait(0.05):
            with self.lock:
                self.advance()
            self.turns += 1

    def settle(self):
        """Returns when the files show what was set before the call."""
        turn = self.turns
        while self.turns < turn + 2:  # the turn under way may have begun before
            time.sleep(0.01)

    def close(self):
        self.stopping.set()
        self.thread.join()

    def flags(self):
        base = self.folder
        return [f"--cgroup-root-dir={self.cgroup}/", f"--sys-root-dir={base}/sys/", f"--sys-fs-root-dir={base}/sys/fs/",
                f"--proc-root-dir={base}/proc/", f"--var-run-root-dir={base}/var/run/",
                f"--run-root-dir={base}/run/", f"--var-lib-kubelet-dir={base}/var/lib/kubelet/",
                f"--tsdb-path={base}/metric-data/"]

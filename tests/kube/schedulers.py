"""What the tests of schedulers share: a scheduler as a process, objects made in a line, verdicts seen by a watch."""
import http.client
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import kube_api  # noqa: E402
import kube_version  # noqa: E402
import original_scheduler  # noqa: E402
from sandbox import KOORD, wait_for  # noqa: E402

KUBECONFIG = os.environ.get("KOORD_KUBE_KUBECONFIG")
KUBE_SCHEDULER = os.path.join(os.environ.get("KUBEBUILDER_ASSETS", ""), "kube-scheduler")
UPSTREAM, OURS = "default-scheduler", "koord-scheduler"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}"
EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"
LATE = 0.25  # seconds in which a scheduler hears of what the API server has said


def of_the_sandbox(name):
    """A test of the sandbox's as a module: what it asks is asked of a real API server, too."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, "..", "roles", "sandbox", f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def skip_without_cluster(*programs):
    """Ends the test as skipped (77) where there is no cluster or a program is missing."""
    if KUBECONFIG is None:
        print("skipped: no Kubernetes: run packaging/dev test kube, or tests/kube/with-cluster COMMAND")
        sys.exit(77)
    for program in programs:
        if not os.access(program, os.X_OK):
            print(f"skipped: {program} is missing: run packaging/dev kube-assets")
            sys.exit(77)


def node(name, cpu="4", memory="8Gi", pods=110, labels=None, more=None, **spec):
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), **(more or {})}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}, "spec": spec,
            "status": {"capacity": amounts, "allocatable": amounts,
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}


def pod(name, scheduler, namespace="default", cpu="100m", **spec):
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu} if cpu else {}}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"schedulerName": scheduler, "containers": containers, **spec}}


def only_on(name):
    """A pod's affinity for one node by its name."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def ensure_namespaces(api, *names):
    connection = api.connect()
    for name in names:
        try:
            kube_api.create(connection, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        except kube_api.ApiError as error:
            if error.status != 409:
                raise


def delete_now(connection, path):
    connection.request("DELETE", path, {"gracePeriodSeconds": 0})


def clean(api, namespaces):
    """No pods in the namespaces and no nodes at all."""
    connection = api.connect()
    for namespace in namespaces:
        delete_now(connection, f"/api/v1/namespaces/{namespace}/pods")
        connection.request("DELETE", EVENTS.format(namespace))
    connection.request("DELETE", "/api/v1/nodes")


def drop_lease(connection, name="koord-scheduler", namespace="koordinator-system"):
    """Of a process that was killed, so that the next one need not wait for its end."""
    try:
        connection.request("DELETE", LEASES.format(namespace, name))
    except kube_api.ApiError as error:
        if error.status != 404:
            raise


def condition_of(item):
    """The pod's PodScheduled condition, or {}."""
    found = [c for c in (item.get("status") or {}).get("conditions") or [] if c["type"] == "PodScheduled"]
    return found[0] if found else {}


def settled(look, quiet):
    """What look() gives when it has given the same for `quiet` seconds."""
    last, since = look(), time.monotonic()
    while time.monotonic() - since < quiet:
        time.sleep(LATE)
        now = look()
        if now != last:
            last, since = now, time.monotonic()
    return last


class Scheduler:
    """A scheduler's process: ended with the test, its output shown where it ends before."""

    def __init__(self, name, command):
        self.name = name
        self.log = tempfile.NamedTemporaryFile(prefix=f"koord-{name}.", suffix=".log")
        self.child = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def output(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def alive(self):
        assert self.child.poll() is None, f"{self.name} ended with {self.child.returncode}:\n{self.output()[-4000:]}"
        return True

    def terminate(self, seconds=20):
        """SIGTERM, and how long it took to end."""
        start = time.monotonic()
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(seconds)
        return time.monotonic() - start

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.log.close()


def koord(*flags):
    """Without ports unless the flags name some."""
    ports = [f"--{flag}=0" for flag in ("secure-port", "port") if not any(f.startswith(f"--{flag}=") for f in flags)]
    return Scheduler("koord", [KOORD, "--role=scheduler", f"--kubeconfig={KUBECONFIG}", "--v=2", *ports, *flags])


def unthrottled(name, kubeconfig=None):
    """kube-scheduler's configuration without its limit of 50 requests a second, in a file to be closed. Without a kubeconfig: what
    KUBECONFIG is by now, which tests with a cluster of their own set."""
    file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
    file.write("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
               f"leaderElection: {{leaderElect: false}}\nprofiles: [{{schedulerName: {name}}}]\n"
               f"clientConnection: {{kubeconfig: {kubeconfig or KUBECONFIG}, qps: 100000, burst: 100000}}\n")
    file.flush()
    return file


def koord_as_kube_scheduler(*flags, name=OURS):
    """koord with kube-scheduler's profile and semantics, and no limit; and the file of its configuration, to be closed."""
    file = unthrottled(name)
    return koord(f"--config={file.name}", "--koordinator-semantics=false", *flags), file


def kube_scheduler(*flags, port=0):
    """Metrics on the port need its own user's rights to review who asks."""
    reviews = [f"--{what}-kubeconfig={KUBECONFIG}" for what in ("authentication", "authorization") if port]
    return Scheduler("kube-scheduler", [KUBE_SCHEDULER, f"--kubeconfig={KUBECONFIG}", f"--secure-port={port}",
                                        "--bind-address=127.0.0.1", *reviews, *flags])


def without_batches():
    """kube-scheduler's flags, so that it places each pod alone: batching gives like pods what the first one's scores say, without a line in the
    log."""
    return ["--feature-gates=OpportunisticBatching=false"] if kube_version.minor() >= 35 else []


def unthrottled_kube_scheduler(name=UPSTREAM):
    """Without its limit of 50 requests a second; and the file of its configuration, to be closed."""
    file = unthrottled(name)
    return kube_scheduler(f"--config={file.name}"), file


class PodWatch:
    """The pods of a namespace as a watch tells them; it is opened again when it breaks, from a new list.

    Every value that a pod's nodeName ever had is kept, and what was first said of it, by its reason.
    """

    def __init__(self, api, namespace):
        self.api, self.path = api, f"/api/v1/namespaces/{namespace}/pods"
        self.pods, self.nodes_of, self.first_of = {}, {}, {}
        self.changed = threading.Condition()
        self.closed = threading.Event()
        self.http = None
        version = self.relist()
        self.thread = threading.Thread(target=self.run, args=(version,), daemon=True)
        self.thread.start()

    def take(self, item, gone=False):
        name = item["metadata"]["name"]
        if gone:
            self.pods.pop(name, None)
        else:
            self.pods[name] = item
            if item["spec"].get("nodeName"):
                self.nodes_of.setdefault(item["metadata"]["uid"], set()).add(item["spec"]["nodeName"])
            reason = "bound" if item["spec"].get("nodeName") else condition_of(item).get("reason")
            self.first_of.setdefault(item["metadata"]["uid"], {}).setdefault(reason, item)

    def relist(self):
        answer = self.api.connect().request("GET", self.path)
        with self.changed:
            self.pods = {}
            for item in answer["items"]:
                self.take(item)
            self.changed.notify_all()
        return answer["metadata"]["resourceVersion"]

    def run(self, version):
        while not self.closed.is_set():
            try:
                version = version or self.relist()
                self.follow(version)
            except (OSError, http.client.HTTPException, ValueError, AttributeError, kube_api.ApiError):
                pass  # the API server is away, or close() has been called
            version = None
            self.closed.wait(0.1)

    def follow(self, version):
        self.http = http.client.HTTPSConnection(self.api.host, self.api.port, context=self.api.context, timeout=600)
        self.http.request("GET", f"{self.path}?watch=1&resourceVersion={version}",
                          headers={"Authorization": f"Bearer {self.api.token}"})
        for line in self.http.getresponse():
            change = json.loads(line)
            if change["type"] == "ERROR":
                return
            with self.changed:
                self.take(change["object"], change["type"] == "DELETED")
                self.changed.notify_all()

    def wait(self, what, condition, seconds=60):
        """Until condition({name: pod}) is true; returns its value."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                answer = condition(self.pods)
                if answer:
                    return answer
                left = end - time.monotonic()
                assert left > 0, f"not within {seconds} s: {what}"
                self.changed.wait(left)

    def wait_gone(self, names):
        self.wait(f"the end of {names}", lambda pods: not any(name in pods for name in names))

    def first(self, name, reasons=("Unschedulable", "SchedulerError")):
        """The pod as it was when it was first bound, or refused for such a reason: the next attempt may follow at once."""
        def decided(pods):
            said = self.first_of[pods[name]["metadata"]["uid"]] if name in pods else {}
            return next((item for reason, item in said.items() if reason in ("bound", *reasons)), None)

        return self.wait(f"a verdict on {name}", decided)

    def verdict(self, name, seconds=60):
        """("scheduled", node) or ("Unschedulable", message), as soon as there is one."""
        def decided(pods):
            item = pods.get(name)
            if item is None:
                return None
            if item["spec"].get("nodeName"):
                return "scheduled", item["spec"]["nodeName"]
            condition = condition_of(item)
            return (condition["reason"], condition["message"]) if condition.get("status") == "False" else None

        return self.wait(f"a verdict on {name}", decided, seconds)

    def wait_scheduled(self, name, seconds=60):
        self.wait(f"{name} bound", lambda pods: name in pods and pods[name]["spec"].get("nodeName"), seconds)

    def bound(self):
        with self.changed:
            return sum(1 for item in self.pods.values() if item["spec"].get("nodeName"))

    def close(self):
        self.closed.set()
        kube_api.wake_reader(self.http)


class Run:
    """A scheduler with a cluster that is empty before and after, and what was seen of it, by what was done (`seen`). What is done is
    a comparison's: go(), once the scheduler has bound a pod.

    `clean(api)` deletes all that a comparison makes; `watches`: the pods of each of the namespaces.
    """

    def __init__(self, api, who, command, namespaces, clean):
        self.api, self.who, self.seen = api, who, {}
        clean(api)
        self.watches = {name: PodWatch(api, name) for name in namespaces}
        try:
            for watch in self.watches.values():
                watch.wait("an empty namespace", lambda pods: not pods)
            self.process = Scheduler("scheduler", command)
            try:
                self.start(namespaces[0])
                self.go()
                self.process.alive()
                self.output = self.process.output()
            finally:
                self.process.end()
        finally:
            for watch in self.watches.values():
                watch.close()
            clean(api)

    def nodes(self):
        """Those that are there from the start."""
        raise NotImplementedError

    def go(self):
        raise NotImplementedError

    @property
    def connection(self):
        """Anew each time: an API server closes those that were idle for long."""
        return self.api.connect()

    def start(self, namespace):
        self.api.load(self.nodes())
        item = pod("first", OURS, namespace, cpu="1m")
        item["spec"]["terminationGracePeriodSeconds"] = 0
        kube_api.create(self.connection, item)
        self.watches[namespace].wait_scheduled("first", 90)
        self.remove([("first", namespace)])

    def remove(self, pods):
        """Those of (name, namespace) that are there; and they are gone."""
        here = [(name, namespace) for name, namespace in pods if name in self.watches[namespace].pods]
        for name, namespace in here:
            delete_now(self.connection, f"/api/v1/namespaces/{namespace}/pods/{name}")
        for name, namespace in here:
            self.watches[namespace].wait_gone([name])
        time.sleep(LATE)


def beside_the_original(text, run, *flags, ours=()):
    """(run(who, command) of the original koord-scheduler, of koord), one after the other, with this configuration and these flags;
    `ours`: koord's alone."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return (run("original", original_scheduler.command(KUBECONFIG, file.name, *flags)),
                run("koord", [KOORD, "--role=scheduler", "--v=2", f"--config={file.name}", "--secure-port=0", "--port=0", *flags, *ours]))


def beside_kube_scheduler(run, *flags, kubeconfig=None):
    """(run(who, command) of kube-scheduler, of koord with its semantics), one after the other, unthrottled and with these flags."""
    with unthrottled(OURS, kubeconfig) as file:
        return (run("kube-scheduler", [KUBE_SCHEDULER, f"--config={file.name}", "--secure-port=0", *flags]),
                run("koord", [KOORD, "--role=scheduler", "--v=2", f"--config={file.name}", "--secure-port=0", "--port=0", "--koordinator-semantics=false", *flags]))


def difference(upstream, own, keys=None):
    """In what two that saw the same differ; `keys`: in which parts one looks, all without them."""
    keys = sorted({*upstream, *own}) if keys is None else keys
    return "".join(f"\n  {key}\n    {upstream.get(key)}\n    {own.get(key)}" for key in keys if upstream.get(key) != own.get(key))


def differences(theirs, ours):
    """Of what two Runs saw: each name of which they saw something else, with what was asked."""
    return [f"{name}:{difference(upstream, ours.seen[name])}\n  {upstream.get('probe', '')}"
            for name, upstream in theirs.seen.items() if upstream != ours.seen[name]]

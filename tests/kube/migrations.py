"""What the tests of the descheduler share: a cluster with the shipped rights and configuration, koord's scheduler in it, nodes
whose kubelets the test plays, and what the descheduler has asked, by the API server's audit log."""
import atexit
import json
import os
import threading
import time
import unittest

import schedulers
from own_cluster import audited, own_cluster
from schedulers import wait_for

import kube_api
from fake_kubelet import FakeKubelets
from installed import NS, PACKAGING, Installed
from sandbox import KOORD

GROUP = "/apis/scheduling.koordinator.sh/v1alpha1"
JOBS, RESERVATIONS = f"{GROUP}/podmigrationjobs", f"{GROUP}/reservations"
METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS, SETS = (f"/apis/apps/v1/namespaces/default/{kind}" for kind in ("deployments", "replicasets"))
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LEASE = schedulers.LEASES.format(NS, "koord-descheduler")
ALLOCATED = "scheduling.koordinator.sh/reservation-allocated"
ACCOUNT = "koord-descheduler"
READS = {"get", "list", "watch"}
OVER = ("Succeeded", "Failed", "Aborted")
# What is new in the shipped configuration for all tests: passes each second, no lease, and no five minutes for each two pods.
CHANGES = {"deschedulingInterval: 10s": "deschedulingInterval: 1s", "leaderElection:\n": "leaderElection:\n  leaderElect: false\n",
           "      evictBurst: 1\n": "      evictBurst: 1\n      objectLimiters: {workload: {duration: 0s}}\n"}


def changed(text, changes):
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def is_ready(pod):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))


def condition(job, kind):
    """Of a PodMigrationJob; {} where there is none."""
    return next((one for one in job.get("status", {}).get("conditions", []) if one["type"] == kind), {})


class Cluster:
    """Its programs end with the process."""

    def __init__(self, name):
        self.audit, flags = audited()
        self.folder, _, kubeconfig = own_cluster(name, flags, controllers="")
        self.installed = Installed(kubeconfig, self.folder)
        self.kubectl, self.api = self.installed.kubectl, self.installed.api
        self.kubectl.run("delete", "-f", os.path.join(PACKAGING, "manifests", "50-webhooks.yaml"))  # nobody answers them here
        wait_for("the kinds are served", lambda: all(map(self.serves, (JOBS, RESERVATIONS, METRICS, f"{GROUP}/drainnodegroups", f"{GROUP}/drainnodes"))))
        self.account = self.installed.account(ACCOUNT)
        with open(self.installed.descheduler_config(), encoding="utf-8") as file:
            self.shipped = changed(file.read(), CHANGES)
        self.scheduler = schedulers.Scheduler("koord", [
            KOORD, "--role=scheduler", f"--kubeconfig={self.installed.account('koord-scheduler')}",
            f"--config={self.installed.scheduler_config()}", "--port=0", "--secure-port=0", "--v=2"])
        atexit.register(self.scheduler.end)

    def serves(self, path):
        try:
            return self.api.list(path) == []
        except kube_api.ApiError:
            return False

    def asked(self, since=0, user=f"system:serviceaccount:{NS}:{ACCOUNT}"):
        """The user's requests in the audit log, each once, in the order in which they were answered; and how many lines there are."""
        with open(self.audit, encoding="utf-8") as file:
            lines = file.readlines()
        events = [event for event in map(json.loads, lines[since:]) if event["user"].get("username", "") == user and event.get("userAgent") != "koord-tests"]
        return [event for event in events if event["verb"] != "watch" or event["stage"] == "ResponseStarted"], len(lines)


class World(unittest.TestCase):
    """A test's nodes, Deployment and deschedulers; nothing is left of them. `cluster` is to be set before."""
    cluster = None

    def setUp(self):
        self.api, self.processes = self.cluster.api, []
        self.addCleanup(self.clean)
        self.since = self.cluster.asked()[1]
        self.kubelets = FakeKubelets(self.api, "default")
        self.addCleanup(lambda: self.kubelets.close())

    def clean(self):
        for process in self.processes:
            process.end()
        connection = self.api.connect()
        for path in (DEPLOYMENTS, BUDGETS, JOBS, f"{GROUP}/drainnodegroups", f"{GROUP}/drainnodes", RESERVATIONS, METRICS):
            schedulers.delete_now(connection, path)
        schedulers.drop_lease(connection, "koord-descheduler")

        def gone():
            # Nobody collects garbage here.
            for path in (SETS, PODS):
                schedulers.delete_now(connection, path)
            return not any(self.api.list(path) for path in (SETS, PODS, RESERVATIONS))
        wait_for("an empty cluster", gone)
        schedulers.delete_now(connection, "/api/v1/nodes")

    # -- the cluster

    def request(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.api.connect().request(method, path, body, kind)

    def status_of(self, path):
        """0: it is there."""
        try:
            self.request("GET", path)
        except kube_api.ApiError as error:
            return error.status
        return 0

    def nodes(self, *names, **more):
        self.api.load([schedulers.node(name, **more) for name in names])

    def deploy(self, replicas, name="web", **spec):
        """And its pods, once all of them are ready."""
        self.request("POST", DEPLOYMENTS, {"metadata": {"name": name}, "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, "spec": {
                "schedulerName": "koord-scheduler", "terminationGracePeriodSeconds": 0, "containers": [
                    {"name": "main", "image": "none", "resources": {"requests": {"cpu": "200m", "memory": "64Mi"}}}], **spec}}}})
        return self.all_ready(replicas, name)

    def all_ready(self, replicas, name="web"):
        def ready():
            found = [pod for pod in self.pods() if pod["metadata"]["labels"]["app"] == name]
            return found if len(found) == replicas and all(map(is_ready, found)) else None
        return wait_for(f"{replicas} pods that are ready", ready)

    def pods(self, node=None):
        return [pod for pod in self.api.list(PODS) if node is None or pod["spec"].get("nodeName") == node]

    def budget(self, least):
        """A budget that lets nobody go, or few, once it says so."""
        self.request("POST", BUDGETS, {"metadata": {"name": "most"}, "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}}})
        wait_for("the budget's status", lambda: self.request("GET", f"{BUDGETS}/most").get("status", {}).get("observedGeneration"))

    # -- jobs

    def migrate(self, name, pod, ttl="5m", **spec):
        return self.request("POST", JOBS, {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "PodMigrationJob", "metadata": {"name": name}, "spec": {
            "ttl": ttl, "podRef": {"namespace": "default", "name": pod["metadata"]["name"]}, **spec}})

    def job(self, name):
        return self.request("GET", f"{JOBS}/{name}")

    def until(self, name, what, holds, seconds=60):
        """The job, once holds(job)."""
        def there():
            now = self.job(name)
            return now if holds(now) else None
        try:
            return wait_for(f"{name}: {what}", there, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.job(name)}\n{self.processes[-1].output()[-3000:]}") from None

    def ended(self, name, seconds=60):
        return self.until(name, "ends", lambda job: job.get("status", {}).get("phase") in OVER, seconds)

    def was_moved(self, job, pod):
        """The job is Succeeded, and the pod's successor is where its reservation was made."""
        self.assertEqual((job["status"]["phase"], job["spec"]["podRef"]["uid"]), ("Succeeded", pod["metadata"]["uid"]), job)
        room = f"{RESERVATIONS}/{job['metadata']['uid']}"
        wait_for("its room is used up", lambda: self.request("GET", room)["status"]["phase"] == "Succeeded")
        reservation = self.request("GET", room)
        successor = self.request("GET", f"{PODS}/{job['status']['podRef']['name']}")
        self.assertEqual(json.loads(successor["metadata"]["annotations"][ALLOCATED])["uid"], reservation["metadata"]["uid"])
        self.assertEqual(successor["spec"]["nodeName"], reservation["status"]["nodeName"])
        self.assertNotEqual(successor["spec"]["nodeName"], pod["spec"]["nodeName"])
        self.assertNotIn(pod["metadata"]["uid"], [one["metadata"]["uid"] for one in self.pods()])

    # -- the descheduler

    def start(self, changes=None, *flags, kubeconfig=None):
        """With the shipped configuration, changed so, and no port."""
        path = self.cluster.installed.write(f"descheduler-{len(self.processes)}.config", changed(self.cluster.shipped, changes or {}))
        self.processes.append(schedulers.Scheduler("koord", [
            KOORD, "--role=descheduler", f"--kubeconfig={kubeconfig or self.cluster.account}", f"--config={path}", "--port=0",
            "--secure-port=0", "--v=4", *flags]))
        return self.processes[-1]

    def asked(self, verb, resource, subresource=None):
        """The descheduler's requests of this test."""
        return [event for event in self.cluster.asked(self.since)[0] if event["verb"] == verb and event.get("objectRef", {}).get("resource") == resource
                and event["objectRef"].get("subresource") == subresource]


class Loads:
    """Reports of what nodes use, twice a second as agents of whole nodes would: the system, and so much by each pod of the test's, in
    millicores. Ended with close()."""

    def __init__(self, world, system=300, each=700):
        self.world, self.system, self.each, self.most = world, system, each, {}
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.report()
        self.thread.start()

    def usage(self):
        """{node: millicores}"""
        return {node["metadata"]["name"]: self.system + self.each * len(self.world.pods(node["metadata"]["name"])) for node in self.world.api.list("/api/v1/nodes")}

    def report(self):
        connection = self.world.api.connect()
        metrics = {one["metadata"]["name"] for one in self.world.api.list(METRICS)}
        for node, used in self.usage().items():
            if node not in metrics:
                connection.request("POST", METRICS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": node}})
            amounts = lambda cpu: {"resources": {"cpu": f"{cpu}m", "memory": "64Mi"}}  # noqa: E731
            connection.request("PATCH", f"{METRICS}/{node}/status", {"status": {
                "updateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "nodeMetric": {"nodeUsage": amounts(used), "systemUsage": amounts(self.system)},
                "podsMetric": [{"namespace": "default", "name": pod["metadata"]["name"], "podUsage": amounts(self.each)}
                               for pod in self.world.pods(node)]}}, "application/merge-patch+json")

    def run(self):
        while not self.closed.wait(0.5):
            self.report()

    def close(self):
        self.closed.set()
        self.thread.join()

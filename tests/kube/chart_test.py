#!/usr/bin/env python3
"""packaging/chart by the real helm, on a real API server of the test's own that enforces RBAC and keeps an audit log: every value
counts, every object that comes of it is taken; the pods' command lines are run as their accounts, and are refused nothing; what is
taken away leaves what users made, and nothing else."""
import concurrent.futures
import contextlib
import glob
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import chart_values
import schedulers
import uninstall_test
from charts import NODE, NS, ORIGINAL, PROFILES, SLO, ChartWorld, PodProcess
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "support"))
import fake_node  # noqa: E402
import helm  # noqa: E402
import kube_api  # noqa: E402
from sandbox import KOORD, KUBECTL, free_port  # noqa: E402

GATES = os.path.join(helm.CHART, "files", "gates")
# Which value switches on what needs rights.
SWITCH = {"koordlet": "koordlet.features", "koord-manager": "featureGates", "koord-scheduler": "scheduler.featureGates",
          "koord-descheduler": "descheduler.featureGates"}
ON = ("Accelerators", "enable-network-topology-manager")  # by the values' defaults, which are Koordinator's
FLAGS = {"only-evict-by-api": ("koordlet.onlyEvictByApi", True), "enable-network-topology-manager": ("scheduler.networkTopology", True),
         "ui": ("manager.extraArgs", ["--ui=0.0.0.0:8089"])}


def koord_manifests(name):
    return helm.documents(subprocess.run([KOORD, "manifests", name], capture_output=True, text=True, check=True).stdout)


def rights_of(objects):
    return {text for text in objects if helm.named(text)[1] in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
            and not helm.named(text)[3].startswith("koord-cleanup")}


class PlayedPod(PodProcess):
    """The command line of a workload's pod, with the token of its account; what the pod would mount is a folder of the test's."""

    def __init__(self, cluster, path, name, *flags, kubeconfig=None, **environment):
        workload = cluster.request("GET", path)
        self.name, self.spec = name, workload["spec"]["template"]["spec"]
        self.container, = self.spec["containers"]
        assert self.container["command"] == ["/koord"], self.container["command"]
        self.folder = tempfile.mkdtemp(prefix=f"{name}.", dir=cluster.folder)
        self.ports = {str(port["containerPort"]): str(free_port()) for port in self.container.get("ports", [])}
        self.by_name = {port["name"]: self.ports[str(port["containerPort"])] for port in self.container.get("ports", [])}
        for volume in self.spec.get("volumes", []):
            if "configMap" in volume:
                data = cluster.request("GET", f"/api/v1/namespaces/{workload['metadata']['namespace']}/configmaps/{volume['configMap']['name']}")["data"]
                for item in volume["configMap"]["items"]:
                    with open(os.path.join(self.folder, item["path"]), "w", encoding="utf-8") as file:
                        file.write(self.moved(data[item["key"]]))
        env = {one["name"]: self.value(one, workload) for one in self.container.get("env", [])}
        words = [self.moved(word).replace("=/config/", f"={self.folder}/") for word in self.container["args"]]
        if "secure" in self.by_name:
            words += [f"--secure-port={self.by_name['secure']}", "--bind-address=127.0.0.1"]
        if kubeconfig:
            words.append(f"--kubeconfig={kubeconfig}")
        self.log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8", errors="replace")
        self.child = subprocess.Popen([KOORD, *words, *flags], stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **env, **environment})

    def probe(self, kind):
        """Whether that probe of the pod's succeeds."""
        assert self.child.poll() is None, f"{self.name} ended: {self.output()[-3000:]}"
        ask = self.container[kind]["httpGet"]
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", int(self.by_name[ask["port"]]), timeout=20)
            connection.request("GET", ask["path"])
            return connection.getresponse().status == 200
        return False

    def end(self, how=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(how)
        code = self.child.wait(60)
        self.log.close()
        return code


class Chart(ChartWorld, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for kind in ("PodMonitor", "ServiceMonitor"):
            cls.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", cls.monitors(kind))
        for name in ("values", "elsewhere", "theirs"):
            cls.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        wait_for("the monitors' kinds", lambda: cls.refusal("GET", "/apis/monitoring.coreos.com/v1/namespaces/values/podmonitors") == 0)

    @staticmethod
    def monitors(kind):
        """A stand-in for the definition of Prometheus' operator."""
        return {"metadata": {"name": f"{kind.lower()}s.monitoring.coreos.com"}, "spec": {
            "group": "monitoring.coreos.com", "scope": "Namespaced", "names": {"kind": kind, "plural": f"{kind.lower()}s"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}

    def objects(self):
        return uninstall_test.Uninstall.objects(self)

    # -- what is rendered

    def resources(self):
        """{(apiVersion, kind): path of its collection, with %s where the namespace is}."""
        found = {}
        groups = [version["groupVersion"] for group in self.request("GET", "/apis")["groups"] for version in group["versions"]]
        for version, at in [("v1", "/api/v1"), *((name, f"/apis/{name}") for name in groups)]:
            for kind in self.request("GET", at)["resources"]:
                if "/" not in kind["name"]:
                    found[(version, kind["kind"])] = f"{at}/{'namespaces/%s/' if kind['namespaced'] else ''}{kind['name']}"
        return found

    def create(self, resources, text):
        """As `kubectl create --dry-run=server --validate=strict` does."""
        version, kind, ns, name = helm.named(text)
        path = resources[(version, kind)]
        path = path % ns if "%s" in path else path
        try:
            self.api.connect().request("POST", f"{path}?dryRun=All&fieldValidation=Strict", text.encode(), "application/yaml")
        except kube_api.ApiError as error:
            raise AssertionError(f"{kind} {ns}/{name}: {error.body}\n{text}") from error

    def test_1_every_value_counts_and_gives_objects_that_the_server_takes(self):
        own = {"installation.namespace": "values", "installation.createNamespace": False}
        defaults = helm.leaves(self.helm.release({})["chart"]["values"])
        self.assertEqual(set(chart_values.original()) - set(defaults), set(), "values of Koordinator's chart that this one does not know")
        self.assertEqual(chart_values.WITHOUT_EFFECT - set(defaults), set())
        resources = self.resources()
        base = set(self.helm.objects(own))
        for text in base:
            self.create(resources, text)

        def flip(path):
            beside = {**own, **chart_values.BESIDE.get(path, {})}
            other = {**beside, path: chart_values.other(path, defaults[path])}
            before = set(self.helm.objects(beside)) if beside != own else base
            texts = set(self.helm.objects(other))
            if path in chart_values.WITHOUT_EFFECT:
                assert texts == before, f"{path} has an effect"
            else:
                assert texts != before, f"{path} has no effect, and no note says so"
            for text in texts - before:
                self.create(resources, text)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, done in [(path, pool.submit(flip, path)) for path in defaults]:
                with self.subTest(path):
                    done.result()
        notes = self.helm.release({**own, **{path: chart_values.other(path, defaults[path]) for path in chart_values.WITHOUT_EFFECT}})["info"]["notes"]
        self.assertEqual({path for path in chart_values.WITHOUT_EFFECT if f"{path} has no effect" not in notes}, set())

    @unittest.skipUnless(ORIGINAL, "KOORDINATOR_CHART names no folder with Koordinator's chart")
    def test_1_the_list_of_koordinators_values_is_its_charts(self):
        theirs = set(helm.leaves(self.helm.release({}, ORIGINAL)["chart"]["values"]))
        self.assertGreater(len(theirs), 80)
        self.assertEqual(set(chart_values.original()) ^ theirs, chart_values.DOCUMENTED_ALONE)

    def test_2_a_mistyped_value_is_refused(self):
        for values, said in (({"manger.replicas": 3}, "'manger' not allowed"), ({"manager.replicas": "three"}, "replicas"),
                             ({"webhookConfiguration.failurePolicy.pods": "fail"}, "pods"), ({"webhookConfiguration.timeoutSeconds": 31}, "timeoutSeconds"),
                             ({"featureGates": "PodMutatingWebhook"}, "featureGates"), ({"installation.namespace": "kube-system"}, "namespace")):
            with self.subTest(values):
                done = self.helm.run("template", helm.RELEASE, helm.CHART, *self.helm.sets(values), check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(said, done.stderr)

    def test_2_an_archive_holds_what_the_links_lead_to(self):
        self.helm.run("lint", "--strict", helm.CHART)
        self.helm.run("package", helm.CHART, "--destination", self.folder)
        archive, = glob.glob(os.path.join(self.folder, "koordinator-*.tgz"))
        done = self.helm.run("template", helm.RELEASE, archive)
        self.assertEqual(helm.documents(done.stdout), self.helm.objects({}))
        self.assertEqual(done.stderr, "")

    def test_3_rights_are_those_of_the_roles_tables(self):
        """By default those of `koord manifests roles`; of a gate, when it is on, those of `koord manifests GATE`."""
        plain = {"scheduler.networkTopology": False, "koordlet.features": "BECPUEvict=true"}
        roles = set(koord_manifests("roles"))
        self.assertEqual(rights_of(self.helm.objects(plain)), roles)
        self.assertEqual(rights_of(self.helm.objects({})), roles.union(*map(koord_manifests, ON)))
        self.assertLessEqual(set(koord_manifests("webhooks")), set(self.helm.objects({})))
        mine = {}  # by account, of its gates
        for file in sorted(os.listdir(GATES)):
            gate = file.removesuffix(".yaml")
            rights = set(koord_manifests(gate))
            account = re.search(r"kind: ServiceAccount\n  name: (\S+)", "\n".join(rights)).group(1)
            if gate[0].isupper():  # else it is a flag, which no AllAlpha switches on
                mine.setdefault(account, set()).update(rights)
            path, value = FLAGS.get(gate) or (SWITCH[account], f"Other=true, {gate}=true")
            with self.subTest(gate):
                self.assertEqual(rights_of(self.helm.objects({**plain, path: value})), roles | rights)
        manager = {**plain, "featureGates": "AllAlpha=true"}
        self.assertEqual(rights_of(self.helm.objects(manager)), roles | mine["koord-manager"])
        manager["featureGates"] += ",EnableQuotaAdmission=false"
        self.assertEqual(rights_of(self.helm.objects(manager)), roles | mine["koord-manager"] - set(koord_manifests("EnableQuotaAdmission")))
        self.assertEqual(rights_of(self.helm.objects({**plain, "koordlet.extraArgs": ["--only-evict-by-api"]})),
                         roles | set(koord_manifests("only-evict-by-api")))
        with open(os.path.join(helm.CHART, "Chart.yaml"), encoding="utf-8") as file:
            version = subprocess.run([KOORD, "version"], capture_output=True, text=True, check=True).stdout
            self.assertIn(re.search(r'appVersion: "(.*)"', file.read()).group(1), version)

    # -- what runs

    def play(self, kind, name, *flags, **more):
        pod = PlayedPod(self, f"/apis/apps/v1/namespaces/{NS}/{kind}/{name}", name, *flags, **more)
        self.addCleanup(lambda: pod.child.poll() is None and pod.child.kill())
        return pod

    def play_manager(self):
        # API servers here know no services, so that they are told an address.
        return self.play("deployments", "koord-manager", kubeconfig=self.account("koord-manager"), WEBHOOK_HOST="127.0.0.1",
                         WEBHOOK_CERT_WRITER="secret", WEBHOOK_CERT_DIR=os.path.join(self.folder, "certificates"))

    def play_agent(self):
        root = fake_node.FakeRoot(os.path.join(tempfile.mkdtemp(prefix="node.", dir=self.folder), "root"))
        self.addCleanup(root.close)
        kubelet = fake_node.Kubelet(NODE, fake_node.certificate(os.path.join(root.folder, "var/lib/kubelet/pki"), NODE))
        self.addCleanup(kubelet.close)
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        self.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
            "capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
        root.settle()
        # Its token names its node (ValidatingAdmissionPolicies).
        pod = self.request("POST", f"/api/v1/namespaces/{NS}/pods", schedulers.pod("played-agent", "nobody", NS, serviceAccountName="koordlet", nodeName=NODE))
        return self.play("daemonsets", "koordlet", "--run-queue-latency=false", *root.flags(), kubeconfig=self.account("koordlet", pod=pod), agent_mode="hostMode")

    def play_device_daemon(self):
        empty = os.path.join(self.folder, "host")
        os.makedirs(os.path.join(empty, "sys"))
        return self.play("daemonsets", "koord-device-daemon", f"--host-root={empty}", f"--sys-root-dir={empty}/sys/", f"--prints-output-file={empty}/ic-device")

    def upgrade(self, **values):
        self.helm.run("upgrade", helm.RELEASE, helm.CHART, "--reuse-values", *self.helm.sets({path.replace("__", "."): value for path, value in values.items()}))

    def run_roles(self):
        manager = self.play_manager()
        pods = [manager, self.play_agent(), self.play_device_daemon()] + [
            self.play("deployments", name, kubeconfig=self.account(name)) for name in ("koord-scheduler", "koord-descheduler")]
        for pod in pods:
            for kind in ("livenessProbe", "readinessProbe"):
                with self.subTest(f"{pod.name}: {kind}"):
                    wait_for(f"{pod.name}: {kind}", lambda pod=pod, kind=kind: pod.probe(kind), 120)
        # They work: the node is told its strategies and reports, pods are placed and reviewed.
        wait_for("the node's NodeSLO", lambda: self.refusal("GET", f"{SLO}/nodeslos/{NODE}") == 0, 60)
        wait_for("what its agent reports", lambda: self.request("GET", f"{SLO}/nodemetrics/{NODE}").get("status", {}).get("nodeMetric"), 120)
        wait_for("what it lends", lambda: "kubernetes.io/batch-cpu" in self.request("GET", f"/api/v1/nodes/{NODE}")["status"]["allocatable"], 120)
        placed = schedulers.pod("placed", "koord-scheduler", cpu="100m")
        wait_for("the manager answers", lambda: self.refusal("POST", "/api/v1/namespaces/default/pods?dryRun=All", placed) == 0 and self.entries(), 60)
        self.request("POST", "/api/v1/namespaces/default/pods", placed)
        wait_for("the scheduler places", lambda: self.request("GET", "/api/v1/namespaces/default/pods/placed")["spec"].get("nodeName") == NODE, 60)
        self.assertEqual({(entry["failurePolicy"], entry["timeoutSeconds"]) for entry in self.entries()}, {("Ignore", 3)})
        # An upgrade takes none of the manager's entries.
        count = len(self.entries())
        self.upgrade(descheduler__replicas=1)
        self.assertEqual(len(self.entries()), count)
        for pod in pods:
            with self.subTest(f"{pod.name} ends"):
                self.assertEqual(pod.end(), 0, pod.output()[-2000:])
        self.assertEqual(self.refused(), set())

    def refuse_without_manager(self):
        """What an upgrade to Fail makes: without a manager kube-system and koord's own namespace go on (complaint 1844)."""
        self.upgrade(webhookConfiguration__failurePolicy__pods="Fail", webhookConfiguration__failurePolicy__elasticquotas="Fail",
                     webhookConfiguration__failurePolicy__nodes="Fail", webhookConfiguration__timeoutSeconds=2)
        manager = self.play_manager()
        wait_for("entries that say Fail", lambda: {entry["name"].split(".")[0] for entry in self.entries() if entry["failurePolicy"] == "Fail"} >= {
            "mpod-create", "vpod", "melasticquota", "velasticquota"}, 120)
        self.assertEqual({entry["timeoutSeconds"] for entry in self.entries()}, {2})
        manager.end(signal.SIGKILL)
        pod = schedulers.pod("late", "default-scheduler")
        pod["metadata"].pop("namespace", None)
        wait_for("pods of users' are refused", lambda: self.refusal("POST", "/api/v1/namespaces/theirs/pods?dryRun=All", pod) == 500, 60)
        for ns in ("kube-system", NS):
            self.assertEqual(self.refusal("POST", f"/api/v1/namespaces/{ns}/pods?dryRun=All", pod), 0)
        node = {"metadata": {"name": "comes-late"}}
        self.assertEqual(self.refusal("POST", "/api/v1/nodes?dryRun=All", node), 0)

    def play_cleanup(self, stop, done):
        """The kubelet of the Job that runs once the rest has gone."""
        jobs = "/apis/batch/v1/namespaces/default/jobs/koord-manager-cleanup"
        while not stop.wait(0.3):
            try:
                container, = self.request("GET", jobs)["spec"]["template"]["spec"]["containers"]
                pods = self.request("GET", "/api/v1/namespaces/default/pods?labelSelector=koord-app%3Dkoord-manager-cleanup")["items"]
                if not pods or done:
                    continue
                ran = subprocess.run([KOORD, *container["args"], f"--kubeconfig={self.account('koord-cleanup', 'default')}"], capture_output=True, text=True,
                                     env={**os.environ, **{one["name"]: one["value"] for one in container["env"]}}, timeout=120, check=False)
                if ran.returncode:
                    time.sleep(1)  # a manager's lease has to run out first; the Job tries again
                    continue
                done.append(ran)
                for pod in pods:
                    self.request("PATCH", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status", {"status": {"phase": "Succeeded"}})
            except kube_api.ApiError:
                continue

    def test_4_installed_it_works_and_taken_away_it_leaves_what_users_made(self):
        self.request("POST", "/api/v1/nodes", {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}})
        self.request("POST", "/api/v1/namespaces/theirs/configmaps", {"metadata": {"name": "own"}, "data": {"a": "b"}})
        wait_for("what each namespace has", lambda: {("/api/v1", "serviceaccounts", ns, "default") for ns in ("theirs", "default", "values", "elsewhere")} <= self.objects())
        before = self.objects()
        soon = {"sloControllerConfig": {"colocation-config": json.dumps({"enable": True, "metricReportIntervalSeconds": 1})}}
        said = self.helm.run("install", helm.RELEASE, helm.CHART, *self.helm.sets(soon)).stdout
        self.assertIn(f"koord is installed in {NS}.", said)
        self.assertNotIn("no effect", said)
        wait_for("the kind is served", lambda: self.refusal("GET", PROFILES) == 0)
        self.request("POST", PROFILES, {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "users"},
                                        "spec": {"selector": {"matchLabels": {"tier": "be"}}, "qosClass": "BE"}})
        self.run_roles()
        self.refuse_without_manager()
        stop, done = threading.Event(), []
        kubelet = threading.Thread(target=self.play_cleanup, args=(stop, done))
        kubelet.start()
        try:
            schedulers.delete_now(self.api.connect(), f"/api/v1/namespaces/{NS}/pods/played-agent")
            self.helm.run("uninstall", helm.RELEASE)
        finally:
            stop.set()
            kubelet.join()
        self.assertTrue(done, "no Job cleaned up")
        self.request("DELETE", "/api/v1/namespaces/default/pods/placed?gracePeriodSeconds=0")
        wait_for("the namespace that goes", lambda: ("/api/v1", "namespaces", "", NS) not in self.objects(), 120)
        left = {row for row in self.objects() - before if row[1] != "apiservices"}  # those of definitions
        kept = {row for row in left if row[1] == "customresourcedefinitions"}
        self.assertEqual(len(kept), len([name for name in os.listdir(os.path.join(helm.CHART, "files", "crds")) if name.endswith(".yaml")]))
        self.assertEqual({row[1:] for row in left - kept}, {("clustercolocationprofiles", "", "users")})
        self.assertEqual(before - self.objects(), set())
        self.assertNotIn("kubernetes.io/batch-cpu", self.request("GET", f"/api/v1/nodes/{NODE}")["status"]["allocatable"])

    def test_5_the_agents_cleanup_takes_their_place(self):
        names = {helm.named(text)[1:] for text in self.helm.objects({"koordlet.cleanUp": True})}
        self.assertIn(("DaemonSet", NS, "koordlet-cleanup"), names)
        self.assertNotIn(("DaemonSet", NS, "koordlet"), names)

    @unittest.skipUnless(ORIGINAL, "KOORDINATOR_CHART names no folder with Koordinator's chart")
    def test_5_koordinators_release_becomes_this_one(self):
        """With what users made; what this chart does not have stays where it was said to."""
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        theirs = ("recommendations.analysis.koordinator.sh", "scheduleexplanations.scheduling.koordinator.sh")
        self.helm.run("install", helm.RELEASE, ORIGINAL)
        self.addCleanup(self.helm.run, "uninstall", "--no-hooks", helm.RELEASE)
        uid = self.request("GET", f"/apis/apps/v1/namespaces/{NS}/deployments/koord-manager")["metadata"]["uid"]
        self.assertEqual({entry["timeoutSeconds"] for entry in self.entries()}, {30})
        for name in theirs:
            self.request("PATCH", f"{crds}/{name}", {"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}})
            self.addCleanup(self.request, "DELETE", f"{crds}/{name}")
        with open(os.path.join(ORIGINAL, "values.yaml"), encoding="utf-8") as file:
            self.assertIn("imageRepositoryHost:", file.read())
        self.helm.run("upgrade", helm.RELEASE, helm.CHART, "-f", os.path.join(ORIGINAL, "values.yaml"))
        manager = self.request("GET", f"/apis/apps/v1/namespaces/{NS}/deployments/koord-manager")
        self.assertEqual(manager["metadata"]["uid"], uid)
        container, = manager["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["command"], ["/koord"])
        self.assertEqual(self.entries(), [])
        for name in theirs:
            self.assertEqual(self.refusal("GET", f"{crds}/{name}"), 0)
        self.assertEqual(self.refusal("GET", f"{PROFILES}/users"), 0)

    def test_6_the_agents_pod_sees_of_its_host_what_that_of_the_manifests_does(self):
        agent, = [text for text in self.helm.objects({}) if helm.named(text)[1:] == ("DaemonSet", NS, "koordlet")]
        with open(os.path.join(helm.CHART, "files", "manifests", "42-koordlet.yaml"), encoding="utf-8") as file:
            mounts = [line.strip() for line in file if "mountPath:" in line]
        self.assertGreater(len(mounts), 5)
        self.assertEqual([line for line in mounts if line not in agent], [])

    def test_6_the_kustomize_base_is_all_of_the_files(self):
        packaging = os.path.join(helm.CHART, "..")
        built = subprocess.run([KUBECTL, "kustomize", os.path.join(packaging, "manifests")], capture_output=True, text=True, check=True).stdout
        files = []
        for folder in ("crds", "manifests"):
            for name in sorted(os.listdir(os.path.join(packaging, folder))):
                if name.endswith(".yaml"):
                    with open(os.path.join(packaging, folder, name), encoding="utf-8") as file:
                        files += helm.documents(file.read())
        self.assertEqual(sorted(map(helm.named, helm.documents(built))), sorted(map(helm.named, files)))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster(helm.HELM)
    unittest.main(verbosity=2, warnings="ignore")

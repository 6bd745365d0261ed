#!/usr/bin/env python3
"""packaging/crds and packaging/manifests on a real API server of the test's own that enforces RBAC and keeps an audit log:
every role runs as its own service account, does its work, is refused nothing and has no right that it does not use."""
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest

import claims
import reservations
import schedulers
from own_cluster import audited, own_cluster
from rights import MORE, ORIGINALS, RARE
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "koordlet"))
sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "manager"))
import agents  # noqa: E402
import fake_node  # noqa: E402
import kube_api  # noqa: E402
import kube_version  # noqa: E402
import manager_test  # noqa: E402
from installed import NS, PACKAGING, Installed  # noqa: E402
from sandbox import free_port  # noqa: E402

ACCOUNTS = ("koord-descheduler", "koord-manager", "koord-scheduler", "koordlet")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SLO = manager_test.SLO
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
NUMA_RESERVATION = "node.koordinator.sh/enable-numa-reservation"
NODE, HOST = "real-enough", "kubernetes.io/hostname"
GATES = os.path.join(PACKAGING, "manifests-gates")
# What none of them may do: (account, method, path).
FORBIDDEN = [
    ("koord-manager", "GET", "/api/v1/secrets"),
    ("koord-manager", "GET", "/api/v1/namespaces/kube-system/configmaps"),
    ("koord-manager", "DELETE", f"/api/v1/nodes/{NODE}"),
    ("koord-manager", "DELETE", "/api/v1/namespaces/default/pods/be"),
    ("koord-manager", "POST", "/api/v1/namespaces/default/pods/be/eviction"),
    ("koord-manager", "GET", "/api/v1/namespaces/default/pods/be"),
    ("koord-manager", "PATCH", "/api/v1/namespaces/default/pods/be"),
    ("koord-manager", "GET", f"/api/v1/namespaces/{NS}/configmaps?fieldSelector=metadata.name%3Dpod-enhanced-validator-config"),
    ("koord-manager", "PATCH", f"{SLO}/nodemetrics/{NODE}/status"),
    ("koord-manager", "PUT", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koord-scheduler"),
    ("koord-scheduler", "PUT", "/api/v1/namespaces/default/pods/be"),
    ("koord-scheduler", "PATCH", f"/api/v1/nodes/{NODE}"),
    ("koord-scheduler", "GET", "/api/v1/secrets"),
    ("koord-scheduler", "POST", reservations.RESERVATIONS),
    ("koord-scheduler", "PUT", f"{reservations.RESERVATIONS}/kept/status"),
    ("koord-scheduler", "GET", f"{SLO}/nodeslos"),
    ("koord-descheduler", "POST", "/api/v1/namespaces/default/pods"),
    ("koord-descheduler", "PUT", "/api/v1/namespaces/default/pods/be"),
    ("koord-descheduler", "POST", "/api/v1/namespaces/default/pods/be/binding"),
    ("koord-descheduler", "DELETE", f"/api/v1/nodes/{NODE}"),
    ("koord-descheduler", "PATCH", f"/api/v1/nodes/{NODE}/status"),
    ("koord-descheduler", "GET", "/api/v1/secrets"),
    ("koord-descheduler", "GET", "/api/v1/configmaps"),
    ("koord-descheduler", "PATCH", f"{SLO}/nodemetrics/{NODE}"),
    ("koord-descheduler", "PUT", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koord-scheduler"),
    ("koordlet", "POST", "/api/v1/namespaces/default/pods/be/eviction"),
    ("koordlet", "PATCH", f"/api/v1/nodes/{NODE}"),
    ("koordlet", "PATCH", f"/api/v1/nodes/{NODE}/status"),
    ("koordlet", "GET", f"/api/v1/nodes/{NODE}/proxy/pods"),
    ("koordlet", "GET", "/api/v1/pods"),
    ("koordlet", "PATCH", f"{SLO}/nodeslos/{NODE}"),
    ("koordlet", "DELETE", f"{SLO}/nodemetrics/{NODE}"),
    ("koordlet", "DELETE", f"{TOPOLOGIES}/{NODE}"),
    ("koordlet", "GET", "/api/v1/namespaces/koordinator-system/configmaps/slo-controller-config"),
]
FORBIDDEN += [(account, "POST", f"{RBAC}/clusterrolebindings") for account in ACCOUNTS]


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.audit, flags = audited()
        cls.folder, _, kubeconfig = own_cluster("manifests", flags)
        cls.installed = Installed(kubeconfig, cls.folder)
        cls.api, cls.account = cls.installed.api, cls.installed.account

    def request(self, method, path, body=None, api=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return (api or self.api).connect().request(method, path, body, kind)

    def refused(self, method, path, body=None, api=None):
        """The status of the refusal; 0 where there is none."""
        try:
            self.request(method, path, body, api)
        except kube_api.ApiError as error:
            return error.status
        return 0

    # -- the roles

    def start_manager(self, *flags):
        # API servers here know no services, so that they are told an address.
        manager = manager_test.Manager(self.account("koord-manager"), self.folder, f"--webhook-port={free_port()}", *flags,
                                       WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_WRITER="secret",
                                       WEBHOOK_CERT_DIR=os.path.join(self.folder, "certificates"))
        self.addCleanup(lambda: manager.child.poll() is None and manager.kill())
        return manager

    def start_scheduler(self):
        self.secure_port, config = free_port(), self.installed.scheduler_config()
        with open(config, encoding="utf-8") as file:
            text = file.read()
        # What is over is collected at once, not after a day.
        text = text.replace("pluginConfig:\n", "pluginConfig:\n      - {name: Reservation, args: {gcIntervalSeconds: 1, gcDurationSeconds: 1}}\n", 1)
        self.installed.write(os.path.basename(config), text)
        scheduler = schedulers.Scheduler("koord", [
            agents.KOORD, "--role=scheduler", f"--kubeconfig={self.account('koord-scheduler')}", f"--config={config}", "--port=0",
            f"--secure-port={self.secure_port}", "--bind-address=127.0.0.1", "--v=2"])
        self.addCleanup(scheduler.end)
        return scheduler

    def start_descheduler(self):
        self.descheduler_port = free_port()
        descheduler = schedulers.Scheduler("koord", [
            agents.KOORD, "--role=descheduler", f"--kubeconfig={self.account('koord-descheduler')}", f"--config={self.installed.descheduler_config()}",
            "--port=0", f"--secure-port={self.descheduler_port}", "--bind-address=127.0.0.1", "--v=2"])
        self.addCleanup(descheduler.end)
        return descheduler

    def start_agent(self, *flags):
        root = fake_node.FakeRoot(os.path.join(tempfile.mkdtemp(prefix="node.", dir=self.folder), "root"))
        self.addCleanup(root.close)
        kubelet = fake_node.Kubelet(NODE, fake_node.certificate(os.path.join(root.folder, "var/lib/kubelet/pki"), NODE))
        self.addCleanup(kubelet.close)
        item = fake_node.pod("web", NODE, annotations={"scheduling.koordinator.sh/resource-status": "no JSON"})
        root.add_pod(item, 0.5, 256 << 20)
        kubelet.pods = [item]
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        self.request("POST", "/api/v1/nodes", {"metadata": {"name": NODE, "labels": {HOST: NODE}}})
        self.addCleanup(self.request, "DELETE", f"/api/v1/nodes/{NODE}")
        self.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}}, "capacity": amounts, "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
        root.settle()
        agent = agents.Agent(root, f"--kubeconfig={self.account('koordlet')}", *flags, node=NODE)
        self.addCleanup(agent.close)
        return agent

    def asked(self):
        """{(account, group, resource, verb, name): the status codes that it got}, from the audit log."""
        seen = {}
        with open(self.audit, encoding="utf-8") as file:
            for line in file:
                event = json.loads(line)
                user = event["user"].get("username", "").removeprefix(f"system:serviceaccount:{NS}:")
                if user not in ACCOUNTS or "objectRef" not in event or event.get("userAgent") == "koord-tests":
                    continue
                at = event["objectRef"]
                resource = "/".join(filter(None, (at["resource"], at.get("subresource"))))
                key = user, at.get("apiGroup", ""), resource, event["verb"], at.get("name", "")
                seen.setdefault(key, set()).add(event.get("responseStatus", {}).get("code", 0))
        return seen

    def rights(self):
        """Every (account, group, resource, verb, name or "" for any) of the roles in the cluster."""
        found = set()
        for kind in ("clusterroles", "roles"):
            for role in self.api.list(f"{RBAC}/{kind}"):
                account = role["metadata"]["name"].removesuffix("-role")
                if account in ACCOUNTS:
                    found |= {(account, group, resource, verb, name) for rule in role["rules"] for group in rule["apiGroups"]
                              for resource in rule["resources"] for verb in rule["verbs"] for name in rule.get("resourceNames", [""])}
        return found

    def allowed(self, account, verb, resource, subresource):
        """What a kubelet asks before it answers."""
        review = self.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
                "user": f"system:serviceaccount:{NS}:{account}", "groups": ["system:serviceaccounts", "system:authenticated"],
                "resourceAttributes": {"verb": verb, "resource": resource, "subresource": subresource, "name": NODE}}})
        return review["status"]["allowed"]

    # -- the tests

    @kube_version.unless_before(34, "resource.k8s.io/v1, of which the scheduler has rights,")
    def test_each_role_works_with_its_rights_and_needs_all_of_them(self):
        roles = [self.start_agent(), self.start_manager(), self.start_scheduler(), self.start_descheduler()]
        _, manager, scheduler, _ = roles
        node = f"/api/v1/nodes/{NODE}"
        # The agent makes its topology, and writes what changes of it.
        wait_for("the node's topology", lambda: self.refused("GET", f"{TOPOLOGIES}/{NODE}") == 0)
        self.request("PATCH", node, {"metadata": {"labels": {NUMA_RESERVATION: "false"}}})
        wait_for("a change of it", lambda: NUMA_RESERVATION in self.request("GET", f"{TOPOLOGIES}/{NODE}")["metadata"]["labels"])
        # A pod that knows nothing of Koordinator becomes a best-effort one by a profile.
        self.request("POST", PROFILES, {
            "apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "be"},
            "spec": {"selector": {"matchLabels": {"tier": "be"}}, "qosClass": "BE", "priorityClassName": "koord-batch",
                     "schedulerName": "koord-scheduler"}})
        plain = schedulers.pod("be", "default-scheduler", cpu=None, containers=[
            {"name": "main", "image": "none", "resources": {kind: {"cpu": "100m", "memory": "1Mi"} for kind in ("requests", "limits")}}])
        plain["metadata"]["labels"] = {"tier": "be"}
        wait_for("the manager answers", lambda: "qosClass" in json.dumps(self.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", plain)))
        # The manager makes a NodeMetric, the agent reports into it, the manager lends, the scheduler places.
        self.configure({"enable": True, "metricReportIntervalSeconds": 1, "cpuReclaimThresholdPercent": 100})
        wait_for("the node lends CPUs", lambda: self.request("GET", node)["status"]["allocatable"].get(manager_test.BATCH_CPU), 90)
        made = self.request("POST", "/api/v1/namespaces/default/pods", plain)
        self.assertEqual(made["spec"]["containers"][0]["resources"]["requests"],
                         {"kubernetes.io/batch-cpu": "100", "kubernetes.io/batch-memory": "1Mi"})
        self.request("POST", "/api/v1/namespaces/default/pods", schedulers.pod("huge", "koord-scheduler", cpu="1000"))
        pods = schedulers.PodWatch(self.api, "default")
        self.addCleanup(pods.close)
        self.assertEqual(pods.verdict("be"), ("scheduled", NODE), scheduler.output()[-2000:])
        self.assertEqual(pods.verdict("huge")[0], "Unschedulable")
        self.whole_cpus(pods)
        self.kept_room(pods)
        self.migrations(pods)
        self.device(pods)
        self.claims_and_victims(pods)  # who makes room stays there, as there is no kubelet
        self.quotas()
        wait_for("an event of each", lambda: {"Scheduled", "FailedScheduling", "MalformedPodMetadata"} <= {
            event["reason"] for event in self.api.list("/apis/events.k8s.io/v1/events")})
        for port in (self.secure_port, self.descheduler_port):
            self.ask_secure_port(port)

        # What only happens now and then.
        self.request("POST", "/api/v1/nodes", {"metadata": {"name": "brief"}})
        wait_for("the objects of another node", lambda: self.refused("GET", f"{SLO}/nodeslos/brief") == 0
                 and self.refused("GET", f"{SLO}/nodemetrics/brief") == 0)
        self.request("DELETE", "/api/v1/nodes/brief")
        wait_for("they go with it", lambda: self.refused("GET", f"{SLO}/nodeslos/brief") == 404
                 and self.refused("GET", f"{SLO}/nodemetrics/brief") == 404)
        # The webhook refuses it; without its label a ConfigMap is not asked about.
        with self.assertRaisesRegex(kube_api.ApiError, "ParseConfigFail"):
            self.configure({"enable": True, "metricReportIntervalSeconds": 2}, '{"clusterStrategy": {"enable": true,}}')
        self.request("PATCH", f"/api/v1/namespaces/{NS}/configmaps/slo-controller-config",
                     {"metadata": {"labels": {"koordinator.sh/configmap-type": None}}})
        self.configure({"enable": True, "metricReportIntervalSeconds": 2}, '{"clusterStrategy": {"enable": true,}}')
        wait_for("an event about the configuration", lambda: "SLOCfgUnmarshalFailed" in {
            event["reason"] for event in self.api.list("/apis/events.k8s.io/v1/events")})
        secret = f"/api/v1/namespaces/{NS}/secrets/koordinator-webhook-certs"
        self.request("PATCH", secret, {"data": {"cert.pem": "bm9uZQ==", "tls.crt": "bm9uZQ=="}})
        wait_for("a Secret that is right again", lambda: self.request("GET", secret)["data"]["tls.crt"] != "bm9uZQ==")
        self.installed.configure(resource_amplification_config='{"enable": true, "resourceAmplificationRatio": {"cpu": 1.5}}')
        wait_for("the node's annotation", lambda: any("amplification" in key for key in self.request("GET", node)["metadata"]["annotations"]))
        self.configure({"enable": True}, '{"clusterStrategy": {"enable": false}}')
        wait_for("another strategy", lambda: self.request("GET", f"{SLO}/nodeslos/{NODE}")["spec"]["resourceUsedThresholdWithBE"]["enable"] is False)

        asked = self.asked()
        self.assertEqual({key for key, codes in asked.items() if codes & {401, 403}}, set())
        for role in roles:
            self.assertNotIn("forbidden", role.output())
        used = set(asked) | {(*key[:4], "") for key in asked}
        used |= {(*key[:3], "list", key[4]) for key in used if key[3] == "watch"}  # which an older server is asked
        used |= {("koordlet", "", f"nodes/{part}", "get", "") for part in ("configz", "pods") if self.allowed("koordlet", "get", "nodes", part)}
        self.assertFalse(self.allowed("koordlet", "get", "nodes", "proxy"))
        self.assertEqual({right for right in self.rights() - used if right[:4] not in RARE}, set(), "a right that nobody uses")
        self.assertEqual(manager.terminate(), 0)
        self.starts_while_no_manager_answers()

    def whole_cpus(self, pods):
        """A pod that is told which CPUs it has, of those that the agent reports."""
        item = schedulers.pod("whole", "koord-scheduler", cpu="1", priorityClassName="koord-prod")
        item["metadata"]["labels"] = {"koordinator.sh/qosClass": "LSR"}
        for amounts in (container["resources"] for container in item["spec"]["containers"]):
            amounts["limits"] = amounts["requests"] = {"cpu": "1", "memory": "1Mi"}
        self.request("POST", "/api/v1/namespaces/default/pods", item)
        self.assertEqual(pods.verdict("whole"), ("scheduled", NODE))
        given = self.request("GET", "/api/v1/namespaces/default/pods/whole")["metadata"]["annotations"]
        self.assertIn("cpuset", given["scheduling.koordinator.sh/resource-status"])
        schedulers.delete_now(self.api.connect(), "/api/v1/namespaces/default/pods/whole")

    def kept_room(self, pods):
        """A Reservation is told its place and its CPUs, is used, and is over; one that nobody uses expires and is collected."""
        world = reservations.World(self.api, "default")
        kept = world.available(reservations.reservation("kept", {"cpu": 1}, template={"labels": {"koordinator.sh/qosClass": "LSR"}},
                                                        spec={"priorityClassName": "koord-prod", "priority": 9999}))
        self.assertEqual(len(reservations.cpus(kept)), 1)
        self.request("POST", world.pods, reservations.pod("user", "default", {"cpu": "500m"}))
        self.assertEqual(pods.verdict("user"), ("scheduled", NODE))
        world.until("kept", "is over", lambda status: status["phase"] == "Succeeded")
        schedulers.delete_now(world.connection, f"{world.pods}/user")
        world.available(reservations.reservation("brief", {"cpu": 1}, ttl="1s"))
        world.until("brief", "has expired", lambda status: status["phase"] == "Failed")
        for name in ("kept", "brief"):
            wait_for(f"{name} is collected", lambda name=name: self.refused("GET", f"{reservations.RESERVATIONS}/{name}") == 404)

    def quotas(self):
        """A profile gets its tree's id and its root, which is set right when somebody changes it; the webhooks know both."""
        quotas = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/elasticquotas"
        profiles = "/apis/quota.koordinator.sh/v1alpha1/namespaces/default/elasticquotaprofiles"
        self.request("POST", profiles, {"apiVersion": "quota.koordinator.sh/v1alpha1", "kind": "ElasticQuotaProfile", "metadata": {"name": "all"},
                                        "spec": {"quotaName": "all", "nodeSelector": {}}})
        wait_for("the tree's root", lambda: self.refused("GET", f"{quotas}/all") == 0)
        self.request("PATCH", f"{quotas}/all", {"metadata": {"labels": {"quota.scheduling.koordinator.sh/is-root": None}}})
        wait_for("the root set right", lambda: "quota.scheduling.koordinator.sh/is-root" in self.request("GET", f"{quotas}/all")["metadata"]["labels"])
        child = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "spec": {"max": {"cpu": "1"}, "min": {"cpu": "2"}},
                 "metadata": {"name": "child"}}
        with self.assertRaisesRegex(kube_api.ApiError, "resourceKey cpu of quota child min 2 "):
            self.request("POST", quotas, child)

    def migrations(self, pods):
        """A job that evicts at once, and one that wants a reservation first, for which there is no other node."""
        jobs = "/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs"
        for name, mode in (("moved", "EvictDirectly"), ("stays", "ReservationFirst")):
            item = schedulers.pod(name, "koord-scheduler")
            item["metadata"]["annotations"] = {"descheduler.alpha.kubernetes.io/evict": "true"}
            self.request("POST", "/api/v1/namespaces/default/pods", item)
            self.assertEqual(pods.verdict(name), ("scheduled", NODE))
            self.request("POST", jobs, {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "PodMigrationJob", "metadata": {"name": name}, "spec": {
                "mode": mode, "ttl": "10s", "podRef": {"namespace": "default", "name": name}}})
        wait_for("the pod goes", lambda: self.refused("GET", "/api/v1/namespaces/default/pods/moved") == 404 or
                 "deletionTimestamp" in self.request("GET", "/api/v1/namespaces/default/pods/moved")["metadata"])
        wait_for("a job that finds no room in time", lambda: self.request("GET", f"{jobs}/stays").get("status", {}).get("phase") == "Failed")
        self.request("DELETE", f"{jobs}/stays")
        for name in ("moved", "stays"):
            schedulers.delete_now(self.api.connect(), f"/api/v1/namespaces/default/pods/{name}")

    def claims_and_victims(self, pods):
        """A volume that waits for its consumer, a claim that waits for its volume, and a pod that has to make room."""
        self.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "above"}, "value": 1000})
        for name, provisioner in (("here", "kubernetes.io/no-provisioner"), ("made", "example.com/disk")):
            self.request("POST", "/apis/storage.k8s.io/v1/storageclasses", {
                "metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"})
            self.request("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": name}, "spec": {
                "storageClassName": name, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        self.request("POST", "/api/v1/persistentvolumes", {"metadata": {"name": "here"}, "spec": {
            "storageClassName": "here", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/here"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [NODE]}]}]}}}})
        self.request("PATCH", "/api/v1/persistentvolumes/here/status", {"status": {"phase": "Available"}})  # as a controller says
        for name in ("here", "made"):
            self.request("POST", "/api/v1/namespaces/default/pods", schedulers.pod(f"uses-{name}", "koord-scheduler", volumes=[
                {"name": "data", "persistentVolumeClaim": {"claimName": name}}]))
        wait_for("a volume that is kept for its claim", lambda: self.request("GET", "/api/v1/persistentvolumes/here")["spec"].get("claimRef"))
        wait_for("a claim whose node is known", lambda: self.request("GET", "/api/v1/namespaces/default/persistentvolumeclaims/made")
                 ["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node"))
        self.request("POST", "/api/v1/namespaces/default/pods", schedulers.pod("small", "koord-scheduler", cpu="3"))
        self.assertEqual(pods.verdict("small"), ("scheduled", NODE))
        self.request("POST", "/api/v1/namespaces/default/pods", schedulers.pod("above", "koord-scheduler", cpu="3", priorityClassName="above"))
        wait_for("the other goes", lambda: self.refused("GET", "/api/v1/namespaces/default/pods/small") == 404 or
                 "deletionTimestamp" in self.request("GET", "/api/v1/namespaces/default/pods/small")["metadata"])

    def device(self, pods):
        """A pod with a claim for a device of a slice."""
        self.api.load([claims.device_class(), claims.device_slice(NODE, 1), claims.claim("device", "default")])
        self.request("POST", "/api/v1/namespaces/default/pods", schedulers.pod(
            "device", "koord-scheduler", **claims.uses(resourceClaimName="device")))
        self.assertEqual(pods.verdict("device"), ("scheduled", NODE))

    def starts_while_no_manager_answers(self):
        """Complaint 1844: with failurePolicy Fail and the manager down nothing of koord's could start, and no other pod."""
        pod = schedulers.pod("late", "default-scheduler")
        self.assertEqual(self.refused("POST", "/api/v1/namespaces/default/pods", pod), 0)
        pod["metadata"].pop("namespace")
        self.assertEqual(self.refused("POST", f"/api/v1/namespaces/{NS}/pods", pod), 0)

    def test_gates_name_the_file_of_the_rights_that_they_lack(self):
        """And work once the file is applied. (After the test of each role, whose audit log is of default gates alone.)"""
        def applied(verb):
            self.installed.kubectl.run(verb, "-f", GATES)
            wait_for(f"{verb}: the rights", lambda: all(self.allowed(account, verb_of, "pods", part) == (verb == "apply") for account, verb_of, part in (
                ("koordlet", "create", "eviction"), ("koord-manager", "patch", ""), ("koord-manager", "get", ""))))

        self.assertEqual(sorted(os.listdir(GATES)), ["Accelerators.yaml", "BlkIOReconcile.yaml", "ColocationProfileController.yaml", "DRADeviceTaintRules.yaml", "DRAExtendedResource.yaml", "DevicePluginAdaption.yaml", "Drain.yaml", "EnablePodEnhancedValidator.yaml",
                                                     "EnableQuotaAdmission.yaml", "GangScheduling.yaml",
                                                     "enable-network-topology-manager.yaml", "only-evict-by-api.yaml", "ui.yaml"])
        late = schedulers.pod("late-profile", "nobody")
        self.request("POST", "/api/v1/namespaces/default/pods", late)
        self.request("POST", PROFILES, {
            "apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile",
            "metadata": {"name": "late", "labels": {"config.koordinator.sh/controller-managed": "true"}},
            "spec": {"selector": {"matchLabels": {"tier": "late"}}, "labels": {"by": "profile"}}})
        self.addCleanup(self.request, "DELETE", f"{PROFILES}/late")
        agent = self.start_agent("--only-evict-by-api", "--feature-gates=Accelerators=true,BlkIOReconcile=true")
        manager = self.start_manager("--feature-gates=ColocationProfileController=true,EnablePodEnhancedValidator=true,EnableQuotaAdmission=true",
                                     "--colocation-profile-reconcile-interval=1s")
        for role, name, missing in ((agent, "only-evict-by-api", '"create pods/eviction"'),
                                    (agent, "Accelerators", '"create devices.scheduling.koordinator.sh, '),
                                    (agent, "BlkIOReconcile", '"get persistentvolumeclaims"'),
                                    (manager, "ColocationProfileController", '"get pods, patch pods"'),
                                    (manager, "EnableQuotaAdmission", "get elasticquotas"),
                                    (manager, "EnablePodEnhancedValidator", '"list configmaps pod-enhanced-validator-config in koordinator-system, ')):
            wait_for(f"the log names the file of {name}", lambda role=role, name=name, missing=missing: any(
                missing in line and line.rstrip().endswith(f"file=packaging/manifests-gates/{name}.yaml") for line in role.output().splitlines()))
        applied("apply")
        try:
            # By a label that comes later it slips past the webhook.
            self.request("PATCH", "/api/v1/namespaces/default/pods/late-profile", {"metadata": {"labels": {"tier": "late"}}})
            wait_for("the pod gets what the profile gives", lambda: self.request("GET", "/api/v1/namespaces/default/pods/late-profile")
                     ["metadata"]["labels"].get("by") == "profile")
            for role, name in ((agent, "only-evict-by-api"), (agent, "Accelerators"), (agent, "BlkIOReconcile"), (manager, "ColocationProfileController"), (manager, "EnableQuotaAdmission"),
                               (manager, "EnablePodEnhancedValidator")):
                wait_for(f"{name}: granted", lambda role=role, name=name: any(
                    "are granted" in line and f"needed_by={name}" in line for line in role.output().splitlines()), 90)
            used = set(self.asked())
            for right in (("pods", "get", "late-profile"), ("pods", "patch", "late-profile"), ("configmaps", "watch", "pod-enhanced-validator-config")):
                self.assertIn(("koord-manager", "", *right), used)
        finally:
            self.assertEqual((manager.terminate(), agent.terminate()), (0, 0))
            applied("delete")

    def configure(self, colocation, threshold='{"clusterStrategy": {"enable": true}}'):
        self.installed.configure(colocation_config=json.dumps(colocation), resource_threshold_config=threshold)

    def ask_secure_port(self, number):
        """/metrics of a role, as somebody whom the API server knows and who may not: it asks it for both."""
        class Port:
            host, port, context = "127.0.0.1", number, ssl._create_unverified_context()
            token = f"viewer-{self.api.token}"
        with self.assertRaises(kube_api.ApiError) as refusal:
            kube_api.Connection(Port).request("GET", "/metrics")
        self.assertEqual(refusal.exception.status, 403)

    def test_may_do_nothing_else(self):
        for account in ACCOUNTS:
            api = kube_api.Api(self.account(account))
            for method, path in [row[1:] for row in FORBIDDEN if row[0] == account]:
                with self.subTest(account=account, method=method, path=path):
                    self.assertEqual(self.refused(method, path, {} if method in ("PATCH", "POST", "PUT") else None, api), 403)

    def test_a_kubelet_before_1_33_has_a_file_of_its_own(self):
        self.assertFalse(self.allowed("koordlet", "get", "nodes", "proxy"))
        for verb in ("apply", "delete"):
            self.installed.kubectl.run(verb, "-f", os.path.join(PACKAGING, "manifests-before-1.33"))
            wait_for(f"{verb}: the right", lambda: self.allowed("koordlet", "get", "nodes", "proxy") == (verb == "apply"))

    def test_asks_for_no_more_than_the_originals(self):
        more = set()
        for account, group, resource, verb, _ in self.rights():
            if verb not in ORIGINALS[account].get((group, resource), "").split():
                more.add((account, group, resource))
        self.assertEqual(more, set(MORE))

    def test_no_pod_of_a_users_stands_above_koords(self):
        """Complaint 1756: user pods preempted koord's own."""
        self.assertEqual(self.refused("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "metadata": {"name": "higher"}, "value": 1_000_000_001}), 422)
        for kind in ("deployments", "daemonsets"):
            for owner in self.api.list(f"/apis/apps/v1/namespaces/{NS}/{kind}"):
                name, template = owner["metadata"]["name"], owner["spec"]["template"]
                pod = self.request("POST", f"/api/v1/namespaces/{NS}/pods", {**template, "metadata": {**template["metadata"], "name": f"{name}-0"}})
                self.assertGreaterEqual(pod["spec"]["priority"], 2_000_000_000, name)
                self.assertEqual(self.refused("GET", f"/api/v1/namespaces/{NS}/serviceaccounts/{pod['spec']['serviceAccountName']}"), 0)

    def test_pods_are_probed_and_end_in_time_and_a_drain_leaves_one(self):
        owners = {one["metadata"]["name"]: one["spec"] for kind in ("deployments", "daemonsets")
                  for one in self.api.list(f"/apis/apps/v1/namespaces/{NS}/{kind}")}
        self.assertEqual(sorted(owners), ["koord-descheduler", "koord-manager", "koord-scheduler", "koordlet"])
        for name, spec in owners.items():
            with self.subTest(name):
                template = spec["template"]["spec"]
                probes = {kind: template["containers"][0][f"{kind}Probe"] for kind in ("liveness", "readiness")}
                self.assertEqual(probes["liveness"]["httpGet"]["path"], "/livez")
                # Longer than a busy node takes, and more than one look.
                self.assertGreaterEqual(probes["liveness"]["timeoutSeconds"] * probes["liveness"]["failureThreshold"], 30)
                # The delay (5 s by default), and the 20 s after which a process that hangs ends itself.
                self.assertGreaterEqual(template["terminationGracePeriodSeconds"], 25)
        budgets = {one["metadata"]["name"]: one["spec"] for one in self.api.list(f"/apis/policy/v1/namespaces/{NS}/poddisruptionbudgets")}
        self.assertEqual(sorted(budgets), ["koord-descheduler", "koord-manager", "koord-scheduler"])
        for name, budget in budgets.items():
            self.assertEqual(budget["maxUnavailable"], 1)
            self.assertEqual(owners[name]["replicas"], 2)
            self.assertLessEqual(budget["selector"]["matchLabels"].items(), owners[name]["template"]["metadata"]["labels"].items())

    def test_the_files_name_one_another_rightly(self):
        """Ports, volumes and ConfigMaps that the pods' templates name are there."""
        service = self.request("GET", f"/api/v1/namespaces/{NS}/services/koordinator-webhook-service")["spec"]
        manager = self.request("GET", f"/apis/apps/v1/namespaces/{NS}/deployments/koord-manager")["spec"]["template"]
        self.assertLessEqual(service["selector"].items(), manager["metadata"]["labels"].items())
        self.assertIn(service["ports"][0]["targetPort"], [port["containerPort"] for port in manager["spec"]["containers"][0]["ports"]])
        for line in (manager, *[one["spec"]["template"] for one in self.api.list("/apis/apps/v1/daemonsets")]):
            command = line["spec"]["containers"][0]
            done = subprocess.run([agents.KOORD, *command["args"], "--help"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        values = {one["metadata"]["name"]: one["value"] for one in self.api.list("/apis/scheduling.k8s.io/v1/priorityclasses")}
        self.assertEqual({name: values[name] for name in values if name.startswith("koord-")},
                         {"koord-prod": 9000, "koord-mid": 7000, "koord-batch": 5000, "koord-free": 3000})


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

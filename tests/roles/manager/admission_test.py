#!/usr/bin/env python3
"""The manager's webhooks, asked by hand and by the sandbox (or by the kube-apiserver that KOORD_KUBE_KUBECONFIG names):
pods that are made get their profile, what must not be stored is refused, in upstream's words."""
import base64
import glob
import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import kube_version  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, free_port, wait_for  # noqa: E402

CRDS = sorted(glob.glob(os.path.join(TREE, "packaging", "crds", "*.yaml")))
MARK = "koord-admission-test"  # of everything that the webhooks here are asked about
SYSTEM, COLO, PLAIN = "koordinator-system", "admission-colo", "admission-plain"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
RESERVATIONS = "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
CONFIG = f"/api/v1/namespaces/{SYSTEM}/configmaps"
SLO = "/apis/slo.koordinator.sh/v1alpha1"
PRIORITIES = {"koord-prod": 9000, "koord-batch": 5000}
GATES = ("NodeMutatingWebhook", "NodeValidatingWebhook", "ConfigMapValidatingWebhook", "ReservationMutatingWebhook",
         "BindingAdmissionWebhook", "EnablePodEnhancedValidator")


def entry(name, path, resource, operations, group="", version="v1", selector="namespaceSelector"):
    return {"name": name, "clientConfig": {"service": {"name": "x", "namespace": "x", "path": path}},
            "rules": [{"apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": operations}],
            selector: {"matchLabels": {MARK: "true"}}, "failurePolicy": "Fail", "sideEffects": "None",
            "admissionReviewVersions": ["v1", "v1beta1"], "timeoutSeconds": 10}


MUTATING = [
    entry("mpod-create.koordinator.sh", "/mutate-pod", "pods", ["CREATE"]),
    entry("mnode-status.koordinator.sh", "/mutate-node-status", "nodes/status", ["CREATE", "UPDATE"], selector="objectSelector"),
    entry("mreservation-create.koordinator.sh", "/mutate-reservation", "reservations", ["CREATE"],
          "scheduling.koordinator.sh", "v1alpha1", "objectSelector"),
]
VALIDATING = [
    entry("vpod.koordinator.sh", "/validate-pod", "pods", ["CREATE", "UPDATE"]),
    entry("vpod-resize.koordinator.sh", "/validate-pod", "pods/resize", ["UPDATE"]),
    entry("vpodbinding.koordinator.sh", "/validate-pod-binding", "pods/binding", ["CREATE"]),
    entry("vnode.koordinator.sh", "/validate-node", "nodes", ["CREATE", "UPDATE"], selector="objectSelector"),
    entry("vconfigmap.koordinator.sh", "/validate-configmap", "configmaps", ["CREATE", "UPDATE", "DELETE"],
          selector="objectSelector"),
]
PROFILE_KIND = {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile"}
PROFILE = {
    **PROFILE_KIND, "metadata": {"name": "admission-batch"},
    "spec": {"namespaceSelector": {"matchLabels": {"colocation": "true"}}, "selector": {"matchLabels": {"tier": "batch"}},
             "qosClass": "BE", "priorityClassName": "koord-batch", "koordinatorPriority": 5500,
             "labels": {"by": "profile"}, "schedulerName": "koord-scheduler",
             "patch": {"spec": {"terminationGracePeriodSeconds": 7}}}}


def pod(name, labels=None, requests=None, **spec):
    return {"metadata": {"name": name, "labels": labels or {}},
            "spec": {"containers": [{"name": "main", "image": "busybox", "resources": {"requests": requests or {}}}], **spec}}


class Admission(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="koord-admission.")
        cls.addClassCleanup(cls.folder.cleanup)
        kubeconfig = os.environ.get("KOORD_KUBE_KUBECONFIG")
        if not kubeconfig:
            world = sandbox.Sandbox("--nodes=1", "--roles=", "--load", *CRDS)
            world.__enter__()
            cls.addClassCleanup(world.__exit__)
            kubeconfig = world.kubeconfig
        else:
            sandbox.Kubectl(kubeconfig).run("apply", *[word for crd in CRDS for word in ("-f", crd)])
        cls.connection = kube_api.Api(kubeconfig).connect()
        cls.addClassCleanup(cls.connection.http.close)
        for path in (PROFILES, RESERVATIONS, f"{SLO}/nodeslos", f"{SLO}/nodemetrics"):
            wait_for(f"the definition of {path}", lambda: cls.try_request("GET", path) is not None)
        cls.addClassCleanup(cls.clear)
        cls.clear()
        for name, labels in ((SYSTEM, {}), (COLO, {MARK: "true", "colocation": "true"}), (PLAIN, {MARK: "true"})):
            cls.try_request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        for name, value in PRIORITIES.items():
            cls.try_request("POST", CLASSES, {"metadata": {"name": name}, "value": value})
        for kind, entries in (("mutating", MUTATING), ("validating", VALIDATING)):
            cls.try_request("POST", f"{CONFIGURATIONS}/{kind}webhookconfigurations",
                            {"metadata": {"name": f"koordinator-{kind}-webhook-configuration"}, "webhooks": entries})
        cls.start(kubeconfig)
        cls.request("POST", PROFILES, PROFILE)
        wait_for("the profile at work", lambda: "koord-scheduler" in str(cls.patch_of(pod("a", {"tier": "batch"}))))

    @classmethod
    def start(cls, kubeconfig):
        cls.port, cls.metrics_port, probes = free_port(), free_port(), free_port()
        cls.certificates = os.path.join(cls.folder.name, "certificates")
        cls.log_path = os.path.join(cls.folder.name, "manager.log")
        log = open(cls.log_path, "wb")
        cls.child = subprocess.Popen(
            [KOORD, "--role=manager", f"--kubeconfig={kubeconfig}", f"--metrics-addr=127.0.0.1:{cls.metrics_port}",
             f"--health-probe-addr=127.0.0.1:{probes}", f"--webhook-port={cls.port}", "--rest-config-qps=0", "--controllers=none",
             "--feature-gates=" + ",".join(f"{gate}=true" for gate in GATES),
             "--binding-admission-user-name=koord-scheduler", "--binding-admission-namespaces=*"],
            stdout=log, stderr=subprocess.STDOUT,
            env={**os.environ, "WEBHOOK_HOST": "127.0.0.1", "WEBHOOK_CERT_DIR": cls.certificates})

        def end():
            cls.child.kill()
            cls.child.wait()
            log.close()

        cls.addClassCleanup(end)

        def ready():
            assert cls.child.poll() is None, cls.output()[-3000:]
            return cls.read(probes, "/readyz")[0] == 200

        wait_for("the manager with its webhooks", ready)

    @staticmethod
    def read(port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    @classmethod
    def output(cls):
        with open(cls.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    @classmethod
    def clear(cls):
        """What an earlier run left, or this one: configurations first, so that nobody asks for the rest."""
        for kind in ("mutating", "validating"):
            cls.try_request("DELETE", f"{CONFIGURATIONS}/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration")
        for path in (f"{PROFILES}/admission-batch", f"{PROFILES}/admission-bad", f"{RESERVATIONS}/admission-r",
                     f"{CONFIG}/slo-controller-config", f"{CONFIG}/pod-enhanced-validator-config",
                     "/api/v1/nodes/admission-node", *[f"{CLASSES}/{name}" for name in PRIORITIES],
                     "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager"):
            cls.try_request("DELETE", path)
        for ns in (COLO, PLAIN):
            cls.try_request("DELETE", f"/api/v1/namespaces/{ns}/pods", {"gracePeriodSeconds": 0})

    @classmethod
    def request(cls, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return cls.connection.request(method, path, body, kind)

    @classmethod
    def try_request(cls, method, path, body=None):
        try:
            return cls.request(method, path, body)
        except kube_api.ApiError as error:
            assert error.status in (404, 409, 429), error
            return None

    @classmethod
    def review(cls, path, operation, resource, new=None, old=None, subresource="", ns=COLO, version="v1", **more):
        """What the webhook answers to one review that is posted to it."""
        context = ssl.create_default_context(cafile=os.path.join(cls.certificates, "ca-cert.pem"))
        connection = http.client.HTTPSConnection("127.0.0.1", cls.port, context=context, timeout=20)
        connection.request("POST", f"{path}?timeout=10s", json.dumps({
            "kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}",
            "request": {"uid": "u-1", "operation": operation, "namespace": ns, "object": new, "oldObject": old,
                        "resource": {"group": "", "version": "v1", "resource": resource}, "subResource": subresource,
                        "userInfo": {"username": "somebody"}, **more}}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status == 200, (response.status, text)
        answer = json.loads(text)
        assert answer["apiVersion"] == f"admission.k8s.io/{version}" and answer["response"]["uid"] == "u-1", answer
        return answer["response"]

    @classmethod
    def patch_of(cls, new, **more):
        """The JSON patch of the pod, in the order of its paths."""
        answer = cls.review("/mutate-pod", "CREATE", "pods", new, **more)
        assert answer["allowed"], answer
        patch = json.loads(base64.b64decode(answer["patch"])) if "patch" in answer else []
        return sorted(patch, key=lambda operation: operation["path"])

    def refused(self, method, path, body, code, *words):
        with self.assertRaises(kube_api.ApiError) as caught:
            self.request(method, path, body)
        self.assertEqual(caught.exception.status, code, caught.exception)
        for word in words:
            self.assertIn(word, caught.exception.body)

    def pods(self, ns):
        return f"/api/v1/namespaces/{ns}/pods"

    def test_a_review_that_is_posted_is_answered(self):
        patch = self.patch_of({**pod("a", {"tier": "batch"}, {"cpu": "1500m", "memory": "1Gi"}), "x-unknown": {"kept": True}})
        resources = {"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "1Gi"}
        self.assertEqual({(operation["op"], operation["path"]) for operation in patch if "containers" in operation["path"]},
                         {("remove", "/spec/containers/0/resources/requests/cpu"),
                          ("remove", "/spec/containers/0/resources/requests/memory"),
                          ("add", "/spec/containers/0/resources/requests/kubernetes.io~1batch-cpu"),
                          ("add", "/spec/containers/0/resources/requests/kubernetes.io~1batch-memory")})
        told = [operation["value"] for operation in patch if operation["path"] == "/metadata/annotations"]
        self.assertEqual(json.loads(told[0]["node.koordinator.sh/extended-resource-spec"]),
                         {"containers": {"main": {"requests": resources}}})
        self.assertFalse([operation for operation in patch if "x-unknown" in operation["path"]])
        self.assertEqual(self.patch_of(pod("a", {"tier": "other"})), [])
        self.assertEqual(self.patch_of(pod("a", {"tier": "batch"}), ns=PLAIN), [])

        lsr = pod("a", {"koordinator.sh/qosClass": "LSR"}, {"cpu": "100m"}, priority=9000)
        for version in ("v1", "v1beta1"):
            answer = self.review("/validate-pod", "CREATE", "pods", lsr, version=version)
            self.assertEqual((answer["allowed"], answer["status"]["code"], answer["status"]["message"]), (
                False, 400, "pod.spec.containers[*].resources.requests: Invalid value: \"100m\": "
                "the requested CPUs of LSR Pod must be integer"))
        answer = self.review("/validate-pod-binding", "CREATE", "pods", {"target": {"name": "n"}}, subresource="binding", name="b")
        self.assertTrue(answer["allowed"])  # a pod that nobody knows
        answer = self.review("/mutate-pod", "CREATE", "pods", {"spec": {"containers": 7}})
        self.assertEqual((answer["allowed"], answer["status"]["code"], answer["status"]["message"]),
                         (False, 400, "spec.containers: an array is expected"))

    def test_pods_get_their_profile(self):
        made = self.request("POST", self.pods(COLO), pod("batch", {"tier": "batch"}, {"cpu": "2", "memory": "64Mi"}))
        labels, spec = made["metadata"]["labels"], made["spec"]
        self.assertEqual((labels["koordinator.sh/qosClass"], labels["koordinator.sh/priority"], labels["by"]),
                         ("BE", "5500", "profile"))
        self.assertEqual((spec["priority"], spec["priorityClassName"], spec["schedulerName"]),
                         (5000, "koord-batch", "koord-scheduler"))
        self.assertEqual(spec["terminationGracePeriodSeconds"], 7)
        self.assertEqual(spec["containers"][0]["resources"]["requests"],
                         {"kubernetes.io/batch-cpu": "2k", "kubernetes.io/batch-memory": "64Mi"})
        # The profile's pod may not say afterwards that it is another.
        self.refused("PATCH", f"{self.pods(COLO)}/batch", {"metadata": {"labels": {"koordinator.sh/qosClass": "LS"}}}, 400,
                     "vpod.koordinator.sh", "labels.koordinator.sh/qosClass: Invalid value", "field is immutable")
        plain = self.request("POST", self.pods(PLAIN), pod("plain", {"tier": "batch"}, {"cpu": "1"}))
        self.assertEqual(plain["spec"]["containers"][0]["resources"]["requests"], {"cpu": "1"})
        self.refused("POST", self.pods(PLAIN), pod("both", {"koordinator.sh/qosClass": "BE"}), 400,
                     "cannot be used in combination")
        # A namespace that is new is known in time.
        fresh = f"{COLO}-{os.getpid()}"
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": fresh, "labels": {MARK: "true", "colocation": "true"}}})
        made = self.request("POST", self.pods(fresh), pod("first", {"tier": "batch"}))
        self.assertEqual(made["metadata"]["labels"].get("by"), "profile")
        self.request("DELETE", f"{self.pods(fresh)}/first", {"gracePeriodSeconds": 0})
        # One whose patch makes no pod is left out, and the log names it.
        self.request("POST", PROFILES, {**PROFILE_KIND, "metadata": {"name": "admission-bad"},
                                        "spec": {"labels": {"bad": "1"}, "patch": {"spec": {"containers": [{"image": "x"}]}}}})
        wait_for("the bad profile in the log", lambda: self.patch_of(pod("a", {"tier": "batch"})) and
                 "profile=admission-bad" in self.output())
        made = self.request("POST", self.pods(COLO), pod("other", {"tier": "batch"}))
        self.assertEqual((made["metadata"]["labels"]["by"], made["metadata"]["labels"].get("bad")), ("profile", None))
        self.request("DELETE", f"{PROFILES}/admission-bad")

    @kube_version.unless_before(33, "the subresource resize of pods")
    def test_a_resize_is_checked_as_an_update(self):
        def sized(cpu):
            return {"containers": [{"name": "main", "resources": {part: {"cpu": cpu, "memory": "64Mi"} for part in ("requests", "limits")}}]}

        def resize(cpu):
            return self.connection.request("PATCH", f"{self.pods(PLAIN)}/lsr/resize", {"spec": sized(cpu)},
                                           "application/strategic-merge-patch+json")["spec"]["containers"][0]["resources"]["requests"]["cpu"]

        made = pod("lsr", {"koordinator.sh/qosClass": "LSR"}, priorityClassName="koord-prod")
        made["spec"]["containers"][0]["resources"] = sized("2")["containers"][0]["resources"]
        self.request("POST", self.pods(PLAIN), made)
        with self.assertRaises(kube_api.ApiError) as caught:
            resize("2500m")
        self.assertEqual(caught.exception.status, 400, caught.exception)
        for word in ("vpod-resize.koordinator.sh", "2500m", "the requested CPUs of LSR Pod must be integer"):
            self.assertIn(word, str(caught.exception))
        self.assertEqual(resize("3"), "3")
        self.assertEqual(self.request("GET", f"{self.pods(PLAIN)}/lsr")["spec"]["containers"][0]["resources"]["limits"]["cpu"], "3")

    @kube_version.unless_before(34, "the resources of a pod as a whole")
    def test_what_a_batch_pod_asks_for_as_a_whole_is_refused_by_name(self):
        for part, name, amount in (("requests", "cpu", "2"), ("limits", "memory", "1Gi"), ("requests", "memory", "1Gi")):
            made = pod("whole", {"tier": "batch"}, {"cpu": "1", "memory": "64Mi"}, resources={part: {name: amount}})
            self.refused("POST", self.pods(COLO), made, 400, f"pod.spec.resources.{part}: Forbidden: {name} cannot be lent")
        # Past the profiles: of its own will.
        self.refused("POST", self.pods(PLAIN), pod("whole", {"koordinator.sh/qosClass": "BE"}, {"kubernetes.io/batch-cpu": "1k"},
                                                   priorityClassName="koord-batch", resources={"requests": {"cpu": "2"}}),
                     400, "pod.spec.resources.requests: Forbidden: cpu cannot be lent")
        self.assertEqual(self.request("POST", self.pods(PLAIN), pod("whole", {"tier": "batch"}, resources={"requests": {"cpu": "2"}}))
                         ["spec"]["resources"]["requests"], {"cpu": "2"})

    def test_sidecars_are_told_in_the_annotation(self):
        amounts = {"limits": {"cpu": "200m", "memory": "64Mi"}}
        made = pod("mesh", {"tier": "batch"}, {"cpu": "1", "memory": "1Gi"}, initContainers=[
            {"name": "first", "image": "busybox", "resources": amounts},
            {"name": "mesh", "image": "busybox", "restartPolicy": "Always", "resources": amounts}])
        made = self.request("POST", self.pods(COLO), made)
        lent = {"kubernetes.io/batch-cpu": "200", "kubernetes.io/batch-memory": "64Mi"}
        self.assertEqual([each["resources"]["limits"] for each in made["spec"]["initContainers"]], [lent, lent])
        told = json.loads(made["metadata"]["annotations"]["node.koordinator.sh/extended-resource-spec"])["containers"]
        self.assertEqual(told, {"main": {"requests": {"kubernetes.io/batch-cpu": "1k", "kubernetes.io/batch-memory": "1Gi"}},
                                "mesh": {"limits": lent, "requests": lent}})

    def test_only_the_scheduler_binds(self):
        self.request("POST", self.pods(PLAIN), pod("bound"))
        wait_for("the pod in the manager's cache", lambda: not self.review(
            "/validate-pod-binding", "CREATE", "pods", {}, subresource="binding", name="bound", ns=PLAIN)["allowed"])
        self.refused("POST", f"{self.pods(PLAIN)}/bound/binding",
                     {"metadata": {"name": "bound"}, "target": {"kind": "Node", "name": "n"}}, 403,
                     "binding denied: username is not in the allowed list")
        self.assertIn('binding_admission_decisions_total{decision="denied"}', self.read(self.metrics_port, "/all-metrics")[1])

    def test_labels_that_pods_must_have(self):
        self.request("POST", CONFIG, {"metadata": {"name": "pod-enhanced-validator-config"}, "data": {
            "enable": "true", "rules": json.dumps([{"name": "owned", "requiredLabels": ["owner"],
                                                    "namespaceWhitelist": [COLO]}])}})
        wait_for("the rules", lambda: not self.review("/validate-pod", "CREATE", "pods", pod("a"), ns=PLAIN)["allowed"])
        self.refused("POST", self.pods(PLAIN), pod("unowned"), 400, "required label 'owner' is missing")
        self.request("POST", self.pods(PLAIN), pod("owned", {"owner": "me"}))
        self.assertTrue(self.review("/validate-pod", "CREATE", "pods", pod("a"), ns=COLO)["allowed"])
        self.request("DELETE", f"{CONFIG}/pod-enhanced-validator-config")
        wait_for("no rules", lambda: self.review("/validate-pod", "CREATE", "pods", pod("a"), ns=PLAIN)["allowed"])

    def test_strategies_nodes_and_reservations(self):
        def config(text):
            return {"metadata": {"name": "slo-controller-config", "labels": {MARK: "true"}},
                    "data": {"colocation-config": json.dumps(text)}}

        self.refused("POST", CONFIG, config({"degradeTimeMinutes": 0}), 400, "ConfigParamInvalid",
                     "DegradeTimeMinutes must be 1 or greater")
        groups = [{"name": name, "nodeSelector": {"matchLabels": {name: "true"}}} for name in ("first", "second")]
        self.request("POST", CONFIG, config({"enable": True, "nodeConfigs": groups}))
        node = "/api/v1/nodes/admission-node"
        self.request("POST", "/api/v1/nodes", {
            "metadata": {"name": "admission-node", "labels": {MARK: "true", "first": "true"}, "annotations": {
                "node.koordinator.sh/resource-amplification-ratio": '{"cpu":2}'}}})
        self.request("PATCH", f"{node}/status", {"status": {"allocatable": {"cpu": "3", "memory": "1Gi"},
                                                            "capacity": {"cpu": "4", "memory": "2Gi"}}})
        now = self.request("GET", node)
        self.assertEqual((now["status"]["allocatable"]["cpu"], now["status"]["allocatable"]["memory"]), ("6", "1Gi"))
        self.assertEqual(json.loads(now["metadata"]["annotations"]["node.koordinator.sh/raw-allocatable"]),
                         {"cpu": "3", "memory": "1Gi"})
        both = {"metadata": {"labels": {MARK: "true", "first": "true", "second": "true"}}}
        wait_for("the strategies in the manager's cache", lambda: not self.review(
            "/validate-node", "UPDATE", "nodes", {"metadata": {"name": "n", **both["metadata"]}}, {})["allowed"])
        self.refused("PATCH", node, both, 400, "ExistNodeConfict", "admission-node")
        made = self.request("POST", RESERVATIONS, {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation",
            "metadata": {"name": "admission-r", "labels": {MARK: "true", "tier": "batch"}},
            "spec": {"owners": [{"object": {"name": "x"}}], "template": {"spec": {"containers": [{"name": "c"}]}}}})
        self.assertEqual((made["metadata"]["labels"]["by"], made["spec"]["template"]["spec"]["schedulerName"]),
                         ("profile", "koord-scheduler"))


if __name__ == "__main__":
    unittest.main()

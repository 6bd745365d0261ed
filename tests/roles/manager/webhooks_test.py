#!/usr/bin/env python3
"""The manager's webhooks against the sandbox, or the cluster that KOORD_KUBE_KUBECONFIG names: certificates that replicas
share, configurations kept right, an API server that really asks, and callers that mean no good."""
import base64
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.join(TREE, "tests", "support")]

import kube_api  # noqa: E402
import manager_test  # noqa: E402
import sandbox  # noqa: E402
from sandbox import free_port, wait_for  # noqa: E402

NS = "koordinator-system"
NAME = f"koordinator-webhook-service.{NS}.svc"
SECRET = f"/api/v1/namespaces/{NS}/secrets/koordinator-webhook-certs"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = {kind: f"{ADMISSION}/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration"
                  for kind in ("mutating", "validating")}
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
CRDS = os.path.join(TREE, "packaging", "crds")
ASKED = "/api/v1/namespaces/asked"
DEVICES = "scheduling.koordinator.sh/device-allocated"
FILES = ["ca-cert.pem", "ca-key.pem", "cert.pem", "key.pem", "tls.crt", "tls.key"]


def entry(name, path, resource="pods", operations=("CREATE", "UPDATE"), policy="Fail"):
    """As the manifests have it, but for one namespace: nobody else's pods are to wait for this test."""
    return {"name": f"{name}.koordinator.sh", "admissionReviewVersions": ["v1", "v1beta1"], "sideEffects": "None",
            "failurePolicy": policy, "timeoutSeconds": 5, "namespaceSelector": {"matchLabels": {"webhooks": "asked"}},
            "clientConfig": {"service": {"name": "webhook-service", "namespace": "system", "path": path}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": list(operations), "resources": [resource]}]}


def pod(name, labels=None, **resources):
    return {"metadata": {"name": name, "labels": labels or {}, "annotations": {"kept": "as it is"}},
            "spec": {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, "containers": [
                {"name": "main", "image": "none", "resources": {"requests": resources, "limits": resources}}]}}


def review(name="a", operation="CREATE"):
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "request": {
        "uid": "1", "operation": operation, "namespace": "asked", "name": name,
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "object": pod(name)}}).encode()


class As:
    """kubectl as somebody else."""

    def __init__(self, kubeconfig, user):
        self.words = [sandbox.KUBECTL, f"--kubeconfig={kubeconfig}", f"--as={user}"]

    def try_run(self, *words):
        return subprocess.run([*self.words, *words], capture_output=True, text=True, timeout=60, check=False)


class Webhooks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-webhooks.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.kubeconfig = os.environ.get("KOORD_KUBE_KUBECONFIG")
        if not self.kubeconfig:
            world = sandbox.Sandbox("--nodes=1", "--roles=")
            world.__enter__()
            self.addCleanup(world.__exit__)
            self.kubeconfig = world.kubeconfig
        self.api = kube_api.Api(self.kubeconfig)
        self.managers = []
        sandbox.Kubectl(self.kubeconfig).run("apply", "-f", CRDS)
        kinds = PROFILES, f"{manager_test.SLO}/nodemetrics", f"{manager_test.SLO}/nodeslos"
        wait_for("the kinds", lambda: all(self.get(kind) is not None for kind in kinds))
        self.addCleanup(self.clear)
        self.make("/api/v1/namespaces", {"metadata": {"name": NS}})
        self.make("/api/v1/namespaces", {"metadata": {"name": "asked", "labels": {"webhooks": "asked"}}})
        self.make("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "koord-batch"}, "value": 5999})
        self.make(f"{ADMISSION}/mutatingwebhookconfigurations", {
            "metadata": {"name": "koordinator-mutating-webhook-configuration"},
            "webhooks": [entry("mnobody", "/mutate-nobody"),
                         entry("mpod-create", "/mutate-pod"), entry("mnode-status", "/mutate-node-status", "nodes/status")]})
        self.make(f"{ADMISSION}/validatingwebhookconfigurations", {
            "metadata": {"name": "koordinator-validating-webhook-configuration"}, "webhooks": [entry("vpod", "/validate-pod")]})

    def clear(self):
        for one in self.managers:
            if one.child.poll() is None:
                one.kill()
        for path in (*CONFIGURATIONS.values(), SECRET, f"{PROFILES}/best-effort", "/apis/scheduling.k8s.io/v1/priorityclasses/koord-batch"):
            self.get(path) and self.request("DELETE", path)
        self.request("DELETE", f"{ASKED}/pods", {"gracePeriodSeconds": 0})

    make, request, get = (getattr(manager_test.TheManager, name) for name in ("make", "request", "get"))

    def manager(self, *flags, **env):
        port = free_port()
        certificates = os.path.join(self.folder, str(port))
        started = manager_test.Manager(self.kubeconfig, self.folder, f"--webhook-port={port}", *flags,
                                       **{"WEBHOOK_CERT_DIR": certificates, **env})
        started.webhooks, started.certificates = port, certificates
        self.managers.append(started)
        return started

    def ready(self, manager):
        return manager.get("/readyz", manager.probes)[0] == 200

    def reachable(self):
        """A manager that API servers reach on loopback."""
        manager = self.manager(WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_WRITER="secret")
        wait_for("ready", lambda: self.ready(manager))
        return manager

    def certificates(self):
        secret = self.get(SECRET)
        return secret and {name: base64.b64decode(text).decode(errors="replace") for name, text in secret.get("data", {}).items()}

    def connect(self, manager, authority=None, name=NAME):
        """A connection that believes the Secret's CA."""
        context = ssl.create_default_context(cadata=authority or self.certificates()["ca-cert.pem"])
        plain = socket.create_connection(("127.0.0.1", manager.webhooks), timeout=20)
        return context.wrap_socket(plain, server_hostname=name)

    def shown(self, manager):
        """The certificate that the port shows, if it can be believed."""
        try:
            with self.connect(manager) as connection:
                return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))
        except (OSError, KeyError, TypeError):
            return None

    def ask(self, manager, body=None, path="/mutate-pod?timeout=10s", method="POST", kind="application/json"):
        connection = http.client.HTTPSConnection("127.0.0.1", manager.webhooks, timeout=20)
        connection.sock = self.connect(manager)
        connection.request(method, path, review() if body is None else body, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def entries(self, kind):
        return {one["name"].partition(".")[0]: one["clientConfig"] for one in self.get(CONFIGURATIONS[kind]).get("webhooks", [])}

    def right(self):
        """Every entry that is served has the Secret's CA and the service's name, the others have gone."""
        found = self.certificates()
        if not found or sorted(found) != FILES:
            return False
        service = {"name": "koordinator-webhook-service", "namespace": NS, "port": 443}
        for kind, name, path in (("mutating", "mpod-create", "/mutate-pod"), ("validating", "vpod", "/validate-pod")):
            entries = self.entries(kind)
            # Beside a new CA the one before it is believed for a while.
            bundle = base64.b64decode(entries.get(name, {}).pop("caBundle", "")).decode()
            if not bundle.startswith(found["ca-cert.pem"]) or entries != {name: {"service": {**service, "path": path}}}:
                return False
        return True

    def settled(self, *managers):
        """All of them show what the Secret holds, and write it to their folders."""
        def alike():
            if not self.right():
                return False
            found = self.certificates()
            for one in managers:
                for name, text in found.items():
                    with open(os.path.join(one.certificates, name), encoding="utf-8") as file:
                        if file.read() != text:
                            return False
            return all(self.shown(one) == found["cert.pem"] and self.ready(one) for one in managers)
        wait_for("certificates that all share", alike)
        return self.certificates()

    def test_replicas_share_certificates_whatever_becomes_of_the_secret(self):
        managers = self.manager(), self.manager("--enable-leader-election=false")
        wait_for("both ready", lambda: all(map(self.ready, managers)))
        first = self.settled(*managers)
        self.assertTrue(first["key.pem"].startswith("-----BEGIN RSA PRIVATE KEY-----"))
        for name in ("localhost", NAME):
            self.connect(managers[0], name=name).close()
        for name in FILES:
            self.assertEqual(os.stat(os.path.join(managers[1].certificates, name)).st_mode & 0o777, 0o600)
        template = json.loads(self.get(CONFIGURATIONS["mutating"])["metadata"]["annotations"]["template"])
        self.assertEqual([one["name"].partition(".")[0] for one in template], ["mnobody", "mpod-create", "mnode-status"])
        self.assertIn("koordinator-mutating-webhook-configuration entry=mnobody", managers[0].output().replace('"', ""))

        with self.subTest("garbled"):
            self.request("PATCH", SECRET, {"data": {"cert.pem": base64.b64encode(b"garbled").decode(), "more": "eA=="}})
            wait_for("another certificate", lambda: (self.certificates() or {}).get("cert.pem") not in (None, "garbled"))
            self.request("PATCH", SECRET, {"data": {"more": None}})
            second = self.settled(*managers)
            self.assertEqual(second["ca-cert.pem"], first["ca-cert.pem"])
            self.assertNotEqual(second["cert.pem"], first["cert.pem"])

        with self.subTest("deleted"):
            self.request("DELETE", SECRET)
            wait_for("a new one", self.certificates)
            third = self.settled(*managers)
            self.assertNotEqual(third["ca-cert.pem"], first["ca-cert.pem"])

        with self.subTest("somebody else's, which expires while it is served: its CA stays"):
            other = self.issue(hours=1)
            self.request("PATCH", SECRET, {"data": {name: base64.b64encode(text.encode()).decode() for name, text in other.items()}})
            wait_for("a lasting one", lambda: self.certificates()["cert.pem"] not in (third["cert.pem"], other["cert.pem"]))
            self.assertEqual(self.settled(*managers)["ca-cert.pem"], other["ca-cert.pem"])

        with self.subTest("configurations that somebody edits"):
            self.request("PATCH", CONFIGURATIONS["validating"], {"webhooks": []})
            wait_for("put right", self.right)
            wrong = [{**entry("mpod-create", "/mutate-pod"), "clientConfig": {"url": "https://elsewhere.example/"}}]
            self.request("PATCH", CONFIGURATIONS["mutating"], {"webhooks": wrong})
            wait_for("put right again", self.right)
            # As `helm upgrade` does it: the entries of the manifest, and no memory of others.
            self.request("PATCH", CONFIGURATIONS["mutating"], {
                "metadata": {"annotations": {"template": ""}}, "webhooks": [entry("mpod-create", "/mutate-pod")]})
            wait_for("and again", self.right)
            self.request("DELETE", CONFIGURATIONS["validating"])
            self.make(f"{ADMISSION}/validatingwebhookconfigurations", {
                "metadata": {"name": "koordinator-validating-webhook-configuration"}, "webhooks": [entry("vpod", "/validate-pod")]})
            wait_for("one that is made anew", self.right)
        for one in managers:
            self.assertEqual(one.terminate(), 0, one.output()[-2000:])

    def issue(self, hours):
        """A CA and a server's certificate in the Secret's form, by openssl."""
        def run(*words):
            subprocess.run(["openssl", *words], check=True, cwd=self.folder, capture_output=True)
        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca-key.pem", "-out", "ca-cert.pem", "-days", "3000", "-subj", "/CN=mine")
        run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request.pem", "-subj", f"/CN={NAME}")
        with open(os.path.join(self.folder, "extensions"), "w", encoding="utf-8") as file:
            file.write(f"subjectAltName=DNS:{NAME},DNS:localhost\nextendedKeyUsage=serverAuth\n")
        run("x509", "-req", "-in", "request.pem", "-CA", "ca-cert.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-out", "cert.pem",
            "-days", str(max(1, hours // 24)), "-extfile", "extensions")
        made = {}
        for name in FILES:
            with open(os.path.join(self.folder, {"tls.crt": "cert.pem", "tls.key": "key.pem"}.get(name, name)), encoding="utf-8") as file:
                made[name] = file.read()
        return made

    def test_an_api_server_asks(self):
        self.request("POST", PROFILES, {
            "apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "best-effort"},
            "spec": {"selector": {"matchLabels": {"tier": "batch"}}, "qosClass": "BE", "priorityClassName": "koord-batch",
                     "labels": {"by": "profile"}}})
        manager = self.reachable()
        self.assertEqual(self.entries("mutating")["mpod-create"]["url"], f"https://127.0.0.1:{manager.webhooks}/mutate-pod")

        def admitted():
            try:
                return self.request("POST", f"{ASKED}/pods", pod("be", {"tier": "batch"}, cpu="2", memory="1Gi"))
            except kube_api.ApiError as error:  # until the API server has seen the configuration
                self.assertIn("webhook", str(error))
                return None
        made = wait_for("a pod", admitted)
        if made["metadata"]["labels"].get("by") != "profile":  # it was still asking nobody
            self.request("DELETE", f"{ASKED}/pods/be", {"gracePeriodSeconds": 0})
            made = wait_for("a pod that was changed", lambda: admitted() if self.get(f"{ASKED}/pods/be") is None else None)
        self.assertEqual(made["metadata"]["labels"], {"tier": "batch", "by": "profile", "koordinator.sh/qosClass": "BE"})
        self.assertEqual(made["metadata"]["annotations"]["kept"], "as it is")
        self.assertEqual((made["spec"]["priorityClassName"], made["spec"]["priority"]), ("koord-batch", 5999))
        resources = made["spec"]["containers"][0]["resources"]
        self.assertEqual(resources["requests"], {"kubernetes.io/batch-cpu": "2k", "kubernetes.io/batch-memory": "1Gi"})

        with self.assertRaises(kube_api.ApiError) as refused:
            self.request("POST", f"{ASKED}/pods", pod("wrong", {"koordinator.sh/qosClass": "LSR"}, cpu="1500m"))
        self.assertIn("koordinator.sh/qosClass=LSR and priorityClass= cannot be used in combination", str(refused.exception))
        self.assertIn("vpod.koordinator.sh", str(refused.exception))

        with self.subTest("one that is killed refuses by its failurePolicy, and comes back as it was"):
            before = self.certificates()
            manager.kill()
            with self.assertRaises(kube_api.ApiError) as refused:
                self.request("POST", f"{ASKED}/pods", pod("lost"))
            self.assertIn("failed calling webhook", str(refused.exception))
            manager = self.reachable()
            self.assertEqual(self.certificates(), before)
            wait_for("pods again", lambda: self.get(f"{ASKED}/pods/again") or self.attempt("again"))

        with self.subTest("new certificates in the middle of everything"):
            self.request("DELETE", SECRET)
            wait_for("others", lambda: (self.certificates() or before) != before)
            wait_for("pods again", lambda: self.get(f"{ASKED}/pods/after") or self.attempt("after"))
        metrics = manager.get("/metrics")[1]
        self.assertRegex(metrics, r'koord_manager_webhook_webhook_duration_milliseconds_count\{webhook_type="mutate",object_type="pod",'
                                  r'operation="CREATE",plugin_name="ClusterColocationProfile",status="allowed"\} [1-9]')
        self.assertRegex(metrics, r'controller_runtime_webhook_requests_total\{webhook="/validate-pod",code="200"\} [1-9]')
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def test_devices_of_a_pod_are_told_by_who_may_bind_it(self):
        self.request("PATCH", CONFIGURATIONS["validating"], {
            "metadata": {"annotations": {"koordinator.sh/webhook-entries": "manager"}}, "webhooks": []})
        manager = self.reachable()
        wait_for("the manager's entries", lambda: "vpod-update-devices" in self.entries("validating"))
        wait_for("a pod", lambda: self.get(f"{ASKED}/pods/given") or self.attempt("given"))
        path = f"{ASKED}/pods/given"

        def asked():
            found = re.search(r'webhook_requests_total\{webhook="/validate-pod-devices",code="200"\} (\d+)', manager.get("/metrics")[1])
            return int(found.group(1)) if found else 0

        def change(key, value, kubectl=None):
            patch = {"metadata": {"annotations": {key: value}}}
            return kubectl.try_run("patch", "pod", "-n", "asked", "given", "-p", json.dumps(patch)) if kubectl else \
                self.request("PATCH", path, patch)

        def given_is_asked_about():
            change(DEVICES, None)
            change(DEVICES, '{"gpu":[{"minor":0}]}')
            return asked()
        before = wait_for("a review", given_is_asked_about)
        change("others", "anything")
        change(DEVICES, '{"gpu":[{"minor":0}]}')
        self.assertEqual(asked(), before, "what leaves the devices as they are is asked about")
        if not os.environ.get("KOORD_KUBE_KUBECONFIG"):
            self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])
            return  # the sandbox has no users
        rules = {"author": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]}]}
        rules["binder"] = rules["author"] + [{"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]}]
        users = {}
        for user, granted in rules.items():
            rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/asked"
            self.make(f"{rbac}/roles", {"metadata": {"name": user}, "rules": granted})
            self.make(f"{rbac}/rolebindings", {
                "metadata": {"name": user}, "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
                "roleRef": {"kind": "Role", "name": user, "apiGroup": "rbac.authorization.k8s.io"}})
            users[user] = As(self.kubeconfig, user)
        wait_for("the author's rights", lambda: change("others", "mine", users["author"]).returncode == 0)
        for value in ('{"gpu":[{"minor":1}]}', None):
            refused = change(DEVICES, value, users["author"])
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("only the scheduler says which devices a pod is given, and user author may not bind pods", refused.stderr)
        for value in ('{"gpu":[{"minor":1}]}', None):
            told = wait_for("the binder's word", lambda value=value: change(DEVICES, value, users["binder"]).returncode == 0)
            self.assertTrue(told)
        self.assertNotIn("cannot be asked", manager.output())
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def attempt(self, name):
        try:
            return self.request("POST", f"{ASKED}/pods", pod(name))
        except kube_api.ApiError:
            return None

    def test_gates_and_switches(self):
        for flags in (("--feature-gates=WebhookFramework=false",), ("--webhook-port=0",)):
            manager = self.manager(*flags)
            wait_for("ready without them", lambda one=manager: self.ready(one))
            with self.assertRaises(OSError):
                socket.create_connection(("127.0.0.1", manager.webhooks), timeout=5)
            self.assertIsNone(self.get(SECRET))
            self.assertEqual(manager.terminate(), 0)
        manager = self.manager("--feature-gates=NodeMutatingWebhook=true,PodValidatingWebhook=false")
        wait_for("the entries of the gates", lambda: (sorted(self.entries("mutating")), sorted(self.entries("validating"))) ==
                 (["mnode-status", "mpod-create"], []))
        wait_for("ready", lambda: self.ready(manager))
        self.assertEqual(self.ask(manager, path="/validate-pod")[0], 404)
        self.assertEqual(manager.terminate(), 0)
        manager = self.manager()
        wait_for("the others", self.right)
        with self.subTest("a port that is taken ends the role, with words"):
            busy = self.manager(f"--webhook-port={manager.webhooks}")
            self.assertNotEqual(busy.child.wait(60), 0)
            self.assertIn("cannot listen on", busy.output())

    def test_who_means_no_good(self):
        manager = self.manager()
        wait_for("ready", lambda: self.ready(manager))
        big = json.loads(review())
        big["request"]["object"]["metadata"]["annotations"]["big"] = "x" * (3 << 20)
        status, answer = self.ask(manager, json.dumps(big).encode())
        self.assertEqual((status, json.loads(answer)["response"]["allowed"]), (200, True))
        deep = review().replace(b'"kept": "as it is"', b'"kept": ' + b"[" * 5000 + b"]" * 5000)
        cases = [
            (self.ask(manager, review()[:-20]), 200, "line 1"),
            (self.ask(manager, b""), 200, "request body is empty"),
            (self.ask(manager, b"\x00\xff" * 1000), 200, "line 1"),
            (self.ask(manager, deep), 200, "1000"),
            (self.ask(manager, kind="text/plain"), 200, "contentType=text/plain, expected application/json"),
            (self.ask(manager, b'{"kind":"Pod","apiVersion":"v1"}'), 200, "is not AdmissionReview"),
            (self.ask(manager, review(operation="PATCH")), 200, "operation"),
            (self.ask(manager, method="GET", body=b""), 405, "posted"),
            (self.ask(manager, path="/validate-nothing"), 404, "404 page not found"),
            (self.ask(manager, b" " * (8 << 20)), 413, ""),
        ]
        for (status, answer), expected, text in cases:
            self.assertEqual((status, text in answer), (expected, True), answer[:300])
            if expected == 200:
                self.assertEqual((json.loads(answer)["response"]["allowed"], json.loads(answer)["response"]["status"]["code"]), (False, 400))
        # Of a kind that nobody registered: upstream's handlers allow it, too.
        other = json.loads(review())
        other["request"]["resource"]["resource"] = "nobodys"
        self.assertEqual(json.loads(self.ask(manager, json.dumps(other).encode())[1])["response"]["allowed"], True)

        silent = [socket.create_connection(("127.0.0.1", manager.webhooks), timeout=20) for _ in range(300)]
        for one in silent[:50]:
            one.sendall(b"GET / HTTP/1.1\r\n\r\n")  # no TLS
        halves = [self.connect(manager) for _ in range(20)]
        for one in halves:  # a body that never ends
            one.sendall(b"POST /mutate-pod HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
        with self.assertRaises(ssl.SSLError):
            self.connect(manager, name="somebody.else")
        self.assertEqual(json.loads(self.ask(manager)[1])["response"]["allowed"], True)
        for one in silent + halves:
            one.close()
        self.assertTrue(self.ready(manager))
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)

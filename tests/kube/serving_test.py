#!/usr/bin/env python3
"""The manager's webhooks on a real API server of the test's own, which really asks: a definition and a right that go away while
it runs, configurations that are replaced, pods that slipped past, and its end. And who may look at its page."""
import json
import os
import signal
import ssl
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

import schedulers
from own_cluster import CLUSTER, own_cluster
from schedulers import wait_for

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "manager"))
import kube_api  # noqa: E402
import manager_test  # noqa: E402
from installed import NS, Installed  # noqa: E402
from sandbox import free_port  # noqa: E402

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = [f"{ADMISSION}/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration" for kind in ("mutating", "validating")]
PROFILE_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clustercolocationprofiles.config.koordinator.sh"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/koord-manager-role"
SECRET = f"/api/v1/namespaces/{NS}/secrets/koordinator-webhook-certs"
EVENTS = "/apis/events.k8s.io/v1/namespaces/users/events"
REPLACED = 5
RBAC = "/apis/rbac.authorization.k8s.io/v1"
VIEWERS = "koord-viewers"


class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder, cls.cluster, kubeconfig = own_cluster("serving")
        cls.installed = Installed(kubeconfig, cls.folder)
        cls.api, cls.made = cls.installed.api, 0
        cls.request("POST", "/api/v1/namespaces", {"metadata": {"name": "users"}})

    @classmethod
    def request(cls, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return cls.api.connect().request(method, path, body, kind)

    def begin(self, policy):
        # API servers here know no services, so that they are told an address. One that starts again on a busy machine may take
        # longer than a lease lasts.
        manager = manager_test.Manager(self.installed.account("koord-manager"), self.folder, f"--webhook-port={free_port()}",
                                       "--enable-leader-election=false",
                                       WEBHOOK_HOST="127.0.0.1", WEBHOOK_CERT_WRITER="secret",
                                       WEBHOOK_CERT_DIR=os.path.join(self.folder, "certificates"),
                                       WEBHOOK_CONFIGURATION_FAILURE_POLICY_PODS=policy)
        self.addCleanup(lambda: manager.child.poll() is None and manager.kill())
        return manager

    def start(self, policy="Ignore"):
        manager = self.begin(policy)
        wait_for("the manager is ready", lambda: self.ready(manager))
        wait_for("its entries", lambda: all(self.right(path, policy) for path in CONFIGURATIONS))
        return manager

    def ready(self, manager):
        return manager.get("/readyz", manager.probes)[0] == 200

    def right(self, path, policy=None):
        hooks = self.request("GET", path).get("webhooks", [])
        return hooks and all(hook["clientConfig"].get("caBundle") for hook in hooks) and (
            policy is None or hooks[0]["failurePolicy"] == policy)

    def pod(self, **labels):
        self.__class__.made += 1
        pod = schedulers.pod(f"pod-{self.made}", "default-scheduler", "users")
        pod["metadata"]["labels"] = labels
        return pod

    def create(self, **labels):
        """Why it was refused, or an empty text."""
        try:
            self.request("POST", "/api/v1/namespaces/users/pods", self.pod(**labels))
        except kube_api.ApiError as error:
            return error.body
        return ""

    def asks(self):
        """Whether reviews are asked and answered: an LSR pod with a part of a CPU is refused."""
        return "koordinator.sh/qosClass=LSR" in self.create(**{"koordinator.sh/qosClass": "LSR"})

    def restart_api_server(self):
        """Watches go on while a right is taken away; they end with their API server."""
        for verb in ("stop", "start"):
            subprocess.run([CLUSTER, f"{verb}-apiserver", self.cluster], check=True, stdout=subprocess.DEVNULL)

    def test_a_definition_and_a_right_that_go_away(self):
        manager = self.start("Ignore")
        wait_for("it is asked", self.asks)
        with self.subTest("a definition"):
            definition = self.request("GET", PROFILE_CRD)
            self.request("DELETE", PROFILE_CRD)
            end = time.monotonic() + 5
            while time.monotonic() < end:
                self.assertEqual(self.create(), "")
                self.assertTrue(self.asks())
                self.assertTrue(self.ready(manager))
        with self.subTest("a right, with Ignore"):
            role = self.request("GET", ROLE)
            without = [rule for rule in role["rules"] if rule["resources"] != ["namespaces"]]
            self.assertEqual(len(without), len(role["rules"]) - 1)
            self.request("PATCH", ROLE, {"rules": without})
            self.restart_api_server()
            wait_for("not ready", lambda: not self.ready(manager), 60)
            self.assertRegex(manager.get("/readyz", manager.probes)[1], r"webhook-informers failed: (.*; )?namespaces: forbidden since 20\d\d-")
            self.assertEqual(self.create(), "")
            # What needs no kind is decided as ever: an API server that has just begun lets one pass, as Ignore says, where it is slow.
            wait_for("it is asked", self.asks)
        manager.kill()
        with self.subTest("with Fail"):
            manager = self.begin("Fail")
            wait_for("its entries", lambda: all(self.right(path, "Fail") for path in CONFIGURATIONS))
            wait_for("a refusal that says why", lambda: "namespaces have not been followed since 20" in self.create(), 60)
            self.assertIn("is forbidden", self.create())
            self.assertFalse(self.ready(manager))
        with self.subTest("both again"):
            self.request("PATCH", ROLE, {"rules": role["rules"]})
            self.request("POST", PROFILE_CRD.rpartition("/")[0], {**definition, "metadata": {"name": definition["metadata"]["name"]}, "status": None})
            wait_for("ready", lambda: self.ready(manager), 60)
            self.assertEqual(self.create(), "")
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def replace(self):
        """Both as somebody who applies a file has them; seconds until the later is right again."""
        began = time.monotonic()
        for path in CONFIGURATIONS:
            self.request("PATCH", path, {"webhooks": []})
        wait_for("both are right again", lambda: all(self.right(path) for path in CONFIGURATIONS), 30)
        return time.monotonic() - began

    def test_configurations_that_are_replaced_are_right_again_within_a_second(self):
        manager = self.start()
        wait_for("it is asked", self.asks)
        took = [self.replace() for _ in range(REPLACED)]
        print("seconds until both are right again:", " ".join(f"{each:.2f}" for each in took))
        self.assertLess(max(took), 1)
        self.assertTrue(self.asks())
        with self.subTest("while a CA is new"):
            self.assertEqual(manager.terminate(), 0)  # who writes often rests longer: another that has not written
            manager = self.start()
            before = self.request("GET", SECRET)["data"]["ca-cert.pem"]
            self.request("DELETE", SECRET)

            def renewed():
                try:
                    return self.request("GET", SECRET)["data"]["ca-cert.pem"] != before
                except kube_api.ApiError:
                    return False
            wait_for("another CA", renewed)
            took = [self.replace() for _ in range(3)]
            print("and while a CA is new:", " ".join(f"{each:.2f}" for each in took))
            self.assertLess(max(took), 1)
            wait_for("it is asked", self.asks)
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])

    def test_pods_that_slipped_past_are_told_of_once(self):
        for path in CONFIGURATIONS:  # nobody is asked
            configuration = self.request("GET", path)
            self.request("PUT", path, {**configuration, "webhooks": []})
        broken, native = self.pod(**{"koordinator.sh/qosClass": "LSR"}), self.pod(**{"koordinator.sh/qosClass": "BE"})
        native["spec"]["priorityClassName"] = "koord-batch"
        for one in (broken, native):
            wait_for("a pod that nobody was asked about", lambda one=one: self.attempt(one))
        expected = {broken["metadata"]["name"]: "PodRuleBroken", native["metadata"]["name"]: "ResourcesNotTranslated"}

        def told():
            return sorted((event["regarding"]["name"], event["reason"]) for event in self.api.list(EVENTS)
                          if event["reportingController"] == "koord-manager" and event["regarding"]["name"] in expected)
        for _ in range(2):  # the second knows what the first has told
            manager = self.start()
            wait_for("both are told of", lambda: told() == sorted(expected.items()))
            wait_for("they are counted", lambda one=manager: all(
                f'slipped_pods_total{{rule="{rule}"}} ' in one.get("/metrics")[1] for rule in ("ClusterColocationProfile", "UntranslatedResources")))
            self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])
            self.assertNotIn("an event is lost", manager.output())
            self.assertEqual(told(), sorted(expected.items()))

    def attempt(self, pod):
        try:
            return self.request("POST", "/api/v1/namespaces/users/pods", pod)
        except kube_api.ApiError:
            return None

    def test_its_end_is_noticed_by_nobody_who_creates_pods(self):
        manager = self.start("Fail")
        wait_for("it is asked", self.asks)
        began = time.monotonic()
        manager.child.send_signal(signal.SIGTERM)
        wait_for("not ready", lambda: not self.ready(manager), 2)
        while time.monotonic() < began + 4:
            self.assertEqual(self.create(), "")
        self.assertEqual(manager.child.wait(15), 0)
        self.assertGreater(time.monotonic() - began, 5)  # the default

    def account_of(self, namespace):
        """The token of an account of that namespace, which is made."""
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        self.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "kim"}})
        return self.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/kim/token", {"spec": {}})["status"]["token"]

    def test_who_may_look_at_the_page(self):
        """The manager's rights are those of manifests-gates/ui.yaml, a viewer's those of docs/rights-and-ports.md."""
        self.installed.kubectl.run("apply", "-f", os.path.join(schedulers.HERE, "..", "..", "packaging", "manifests-gates", "ui.yaml"))
        self.request("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "koord-ui-viewer"}, "rules": [{"nonResourceURLs": ["/ui"], "verbs": ["get"]}]})
        self.request("POST", f"{RBAC}/clusterrolebindings", {
            "metadata": {"name": "koord-ui-viewers"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "koord-ui-viewer"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": f"system:serviceaccounts:{VIEWERS}"}]})
        viewer, stranger, port = self.account_of(VIEWERS), self.account_of("strangers"), free_port()
        manager = manager_test.Manager(self.installed.account("koord-manager"), self.folder, f"--ui=0.0.0.0:{port}", "--enable-leader-election=false")
        self.addCleanup(lambda: manager.child.poll() is None and manager.kill())
        anybody = ssl.create_default_context()
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE

        def asked(path, token=None, body=None):
            """(status, text)"""
            headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **({"Content-Type": "application/yaml"} if body else {})}
            try:
                with urllib.request.urlopen(urllib.request.Request(f"https://127.0.0.1:{port}/ui/{path}", body, headers), context=anybody, timeout=60) as answer:
                    return answer.status, answer.read()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read()
            except OSError:
                return 0, b""

        wait_for("the page", lambda: asked("", viewer)[0] == 200)
        for path, body in (("", None), ("data/groups", None), ("data/stream", None), ("data/node?name=n", None), ("data/what-if", b"kind: Pod")):
            for token, status in ((None, 401), ("nonsense", 401), (stranger, 403)):
                self.assertEqual(asked(path, token, body)[0], status, f"{path} with {token and token[:8]}")
        # Nothing is missing that the manager may not read.
        wait_for("all kinds", lambda: json.loads(asked("data/groups", viewer)[1])["unread"] == {})
        status, told = asked("data/what-if", viewer, b"kind: Pod\nspec: {containers: [{name: m, image: i}]}")
        self.assertEqual(status, 200, told)
        self.assertNotIn(b"may not list", told)
        self.request("DELETE", f"{RBAC}/clusterrolebindings/koord-ui-viewers")
        wait_for("who may no longer is refused", lambda: asked("", viewer)[0] == 403, 60)
        self.assertEqual(manager.terminate(), 0, manager.output()[-2000:])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""kube-scheduler and koord with the same HTTP extenders: what they are asked, what comes of their answers, and who is hurt
by one that is slow, wrong or dead."""
import collections
import http.server
import json
import os
import ssl
import tempfile
import threading
import time
import unittest

import schedulers
from schedulers import OURS, UPSTREAM

import kube_api
import kube_version
from webhook_server import certificate

NAMESPACE = "extenders"
NODES = [f"node-{index}" for index in range(4)]
TIMEOUT = 2  # seconds that the schedulers wait for an answer
MANAGED = "example.com/managed"


class Extender(http.server.ThreadingHTTPServer):
    """Answers by verb; every question is kept. A verb without an answer is refused. Over TLS only to clients with that
    certificate, where one is named."""
    daemon_threads = True

    def __init__(self, own=None, client=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked = {}, []
        if own:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*own)
            context.load_verify_locations(client[0])
            context.verify_mode = ssl.CERT_REQUIRED
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"http{'s' if own else ''}://127.0.0.1:{self.server_address[1]}/extender"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Whoever asked has not waited for the answer."""

    def of(self, verb, pod):
        return [body for name, body in list(self.asked)
                if name == verb and (body.get("Pod") or {}).get("metadata", {}).get("name", body.get("PodName")) == pod]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.rsplit("/", 1)[1]
        self.server.asked.append((verb, body))
        answer = self.server.answers.get(verb, lambda _: None)(body)
        data = json.dumps(answer).encode()
        self.send_response(500 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def names_of(body):
    return body["NodeNames"] or [node["metadata"]["name"] for node in body["Nodes"]["items"]]


class Extenders(unittest.TestCase):
    def setUp(self):
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(self.api, NAMESPACE, "koordinator-system")
        schedulers.clean(self.api, [NAMESPACE])
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        self.watch.wait("an empty namespace", lambda pods: not pods)
        self.api.load([schedulers.node(name, more={MANAGED: "10"}) for name in NODES])
        self.addCleanup(schedulers.clean, self.api, [NAMESPACE])
        self.extender = self.serve()

    def serve(self, *certificates):
        extender = Extender(*certificates)
        self.addCleanup(extender.server_close)
        self.addCleanup(extender.shutdown)
        return extender

    def start(self, *extenders):
        """Both schedulers with these extenders, as processes that end with the test."""
        started = []
        for name, start in ((UPSTREAM, schedulers.kube_scheduler), (OURS, schedulers.koord)):
            config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                      "leaderElection": {"leaderElect": False}, "clientConnection": {"kubeconfig": schedulers.KUBECONFIG},
                      "profiles": [{"schedulerName": name}],
                      "extenders": [{"urlPrefix": self.extender.url, "httpTimeout": f"{TIMEOUT}s", **each} for each in extenders]}
            file = tempfile.NamedTemporaryFile("w", suffix=".yaml")  # pylint: disable=consider-using-with
            self.addCleanup(file.close)
            json.dump(config, file)
            file.flush()
            semantics = ["--koordinator-semantics=false"] if name == OURS else []
            process = start(f"--config={file.name}", *semantics)
            self.addCleanup(process.end)
            started.append(process)
        return started

    def both(self, name, **spec):
        """The verdicts of both on two such pods."""
        created = {scheduler: schedulers.pod(f"{name}-{scheduler}", scheduler, NAMESPACE, **spec) for scheduler in (UPSTREAM, OURS)}
        self.api.load(list(created.values()))
        return [self.watch.verdict(f"{name}-{scheduler}") for scheduler in (UPSTREAM, OURS)]

    def managed(self, **spec):
        containers = [{"name": "main", "image": "none", "resources": {"requests": {MANAGED: "1"}, "limits": {MANAGED: "1"}}}]
        return {"containers": containers, **spec}

    def test_filter_prioritize_and_refusal(self):
        cacheable = {"nodeCacheCapable": True}
        self.start({"filterVerb": "filter", "prioritizeVerb": "rank", "weight": 5, **cacheable})
        self.extender.answers["filter"] = lambda body: {
            "NodeNames": [name for name in names_of(body) if name != NODES[0]], "FailedNodes": {NODES[0]: "out of order"}}
        self.extender.answers["rank"] = lambda body: [{"Host": name, "Score": 10 if name == NODES[2] else 0} for name in names_of(body)]
        self.assertEqual(self.both("scored"), [("scheduled", NODES[2])] * 2)
        questions = [self.extender.of("filter", f"scored-{scheduler}")[0] for scheduler in (UPSTREAM, OURS)]
        for question in questions:
            self.assertEqual(sorted(question["NodeNames"]), NODES)
            self.assertIsNone(question["Nodes"])
            self.assertEqual(question["Pod"]["spec"]["containers"][0]["image"], "none")
        self.extender.answers["filter"] = lambda body: {"NodeNames": [], "FailedNodes": {name: "no mood" for name in names_of(body)[1:]},
                                                        "FailedAndUnresolvableNodes": {names_of(body)[0]: "broken"}}
        upstream, ours = self.both("refused")
        self.assertEqual(upstream[0], "Unschedulable")
        self.assertIn("1 broken", ours[1])
        if kube_version.minor() == kube_version.USUAL:  # others have other words of claims between the two
            self.assertEqual(ours[1].split(" preemption:")[0], upstream[1].split(" preemption:")[0])

    def test_nodes_instead_of_names_and_resources_that_it_manages(self):
        self.start({"filterVerb": "filter", "managedResources": [{"name": MANAGED, "ignoredByScheduler": True}]})
        self.extender.answers["filter"] = lambda body: {
            "Nodes": {"items": [node for node in body["Nodes"]["items"] if node["metadata"]["name"] == NODES[1]]}}
        self.assertEqual([kind for kind, _ in self.both("plain")], ["scheduled"] * 2)
        self.assertEqual(self.extender.asked, [])
        wanted = self.managed()
        wanted["containers"][0]["resources"] = {"requests": {MANAGED: "99"}, "limits": {MANAGED: "99"}}
        self.assertEqual(self.both("managed", **wanted), [("scheduled", NODES[1])] * 2)

    def test_one_that_fails_hurts_those_that_need_it_and_nobody_else(self):
        self.start({"filterVerb": "filter", "nodeCacheCapable": True, "managedResources": [{"name": MANAGED}]})
        upstream, ours = self.both("failed", **self.managed())
        self.assertEqual(upstream[0], "SchedulerError")
        self.assertEqual(ours, upstream)
        release = threading.Event()
        self.addCleanup(release.set)

        def hang(body):
            release.wait(30)
            return {"NodeNames": names_of(body)}

        self.extender.answers["filter"] = hang
        self.api.load([schedulers.pod(f"slow-{index}", OURS, NAMESPACE, **self.managed()) for index in range(10)])
        schedulers.wait_for("a question", lambda: self.extender.of("filter", "slow-0"))
        began = time.monotonic()
        self.api.load([schedulers.pod(f"quick-{index}", OURS, NAMESPACE) for index in range(20)])
        for index in range(20):
            self.watch.wait_scheduled(f"quick-{index}")
        self.assertLess(time.monotonic() - began, TIMEOUT)
        self.assertIn("context deadline exceeded", self.watch.verdict("slow-0")[1])
        release.set()
        for index in range(10):
            self.watch.wait_scheduled(f"slow-{index}")

    def test_over_tls_both_sides_say_who_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            own, client, other = (certificate(folder, name, "IP:127.0.0.1") for name in ("own", "client", "other"))
            self.extender = self.serve(own, client)
            self.extender.answers["filter"] = lambda body: {"NodeNames": [NODES[3]]}
            asks = {"filterVerb": "filter", "nodeCacheCapable": True, "enableHTTPS": True,
                    "managedResources": [{"name": MANAGED}]}
            known = {"caFile": own[0], "certFile": client[0], "keyFile": client[1]}
            cases = {"known": known, "a CA of somebody else": {**known, "caFile": other[0]},
                     "a client of somebody else": {**known, "certFile": other[0], "keyFile": other[1]}}
            for index, (name, tls) in enumerate(cases.items()):
                with self.subTest(name):
                    started = self.start({**asks, "tlsConfig": tls})
                    verdicts = self.both(f"tls-{index}", **self.managed())
                    if tls is known:
                        self.assertEqual(verdicts, [("scheduled", NODES[3])] * 2)
                    else:
                        self.assertEqual([kind for kind, _ in verdicts], ["SchedulerError"] * 2)
                        self.assertEqual(self.extender.of("filter", f"tls-{index}-{OURS}"), [])
                    for process in started:
                        process.end()

    def test_one_that_has_a_say_in_who_is_preempted(self):
        """Of the nodes on which somebody could go, those that it leaves."""
        for name, value in (("extenders-low", 1), ("extenders-high", 100)):
            self.api.load([{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                            "value": value}])
            self.addCleanup(self.api.connect().request, "DELETE", f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")
        self.start({"filterVerb": "filter", "preemptVerb": "preempt", "nodeCacheCapable": True})
        self.extender.answers["filter"] = lambda body: {"NodeNames": names_of(body)}
        self.api.load([schedulers.pod(f"low-{node}", OURS, NAMESPACE, "3500m", priorityClassName="extenders-low",
                                      terminationGracePeriodSeconds=0, nodeName=node) for node in NODES])
        self.watch.wait("all nodes taken", lambda pods: len(pods) == len(NODES))
        for scheduler, left in ((UPSTREAM, NODES[1]), (OURS, NODES[2])):
            self.extender.answers["preempt"] = lambda body, left=left: {
                "NodeNameToMetaVictims": {left: body["NodeNameToMetaVictims"][left]}}
            high = f"high-{scheduler}"
            self.api.load([schedulers.pod(high, scheduler, NAMESPACE, "3", priorityClassName="extenders-high")])
            self.watch.wait_scheduled(high)
            question = self.extender.of("preempt", high)[0]
            self.assertLessEqual({left}, set(question["NodeNameToMetaVictims"]))
            self.assertEqual([len(victims["Pods"]) for victims in question["NodeNameToMetaVictims"].values()],
                             [1] * len(question["NodeNameToMetaVictims"]))
            self.watch.wait("its victim goes", lambda pods, left=left: f"low-{left}" not in pods)
            self.assertEqual(self.watch.wait("where it is", lambda pods, high=high: pods[high]["spec"].get("nodeName")), left)

    def test_one_that_may_be_ignored_and_one_that_binds(self):
        dead = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter", "ignorable": True}
        self.start(dead, {"bindVerb": "bind"})
        bound = collections.Counter()

        def bind(body):
            bound[body["PodName"]] += 1
            self.api.connect().request("POST", f"/api/v1/namespaces/{body['PodNamespace']}/pods/{body['PodName']}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": body["PodName"], "uid": body["PodUID"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": body["Node"]}})
            return {}

        self.extender.answers["bind"] = bind
        self.assertEqual([kind for kind, _ in self.both("bound")], ["scheduled"] * 2)
        self.assertEqual(bound, {f"bound-{scheduler}": 1 for scheduler in (UPSTREAM, OURS)})


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER)
    unittest.main(verbosity=2, warnings="ignore")

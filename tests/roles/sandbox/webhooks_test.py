#!/usr/bin/env python3
"""Admission webhooks as an API server calls them: scenarios, and what each answers; on the sandbox, and (by
tests/kube/webhooks_test.py) on a real kube-apiserver, whose answers have to be the same.

usage: webhooks_test.py SERVE      starts the sandbox program SERVE for itself
"""
import base64
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import kube_api  # noqa: E402
from sandbox import free_port, served, wait_for  # noqa: E402
from webhook_server import WebhookServer, certificate, script  # noqa: E402

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
MERGE = "application/merge-patch+json"
FAILED = 'Internal error occurred: failed calling webhook "{}.example.com": '


def pod(name="p", **metadata):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"containers": [{"name": "c", "image": "busybox"}]}}


def hook(name, path, **more):
    """A webhook that is asked about pods; `rules` of its own replace that."""
    return {"name": f"{name}.example.com", "path": path, **more}


def rule(resources, operations=("*",), groups=("*",), versions=("*",), **more):
    return {"apiGroups": list(groups), "apiVersions": list(versions), "operations": list(operations),
            "resources": list(resources), **more}


WIDGETS = "/apis/example.com/{}/namespaces/{{ns}}/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {
    "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1},
                                              "colour": {"type": "string", "default": "red"}}},
    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}
CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
       "metadata": {"name": "widgets.example.com"},
       "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": name, "served": True, "storage": name == "v1", "subresources": {"status": {}},
                              "schema": SCHEMA} for name in ("v1", "v1beta1")]}}


def widget(version):
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}


class Scenario:
    """Webhooks, and one request in a namespace of their own. `{ns}` in paths is that namespace. `message` is a part of
    the answer's; `loose`: what both servers say in words of their own is not compared."""

    def __init__(self, name, mutating=(), validating=(), before=(), do=None, status=201, message="", asked=None,
                 warnings=None, check=None, loose=False, labels=None):
        self.name, self.mutating, self.validating, self.before = name, mutating, validating, before
        self.method, self.path, self.body, *rest = do or ("POST", "/api/v1/namespaces/{ns}/pods", pod())
        self.content_type = rest[0] if rest else "application/json"
        self.status, self.message, self.asked, self.warnings, self.check = status, message, asked, warnings, check
        self.loose, self.labels = loose, labels
        self.ns = f"hooks-{name}"


PODS = "/api/v1/namespaces/{ns}/pods"
MADE = [("POST", PODS, pod())]
BINDING = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "none"}}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
REPLICAS = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}},
                     "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}}}
SETS = "/apis/apps/v1/namespaces/{ns}/replicasets"


def event(ns):
    return {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Normal", "reason": "R",
            "action": "A", "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "test.example.com/c",
            "reportingInstance": "i", "regarding": {"kind": "Pod", "name": "p", "namespace": ns}}


def failure(name, path, message, status=500, **more):
    """A webhook that must answer and does not, as it should."""
    return Scenario(name, mutating=[hook("m", path, **more)], status=status, message=message)


def labelled(*keys):
    def check(answer):
        labels = answer["metadata"].get("labels") or {}
        assert sorted(labels) == sorted(keys), labels
    return check


def conditions(*expressions, **more):
    return {"matchConditions": [{"name": f"c{number}", "expression": text} for number, text in enumerate(expressions)], **more}


MISSING = "object.spec.zz == 1"
BROKEN = f'pods "p" is forbidden: expression \'{MISSING}\' resulted in error: no such key: zz'
CONDITIONS = [
    Scenario(f"condition-{kind}-{name}", **{kind: [hook("h", "/allow", **conditions(*expressions, **more))]}, status=status,
             message=message, asked=asked)
    for kind in ("mutating", "validating")
    for name, expressions, more, status, message, asked in [
        ("true", ["object.metadata.name == 'p'", "request.operation == 'CREATE' && request.resource.resource == 'pods'"], {}, 201, "",
         ["/allow"]),
        ("request", ["request.kind.kind == 'Pod' && request.namespace.startsWith('hooks-') && !request.dryRun && oldObject == null"], {},
         201, "", ["/allow"]),
        ("false", ["true", "object.metadata.name == 'q'"], {}, 201, "", []),
        ("missing-label", ["has(object.metadata.labels) && 'a' in object.metadata.labels"], {}, 201, "", []),
        ("containers", ["object.spec.containers.all(c, c.image.contains('busy'))"], {}, 201, "", ["/allow"]),
        ("error", [MISSING], {}, 403, BROKEN, []),
        ("error-ignored", [MISSING], {"failurePolicy": "Ignore"}, 201, "", []),
        ("error-false", [MISSING, "false"], {}, 201, "", []),
        ("error-true", [MISSING, "true"], {}, 403, BROKEN, []),
        ("errors", [MISSING, "object.a == 1"], {}, 403, "is forbidden: [expression 'object.spec.zz == 1' resulted in error", []),
        ("cost", ["lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))"], {}, 403,
         "operation cancelled: actual cost limit exceeded", []),
    ]
]

SCENARIOS = CONDITIONS + [
    Scenario("allow", mutating=[hook("m", "/allow")], validating=[hook("v", "/allow")], asked=["/allow", "/allow"]),
    Scenario("deny", mutating=[hook("m", "/deny/no%20way")], status=400,
             message='admission webhook "m.example.com" denied the request: no%20way', asked=["/deny/no%20way"]),
    Scenario("deny-mute", validating=[hook("v", "/deny-mute")], status=400,
             message='admission webhook "v.example.com" denied the request without explanation'),
    Scenario("deny-code", validating=[hook("v", "/deny-code/403")], status=403, message="denied the request: no"),
    Scenario("deny-low-code", validating=[hook("v", "/deny-code/301")], status=400, message="denied the request: no"),
    Scenario("deny-reason", mutating=[hook("m", "/deny-reason/Because")], status=400, message="denied the request: Because"),
    Scenario("deny-ignore", mutating=[hook("m", "/deny", failurePolicy="Ignore")], status=400, message="not here"),
    Scenario("order", mutating=[hook("b", "/label/one"), hook("a", "/label/two")], validating=[hook("v", "/allow")],
             asked=["/label/one", "/label/two", "/allow"], check=labelled("one", "two")),
    Scenario("reinvoke", mutating=[hook("a", "/once/a", reinvocationPolicy="IfNeeded"), hook("b", "/once/b")],
             asked=["/once/a", "/once/b", "/once/a"], check=labelled("a", "a-again", "b")),
    Scenario("reinvoke-never", mutating=[hook("a", "/once/a"), hook("b", "/once/b")], asked=["/once/a", "/once/b"]),
    Scenario("reinvoke-both", mutating=[hook("a", "/once/a", reinvocationPolicy="IfNeeded"),
                                        hook("b", "/once/b", reinvocationPolicy="IfNeeded")],
             asked=["/once/a", "/once/b", "/once/a", "/once/b"]),
    Scenario("refused-after", mutating=[hook("m", script([{"op": "replace", "path": "/spec/containers", "value": []}]))],
             status=422, message='Pod "p" is invalid: spec.containers: Required value'),
    Scenario("other-namespace", mutating=[hook("m", script([{"op": "replace", "path": "/metadata/namespace", "value": "x"}]))],
             status=400, message="does not match the namespace"),
    Scenario("other-name", mutating=[hook("m", script([{"op": "replace", "path": "/metadata/name", "value": "x"}]))],
             check=lambda answer: answer["metadata"]["name"] == "x" or 1 / 0),
    Scenario("generated", mutating=[hook("m", "/label/x")], validating=[hook("v", "/allow")],
             do=("POST", PODS, {**pod(), "metadata": {"generateName": "p-"}}), asked=["/label/x", "/allow"]),
    Scenario("warn", mutating=[hook("m", "/warn/one")], validating=[hook("v", "/warn/two")],
             warnings=['299 - "one"', '299 - "say \\"it\\""', '299 - "two"']),
    Scenario("warn-deny", validating=[hook("v", "/warn-deny/one")], status=400, warnings=['299 - "one"']),
    # what does not answer as it should
    failure("status-500", "/status/500/boom", FAILED.format("m") + 'failed to call webhook: an error on the server ("boom")'),
    failure("status-404", "/status/404/x", FAILED.format("m") + "failed to call webhook: the server could not find"),
    failure("status-403", "/status/403/x", FAILED.format("m") + "failed to call webhook: "),
    failure("status-302", "/status/302/x", FAILED.format("m") + "failed to call webhook: "),
    failure("ignored", "/status/500/boom", "", 201, failurePolicy="Ignore"),
    failure("hang", "/hang", FAILED.format("m") + "failed to call webhook: ", timeoutSeconds=1),
    failure("hang-ignored", "/hang", "", 201, timeoutSeconds=1, failurePolicy="Ignore"),
    failure("close", "/close", FAILED.format("m") + "failed to call webhook: "),
    failure("html", "/html", FAILED.format("m") + "failed to call webhook: "),
    failure("empty", "/raw/", FAILED.format("m") + "failed to call webhook: "),
    failure("absent", "/absent", FAILED.format("m") + "received invalid webhook response: webhook response was absent"),
    failure("wrong-uid", "/wrong-uid", FAILED.format("m") + "received invalid webhook response: expected response.uid="),
    failure("wrong-type", "/wrong-type", FAILED.format("m") + "failed to call webhook: json: cannot unmarshal string"),
    failure("untyped", "/patch-untyped", FAILED.format("m") + "received invalid webhook response: webhook returned"),
    failure("type-alone", "/type-alone", FAILED.format("m") + "received invalid webhook response: webhook returned"),
    failure("other-patch", "/patch-other", FAILED.format("m") + "unsupported patch type"),
    failure("patch-object", "/patch-object", FAILED.format("m") + "received undecodable patch"),
    failure("refused", "closed", FAILED.format("m") + "failed to call webhook: "),
    failure("unknown-ca", "unknown-ca", FAILED.format("m") + "failed to call webhook: "),
    Scenario("garbage", mutating=[hook("m", "/raw/garbage")], status=500, message="couldn't get version/kind"),
    Scenario("patch-garbage", mutating=[hook("m", "/patch-garbage")], status=500, message="received undecodable patch", loose=True),
    Scenario("patch-garbage-ignored", mutating=[hook("m", "/patch-garbage", failurePolicy="Ignore")]),
    Scenario("patch-base64", mutating=[hook("m", "/patch-base64")], status=500, message="illegal base64", loose=True),
    Scenario("inapplicable", mutating=[hook("m", script([{"op": "remove", "path": "/none"}]), failurePolicy="Ignore")],
             status=500, loose=True),
    Scenario("patch-validating", validating=[hook("v", "/label/x")], status=500,
             message="validating webhook may not return response.patch"),
    Scenario("v1beta1", mutating=[hook("m", "/label/x", admissionReviewVersions=["v1beta1", "v1"])],
             check=labelled("x")),
    Scenario("v1beta1-uid", mutating=[hook("m", "/wrong-uid", admissionReviewVersions=["v1beta1"])]),
    Scenario("other-versions", mutating=[hook("m", "/label/x", admissionReviewVersions=["v9", "v1"])], check=labelled("x")),
    Scenario("big", mutating=[hook("m", "/patch-big")], status=422, message="Too long: may not be more than 262144 bytes"),
    # who is asked
    Scenario("update", mutating=[hook("m", "/label/x", rules=[rule(["pods"], ["UPDATE"])])], before=MADE, status=200,
             do=("PATCH", PODS + "/p", {"metadata": {"annotations": {"a": "b"}}}, MERGE), asked=["/label/x"]),
    Scenario("update-refused", mutating=[hook("m", script([{"op": "replace", "path": "/metadata/name", "value": "x"}]),
                                              rules=[rule(["pods"], ["UPDATE"])])], before=MADE, status=422,
             do=("PATCH", PODS + "/p", {"metadata": {"annotations": {"a": "b"}}}, MERGE), loose=True),
    Scenario("delete", validating=[hook("v", "/deny", rules=[rule(["pods"], ["DELETE"])])], before=MADE, status=400,
             do=("DELETE", PODS + "/p", None), asked=["/deny"]),
    Scenario("delete-patched", mutating=[hook("m", script([{"op": "add", "path": "/a", "value": 1}]),
                                              rules=[rule(["pods"], ["DELETE"])])], before=MADE, status=500,
             do=("DELETE", PODS + "/p", None), message="attempted to modify the object"),
    Scenario("delete-all", validating=[hook("v", "/deny", rules=[rule(["pods"], ["DELETE"])])], before=MADE, status=400,
             do=("DELETE", PODS, None), asked=["/deny"]),
    Scenario("delete-none", validating=[hook("v", "/deny")], status=404, do=("DELETE", PODS + "/none", None), asked=[]),
    Scenario("status", validating=[hook("v", "/allow", rules=[rule(["pods/status"])])], before=MADE, status=200,
             do=("PATCH", PODS + "/p/status", {"status": {"reason": "r"}}, MERGE), asked=["/allow"]),
    Scenario("status-not", validating=[hook("v", "/deny")], status=200, asked=[],
             do=("PATCH", PODS + "/p/status", {"status": {"reason": "r"}}, MERGE),
             before=[("POST", PODS, pod(labels={"spare": "me"}))]),
    Scenario("binding", validating=[hook("v", "/deny", rules=[rule(["pods/binding"])])], before=MADE, status=400,
             do=("POST", PODS + "/p/binding", BINDING), asked=["/deny"]),
    Scenario("bindings", validating=[hook("v", "/deny", rules=[rule(["bindings"])])], before=MADE, status=400,
             do=("POST", "/api/v1/namespaces/{ns}/bindings", BINDING), asked=["/deny"]),
    Scenario("eviction", validating=[hook("v", "/deny", rules=[rule(["pods/*"])])], before=MADE, status=400,
             do=("POST", PODS + "/p/eviction", EVICTION), asked=["/deny"]),
    Scenario("scale", mutating=[hook("m", script([{"op": "replace", "path": "/spec/replicas", "value": 0}]),
                                     rules=[rule(["*/scale"])])], before=[("POST", SETS, REPLICAS)], status=200,
             do=("PATCH", SETS + "/r/scale", {"spec": {"replicas": 5}}, MERGE),
             check=lambda answer: answer["spec"].get("replicas", 0) == 0 or 1 / 0),
    Scenario("connect", validating=[hook("v", "/deny", objectSelector={}, rules=[rule(["pods/exec"], ["CONNECT"])])], before=MADE, status=400,
             do=("POST", PODS + "/p/exec?command=ls&container=c&stdout=true", None), asked=["/deny"]),
    Scenario("wildcard", validating=[hook("v", "/deny", rules=[rule(["*"], ["CREATE"], [""], ["v1"])])], status=400,
             asked=["/deny"]),
    Scenario("other-group", validating=[hook("v", "/deny", rules=[rule(["*"], ["CREATE"], ["apps"])])], asked=[]),
    Scenario("scope", validating=[hook("v", "/deny", rules=[rule(["*"], scope="Cluster")],
                                       objectSelector={"matchLabels": {"scope": "yes"}})],
             do=("POST", PODS, pod(labels={"scope": "yes"})), asked=[]),
    Scenario("equivalent", validating=[hook("v", "/deny", rules=[rule(["events"], groups=[""], versions=["v1"])])],
             do=("POST", "/apis/events.k8s.io/v1/namespaces/{ns}/events", event("hooks-equivalent")), status=400, asked=["/deny"]),
    Scenario("exact", validating=[hook("v", "/deny", matchPolicy="Exact",
                                       rules=[rule(["events"], groups=[""], versions=["v1"])])],
             do=("POST", "/apis/events.k8s.io/v1/namespaces/{ns}/events", event("hooks-exact")), asked=[]),
    Scenario("custom", mutating=[hook("m", script([{"op": "replace", "path": "/spec/size", "value": 7}]),
                                      rules=[rule(["widgets"], groups=["example.com"], versions=["v1"])])],
             do=("POST", WIDGETS.format("v1beta1"), widget("v1beta1")), asked=None,
             check=lambda answer: answer["apiVersion"] == "example.com/v1beta1" and answer["spec"] == {
                 "size": 7, "colour": "red"} or 1 / 0),
    Scenario("custom-exact", mutating=[hook("m", "/deny", matchPolicy="Exact",
                                            rules=[rule(["widgets"], groups=["example.com"], versions=["v1"])])],
             do=("POST", WIDGETS.format("v1beta1"), widget("v1beta1")), asked=[]),
    Scenario("custom-refused", mutating=[hook("m", script([{"op": "replace", "path": "/spec/size", "value": 0}]),
                                              rules=[rule(["widgets"])])],
             do=("POST", WIDGETS.format("v1"), widget("v1")), status=422, message="should be greater than or equal to 1"),
    Scenario("custom-unknown", mutating=[hook("m", script([{"op": "add", "path": "/spec/unknown", "value": 1},
                                                           {"op": "remove", "path": "/spec/colour"}]),
                                              rules=[rule(["widgets"])])], do=("POST", WIDGETS.format("v1"), widget("v1"))),
    Scenario("custom-scale", validating=[hook("v", "/deny", rules=[rule(["widgets/status"])])], asked=["/deny"], status=400,
             before=[("POST", WIDGETS.format("v1"), widget("v1"))],
             do=("PATCH", WIDGETS.format("v1") + "/w/status", {"status": {"a": 1}}, MERGE)),
    Scenario("object-selector", validating=[hook("v", "/deny", objectSelector={"matchLabels": {"a": "b"}})], asked=[]),
    Scenario("object-selected", validating=[hook("v", "/deny", objectSelector={"matchExpressions": [
        {"key": "a", "operator": "Exists"}]})], do=("POST", PODS, pod(labels={"a": "c"})), status=400, asked=["/deny"]),
    Scenario("namespace-label", validating=[hook("v", "/deny", namespaceSelector={"matchLabels": {"team": "t"}})],
             labels={"team": "t"}, status=400, asked=["/deny"]),
    Scenario("kube-system", validating=[hook("v", "/deny", rules=[rule(["configmaps"])], objectSelector={"matchLabels": {"k": "s"}},
                                             namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}})],
             do=("POST", "/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": "k", "labels": {"k": "s"}}}),
             status=400, asked=["/deny"]),
    Scenario("exempt", validating=[hook("v", "/deny", rules=[rule(["*/*"])], objectSelector={"matchLabels": {"exempt": "yes"}})],
             do=("POST", CONFIGURATIONS.format("mutating"), {"metadata": {"name": "exempt", "labels": {"exempt": "yes"}}}),
             asked=[]),
    Scenario("cluster", validating=[hook("v", "/deny", rules=[rule(["priorityclasses"], scope="Cluster")],
                                         objectSelector={"matchLabels": {"cluster": "yes"}})],
             do=("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
                 {"metadata": {"name": "c", "labels": {"cluster": "yes"}}, "value": 1}), status=400, asked=["/deny"]),
    Scenario("namespace", validating=[hook("v", "/deny", rules=[rule(["namespaces"])],
                                           namespaceSelector={"matchLabels": {"new": "yes"}})],
             do=("POST", "/api/v1/namespaces", {"metadata": {"name": "new", "labels": {"new": "yes"}}}), status=400,
             asked=["/deny"]),
    Scenario("dry-run", mutating=[hook("m", "/label/x")], do=("POST", PODS + "?dryRun=All", pod()), asked=["/label/x"]),
    Scenario("missing-namespace", mutating=[hook("m", "/label/x")], do=("POST", "/api/v1/namespaces/nowhere/pods", pod()),
             status=404, asked=[]),
    Scenario("exists", mutating=[hook("m", "/allow", rules=[rule(["configmaps"])])], status=409, asked=["/allow", "/allow"],
             before=[("POST", "/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": "c"}})],
             do=("POST", "/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": "c"}})),
]

# Configurations that are refused, and why: bodies of one validating webhook and a part of the answer.
WRONG = [
    {"name": "w"}, {"name": ""}, {"name": "W.example.com"}, {"timeoutSeconds": 0}, {"timeoutSeconds": 31},
    {"failurePolicy": "Maybe"}, {"matchPolicy": "Some"}, {"sideEffects": "Some"}, {"sideEffects": None},
    {"admissionReviewVersions": []}, {"admissionReviewVersions": ["v9"]}, {"admissionReviewVersions": ["v1", "v1"]},
    {"admissionReviewVersions": ["V1", "v1"]},
    {"clientConfig": {}}, {"clientConfig": {"url": "http://x/"}}, {"clientConfig": {"url": "https://u:p@x/?a=b#c"}},
    {"clientConfig": {"url": "https:///x"}},
    {"clientConfig": {"service": {"name": "", "namespace": "b"}}}, {"clientConfig": {"service": {"name": "a", "namespace": ""}}},
    {"clientConfig": {"service": {"name": "a", "namespace": "b", "port": 70000}}},
    {"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "x"}}},
    {"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "/x//Y/"}}},
    {"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "//"}}},
    {"rules": [rule([])]}, {"rules": [rule(["pods"], [])]}, {"rules": [rule(["pods"], ["*", "CREATE"])]},
    {"rules": [rule(["pods"], ["GET"])]}, {"rules": [rule(["pods"], groups=["*", "a"])]},
    {"rules": [rule(["pods"], versions=["*", "a"])]}, {"rules": [rule(["pods"], versions=[""])]},
    {"rules": [rule(["pods"], scope="World")]}, {"rules": [rule(["pods/*", "pods/x", "*/x", "a/x", ""])]},
    {"rules": [rule(["*/*", "pods"])]}, {"rules": [rule(["*", "pods"])]},
    {"namespaceSelector": {"matchLabels": {"a b": "c"}}},
    conditions("object.x =="), conditions("request.foo == 1"), conditions("object.x"), conditions("1"), conditions(""),
    conditions("zz == 1"), conditions("object.metadata.name.foo()"), conditions("request.name + 1 == 2"),
    {"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}, {"name": "", "expression": "true"},
                         {"name": "a b", "expression": "true"}]},
    {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "b", "operator": "Exists", "values": ["c"]},
                                             {"key": "c", "operator": "Maybe"}, {"key": "a", "operator": "In", "values": ["b d"]}]}},
]


class Runner:
    """The scenarios on one API server, and what came of each: a list of dictionaries."""

    def __init__(self, kubeconfig, server, folder):
        self.api, self.server = kube_api.Api(kubeconfig), server
        self.connection = self.api.connect()
        self.closed = free_port()
        with open(certificate(folder, "other", "IP:127.0.0.1")[0], "rb") as file:
            self.other_ca = base64.b64encode(file.read()).decode()

    def request(self, method, path, body=None, content_type="application/json"):
        """Status, answer, Warning headers."""
        http = self.connection.http
        http.request(method, path, None if body is None else json.dumps(body), {
            "Authorization": f"Bearer {self.api.token}", "Accept": "application/json", "Content-Type": content_type})
        response = http.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text[:1] == b"{" else text.decode(), response.headers.get_all("Warning") or []

    def webhook(self, scenario, one):
        path = one.pop("path")
        client = {"url": self.server.url + path, "caBundle": self.server.ca}
        if path == "closed":
            client["url"] = f"https://127.0.0.1:{self.closed}/x"
        if path == "unknown-ca":
            client = {"url": self.server.url + "/allow", "caBundle": self.other_ca}
        own = {"matchLabels": {"kubernetes.io/metadata.name": scenario.ns}}
        return {"clientConfig": client, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "namespaceSelector": own, "rules": [rule(["pods"])],
                "objectSelector": {"matchExpressions": [{"key": "spare", "operator": "DoesNotExist"}]}, **one}

    def prepare(self):
        """Namespaces and what must be there, then all configurations; each kind's last one tells that they are seen."""
        status, answer, _ = self.request("POST", CRDS, CRD)
        assert status == 201, answer
        wait_for("widgets", lambda: self.request("GET", WIDGETS.format("v1beta1").format(ns="default"))[0] == 200)
        for scenario in SCENARIOS:
            space = {"metadata": {"name": scenario.ns, "labels": scenario.labels or {}}}
            status, answer, _ = self.request("POST", "/api/v1/namespaces", space)
            assert status == 201, answer
            for method, path, body in scenario.before:
                if scenario.name == "exists":
                    continue  # is asked about, too
                status, answer, _ = self.request(method, path.format(ns=scenario.ns), body)
                assert status == 201, answer
        for kind in ("mutating", "validating"):
            for scenario in SCENARIOS:
                hooks = [self.webhook(scenario, dict(one)) for one in getattr(scenario, kind)]
                if hooks:
                    self.configure(kind, scenario.ns, hooks)
            self.configure(kind, "probe", [self.webhook(SCENARIOS[0], {
                **hook("probe", "/deny/seen"), "namespaceSelector": {}, "objectSelector": {"matchLabels": {"probe": kind}},
                "rules": [rule(["configmaps"])]})])
            probe = {"metadata": {"name": "probe", "labels": {"probe": kind}}}
            wait_for(f"{kind} webhooks to be seen", lambda: self.request(
                "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", probe)[0] == 400)

    def configure(self, kind, name, hooks):
        status, answer, _ = self.request("POST", CONFIGURATIONS.format(kind), {"metadata": {"name": name}, "webhooks": hooks})
        assert status == 201, answer

    def run(self, scenario):
        if scenario.name == "exists":
            for method, path, body in scenario.before:
                self.request(method, path.format(ns=scenario.ns), body)
            first = 0
        else:
            self.server.reviews.clear()
        status, answer, warnings = self.request(scenario.method, scenario.path.format(ns=scenario.ns), scenario.body,
                                                scenario.content_type)
        reviews = [(path, review) for path, review in list(self.server.reviews)]
        self.server.reviews.clear()
        return {"status": status, "answer": answer, "warnings": warnings, "reviews": reviews}

    def refuse(self):
        """What is said of each wrong configuration."""
        said = []
        for wrong in WRONG:
            good = {"name": "w.example.com", "clientConfig": {"url": "https://x/"}, "sideEffects": "None",
                    "admissionReviewVersions": ["v1"], "rules": [rule(["pods"])]}
            body = {"metadata": {"name": "wrong"}, "webhooks": [{**good, **wrong}]}
            status, answer, _ = self.request("POST", CONFIGURATIONS.format("validating"), body)
            said.append((status, answer.get("message") if isinstance(answer, dict) else answer))
        return said

    def clean(self):
        for kind in ("mutating", "validating"):
            self.request("DELETE", CONFIGURATIONS.format(kind))
        self.request("DELETE", f"{CRDS}/widgets.example.com")


def check(scenario, result):
    """What is wrong with a result, as text."""
    problems = []
    answer = result["answer"]
    message = answer.get("message", "") if isinstance(answer, dict) else answer
    if result["status"] != scenario.status:
        problems.append(f"status {result['status']} instead of {scenario.status}: {message}")
    if scenario.message not in message:
        problems.append(f"expected {scenario.message!r} in {message!r}")
    asked = [path for path, _ in result["reviews"]]
    if scenario.asked is not None and asked != scenario.asked:
        problems.append(f"asked {asked} instead of {scenario.asked}")
    if scenario.warnings is not None and result["warnings"] != scenario.warnings:
        problems.append(f"warnings {result['warnings']} instead of {scenario.warnings}")
    if scenario.check and not problems:
        try:
            scenario.check(answer)
        except Exception as error:
            problems.append(f"{error!r}: {json.dumps(answer)[:600]}")
    return problems


def many_at_once(runner):
    """While 20 writes wait for a webhook that hangs, the rest of the server goes on."""
    hang = {**hook("h", "/hang"), "rules": [rule(["configmaps"], ["CREATE"])], "timeoutSeconds": 30,
            "namespaceSelector": {}, "objectSelector": {"matchLabels": {"hang": "yes"}}}
    runner.configure("validating", "hang", [runner.webhook(SCENARIOS[0], hang)])
    answers = []

    def create(number):
        try:
            runner.api.connect().request("POST", "/api/v1/namespaces/default/configmaps",
                                         {"metadata": {"name": f"hang-{number}", "labels": {"hang": "yes"}}})
        except kube_api.ApiError as error:
            answers.append(error.status)

    threads = [threading.Thread(target=create, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    wait_for("20 reviews", lambda: sum(path == "/hang" for path, _ in list(runner.server.reviews)) == 20, 25)
    status, answer, _ = runner.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "free"}})
    assert status == 201, answer
    assert not answers, f"{answers} before the webhook let go"
    runner.server.released.set()
    for thread in threads:
        thread.join()
    assert answers == [500] * 20, answers


def services(runner):
    """Only the sandbox leads a Service to loopback."""
    service = {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443, "targetPort": runner.server.port}]}}
    assert runner.request("POST", "/api/v1/namespaces/default/services", service)[0] == 201
    for name, expected in (("hook", 201), ("none", 500)):
        one = {**hook("s", "/allow"), "rules": [rule(["configmaps"])], "objectSelector": {"matchLabels": {"to": name}},
               "namespaceSelector": {}}
        one = runner.webhook(SCENARIOS[0], one)
        one["clientConfig"] = {"caBundle": runner.server.ca,
                               "service": {"namespace": "default", "name": name, "path": "/allow"}}
        runner.configure("mutating", f"service-{name}", [one])
        status, answer, _ = runner.request("POST", "/api/v1/namespaces/default/configmaps",
                                           {"metadata": {"name": f"to-{name}", "labels": {"to": name}}})
        assert status == expected, answer
    assert re.search(r'Post "https://none.default.svc:443/allow\?timeout=10s": service "none" not found', answer["message"])


def rotated(runner):
    """A configuration whose caBundle did not fit is used as soon as it does."""
    one = {**hook("r", "unknown-ca"), "rules": [rule(["configmaps"])], "objectSelector": {"matchLabels": {"rotated": "yes"}},
           "namespaceSelector": {}}
    runner.configure("validating", "rotated", [runner.webhook(SCENARIOS[0], one)])
    body = {"metadata": {"name": "rotated", "labels": {"rotated": "yes"}}}
    answer = runner.request("POST", "/api/v1/namespaces/default/configmaps", body)[1]
    assert "x509: certificate signed by unknown authority" in answer["message"], answer
    change = [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": runner.server.ca}]
    assert runner.request("PATCH", CONFIGURATIONS.format("validating") + "/rotated", change, "application/json-patch+json")[0] == 200
    assert runner.request("POST", "/api/v1/namespaces/default/configmaps", body)[0] == 201


def controllers(runner):
    """Pods of a ReplicaSet are reviewed; a refusal is tried again, and no longer stands in the way when it ends."""
    one = {**hook("c", "/deny/not%20yet"), "rules": [rule(["pods"], ["CREATE"])], "namespaceSelector": {},
           "objectSelector": {"matchLabels": {"a": "b"}}}
    runner.configure("mutating", "controllers", [runner.webhook(SCENARIOS[0], one)])
    body = {**REPLICAS, "spec": {**REPLICAS["spec"], "replicas": 3}}
    assert runner.request("POST", SETS.format(ns="default"), body)[0] == 201
    path = SETS.format(ns="default") + "/r"
    wait_for("a refused pod in the status", lambda: "denied the request" in json.dumps(
        runner.request("GET", path)[1].get("status", {}).get("conditions", [])))
    assert runner.request("DELETE", CONFIGURATIONS.format("mutating") + "/controllers")[0] == 200

    def all_made():
        status = runner.request("GET", path)[1]["status"]
        return status.get("replicas") == 3 and "conditions" not in status

    wait_for("3 pods and no complaint", all_made, 120)


def main():
    with served(sys.argv[1]) as kubeconfig:
        folder = os.path.dirname(kubeconfig)
        server = WebhookServer(folder, "hook.default.svc")
        try:
            runner = Runner(kubeconfig, server, folder)
            runner.prepare()
            failures = 0
            for scenario in SCENARIOS:
                for problem in check(scenario, runner.run(scenario)):
                    failures += 1
                    print(f"FAILED: {scenario.name}: {problem}", flush=True)
            for wrong, (status, message) in zip(WRONG, runner.refuse()):
                if status != 422:
                    failures += 1
                    print(f"FAILED: {wrong} is not refused: {status} {message}", flush=True)
            for test in (many_at_once, services, rotated, controllers):
                test(runner)
            print(f"{len(SCENARIOS)} scenarios, {len(WRONG)} wrong configurations, {failures} failures")
            return 1 if failures else 0
        finally:
            server.close()


if __name__ == "__main__":
    sys.exit(main())

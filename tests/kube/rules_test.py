#!/usr/bin/env python3
"""Rules of custom resources (x-kubernetes-validations): each definition, object and change is sent to a real kube-apiserver
and to the sandbox, and must be taken by both, or refused by both in the same words.

usage: rules_test.py SERVE      SERVE is the sandbox program of tests/roles/sandbox
"""
import json
import re
import sys
import time

import schedulers

import kube_api  # noqa: E402
import kube_version  # noqa: E402
from sandbox import served  # noqa: E402

# The type of self, which kube-apiserver gives a name of the moment.
SELF = re.compile(r"selfType\d+[\w.@]*")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
INT, TEXT = {"type": "integer"}, {"type": "string", "maxLength": 100}
FIELDS = {
    "min": INT, "max": INT, "rate": {"type": "number"}, "on": {"type": "boolean"}, "name": TEXT, "namespace": TEXT, "a-b": INT,
    "when": {"type": "string", "format": "date-time"}, "wait": {"type": "string", "format": "duration"},
    "raw": {"type": "string", "format": "byte"}, "port": {"x-kubernetes-int-or-string": True, "maxLength": 10},
    "list": {"type": "array", "maxItems": 10, "items": INT},
    "set": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": TEXT},
    "parts": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
              "items": {"type": "object", "required": ["id"], "properties": {
                  "id": TEXT, "size": {"type": "integer", "x-kubernetes-validations": [
                      {"rule": "self >= oldSelf", "message": "parts do not shrink"}]}}}},
    "labels": {"type": "object", "maxProperties": 10,
               "additionalProperties": {**TEXT, "x-kubernetes-validations": [{"rule": "self != 'bad'"}]}},
}


def rule(text, **more):
    return [{"rule": text, **more}]


# Rules of spec, then what is written: a spec for a new object, or ("patch", change of the one before).
CASES = [
    (rule("self.min <= self.max"), [{"min": 1, "max": 2}, {"min": 3, "max": 2}, {"min": 3}, {}]),
    (rule("self.min <= self.max", message=" min is over max "), [{"min": 3, "max": 2}]),
    (rule("self.min <= self.max", messageExpression="'not ' + self.name"), [{"min": 3, "max": 2, "name": "so"}]),
    (rule("self.min <= self.max", messageExpression="'bad ' + self.name", message="plain"), [{"min": 3, "max": 2}]),
    (rule("self.min <= self.max", messageExpression="'two\\nlines'"), [{"min": 3, "max": 2}]),
    (rule("self.min <= self.max", reason="FieldValueForbidden"), [{"min": 3, "max": 2}]),
    (rule("self.min <= self.max", reason="FieldValueRequired", fieldPath=".max"), [{"min": 3, "max": 2}]),
    (rule("self.min <= self.max", reason="FieldValueDuplicate"), [{"min": 3, "max": 2}]),
    (rule("self.min <= self.max", fieldPath=".labels['x']"), [{"min": 3, "max": 2}]),
    (rule("!has(self.min) || self.min > 0"), [{}, {"min": 1}, {"min": 0}]),
    (rule("self.min == 1") + rule("self.max == 1"), [{"min": 3, "max": 2}, {"min": "x"}]),
    (rule("self.port == 80 || self.port == 'http'"), [{"port": 80}, {"port": "http"}, {"port": 81}]),
    (rule("self.when < timestamp('2021-01-01T00:00:00Z') && self.wait > duration('1m')"),
     [{"when": "2020-06-01T00:00:00Z", "wait": "2m"}, {"when": "2022-06-01T00:00:00Z", "wait": "2m"}]),
    (rule("self.raw == b'hi'"), [{"raw": "aGk="}, {"raw": "aGg="}]),
    (rule("self.rate * 2.0 > 1.0 && self.on"), [{"rate": 1, "on": True}, {"rate": 0.5, "on": True}]),
    (rule("self.__namespace__ == 'x' && self.a__dash__b == 1"), [{"namespace": "x", "a-b": 1}, {"namespace": "y", "a-b": 1}]),
    (rule("self.list.sum() < 10 && self.list.all(x, x in [1, 2, 3])"), [{"list": [1, 2]}, {"list": [1, 4]}, {"list": []}]),
    (rule("self.list[5] == 1"), [{"list": [1]}]),
    (rule("self.set == ['b', 'a']"), [{"set": ["a", "b"]}, {"set": ["a"]}]),
    (rule("self.parts.exists_one(p, p.id == 'a')"), [{"parts": [{"id": "a"}, {"id": "b"}]}, {"parts": [{"id": "b"}]}]),
    (rule("true"), [{"labels": {"x": "good"}}, {"labels": {"x": "bad"}}]),
    (rule("self.labels.all(k, self.labels[k].matches('^[a-z]+$'))"), [{"labels": {"x": "a"}}, {"labels": {"x": "A"}}]),
    (rule("self.min >= oldSelf.min", message="min only grows"),
     [{"min": 2, "max": 1}, ("patch", {"max": 2}), ("patch", {"min": 1}), ("patch", {"min": 3})]),
    (rule("oldSelf.hasValue() || self.max == 1", optionalOldSelf=True), [{"max": 2}, {"max": 1}, ("patch", {"max": 7})]),
    (rule("self.max < 5"), [{"max": 1}, ("patch", {"max": 6}), ("patch", {"min": 1})]),
    (rule("true"), [{"parts": [{"id": "a", "size": 3}, {"id": "b", "size": 1}]},
                    ("patch", {"parts": [{"id": "b", "size": 1}, {"id": "c", "size": 0}, {"id": "a", "size": 3}]}),
                    ("patch", {"parts": [{"id": "b", "size": 1}, {"id": "a", "size": 2}]})]),
    (rule("self.name.size() > 3 && !self.name.startsWith('x')"), [{"name": "abcd"}, {"name": "xabc"}, {"name": "é"}]),
    (rule("quantity(self.name).isLessThan(quantity('1Gi'))"), [{"name": "1Mi"}, {"name": "2Gi"}, {"name": "much"}]),
    (rule("isIP(self.name) || isURL(self.name)"), [{"name": "::1"}, {"name": "http://a/"}, {"name": "a b"}]),
    (rule("!format.dns1123Label().validate(self.name).hasValue()"), [{"name": "good"}, {"name": "Bad"}]),
    (rule("has(self.labels) && 'x' in self.labels ? self.labels.x == 'y' : true"), [{}, {"labels": {"x": "y"}}, {"labels": {"x": "z"}}]),
    (rule("self.?labels.?x.orValue('y') == 'y'"), [{}, {"labels": {"x": "z"}}]),
    (rule("1 / self.min > 0"), [{"min": 0}, {"min": 1}]),
    (rule("self.port + 1 == 2"), [{"port": 1}, {"port": "a"}]),
    # Refused with the definition.
    (rule(""), []), (rule("self.zz < 1"), []), (rule("self.min"), []), (rule("self.min < 'a'"), []), (rule("foo(self)"), []),
    (rule("self.min >"), []), (rule("true", message="  "), []), (rule("true", reason="Because"), []),
    (rule("true", fieldPath=".zz"), []), (rule("true", messageExpression="1"), []), (rule("true", messageExpression="zz"), []),
    (rule("true", optionalOldSelf=True), []), (rule("self.name.matches('(')"), []), (rule("duration('x') > duration('1s')"), []),
    (rule("int('x') > 1"), []), (rule("'%d'.format(['x']) == ''"), []), (rule("[1, 'a'].size() > 0"), []),
    (rule("self.list.all(x, y > 1)"), []), (rule("self.spec.x == 1"), []), (rule("size(self) > 1"), []),
]


class Server:
    def __init__(self, kubeconfig):
        self.connection = kube_api.Api(kubeconfig).connect()

    def call(self, method, path, body=None, kind="application/json"):
        try:
            return 200, self.connection.request(method, path, body, kind) or {}
        except kube_api.ApiError as error:
            # What nobody serves is answered in plain text.
            return error.status, json.loads(error.body) if error.body.startswith("{") else {"message": error.body}

    def run(self, number, rules, steps):
        """The answers' codes and messages, the definition's first."""
        plural = f"things{number}"
        name = f"{plural}.rules.example.com"
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "x-kubernetes-validations": rules, "properties": FIELDS}}}}}
        definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
                      "spec": {"group": "rules.example.com", "scope": "Cluster", "versions": [version],
                               "names": {"plural": plural, "kind": f"Thing{number}"}}}
        code, answer = self.call("POST", CRDS, definition)
        answers = [(code, SELF.sub("object", answer.get("message") or ""))]
        if code != 200:
            return answers
        path = f"/apis/rules.example.com/v1/{plural}"
        end = time.monotonic() + 60
        while self.call("GET", path)[0] != 200:
            assert time.monotonic() < end, f"{path} is not served within 60 s"
            time.sleep(0.1)
        made = None
        for index, step in enumerate(steps):
            if isinstance(step, tuple):
                code, answer = self.call("PATCH", f"{path}/{made}", {"spec": step[1]}, MERGE)
            else:
                body = {"apiVersion": "rules.example.com/v1", "kind": f"Thing{number}", "metadata": {"name": f"t{index}"}, "spec": step}
                code, answer = self.call("POST", path, body)
                made = f"t{index}" if code == 200 else made
            answers.append((code, answer.get("message") or ""))
        self.call("DELETE", f"{CRDS}/{name}")
        return answers


def main():
    schedulers.skip_without_cluster()
    kube_version.skip_unless_the_sandbox_s()
    with served(sys.argv[1]) as kubeconfig:
        real, sandbox = Server(schedulers.KUBECONFIG), Server(kubeconfig)
        differences = answers = 0
        for number, (rules, steps) in enumerate(CASES):
            wanted, got = real.run(number, rules, steps), sandbox.run(number, rules, steps)
            answers += len(wanted)
            if wanted == got:
                continue
            differences += 1
            print(f"FAILED: {rules} {steps}", flush=True)
            for one, other in zip(wanted, got):
                if one != other:
                    print(f"  real:    {one}\n  sandbox: {other}", flush=True)
            if len(wanted) != len(got):
                print(f"  real: {len(wanted)} answers, sandbox: {len(got)}", flush=True)
        print(f"{len(CASES)} definitions, {answers} answers on both, {differences} differences")
        return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Resource claims, their templates, device classes, slices and pods' claims on a real kube-apiserver and on the sandbox: a table
of objects and changes, and as many random ones, must be taken by both with the same defaults, or refused by both in the same words.

usage: claim_rules_test.py SERVE [SEED]      SERVE is the sandbox program of tests/roles/sandbox
"""
import copy
import http.client
import json
import random
import re
import sys

import claim_cases
import own_cluster
import schedulers

import kube_api
import kube_version
from sandbox import served

# The sandbox takes what a server does whose gates are open, so that everything can be tried on it.
GATES = ("DRAConsumableCapacity", "DRADeviceBindingConditions", "DRADeviceTaints", "DRAExtendedResource", "DRAPartitionableDevices")
RANDOM = 700
PANIC = 599
SHOWN = 20  # causes that the sandbox puts into words
# Structs are shown in Go's form by the one, in the API's by the other; long values by their beginning.
LOOSE = ((re.compile(r"Invalid value: [\[{].*: field is immutable", re.S), "immutable"), (re.compile(r'Duplicate value: "?\{.*', re.S), "duplicate"),
         (re.compile(r"\[\]"), "null"),
         # The parser's own words: how many mistakes it finds in one, and where in an empty text.
         (re.compile(r"ERROR: <input>:\d+:\d+: Syntax error.*", re.S), "syntax"))
VOLATILE = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "generation", "timeAdded")


def plain(value):
    if isinstance(value, dict):
        items = {key: plain(each) for key, each in value.items() if key not in VOLATILE}
        return {key: each for key, each in items.items() if each not in (None, {}, [], "", "0", 0, False)}
    return [plain(each) for each in value] if isinstance(value, list) else value


def loose(message):
    for pattern, word in LOOSE:
        message = pattern.sub(word, message)
    return message


class Server:
    def __init__(self, kubeconfig):
        self.api = kube_api.Api(kubeconfig)
        self.connection = self.api.connect()

    def call(self, method, path, body=None):
        try:
            return 200, self.connection.request(method, path, body) or {}
        except kube_api.ApiError as error:
            return error.status, json.loads(error.body) if error.body.startswith("{") else {"message": error.body}
        except http.client.RemoteDisconnected:  # a panic in kube-apiserver: a step of 0 divides by it
            self.connection = self.api.connect()
            return PANIC, {}

    def ask(self, method, path, body):
        """(code, causes or the message, what is stored)"""
        code, answer = self.call(method, path, body)
        if code == 200:
            return code, [], {key: plain(value) for key, value in answer.items() if key in ("spec", "status") and answer["kind"] != "Pod"}
        if code == 400:
            return code, [], {}  # a field of another type: the words are Go's decoder's
        causes = [(cause.get("field", ""), cause["reason"], loose(cause["message"]))
                  for cause in (answer.get("details") or {}).get("causes", [])]
        return code, sorted(causes) or [answer.get("message")], {}

    def run(self, case):
        """The answers to its steps, the first of which creates an object."""
        path, name = claim_cases.path_of(case.kind), case.body["metadata"]["name"]
        alone = not case.steps
        answers = [self.ask("POST", f"{path}?dryRun=All" if alone else path, case.body)]
        if alone or answers[0][0] != 200:
            return answers
        for step in case.steps:
            if step.delete:
                answers.append((self.call("DELETE", f"{path}/{name}")[0], [], {}))
                continue
            current = self.call("GET", f"{path}/{name}")[1]
            changed = step.change(copy.deepcopy(current))
            answers.append(self.ask("PUT", f"{path}/{name}{'/status' if step.status else ''}", changed))
        current = self.call("GET", f"{path}/{name}")[1]
        if (current.get("metadata") or {}).pop("finalizers", None):
            self.call("PUT", f"{path}/{name}", current)
        self.call("DELETE", f"{path}/{name}?gracePeriodSeconds=0")
        return answers


def same(real, ours):
    """Of many causes the sandbox shows some."""
    if len(real) != len(ours):
        return False
    for (code, causes, stored), (other, shown, kept) in zip(real, ours):
        if code == PANIC and other >= 400:
            continue
        enough = causes == shown or (len(causes) > SHOWN and len(shown) == SHOWN and set(shown) <= set(causes)) \
            or (len(set(causes)) == len(set(shown)) and set(causes) == set(shown))
        if code != other or not enough or stored != kept:
            return False
    return True


def main():
    schedulers.skip_without_cluster()
    kube_version.skip_unless_the_sandbox_s()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    gates = ",".join(f"{gate}=true" for gate in GATES)
    _, _, cluster = own_cluster.own_cluster("claims", flags=f"--feature-gates={gates}")
    with served(sys.argv[1]) as kubeconfig:
        real, sandbox = Server(cluster), Server(kubeconfig)
        for server in (real, sandbox):
            server.call("POST", "/api/v1/namespaces/default/serviceaccounts", {
                "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        cases = claim_cases.CASES + claim_cases.random_cases(random.Random(seed), RANDOM)
        differences = taken = refused = 0
        for case in cases:
            wanted, got = real.run(case), sandbox.run(case)
            for code, _, _ in wanted:
                taken += code == 200
                refused += code != 200
            if same(wanted, got):
                continue
            differences += 1
            print(f"FAILED: {case.what}: {json.dumps(case.body)[:1500]}", flush=True)
            for one, other in zip(wanted, got):
                if one != other:
                    print(f"  real:    {str(one)[:1500]}\n  sandbox: {str(other)[:1500]}", flush=True)
        print(f"seed {seed}: {len(cases)} objects, {taken} answers that take and {refused} that refuse, {differences} differences")
        return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

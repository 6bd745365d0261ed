#!/usr/bin/env python3
"""The webhooks of the original koord-manager and of ours, asked the same by hand: allowed or not, code, message, and the object
that the patch makes. Both look things up in one real API server. Then writes of quotas and pods, each of which the API server
stores where both allow it. Needs the original's program; no part of CI.

usage: compare_reviews_test.py [QUESTIONS [SEED [WRITES]]]       KOORDINATOR_BIN names the folder with `koord-manager` and `crds/`
"""
import base64
import http.client
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import kube_api  # noqa: E402
import original_manager  # noqa: E402
import quota_cases  # noqa: E402
import review_cases  # noqa: E402
from sandbox import KOORD, Kubectl, free_port, wait_for  # noqa: E402

CLUSTER = os.path.join(HERE, "cluster")
PACKAGING = os.path.join(HERE, "..", "..", "packaging")
GATES = ",".join(f"{name}=true" for name in (
    "NodeMutatingWebhook", "NodeValidatingWebhook", "ConfigMapValidatingWebhook", "ReservationMutatingWebhook", "ValidatePodDeviceResource"))
# Of quotas: on for all, and on for half of the seeds each.
QUOTA_GATES = ("MultiQuotaTree", "EnableQuotaAdmission", "EnableQuotaAdmissionOnUpdate")
SOME_GATES = ("SupportParentQuotaSubmitPod", "DisableDefaultQuota", "ElasticQuotaEnableUpdateResourceKey", "ElasticQuotaGuaranteeUsage")
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
EXAMPLES = re.compile(r'(?<="exampleNodes":)\[[^]]*\]')  # of all that match: the original's come in no order
RESERVATION = {"template", "owners", "ttl", "expires", "preAllocation", "preAllocationPolicy", "allocateOnce", "allocatePolicy",
               "unschedulable", "taints"}


def pruned(verdict):
    """With what a Reservation's definition leaves of its spec."""
    made = json.loads(json.dumps(verdict))
    made["object"]["spec"] = {key: value for key, value in made["object"]["spec"].items() if key in RESERVATION}
    return made


# What differs and why; all of it is in packaging/COMPATIBILITY.md. (path, request, the original's, koord's): whether that is it.
LISTED = [
    ("devices of a container without limits or without requests: the original panics",
     lambda path, request, theirs, ours: path == "/mutate-pod" and theirs["message"].startswith("panic: assignment to entry in nil map")),
    ("what a profile's patch adds to a Reservation that it does not know is left to the API server, which drops it",
     lambda path, request, theirs, ours: path == "/mutate-reservation" and ours["allowed"] and pruned(ours) == theirs),
    ("a PriorityClass that is missing is waited for, then the failurePolicy decides",
     lambda path, request, theirs, ours: theirs["message"].startswith("PriorityClass.scheduling.k8s.io") and ours["allowed"] is None),
    ("/validate-configmap: networkQOS, pairs of thresholds, texts behind `err: `",
     lambda path, request, theirs, ours: path == "/validate-configmap" and (
         (not theirs["allowed"] and re.search("etwork|hreshold|catRange|System config", theirs["message"]))
         or (not theirs["allowed"] and not ours["allowed"] and "err: " in theirs["message"]))),
]


def settled(message):
    """Without what the original takes in no order: the resource, the child or the pods that it names."""
    message = re.sub(r"resourceKey \S+ of quota (\S+) (min .* > max|is included in min).*", r"resourceKey of \1", message)
    message = re.sub(r"different from child \S+ .*", "different from child", message)
    message = re.sub(r"failed: \S+'s (max|min) keys are not .* (\S+)'s$", r"failed: \1 keys of or below \2", message)
    message = re.sub(r"(child pods: ).*", r"\1", message)
    return re.sub(r"dimensions? :\[.*\]", "dimension", message)


QUOTA_LISTED = [
    ("texts of what cannot be read",
     lambda what, request, theirs, ours: not theirs["allowed"] and not ours["allowed"] and re.search("unmarshal|unexpected end|invalid character|quantities must",
                                                                                                     theirs["message"])),
    ("a pod whose quota stays what it was is not held up",
     lambda what, request, theirs, ours: what == "pod update" and ours["allowed"] and "parentQuotaGroup" in theirs["message"]),
]


class Side:
    def __init__(self, name, folder, kubeconfig, command):
        self.name, self.port = name, free_port()
        self.log = os.path.join(folder, f"{name}.log")
        # Names of its own, so that neither writes the other's; no rule of theirs matches anything.
        names = {kind: f"{name}-{kind}" for kind in ("mutating", "validating")}
        for kind, configuration in names.items():
            kube_api.Api(kubeconfig).connect().request("POST", f"{CONFIGURATIONS}/{kind}webhookconfigurations", {
                "metadata": {"name": configuration, "annotations": {"template": ""}}, "webhooks": [{
                    "name": "none.koordinator.sh", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
                    "clientConfig": {"service": {"namespace": "none", "name": "none", "path": "/validate-pod" if kind == "validating" else "/mutate-pod"}},
                    "rules": [{"apiGroups": ["none.example"], "apiVersions": ["v1"], "resources": ["nothing"], "operations": ["CREATE"]}]}]})
        env = {**os.environ, "WEBHOOK_HOST": "127.0.0.1", "WEBHOOK_PORT": str(self.port), "SECRET_NAME": f"{name}-certs",
               "WEBHOOK_CERT_DIR": os.path.join(folder, name), "MUTATING_WEBHOOK_NAME": names["mutating"],
               "VALIDATING_WEBHOOK_NAME": names["validating"], "POD_NAMESPACE": "koordinator-system"}
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(command, stdout=log, stderr=log, env=env)
        self.http = None

    def answer(self, path, request):
        """{allowed, code, message, object}; None while it does not answer."""
        if self.http is None:
            self.http = http.client.HTTPSConnection("127.0.0.1", self.port, context=ssl._create_unverified_context(), timeout=30)
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        try:
            self.http.request("POST", f"{path}?timeout=10s", json.dumps(review), {"Content-Type": "application/json"})
            response = self.http.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException):
            assert self.child.poll() is None, f"{self.name} ended:\n{self.log_tail()}"
            self.http = None
            return None
        if response.status != 200:
            return None
        verdict = json.loads(text)["response"]
        status = verdict.get("status", {})
        said = {"allowed": verdict["allowed"], "code": status.get("code", 200), "message": EXAMPLES.sub("", status.get("message", ""))}
        if "patch" in verdict:
            said["object"] = patched(request["object"], json.loads(base64.b64decode(verdict["patch"])))
        elif verdict["allowed"]:
            said["object"] = request.get("object")
        return said

    def quotas(self):
        """What /elasticQuota shows of each quota, by its name."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=ssl._create_unverified_context(), timeout=30)
        connection.request("GET", "/elasticQuota")
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return {name: {key: value for key, value in info.items() if value} for name, info in json.loads(text)["quotaInfoMap"].items()}

    def log_tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:]

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


def patched(document, operations):
    """What a JSON patch of add, remove and replace makes of it."""
    document = json.loads(json.dumps(document))
    for step in operations:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in step["path"].split("/")[1:]]
        at = document
        for key in keys[:-1]:
            at = at[int(key)] if isinstance(at, list) else at[key]
        last = keys[-1]
        if isinstance(at, list):
            place = len(at) if last == "-" else int(last)
            if step["op"] == "add":
                at.insert(place, step["value"])
            elif step["op"] == "replace":
                at[place] = step["value"]
            else:
                del at[place]
        elif step["op"] == "remove":
            del at[last]
        else:
            at[last] = step["value"]
    return document


def alike(value):
    """Of what an API server would complete the same: empty members are none, texts of JSON are read."""
    if isinstance(value, dict):
        return {key: alike(item) for key, item in value.items() if item not in (None, {}, [], "")}
    if isinstance(value, list):
        return [alike(item) for item in value]
    if isinstance(value, str) and value.startswith("{"):
        try:
            return alike(json.loads(value))
        except json.JSONDecodeError:
            return value
    return value


def compare(sides, questions, count):
    first = questions.ask(0)
    for side in sides:
        wait_for(f"{side.name} answers", lambda: side.answer(*first), 60)
    wrong, known, seen = [], {}, {}
    for number in range(1, count + 1):
        path, request = questions.ask(number)
        theirs, ours = ({**said, "object": alike(said.get("object"))} for said in (side.answer(path, request) or {"allowed": None, "code": 0, "message": ""}
                                                                                   for side in sides))
        seen.setdefault(path, [0, 0])[0 if theirs["allowed"] else 1] += 1
        if theirs == ours:
            continue
        why = next((why for why, is_it in LISTED if is_it(path, request, theirs, ours)), None)
        if why:
            known[why] = known.get(why, 0) + 1
        else:
            wrong.append((path, request, theirs, ours))
    for path, (allowed, refused) in sorted(seen.items()):
        print(f"{path}: {allowed} allowed, {refused} refused by the original")
    print(f"{count} questions; listed differences that occurred: {known or 'none'}")
    return wrong


def compare_rooms(sides, api, cases, count):
    """Pods that ask quotas for room: the verdict, and what the quota says afterwards."""
    wrong, seen = [], [0, 0]
    for number in range(count):
        answers = []
        for side in sides:
            quota, request = cases.room(side.name, number)
            path = f"{quota_cases.QUOTAS}/namespaces/default/elasticquotas"
            api.request("POST", path, quota)
            name = quota["metadata"]["name"]
            for each in sides:
                wait_for(f"{each.name} knows {name}", lambda: name in each.quotas(), 30)
            said = side.answer("/validate-pod", request)
            after = api.request("GET", f"{path}/{name}")["metadata"].get("annotations", {}).get(quota_cases.PREFIX + "child-request", "")
            answers.append((said["allowed"], said["code"], said["message"].replace(name, "room"), alike(after)))
            api.request("DELETE", f"{path}/{name}")
        seen[0 if answers[0][0] else 1] += 1
        if answers[0] != answers[1]:
            wrong.append(("/validate-pod", request, *answers))
    print(f"pods that asked for room: {seen[0]} allowed, {seen[1]} refused by the original")
    return wrong


def compare_writes(sides, api, cases, count):
    wrong, known, seen = [], {}, {}
    for number in range(count):
        what, paths, request = cases.ask(number)
        allowed = True
        for path in paths:
            theirs, ours = (side.answer(path, request) for side in sides)
            seen.setdefault(f"{what} {path}", [0, 0])[0 if theirs["allowed"] else 1] += 1
            if {**theirs, "message": settled(theirs["message"]), "object": alike(theirs.get("object"))} != {
                    **ours, "message": settled(ours["message"]), "object": alike(ours.get("object"))}:
                why = next((why for why, is_it in QUOTA_LISTED if is_it(what, request, theirs, ours)), None)
                if why:
                    known[why] = known.get(why, 0) + 1
                else:
                    wrong.append((path, request, theirs, ours))
            allowed = allowed and theirs["allowed"] and ours["allowed"]
            if "object" in request and allowed:
                request["object"] = ours["object"]
        if "quota" in request["resource"]["resource"]:
            store(sides, api, cases, request, allowed)
        elif allowed and what == "pod" and cases.chance(0.2):
            api.request("POST", f"/api/v1/namespaces/{request['namespace']}/pods", {**request["object"], "status": {}})
            time.sleep(0.3)
    for path, (allowed, refused) in sorted(seen.items()):
        print(f"{path}: {allowed} allowed, {refused} refused by the original")
    print(f"{count} writes; listed differences that occurred: {known or 'none'}")
    return wrong


def store(sides, api, cases, request, allowed):
    name = request["name"]
    path = f"{quota_cases.QUOTAS}/namespaces/{request['namespace']}/elasticquotas"
    if allowed and request["operation"] == "DELETE":
        api.request("DELETE", f"{path}/{name}")
        del cases.stored[name]
    elif allowed and request["operation"] == "CREATE":
        cases.stored[name] = api.request("POST", path, request["object"])
    elif allowed:
        cases.stored[name] = api.request("PUT", f"{path}/{name}", request["object"])
    else:
        return
    for one in cases.stored.values():
        one["metadata"].setdefault("labels", {})
        one["metadata"].setdefault("annotations", {})

    def parents(quotas):
        return {one: (info.get("parentName"), info.get("isParent", False), info.get("min"), info.get("max")) for one, info in quotas.items()}

    def stored():
        return {one: (quota["metadata"]["labels"].get(quota_cases.PREFIX + "parent") or quota_cases.ROOT,
                      quota["metadata"]["labels"].get(quota_cases.PREFIX + "is-parent") == "true", quota["spec"].get("min") or None,
                      quota["spec"].get("max") or None) for one, quota in cases.stored.items()}
    for side in sides:
        wait_for(f"{side.name} knows what is stored", lambda: parents(side.quotas()) == stored(), 30)
    time.sleep(0.05)  # what the page does not show


def short(request):
    """Without who wrote what."""
    request = json.loads(json.dumps(request))
    for side in ("object", "oldObject"):
        ((request.get(side) or {}).get("metadata") or {}).pop("managedFields", None)
    return request


def main():
    if original_manager.missing():
        print(f"skipped: {original_manager.missing()}")
        return 77
    count, seed, writes = (int(word) for word in (sys.argv[1:] + ["3000", str(int(time.time())), "400"][len(sys.argv) - 1:])[:3])
    dice = random.Random(seed)
    some = [gate for gate in SOME_GATES if dice.random() < 0.5]
    print(f"{count} questions and {writes} writes of seed {seed}; of quotas' gates {', '.join(some) or 'none'}", flush=True)
    questions = review_cases.Questions(seed)
    with tempfile.TemporaryDirectory(prefix="koord-compare.") as folder:
        cluster, sides = os.path.join(folder, "cluster"), []
        try:
            subprocess.run([CLUSTER, "up", cluster], check=True, stdout=subprocess.DEVNULL)
            kubeconfig = os.path.join(cluster, "kubeconfig")
            kubectl, api = Kubectl(kubeconfig), kube_api.Api(kubeconfig)
            kubectl.run("apply", "--server-side", "-f", original_manager.CRDS)
            kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
            for file in ("00-namespace.yaml", "10-priority-classes.yaml"):
                kubectl.run("apply", "-f", os.path.join(PACKAGING, "manifests", file))
            for path, body in questions.objects():
                api.connect().request("POST", path, body)
            # Controllers would write over what the questions look things up in.
            gates = f"--feature-gates=WebhookFramework=true,{GATES}," + ",".join(f"{gate}=true" for gate in (*QUOTA_GATES, *some))
            sides.append(Side("original", folder, kubeconfig, [*original_manager.command(kubeconfig, "--controllers=-nodemetric"), gates]))
            sides.append(Side("koord", folder, kubeconfig, [
                KOORD, "--role=manager", f"--kubeconfig={kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0",
                "--health-probe-addr=0", "--controllers=-nodemetric", gates]))
            connection = api.connect()
            for ns in quota_cases.NAMESPACES[2:]:
                connection.request("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
            for number, tree in enumerate(("t1", "t1", "t3")):
                connection.request("POST", "/apis/quota.koordinator.sh/v1alpha1/namespaces/default/elasticquotaprofiles", {
                    "apiVersion": "quota.koordinator.sh/v1alpha1", "kind": "ElasticQuotaProfile",
                    "metadata": {"name": f"tree-{number}", "labels": {quota_cases.PREFIX + "tree-id": tree}},
                    "spec": {"quotaName": f"none-{number}", "nodeSelector": {"matchLabels": {"pool": "a"}, "matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["x", "y"]}]}}})
            wrong = compare(sides, questions, count)
            cases = quota_cases.Writes(seed)
            wrong += compare_rooms(sides, connection, cases, writes // 8)
            wrong += compare_writes(sides, connection, cases, writes)
        finally:
            for side in sides:
                side.close()
            subprocess.run([CLUSTER, "down", cluster], check=True)
    for path, request, theirs, ours in wrong[:12]:
        print(f"DIFFERS: {path} {json.dumps(short(request))[:1500]}\n    the original {json.dumps(theirs)[:700]}\n    koord        {json.dumps(ours)[:700]}")
    print("comparison with the original's webhooks: " + ("passed" if not wrong else f"{len(wrong)} answers differ that are not listed"))
    return 1 if wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its clusters end with it
    sys.exit(main())

"""Small requests that want to become large or long: documents, patches, selectors, definitions, expressions."""
import gzip
import json
import time

from ground import CEILING, expect

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE, STRATEGIC, JSON_PATCH = ("application/merge-patch+json", "application/strategic-merge-patch+json",
                                "application/json-patch+json")


def answered(ground, what, method, path, body, content_type="application/json", statuses=range(400, 500)):
    """The answer comes in time and is one of these."""
    began = time.monotonic()
    status, text = ground.call(method, path, body, content_type)
    took = time.monotonic() - began
    expect(status in statuses, f"{what}: {status} {text[:200]!r}")
    expect(took < CEILING, f"{what}: took {took:.1f} s")
    expect(len(text) < 1 << 20 or status < 400, f"{what}: an error of {len(text)} bytes")
    return text


def config_map(ground, name, data):
    ground.call("DELETE", f"{MAPS}/{name}")
    answered(ground, f"create {name}", "POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data},
             statuses=(201,))


def deep_documents(ground, short):
    for what, body in (("brackets", b"[" * 1_000_000), ("objects", b'{"a":' * 400_000),
                       ("closed brackets", b"[" * 500_000 + b"]" * 500_000),
                       ("in an object", b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":' + b"[" * 900_000)):
        answered(ground, what, "POST", MAPS, body)
        answered(ground, f"{what}, as a patch", "PATCH", f"{MAPS}/x", body, MERGE)
    keys = b"{" + b",".join(b'"k%d":1' % (i % 7) for i in range(200_000)) + b"}"
    answered(ground, "repeated keys", "POST", MAPS, keys)


def yaml(ground, short):
    doubling = "a: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(f"b{i}: &a{i + 1} [{','.join(['*a%d' % i] * 9)}]\n" for i in range(12))
    for what, text in (("aliases that double", doubling), ("deep", "[" * 200_000), ("a self", "a: &a [*a]\n"),
                       ("indents", "".join(" " * i + "a:\n" for i in range(1500)))):
        answered(ground, what, "POST", MAPS, text.encode(), "application/yaml")
        answered(ground, f"{what}, applied", "PATCH", f"{MAPS}/x?fieldManager=m&force=true", text.encode(), "application/apply-patch+yaml")


def json_patches(ground, short):
    config_map(ground, "patched", {"a": "x" * 1000})
    double = [{"op": "copy", "from": "/data", "path": f"/data/d{i}"} for i in range(60)]
    answered(ground, "copies that double", "PATCH", f"{MAPS}/patched", double, JSON_PATCH)
    many = [{"op": "add", "path": "/metadata/finalizers", "value": []}]
    many += [{"op": "add", "path": "/metadata/finalizers/0", "value": f"x/{i}"} for i in range(9_000)]
    answered(ground, "additions in front", "PATCH", f"{MAPS}/patched", many, JSON_PATCH, range(200, 500))
    answered(ground, "too many operations", "PATCH", f"{MAPS}/patched", [{"op": "test", "path": "", "value": 1}] * 60_000, JSON_PATCH)
    long = [{"op": "replace", "path": "/data/" + "a/" * 100_000, "value": 1}]
    answered(ground, "a long path", "PATCH", f"{MAPS}/patched", long, JSON_PATCH)
    ground.call("DELETE", f"{MAPS}/patched")


def merge_patches(ground, short):
    config_map(ground, "merged", {f"k{i}": "v" for i in range(20_000)})
    answered(ground, "all members anew", "PATCH", f"{MAPS}/merged", {"data": {f"k{i}": "w" for i in range(40_000)}}, MERGE, (200,))
    answered(ground, "all members away", "PATCH", f"{MAPS}/merged", {"data": {f"k{i}": None for i in range(40_000)}}, MERGE, (200,))
    ground.call("DELETE", f"{MAPS}/merged")
    owners = [{"apiVersion": "v1", "kind": "Node", "name": f"n{i}", "uid": f"u{i}"} for i in range(8_000)]
    config_map(ground, "owned", {})
    answered(ground, "a list by key", "PATCH", f"{MAPS}/owned", {"metadata": {"ownerReferences": owners}}, STRATEGIC, range(200, 500))
    order = {"metadata": {"ownerReferences": owners[::-1], "$setElementOrder/ownerReferences": [{"uid": f"u{i}"} for i in range(8_000)]}}
    answered(ground, "its order", "PATCH", f"{MAPS}/owned", order, STRATEGIC, range(200, 500))
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": [f"x/{i}" for i in range(40_000)], "finalizers": [f"y/{i}" for i in range(40_000)]}}
    answered(ground, "a set", "PATCH", f"{MAPS}/owned", gone, STRATEGIC, range(200, 500))
    ground.call("PATCH", f"{MAPS}/owned", {"metadata": {"finalizers": None}}, MERGE)
    ground.call("DELETE", f"{MAPS}/owned")


def selectors(ground, short):
    terms = ",".join(f"k{i}!=v" for i in range(6_000))
    answered(ground, "terms", "GET", f"{PODS}?labelSelector={terms}", None, statuses=range(200, 500))
    values = ",".join(f"v{i}" for i in range(8_000))
    answered(ground, "values", "GET", f"{PODS}?labelSelector=a+notin+({values})", None, statuses=range(200, 500))
    answered(ground, "fields", "GET", f"{PODS}?fieldSelector={','.join(['metadata.name!=x'] * 3000)}", None, statuses=range(200, 500))
    answered(ground, "brackets", "GET", f"{PODS}?labelSelector={'(' * 50_000}", None)
    for text in ("limit=abc", "limit=-9999999999999999999999", "timeoutSeconds=abc", "resourceVersion=abc", "watch=maybe&limit=x"):
        answered(ground, text, "GET", f"{PODS}?{text}", None)


def invalid_affinity(ground, short):
    """A pod with more invalid values than anybody wants to read about."""
    values = [f"-bad-{i}-" for i in range(60_000 if short else 160_000)]
    term = {"matchExpressions": [{"key": "-k-", "operator": "In", "values": values}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "affine"}, "spec": {
        "schedulerName": "koord-scheduler", "containers": [{"name": "c", "image": "i"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}}}
    answered(ground, "the pod", "POST", PODS, pod, statuses=range(200, 500))
    time.sleep(2)  # the scheduler looks at it meanwhile, and its ports are asked
    ground.call("DELETE", f"{PODS}/affine?gracePeriodSeconds=0")


def definition(name, schema):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{name}s.attack.test"},
            "spec": {"group": "attack.test", "scope": "Namespaced", "names": {"plural": f"{name}s", "singular": name, "kind": name.title()},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "properties": {"spec": schema}}}}]}}


def defined(ground, name, schema, spec):
    """Makes the definition and, where it is accepted, one object of it."""
    item = definition(name, schema)
    status, text = ground.call("POST", CRDS, item)
    expect(status in range(200, 500), f"definition {name}: {status} {text[:200]!r}")
    if status == 201:
        for _ in range(50):
            status, _ = ground.call("GET", f"/apis/attack.test/v1/namespaces/default/{name}s")
            if status == 200:
                break
            time.sleep(0.1)
        answered(ground, f"object of {name}", "POST", f"/apis/attack.test/v1/namespaces/default/{name}s",
                 {"apiVersion": "attack.test/v1", "kind": name.title(), "metadata": {"name": "x"}, "spec": spec}, statuses=range(200, 500))
    ground.call("DELETE", f"{CRDS}/{name}s.attack.test")


def definitions(ground, short):
    text = {"type": "string"}
    for number, pattern in enumerate(("^(a+)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y", "a{1000}{1000}", "((((((a{90}){90}){90}){90})))",
                                      "[", "\\1(a)", "(" * 2000 + ")" * 2000)):
        defined(ground, f"pattern{number}", {"type": "object", "properties": {"a": {**text, "pattern": pattern}}}, {"a": "a" * 50_000 + "!"})
    many = [str(i) for i in range(40_000)]
    strings = {"type": "array", "items": text}
    defined(ground, "set", {"type": "object", "properties": {"a": {**strings, "x-kubernetes-list-type": "set"}}}, {"a": many})
    rows = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": text}}}
    defined(ground, "map", {"type": "object", "properties": {"a": rows}}, {"a": [{"k": k} for k in many]})
    defined(ground, "unique", {"type": "object", "properties": {"a": {**strings, "uniqueItems": True}}}, {"a": many})
    wide = {"type": "object", "properties": {f"p{i}": {"type": "integer", "default": i} for i in range(5_000)}}
    defined(ground, "wide", wide, {f"q{i}": 1 for i in range(40_000)})
    defined(ground, "enumerated", {"type": "object", "properties": {"a": {"type": "array", "items": {**text, "enum": many[:10_000]}}}}, {"a": ["x"] * 40_000})
    deep = text
    for _ in range(300):
        deep = {"type": "object", "properties": {"a": deep}}
    value = "x"
    for _ in range(300):
        value = {"a": value}
    defined(ground, "deep", deep, value)
    labels = {f"k{i}!": "v!" for i in range(30_000)}
    answered(ground, "malformed labels", "POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "l", "labels": labels}})


BOMBS = {  # expressions of self.a, many strings, and self.b, a long one
    "loops": "self.a.all(x, self.a.all(y, self.a.all(z, x + y + z != '')))",
    "growing lists": "self.a.map(x, self.a.map(y, self.a.map(z, [x, y, z]))).size() > 0",
    "a string that grows": "self.b.replace('a', self.b.replace('a', self.b.replace('a', self.b))) != ''",
    "parts": "self.b.split('').map(c, self.b.split('')).size() > 0",
    "joined": "self.a.map(x, self.a.join(self.b)).join(self.b) != ''",
    "parentheses": "(" * 5_000 + "true" + ")" * 5_000,
    "negations": "!" * 100_000 + "true",
    "lists": "[" * 20_000 + "]" * 20_000 + " == []",
    "terms": " && ".join(["self.b != 'x'"] * 8_000),
    "choices": "true ? " * 3_000 + "true" + " : true" * 3_000,
    "a pattern": "self.b.matches('(((a{90}){90}){90}){90}')",
    "patterns of its own": "self.a.all(x, self.b.matches(self.b))",
    "found": "self.b.findAll('a*?').map(x, self.b.findAll('a')).size() > 0",
    "formats": "self.a.map(x, '%s%s%s%s'.format([self.b, self.b, self.b, self.b])).join() != ''",
    "macros in macros": "self.a.exists(a, " * 40 + "true" + ")" * 40,
    "a literal": f"self.b != '{'x' * 500_000}'",
}


def expressions(ground, short):
    """Rules of custom resources and conditions of webhooks: what is refused is refused in time, what is not costs no more than it may."""
    strings = {"type": "array", "items": {"type": "string"}}
    spec = {"a": ["x"] * 3_000, "b": "a" * 20_000}

    def ruled(rules):
        return {"type": "object", "properties": {"a": strings, "b": {"type": "string"}}, "x-kubernetes-validations": rules}

    for number, rule in enumerate(BOMBS.values()):
        defined(ground, f"rule{number}", ruled([{"rule": rule}]), spec)
    defined(ground, "rules", ruled([{"rule": f"self.b != '{number}'"} for number in range(2_000)]), spec)
    each = {"type": "object", "properties": {"a": {**strings, "items": {"type": "string", "x-kubernetes-validations": [
        {"rule": "self.matches('^(x|y)+$')", "messageExpression": "self + self + self"}]}}}}
    defined(ground, "items", each, {"a": ["z" * 100] * 10_000})
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    for what, rule in BOMBS.items():
        expression = rule.replace("self.a", "object.metadata.finalizers").replace("self.b", "object.data.b")
        status, text = ground.call("POST", hooks, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "bombs"},
            "webhooks": [{"name": "bombs.attack.test", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
                          "clientConfig": {"url": "https://127.0.0.1:1/"}, "timeoutSeconds": 1,
                          "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
                          "matchConditions": [{"name": f"n{number}", "expression": expression} for number in range(8)]}]})
        expect(status in range(200, 500), f"conditions, {what}: {status} {text[:200]!r}")
        item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conditions", "finalizers": [f"attack.test/{n}" for n in range(500)]},
                "data": {"b": "a" * 20_000}}
        answered(ground, f"an object beside conditions, {what}", "POST", f"{MAPS}?dryRun=All", item, statuses=range(200, 500))
        ground.call("DELETE", f"{hooks}/bombs")
    # As deep as a document may be: with the review around it, it is none.
    ground.call("POST", hooks, {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "deep"},
        "webhooks": [{"name": "deep.attack.test", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                      "clientConfig": {"url": "https://127.0.0.1:1/"}, "timeoutSeconds": 1, "matchConditions": [{"name": "n", "expression": "false"}],
                      "rules": [{"operations": ["*"], "apiGroups": ["attack.test"], "apiVersions": ["*"], "resources": ["*"]}]}]})
    ground.call("POST", CRDS, definition("bottomless", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    for levels in range(988, 1002):
        body = b'{"apiVersion":"attack.test/v1","kind":"Bottomless","metadata":{"name":"x%d"},"spec":' % levels
        answered(ground, f"an object of {levels} levels", "POST", "/apis/attack.test/v1/namespaces/default/bottomlesss",
                 body + b'{"a":' * (levels - 1) + b"1" + b"}" * levels, statuses=range(200, 500))
    ground.call("DELETE", f"{CRDS}/bottomlesss.attack.test")
    ground.call("DELETE", f"{hooks}/deep")


def claims(ground, short):
    """Claims, classes and slices of devices, and pods of claims: what is too much is refused in time, the rest costs nobody a second."""
    group = "/apis/resource.k8s.io/v1"
    paths = {"ResourceClaim": f"{group}/namespaces/default/resourceclaims", "ResourceClaimTemplate": f"{group}/namespaces/default/resourceclaimtemplates",
             "DeviceClass": f"{group}/deviceclasses", "ResourceSlice": f"{group}/resourceslices"}

    def send(what, kind, spec, name="bomb", dry="?dryRun=All", statuses=range(200, 500)):
        return answered(ground, what, "POST", f"{paths[kind]}{dry}", {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name},
                                                                      "spec": spec}, statuses=statuses)

    def exact(number, expressions=()):
        return {"name": f"r{number}", "exactly": {"deviceClassName": "c", "selectors": [{"cel": {"expression": each}} for each in expressions]}}

    for what, bomb in BOMBS.items():
        expression = bomb.replace("self.a", "device.attributes['d'].a").replace("self.b", "device.driver")[:10_240]
        send(f"a class, {what}", "DeviceClass", {"selectors": [{"cel": {"expression": expression}}] * 32})
        send(f"a claim, {what}", "ResourceClaim", {"devices": {"requests": [exact(r, [f"{expression} && {r} != {s}" for s in range(4)]) for r in range(32)]}})
    # All that fits: a thousand expressions, no two of them alike, of things that cost most.
    for what, part in (("terms", "1==1||"), ("negations", "!!"), ("lists", "[1]==[1]||"), ("patterns", "'a'.matches('(a{20}){20}')||"),
                       ("macros", "[1].all(x,x==1)||")):
        wide = [exact(r, [f"{part * (1000 // len(part))}'{r}'=='{s}'" if what != "negations" else f"{part * 500}('{r}'=='{s}')" for s in range(32)])
                for r in range(32)]
        send(f"a thousand expressions of {what}", "ResourceClaim", {"devices": {"requests": wide}})
    for what, spec in (("10,000 requests", {"requests": [exact(r) for r in range(10_000)]}),
                       ("20,000 alternatives", {"requests": [{"name": "r", "firstAvailable": [{"name": f"s{s}", "deviceClassName": "c"} for s in range(20_000)]}],
                                                "constraints": [{"matchAttribute": "d/a", "requests": [f"r/s{s}" for s in range(32)]}] * 32}),
                       ("40,000 constraints", {"constraints": [{"matchAttribute": "-"}] * 40_000}),
                       ("tolerations", {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "tolerations": [
                           {"key": f"-{i}", "operator": "Like"} for i in range(30_000)]}}]})):
        send(what, "ResourceClaim", {"devices": spec}, statuses=range(400, 500))
        send(f"{what}, in a template", "ResourceClaimTemplate", {"spec": {"devices": spec}}, statuses=range(400, 500))
    home = {"driver": "d", "nodeName": "n", "pool": {"name": "p", "resourceSliceCount": 1}}
    for what, devices in (("attributes of 64 KiB", [{"name": f"d{i}", "attributes": {"a": {"string": "x" * 65_536}}} for i in range(16)]),
                          ("a key of 1 MiB", [{"name": "d", "attributes": {"x" * (1 << 20): {"int": 1}}}]),
                          ("20,000 attributes", [{"name": "d", "attributes": {f"a{i:05}": {"int": i} for i in range(20_000)}}]),
                          ("20,000 attributes in no order", [{"name": "d", "attributes": {f"a{i * 7919 % 20_011:05}": {"int": i} for i in range(20_000)}}]),
                          ("30,000 devices", [{"name": f"d{i}"} for i in range(30_000)]),
                          ("a pool of dashes", [{"name": "d", "taints": [{"key": "-" * 300, "effect": "x"}] * 3_000}])):
        send(what, "ResourceSlice", {**home, "devices": devices}, statuses=range(400, 500))
    send("a pool's name", "ResourceSlice", {**home, "pool": {"name": "/" * 500_000, "resourceSliceCount": 1}}, statuses=range(400, 500))
    # Pods that name so many claims that they cannot be, and one that can: the claims are made while others are served.
    send("a template", "ResourceClaimTemplate", {"spec": {"devices": {"requests": [exact(0)]}}}, "many", "", range(200, 500))

    def pod(name, count):
        entries = [{"name": f"c{i}", "resourceClaimTemplateName": "many"} for i in range(count)]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "resourceClaims": entries, "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "nobody"}] * min(count, 20_000)}}]}}

    answered(ground, "a pod of 100,000 claims", "POST", PODS, pod("claims", 100_000))
    answered(ground, "a pod of 15,000 claims that it does not use", "POST", PODS, pod("claims", 15_000))
    many = pod("claims", 3_000 if short else 15_000)
    many["spec"]["containers"][0]["resources"] = {}
    answered(ground, "a pod of thousands of claims", "POST", PODS, many, statuses=(201,))
    time.sleep(3 if short else 15)  # they come meanwhile, and go with the pod
    ground.call("DELETE", f"{PODS}/claims?gracePeriodSeconds=0")
    time.sleep(3 if short else 10)
    ground.call("DELETE", f"{paths['ResourceClaimTemplate']}/many")


def encodings(ground, short):
    bomb = gzip.compress(b"\0" * (64 << 20))
    status, _ = ground.api_port.request("POST", MAPS, bomb, Content_Type="application/json", Content_Encoding="gzip")
    expect(status in range(400, 500), f"a gzip body: {status}")
    for what, body in (("nested", b"k8s\x00" + b"\x0a\xff\xff\xff\x07" * 1000), ("varints", b"k8s\x00" + b"\xff" * 100_000),
                       ("cut", b"k8s\x00\x0a\x10"), ("empty", b"k8s\x00"), ("groups", b"k8s\x00" + b"\x0b" * 200_000)):
        answered(ground, f"protobuf, {what}", "POST", MAPS, body, "application/vnd.kubernetes.protobuf")
    answered(ground, "bytes that are no UTF-8", "POST", MAPS, b'{"kind":"ConfigMap\xff","apiVersion":"v1","metadata":{"name":"\xc0\x80"}}')
    status, text = ground.call("GET", "/api/v1/namespaces/%ff%fe/pods/%c0%af")
    text.decode("utf-8")


def histories(ground, short):
    """A large object that changes again and again."""
    config_map(ground, "busy", {"x": "y" * 900_000})
    for turn in range(60 if short else 1500):
        answered(ground, "an update", "PATCH", f"{MAPS}/busy", {"data": {"turn": str(turn)}}, MERGE, (200,))
    ground.call("DELETE", f"{MAPS}/busy")


ATTACKS = [deep_documents, yaml, json_patches, merge_patches, selectors, invalid_affinity, definitions, expressions, claims, encodings,
           histories]

"""Small requests that want to become large or long: documents, patches, selectors, definitions."""
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


ATTACKS = [deep_documents, yaml, json_patches, merge_patches, selectors, invalid_affinity, definitions, encodings, histories]

"""Objects of resource.k8s.io, good and bad, and changes of them: what claim_rules_test.py sends."""
import copy
import dataclasses
import typing

GROUP = "/apis/resource.k8s.io/v1"
PATHS = {"ResourceClaim": f"{GROUP}/namespaces/default/resourceclaims",
         "ResourceClaimTemplate": f"{GROUP}/namespaces/default/resourceclaimtemplates",
         "DeviceClass": f"{GROUP}/deviceclasses", "ResourceSlice": f"{GROUP}/resourceslices",
         "Pod": "/api/v1/namespaces/default/pods"}


def path_of(kind):
    return PATHS[kind]


@dataclasses.dataclass
class Step:
    change: typing.Callable = None  # of the object as it is
    status: bool = False  # by the subresource
    delete: bool = False


@dataclasses.dataclass
class Case:
    what: str
    kind: str
    body: dict
    steps: list = dataclasses.field(default_factory=list)


def made(kind, spec, name="x"):
    version = "v1" if kind == "Pod" else "resource.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def exact(name="r", **more):
    return {"name": name, "exactly": {"deviceClassName": "c", **more}}


def cel(*expressions):
    return [{"cel": {"expression": each}} for each in expressions]


def devices(*requests, **more):
    return {"devices": {"requests": list(requests), **more}}


def config(**more):
    return {"opaque": {"driver": "d.example.com", "parameters": {"a": 1}}, **more}


def device(name="gpu-0", **more):
    return {"name": name, **more}


def pool_of(*items, **more):
    return {"driver": "d.example.com", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n1",
            "devices": list(items), **more}


def shared(policy, value="10Gi"):
    return pool_of(device(allowMultipleAllocations=True, capacity={"memory": {"value": value, "requestPolicy": policy}}))


def pod_spec(claims, *uses, **more):
    return {"automountServiceAccountToken": False, "resourceClaims": claims, "containers": [
        {"name": f"c{i}", "image": "none", "resources": {"claims": list(use)}} for i, use in enumerate(uses or ([],))], **more}


LONG = "x" * 70
REQUESTS = {
    "one": [exact()], "none": [], "no name": [{"exactly": {"deviceClassName": "c"}}], "a bad name": [exact("A.b")],
    "two of one name": [exact(), exact()], "32": [exact(f"r{i}") for i in range(32)], "33": [exact(f"r{i}") for i in range(33)],
    "neither": [{"name": "r"}], "both": [{**exact(), "firstAvailable": [{"name": "s", "deviceClassName": "c"}]}],
    "no class": [{"name": "r", "exactly": {}}], "a bad class": [exact(deviceClassName="A_b")],
    "all": [exact(allocationMode="All")], "all with a count": [exact(allocationMode="All", count=2)],
    "a count": [exact(count=2)], "a count of 0": [exact(count=0)], "a negative count": [exact(count=-1)],
    "another mode": [exact(allocationMode="Some")], "another mode with a count": [exact(allocationMode="Some", count=1)],
    "admin access": [exact(adminAccess=True)], "no admin access": [exact(adminAccess=False)],
    "second admin access": [exact("a"), exact("b", adminAccess=True)],
    "alternatives": [{"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "c"}, {"name": "b", "deviceClassName": "c", "count": 2}]}],
    "8 alternatives": [{"name": "r", "firstAvailable": [{"name": f"a{i}", "deviceClassName": "c"} for i in range(8)]}],
    "9 alternatives": [{"name": "r", "firstAvailable": [{"name": f"a{i}", "deviceClassName": "c"} for i in range(9)]}],
    "alternatives alike": [{"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "c"}] * 2}],
    "bad alternatives": [{"name": "r", "firstAvailable": [{"name": "", "deviceClassName": "", "allocationMode": "x", "selectors": [{}]}]}],
    "tolerations": [exact(tolerations=[{"key": "a/b", "operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoSchedule"}, {}])],
    "bad tolerations": [exact(tolerations=[{"key": "-", "operator": "Exists", "value": "v"}, {"operator": "Like", "effect": "Never"},
                                           {"operator": "Equal", "value": "-"}])],
    "capacity": [exact(capacity={"requests": {"memory": "1Gi"}})], "a wrong type": [exact(count="many")],
    "no selector": [exact(selectors=[{}])], "32 selectors": [exact(selectors=cel(*["true"] * 32))],
    "33 selectors": [exact(selectors=cel(*["true"] * 33))],
}
for number, text in enumerate((
        "true", "", "false", "1", "'x'", "device.driver", "device.driver == 'd'", "device.attributes['d'].model == 'x'",
        "device.attributes['d'].model", "dyn(true)", "dyn(1)", "device.attributes", "device.capacity['d'].memory.isGreaterThan(quantity('1Gi'))",
        "device.capacity['d'].memory > 1", "device.capacity['d'].memory", "device.allowMultipleAllocations", "device.zz == 1", "zz", "device.attributes[",
        "cel.bind(a, device.attributes['d'], a.x && a.y)", "cel.bind(a, device.attributes['d'], a)", "device.attributes['d'].model.matches('(')",
        "device.attributes['d'].version.isLessThan(semver('1.0.0'))", "semver('x').major() == 1", "[1, 'a'].size() > 0", "object.x",
        "device.attributes.exists(k, k == 'd')", "has(device.attributes['d'].model)", "device.attributes['d'].?model.orValue('x') == 'x'",
        "true " + " " * 10240, "'" + "x" * 10230 + "' == ''", "device.driver.matches('^[a-z]+$')", "duration('x') > duration('1s')", "!" * 20 + "true",
        "authorizer.path('/')", "device.driver == 1", "{'a': 1}.a == 1", "device.driver in ['a', 'b']", " true ", "true\n&&\nfoo")):
    REQUESTS[f"selector {number}"] = [exact(selectors=cel(text))]

CLAIMS = {**{what: devices(*requests) for what, requests in REQUESTS.items()}, "nothing": {}}
for what, more in {
        "a constraint": {"constraints": [{"requests": ["r"], "matchAttribute": "d.example.com/numa"}]},
        "an empty constraint": {"constraints": [{}]}, "a distinct one": {"constraints": [{"distinctAttribute": "d.example.com/numa"}]},
        "both": {"constraints": [{"matchAttribute": "d/a", "distinctAttribute": "d/b"}]},
        "bad attributes": {"constraints": [{"matchAttribute": name} for name in
                                           ("a", "d/", "/a", "d/a-b", "A_B/a", f"{LONG}/a", f"d/{LONG}", "d/a/b", "", "d/9")]},
        "unknown requests": {"constraints": [{"matchAttribute": "d/a", "requests": ["r", "s", "r/a", "A", "a/b/c", "r"]}]},
        "33 constraints": {"constraints": [{"matchAttribute": "d/a"}] * 33},
        "33 names": {"constraints": [{"matchAttribute": "d/a", "requests": [f"r{i}" for i in range(33)]}]},
        "configuration": {"config": [config(requests=["r"])]}, "an empty one": {"config": [{}]},
        "bad configuration": {"config": [{"opaque": {}}, {"opaque": {"driver": "A_b", "parameters": [1]}}, {"opaque": {"driver": LONG, "parameters": 7}},
                                         config(requests=["s"]), {"opaque": {"driver": "d", "parameters": None}},
                                         {"opaque": {"driver": "D.Example", "parameters": {}}}, {"opaque": {"driver": "d", "parameters": {"a": "x" * 10240}}}]},
        "33 configurations": {"config": [config()] * 33}}.items():
    CLAIMS[what] = devices(exact(), **more)

CLASSES = {"nothing": {}, "all": {"selectors": cel("device.driver == 'd'"), "config": [config()], "extendedResourceName": "example.com/gpu"},
           "bad": {"selectors": [{}, *cel("zz")], "config": [{}], "extendedResourceName": "cpu"},
           "a bad resource": {"extendedResourceName": "kubernetes.io/x"}, "an empty resource": {"extendedResourceName": ""},
           "33 selectors": {"selectors": cel(*["true"] * 33)}, "33 configurations": {"config": [config()] * 33}}

SLICES = {
    "nothing": {}, "a pool": pool_of(device()), "no devices": pool_of(),
    "a bad pool": {**pool_of(), "pool": {"name": "A//b/" + "c" * 260, "generation": -1, "resourceSliceCount": 0}},
    "a bad driver": pool_of(driver="A_b"), "a long driver": pool_of(driver="a" * 64), "capitals": pool_of(driver="D.Example.com"),
    "an empty node": pool_of(nodeName=""), "a bad node": pool_of(nodeName="A_b"), "no node": pool_of(nodeName=None),
    "two homes": pool_of(allNodes=True), "not all nodes": pool_of(allNodes=False), "all nodes": pool_of(nodeName=None, allNodes=True),
    "not by device": pool_of(perDeviceNodeSelection=False),
    "a selector": pool_of(nodeName=None, nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}),
    "no terms": pool_of(nodeName=None, nodeSelector={}),
    "two terms": pool_of(nodeName=None, nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                                                                           {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}),
    "bad terms": pool_of(nodeName=None, nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "-", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["x"]}, {"key": "a", "operator": "Gt"},
        {"key": "a", "operator": "Like"}, {"key": "a", "operator": "In", "values": ["-"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In"}, {"key": "x", "operator": "Exists"},
                        {"key": "metadata.name", "operator": "In", "values": ["A_b"]}]}]}),
    "128 devices": pool_of(*[device(f"d{i}") for i in range(128)]), "129 devices": pool_of(*[device(f"d{i}") for i in range(129)]),
    "64 with a taint": pool_of(*[device(f"d{i}") for i in range(63)], device("t", taints=[{"key": "a", "effect": "NoSchedule"}])),
    "65 with a taint": pool_of(*[device(f"d{i}") for i in range(64)], device("t", taints=[{"key": "a", "effect": "NoSchedule"}])),
    "alike": pool_of(device(), device()), "a bad name": pool_of(device("A.b")), "no name": pool_of({}),
    "attributes": pool_of(device(attributes={"model": {"string": "x"}, "d.example.com/n": {"int": 1}, "b": {"bool": False}, "v": {"version": "1.2.3-a.1+b"}})),
    "bad attributes": pool_of(device(attributes={"a-b": {"int": 1}, "d/": {"int": 1}, "/a": {"int": 1}, "none": {}, "two": {"int": 1, "string": "x"},
                                                 "long": {"string": "x" * 65}, "v": {"version": "01.2.3"}, "w": {"version": "x" * 65}, "9": {"int": 1}})),
    "versions": pool_of(*[device(f"d{i}", attributes={"v": {"version": version}}) for i, version in enumerate(
        ("1.2.3", "1.2", "1.2.3.4", "1.2.3-", "1.2.3-a", "1.2.3-01", "1.2.3-0a", "1.2.3+", "1.2.3+01", "1.2.3-a..b", "v1.2.3", "", "1.2.3-a+b-c", "1.02.3"))]),
    "a long key": pool_of(device(attributes={"k" * 200: {"int": 1}})),
    "32 attributes": pool_of(device(attributes={f"a{i}": {"int": i} for i in range(32)})),
    "33 facts": pool_of(device(attributes={f"a{i}": {"int": i} for i in range(32)}, capacity={"memory": {"value": "1"}})),
    "a bad capacity": pool_of(device(capacity={"a-b": {"value": "1"}})),
    "a policy alone": pool_of(device(capacity={"memory": {"value": "1", "requestPolicy": {"default": "1"}}})),
    "taints": pool_of(device(taints=[{"key": "a/b", "value": "c", "effect": "NoExecute"}, {"key": "n", "effect": "None"}])),
    "bad taints": pool_of(device(taints=[{"key": "", "effect": ""}, {"key": "-", "value": "-", "effect": "Never"}])),
    "17 taints": pool_of(device(taints=[{"key": f"k{i}", "effect": "NoSchedule"} for i in range(17)])),
    "counters": pool_of(device(consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "1"}}}])),
    "bad counters": pool_of(device(consumesCounters=[{}, {"counterSet": "A", "counters": {"A": {"value": "1"}}}])),
    "3 counters": pool_of(device(consumesCounters=[{"counterSet": f"s{i}", "counters": {"c": {"value": "1"}}} for i in range(3)])),
    "counters alike": pool_of(device(consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "1"}}}] * 2)),
    "33 counters": pool_of(device(consumesCounters=[{"counterSet": "s", "counters": {f"c{i}": {"value": "1"} for i in range(33)}}])),
    "sets": {**pool_of(sharedCounters=[{"name": "s", "counters": {"c": {"value": "1"}}}]), "devices": None},
    "bad sets": {**pool_of(sharedCounters=[{}, {"name": "A", "counters": {"B": {"value": "1"}}}]), "devices": None},
    "9 sets": {**pool_of(sharedCounters=[{"name": f"s{i}", "counters": {"c": {"value": "1"}}} for i in range(9)]), "devices": None},
    "sets and devices": pool_of(device(), sharedCounters=[{"name": "s", "counters": {"c": {"value": "1"}}}]),
    "by device": pool_of(device("a", nodeName="n1"), device("b", allNodes=True),
                         device("c", nodeSelector={"nodeSelectorTerms": [{}, {}]}), nodeName=None, perDeviceNodeSelection=True),
    "by device, badly": pool_of(device("a"), device("b", nodeName="", allNodes=False), device("c", nodeName="n", allNodes=True),
                                nodeName=None, perDeviceNodeSelection=True),
    "a node of a device": pool_of(device(nodeName="n1")),
    "conditions": pool_of(device(bindsToNode=True, bindingConditions=["a"], bindingFailureConditions=["b"])),
    "bad conditions": pool_of(device("a", bindingConditions=["a", "a", "-"], bindingFailureConditions=["a", "b", "b"]), device("b", bindingConditions=["a"]),
                              device("c", bindingFailureConditions=["a"]),
                              device("d", bindingConditions=["a", "b", "c", "d", "e"], bindingFailureConditions=["f"])),
    "values": shared({"default": "1Gi", "validValues": ["1Gi", "2Gi"]}), "a policy without": shared({"default": "1Gi"}),
    "bad values": shared({"default": "3Gi", "validValues": ["2Gi", "1Gi", "1Gi", "20Gi"]}), "no default": shared({"validValues": ["1Gi"]}),
    "11 values": shared({"default": "1Gi", "validValues": [f"{i}Gi" for i in range(1, 12)]}, "20Gi"),
    "a range": shared({"default": "1Gi", "validRange": {"min": "1Gi", "max": "4Gi", "step": "1Gi"}}),
    "a bad range": shared({"default": "8Gi", "validRange": {"min": "11Gi", "max": "7Gi", "step": "3Gi"}}),
    "a range past all": shared({"default": "12Gi", "validRange": {"min": "1Gi", "max": "11Gi"}}), "no least": shared({"default": "1Gi", "validRange": {}}),
    "a range without default": shared({"validRange": {"min": "1"}}),
    "both policies": shared({"default": "1Gi", "validValues": ["1Gi"], "validRange": {"min": "1"}}),
}

NAMED = {"name": "a", "resourceClaimName": "x"}
PODS = {
    "one": pod_spec([NAMED], [{"name": "a"}]), "a template's": pod_spec([{"name": "a", "resourceClaimTemplateName": "t"}], [{"name": "a", "request": "r"}]),
    "none": pod_spec([], [{"name": "a"}]), "another": pod_spec([NAMED, {**NAMED, "name": "b"}], [{"name": "c"}]), "no name": pod_spec([{"resourceClaimName": "x"}]),
    "a bad name": pod_spec([{**NAMED, "name": "A.b"}]), "alike": pod_spec([NAMED, NAMED]), "no source": pod_spec([{"name": "a"}]),
    "two sources": pod_spec([{**NAMED, "resourceClaimTemplateName": "t"}]), "bad sources": pod_spec(
        [{"name": "a", "resourceClaimName": "A_b"}, {"name": "b", "resourceClaimTemplateName": ""}]),
    "used twice": pod_spec([NAMED], [{"name": "a"}, {"name": "a"}]), "a part and all": pod_spec([NAMED], [{"name": "a", "request": "r"}, {"name": "a"}]),
    "parts and all": pod_spec([NAMED], [{"name": "a", "request": "r"}, {"name": "a", "request": "s"}, {"name": "a"}]),
    "all and a part": pod_spec([NAMED], [{"name": "a"}, {"name": "a", "request": "r"}]), "parts": pod_spec([NAMED], [{"name": "a", "request": "r"}] * 2),
    "a bad request": pod_spec([NAMED], [{"name": "a", "request": "A"}, {}]), "two containers": pod_spec([NAMED], [{"name": "a"}], [{"name": "a"}]),
    "the pod's own": pod_spec([NAMED], [{"name": "a"}], resources={"claims": [{"name": "a"}]}),
}

# Names of init containers and of containers: which of them is alike, and where that is said.
NAMES = (("", "In In"), ("", "- -"), ("a", "a"), ("a a", "b"), ("- -", "b"), ("A A", "A"), ("-", "-"), ("b", "a a"))
PODS |= {f"names {init} | {main}": {key: [{"name": "" if name == "-" else name, "image": "none"} for name in names.split()]
                                    for key, names in (("initContainers", init), ("containers", main))} for init, main in NAMES}

RESULT = {"request": "r", "driver": "d.example.com", "pool": "n1", "device": "gpu-0"}
UID = "11111111-2222-3333-4444-555555555555"
# No pod: those the sandbox's controller would look for.
USER = {"apiGroup": "example.com", "resource": "things", "name": "p", "uid": UID}


def allocation(*results, **more):
    return {"devices": {"results": list(results or (RESULT,)), **more}}


def status(what):
    return Step(lambda item: {**item, "status": what}, status=True)


def merged(**more):
    return Step(lambda item: {**item, "status": {**item.get("status", {}), **more}}, status=True)


def spec(**more):
    return Step(lambda item: {**item, "spec": {**item["spec"], **more}})


def held(item):
    return {**item, "metadata": {**item["metadata"], "finalizers": ["example.com/held"]}}


GOOD = {"allocation": allocation()}
REPORT = {"driver": "d.example.com", "pool": "n1", "device": "gpu-0"}
READY = {"type": "Ready", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
STATUSES = {
    "allocated and back": [status(GOOD), status({})], "reserved": [status({**GOOD, "reservedFor": [USER]}), merged(reservedFor=[]), merged(allocation=None)],
    "reserved without": [status({"reservedFor": [USER]})], "bad users": [status({**GOOD, "reservedFor": [{}, {"resource": "pods"}, USER, USER]})],
    "256 users": [status({**GOOD, "reservedFor": [{**USER, "uid": f"u{i}"} for i in range(256)]})],
    "257 users": [status({**GOOD, "reservedFor": [{**USER, "uid": f"u{i}"} for i in range(257)]})],
    "another allocation": [status(GOOD), status({"allocation": allocation({**RESULT, "device": "gpu-1"})})],
    "tolerations": [status({"allocation": allocation({**RESULT, "tolerations": [{"key": "a"}]})})],
    "bad results": [status({"allocation": allocation({}, {**RESULT, "request": "s"}, {**RESULT, "device": "A_b"}, {**RESULT, "pool": "A"},
                                                     {**RESULT, "shareID": "x"}, {**RESULT, "shareID": UID.replace("1", "A")})})],
    "uuids": [status({"allocation": allocation(*[{**RESULT, "shareID": text} for text in (
        UID, UID.replace("-", ""), "{" + UID + "}", "urn:uuid:" + UID, "xxx:uuid:" + UID, "g" + UID[1:], UID.replace("-", "_"))])})],
    "33 results": [status({"allocation": allocation(*[RESULT] * 33)})],
    "conditions": [status({"allocation": allocation({**RESULT, "bindingConditions": ["a"], "bindingFailureConditions": ["b"]})})],
    "bad conditions": [status({"allocation": allocation({**RESULT, "bindingConditions": ["a"]})})],
    "configuration": [status({"allocation": allocation(config=[config(source="FromClass"), config(source="FromClaim", requests=["r"])])})],
    "bad configuration": [status({"allocation": allocation(config=[config(), config(source="x", requests=["s"]), {"source": "FromClass"}])})],
    "a node": [status({"allocation": {**allocation(), "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}})],
    "a bad node": [status({"allocation": {**allocation(), "nodeSelector": {}}})],
    "admin access": [status({"allocation": allocation({**RESULT, "adminAccess": True})})],
    "a report": [status({**GOOD, "devices": [{**REPORT, "conditions": [READY], "data": {"a": 1}, "networkData": {"interfaceName": "e0", "ips": ["10.0.0.1/24"]}}]}),
                 status({})],
    "bad reports": [status({**GOOD, "devices": [
        {**REPORT, "device": "gpu-9"}, {**REPORT, "conditions": [READY, READY, {**READY, "type": "-", "status": "so", "reason": "-", "observedGeneration": -1},
                                                                 {"type": "X", "status": "True"}], "data": [1]},
        {**REPORT, "shareID": "x", "networkData": {"interfaceName": "x" * 300, "hardwareAddress": "x" * 200,
                                                   "ips": ["10.0.0.1", "10.0.0.1/24", "10.0.0.1/24", "fe80::0001/64", "::ffff:10.0.0.1/120", "x/8"]}}]})],
    "a spec that changes": [spec(devices={"requests": [exact("other")]})], "the same spec": [spec()], "labels": [
        Step(lambda item: {**item, "metadata": {**item["metadata"], "labels": {"a": "b"}}})],
    "deleted while in use": [Step(held), status({**GOOD, "reservedFor": [USER]}), Step(delete=True), merged(reservedFor=[USER, {**USER, "uid": "other"}]),
                             merged(reservedFor=[{**USER, "name": "q"}]), merged(reservedFor=[]), merged(allocation=None)],
}

CASES = [Case(f"claim: {what}", "ResourceClaim", made("ResourceClaim", each)) for what, each in CLAIMS.items()]
CASES += [Case(f"template: {what}", "ResourceClaimTemplate", made("ResourceClaimTemplate", {"spec": each})) for what, each in CLAIMS.items()
          if not what.startswith("selector ")]
CASES += [Case(f"template: {what}", "ResourceClaimTemplate", made("ResourceClaimTemplate", {"metadata": meta, "spec": devices(exact())})) for what, meta in {
    "labels": {"labels": {"a": "b"}, "annotations": {"a": "b"}}, "bad labels": {"labels": {"-": "b"}, "annotations": {"-": "b"}},
    "other metadata": {"name": "x", "namespace": "default", "finalizers": ["a/b"], "uid": "u", "ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}}.items()]
CASES += [Case("template: changed", "ResourceClaimTemplate", made("ResourceClaimTemplate", {"spec": devices(exact())}), [spec(spec=devices(exact("other")))])]
CASES += [Case(f"class: {what}", "DeviceClass", made("DeviceClass", each)) for what, each in CLASSES.items()]
CASES += [Case("class: changed", "DeviceClass", made("DeviceClass", CLASSES["all"]), [spec(selectors=cel("zz")), spec(selectors=cel("false")), spec(config=[{}])])]
CASES += [Case(f"slice: {what}", "ResourceSlice", made("ResourceSlice", each)) for what, each in SLICES.items()]
CASES += [Case("slice: changed", "ResourceSlice", made("ResourceSlice", pool_of(device(taints=[{"key": "a", "effect": "NoSchedule"}]))), [
    spec(nodeName="n2"), spec(driver="e"), spec(pool={"name": "n2", "resourceSliceCount": 1}), spec(nodeName=None, allNodes=True),
    spec(devices=[device("gpu-1")]), spec(devices=[device("gpu-1", taints=[{"key": "-"}])])])]
CASES += [Case(f"pod: {what}", "Pod", made("Pod", each)) for what, each in PODS.items()]
CASES += [Case("pod: statuses", "Pod", made("Pod", PODS["a template's"]), [
    merged(resourceClaimStatuses=[{"name": "a", "resourceClaimName": "p-a-xyz"}]),
    merged(resourceClaimStatuses=[{"name": "a"}, {"name": "a"}, {"name": "b", "resourceClaimName": "A_b"}])])]
CASES += [Case(f"status: {what}", "ResourceClaim", made("ResourceClaim", devices(exact())), steps) for what, steps in STATUSES.items()]

# What random changes put in the place of something; of the type of what was there.
TEXTS = ["", "a", "A.b", "a/b", "d.example.com/x", "-", LONG, "All", "ExactCount", "Exists", "Equal", "In", "NoSchedule", "true", "1 +", "device.driver", "r", "1.2.3",
         "metadata.name", UID, "x" * 300]
NUMBERS = [-1, 0, 1, 2, 129]


def places(value, path=()):
    yield path
    for key, each in (value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()):
        yield from places(each, (*path, key))


def mutate(dice, value):
    """One place of it is dropped, doubled, or another."""
    path = dice.choice([each for each in places(value) if each])
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    was = holder[path[-1]]
    kind = dice.randrange(4)
    if kind == 0:
        del holder[path[-1]]
    elif kind == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(was))
    elif isinstance(was, bool):
        holder[path[-1]] = not was
    elif isinstance(was, str) and path[-1] != "value":
        holder[path[-1]] = dice.choice(TEXTS)
    elif isinstance(was, int):
        holder[path[-1]] = dice.choice(NUMBERS)


def random_cases(dice, count):
    sources = [case for case in CASES if len(str(case.body)) < 3000]
    cases = []
    while len(cases) < count:
        source = dice.choice(sources)
        body, steps = copy.deepcopy(source.body), []
        if source.what.startswith("status: "):
            step = dice.choice([each for each in source.steps if each.status] or source.steps)
            if step.delete:
                continue
            wanted = copy.deepcopy(step.change({"spec": body["spec"], "metadata": {}, "status": {}}).get("status") or {})
            for _ in range(dice.randint(1, 3)):
                if wanted:
                    mutate(dice, wanted)
            steps = [status(wanted)]
        else:
            for _ in range(dice.randint(1, 3)):
                if body.get("spec"):
                    mutate(dice, body["spec"])
        cases.append(Case(f"{source.what}, random", source.kind, body, steps))
    return cases

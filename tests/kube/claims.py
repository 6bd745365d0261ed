"""What the tests of resource claims share: slices as drivers write them, claims, and what must hold of them in the end."""
import collections
import os
import subprocess

import schedulers

CLUSTER = os.path.join(schedulers.HERE, "cluster")
DRIVER, CLASS, TEMPLATE = "gpu.tests.koord", "gpus", "one-gpu"
GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = GROUP + "/namespaces/{}/resourceclaims"
PROTECTION = "resource.kubernetes.io/delete-protection"
CONTROLLERS = ",".join(f"{name}-controller" for name in (
    "deployment", "replicaset", "resourceclaim", "garbage-collector"))


def allocation(status):
    """A claim's, less when it was made, which kube-scheduler says from 1.36 on (DRADeviceBindingConditions)."""
    made = status.get("allocation")
    return made and {name: value for name, value in made.items() if name != "allocationTimestamp"}


def device_slice(node, count, generation=1, attributes=lambda index: {}):
    """All of a node's devices, in a pool of its own: gpu-0, gpu-1, ..."""
    devices = [{"name": f"gpu-{index}", "attributes": {"model": {"string": "a"}, **attributes(index)}}
               for index in range(count)]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{node}-{DRIVER}"},
            "spec": {"driver": DRIVER, "nodeName": node, "devices": devices,
                     "pool": {"name": node, "generation": generation, "resourceSliceCount": 1}}}


def device_class(name=CLASS, driver=DRIVER):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver}'"}}]}}


def asks(count=1, name=CLASS):
    """A claim's spec."""
    return {"devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": name, "count": count}}]}}


def template(namespace, spec=None, name=TEMPLATE):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"spec": spec or asks()}}


def claim(name, namespace, spec=None):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec or asks()}


def uses(**source):
    """A pod's spec: resourceClaimTemplateName="...", or resourceClaimName="..."; empty: the template of TEMPLATE."""
    return {"resourceClaims": [{"name": "gpu", **(source or {"resourceClaimTemplateName": TEMPLATE})}]}


def start(test):
    """kube-controller-manager with what claims need, as long as the test lasts."""
    command = [CLUSTER, "start-controllers", os.environ["KOORD_KUBE_DIR"]]
    subprocess.run(command, check=True, env={**os.environ, "KOORD_CONTROLLERS": CONTROLLERS})
    test.addCleanup(subprocess.run, [CLUSTER, "stop-controllers", os.environ["KOORD_KUBE_DIR"]], check=True)


def clean(api, namespace):
    """No pods, claims, slices, classes and nodes; needs the controllers."""
    connection = api.connect()
    for path in (f"/apis/apps/v1/namespaces/{namespace}/deployments", CLAIMS.format(namespace),
                 f"{GROUP}/namespaces/{namespace}/resourceclaimtemplates", f"{GROUP}/resourceslices",
                 f"{GROUP}/deviceclasses"):
        connection.request("DELETE", path)
    schedulers.wait_for("no ReplicaSets", lambda: not connection.request(
        "GET", f"/apis/apps/v1/namespaces/{namespace}/replicasets")["items"], 60)
    schedulers.clean(api, [namespace])
    schedulers.wait_for("no claims", lambda: not connection.request("GET", CLAIMS.format(namespace))["items"], 60)


def clean_without_controllers(api, namespace):
    """The same where nobody takes finalizers away, and claims' devices are given up by hand."""
    connection, claims = api.connect(), CLAIMS.format(namespace)
    schedulers.delete_now(connection, f"/api/v1/namespaces/{namespace}/pods")
    for item in api.list(claims):
        path = f"{claims}/{item['metadata']['name']}"
        connection.request("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        connection.request("PATCH", path + "/status", {"status": None}, "application/merge-patch+json")
    for path in (claims, f"{GROUP}/resourceslices", f"{GROUP}/deviceclasses"):
        connection.request("DELETE", path)
    schedulers.wait_for("no claims", lambda: not api.list(claims), 30)
    schedulers.clean(api, [namespace])


def problems(api, namespace):
    """What is wrong: a device given twice, a pod on another node than its devices, a claim that says it is somebody's
    whose it is not, and one that is nobody's and still has devices."""
    found = []
    pods = {item["metadata"]["uid"]: item for item in api.list(f"/api/v1/namespaces/{namespace}/pods")}
    items = {item["metadata"]["name"]: item for item in api.list(CLAIMS.format(namespace))}
    offered = {(each["spec"]["driver"], each["spec"]["pool"]["name"], device["name"]): each["spec"]["nodeName"]
               for each in api.list(f"{GROUP}/resourceslices") for device in each["spec"]["devices"]}
    holders = collections.defaultdict(list)
    users = collections.defaultdict(set)  # of claims, bound pods' uids
    for uid, pod in pods.items():
        named = {each["name"]: each.get("resourceClaimName") for each in pod["spec"].get("resourceClaims", [])}
        named.update({each["name"]: each.get("resourceClaimName")
                      for each in pod["status"].get("resourceClaimStatuses") or []})
        for name in named.values():
            if not pod["spec"].get("nodeName"):
                continue
            users[name].add(uid)
            if name not in items or "allocation" not in items[name].get("status", {}):
                found.append(f"pod {pod['metadata']['name']} is bound, its claim {name} is not allocated")
    for name, item in items.items():
        status = item.get("status") or {}
        reserved = {each["uid"] for each in status.get("reservedFor") or []}
        for uid in users[name] - reserved:
            found.append(f"claim {name} is not reserved for its pod {pods[uid]['metadata']['name']}")
        for uid in reserved - users[name]:
            what = pods[uid]["metadata"]["name"] if uid in pods else "of which nothing is known"
            found.append(f"claim {name} is reserved for the pod {what}, which is not bound with it")
        if "allocation" not in status:
            continue
        if PROTECTION not in item["metadata"].get("finalizers", []):
            found.append(f"claim {name} is allocated and not protected")
        for result in status["allocation"]["devices"]["results"]:
            device = (result["driver"], result["pool"], result["device"])
            holders[device].append(name)
            if device not in offered:
                found.append(f"claim {name} has {device}, which no slice offers")
            for uid in users[name]:
                if offered.get(device) != pods[uid]["spec"]["nodeName"]:
                    found.append(f"pod {pods[uid]['metadata']['name']} is on {pods[uid]['spec']['nodeName']}, "
                                 f"its device is {device}")
    return found + [f"{device} is given to {names}" for device, names in holders.items() if len(names) > 1]

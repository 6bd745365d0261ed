"""What the tests of volumes share: classes, claims, volumes, and what must hold of them in the end."""
import os
import subprocess

import schedulers
from schedulers import wait_for

from provisioner import CLAIMS, VOLUMES, ZONE, Provisioner

CLUSTER = os.path.join(schedulers.HERE, "cluster")
DRIVER = "csi.tests.koord"
ZONES = ["a", "b", "c"]
HOSTNAME = "kubernetes.io/hostname"
NOW, WAIT, LOCAL = "volumes-now", "volumes-wait", "volumes-local"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"


def storage_class(name, provisioner=DRIVER, waits=False, zones=None):
    item = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate"}
    if zones:
        item["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}]
    return item


def classes():
    return [storage_class(NOW), storage_class(WAIT, waits=True),
            storage_class(LOCAL, "kubernetes.io/no-provisioner", waits=True)]


def claim(name, namespace, storage_class_name, size="1Gi", modes=("ReadWriteOnce",), **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
            "spec": {"accessModes": list(modes), "storageClassName": storage_class_name,
                     "resources": {"requests": {"storage": size}}, **spec}}


def affinity(labels):
    expressions = [{"key": key, "operator": "In", "values": [value] if isinstance(value, str) else value}
                   for key, value in labels.items()]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}


def volume(name, storage_class_name, place=None, size="1Gi", labels=None, modes=("ReadWriteOnce",), source=None):
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"accessModes": list(modes), "capacity": {"storage": size}, "storageClassName": storage_class_name,
                     **(affinity(place) if place else {}), **(source or {"hostPath": {"path": f"/{name}"}})}}


def csi_node(name, count):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
            "spec": {"drivers": [{"name": DRIVER, "nodeID": name, "topologyKeys": [ZONE],
                                  "allocatable": {"count": count}}]}}


def uses(*claims):
    """A pod's volumes."""
    return {"volumes": [{"name": f"volume-{index}", "persistentVolumeClaim": {"claimName": name}}
                        for index, name in enumerate(claims)]}


def start(test, api):
    """Controllers and a provisioner, as long as the test (a class's or an instance's cleanups) lasts."""
    for verb in ("start", "stop"):
        command = [CLUSTER, f"{verb}-controllers", os.environ["KOORD_KUBE_DIR"]]
        if verb == "start":
            subprocess.run(command, check=True)
        else:
            test(subprocess.run, command, check=True)
    provisioner = Provisioner(api, DRIVER, ZONES)
    test(provisioner.close)


def clean(api, namespace):
    """No pods, claims, volumes, classes and nodes; needs the controllers."""
    schedulers.clean(api, [namespace])
    connection = api.connect()
    for path in (f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", VOLUMES, CLASSES, CSI_NODES):
        connection.request("DELETE", path)
    wait_for("the claims' and volumes' end", lambda: not any(
        connection.request("GET", path)["items"] for path in (CLAIMS, VOLUMES, f"/api/v1/namespaces/{namespace}/pods")))


def problems(api, namespace):
    """What is wrong with pods that should all run with their claims: nothing may be half done, nothing done twice."""
    found = []
    nodes = {item["metadata"]["name"]: item["metadata"].get("labels", {}) for item in api.list("/api/v1/nodes")}
    claims = {item["metadata"]["name"]: item
              for item in api.list(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims")}
    known = {item["metadata"]["name"]: item for item in api.list(VOLUMES)}
    for name, item in claims.items():
        bound = known.get(item["spec"].get("volumeName", ""))
        if item["status"].get("phase") != "Bound" or bound is None:
            found.append(f"claim {name} is {item['status'].get('phase')}")
        elif bound["spec"].get("claimRef", {}).get("uid") != item["metadata"]["uid"]:
            found.append(f"claim {name} says it has {bound['metadata']['name']}, which says otherwise")
    for name, item in known.items():
        reference = item["spec"].get("claimRef")
        if reference is None:
            if item["status"].get("phase") != "Available":
                found.append(f"volume {name} is {item['status'].get('phase')}")
        elif claims.get(reference["name"], {}).get("spec", {}).get("volumeName") != name:
            found.append(f"volume {name} is held for {reference['name']}, which has another one or none")
    for item in api.list(f"/api/v1/namespaces/{namespace}/pods"):
        name, place = item["metadata"]["name"], item["spec"].get("nodeName")
        if not place:
            found.append(f"pod {name} is nowhere")
            continue
        for each in item["spec"].get("volumes", []):
            if "persistentVolumeClaim" not in each:
                continue
            bound = known.get(claims[each["persistentVolumeClaim"]["claimName"]]["spec"].get("volumeName", ""), {})
            terms = bound.get("spec", {}).get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms")
            if terms and not any(all(nodes[place].get(rule["key"]) in rule["values"] for rule in term["matchExpressions"])
                                 for term in terms):
                found.append(f"pod {name} is on {place}, its volume is not")
    return found

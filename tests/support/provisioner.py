"""A provisioner of volumes for tests: makes what claims ask for, where the selected node is.

Claims of a class that waits for nobody get a zone by their name. kube-controller-manager binds.
"""
import http.client
import json
import threading
import zlib

import kube_api

ZONE = "topology.kubernetes.io/zone"
STORAGE_PROVISIONER, SELECTED_NODE = "volume.kubernetes.io/storage-provisioner", "volume.kubernetes.io/selected-node"
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"


class Provisioner:
    """Of one name, over watches of all claims and volumes; opened again when one breaks.

    It reclaims what is Released and of policy Delete. Classes and nodes' labels are read once: a name means the same as
    long as it runs.
    """

    def __init__(self, api, name, zones):
        self.api, self.name, self.zones = api, name, zones
        self.closed = threading.Event()
        self.http = {}
        self.known = {}
        self.threads = [threading.Thread(target=self.run, args=(path, work), daemon=True)
                        for path, work in ((CLAIMS, self.provision), (VOLUMES, self.reclaim))]
        for thread in self.threads:
            thread.start()

    def run(self, path, work):
        while not self.closed.is_set():
            try:
                connection = self.api.connect()
                answer = connection.request("GET", path)
                for item in answer["items"]:
                    work(connection, item)
                self.follow(path, connection, answer["metadata"]["resourceVersion"], work)
            except (OSError, http.client.HTTPException, ValueError, AttributeError, kube_api.ApiError):
                pass  # the API server is away, the object has changed meanwhile, or close() has been called
            self.closed.wait(0.1)

    def follow(self, path, connection, version, work):
        self.http[path] = http.client.HTTPSConnection(self.api.host, self.api.port, context=self.api.context, timeout=600)
        self.http[path].request("GET", f"{path}?watch=1&resourceVersion={version}",
                                headers={"Authorization": f"Bearer {self.api.token}"})
        for line in self.http[path].getresponse():
            change = json.loads(line)
            if change["type"] == "ERROR":
                return
            if change["type"] != "DELETED":
                work(connection, change["object"])

    def read(self, connection, path):
        if path not in self.known:
            self.known[path] = connection.request("GET", path)
        return self.known[path]

    def place(self, connection, claim, storage_class):
        """The labels that nodes of the volume must have, or None where it has to be chosen again."""
        allowed = {}
        for term in storage_class.get("allowedTopologies") or []:
            for each in term["matchLabelExpressions"]:
                allowed[each["key"]] = each["values"]
        if storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
            zones = allowed.get(ZONE, self.zones)
            return {ZONE: zones[zlib.crc32(claim["metadata"]["name"].encode()) % len(zones)]}
        selected = claim["metadata"]["annotations"][SELECTED_NODE]
        labels = self.read(connection, f"/api/v1/nodes/{selected}")["metadata"].get("labels", {})
        if any(labels.get(key) not in values for key, values in allowed.items()):
            return None
        return {ZONE: labels[ZONE]} if ZONE in labels else {}

    def provision(self, connection, claim):
        meta, spec = claim["metadata"], claim["spec"]
        if (meta.get("annotations", {}).get(STORAGE_PROVISIONER) != self.name or spec.get("volumeName")
                or meta.get("deletionTimestamp")):
            return
        storage_class = self.read(connection, f"/apis/storage.k8s.io/v1/storageclasses/{spec['storageClassName']}")
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        if waits and SELECTED_NODE not in meta["annotations"]:
            return
        place = self.place(connection, claim, storage_class)
        if place is None:
            path = f"/api/v1/namespaces/{meta['namespace']}/persistentvolumeclaims/{meta['name']}"
            connection.request("PATCH", path, {"metadata": {"annotations": {SELECTED_NODE: None}}},
                               "application/merge-patch+json")
            return
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": meta["namespace"],
                     "name": meta["name"], "uid": meta["uid"]}
        expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in place.items()]
        volume = {
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": f"pvc-{meta['uid']}", "annotations": {"pv.kubernetes.io/provisioned-by": self.name}},
            "spec": {"accessModes": spec["accessModes"], "capacity": spec["resources"]["requests"],
                     "claimRef": reference, "storageClassName": spec["storageClassName"],
                     "persistentVolumeReclaimPolicy": storage_class["reclaimPolicy"],
                     "csi": {"driver": self.name, "volumeHandle": meta["uid"]}}}
        if expressions:
            volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
        try:
            kube_api.create(connection, volume)
        except kube_api.ApiError as error:
            if error.status != 409:
                raise

    def reclaim(self, connection, volume):
        meta = volume["metadata"]
        if (meta.get("annotations", {}).get("pv.kubernetes.io/provisioned-by") != self.name
                or volume["status"].get("phase") != "Released" or meta.get("deletionTimestamp")
                or volume["spec"]["persistentVolumeReclaimPolicy"] != "Delete"):
            return
        try:
            connection.request("DELETE", f"{VOLUMES}/{meta['name']}")
        except kube_api.ApiError as error:
            if error.status != 404:
                raise

    def close(self):
        self.closed.set()
        for connection in list(self.http.values()):
            kube_api.wake_reader(connection)

#!/usr/bin/env python3
"""A small REST client for tests and measurements: a kubeconfig's token and CA, keep-alive, many connections.

It is written on Python's standard library alone, apart from the client under test.
usage by hand: kube_api.py KUBECONFIG load FILE...
"""
import base64
import contextlib
import http.client
import json
import queue
import re
import socket
import ssl
import sys
import threading
import time

PLURAL = {
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses", False),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "ReplicaSet": ("/apis/apps/v1", "replicasets", True),
    "Service": ("/api/v1", "services", True),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses", False),
    "CSINode": ("/apis/storage.k8s.io/v1", "csinodes", False),
    "CSIDriver": ("/apis/storage.k8s.io/v1", "csidrivers", False),
    "CSIStorageCapacity": ("/apis/storage.k8s.io/v1", "csistoragecapacities", True),
    "NodeMetric": ("/apis/slo.koordinator.sh/v1alpha1", "nodemetrics", False),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims", True),
    "ResourceClaimTemplate": ("/apis/resource.k8s.io/v1", "resourceclaimtemplates", True),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices", False),
    "DeviceClass": ("/apis/resource.k8s.io/v1", "deviceclasses", False),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
}
PAGE = 1000
STARTING, STARTING_SECONDS = b"storage is (re)initializing", 30  # what a server says of a CRD that it has just taken


def wake_reader(connection):
    """Ends what another thread waits for on an http.client connection, or None: closing it would wait for that thread.

    The thread may be closing it at this moment.
    """
    sock = connection.sock if connection is not None else None
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


class ApiError(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body[:300]}")
        self.status, self.body = status, body


def scalar(text, key):
    """One `key: value` of a kubeconfig in the plain style that the sandbox and tests/kube/cluster write."""
    match = re.search(rf'^[\s-]*{key}:\s*"?([^"\s]+)"?\s*$', text, re.M)
    return match.group(1) if match else None


class Connection:
    """One keep-alive connection; not for several threads at once."""

    def __init__(self, api):
        self.api = api
        self.http = http.client.HTTPSConnection(api.host, api.port, context=api.context, timeout=120)

    def request(self, method, path, body=None, content_type="application/json", accept="application/json"):
        headers = {"Authorization": f"Bearer {self.api.token}", "Accept": accept, "User-Agent": "koord-tests"}
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
            headers["Content-Type"] = content_type
        for patience in range(STARTING_SECONDS, -1, -1):
            self.http.request(method, path, data, headers)
            response = self.http.getresponse()
            text = response.read()
            if response.status == 429 and STARTING in text and patience:
                time.sleep(1)  # as kubectl does, and as the answer's Retry-After says
                continue
            if response.status >= 400:
                raise ApiError(response.status, text.decode(errors="replace"))
            return json.loads(text) if text else None
        return None


class Api:
    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            text = file.read()
        server = re.fullmatch(r"https://([^:/]+):(\d+)/?", scalar(text, "server"))
        self.host, self.port = server.group(1), int(server.group(2))
        self.token = scalar(text, "token")
        authority = scalar(text, "certificate-authority-data")
        self.context = ssl.create_default_context(
            cadata=base64.b64decode(authority).decode() if authority else None,
            cafile=None if authority else scalar(text, "certificate-authority"))

    def connect(self):
        return Connection(self)

    def list(self, path):
        """All items, page by page."""
        connection, items, token = self.connect(), [], ""
        while True:
            page = connection.request("GET", f"{path}?limit={PAGE}" + (f"&continue={token}" if token else ""))
            items += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                return items

    def each(self, items, work, connections=16):
        """work(connection, item) for every item, over several connections; the first error is raised."""
        waiting = queue.SimpleQueue()
        for item in items:
            waiting.put(item)
        errors = []

        def run():
            connection = self.connect()
            while not errors:
                try:
                    item = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    work(connection, item)
                except Exception as error:  # handed to the caller below
                    errors.append(error)

        threads = [threading.Thread(target=run) for _ in range(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def load(self, objects, connections=16):
        """Creates the objects: first those that others need, each one at a time, then the rest at once."""
        first = [item for item in objects if item["kind"] in ("Namespace", "PriorityClass")]
        rest = [item for item in objects if item["kind"] not in ("Namespace", "PriorityClass")]
        self.each(first, create, 1)
        self.each(rest, create, connections)


def create(connection, item):
    prefix, plural, namespaced = PLURAL[item["kind"]]
    namespace = f"/namespaces/{item['metadata'].get('namespace', 'default')}" if namespaced else ""
    return connection.request("POST", f"{prefix}{namespace}/{plural}", item)


def main():
    if len(sys.argv) < 4 or sys.argv[2] != "load":
        print(__doc__, file=sys.stderr)
        return 2
    api = Api(sys.argv[1])
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as file:
            items = json.load(file)["items"]
        api.load(items)
        print(f"{path}: {len(items)} objects created", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

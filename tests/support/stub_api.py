"""An API server on loopback that does what a test says: it holds requests, refuses them, breaks off."""
import http.server
import json
import re
import threading

BINDING = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/binding$")
LIST = re.compile(r"/(?:api|apis/[^/]+)/v1/(?:namespaces/[^/]+/)?([a-z]+)(?:\?(.*))?$")
# What a scheduler watches: (group and version, kind). All but the first two are there and empty.
KINDS = {
    "nodes": ("v1", "Node"), "pods": ("v1", "Pod"), "namespaces": ("v1", "Namespace"), "services": ("v1", "Service"),
    "replicationcontrollers": ("v1", "ReplicationController"), "replicasets": ("apps/v1", "ReplicaSet"),
    "statefulsets": ("apps/v1", "StatefulSet"), "poddisruptionbudgets": ("policy/v1", "PodDisruptionBudget"),
    "persistentvolumes": ("v1", "PersistentVolume"), "persistentvolumeclaims": ("v1", "PersistentVolumeClaim"),
    "storageclasses": ("storage.k8s.io/v1", "StorageClass"), "csinodes": ("storage.k8s.io/v1", "CSINode"),
    "configmaps": ("v1", "ConfigMap"), "csidrivers": ("storage.k8s.io/v1", "CSIDriver"),
    "csistoragecapacities": ("storage.k8s.io/v1", "CSIStorageCapacity"),
    "volumeattachments": ("storage.k8s.io/v1", "VolumeAttachment"),
}
INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # the other side has gone, which is what many tests are about


def write_kubeconfig(path, port):
    """Leads to a server of a test's on loopback, without TLS and without a user."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("apiVersion: v1\nkind: Config\ncurrent-context: stub\nclusters:\n"
                   f"- {{name: stub, cluster: {{server: 'http://127.0.0.1:{port}'}}}}\n"
                   "contexts: [{name: stub, context: {cluster: stub, user: ''}}]\n")


class StubApi:
    """Nodes and pods that never change; `on_bind(namespace, name)` returns the status of a binding.

    Used as a context manager; `bound` and `events` are what was written.
    """

    def __init__(self, folder, nodes=(), pods=(), on_bind=lambda namespace, name: 201):
        self.objects = {"nodes": list(nodes), "pods": list(pods)}
        for version, item in enumerate(self.objects["nodes"] + self.objects["pods"], 1):
            item["metadata"].setdefault("uid", f"uid-{version}")
            item["metadata"]["resourceVersion"] = str(version)
        self.on_bind = on_bind
        self.bound, self.events = [], []
        self.closing = threading.Event()
        self.server = Server(("127.0.0.1", 0), self.handler())
        self.kubeconfig = f"{folder}/stub-kubeconfig"
        write_kubeconfig(self.kubeconfig, self.server.server_port)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def handler(self):
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def event(self, kind, item):
                line = json.dumps({"type": kind, "object": item}).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()

            def watch(self, plural, query):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                kind = dict(zip(("apiVersion", "kind"), KINDS[plural]))
                if "sendInitialEvents=true" in query:
                    for item in stub.objects.get(plural, []):
                        self.event("ADDED", {**item, **kind})
                    self.event("BOOKMARK", {**kind, "metadata": {"resourceVersion": "1000",
                                                                 "annotations": INITIAL_EVENTS_END}})
                stub.closing.wait()

            def do_GET(self):
                found = LIST.match(self.path)
                if found is None or found.group(1) not in KINDS:
                    return self.answer(404, status(404, "NotFound"))
                plural, query = found.group(1), found.group(2) or ""
                if "watch=true" in query:
                    return self.watch(plural, query)
                version, kind = KINDS[plural]
                return self.answer(200, {"kind": kind + "List", "apiVersion": version,
                                         "metadata": {"resourceVersion": "1000"},
                                         "items": stub.objects.get(plural, [])})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                found = BINDING.match(self.path)
                if found is None:
                    stub.events.append(body)
                    return self.answer(201, body)
                code = stub.on_bind(*found.groups())
                if code == 201:
                    stub.bound.append((found.group(2), body["target"]["name"]))
                return self.answer(code, status(code, "Failure" if code >= 400 else ""))

            def do_PATCH(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(200, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}})

        return Handler


def status(code, reason):
    return {"kind": "Status", "apiVersion": "v1", "status": "Success" if code < 400 else "Failure",
            "reason": reason, "message": "no" if code >= 400 else "", "code": code}

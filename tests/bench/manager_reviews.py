"""Reviews of a 10 KiB pod that a profile matches: a manager of its own beside a sandbox, 1 and 8 clients on kept-alive TLS.

usage: manager_reviews.py [SECONDS]     (5 for each row)
"""
import base64
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TREE, "tests", "support"), os.path.join(TREE, "tests", "roles", "manager")]

import kube_api  # noqa: E402
import manager_test  # noqa: E402
import sandbox  # noqa: E402
from sandbox import free_port, wait_for  # noqa: E402


def pod():
    """10 KiB: four containers with environment, probes and mounts, and annotations."""
    containers = [{
        "name": f"container-{i}", "image": f"registry.example/team/service-{i}:v1.2.3",
        "env": [{"name": f"VARIABLE_{i}_{j}", "value": f"a value of the variable {j}"} for j in range(20)],
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}},
        "volumeMounts": [{"name": f"volume-{j}", "mountPath": f"/var/lib/volume-{j}"} for j in range(5)],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}} for i in range(4)]
    made = {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "namespace": "default", "labels": {"tier": "batch"}, "annotations": {}},
            "spec": {"containers": containers, "volumes": [{"name": f"volume-{j}", "emptyDir": {}} for j in range(5)]}}
    made["metadata"]["annotations"]["padding"] = "x" * max(0, 10240 - len(json.dumps(made)))
    return made


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "5"
    review = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "namespace": "default", "name": "a",
        "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"}, "object": pod(), "oldObject": None}})
    with tempfile.TemporaryDirectory(prefix="koord-bench.") as folder, sandbox.Sandbox("--nodes=1", "--roles=") as world:
        connection = kube_api.Api(world.kubeconfig).connect()
        for path, body in (
                ("/api/v1/namespaces", {"metadata": {"name": "koordinator-system"}}),
                ("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "koord-batch"}, "value": 5999}),
                ("/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles", {
                    "apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "batch"},
                    "spec": {"selector": {"matchLabels": {"tier": "batch"}}, "qosClass": "BE", "priorityClassName": "koord-batch",
                             "labels": {"by": "profile"}}})):
            try:
                connection.request("POST", path, body)
            except kube_api.ApiError as error:
                if error.status != 409:  # it is there already
                    raise
        port = free_port()
        manager = manager_test.Manager(world.kubeconfig, folder, f"--webhook-port={port}", WEBHOOK_CERT_DIR=os.path.join(folder, "certificates"))
        try:
            wait_for("ready", lambda: manager.get("/readyz", manager.probes)[0] == 200)
            secret = connection.request("GET", "/api/v1/namespaces/koordinator-system/secrets/koordinator-webhook-certs")
            with open(os.path.join(folder, "ca.pem"), "wb") as file:
                file.write(base64.b64decode(secret["data"]["ca-cert.pem"]))
            with open(os.path.join(folder, "review.json"), "w", encoding="utf-8") as file:
                file.write(review)
            print(f"reviews of a pod of {len(json.dumps(pod()))} bytes that a profile matches, kept-alive TLS:", flush=True)
            for clients in ("1", "8"):
                subprocess.run([os.path.join(TREE, "build", "tests", "bench", "review_flood"), str(port), os.path.join(folder, "ca.pem"),
                                os.path.join(folder, "review.json"), str(manager.child.pid), seconds, clients], check=True)
        finally:
            manager.terminate()


if __name__ == "__main__":
    main()

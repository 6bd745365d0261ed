"""What the tests of the node agent share: an agent of a test's own, on a fake root, and how to ask it."""
import http.client
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import fake_node  # noqa: E402
import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import KOORD, free_port, wait_for  # noqa: E402,F401

NODE = "node-0000"
CRDS = [os.path.join(TREE, "packaging", "crds", f"{kind}.yaml") for kind in (
    "slo.koordinator.sh_nodemetrics", "slo.koordinator.sh_nodeslos", "topology.node.k8s.io_noderesourcetopologies")]
SLO = "/apis/slo.koordinator.sh/v1alpha1"


class Agent:
    """`koord --role=...` with everything of the host below `root`."""

    def __init__(self, root, *flags, role="koordlet", node=NODE, prefix="--", mode="hostMode", **variables):
        self.port = free_port()
        self.log_path = os.path.join(tempfile.mkdtemp(prefix="koordlet.", dir=root.folder), "log")
        self.log = open(self.log_path, "wb")
        own = [f"--addr=127.0.0.1:{self.port}", "--run-queue-latency=false", *root.flags()]
        environment = {**os.environ, "NODE_NAME": node, "agent_mode": mode, **variables}
        self.child = subprocess.Popen([KOORD, f"--role={role}", *[prefix + flag[2:] for flag in own], *flags],
                                      stdout=self.log, stderr=subprocess.STDOUT, env=environment)

    def output(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def get(self, path, host="127.0.0.1"):
        """(status, body); 0 while nobody answers."""
        assert self.child.poll() is None, f"the agent ended: {self.output()[-3000:]}"
        try:
            connection = http.client.HTTPConnection(host, self.port, timeout=20)
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return 0, ""

    def json(self, path):
        status, body = self.get(path)
        return json.loads(body) if status == 200 else {}

    def node(self):
        return self.json("/apis/v1/node")

    def pods(self):
        return {pod["name"]: pod for pod in self.json("/apis/v1/pods").get("pods", [])}

    def source(self, name):
        return next((one for one in self.node().get("sources", []) if one["name"] == name), {"ok": None})

    def suppresses(self):
        return any(one["active"] for one in self.node().get("strategies", []) if one["name"] == "CPUSuppress")

    def terminate(self):
        self.child.terminate()
        code = self.child.wait(20)
        self.log.close()
        return code

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.log.close()


class World:
    """A sandbox with one node, whose kubelet and root are fakes."""

    def __init__(self, tls=None, roles=("--roles=",), crds=()):
        self.folder = tempfile.TemporaryDirectory(prefix="koord-node.")
        self.root = fake_node.FakeRoot(os.path.join(self.folder.name, "root"))
        self.pki = os.path.join(self.root.folder, "var/lib/kubelet/pki")
        certificate = fake_node.certificate(self.pki if tls is None else tls, NODE)
        self.kubelet = fake_node.Kubelet(NODE, certificate)
        self.sandbox = sandbox.Sandbox("--nodes=1", *roles, "--load", *CRDS, *crds).__enter__()
        self.api = kube_api.Api(self.sandbox.kubeconfig)
        self.agents = []
        self.point_at(self.kubelet.port)

    def point_at(self, port):
        status = {"status": {"addresses": [{"type": "Hostname", "address": NODE},
                                           {"type": "InternalIP", "address": "127.0.0.1"}],
                             "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
                             "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
                             "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}}}
        self.request("PATCH", f"/api/v1/nodes/{NODE}/status", status)

    def request(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.api.connect().request(method, path, body, kind)

    def create(self, plural, kind, spec, name=NODE):
        def established():
            try:
                return self.request("POST", f"{SLO}/{plural}", {
                    "apiVersion": "slo.koordinator.sh/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
            except kube_api.ApiError as error:
                assert error.status == 404, error
                return None
        return wait_for(f"the CRD of {kind}", established, 20)

    def add_pod(self, name, cpu=0.0, memory=0, qos="Burstable", **more):
        item = fake_node.pod(name, NODE, qos, **more)
        group = self.root.add_pod(item, cpu, memory)
        self.kubelet.pods = [*self.kubelet.pods, item]
        return group

    def agent(self, *flags, **more):
        self.root.settle()
        agent = Agent(self.root, f"--kubeconfig={self.sandbox.kubeconfig}", *flags, **more)
        self.agents.append(agent)
        return agent

    def close(self):
        for agent in self.agents:
            agent.close()
        self.sandbox.__exit__()
        self.kubelet.close()
        self.root.close()
        self.folder.cleanup()

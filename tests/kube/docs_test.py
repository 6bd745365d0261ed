#!/usr/bin/env python3
"""The manifests of packaging/docs on a real API server of the test's own, where they are taken without a warning and every role reads
them without one; and each command block there that says `kube-apiserver`. The other blocks: tests/roles/readme/docs_test.py."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import schedulers
from own_cluster import own_cluster
from schedulers import wait_for

TREE = os.path.join(schedulers.HERE, "..", "..")
sys.path.insert(0, os.path.join(TREE, "tests", "roles", "koordlet"))
sys.path.insert(0, os.path.join(TREE, "tests", "roles", "manager"))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))
import agents  # noqa: E402
import fake_node  # noqa: E402
import helm  # noqa: E402
import manager_test  # noqa: E402
import markdown  # noqa: E402
from installed import NS, Installed  # noqa: E402
from sandbox import KOORD, KUBECTL, free_port  # noqa: E402

NODE = "docs-node"
SLO = "/apis/slo.koordinator.sh/v1alpha1"
# What a key of slo-controller-config comes to in a NodeSLO's spec, by its JSON.
SPEC = {"resource-threshold-config": lambda said: {"resourceUsedThresholdWithBE": said["clusterStrategy"]},
        "resource-qos-config": lambda said: {"resourceQOSStrategy": said["clusterStrategy"]},
        "cpu-burst-config": lambda said: {"cpuBurstStrategy": said["clusterStrategy"]},
        "system-config": lambda said: {"systemStrategy": said["clusterStrategy"]},
        "node-slo-extensions-config": lambda said: {"extensions": {"Object": said["clusterStrategy"]["extensions"]}},
        "host-application-config": lambda said: {"hostApplications": said["applications"]}}
GATES = ("CgroupReconcile", "BEMemoryEvict", "BECPUEvict", "MemoryEvict", "CPUEvict", "BlkIOReconcile", "Resctrl", "SystemConfig",
         "OOMScoreAdj", "CoreSched", "CPUNormalization", "TerwayQoS")
# What the fake machine has not, and what a busy one does.
MACHINE = ('msg="connections were dropped"', 'error="this kernel or this machine cannot divide caches (it has no resctrl)"',
           r'block \"/dev/vdb\" of type \"device\": \"/dev/vdb\": there is no such device',
           r'block \"scratch\" of type \"podvolume\": which PersistentVolume the claim \"scratch\" has is not known')


def documents():
    """The blocks of YAML of all pages."""
    return [block for page in markdown.pages() for block in markdown.blocks(page) if block.language == "yaml"]


def warnings(text):
    return [line for line in text.splitlines() if " level=warn " in line or " level=error " in line]


def keys(text):
    """{key: its JSON} of a strategy's block."""
    found = re.findall(r"^  ([a-z-]+): \|\n((?:    .*\n?)+)", text, re.M)
    return {key: json.loads(value) for key, value in found}


def contains(whole, part):
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and contains(whole[name], value) for name, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(contains, whole, part))
    return str(whole) == str(part)


class Docs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder, _, kubeconfig = own_cluster("docs")
        cls.installed = Installed(kubeconfig, cls.folder)
        cls.api, cls.kubeconfig = cls.installed.api, kubeconfig

    def request(self, method, path, body=None):
        return self.api.connect().request(method, path, body, "application/merge-patch+json" if method == "PATCH" else "application/json")

    def start_roles(self):
        """{role: what it has logged}; all of them run until the test's end."""
        account = self.installed.account
        self.root = fake_node.FakeRoot(os.path.join(tempfile.mkdtemp(prefix="node.", dir=self.folder), "root"))
        self.addCleanup(self.root.close)
        self.kubelet = fake_node.Kubelet(NODE, fake_node.certificate(os.path.join(self.root.folder, "var/lib/kubelet/pki"), NODE))
        self.addCleanup(self.kubelet.close)
        amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        for name in (NODE, "node-0000"):  # the descheduler leaves a cluster of one node alone
            self.request("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        self.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "capacity": amounts, "allocatable": amounts,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.kubelet.port}},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
        manager = manager_test.Manager(account("koord-manager"), self.folder, f"--webhook-port={free_port()}", WEBHOOK_HOST="127.0.0.1",
                                       WEBHOOK_CERT_WRITER="secret", WEBHOOK_CERT_DIR=os.path.join(self.folder, "certificates"))
        self.addCleanup(lambda: manager.child.poll() is None and manager.kill())
        roles = {"manager": manager.output}
        for role in ("scheduler", "descheduler"):
            config = self.installed.scheduler_config() if role == "scheduler" else self.installed.descheduler_config()
            child = schedulers.Scheduler("koord", [
                KOORD, f"--role={role}", f"--kubeconfig={account('koord-' + role)}", f"--config={config}", "--port=0", "--secure-port=0", "--v=2"])
            self.addCleanup(child.end)
            roles[role] = child.output
        agent = agents.Agent(self.root, f"--kubeconfig={account('koordlet')}", "--enable-nri-runtime-hook=false",
                             "--feature-gates=" + ",".join(f"{gate}=true" for gate in GATES), node=NODE)
        self.addCleanup(agent.close)
        self.agent, roles["koordlet"] = agent, agent.output
        wait_for("the manager is asked", lambda: self.request(
            "GET", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/koordinator-mutating-webhook-configuration").get("webhooks"))
        wait_for("the node's strategies", lambda: any(one["metadata"]["name"] == NODE for one in self.api.list(f"{SLO}/nodeslos")))
        return roles

    def apply(self, blocks):
        """As their pages have them applied, at once."""
        words = ["-f" if at % 2 == 0 else self.file(blocks[at // 2]) for at in range(2 * len(blocks))]
        done = subprocess.run([KUBECTL, "apply", "--validate=strict", *words], env=self.installed.kubectl.env, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def file(self, block):
        path = os.path.join(self.folder, markdown.file_of(block))
        with open(path, "w", encoding="utf-8") as file:
            file.write(block.text)
        return path

    def strategy(self, block):
        """It comes to the node as it is said."""
        said = keys(block.text)
        self.assertTrue(said, "no key: JSON is wanted below each, four blanks in")
        self.request("PATCH", f"/api/v1/namespaces/{NS}/configmaps/slo-controller-config",
                     {"data": {key: json.dumps(value) for key, value in said.items()}})
        for key in SPEC.keys() & said.keys():
            wanted, spec = SPEC[key](said[key]), {}

            def there(wanted=wanted, spec=spec):
                spec.update(self.request("GET", f"{SLO}/nodeslos/{NODE}")["spec"])
                return contains(spec, wanted)
            try:
                wait_for(key, there, 30)
            except AssertionError:
                self.fail(f"{wanted} is not in {spec}")

    def runs_on_the_node(self, made):
        """The kubelet's list names such a pod, too."""
        meta = made["metadata"]
        item = fake_node.pod(meta["name"], NODE, labels=meta.get("labels"), annotations=meta.get("annotations"),
                             resources=made["spec"]["containers"][0].get("resources"), uid=meta["uid"])
        item["spec"]["volumes"] = made["spec"].get("volumes", [])
        self.root.add_pod(item, 0.1, 64 << 20)
        self.kubelet.pods = [*self.kubelet.pods, item]

    def test_manifests(self):
        self.installed.kubectl.run("apply", "-f", os.path.join(TREE, "packaging", "manifests-gates", "BlkIOReconcile.yaml"))
        before = {role: (output, warnings(output())) for role, output in self.start_roles().items()}
        found = documents()
        self.apply([block for block in found if block.where == "manifest"])
        pods = self.api.list("/api/v1/namespaces/default/pods")
        self.assertGreaterEqual(len(pods), 15)
        for block in found:
            with self.subTest(block=f"{os.path.relpath(block.page, TREE)}:{block.line}"):
                if block.where == "strategy":
                    self.strategy(block)
                elif block.where in ("scheduler", "descheduler"):
                    done = subprocess.run([KOORD, f"--role={block.where}", f"--config={self.file(block)}", f"--kubeconfig={self.kubeconfig}",
                                           f"--write-config-to={self.folder}/whole"], capture_output=True, text=True, timeout=60)
                    self.assertEqual((done.returncode, warnings(done.stderr)), (0, []), done.stderr)
        for pod in pods:
            self.runs_on_the_node(pod)
        names = {pod["metadata"]["name"] for pod in pods}
        wait_for("the agent knows the pods", lambda: names <= set(self.agent.pods()))
        wait_for("the scheduler has looked at all pods", lambda: all(
            pod["spec"].get("nodeName") or any(one["type"] == "PodScheduled" for one in pod["status"].get("conditions", []))
            for pod in self.api.list("/api/v1/namespaces/default/pods")), 90)
        for role, (output, earlier) in before.items():
            new = [line for line in warnings(output()) if line not in earlier]
            with self.subTest(role=role):
                self.assertEqual([line for line in new if not any(each in line for each in MACHINE)], [])
        self.assertEqual({event["reason"] for event in self.api.list("/apis/events.k8s.io/v1/events")} & {
            "MalformedPodMetadata", "SLOCfgUnmarshalFailed", "NotServed"}, set())

    def test_what_is_run(self):
        """Each page's commands in a folder where this tree's packaging is, beside the same cluster; after the manifests, for one of them
        keeps the agent here from writing."""
        programs = tempfile.mkdtemp(prefix="bin.", dir=self.folder)
        for name, program in (("koord", KOORD), ("kubectl", KUBECTL), ("helm", helm.HELM)):
            if os.access(program, os.X_OK):
                os.symlink(os.path.abspath(program), os.path.join(programs, name))
        done_before = set()  # several pages begin with the same installation
        for page in markdown.pages():
            folder = tempfile.mkdtemp(prefix="page.", dir=self.folder)
            os.symlink(os.path.abspath(os.path.join(TREE, "packaging")), os.path.join(folder, "packaging"))
            for block in markdown.blocks(page):
                if block.language == "yaml":
                    with open(os.path.join(folder, markdown.file_of(block)), "w", encoding="utf-8") as file:
                        file.write(block.text)
                elif block.where == "kube-apiserver" and block.text not in done_before:
                    done_before.add(block.text)
                    with self.subTest(block=f"{os.path.relpath(page, TREE)}:{block.line}"):
                        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=folder, capture_output=True, text=True,
                                              timeout=120, env={**os.environ, "KUBECONFIG": self.kubeconfig, "PATH": f"{programs}:{os.environ['PATH']}"})
                        self.assertEqual(done.returncode, 0, f"{block.text}{done.stdout}{done.stderr}")


if __name__ == "__main__":
    if not os.access(KUBECTL, os.X_OK):
        print("docs_test: skipped: no kubectl")
        sys.exit(77)
    unittest.main(verbosity=2, warnings="ignore")

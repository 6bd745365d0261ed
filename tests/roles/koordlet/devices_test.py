#!/usr/bin/env python3
"""From a vendor's tool to a pod on a device: the device daemon writes its file, the agent reports the Device, the scheduler places by it.
And the Device through files that are half written, others' writes, restarts and cards that go."""
import json
import os
import shutil
import subprocess
import unittest

import agents
from agents import KOORD, NODE, TREE, wait_for

import fake_node
import kube_api

DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
CRD = os.path.join(TREE, "packaging", "crds", "scheduling.koordinator.sh_devices.yaml")
CONFIG = os.path.join(TREE, "packaging", "manifests", "20-config.yaml")
ALLOCATED = "scheduling.koordinator.sh/device-allocated"
BUSYBOX = "/bin/busybox"
GATES = "--feature-gates=Accelerators=true,RDMADevices=true"
IX = "GPU-{0}, Iluvatar BI-V150, 32768 MiB, 00000000:{1}:00.0"


def scheduler_config(folder):
    """The shipped one, out of its ConfigMap."""
    with open(CONFIG, encoding="utf-8") as file:
        lines = file.read().split("koord-scheduler-config", 1)[1].split("|\n", 1)[1].splitlines()
    path = os.path.join(folder, "scheduler.yaml")
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            if line.strip() and not line.startswith("    "):
                break
            file.write(line[4:] + "\n")
    return path


@unittest.skipIf(os.geteuid() != 0 or not os.path.exists(BUSYBOX), "root and busybox are needed: run packaging/dev deps")
class Devices(unittest.TestCase):
    def setUp(self):
        self.configs = os.path.join("/tmp", f"koord-devices.{os.getpid()}")
        os.makedirs(self.configs, exist_ok=True)
        self.addCleanup(shutil.rmtree, self.configs)
        self.world = agents.World(roles=("--roles=scheduler", f"--scheduler.config={scheduler_config(self.configs)}"), crds=[CRD])
        self.addCleanup(self.world.close)
        self.infos = os.path.join(self.world.root.folder, "infos")
        self.sys = os.path.join(self.world.root.folder, "sys")
        self.flags = ("--node-topology-sync-interval=200ms", f"--xpu-device-infos-dir={self.infos}", GATES)

    def get(self):
        try:
            return self.world.request("GET", f"{DEVICES}/{NODE}")
        except kube_api.ApiError as error:
            if error.status != 404:
                raise
            return None

    def told(self):
        """(type, minor, health) of each."""
        return sorted((each["type"], each["minor"], each["health"]) for each in ((self.get() or {}).get("spec") or {}).get("devices") or [])

    def card(self, bus, vendor):
        for name, text in (("vendor", vendor), ("device", "0x0001"), ("numa_node", "1")):
            fake_node.write(os.path.join(self.sys, "bus/pci/devices", bus, name), text + "\n")

    def daemon(self):
        """One look at a host with two cards."""
        host = os.path.join(self.world.root.folder, "host")
        for path in ("bin", "usr/local/bin", "dev"):
            os.makedirs(os.path.join(host, path), exist_ok=True)
        shutil.copy(BUSYBOX, os.path.join(host, "bin/sh"))
        tool = os.path.join(host, "usr/local/bin/ixsmi")
        with open(tool, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + "".join(f"echo '{i}, {IX.format(i, bus)}'\n" for i, bus in enumerate(("4B", "4C"))))
        os.chmod(tool, 0o755)
        done = subprocess.run([KOORD, "--role=device-daemon", f"--host-root={host}", f"--sys-root-dir={self.sys}",
                               f"--prints-output-file={os.path.join(self.infos, 'ic-device')}", "--addr=0", "--oneshot"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def ask(self, name, **resources):
        amounts = {f"koordinator.sh/{key.replace('_', '-')}": str(value) for key, value in resources.items()}
        self.world.request("POST", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
                "schedulerName": "koord-scheduler", "containers": [
                    {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}]}})

    def pod(self, name):
        return self.world.request("GET", f"/api/v1/namespaces/default/pods/{name}")

    def given(self, name):
        note = (self.pod(name)["metadata"].get("annotations") or {}).get(ALLOCATED)
        return note and [(each["minor"], each["id"]) for each in json.loads(note)["gpu"]]

    def test_from_a_tool_to_a_pod(self):
        for bus in ("0000:4b:00.0", "0000:4c:00.0"):
            self.card(bus, "0x1e3e")
        self.daemon()
        agent = self.world.agent(*self.flags)
        made = wait_for("the Device", self.get)
        node = self.world.request("GET", f"/api/v1/nodes/{NODE}")
        self.assertEqual(made["metadata"]["ownerReferences"], [{
            "apiVersion": "v1", "kind": "Node", "name": NODE, "uid": node["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}])
        self.assertEqual(made["metadata"]["labels"], {"node.koordinator.sh/gpu-vendor": "iluvatar", "node.koordinator.sh/gpu-model": "Iluvatar-BI-V150"})
        first = made["spec"]["devices"][0]
        self.assertEqual({key: first[key] for key in ("type", "id", "minor", "health", "resources", "topology")}, {
            "type": "gpu", "id": "GPU-0", "minor": 0, "health": True,
            "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "32Gi", "koordinator.sh/gpu-memory-ratio": "100"},
            "topology": {"socketID": -1, "nodeID": 1, "pcieID": "", "busID": "0000:4b:00.0"}})
        self.assertEqual(self.told(), [("gpu", 0, True), ("gpu", 1, True)])
        # koord-manager says it of the Node; here somebody does in its place.
        amounts = {f"koordinator.sh/{name}": amount for name, amount in (("gpu-core", "200"), ("gpu-memory-ratio", "200"), ("gpu-memory", "64Gi"))}
        self.world.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {"capacity": amounts, "allocatable": amounts}})
        self.ask("one", gpu_core=100, gpu_memory_ratio=100)
        self.ask("two", gpu_core=100, gpu_memory_ratio=100)
        given = [wait_for(f"a card for {name}", lambda name=name: self.given(name)) for name in ("one", "two")]
        self.assertEqual(sorted(each for one in given for each in one), [(0, "GPU-0"), (1, "GPU-1")])
        self.ask("three", gpu_core=100, gpu_memory_ratio=100)
        said = wait_for("why the third waits", lambda: [each["message"] for each in self.pod("three")["status"].get("conditions") or []
                                                        if each["type"] == "PodScheduled"])
        self.assertIn("Insufficient koordinator.sh/gpu-core", said[0])
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])

    def write(self, name, devices):
        path = os.path.join(self.infos, name)
        fake_node.write(path, devices if isinstance(devices, str) else json.dumps(devices))
        os.chmod(path, 0o644)

    def npu(self, minor, healthy=True):
        return {"vendor": "huawei", "model": "Ascend-910B", "uuid": f"npu-{minor}", "minor": str(minor), "status": {"healthy": healthy}}

    def test_kept_true_and_left_alone(self):
        os.makedirs(self.infos)
        self.world.request("POST", DEVICES, {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "metadata": {
            "name": NODE, "labels": {"mine": "stays"}, "annotations": {"theirs": "stays"}}, "spec": {"devices": [
                {"type": "gpu", "id": "npu-0", "minor": 0, "health": True, "moduleID": 5}, {"type": "fpga", "id": "f", "minor": 0, "health": True}]}})
        agent = self.world.agent(*self.flags)
        wait_for("it runs", lambda: agent.node().get("name") == NODE)
        # Nobody has written a file since the start: what is reported stays. A half-written one changes nothing either.
        self.write("a", '[{"vendor":"hua')
        wait_for("the mistake is told", lambda: "infos/a" in agent.output())
        self.assertEqual(self.told(), [("fpga", 0, True), ("gpu", 0, True)])
        self.write("a", [self.npu(0), self.npu(1)])
        wait_for("both", lambda: self.told() == [("fpga", 0, True), ("gpu", 0, True), ("gpu", 1, True)])
        object_ = self.get()
        self.assertEqual((object_["metadata"]["labels"]["mine"], object_["metadata"]["annotations"]["theirs"]), ("stays", "stays"))
        self.assertEqual(object_["spec"]["devices"][1]["moduleID"], 5)
        since = object_["spec"]["devices"][1]["conditions"][0]["lastTransitionTime"]
        # RDMA comes, a card falls sick, a file is broken and whole again.
        rdma = os.path.join(self.sys, "bus/pci/devices/0000:3b:00.0")
        self.card("0000:3b:00.0", "0x15b3")
        fake_node.write(os.path.join(rdma, "class"), "0x020000\n")
        os.makedirs(os.path.join(rdma, "infiniband/mlx5_2"))
        fake_node.write(os.path.join(self.sys, "class/infiniband/mlx5_2/ports/1/state"), "4: ACTIVE\n")
        wait_for("the network card", lambda: self.told()[-1] == ("rdma", 2, True))
        self.write("a", [self.npu(0), self.npu(1, healthy=False)])
        wait_for("sick", lambda: self.told()[1:3] == [("gpu", 0, True), ("gpu", 1, False)])
        self.assertEqual(self.get()["spec"]["devices"][1]["conditions"][0]["lastTransitionTime"], since)
        before = self.get()["metadata"]["resourceVersion"]
        self.write("a", "")
        wait_for("it is told again", lambda: agent.output().count("infos/a") >= 2)
        # The next agent finds the broken file: it knows less, and takes nothing away.
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])
        agent = self.world.agent(*self.flags)
        wait_for("it looked", lambda: "infos/a" in agent.output())
        self.assertEqual(self.get()["metadata"]["resourceVersion"], before)
        self.world.request("DELETE", f"{DEVICES}/{NODE}")
        self.write("a", [self.npu(1)])
        wait_for("made again", lambda: self.told() == [("gpu", 1, True), ("rdma", 2, True)])
        os.unlink(os.path.join(self.infos, "a"))
        wait_for("taken away on purpose", lambda: self.told() == [("rdma", 2, True)])
        self.assertEqual(self.get()["metadata"].get("labels") or {}, {})
        self.assertIn('koordlet_devices{type="rdma",healthy="true"', agent.get("/metrics")[1].replace(f'node="{NODE}",', ""))
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])

    def test_without_the_gate_nothing_is_looked_for(self):
        self.write("a", [self.npu(0)])
        agent = self.world.agent("--node-topology-sync-interval=200ms", f"--xpu-device-infos-dir={self.infos}")
        wait_for("the topology, which is reported in the same way", lambda: self.world.request(
            "GET", "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies")["items"])
        self.assertIsNone(self.get())
        self.assertEqual(agent.terminate(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

#!/usr/bin/env python3
"""The node agent restarted: what it measured, held back and was told is there for the next one."""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import agents
from agents import wait_for

import fake_node

MI = fake_node.MI
QUICK = "--kubelet-sync-interval=300ms"


class Checkpoint:
    """A checkpoint's file as roles/koordlet/framework/series/checkpoint.cpp writes it: ticks and values by series."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data, self.at = file.read(), 8
        assert self.data[:8] == b"koordser", self.data[:8]
        version, self.mono, self.wall = self.take("<Iqq")
        assert version == 1, version
        self.text()
        self.ages = [self.take("<I")[0] / 1000 for _ in range(self.take("<I")[0])]
        self.series = {}
        for _ in range(self.take("<I")[0]):
            key = (self.text(), self.text())
            _, count = self.take("<II")
            self.series[key] = self.take(f"<{count}f")
            for _ in range(self.take("<I")[0]):
                *_, buckets = self.take("<qdffIH")
                self.at += 2 * buckets
        assert self.at == len(self.data) - 8

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def text(self):
        size, = self.take("<H")
        self.at += size
        return self.data[self.at - size:self.at].decode()


class Alone(unittest.TestCase):
    """Agents of a standalone configuration, one after the other on one root."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="koord-restart.")
        self.addCleanup(self.folder.cleanup)
        self.root = fake_node.FakeRoot(os.path.join(self.folder.name, "root"))
        self.addCleanup(self.root.close)
        self.root.host_cpu = 3.5
        self.root.add("web.slice", 2.5, 10 * MI)
        self.root.add("batch.slice", 0.5, 20 * MI)
        self.config = os.path.join(agents.TREE, "packaging", "standalone.example.yaml")

    def agent(self, *flags, **more):
        agent = agents.Agent(self.root, f"--standalone-config={self.config}", *flags, **more)
        self.addCleanup(agent.close)
        return agent

    def quota(self):
        return self.root.read("cpu", "batch.slice", "cpu.cfs_quota_us")

    def measured(self, agent, ticks):
        wait_for(f"{ticks} ticks", lambda: agent.node().get("tick", 0) >= ticks)


class WhatWasMeasured(Alone):
    def test_is_there_after_a_restart(self):
        path = os.path.join(self.root.folder, "metric-data/koord-series")
        for numa in range(2):
            fake_node.write(os.path.join(self.root.folder, f"sys/devices/system/node/node{numa}/cpulist"), f"{2 * numa}-{2 * numa + 1}\n")
            fake_node.write(os.path.join(self.root.folder, f"sys/devices/system/node/node{numa}/meminfo"), "".join(
                f"Node {numa} {name}: {kib} kB\n" for name, kib in (
                    ("MemTotal", 8 << 20), ("MemFree", 6 << 20), ("Active(file)", 0), ("Inactive(file)", 0), ("SReclaimable", 0))))
        fake_node.write(os.path.join(self.root.folder, "sys/devices/system/node/online"), "0-1\n")
        agent = self.agent()
        self.measured(agent, 4)
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])
        before = Checkpoint(path)
        again = self.agent()
        self.measured(again, 3)
        self.assertEqual(again.terminate(), 0, again.output()[-2000:])
        self.assertIn("measuring goes on from a checkpoint", again.output())
        self.assertNotIn("the checkpoint of samples cannot be used", again.output())
        after = Checkpoint(path)
        self.assertGreaterEqual(len(after.ages), len(before.ages) + 2)  # the first may be too close to the last
        self.assertEqual(set(after.series), set(before.series))
        for key in (("node_memory", ""), ("node_cpu", ""), ("pod_memory", "batch"), ("pod_cpu", "web"),
                    ("node_numa_memory", "1"), ("system_numa_memory", "0"), ("system_memory", "")):
            with self.subTest(key):
                had, has = before.series[key], after.series[key]
                self.assertGreater(len(has), len(had))
                self.assertEqual(has[:len(had)], had)
        # The gap is as long as the agent was away.
        self.assertAlmostEqual(after.ages[0] - before.ages[0], (after.mono - before.mono) / 1e9, delta=0.01)


class WhatWasLearned(unittest.TestCase):
    UID = "0f3c5a4e-90ab-4cde-8123-456789abcdef"
    FLAGS = ("--prediction-training-interval=1s", "--prediction-model-checkpoint-interval=1s", "--prediction-model-checkpoint-max-per-step=1")

    def test_outlives_a_kill_between_two_files(self):
        world = agents.World()
        self.addCleanup(world.close)
        world.root.host_cpu = 2.0
        world.add_pod("web", cpu=0.5, memory=MI, labels={"koordinator.sh/qosClass": "LS"}, uid=self.UID)
        world.create("nodemetrics", "NodeMetric", {})
        folder = os.path.join(world.folder.name, "checkpoints")
        os.mkdir(folder)
        agent = world.agent(QUICK, f"--prediction-checkpoint-filepath={folder}", *self.FLAGS)
        wait_for("some of the files, one a second", lambda: len(self.models(folder)) >= 3, 30)
        agent.close()
        before = self.models(folder)
        self.assertLess(len(before), 8)  # killed before the last one
        # What a crash in the middle of a write leaves, of either program, and a file that is garbled.
        for name, text in ((f"{self.UID}.new", '{"UID":'), ("__node-sys__.tmp", ""), ("__node-old__", '{"UID":"')):
            fake_node.write(os.path.join(folder, name), text)
        fake_node.write(os.path.join(folder, "notes"), "somebody's")
        agent = world.agent(QUICK, f"--prediction-checkpoint-filepath={folder}", *self.FLAGS)
        wait_for("all files", lambda: len(self.models(folder)) == 8, 30)
        wait_for("all of them written anew", lambda: all(
            self.weight(model) > self.weight(before[name]) for name, model in self.models(folder).items() if name in before), 30)
        self.assertIn(f"prediction goes on with what was learned before\" models={len(before)}", agent.output())
        self.assertEqual(agent.output().count("usage model on disk cannot be used"), 1)
        wait_for("nothing else in the folder", lambda: set(os.listdir(folder)) == {*self.models(folder), "notes"})

    @staticmethod
    def weight(model):
        return model["CPU"]["totalWeight"]

    @staticmethod
    def models(folder):
        """The whole files, by name: what is being written lies beside them."""
        found = {}
        for name in os.listdir(folder):
            if "." not in name and name not in ("notes", "__node-old__"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found[name] = json.load(file)
        return found


class TwoAgents(Alone):
    def test_are_one_too_many(self):
        first = self.agent()
        self.measured(first, 1)
        second = self.agent()
        self.assertNotEqual(second.child.wait(20), 0)
        self.assertIn(f"another agent runs on this host: pid {first.child.pid}, node {agents.NODE}", second.output())
        first.close()
        self.measured(self.agent(), 1)


def knows_unix_sockets():
    """Whether the kernel lists its unix sockets, as for ss -x: an agent asks it who is connected to the runtime."""
    request = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, 0, 0, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as kernel:  # NETLINK_SOCK_DIAG
            kernel.settimeout(10)
            kernel.send(struct.pack("=IHHII", 16 + len(request), 20, 0x301, 1, 0) + request)  # SOCK_DIAG_BY_FAMILY, a dump
            return struct.unpack_from("=IH", kernel.recv(65536))[1] != 2  # NLMSG_ERROR
    except OSError:
        return False


class AnotherProgramsAgent(Alone):
    """One that knows nothing of the lock, such as the original koordlet: who finds it writes nothing and says who."""

    def refused(self, holder, what, *flags):
        before = self.writable()
        kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        with open(kubeconfig, "w", encoding="utf-8") as file:  # nobody is asked
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
                       "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, file)
        agent = agents.Agent(self.root, f"--kubeconfig={kubeconfig}", *flags)
        self.addCleanup(agent.close)
        self.assertNotEqual(agent.child.wait(60), 0)
        self.assertIn(f"another agent runs on this host: pid {holder.pid}, koordlet {what}", agent.output())
        self.assertEqual(self.writable(), before)
        self.assertTrue(before)
        holder.kill()
        holder.wait()

    def writable(self):
        """The text of each file that an agent could write in a group."""
        texts = {}
        for folder, _, files in os.walk(self.root.cgroup):
            for name in filter(lambda name: name.endswith(("quota_us", "shares", "cpus", "limit_in_bytes", "weight")), files):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    texts[os.path.join(folder, name)] = file.read()
        return texts

    def hold(self, code):
        """A process that is called koordlet and holds something; it says so by a line."""
        child = subprocess.Popen(["koordlet", "-c", f"import socket\n{code}\nprint('held', flush=True)\nimport time\ntime.sleep(600)"],
                                 executable=sys.executable, stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), b"held\n")
        return child

    def test_at_the_port(self):
        port = agents.free_port()
        holder = self.hold(f"s = socket.create_server(('127.0.0.1', {port}))")
        self.refused(holder, f"listens at 127.0.0.1:{port}", f"--addr=127.0.0.1:{port}")

    def test_at_the_hook_socket(self):
        path = os.path.join(self.root.folder, "hook.sock")
        holder = self.hold(f"s = socket.socket(socket.AF_UNIX); s.bind({path!r}); s.listen()")
        self.refused(holder, f"answers at {path}", f"--runtime-hooks-addr={path}")

    def test_under_the_plugins_name(self):
        if not knows_unix_sockets():
            self.skipTest("this kernel has no diagnosis of unix sockets (unix_diag)")
        path = os.path.join(self.root.folder, "var/run/nri/nri.sock")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with socket.socket(socket.AF_UNIX) as runtime:
            runtime.bind(path)
            runtime.listen()
            holder = self.hold(f"s = socket.socket(socket.AF_UNIX); s.connect({path!r})")
            accepted, _ = runtime.accept()
            self.addCleanup(accepted.close)
            self.refused(holder, "is the container runtime's plugin koordlet_nri")


class AnApiServerThatIsAway(unittest.TestCase):
    def test_at_a_restart_frees_nobody(self):
        world = agents.World()
        self.addCleanup(world.close)
        world.root.host_cpu = 3.5
        world.add_pod("web", cpu=2.5, memory=MI, labels={"koordinator.sh/qosClass": "LS"})
        world.add_pod("batch", cpu=0.5, memory=MI, qos="BestEffort", labels={"koordinator.sh/qosClass": "BE"})
        slo = {"resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota"}}
        world.create("nodeslos", "NodeSLO", slo)
        agent = world.agent(QUICK)
        wait_for("the quota", lambda: self.quota(world) != "-1")
        kept = os.path.join(world.root.folder, "metric-data/koord-api-server.json")
        wait_for("what is kept", lambda: os.path.exists(kept))
        self.assertEqual(os.stat(kept).st_mode & 0o777, 0o600)
        agent.close()

        # Deleted while no agent ran: what is kept counts until the API server has answered, no longer.
        world.request("DELETE", f"{agents.SLO}/nodeslos/{agents.NODE}")
        agent = world.agent(QUICK)
        wait_for("the end of the quota", lambda: self.quota(world) == "-1")
        self.assertIn("the NodeSLO is gone", agent.output())
        world.create("nodeslos", "NodeSLO", slo)
        wait_for("the quota again", lambda: self.quota(world) != "-1")
        wait_for("what is kept again", lambda: "cfsQuota" in self.read(kept))
        held = self.quota(world)
        agent.close()
        world.sandbox.child.kill()

        again = world.agent(QUICK)
        wait_for("the pods, of the kubelet alone", lambda: {"web", "batch"} <= set(again.pods()))
        wait_for("suppression", again.suppresses)
        wait_for("a few ticks", lambda: again.node()["tick"] > 4)
        self.assertEqual(self.quota(world), held)
        self.assertFalse(again.source("API server")["ok"])
        again.close()

        with open(kept, "r+", encoding="utf-8") as file:
            file.truncate(100)
        blind = world.agent(QUICK)
        wait_for("what is held", lambda: blind.node().get("suppressed"))
        limit, = blind.node()["suppressed"]
        self.assertEqual((limit["cgroup"], limit["value"], limit["held"]), ("kubepods/besteffort", held, True))
        self.assertIn("cannot be used: waiting for the API server", blind.output())
        self.assertEqual(self.quota(world), held)

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def quota(self, world):
        """A file of the fake root is empty for the moment in which it is written; a cgroup's never is."""
        return wait_for("the quota's file", lambda: world.root.read("cpu", "kubepods/besteffort", "cpu.cfs_quota_us"))


class TheFoldersOfADaemonSet(Alone):
    """Upstream's mounts: the host's /var/run read-only, /metric-data an emptyDir, /prediction-checkpoints the host's."""

    def test_are_those_that_last(self):
        pod = os.path.join(self.root.folder, "metric-data")
        lasting = os.path.join(self.folder.name, "prediction-checkpoints")
        os.makedirs(pod)
        mounts = [("/", "/", "overlay"), ("/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/metric-db-path", pod, "ext4")]
        self.write_mounts(mounts)
        agent = self.daemon_set(lasting)
        self.measured(agent, 2)
        self.assertIn("no folder outlives the agent's pod", agent.output())
        self.assertIn(f"state={pod}/", agent.output())
        agent.terminate()
        self.assertTrue(os.path.exists(f"{pod}/koord-series"))

        os.makedirs(lasting)
        self.write_mounts([*mounts, ("/koordlet/prediction-checkpoints", lasting, "tmpfs")])
        agent = self.daemon_set(lasting)
        self.measured(agent, 2)
        self.assertNotIn("no folder outlives the agent's pod", agent.output())
        self.assertIn(f"journal={lasting}/koord/", agent.output())
        self.assertIn(f"state={lasting}/koord/", agent.output())
        self.assertIn("measuring goes on from a checkpoint", agent.output())  # of the older place
        agent.terminate()
        self.assertTrue(os.path.exists(f"{lasting}/koord/koord-series"))

    def write_mounts(self, mounts):
        fake_node.write(os.path.join(self.root.proc, "self/mountinfo"), "".join(
            f"{number} 1 0:{number} {root} {point} rw - {kind} {kind} rw\n" for number, (root, point, kind) in enumerate(mounts)))

    def test_are_not_asked_for_on_a_host(self):
        """Outside a pod and without a DaemonSet's mounts it is on the host, whatever agent_mode does not say."""
        agent = self.without_mode(os.path.join(self.folder.name, "prediction-checkpoints"))
        self.measured(agent, 2)
        self.assertNotIn("the agent's pod", agent.output())

    def daemon_set(self, checkpoints):
        return self.without_mode(checkpoints, KUBERNETES_SERVICE_HOST="127.0.0.1")

    def without_mode(self, checkpoints, **variables):
        """It finds no kubelet and no API server, and measures its node all the same."""
        kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        fake_node.write(kubeconfig, "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
                                    "contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n")
        agent = agents.Agent(self.root, f"--kubeconfig={kubeconfig}", f"--prediction-checkpoint-filepath={checkpoints}", mode="",
                             **variables)
        self.addCleanup(agent.close)
        return agent


class Systemd(Alone):
    def test_is_told(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            name = f"koord-restart-{os.getpid()}"
            listener.bind(f"\0{name}")
            listener.settimeout(20)
            agent = self.agent(NOTIFY_SOCKET=f"@{name}", WATCHDOG_USEC="900000")
            self.assertEqual([listener.recv(100) for _ in range(4)], [b"READY=1"] + 3 * [b"WATCHDOG=1"])
            self.assertIn("koordlet_tick_lateness_seconds_count", agent.get("/metrics")[1])
            self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])
            rest = iter(lambda: listener.recv(100), b"STOPPING=1")
            self.assertLessEqual(set(rest), {b"WATCHDOG=1"})


class AllAlpha(Alone):
    """The gates of upstream's DaemonSet."""

    def test_switches_nothing_off(self):
        agent = self.agent("-feature-gates=AllAlpha=true,AllBeta=true")
        wait_for("the quota", lambda: self.quota() != "-1")
        said = next(line for line in agent.output().splitlines() if "feature gates are on that have no effect" in line)
        for gate in ("BECPUManager",):
            self.assertIn(gate, said)
            self.assertRegex(agent.get("/metrics")[1], f'koordlet_feature_gate_available{{.*gate="{gate}"}} 0')
        self.assertEqual(agent.terminate(), 0, agent.output()[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

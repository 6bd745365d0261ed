#!/usr/bin/env python3
"""Every role of a program for another machine: it starts under an emulator, answers, does its first work, and ends when it is told
to. usage: emulated_test.py PROGRAM [EMULATOR...]"""
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM, EMULATOR = os.path.abspath(sys.argv[1]), sys.argv[2:]
FOLDER = tempfile.TemporaryDirectory(prefix="koord-emulated.")
# What the other tests' parts call as the program.
KOORD = os.environ["KOORD"] = os.path.join(FOLDER.name, "koord")
with open(KOORD, "w", encoding="utf-8") as script:
    script.write(f"#!/bin/sh\nexec {shlex.join([*EMULATOR, PROGRAM])} \"$@\"\n")
os.chmod(KOORD, 0o755)
for beside in ("../../support", "../koordlet"):
    sys.path.insert(0, os.path.join(HERE, beside))
import agents  # noqa: E402
from sandbox import free_port, wait_for  # noqa: E402

SECONDS = 300  # an emulator on a busy machine
ROLES = ("scheduler", "manager", "descheduler", "koordlet", "proxy", "device-daemon")


def serves(port, path="/healthz"):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20).status == 200
    except OSError:
        return False


class EveryRole(unittest.TestCase):
    def start(self, *flags, **variables):
        log = tempfile.NamedTemporaryFile(dir=FOLDER.name, suffix=".log", delete=False)
        child = subprocess.Popen([KOORD, *flags], stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **variables})
        log.close()

        def output():
            with open(log.name, encoding="utf-8", errors="replace") as file:
                return file.read()[-3000:]

        def end():
            if child.poll() is None:
                child.kill()
            child.wait()

        self.addCleanup(end)
        return child, output

    def works_and_ends(self, port, *flags, work=None, **variables):
        """It answers, does its work and ends with 0."""
        child, output = self.start(*flags, **variables)

        def alive(condition):
            self.assertIsNone(child.poll(), output())
            return condition()

        wait_for(f"{flags[0]}: /healthz", lambda: alive(lambda: serves(port)), SECONDS)
        self.assertTrue(serves(port, "/metrics"), output())
        if work:
            wait_for(f"{flags[0]}: its work", lambda: alive(work), SECONDS)
        child.terminate()
        self.assertEqual(child.wait(SECONDS), 0, output())

    def test_says_what_it_is(self):
        def prints(*words):
            return subprocess.run([KOORD, *words], stdout=subprocess.PIPE, text=True, check=True, timeout=SECONDS).stdout

        self.assertTrue(prints("--version").startswith("koord v"))
        for role in ROLES:
            with self.subTest(role):
                self.assertEqual(prints(f"--role={role}", "--help").partition(":")[0], f"koord --role={role}")

    def test_of_a_cluster_and_of_its_nodes(self):
        """Beside a sandbox that is emulated, too: a pod is placed; a node is measured and told of."""
        world = agents.World()
        self.addCleanup(world.close)
        kubeconfig = f"--kubeconfig={world.sandbox.kubeconfig}"
        world.request("POST", "/api/v1/namespaces/default/pods", {
            "metadata": {"name": "waits"}, "spec": {"schedulerName": "koord-scheduler", "containers": [{"name": "main", "image": "none"}]}})
        port = free_port()
        self.works_and_ends(port, "--role=scheduler", kubeconfig, "--leader-elect=false", "--secure-port=0", "--address=127.0.0.1", f"--port={port}",
                            work=lambda: world.request("GET", "/api/v1/namespaces/default/pods/waits")["spec"].get("nodeName"))
        port = free_port()
        self.works_and_ends(port, "--role=descheduler", kubeconfig, "--leader-elect=false", "--secure-port=0", "--address=127.0.0.1", f"--port={port}")
        port, probes = free_port(), free_port()
        child, output = self.start("--role=manager", kubeconfig, "--enable-leader-election=false", f"--metrics-addr=127.0.0.1:{port}",
                                   f"--health-probe-addr=127.0.0.1:{probes}", "--webhook-port=0")
        wait_for("manager: /readyz", lambda: self.assertIsNone(child.poll(), output()) or serves(probes, "/readyz"), SECONDS)
        self.assertTrue(serves(port, "/metrics"), output())
        child.terminate()
        self.assertEqual(child.wait(SECONDS), 0, output())

        world.add_pod("web", cpu=0.5, memory=1 << 28)
        agent = world.agent()
        wait_for("koordlet: the node", lambda: agent.node().get("name") == agents.NODE, SECONDS)
        wait_for("koordlet: its pod", lambda: "web" in agent.pods(), SECONDS)
        self.assertEqual(agent.get("/healthz")[0], 200)
        self.assertEqual(agent.terminate(), 0)

    def test_before_a_runtime_and_beside_devices(self):
        folder = os.path.join(FOLDER.name, "node")
        for name in ("hooks", "host/bin", "sys/bus/pci/devices"):
            os.makedirs(os.path.join(folder, name))
        back = os.path.join(folder, "back.sock")
        with socket.socket(socket.AF_UNIX) as runtime:
            runtime.bind(back)
            runtime.listen()
            port = free_port()
            self.works_and_ends(port, "--role=proxy", f"--addr=127.0.0.1:{port}", f"--koord-runtimeproxy-endpoint={folder}/front.sock",
                                f"--remote-runtime-service-endpoint=unix://{back}", f"--hook-config-dir={folder}/hooks",
                                work=lambda: os.path.exists(f"{folder}/front.sock"))
        port, told = free_port(), os.path.join(folder, "infos", "devices")
        shutil.copy("/bin/busybox", os.path.join(folder, "host/bin/sh"))
        self.works_and_ends(port, "--role=device-daemon", f"--host-root={folder}/host", f"--sys-root-dir={folder}/sys",
                            f"--prints-output-file={told}", f"--addr=127.0.0.1:{port}", work=lambda: os.path.exists(told))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")  # the connections of agents.py go when nobody knows them any more

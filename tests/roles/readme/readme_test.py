#!/usr/bin/env python3
"""Every command of the README, as it stands there, in a network namespace of its own, where all default ports are free. FILE is
a sandbox's kubeconfig; the node agent sees a fake root instead of this machine. What the developer script's two commands do is
the tests' own business (tests/roles/loop runs the demonstration): here they must exist.

A command that no row of COMMANDS knows fails the test."""
import ctypes
import fcntl
import os
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import fake_node  # noqa: E402
import kube_api  # noqa: E402
import markdown  # noqa: E402
from sandbox import KOORD, KUBECTL, wait_for  # noqa: E402

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
POD = {"metadata": {"name": "asks", "namespace": "default"}, "spec": {"schedulerName": "koord-scheduler", "containers": [
    {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1000"}}}]}}
RESERVATION = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation", "metadata": {"name": "keeps"}, "spec": {
    "ttl": "1h", "owners": [{"labelSelector": {"matchLabels": {"app": "web"}}}],
    "template": {"spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}}}


def own_network():
    """A network of this process's own, with loopback alone. Needs root."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", IFF_UP, b""))


def commands():
    """The README's indented lines, without their comments."""
    return [line.split("   #")[0].split("  #")[0].strip() for _, line in markdown.indented(markdown.README)]


def serves(url):
    """A condition: something answers there, and is well."""
    def asks():
        try:
            return urllib.request.urlopen(url, timeout=5).status == 200
        except OSError:
            return False
    return asks


class Readme(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="koord-readme.")
        self.addCleanup(self.folder.cleanup)
        self.kubeconfig = os.path.join(self.folder.name, "K")
        self.root = fake_node.FakeRoot(os.path.join(self.folder.name, "root"))
        self.addCleanup(self.root.close)
        self.children = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
                try:
                    child.wait(30)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()
        self.children = []

    def words(self, command, *more):
        """What a shell makes of it: variables for the environment, and words."""
        words = [word.replace("build/koord", KOORD) if word.startswith("build/koord") else word for word in shlex.split(command)]
        words = [word.replace("=FILE", f"={self.kubeconfig}").replace("=K", f"={self.kubeconfig}") for word in words]
        words = [KUBECTL if word == "kubectl" else "keeps" if word == "NAME" else word.replace("NAMESPACE/NAME", "default/asks")
                 for word in words]
        variables = dict(word.split("=", 1) for word in words if "=" in word.split("/")[0] and not word.startswith("-"))
        env = {name: value for name, value in os.environ.items() if name not in ("agent_mode", "NODE_NAME", "KUBERNETES_SERVICE_HOST")}
        return [word for word in words if word.split("=")[0] not in variables] + list(more), {**env, **variables}

    def start(self, command, *more):
        words, env = self.words(command, *more)
        path = os.path.join(self.folder.name, f"log-{len(self.children)}")
        with open(path, "wb") as log:
            child = subprocess.Popen(words, cwd=TREE, env=env, stdout=log, stderr=subprocess.STDOUT)
        self.children.append(child)
        return child, path

    def runs(self, command, url, *more):
        """It starts, and answers at `url`; then it is ended again."""
        child, path = self.start(command, *more)

        def answers():
            with open(path, encoding="utf-8", errors="replace") as log:
                self.assertIsNone(child.poll(), f"{command} ended:\n{log.read()[-3000:]}")
            return serves(url)()

        wait_for(command, answers)
        return child

    def end(self, child):
        child.terminate()
        self.assertEqual(child.wait(30), 0)

    def prints(self, command, *more):
        words, env = self.words(command, *more)
        done = subprocess.run(words, cwd=TREE, env=env, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def a_verb(self, command):
        verb = command.split()[1]
        self.assertRegex(self.prints("packaging/dev --help"), rf"(?m)^  {verb}\b")

    def the_sandbox(self, command):
        child, path = self.start(command)

        def ready():
            with open(path, encoding="utf-8", errors="replace") as log:
                text = log.read()
            self.assertIsNone(child.poll(), text[-3000:])
            return "sandbox ready" in text

        wait_for("sandbox ready", ready)
        api = kube_api.Api(self.kubeconfig).connect()
        api.request("POST", "/api/v1/namespaces/default/pods", POD)
        api.request("POST", "/apis/scheduling.koordinator.sh/v1alpha1/reservations", RESERVATION)

    def kubectl(self, command):
        if not os.access(KUBECTL, os.X_OK):
            self.skipTest("no kubectl: KUBEBUILDER_ASSETS")
        self.assertEqual(self.prints(command).count(" Ready "), 100)

    def the_scheduler(self, command):
        self.end(self.runs(command, "http://127.0.0.1:10251/healthz"))

    the_descheduler = the_scheduler

    def deschedule(self, command):
        """By the cluster's own configuration, as the manifests make it."""
        name, text = "koord-descheduler-config", "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\nprofiles: [{name: koord-descheduler}]\n"
        kube_api.Api(self.kubeconfig).connect().request("POST", "/api/v1/namespaces/koordinator-system/configmaps",
                                                        {"metadata": {"name": name}, "data": {name: text}})
        self.assertIn("the descheduler would move 0 now", self.prints(command))

    def the_manager(self, command):
        child = self.runs(command, "http://127.0.0.1:8000/healthz")
        if "--ui" in command:
            wait_for("the page", serves("http://127.0.0.1:8089/ui/"))
        self.end(child)

    def the_agent(self, command):
        """Stays, for `top`, where it is the last one."""
        for child in self.children[1:]:
            if child.poll() is None:
                self.end(child)
        self.runs(command, "http://127.0.0.1:9316/healthz", *self.root.flags(), "--run-queue-latency=false")

    def the_proxy(self, command):
        """Its folders are the test's own; the runtime may come later."""
        words, _ = self.words(command)
        self.assertIn("runtimeproxy.sock", self.prints("build/koord --role=proxy --help"))
        self.assertEqual(words[2].partition("=")[0], "--remote-runtime-service-endpoint")
        endpoint = os.path.join(self.folder.name, "proxy", "runtimeproxy.sock")
        child = self.runs(command, "http://127.0.0.1:9320/healthz", f"--koord-runtimeproxy-endpoint={endpoint}", "--addr=127.0.0.1:9320",
                          f"--remote-runtime-service-endpoint={self.folder.name}/containerd.sock", f"--hook-config-dir={self.folder.name}/hookserver.d")
        wait_for("its socket", lambda: os.path.exists(endpoint))
        self.end(child)

    def top(self, command):
        self.assertIn("CPU", wait_for("something measured", lambda: self.prints(command, "--once")))

    def explain(self, command):
        self.assertIn("cpu", wait_for("a verdict", lambda: self.prints(command)))

    def explain_node(self, command):
        self.assertIn("Node node-0000 ", self.prints(command.replace("NAME", "node-0000")))

    def lent(self, command):
        self.assertIn("batch CPU", self.prints(command))

    COMMANDS = (
        ("packaging/dev", a_verb),
        ("build/koord sandbox", the_sandbox),
        ("KUBECONFIG=K kubectl", kubectl),
        ("build/koord --role=scheduler", the_scheduler),
        ("NODE_NAME=N build/koord --role=koordlet", the_agent),
        ("build/koord --role=manager", the_manager),
        ("build/koord --role=descheduler", the_descheduler),
        ("build/koord deschedule", deschedule),
        ("build/koord --role=koordlet --standalone-config", the_agent),
        ("build/koord --role=proxy", the_proxy),
        ("build/koord top", top),
        ("build/koord explain node", explain_node),
        ("build/koord explain", explain),
        ("build/koord lent", lent),
    )

    def test_every_command(self):
        found = commands()
        self.assertGreaterEqual(len(found), 10, found)
        for command in found:
            with self.subTest(command=command):
                row = next((run for begin, run in self.COMMANDS if command.startswith(begin)), None)
                self.assertIsNotNone(row, "a command that this test does not know")
                row(self, command)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("readme_test: skipped: a network namespace needs root")
        sys.exit(77)
    own_network()
    unittest.main(verbosity=2)

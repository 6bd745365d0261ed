#!/usr/bin/env python3
"""/livez of every role, as a kubelet's probe asks it: a process is not killed because its API server is away, and is when its
loop hangs."""
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "koordlet"), os.path.join(HERE, "..", "..", "support")]
import agents  # noqa: E402
import fake_node  # noqa: E402
from sandbox import KOORD, free_port, wait_for  # noqa: E402

PROBE = 3  # seconds; the manifests' probes wait longer


class Liveness(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-liveness.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def kubeconfig(self, port):
        path = os.path.join(self.folder, f"kubeconfig-{port}")
        with open(path, "w", encoding="utf-8") as file:
            file.write("apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters:\n"
                       f"- {{name: a, cluster: {{server: 'http://127.0.0.1:{port}'}}}}\n"
                       "contexts: [{name: a, context: {cluster: a, user: ''}}]\n")
        return path

    def start(self, role, kubeconfig):
        """The process, and the port of its probes."""
        if role == "koordlet":
            root = fake_node.FakeRoot(f"{kubeconfig}-root")
            self.addCleanup(root.close)
            agent = agents.Agent(root, f"--kubeconfig={kubeconfig}")
            self.addCleanup(agent.log.close)
            child, port = agent.child, agent.port
        else:
            port = free_port()
            flags = {"manager": [f"--health-probe-addr=127.0.0.1:{port}", "--metrics-addr=0", f"--webhook-port={free_port()}"],
                     "scheduler": [f"--port={port}", "--secure-port=0"],
                     "descheduler": [f"--port={port}", "--secure-port=0"]}[role]
            child = subprocess.Popen([KOORD, f"--role={role}", f"--kubeconfig={kubeconfig}", *flags],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     env={**os.environ, "WEBHOOK_CERT_DIR": os.path.join(self.folder, "certificates")})

        def end():
            if child.poll() is None:
                child.kill()
            child.wait()
        self.addCleanup(end)
        return child, port

    def alive(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROBE)
        try:
            connection.request("GET", "/livez")
            return connection.getresponse().status == 200
        except ConnectionRefusedError:
            return False
        finally:
            connection.close()

    def test_an_api_server_that_is_away_kills_nobody(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
            for role in ("manager", "scheduler", "descheduler", "koordlet"):
                for where, port in (("nobody listens", free_port()), ("nobody answers", silent.getsockname()[1])):
                    with self.subTest(role=role, where=where):
                        child, probes = self.start(role, self.kubeconfig(port))
                        wait_for("alive", lambda p=probes: self.alive(p))
                        end = time.monotonic() + 2
                        while time.monotonic() < end:
                            self.assertTrue(self.alive(probes))
                            self.assertIsNone(child.poll())
                            time.sleep(0.1)
                        child.kill()

    def test_a_loop_that_hangs_is_noticed(self):
        for role in ("manager", "scheduler", "descheduler", "koordlet"):
            with self.subTest(role=role):
                child, probes = self.start(role, self.kubeconfig(free_port()))
                wait_for("alive", lambda p=probes: self.alive(p))
                child.send_signal(signal.SIGSTOP)
                with self.assertRaises(TimeoutError):
                    self.alive(probes)
                child.send_signal(signal.SIGCONT)
                wait_for("alive again", lambda p=probes: self.alive(p))
                child.kill()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
